// SPDX-License-Identifier: GPL-2.0
/*
 * Kind "mcs", Documentation/protocol.rst: the word names the last of the queue. A node puts itself there by CAS and
 * tells the one that was there (NEXT, an event HINT); who has the lock hands it on by one message to who has spoken
 * so, or, if the word still names itself, sets it free by CAS. Exclusive only.
 *
 * Between another's CAS and its NEXT the owner knows that somebody comes, but not who: WNEXT. And NEXT can be faster
 * than the end of the CAS that it follows: then it is kept until the ticket is known, of several the one with the
 * highest.
 */
#include "bust.h"
#include "cell.h"
#include "fair.h"

static u64 drawn(const struct rdl_lock *l, u64 word)
{
	return rdl_w_pack(rdl_w_ticket(word) + 1, l->node + 1, 0, l->epoch, rdl_w_attention(word), false);
}

/* The word if nobody has come behind this node's ticket. */
static u64 last(const struct rdl_lock *l)
{
	return rdl_w_pack(l->ticket + 1, l->node + 1, 0, l->epoch, rdl_w_attention(l->guess), false);
}

static void post(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	switch (l->st) {
	case RDL_ST_WANT:
		if (rdl_w_ticket(l->guess) >= RDL_TICKET_HARD && !rdl_bust(HARD_IGNORED)) {
			rdl_roll(l, acts);
			break;
		}
		l->st = RDL_ST_DRAW;
		l->q.mode = RDL_MODE_X;
		rdl_act_post(l, acts, RDL_ACT_POST_CAS, l->guess, drawn(l, l->guess));
		break;
	case RDL_ST_STORE:
		rdl_store(l, acts);
		break;
	case RDL_ST_OWED:
		rdl_drop_read(l);
		l->st = RDL_ST_POP;
		rdl_value_along(l, rdl_act_post(l, acts, RDL_ACT_POST_CAS, last(l),
						rdl_w_free(l->epoch, l->ticket + 1, rdl_w_attention(l->guess))));
		break;
	}
}

static int op_draw(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	u64 old = ev->old;
	u32 tail = rdl_w_mid(old);

	if (rdl_draw_failed(l, ev, acts))
		return rdl_turn_go(l, ev, acts);
	if (tail == l->node + 1u || tail > RDL_MAX_NODES || rdl_w_low(old))
		return rdl_turn_unknown(l, ev, acts);
	if (old != l->guess) {
		l->guess = old;
		rdl_grant_over(l);
		return rdl_turn_go(l, ev, acts);
	}
	l->guess = drawn(l, old);
	if (!tail) {
		rdl_granted_at_once(l, acts, old);
		return rdl_turn_go(l, ev, acts);
	}
	rdl_took_ticket(l, acts, rdl_w_ticket(old));
	rdl_early_hint(l);
	l->st = RDL_ST_WAIT;
	l->q.tries = 0;
	l->q.from = tail;
	/* Said even if the home is about to recover the lock: then it comes too late, and the home will tell. */
	rdl_act_peer(l, acts, RDL_ACT_SEND_HINT, tail - 1, l->ticket)->mode = RDL_MODE_X;
	if (l->frz == RDL_FRZ_RUN)
		rdl_watch(l, acts);
	return rdl_turn_go(l, ev, acts);
}

static int op_pop(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	u64 old = ev->old, expected = last(l);

	if (rdl_pop_failed(l, ev, acts))
		return rdl_turn_go(l, ev, acts);
	l->guess = old;
	if (old == expected) {
		l->guess = rdl_w_free(l->epoch, l->ticket + 1, rdl_w_attention(old));
		rdl_duty_over(l, acts);
	} else if (rdl_w_ticket(old) > l->ticket + 1 && rdl_w_mid(old)) {
		l->st = RDL_ST_WNEXT;
		l->q.asker = 0;
	} else {
		return rdl_pop_unknown(l, ev, acts);
	}
	return rdl_turn_go(l, ev, acts);
}

/* DRAW and TRY: of the own ticket nothing is known yet. */
static int early_hint(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	struct rdl_queue *q = &l->q;

	if (rdl_bust(NEXT_DROPPED))
		return 0;
	if (q->hint_epoch == l->epoch && ev->peer.ticket <= q->next.ticket && !rdl_bust(NEXT_ANY))
		return 0;
	q->next = ev->peer;
	q->hint_epoch = l->epoch;
	return 0;
}

/* The wait is long: should NEXT have been lost, the node before does not know whom to hand it to. */
static int wake_wait(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	struct rdl_queue *q = &l->q;

	q->paused = 0;
	if (l->frz != RDL_FRZ_RUN)
		return rdl_turn_go(l, ev, acts);
	if (q->tries < RDL_TRIES_MAX)
		q->tries++;
	rdl_watch(l, acts);
	if (q->from)
		rdl_act_peer(l, acts, RDL_ACT_SEND_HINT, q->from - 1, l->ticket)->mode = RDL_MODE_X;
	if (ev->flags & RDL_F_LINK)
		rdl_act_msg(l, acts, RDL_ACT_QUERY);
	return rdl_turn_go(l, ev, acts);
}

/* Without a ticket; a draw follows at once if somebody here wants the lock. */
#define RESTS	(B(NONE) | B(WANT) | B(DRAW))
/* Where a lock goes that is given back. */
#define GIVES	(B(OWED) | B(POP))

static const struct rdl_cell table[RDL_NR_STATES][RDL_NR_EVENTS] = {
	[RDL_ST_NONE] = {
		[RDL_EV_ACQ]	 = C(rdl_turn_acquire, B(NONE) | B(WANT) | B(DRAW) | B(TRY)),
		[RDL_EV_REL]	 = IMP(NONE),
		[RDL_EV_CANCEL]	 = IMP(NONE),
		[RDL_EV_OP]	 = IMP(NONE),
		[RDL_EV_TIMER]	 = C(rdl_turn_wake, B(NONE)),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(NONE)),
		[RDL_EV_REBUILT]	 = C(rdl_turn_rebuilt_none, B(NONE)),
		[RDL_EV_LINK_UP]	 = C(rdl_turn_new_link, B(NONE)),
		[RDL_EV_LEASE]	 = C(rdl_turn_wake, B(NONE)),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(NONE),
		[RDL_EV_GRANT]	 = IGN(NONE),
		[RDL_EV_HINT]	 = IGN(NONE),
		[RDL_EV_PROBE]	 = C(rdl_turn_probe_busy, B(NONE)),
		[RDL_EV_ANSWER]	 = IGN(NONE),
		[RDL_EV_SHED]	 = C(rdl_turn_wake, B(NONE)),
	},
	[RDL_ST_WANT] = {
		[RDL_EV_ACQ]	 = C(rdl_queue, B(WANT)),
		[RDL_EV_REL]	 = IMP(WANT),
		[RDL_EV_CANCEL]	 = C(rdl_turn_cancel, RESTS),
		[RDL_EV_OP]	 = IMP(WANT),
		[RDL_EV_TIMER]	 = C(rdl_turn_wake, B(WANT) | B(DRAW)),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(WANT)),
		[RDL_EV_REBUILT]	 = C(rdl_turn_rebuilt_none, RESTS),
		[RDL_EV_LINK_UP]	 = C(rdl_turn_new_link, B(WANT) | B(DRAW)),
		[RDL_EV_LEASE]	 = C(rdl_turn_wake, B(WANT) | B(DRAW)),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(WANT),
		[RDL_EV_GRANT]	 = IGN(WANT),
		[RDL_EV_HINT]	 = IGN(WANT),
		[RDL_EV_PROBE]	 = C(rdl_turn_probe_busy, B(WANT)),
		[RDL_EV_ANSWER]	 = IGN(WANT),
		[RDL_EV_SHED]	 = IGN(WANT),
	},
	[RDL_ST_DRAW] = {
		[RDL_EV_ACQ]	 = C(rdl_queue, B(DRAW)),
		[RDL_EV_REL]	 = IMP(DRAW),
		[RDL_EV_CANCEL]	 = C(rdl_turn_cancel, B(DRAW)),
		[RDL_EV_OP]	 = C(op_draw, RESTS | GIVES | B(HELD) | B(CACHED) | B(WAIT) | B(FETCH) | B(AMBIG)),
		[RDL_EV_TIMER]	 = C(rdl_turn_wake, B(DRAW)),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(DRAW)),
		[RDL_EV_REBUILT]	 = IMP(DRAW),
		[RDL_EV_LINK_UP]	 = IMP(DRAW),
		[RDL_EV_LEASE]	 = C(rdl_turn_wake, B(DRAW)),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(DRAW),
		[RDL_EV_GRANT]	 = IGN(DRAW),
		[RDL_EV_HINT]	 = C(early_hint, B(DRAW)),
		[RDL_EV_PROBE]	 = C(rdl_turn_probe_busy, B(DRAW)),
		[RDL_EV_ANSWER]	 = IGN(DRAW),
		[RDL_EV_SHED]	 = IGN(DRAW),
	},
	[RDL_ST_TRY] = {
		[RDL_EV_ACQ]	 = C(rdl_queue, B(TRY)),
		[RDL_EV_REL]	 = IMP(TRY),
		[RDL_EV_CANCEL]	 = C(rdl_turn_cancel_try, B(TRY)),
		[RDL_EV_OP]	 = C(rdl_turn_op_try,
				     RESTS | GIVES | B(HELD) | B(CACHED) | B(TRY) | B(PROBE) | B(FETCH) |
				     B(AMBIG)),
		[RDL_EV_TIMER]	 = C(rdl_turn_wake, B(TRY)),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(TRY)),
		[RDL_EV_REBUILT]	 = IMP(TRY),
		[RDL_EV_LINK_UP]	 = IMP(TRY),
		[RDL_EV_LEASE]	 = C(rdl_turn_wake, B(TRY)),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(TRY),
		[RDL_EV_GRANT]	 = IGN(TRY),
		[RDL_EV_HINT]	 = C(early_hint, B(TRY)),
		[RDL_EV_PROBE]	 = C(rdl_turn_probe_busy, B(TRY)),
		[RDL_EV_ANSWER]	 = IGN(TRY),
		[RDL_EV_SHED]	 = IGN(TRY),
	},
	[RDL_ST_WAIT] = {
		[RDL_EV_ACQ]	 = C(rdl_queue, B(WAIT)),
		[RDL_EV_REL]	 = IMP(WAIT),
		[RDL_EV_CANCEL]	 = C(rdl_turn_cancel, B(WAIT)),
		[RDL_EV_OP]	 = IMP(WAIT),
		[RDL_EV_TIMER]	 = C(wake_wait, B(WAIT)),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(WAIT) | B(NONE)),
		[RDL_EV_REBUILT]	 = C(rdl_turn_rebuilt_wait,
				     RESTS | GIVES | B(HELD) | B(FETCH) | B(CACHED) | B(WAIT)),
		[RDL_EV_LINK_UP]	 = C(rdl_turn_new_link, B(WAIT) | B(NONE)),
		[RDL_EV_LEASE]	 = C(rdl_turn_wake, B(WAIT)),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(WAIT),
		[RDL_EV_GRANT]	 = C(rdl_turn_grant, RESTS | GIVES | B(HELD) | B(FETCH) | B(CACHED) | B(WAIT)),
		[RDL_EV_HINT]	 = C(rdl_turn_hint, B(WAIT)),
		[RDL_EV_PROBE]	 = C(rdl_turn_probe_busy, B(WAIT)),
		[RDL_EV_ANSWER]	 = IGN(WAIT),
		[RDL_EV_SHED]	 = IGN(WAIT),
	},
	[RDL_ST_FETCH] = {
		[RDL_EV_ACQ]	 = C(rdl_queue, B(FETCH)),
		[RDL_EV_REL]	 = IMP(FETCH),
		[RDL_EV_CANCEL]	 = C(rdl_turn_cancel, B(FETCH)),
		[RDL_EV_OP]	 = C(rdl_turn_op_fetch, RESTS | GIVES | B(HELD) | B(CACHED) | B(FETCH)),
		[RDL_EV_TIMER]	 = C(rdl_turn_wake, B(FETCH)),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(FETCH) | B(HELD) | B(NONE)),
		[RDL_EV_REBUILT]	 = IMP(FETCH),
		[RDL_EV_LINK_UP]	 = C(rdl_turn_new_link, B(FETCH) | B(HELD) | B(NONE)),
		[RDL_EV_LEASE]	 = C(rdl_turn_wake, B(FETCH)),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(FETCH),
		[RDL_EV_GRANT]	 = IGN(FETCH),
		[RDL_EV_HINT]	 = C(rdl_turn_hint, B(FETCH)),
		[RDL_EV_PROBE]	 = C(rdl_turn_probe_busy, B(FETCH)),
		[RDL_EV_ANSWER]	 = IGN(FETCH),
		[RDL_EV_SHED]	 = IGN(FETCH),
	},
	[RDL_ST_HELD] = {
		[RDL_EV_ACQ]	 = C(rdl_turn_join, RESTS | GIVES | B(HELD) | B(STORE) | B(CACHED)),
		[RDL_EV_REL]	 = C(rdl_turn_release, RESTS | GIVES | B(HELD) | B(STORE) | B(CACHED)),
		[RDL_EV_CANCEL]	 = C(rdl_turn_cancel, RESTS | GIVES | B(HELD) | B(STORE) | B(CACHED)),
		[RDL_EV_OP]	 = IMP(HELD),
		[RDL_EV_TIMER]	 = C(rdl_turn_wake, RESTS | GIVES | B(HELD) | B(STORE) | B(CACHED)),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(HELD) | B(NONE)),
		[RDL_EV_REBUILT]	 = C(rdl_turn_rebuilt_held,
				     RESTS | GIVES | B(HELD) | B(STORE) | B(FETCH) | B(CACHED)),
		[RDL_EV_LINK_UP]	 = C(rdl_turn_new_link, RESTS | GIVES | B(HELD) | B(STORE) | B(CACHED)),
		[RDL_EV_LEASE]	 = C(rdl_turn_wake, RESTS | GIVES | B(HELD) | B(STORE) | B(CACHED)),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(HELD),
		[RDL_EV_GRANT]	 = IGN(HELD),
		[RDL_EV_HINT]	 = C(rdl_turn_hint, RESTS | GIVES | B(HELD) | B(STORE) | B(CACHED)),
		[RDL_EV_PROBE]	 = C(rdl_turn_probe_busy, B(HELD)),
		[RDL_EV_ANSWER]	 = IGN(HELD),
		[RDL_EV_SHED]	 = C(rdl_turn_wake, RESTS | GIVES | B(HELD) | B(STORE) | B(CACHED)),
	},
	[RDL_ST_STORE] = {
		[RDL_EV_ACQ]	 = C(rdl_turn_join, B(STORE) | B(HELD)),
		[RDL_EV_REL]	 = IMP(STORE),
		[RDL_EV_CANCEL]	 = C(rdl_turn_cancel, B(STORE) | B(HELD)),
		[RDL_EV_OP]	 = C(rdl_turn_op_store, RESTS | GIVES | B(HELD) | B(STORE) | B(CACHED)),
		[RDL_EV_TIMER]	 = C(rdl_turn_wake, B(STORE) | B(HELD)),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(STORE) | B(HELD)),
		[RDL_EV_REBUILT]	 = IMP(STORE),
		[RDL_EV_LINK_UP]	 = C(rdl_turn_new_link, B(STORE) | B(HELD)),
		[RDL_EV_LEASE]	 = C(rdl_turn_wake, B(STORE) | B(HELD)),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(STORE),
		[RDL_EV_GRANT]	 = IGN(STORE),
		[RDL_EV_HINT]	 = C(rdl_turn_hint, B(STORE) | B(HELD)),
		[RDL_EV_PROBE]	 = C(rdl_turn_probe_busy, B(STORE)),
		[RDL_EV_ANSWER]	 = IGN(STORE),
		[RDL_EV_SHED]	 = C(rdl_turn_wake, B(STORE) | B(HELD)),
	},
	[RDL_ST_CACHED] = {
		[RDL_EV_ACQ]	 = C(rdl_turn_join, RESTS | GIVES | B(HELD) | B(CACHED)),
		[RDL_EV_REL]	 = IMP(CACHED),
		[RDL_EV_CANCEL]	 = IMP(CACHED),	/* frozen, it is claimed at once: nothing is in flight */
		[RDL_EV_OP]	 = IMP(CACHED),
		[RDL_EV_TIMER]	 = C(rdl_turn_wake, RESTS | GIVES | B(HELD) | B(CACHED)),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(CACHED) | B(NONE)),
		[RDL_EV_REBUILT]	 = IMP(CACHED),
		[RDL_EV_LINK_UP]	 = C(rdl_turn_new_link, RESTS | GIVES | B(HELD) | B(CACHED)),
		[RDL_EV_LEASE]	 = C(rdl_turn_wake, RESTS | GIVES | B(HELD) | B(CACHED)),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(CACHED),
		[RDL_EV_GRANT]	 = IGN(CACHED),
		[RDL_EV_HINT]	 = C(rdl_turn_hint, RESTS | GIVES | B(HELD) | B(CACHED)),
		[RDL_EV_PROBE]	 = C(rdl_turn_probe, RESTS | GIVES | B(HELD) | B(CACHED)),
		[RDL_EV_ANSWER]	 = IGN(CACHED),
		[RDL_EV_SHED]	 = C(rdl_turn_wake, RESTS | GIVES | B(HELD) | B(CACHED)),
	},
	[RDL_ST_OWED] = {
		[RDL_EV_ACQ]	 = C(rdl_turn_join, RESTS | GIVES | B(HELD) | B(CACHED)),
		[RDL_EV_REL]	 = IMP(OWED),
		[RDL_EV_CANCEL]	 = C(rdl_turn_cancel, RESTS | GIVES | B(HELD) | B(CACHED)),
		[RDL_EV_OP]	 = IMP(OWED),
		[RDL_EV_TIMER]	 = C(rdl_turn_wake, RESTS | GIVES | B(HELD) | B(CACHED)),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(OWED) | B(NONE) | B(WANT)),
		[RDL_EV_REBUILT]	 = IMP(OWED),
		[RDL_EV_LINK_UP]	 = C(rdl_turn_new_link, RESTS | GIVES | B(HELD) | B(CACHED)),
		[RDL_EV_LEASE]	 = C(rdl_turn_wake, RESTS | GIVES | B(HELD) | B(CACHED)),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(OWED),
		[RDL_EV_GRANT]	 = IGN(OWED),
		[RDL_EV_HINT]	 = C(rdl_turn_hint, RESTS | GIVES | B(HELD) | B(CACHED)),
		[RDL_EV_PROBE]	 = C(rdl_turn_probe_busy, B(OWED)),
		[RDL_EV_ANSWER]	 = IGN(OWED),
		[RDL_EV_SHED]	 = C(rdl_turn_wake, RESTS | GIVES | B(HELD) | B(CACHED)),
	},
	[RDL_ST_POP] = {
		[RDL_EV_ACQ]	 = C(rdl_queue, B(POP)),
		[RDL_EV_REL]	 = IMP(POP),
		[RDL_EV_CANCEL]	 = C(rdl_turn_cancel, B(POP)),
		[RDL_EV_OP]	 = C(op_pop, RESTS | GIVES | B(HELD) | B(CACHED) | B(WNEXT) | B(AMBIG)),
		[RDL_EV_TIMER]	 = C(rdl_turn_wake, B(POP)),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(POP)),
		[RDL_EV_REBUILT]	 = IMP(POP),
		[RDL_EV_LINK_UP]	 = IMP(POP),
		[RDL_EV_LEASE]	 = C(rdl_turn_wake, B(POP)),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(POP),
		[RDL_EV_GRANT]	 = IGN(POP),
		[RDL_EV_HINT]	 = C(rdl_turn_hint, B(POP)),
		[RDL_EV_PROBE]	 = C(rdl_turn_probe_busy, B(POP)),
		[RDL_EV_ANSWER]	 = IGN(POP),
		[RDL_EV_SHED]	 = IGN(POP),
	},
	[RDL_ST_WNEXT] = {
		[RDL_EV_ACQ]	 = C(rdl_queue, B(WNEXT)),
		[RDL_EV_REL]	 = IMP(WNEXT),
		[RDL_EV_CANCEL]	 = C(rdl_turn_cancel, RESTS | B(WNEXT)),
		[RDL_EV_OP]	 = IMP(WNEXT),
		[RDL_EV_TIMER]	 = C(rdl_turn_wake, RESTS | B(WNEXT)),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(WNEXT) | B(NONE) | B(WANT)),
		[RDL_EV_REBUILT]	 = IMP(WNEXT),
		[RDL_EV_LINK_UP]	 = C(rdl_turn_new_link, RESTS | B(WNEXT)),
		[RDL_EV_LEASE]	 = C(rdl_turn_wake, RESTS | B(WNEXT)),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(WNEXT),
		[RDL_EV_GRANT]	 = IGN(WNEXT),
		[RDL_EV_HINT]	 = C(rdl_turn_hint, RESTS | B(WNEXT)),
		[RDL_EV_PROBE]	 = C(rdl_turn_probe_busy, B(WNEXT)),
		[RDL_EV_ANSWER]	 = IGN(WNEXT),
		[RDL_EV_SHED]	 = IGN(WNEXT),
	},
	[RDL_ST_PROBE] = {
		[RDL_EV_ACQ]	 = C(rdl_queue, B(PROBE)),
		[RDL_EV_REL]	 = IMP(PROBE),
		[RDL_EV_CANCEL]	 = C(rdl_turn_cancel_try, B(PROBE) | RESTS),
		[RDL_EV_OP]	 = IMP(PROBE),
		[RDL_EV_TIMER]	 = C(rdl_turn_wake_probe, RESTS),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(PROBE) | B(NONE) | B(WANT)),
		[RDL_EV_REBUILT]	 = IMP(PROBE),
		[RDL_EV_LINK_UP]	 = C(rdl_turn_new_link, B(PROBE) | B(NONE) | B(WANT)),
		[RDL_EV_LEASE]	 = C(rdl_turn_wake, B(PROBE)),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(PROBE),
		[RDL_EV_GRANT]	 = IGN(PROBE),
		[RDL_EV_HINT]	 = IGN(PROBE),
		[RDL_EV_PROBE]	 = C(rdl_turn_probe_busy, B(PROBE)),
		[RDL_EV_ANSWER]	 = C(rdl_turn_answer, RESTS | B(PROBE) | B(TRY)),
		[RDL_EV_SHED]	 = IGN(PROBE),
	},
	[RDL_ST_AMBIG] = {
		[RDL_EV_ACQ]	 = C(rdl_queue, B(AMBIG)),
		[RDL_EV_REL]	 = IMP(AMBIG),
		[RDL_EV_CANCEL]	 = C(rdl_turn_cancel, B(AMBIG)),
		[RDL_EV_OP]	 = IMP(AMBIG),
		[RDL_EV_TIMER]	 = C(rdl_turn_wake, B(AMBIG)),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(AMBIG) | B(NONE) | B(WANT)),
		[RDL_EV_REBUILT]	 = IMP(AMBIG),
		[RDL_EV_LINK_UP]	 = C(rdl_turn_new_link, B(AMBIG) | B(NONE) | B(WANT)),
		[RDL_EV_LEASE]	 = C(rdl_turn_wake, B(AMBIG)),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(AMBIG),
		[RDL_EV_GRANT]	 = IGN(AMBIG),
		[RDL_EV_HINT]	 = IGN(AMBIG),
		[RDL_EV_PROBE]	 = C(rdl_turn_probe_busy, B(AMBIG)),
		[RDL_EV_ANSWER]	 = IGN(AMBIG),
		[RDL_EV_SHED]	 = IGN(AMBIG),
	},
	[RDL_ST_LOST] = {
		[RDL_EV_ACQ]	 = C(rdl_queue_lost, B(LOST)),
		[RDL_EV_REL]	 = IGN(LOST),
		[RDL_EV_CANCEL]	 = C(rdl_cancel, B(LOST)),
		[RDL_EV_OP]	 = C(rdl_queue_stale_ended, B(LOST)),
		[RDL_EV_TIMER]	 = IGN(LOST),
		[RDL_EV_FREEZE]	 = IGN(LOST),
		[RDL_EV_REBUILT]	 = IGN(LOST),
		[RDL_EV_LINK_UP]	 = IGN(LOST),
		[RDL_EV_LEASE]	 = IGN(LOST),
		[RDL_EV_LOSE]	 = IGN(LOST),
		[RDL_EV_REJOIN]	 = C(rdl_turn_rejoin, RESTS),
		[RDL_EV_GRANT]	 = IGN(LOST),
		[RDL_EV_HINT]	 = IGN(LOST),
		[RDL_EV_PROBE]	 = IGN(LOST),
		[RDL_EV_ANSWER]	 = IGN(LOST),
		[RDL_EV_SHED]	 = IGN(LOST),
	},
};

#define STATES	(B(NONE) | B(WANT) | B(DRAW) | B(TRY) | B(WAIT) | B(FETCH) | B(HELD) | B(CACHED) | B(OWED) | B(POP) | \
		 B(WNEXT) | B(PROBE) | B(AMBIG) | B(LOST) | B(STORE))

const struct rdl_kind_ops rdl_mcs = {
	.states = STATES,
	.events = ((1u << RDL_NR_EVENTS) - 1) & ~(1u << RDL_EV_DOWN | 1u << RDL_EV_UP),
	.owns = STATES & ~(RESTS | B(TRY) | B(PROBE) | B(AMBIG) | B(LOST)),
	.table = table,
	.begin = rdl_queue_begin,
	.claim = rdl_queue_claim,
	.missed = rdl_queue_missed,
	.lost = rdl_queue_forget,
	.told = rdl_queue_told,
	.post = post,
	.wait = rdl_watch,
	.drawn = drawn,
	.message = rdl_peer_filter,
	.check = rdl_queue_check,
	.fits = rdl_queue_fits,
	.finish = rdl_queue_finish,
};
