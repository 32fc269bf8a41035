// SPDX-License-Identifier: GPL-2.0
/*
 * Robust locks, of every kind, Documentation/protocol.rst. An exclusive owner that dies may leave what the lock guards
 * half done; everybody who gets the lock is told so until an owner says that it is whole again. An owner that was told
 * and leaves without saying it has given up: then nobody gets the lock any more, until an administrator resets it.
 *
 * Which of it is true changes only in a rebuild, and the home says it to every opener with the epoch that begins (in
 * REBUILT, or in OPENED if that was missed). So a node that has a grant of an epoch knows what to tell with it, whether
 * the grant came by the word, by a message, or within the node; neither word nor body has to say it.
 *
 * What an owner says (its report) goes the other way, in the claim:
 *
 *   owner                               home
 *   says CONSISTENT, or leaves
 *   ROLL_REQ: recover it
 *                                       FREEZE
 *   CLAIM with the report
 *                                       rebuilds: notice cleared, or not recoverable
 *                                       REBUILT to all
 *
 * Until then the grant is not given on (rdl_holds_back()): the next owner, wherever it is, is told what is true after
 * the report. A ROLL_REQ that is lost with its link is sent again on the next one; a claim is asked for again. If the
 * node dies before it claims, it was an owner that died.
 */
#include "bust.h"
#include "kind.h"

/* Exclusive, and with a user. */
static bool owned(const struct rdl_lock *l)
{
	return l->users == 1 && (l->kind == RDL_KIND_SPIN || l->q.mode == RDL_MODE_X);
}

bool rdl_reports(const struct rdl_lock *l)
{
	return l->report || l->said;
}

bool rdl_holds_back(const struct rdl_lock *l)
{
	return l->report && l->report != RDL_REPORT_RESET && !rdl_bust(NOT_HELD_BACK);
}

u32 rdl_robust_tells(struct rdl_lock *l)
{
	u32 died = l->dead & RDL_VF_OWNER_DIED;

	if (rdl_bust(TOLD_ONCE))
		l->dead &= ~RDL_VF_OWNER_DIED;
	return died ? RDL_GRANT_OWNER_DIED : 0;
}

static bool hopeless(const struct rdl_lock *l)
{
	return (l->dead & RDL_VF_NOTRECOVERABLE) && !rdl_bust(RUIN_GRANTED);
}

/* While the home recovers the lock it may become usable again: then who comes waits for what the home says. */
int rdl_robust_event(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (ev->type == RDL_EV_REL && owned(l) &&
	    (ev->report == RDL_REPORT_FAILED || ev->report == RDL_REPORT_DIED))
		l->report = ev->report;
	if (ev->type != RDL_EV_ACQ || !hopeless(l) || l->frz != RDL_FRZ_RUN)
		return 1;
	l->nq++;
	rdl_act_fail(l, acts, RDL_ACT_FAIL_TAIL, ENOTRECOVERABLE);
	return 0;
}

u32 rdl_robust_begins(struct rdl_lock *l, u32 vflags, struct rdl_acts *acts)
{
	l->dead = vflags & RDL_VF_DEAD;
	l->said = RDL_REPORT_NONE;
	/* What they wait for has no use any more; a ticket is given back when its turn comes. */
	if (acts && l->nq && hopeless(l)) {
		l->nq = 0;
		rdl_act(acts, RDL_ACT_FAIL_ALL)->arg = ENOTRECOVERABLE;
	}
	return vflags & ~RDL_VF_DEAD;
}

/* ---- the event REPORT ---- */

/* Of a lock that is not robust: a user knows of the death. Its grant may be gone by now, and so may the notice. */
static int noticed(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (ev->report != RDL_REPORT_CONSISTENT)
		return -EPROTO;
	if (l->users)
		rdl_kind_ops(l->kind)->told(l, ev, acts);
	return 0;
}

/* That the user was told of a death, the shell knows. */
static int report(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (!l->robust)
		return noticed(l, ev, acts);
	switch (ev->report) {
	case RDL_REPORT_CONSISTENT:
		if (!owned(l))
			return -EPROTO;
		l->report = RDL_REPORT_CONSISTENT;
		return 0;
	case RDL_REPORT_RESET:
		/*
		 * An owner's word is not to be lost; where nobody can have the lock, there is no owner. After the claim
		 * of an epoch its ruin may be over, unheard of: the next claim would undo a later one, which who asks
		 * has not seen. It asks again when the home has spoken.
		 */
		if ((l->dead & RDL_VF_NOTRECOVERABLE) && !l->report &&
		    (l->frz != RDL_FRZ_CLAIMED || rdl_bust(RESET_KEPT)))
			l->report = RDL_REPORT_RESET;
		return 0;
	default:
		return -EPROTO;
	}
}

const struct rdl_cell rdl_report_cells[RDL_NR_STATES] = {
#define REPORT_CELL(name, meaning) \
	[RDL_ST_##name] = { report, "report", 1u << RDL_ST_##name },
	RDL_STATES(REPORT_CELL)
#undef REPORT_CELL
};

/* ---- invariants ---- */

const char *rdl_robust_check(const struct rdl_lock *l)
{
	if (!l->robust)
		return l->dead || l->report || l->said ? "report or notice of a lock that is not robust" : NULL;
	if (l->report >= RDL_NR_REPORTS || l->said >= RDL_NR_REPORTS || l->dead & ~RDL_VF_DEAD)
		return "report or notice out of range";
	if (l->said && l->frz != RDL_FRZ_CLAIMED)
		return "report claimed without a claim";
	/* STORE: one that goes to shared may be closed before the value is at the home. */
	if (rdl_holds_back(l) && l->st != RDL_ST_HELD && l->st != RDL_ST_STORE)
		return "report of an owner that is none";
	if (l->st == RDL_ST_LOST)
		return l->dead || l->report ? "report or notice outlives the session" : NULL;
	if ((l->dead & RDL_VF_NOTRECOVERABLE) && l->nq && l->frz == RDL_FRZ_RUN)
		return "waits for what nobody can have";
	return NULL;
}

/* ---- the home's side ---- */

/* An owner that said it is whole, and died since, has not claimed: that death counts. */
void rdl_robust_judge(struct rdl_recover *r, bool died)
{
	u16 node;

	if (!(r->props & RDL_P_ROBUST)) {
		r->dead = 0;
		return;
	}
	if (rdl_bust(RUIN_FORGOTTEN))
		r->dead &= ~RDL_VF_NOTRECOVERABLE;
	if (rdl_bust(NOTICE_FORGOTTEN))
		r->dead &= ~RDL_VF_OWNER_DIED;
	for (node = 0; node < RDL_MAX_NODES; node++) {
		if (!rdl_has_claimed(r, node))
			continue;
		switch (r->claim[node].report) {
		case RDL_REPORT_CONSISTENT:
			r->dead &= ~RDL_VF_OWNER_DIED;
			break;
		case RDL_REPORT_FAILED:
			r->dead |= RDL_VF_NOTRECOVERABLE;
			break;
		case RDL_REPORT_DIED:
			died = true;
			break;
		case RDL_REPORT_RESET:
			r->dead &= ~RDL_VF_NOTRECOVERABLE;
			break;
		}
	}
	if (died)
		r->dead |= RDL_VF_OWNER_DIED;
	/* Nobody has it, nobody will be told. */
	if (r->dead & RDL_VF_NOTRECOVERABLE)
		r->dead = RDL_VF_NOTRECOVERABLE;
}
