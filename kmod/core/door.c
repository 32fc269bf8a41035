// SPDX-License-Identifier: GPL-2.0
/*
 * What every kind has in common when the home recovers a lock or the session is lost, Documentation/protocol.rst.
 *
 * A lock can be lost in three ways, and each has its own road here:
 *
 *   F in an old value    the home recovers the lock; what was posted did not happen (@is_void); REBUILT follows
 *   ambiguous            nobody knows; AMBIG until the home, which has destroyed the old queue pair, asks for a claim
 *   lost lease           the home gives the lock away; LOST until a new incarnation joins
 *
 * Why a claim may only be sent after the operation in flight has ended (drain):
 *
 *   node                              home
 *   CAS posted
 *                                     w |= F, FREEZE, (CAS landed just before F)
 *   claims NONE at once
 *                                     rebuilt: free
 *   CAS completes: "taken", grant     another node takes it: two owners
 *
 * With the drain the node knows what it owns when it claims.
 */
#include "bust.h"
#include "kind.h"

/* The epoch changes under a lock of which nothing is held here. */
void rdl_epoch_begins(struct rdl_lock *l, u32 epoch, u32 vflags, struct rdl_acts *acts)
{
	l->epoch = epoch;
	l->frz = RDL_FRZ_RUN;
	l->is_void = 0;
	l->rolled = 0;
	if (l->robust)
		vflags = rdl_robust_begins(l, vflags, acts);
	rdl_kind_ops(l->kind)->begin(l, vflags);
}

/* Nothing in flight any more: answer the FREEZE. A claim that is asked for again (not @first) is the same. */
static void claim(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts, bool first)
{
	struct rdl_claim c = { .what = RDL_CLAIM_NONE };
	struct rdl_action *a;

	l->landing = 0;
	if (first) {
		l->said = l->report;
		l->report = RDL_REPORT_NONE;
	}
	rdl_kind_ops(l->kind)->claim(l, ev, &c, acts);
	l->frz = RDL_FRZ_CLAIMED;
	if (rdl_bust(HOLD_FORGOTTEN) && c.what == RDL_CLAIM_HOLD)
		c = (struct rdl_claim){ .what = RDL_CLAIM_NONE };
	c.report = rdl_bust(REPORT_LOST) ? RDL_REPORT_NONE : l->said;
	a = rdl_act(acts, RDL_ACT_CLAIM);
	a->epoch = l->epoch;
	a->claim = c;
}

static bool in_flight(const struct rdl_lock *l)
{
	return l->io || l->q.rd || l->q.slot;
}

/* The operation that a FREEZE waited for has ended; if nobody knows how, the FREEZE waits on, for a new link. */
void rdl_drained(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (l->frz == RDL_FRZ_FREEZING && !in_flight(l) && !l->landing)
		claim(l, ev, acts, true);
}

/*
 * Nobody knows what an operation did. Only the home can settle that, and only when it cannot land any more: when a new
 * link has been accepted, which means that the old queue pair is destroyed. Then nothing is claimed, and the rebuild
 * makes it true. An operation that has ended, on a word that cannot be, lands no more.
 */
void rdl_doubt(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	l->st = RDL_ST_AMBIG;
	l->landing = ev->outcome == RDL_AMBIGUOUS;
	rdl_drained(l, ev, acts);
}

/* Tickets run out, or the next claim has something to say of a robust lock: ask for it, once an epoch and link. */
void rdl_roll(struct rdl_lock *l, struct rdl_acts *acts)
{
	if (l->rolled || l->frz != RDL_FRZ_RUN)
		return;
	l->rolled = 1;
	rdl_act_msg(l, acts, RDL_ACT_ROLL);
}

/* ---- cells ---- */

int rdl_freeze(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	bool first;

	if (in_flight(l) || (l->landing && !rdl_bust(AMBIG_CLAIMED))) {
		l->frz = RDL_FRZ_FREEZING;
		if (rdl_bust(NO_DRAIN) && l->io) {
			struct rdl_action *a = rdl_act(acts, RDL_ACT_CLAIM);

			l->frz = RDL_FRZ_CLAIMED;
			a->epoch = l->epoch;
			a->claim.what = RDL_CLAIM_NONE;
		}
		return 0;
	}
	/* Of a newer epoch: the home has taken what the claim before this one said. */
	first = l->frz != RDL_FRZ_CLAIMED || (ev->epoch > l->epoch && !rdl_bust(REPORT_AGAIN));
	if (ev->epoch > l->epoch)
		rdl_kind_ops(l->kind)->missed(l, ev->epoch);
	claim(l, ev, acts, first);
	return 0;
}

/* The old queue pair is destroyed: what may have happened has happened. */
int rdl_new_link_ambig(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	l->landing = 0;
	rdl_drained(l, ev, acts);
	return 0;
}

int rdl_lose(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (l->users && !rdl_bust(LOST_KEEPS_USER))
		rdl_act(acts, RDL_ACT_LOST);
	rdl_kind_ops(l->kind)->lost(l, acts);
	l->st = RDL_ST_LOST;
	l->frz = RDL_FRZ_RUN;
	l->users = 0;
	l->token = 0;
	l->relf = 0;
	l->is_void = 0;
	l->attention = RDL_ATT_NONE;
	l->dead = 0;
	l->report = RDL_REPORT_NONE;
	l->said = RDL_REPORT_NONE;
	l->landing = 0;
	l->stale_io = !!l->io;
	return 0;
}

/* What was in flight belonged to a session that is over. */
int rdl_stale_ended(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	l->io = 0;
	l->stale_io = 0;
	return 0;
}
