// SPDX-License-Identifier: GPL-2.0
/*
 * Kind "ticket", Documentation/protocol.rst: FAA takes a ticket, FAA gives it back, and who waits looks at the word
 * from time to time, the rarer the more tickets are before its own. No messages, exclusive only, FIFO between nodes.
 *
 * A READ is advice: it may tear against an atomic. FAA(0) confirms it.
 */
#include "bust.h"
#include "cell.h"
#include "fair.h"

/* Half as long as last time if the queue has moved, twice as long if it has not. */
static void sleep_on(struct rdl_lock *l, struct rdl_acts *acts, u32 head)
{
	struct rdl_queue *q = &l->q;
	u32 n = head < l->ticket ? l->ticket - head : 1;
	u64 ns;

	q->step = RDL_STEP_NONE;
	if (head == q->from && q->tries < RDL_POLL_KMAX)
		q->tries++;
	else if (head != q->from && q->tries)
		q->tries--;
	q->from = head;
	if (n > RDL_MAX_NODES)
		n = RDL_MAX_NODES;
	ns = (u64)n * RDL_POLL_NS << q->tries;
	if (l->frz == RDL_FRZ_RUN)
		rdl_act_timer(l, acts, ns < RDL_POLL_CAP_NS ? ns : RDL_POLL_CAP_NS);
}

void rdl_ticket_wait(struct rdl_lock *l, struct rdl_acts *acts)
{
	sleep_on(l, acts, l->q.from);
}

static void post(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (l->st == RDL_ST_WAIT && l->q.step == RDL_STEP_PROVE)
		rdl_look(l, acts);
	else
		rdl_fair_post(l, ev, acts);
}

static int wake_wait(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	struct rdl_queue *q = &l->q;

	q->paused = 0;
	if (l->frz == RDL_FRZ_RUN && !q->rd && !l->io && q->step != RDL_STEP_PROVE)
		rdl_want_read(l);
	return rdl_turn_go(l, ev, acts);
}

static void my_turn(struct rdl_lock *l, u64 word)
{
	rdl_granted(l);
	rdl_fetch(l, word);
}

static int confirmed(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	struct rdl_queue *q = &l->q;

	switch (rdl_word_end(l, ev)) {
	case RDL_END_OK:
		l->guess = ev->old;
		if (rdl_w_head(ev->old) == l->ticket && (l->ticket < RDL_TICKET_HARD || rdl_bust(HARD_IGNORED)))
			my_turn(l, ev->old);
		else
			sleep_on(l, acts, rdl_w_head(ev->old));
		break;
	case RDL_END_FAILED:
		q->step = RDL_STEP_NONE;
		rdl_want_read(l);
		rdl_pause(l, acts);
		break;
	case RDL_END_VOID:
		q->step = RDL_STEP_NONE;
		break;
	case RDL_END_UNKNOWN:
		if (ev->outcome == RDL_OK)
			return rdl_turn_unknown(l, ev, acts);
		/* It changes nothing, whatever became of it. */
		q->step = RDL_STEP_NONE;
		l->landing = 1;
		rdl_want_read(l);
		break;
	}
	return rdl_turn_go(l, ev, acts);
}

static int op_wait(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	u64 w = ev->old;

	if (rdl_side_ended(l, ev, acts))
		return rdl_turn_go(l, ev, acts);
	if (ev->op != RDL_ACT_POST_READ_WORD)
		return l->io ? confirmed(l, ev, acts) : -EPROTO;
	if (rdl_w_ep18(w) != rdl_ep18(l->epoch) || rdl_w_frozen(w) || rdl_w_head(w) != l->ticket)
		sleep_on(l, acts, rdl_w_head(w));
	else if (rdl_bust(NO_CONFIRM))
		my_turn(l, w);
	else
		l->q.step = RDL_STEP_PROVE;
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
		[RDL_EV_LEASE]	 = IGN(NONE),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(NONE),
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
	},
	[RDL_ST_DRAW] = {
		[RDL_EV_ACQ]	 = C(rdl_queue, B(DRAW)),
		[RDL_EV_REL]	 = IMP(DRAW),
		[RDL_EV_CANCEL]	 = C(rdl_turn_cancel, B(DRAW)),
		[RDL_EV_OP]	 = C(rdl_fair_op_draw, RESTS | GIVES | B(HELD) | B(WAIT) | B(FETCH) | B(AMBIG)),
		[RDL_EV_TIMER]	 = C(rdl_turn_wake, B(DRAW)),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(DRAW)),
		[RDL_EV_REBUILT]	 = IMP(DRAW),
		[RDL_EV_LINK_UP]	 = IMP(DRAW),
		[RDL_EV_LEASE]	 = C(rdl_turn_wake, B(DRAW)),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(DRAW),
	},
	[RDL_ST_TRY] = {
		[RDL_EV_ACQ]	 = C(rdl_queue, B(TRY)),
		[RDL_EV_REL]	 = IMP(TRY),
		[RDL_EV_CANCEL]	 = C(rdl_turn_cancel_try, B(TRY)),
		[RDL_EV_OP]	 = C(rdl_turn_op_try, RESTS | GIVES | B(HELD) | B(TRY) | B(FETCH) | B(AMBIG)),
		[RDL_EV_TIMER]	 = C(rdl_turn_wake, B(TRY)),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(TRY)),
		[RDL_EV_REBUILT]	 = IMP(TRY),
		[RDL_EV_LINK_UP]	 = IMP(TRY),
		[RDL_EV_LEASE]	 = C(rdl_turn_wake, B(TRY)),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(TRY),
	},
	[RDL_ST_WAIT] = {
		[RDL_EV_ACQ]	 = C(rdl_queue, B(WAIT)),
		[RDL_EV_REL]	 = IMP(WAIT),
		[RDL_EV_CANCEL]	 = C(rdl_turn_cancel, B(WAIT)),
		[RDL_EV_OP]	 = C(op_wait, RESTS | GIVES | B(HELD) | B(WAIT) | B(FETCH) | B(AMBIG)),
		[RDL_EV_TIMER]	 = C(wake_wait, B(WAIT)),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(WAIT) | B(NONE)),
		[RDL_EV_REBUILT]	 = C(rdl_turn_rebuilt_wait, RESTS | GIVES | B(HELD) | B(FETCH) | B(WAIT)),
		[RDL_EV_LINK_UP]	 = C(rdl_turn_new_link, B(WAIT) | B(NONE)),
		[RDL_EV_LEASE]	 = C(rdl_turn_wake, B(WAIT)),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(WAIT),
	},
	[RDL_ST_FETCH] = {
		[RDL_EV_ACQ]	 = C(rdl_queue, B(FETCH)),
		[RDL_EV_REL]	 = IMP(FETCH),
		[RDL_EV_CANCEL]	 = C(rdl_turn_cancel, B(FETCH)),
		[RDL_EV_OP]	 = C(rdl_turn_op_fetch, RESTS | GIVES | B(HELD) | B(FETCH)),
		[RDL_EV_TIMER]	 = C(rdl_turn_wake, B(FETCH)),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(FETCH) | B(HELD) | B(NONE)),
		[RDL_EV_REBUILT]	 = IMP(FETCH),
		[RDL_EV_LINK_UP]	 = C(rdl_turn_new_link, B(FETCH) | B(HELD) | B(NONE)),
		[RDL_EV_LEASE]	 = C(rdl_turn_wake, B(FETCH)),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(FETCH),
	},
	[RDL_ST_HELD] = {
		[RDL_EV_ACQ]	 = C(rdl_turn_join, RESTS | GIVES | B(HELD) | B(STORE)),
		[RDL_EV_REL]	 = C(rdl_turn_release, RESTS | GIVES | B(HELD) | B(STORE)),
		[RDL_EV_CANCEL]	 = C(rdl_turn_cancel, RESTS | GIVES | B(HELD) | B(STORE)),
		[RDL_EV_OP]	 = IMP(HELD),
		[RDL_EV_TIMER]	 = C(rdl_turn_wake, RESTS | GIVES | B(HELD) | B(STORE)),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(HELD) | B(NONE)),
		[RDL_EV_REBUILT]	 = C(rdl_turn_rebuilt_held, RESTS | GIVES | B(HELD) | B(STORE) | B(FETCH)),
		[RDL_EV_LINK_UP]	 = C(rdl_turn_new_link, RESTS | GIVES | B(HELD) | B(STORE)),
		[RDL_EV_LEASE]	 = C(rdl_turn_wake, RESTS | GIVES | B(HELD) | B(STORE)),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(HELD),
	},
	[RDL_ST_STORE] = {
		[RDL_EV_ACQ]	 = C(rdl_turn_join, B(STORE) | B(HELD)),
		[RDL_EV_REL]	 = IMP(STORE),
		[RDL_EV_CANCEL]	 = C(rdl_turn_cancel, B(STORE) | B(HELD)),
		[RDL_EV_OP]	 = C(rdl_turn_op_store, RESTS | GIVES | B(HELD) | B(STORE)),
		[RDL_EV_TIMER]	 = C(rdl_turn_wake, B(STORE) | B(HELD)),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(STORE) | B(HELD)),
		[RDL_EV_REBUILT]	 = IMP(STORE),
		[RDL_EV_LINK_UP]	 = C(rdl_turn_new_link, B(STORE) | B(HELD)),
		[RDL_EV_LEASE]	 = C(rdl_turn_wake, B(STORE) | B(HELD)),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(STORE),
	},
	[RDL_ST_OWED] = {
		[RDL_EV_ACQ]	 = C(rdl_turn_join, RESTS | GIVES | B(HELD)),
		[RDL_EV_REL]	 = IMP(OWED),
		[RDL_EV_CANCEL]	 = C(rdl_turn_cancel, RESTS | GIVES | B(HELD)),
		[RDL_EV_OP]	 = IMP(OWED),
		[RDL_EV_TIMER]	 = C(rdl_turn_wake, RESTS | GIVES | B(HELD)),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(OWED) | B(NONE) | B(WANT)),
		[RDL_EV_REBUILT]	 = IMP(OWED),
		[RDL_EV_LINK_UP]	 = C(rdl_turn_new_link, RESTS | GIVES | B(HELD)),
		[RDL_EV_LEASE]	 = C(rdl_turn_wake, RESTS | GIVES | B(HELD)),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(OWED),
	},
	[RDL_ST_POP] = {
		[RDL_EV_ACQ]	 = C(rdl_queue, B(POP)),
		[RDL_EV_REL]	 = IMP(POP),
		[RDL_EV_CANCEL]	 = C(rdl_turn_cancel, B(POP)),
		[RDL_EV_OP]	 = C(rdl_fair_op_pop, RESTS | GIVES | B(HELD) | B(AMBIG)),
		[RDL_EV_TIMER]	 = C(rdl_turn_wake, B(POP)),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(POP)),
		[RDL_EV_REBUILT]	 = IMP(POP),
		[RDL_EV_LINK_UP]	 = IMP(POP),
		[RDL_EV_LEASE]	 = C(rdl_turn_wake, B(POP)),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(POP),
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
	},
};

#define STATES	(B(NONE) | B(WANT) | B(DRAW) | B(TRY) | B(WAIT) | B(FETCH) | B(HELD) | B(OWED) | B(POP) | B(AMBIG) | \
		 B(LOST) | B(STORE))

const struct rdl_kind_ops rdl_ticket = {
	.states = STATES,
	.events = (2u << RDL_EV_REJOIN) - 1,
	.owns = STATES & ~(RESTS | B(TRY) | B(AMBIG) | B(LOST)),
	.table = table,
	.begin = rdl_queue_begin,
	.claim = rdl_queue_claim,
	.missed = rdl_queue_missed,
	.lost = rdl_queue_forget,
	.told = rdl_queue_told,
	.post = post,
	.wait = rdl_ticket_wait,
	.drawn = rdl_fair_drawn,
	.message = rdl_peer_filter,
	.check = rdl_queue_check,
	.fits = rdl_queue_fits,
	.finish = rdl_queue_finish,
};
