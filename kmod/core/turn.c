// SPDX-License-Identifier: GPL-2.0
/*
 * Whose turn it is on this node, for every kind with a queue: what users and waiters of the node do, and the end of
 * every step. A lock that is HELD without a user, CACHED, OWED, or STORE before the write was posted is the same lock
 * in four moods; serve() decides anew at each event which it is.
 */
#include "bust.h"
#include "fair.h"

/* ---- who gets it next ---- */

static bool lease_low(const struct rdl_event *ev)
{
	return !rdl_lease_ok(ev);
}

/* So many readers of this node may join the grant: nodes take turns, however many readers one of them has. */
static u32 joins_left(const struct rdl_lock *l, const struct rdl_event *ev)
{
	u32 n = rdl_first_turn(l) ? 1 : 0;
	u32 room = RDL_LOC_MAX - l->loc + n;

	if (rdl_bust(BUDGET_IGNORED))
		n += l->nq;
	else
		n += rdl_fair_joins(l);
	if (n > room)
		n = room;
	if (n > ev->run)
		n = ev->run ? ev->run : 1;
	return n > l->nq ? l->nq : n;
}

static bool readers_turn(const struct rdl_lock *l)
{
	if (rdl_first_turn(l))
		return true;
	return l->loc < RDL_LOC_MAX && (rdl_fair_joins(l) || rdl_bust(BUDGET_IGNORED));
}

static void serve_readers(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (rdl_head(l, ev) == RDL_MODE_S && readers_turn(l)) {
		u32 n = joins_left(l, ev);

		l->st = RDL_ST_HELD;
		if (!lease_low(ev))
			rdl_deliver_run(l, ev, acts, n);
	} else if (!l->users) {
		rdl_drop_read(l);
		l->st = RDL_ST_OWED;
	}
}

/*
 * May a waiter of this node have it? Under one grant as often as the budget says, and more often as long as no HINT
 * has come. The budget counts from the grant: who waits has perhaps waited since then, its HINT was on the way for as
 * long as it takes, and what this node gave its own users meanwhile it need not give them once more. Who waits for a
 * lock that is not sticky may have given up looking whom to send a HINT.
 */
static bool local_turn(const struct rdl_lock *l)
{
	const struct rdl_queue *q = &l->q;

	if (!l->nq)
		return false;
	if (rdl_first_turn(l))
		return true;
	if (l->loc >= RDL_LOC_MAX)
		return false;
	if (rdl_bust(BUDGET_IGNORED) || (!q->heard && (l->kind == RDL_KIND_MCS || (q->props & RDL_P_STICKY))))
		return true;
	return l->handovers < l->budget;
}

/*
 * Hand it on: no operation on the word, this node's ticket is added to the debt. Only to a writer: readers count
 * elsewhere in the word, and who gives the debt back must be able to tell that the tickets were exclusive.
 */
static bool hand_on(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	struct rdl_queue *q = &l->q;
	u32 next = l->ticket + 1, epoch = l->epoch;
	u8 debt = q->debt;

	if (q->hint != RDL_MODE_X && !(rdl_bust(DIRECT_TO_S) && q->hint))
		return false;
	if (l->kind == RDL_KIND_FAIR) {
		if (debt++ >= RDL_DEBT_MAX || next >= RDL_TICKET_HARD)
			return false;
	} else {
		/* No ticket is owed, but the body of the value may be older than the copy that goes along. */
		debt = debt || q->dirty;
	}
	/* The critical section is over; only now it is sure that all of it was inside the lease. */
	if (lease_low(ev))
		return false;
	/* Without a link it would be lost for certain, and missed by the waiter's watchdog only: it waits for one. */
	if (!(ev->flags & RDL_F_LINK) && !rdl_bust(GRANT_UNLINKED))
		return false;
	rdl_send_grant(l, acts, q->hint_node, next, q->hint, debt);
	rdl_answer(l, acts, false);
	rdl_grant_over(l);
	q->handed_epoch = epoch;
	q->handed_ticket = next;
	return true;
}

/* Before another node, or a reader, may have it. */
static bool store_first(const struct rdl_lock *l)
{
	return rdl_must_store(l) && !(rdl_bust(GRANT_UNSTORED) && l->q.hint);
}

static void serve_writers(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	const struct rdl_queue *q = &l->q;
	bool local = local_turn(l), down = local && rdl_head(l, ev) == RDL_MODE_S;

	if (l->users)
		return;
	if ((!local || down) && store_first(l)) {
		rdl_drop_read(l);
		l->st = RDL_ST_STORE;
		return;
	}
	if (local) {
		l->st = RDL_ST_HELD;
		if (down) {
			if (rdl_may_post(l, ev))
				rdl_fair_down(l, acts);
		} else if (!lease_low(ev)) {
			rdl_deliver_run(l, ev, acts, 1);
		}
		return;
	}
	if (hand_on(l, ev, acts))
		return;
	/* What has no token left for another user is not worth keeping: a try would find it taken for ever. */
	if (!q->hint && !l->nq && !q->asker && (q->props & RDL_P_STICKY) && !(ev->flags & RDL_F_SHED) &&
	    l->loc < RDL_LOC_MAX)
		l->st = RDL_ST_CACHED;
	else
		l->st = RDL_ST_OWED;
}

static void serve(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (l->st == RDL_ST_WNEXT && l->q.hint)
		hand_on(l, ev, acts);
	if (l->st != RDL_ST_HELD && l->st != RDL_ST_CACHED && l->st != RDL_ST_OWED && l->st != RDL_ST_STORE)
		return;
	/* What is being written must not change. */
	if ((l->st == RDL_ST_STORE && l->io) || rdl_holds_back(l))
		return;
	if (l->q.mode == RDL_MODE_S)
		serve_readers(l, ev, acts);
	else
		serve_writers(l, ev, acts);
}

/* ---- the end of a step ---- */

int rdl_turn_go(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (l->frz != RDL_FRZ_RUN) {
		rdl_drained(l, ev, acts);
		return 0;
	}
	serve(l, ev, acts);
	if (!rdl_may_post(l, ev))
		return 0;
	/* It is to be closed, and must not be before the value is safe: the claim tells it, and a new epoch begins. */
	if (l->st == RDL_ST_NONE && (ev->flags & RDL_F_SHED) && rdl_only_copy(l))
		rdl_roll(l, acts);
	if (rdl_fair_look(l) && !l->q.rd_due && (!l->q.rd || l->q.rd_old))
		rdl_want_read(l);
	/* A pause has the timer for itself. */
	if (rdl_fair_spent(l) && !l->q.tries && !l->rolled && !l->q.paused) {
		l->q.tries = 1;
		rdl_act_timer(l, acts, RDL_SPENT_NS);
	}
	rdl_post_side(l, acts);
	if (!l->io)
		rdl_kind_ops(l->kind)->post(l, ev, acts);
	return 0;
}

/* ---- local users and waiters ---- */

RDL_TURN_CELL(acquire)
{
	if (ev->try && !rdl_may_post(l, ev))
		return rdl_queue(l, ev, acts);
	l->nq++;
	if (ev->try) {
		rdl_begin_try(l, ev, acts);
		return 0;
	}
	l->st = RDL_ST_WANT;
	return rdl_turn_go(l, ev, acts);
}

/* Can the head waiter have it now, or (a reader of a writer's grant) after a DOWN? */
static bool can_serve(const struct rdl_lock *l, const struct rdl_event *ev)
{
	u8 head = rdl_head(l, ev);

	if (l->frz != RDL_FRZ_RUN || lease_low(ev) || rdl_holds_back(l) || (l->st == RDL_ST_STORE && l->io))
		return false;
	if (l->q.mode == RDL_MODE_S)
		return head == RDL_MODE_S && readers_turn(l);
	return !l->users && local_turn(l) && (head == RDL_MODE_X || rdl_may_post(l, ev));
}

/* The node has the lock. A try that comes behind others, or finds it taken, fails. */
RDL_TURN_CELL(join)
{
	if (ev->try && l->nq)
		return rdl_queue(l, ev, acts);
	l->nq++;
	if (ev->try && !can_serve(l, ev)) {
		rdl_act_fail(l, acts, RDL_ACT_FAIL_TAIL, ev->flags & RDL_F_LINK ? EAGAIN : EHOSTUNREACH);
		return 0;
	}
	return rdl_turn_go(l, ev, acts);
}

RDL_TURN_CELL(release)
{
	if (!l->users)
		return -EPROTO;
	rdl_user_changed(l, ev, acts);
	l->users--;
	if (!l->users) {
		l->token = 0;
		if (l->frz == RDL_FRZ_CLAIMED)
			l->relf = 1;
	}
	return rdl_turn_go(l, ev, acts);
}

/*
 * A ticket that nobody waits for any more stays in the queue, and its turn is passed on when it comes; but see
 * rdl_fair_left().
 */
RDL_TURN_CELL(cancel)
{
	if (!l->nq)
		return -EPROTO;
	l->nq--;
	if (!l->nq) {
		if (l->st == RDL_ST_WANT)
			l->st = RDL_ST_NONE;
		if (l->st == RDL_ST_HELD && !l->users && l->frz == RDL_FRZ_CLAIMED)
			l->relf = 1;
	}
	rdl_fair_left(l, ev, acts);
	return rdl_turn_go(l, ev, acts);
}

RDL_TURN_CELL(cancel_try)
{
	/* The head is the try, until it has left; others leave from behind it. */
	if (l->nq < (!ev->try && !l->q.gone ? 2 : 1) || (ev->try && l->q.gone))
		return -EPROTO;
	l->nq--;
	if (!ev->try)
		return 0;
	l->q.gone = 1;
	if (l->st == RDL_ST_PROBE)
		rdl_grant_over(l);
	return rdl_turn_go(l, ev, acts);
}

/* ---- time, lease, memory ---- */

/* TIMER, LEASE, SHED: what was put off may be possible now. */
RDL_TURN_CELL(wake)
{
	if (ev->type == RDL_EV_TIMER)
		l->q.paused = 0;
	return rdl_turn_go(l, ev, acts);
}
