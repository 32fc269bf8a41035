// SPDX-License-Identifier: GPL-2.0
/*
 * Kind "fair", Documentation/protocol.rst: a node draws a ticket by FAA, writes it on the lock's board and tells the
 * node before it (HINT). The node whose exclusive grant ends hands it on by one message, without any operation on the
 * word: the debt, so many tickets that are still to be given back, travels with the GRANT. Where there is no HINT the
 * releaser gives all its tickets back, and only if more were drawn it looks on the board for whose turn it is (DUTY).
 *
 *   NONE -> WANT -> DRAW -> WAIT -> HELD -> (CACHED) -> handed on, or OWED -> POP -> (DUTY) -> NONE
 *
 * Readers that follow each other (a run) are granted all at once; the last of them to leave grants the writer behind.
 *
 * Here: what users and waiters of the node do, and the end of every step. A lock that is HELD without a user, CACHED,
 * or OWED is the same lock in three moods; serve() decides anew at each event which it is.
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
	u32 n = l->q.fresh ? 1 : 0;
	u32 room = RDL_LOC_MAX - l->loc + n;

	if (rdl_bust(BUDGET_IGNORED))
		n += l->nq;
	else if (l->handovers < l->budget)
		n += (u32)l->budget - l->handovers;
	if (n > room)
		n = room;
	if (n > ev->run)
		n = ev->run ? ev->run : 1;
	return n > l->nq ? l->nq : n;
}

static bool readers_turn(const struct rdl_lock *l)
{
	return l->q.fresh || (l->loc < RDL_LOC_MAX && (l->handovers < l->budget || rdl_bust(BUDGET_IGNORED)));
}

static void serve_readers(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (rdl_head(l, ev) == RDL_MODE_S && readers_turn(l)) {
		u32 n = joins_left(l, ev);

		l->st = RDL_ST_HELD;
		if (!lease_low(ev))
			rdl_deliver_run(l, ev, acts, n);
	} else if (!l->users) {
		l->st = RDL_ST_OWED;
	}
}

/*
 * May a waiter of this node have it? As often as it likes while nobody else wants it; and the budget often from when a
 * HINT came. Who waits for a lock that is not sticky may have given up looking whom to send a HINT.
 */
static bool local_turn(const struct rdl_lock *l)
{
	const struct rdl_queue *q = &l->q;

	if (!l->nq)
		return false;
	if (q->fresh)
		return true;
	if (l->loc >= RDL_LOC_MAX)
		return false;
	if (rdl_bust(BUDGET_IGNORED) || (!q->hint && (q->props & RDL_P_STICKY)))
		return true;
	return l->handovers < q->since + l->budget;
}

/*
 * Hand it on: no operation on the word, this node's ticket is added to the debt. Only to a writer: readers count
 * elsewhere in the word, and who gives the debt back must be able to tell that the tickets were exclusive.
 */
static bool hand_on(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	struct rdl_queue *q = &l->q;
	u32 next = l->ticket + 1, epoch = l->epoch;

	if (q->hint != RDL_MODE_X && !(rdl_bust(DIRECT_TO_S) && q->hint))
		return false;
	if (q->debt >= RDL_DEBT_MAX || next >= RDL_TICKET_HARD)
		return false;
	/* The critical section is over; only now it is sure that all of it was inside the lease. */
	if (lease_low(ev))
		return false;
	rdl_send_grant(l, acts, q->hint_node, next, q->hint, q->debt + 1);
	rdl_answer(l, acts, false);
	rdl_grant_over(l);
	q->handed_epoch = epoch;
	q->handed_ticket = next;
	return true;
}

static void serve_writers(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	const struct rdl_queue *q = &l->q;

	if (l->users)
		return;
	if (local_turn(l)) {
		l->st = RDL_ST_HELD;
		if (rdl_head(l, ev) == RDL_MODE_S) {
			if (rdl_may_post(l, ev))
				rdl_fair_down(l, acts);
		} else if (!lease_low(ev)) {
			rdl_deliver_run(l, ev, acts, 1);
		}
		return;
	}
	if (hand_on(l, ev, acts))
		return;
	if (!q->hint && !l->nq && !q->asker && (q->props & RDL_P_STICKY) && !(ev->flags & RDL_F_SHED))
		l->st = RDL_ST_CACHED;
	else
		l->st = RDL_ST_OWED;
}

static void serve(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (l->st != RDL_ST_HELD && l->st != RDL_ST_CACHED && l->st != RDL_ST_OWED)
		return;
	if (l->q.mode == RDL_MODE_S)
		serve_readers(l, ev, acts);
	else
		serve_writers(l, ev, acts);
}

/* ---- what is posted ---- */

static void draw(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	l->st = RDL_ST_DRAW;
	l->q.mode = rdl_head(l, ev);
	rdl_act_post(l, acts, RDL_ACT_POST_FAA, 0, l->q.mode == RDL_MODE_X ? RDL_W_ADD_X : RDL_W_ADD_S);
}

/*
 * Gives back so many exclusive tickets. With a debt the body may be older than the copy here, although nobody here
 * changed it: it was handed on from hand to hand.
 */
static void post_back(struct rdl_lock *l, struct rdl_acts *acts, u64 addend)
{
	struct rdl_queue *q = &l->q;
	struct rdl_action *a;

	rdl_act_post(l, acts, RDL_ACT_POST_FAA, 0, addend);
	if (q->mode != RDL_MODE_X || !(q->props & RDL_P_VALUE))
		return;
	if (!q->dirty && (!q->debt || rdl_bust(POP_IF_DIRTY)))
		return;
	a = &acts->a[acts->n - 1];
	a->arg = RDL_POST_VALUE;
	a->peer.ver = q->ver;
	a->peer.vflags = q->vflags & ~q->noted;
}

static void pop(struct rdl_lock *l, struct rdl_acts *acts)
{
	u32 debt = rdl_bust(POP_NO_DEBT) ? 0 : l->q.debt;

	rdl_drop_read(l);
	l->st = RDL_ST_POP;
	post_back(l, acts, l->q.mode == RDL_MODE_X ? -RDL_W_X(1 + debt) : -RDL_W_S);
}

/* Exclusive to shared, from when it is posted. */
void rdl_fair_down(struct rdl_lock *l, struct rdl_acts *acts)
{
	rdl_drop_read(l);
	l->st = RDL_ST_DOWN;
	l->q.slot_due = 0;
	post_back(l, acts, RDL_W_S - RDL_W_X(1 + (rdl_bust(DOWN_KEEPS_DEBT) ? 0 : l->q.debt)));
	l->q.mode = RDL_MODE_S;
}

/* FAA(0), not a READ: on some devices a READ is a plain copy and may tear against atomics. */
void rdl_fair_look(struct rdl_lock *l, struct rdl_acts *acts)
{
	rdl_act_post(l, acts, RDL_ACT_POST_FAA, 0, 0);
}

static void post(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (!rdl_may_post(l, ev))
		return;
	rdl_post_side(l, acts);
	if (l->io)
		return;
	if (l->st == RDL_ST_WANT)
		draw(l, ev, acts);
	else if (l->st == RDL_ST_OWED)
		pop(l, acts);
	else if (l->st == RDL_ST_DUTY && l->q.step == RDL_STEP_PROVE)
		rdl_fair_look(l, acts);
}

int rdl_fair_go(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (l->frz != RDL_FRZ_RUN) {
		rdl_drained(l, acts);
		return 0;
	}
	serve(l, ev, acts);
	post(l, ev, acts);
	return 0;
}

/* ---- local users and waiters ---- */

/* Could @mode be had by a CAS from @word? */
bool rdl_fair_free(const struct rdl_lock *l, u64 word, u8 mode)
{
	if (rdl_w_mid(word) || (mode == RDL_MODE_X && rdl_w_low(word)))
		return false;
	return rdl_w_ticket(word) < RDL_TICKET_HARD || rdl_bust(HARD_IGNORED);
}

static void begin_try(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	struct rdl_queue *q = &l->q;

	l->st = RDL_ST_TRY;
	l->retried = 0;
	q->gone = 0;
	q->tries = 0;
	q->mode = ev->mode == RDL_MODE_S ? RDL_MODE_S : RDL_MODE_X;
	q->step = RDL_STEP_LOOK;
	if (!rdl_fair_free(l, l->guess, q->mode)) {
		rdl_fair_look(l, acts);
		return;
	}
	q->step = RDL_STEP_SWAP;
	rdl_act_post(l, acts, RDL_ACT_POST_CAS, l->guess,
		     l->guess + (q->mode == RDL_MODE_X ? RDL_W_ADD_X : RDL_W_ADD_S));
}

RDL_FAIR_CELL(acquire)
{
	if (ev->try && !rdl_may_post(l, ev))
		return rdl_queue(l, ev, acts);
	l->nq++;
	if (ev->try) {
		begin_try(l, ev, acts);
		return 0;
	}
	l->st = RDL_ST_WANT;
	return rdl_fair_go(l, ev, acts);
}

/* Can the head waiter have it now, or (a reader of a writer's grant) after a DOWN? */
static bool can_serve(const struct rdl_lock *l, const struct rdl_event *ev)
{
	u8 head = rdl_head(l, ev);

	if (l->frz != RDL_FRZ_RUN || lease_low(ev))
		return false;
	if (l->q.mode == RDL_MODE_S)
		return head == RDL_MODE_S && readers_turn(l);
	return !l->users && local_turn(l) && (head == RDL_MODE_X || rdl_may_post(l, ev));
}

/* The node has the lock. A try that comes behind others, or finds it taken, fails. */
RDL_FAIR_CELL(join)
{
	if (ev->try && l->nq)
		return rdl_queue(l, ev, acts);
	l->nq++;
	if (ev->try && !can_serve(l, ev)) {
		rdl_act_fail(l, acts, RDL_ACT_FAIL_TAIL, ev->flags & RDL_F_LINK ? EAGAIN : EHOSTUNREACH);
		return 0;
	}
	return rdl_fair_go(l, ev, acts);
}

RDL_FAIR_CELL(release)
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
	return rdl_fair_go(l, ev, acts);
}

/* A ticket that nobody waits for any more stays in the queue, and its turn is passed on when it comes. */
RDL_FAIR_CELL(cancel)
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
	return rdl_fair_go(l, ev, acts);
}

RDL_FAIR_CELL(cancel_try)
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
	return rdl_fair_go(l, ev, acts);
}

RDL_FAIR_CELL(downgrade)
{
	if (l->q.mode != RDL_MODE_X || l->users != 1)
		return -EPROTO;
	if (!rdl_may_post(l, ev)) {
		rdl_act(acts, RDL_ACT_CONVERT_FAILED)->arg = EAGAIN;
		return 0;
	}
	rdl_user_changed(l, ev, acts);
	rdl_fair_down(l, acts);
	return 0;
}

/*
 * Only the last reader can become a writer, and only while nobody waits: two that wait for each other would do so for
 * ever.
 */
RDL_FAIR_CELL(upgrade)
{
	if (l->q.mode != RDL_MODE_S || l->users != 1)
		return -EPROTO;
	if (!rdl_may_post(l, ev)) {
		rdl_act(acts, RDL_ACT_CONVERT_FAILED)->arg = EAGAIN;
		return 0;
	}
	l->st = RDL_ST_UPG;
	l->retried = 0;
	l->q.step = RDL_STEP_LOOK;
	rdl_fair_look(l, acts);
	return 0;
}

/* ---- time, lease, memory ---- */

/* TIMER, LEASE, SHED: what was put off may be possible now. */
RDL_FAIR_CELL(wake)
{
	if (ev->type == RDL_EV_TIMER)
		l->q.paused = 0;
	return rdl_fair_go(l, ev, acts);
}

/*
 * The wait is long. Should the HINT have been lost, a holder that keeps the lock for nothing does not know of it, and
 * whoever the home asks says truly that it has the lock: so the HINT is repeated.
 */
static void watched(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	rdl_watch(l, acts);
	if (ev->flags & RDL_F_LINK)
		rdl_act_msg(l, acts, RDL_ACT_QUERY);
	if (!l->ticket)
		return;
	l->q.step = RDL_STEP_AGAIN;
	rdl_want_read(l);
}

RDL_FAIR_CELL(wake_wait)
{
	struct rdl_queue *q = &l->q;

	if (l->frz != RDL_FRZ_RUN || q->rd || q->rd_due)
		return rdl_fair_wake(l, ev, acts);
	q->paused = 0;
	if (q->tries < RDL_TRIES_MAX)
		q->tries++;
	if (q->step != RDL_STEP_SEEK) {
		watched(l, ev, acts);
	} else {
		rdl_want_read(l);
		if (q->tries % RDL_SEEKS_QUERY == 0 && (ev->flags & RDL_F_LINK))
			rdl_act_msg(l, acts, RDL_ACT_QUERY);
	}
	return rdl_fair_go(l, ev, acts);
}

/* DUTY and DDUTY: a slot was not there yet. */
RDL_FAIR_CELL(wake_duty)
{
	if (l->frz == RDL_FRZ_RUN && !l->q.paused && !l->q.rd && !l->io && l->q.step != RDL_STEP_PROVE)
		rdl_want_read(l);
	return rdl_fair_wake(l, ev, acts);
}

/* No answer came. */
RDL_FAIR_CELL(wake_probe)
{
	if (!l->q.gone)
		rdl_act_fail(l, acts, RDL_ACT_FAIL_HEAD, EAGAIN);
	rdl_grant_over(l);
	return rdl_fair_go(l, ev, acts);
}
