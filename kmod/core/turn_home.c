// SPDX-License-Identifier: GPL-2.0
/* Kind "fair": messages of other nodes, and what the home says: a new link, a rebuilt lock, a new session. */
#include "bust.h"
#include "fair.h"

/* ---- messages of nodes: rdl_peer_filter() has let them through ---- */

RDL_TURN_CELL(grant)
{
	rdl_take_grant(l, &ev->peer, acts, 0);
	return rdl_turn_go(l, ev, acts);
}

RDL_TURN_CELL(hint)
{
	rdl_take_hint(l, &ev->peer);
	return rdl_turn_go(l, ev, acts);
}

RDL_TURN_CELL(probe_busy)
{
	rdl_act_peer(l, acts, RDL_ACT_SEND_ANSWER, ev->peer.node, ev->peer.ticket);
	return 0;
}

/* The answer comes when the lock is free. A second node that asks meanwhile gets none, and its time runs out. */
RDL_TURN_CELL(probe)
{
	struct rdl_queue *q = &l->q;

	if (ev->peer.ticket != l->ticket || q->ticket_epoch != l->epoch || l->frz != RDL_FRZ_RUN ||
	    rdl_bust(PROBE_DEAF))
		return rdl_turn_probe_busy(l, ev, acts);
	if (!q->asker)
		q->asker = ev->peer.node + 1;
	return rdl_turn_go(l, ev, acts);
}

RDL_TURN_CELL(answer)
{
	if (ev->peer.ticket != rdl_w_ticket(l->guess) - 1)
		return 0;
	if (ev->peer.idle && rdl_may_post(l, ev)) {
		l->st = RDL_ST_TRY;
		l->retried = 0;
		l->q.step = RDL_STEP_LOOK;
		rdl_look(l, acts);
		return 0;
	}
	return rdl_turn_wake_probe(l, ev, acts);
}

/* ---- the home ---- */

/*
 * A new link to the same home: the old queue pair is destroyed, what was in flight has happened or not. A lock that was
 * claimed stays so, whatever its epoch is now: only another claim brings to light what a lost REBUILT said.
 */
RDL_TURN_CELL(new_link)
{
	struct rdl_queue *q = &l->q;

	if (l->io || q->rd || q->slot)
		return -EPROTO;
	l->landing = 0;
	l->rolled = 0;
	l->k = 0;
	q->paused = 0;
	if (l->frz == RDL_FRZ_RUN) {
		if (q->mode && q->ticket_epoch == l->epoch && l->ticket >= RDL_TICKET_SOFT)
			rdl_roll(l, acts);
		rdl_tell_settled(l, ev, acts);
	}
	return rdl_turn_go(l, ev, acts);
}

/* Nothing was claimed, nothing is held. */
RDL_TURN_CELL(rebuilt_none)
{
	if (ev->rebuilt.what != RDL_CLAIM_NONE)
		return -EPROTO;
	rdl_epoch_begins(l, ev->epoch, ev->rebuilt.vflags, acts);
	if (!l->nq)
		l->st = RDL_ST_NONE;
	rdl_replay(l, acts);
	return rdl_turn_go(l, ev, acts);
}

static bool fits(const struct rdl_lock *l, const struct rdl_event *ev, u8 what)
{
	const struct rdl_rebuilt *r = &ev->rebuilt;

	return r->what == what && r->mode == l->q.mode && r->ticket < RDL_TICKET_SOFT && r->pred <= RDL_MAX_NODES;
}

/* The claim goes on under a new ticket; the home has written the slot. */
static void goes_on(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	u32 used = l->handovers;
	u8 heard = l->q.heard;

	rdl_epoch_begins(l, ev->epoch, ev->rebuilt.vflags, acts);
	rdl_took_ticket(l, acts, ev->rebuilt.ticket);
	/* Not a new budget with each recovery: owners of this node may die, or say that it is whole, all the time. */
	if (!rdl_bust(BUDGET_RENEWED)) {
		l->handovers = used < l->budget ? used : l->budget;
		l->q.heard = heard;
	}
	if (l->kind == RDL_KIND_MCS && ev->rebuilt.succ && ev->rebuilt.succ <= RDL_MAX_NODES)
		rdl_hinted(l, RDL_MODE_X, ev->rebuilt.succ - 1);
	rdl_take_rebuilt(l, ev, acts);
}

/* Who waits must say again where: a holder that keeps the lock for nothing has forgotten all hints. */
RDL_TURN_CELL(rebuilt_wait)
{
	if (!fits(l, ev, RDL_CLAIM_WAIT))
		return -EPROTO;
	goes_on(l, ev, acts);
	if (ev->rebuilt.granted) {
		rdl_granted(l);
		rdl_fetch_bytes(l, ev->rebuilt.ver);
	} else {
		/* Kind mcs: the home has told it who comes next. */
		if (l->kind == RDL_KIND_MCS)
			l->q.from = ev->rebuilt.pred;
		else if (ev->rebuilt.pred && !rdl_bust(NO_REHINT))
			rdl_act_peer(l, acts, RDL_ACT_SEND_HINT, ev->rebuilt.pred - 1, l->ticket)->mode = l->q.mode;
		rdl_kind_ops(l->kind)->wait(l, acts);
	}
	rdl_replay(l, acts);
	return rdl_turn_go(l, ev, acts);
}

/* The users keep the tokens they were given; the next one gets one of the new ticket. */
RDL_TURN_CELL(rebuilt_held)
{
	u8 had;

	if (!fits(l, ev, RDL_CLAIM_HOLD))
		return -EPROTO;
	had = (!l->q.fresh || l->q.had) && !rdl_bust(BUDGET_RENEWED);
	goes_on(l, ev, acts);
	l->relf = 0;
	l->q.fresh = 1;
	l->q.had = had;
	/* Claimed before the value was here. Not for nobody: what is held back is recovered once more. */
	if (!l->users && !rdl_must_store(l) && !rdl_holds_back(l))
		rdl_fetch_bytes(l, ev->rebuilt.ver);
	rdl_tell_settled(l, ev, acts);
	rdl_replay(l, acts);
	return rdl_turn_go(l, ev, acts);
}

RDL_TURN_CELL(rejoin)
{
	if (l->io || l->q.rd || l->q.slot)
		return -EPROTO;
	rdl_epoch_begins(l, ev->epoch, ev->rebuilt.vflags, acts);
	l->st = l->nq ? RDL_ST_WANT : RDL_ST_NONE;
	return rdl_turn_go(l, ev, acts);
}
