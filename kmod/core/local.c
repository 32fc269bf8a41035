// SPDX-License-Identifier: GPL-2.0
/*
 * The users and waiters of this node, as every kind counts them: the shell has the queue, the core the number.
 */
#include "bust.h"
#include "kind.h"

bool rdl_lease_ok(const struct rdl_event *ev)
{
	return (ev->flags & RDL_F_LEASE) || rdl_bust(LEASE_IGNORED);
}

/* The head waiter becomes the user. */
void rdl_deliver(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts, u32 flags)
{
	struct rdl_action *a;

	if (!rdl_insist(acts, l->nq && !l->users))
		return;
	l->st = RDL_ST_HELD;
	l->nq--;
	l->users = 1;
	l->relf = 0;
	l->token = rdl_token(l->epoch, l->ticket, l->loc);
	/* It may leave without having looked: it stays untold until the shell says that it knows. */
	if (l->attention == RDL_ATT_UNTOLD)
		flags |= RDL_GRANT_OWNER_DIED;
	a = rdl_act(acts, RDL_ACT_DELIVER);
	a->val = l->token;
	a->arg = flags | rdl_robust_tells(l);
	if (rdl_bust(NOTICE_EARLY))
		rdl_kind_ops(l->kind)->told(l, ev, acts);
}

/* Local hand-over, if budget, token space and lease allow it. */
bool rdl_hand_over(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (!l->nq || l->loc >= RDL_LOC_MAX || !rdl_lease_ok(ev) || l->frz != RDL_FRZ_RUN || rdl_holds_back(l))
		return false;
	if (l->handovers >= l->budget && !rdl_bust(BUDGET_IGNORED))
		return false;
	l->handovers++;
	l->loc++;
	rdl_deliver(l, ev, acts, RDL_GRANT_LOCAL);
	return true;
}

/* ---- cells ---- */

int rdl_queue(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	l->nq++;
	if (ev->try)
		rdl_act_fail(l, acts, RDL_ACT_FAIL_TAIL, ev->flags & RDL_F_LINK ? EAGAIN : EHOSTUNREACH);
	return 0;
}

int rdl_queue_lost(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	l->nq++;
	if (ev->try)
		rdl_act_fail(l, acts, RDL_ACT_FAIL_TAIL, EHOSTUNREACH);
	return 0;
}

int rdl_cancel(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (!l->nq)
		return -EPROTO;
	l->nq--;
	return 0;
}
