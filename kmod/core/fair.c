// SPDX-License-Identifier: GPL-2.0
/*
 * Kind "fair", Documentation/protocol.rst: a node draws a ticket by FAA, writes it on the lock's board and tells the
 * node before it (HINT). The node whose exclusive grant ends hands it on by one message, without any operation on the
 * word: the debt, so many tickets that are still to be given back, travels with the GRANT. Where there is no HINT the
 * releaser gives all its tickets back, and only if more were drawn it looks on the board for whose turn it is (DUTY).
 *
 *   NONE -> WANT -> DRAW -> WAIT -> HELD -> (CACHED) -> handed on, or OWED -> POP -> (DUTY) -> NONE
 *
 * A big value goes to the home by itself: after HELD comes STORE if it was written, and before HELD comes FETCH.
 *
 * Readers that follow each other (a run) are granted all at once; the last of them to leave grants the writer behind.
 *
 * Here: what is posted, conversions, and what time brings. The ends of operations are in fair_op.c, the rest in turn.c.
 */
#include "bust.h"
#include "fair.h"

/* ---- what is posted ---- */

static void draw(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	l->st = RDL_ST_DRAW;
	l->q.mode = rdl_head(l, ev);
	rdl_act_post(l, acts, RDL_ACT_POST_FAA, 0, l->q.mode == RDL_MODE_X ? RDL_W_ADD_X : RDL_W_ADD_S);
}

/*
 * The operation @a gives an exclusive grant back: the value goes before it. With a debt the body may be older
 * than the copy here, although nobody here changed it: it was handed on from hand to hand.
 */
void rdl_value_along(struct rdl_lock *l, struct rdl_action *a)
{
	struct rdl_queue *q = &l->q;

	if (!(q->props & RDL_P_VALUE) || (!q->dirty && (!q->debt || rdl_bust(POP_IF_DIRTY))))
		return;
	/* It is there already. */
	if (q->props & RDL_P_BIG)
		return;
	a->arg = RDL_POST_VALUE;
	a->peer.ver = q->ver;
	a->peer.vflags = q->vflags & ~q->noted;
}

static void post_back(struct rdl_lock *l, struct rdl_acts *acts, u64 addend)
{
	struct rdl_action *a = rdl_act_post(l, acts, RDL_ACT_POST_FAA, 0, addend);

	if (l->q.mode == RDL_MODE_X)
		rdl_value_along(l, a);
}

void rdl_pop(struct rdl_lock *l, struct rdl_acts *acts)
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
void rdl_look(struct rdl_lock *l, struct rdl_acts *acts)
{
	rdl_act_post(l, acts, RDL_ACT_POST_FAA, 0, 0);
}

/* The kind's part of the end of a step: operations on the word that are due. */
void rdl_fair_post(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (l->st == RDL_ST_WANT)
		draw(l, ev, acts);
	else if (l->st == RDL_ST_OWED)
		rdl_pop(l, acts);
	else if (l->st == RDL_ST_STORE)
		rdl_store(l, acts);
	else if (l->st == RDL_ST_DUTY && l->q.step == RDL_STEP_PROVE)
		rdl_look(l, acts);
}

u64 rdl_fair_drawn(const struct rdl_lock *l, u64 word)
{
	return word + (l->q.mode == RDL_MODE_X ? RDL_W_ADD_X : RDL_W_ADD_S);
}

/* ---- readers of a node that has the lock ---- */

/* So many readers may join before the budget is used up. */
u32 rdl_fair_joins(const struct rdl_lock *l)
{
	return l->q.extra + (l->handovers < l->budget ? (u32)l->budget - l->handovers : 0);
}

bool rdl_try_is_early(const struct rdl_lock *l, u8 mode)
{
	if (l->st == RDL_ST_POP || (l->st == RDL_ST_STORE && l->io))
		return true;
	if (mode != RDL_MODE_S || l->kind != RDL_KIND_FAIR || l->q.mode != RDL_MODE_S || l->frz != RDL_FRZ_RUN)
		return false;
	switch (l->st) {
	case RDL_ST_TRY:
	case RDL_ST_PROBE:
	case RDL_ST_DRAW:
	case RDL_ST_FETCH:
	case RDL_ST_DOWN:
	case RDL_ST_UPG:
		return true;
	case RDL_ST_DDUTY:
		/* Later it may look for a slot that another node will not write for long. */
		return l->q.rd;
	case RDL_ST_HELD:
		return l->users && l->q.rd == RDL_ACT_POST_READ_WORD && !l->q.writer && !rdl_fair_joins(l);
	}
	return false;
}

/*
 * The budget of joins is there for the writers of other nodes. Is there one? Without this look a reader that comes when
 * the budget is used up would wait, perhaps for ever, for all the others to leave, and for nobody's sake. It is posted
 * when half of the budget is left, so that its result is there before a try needs it; but where the budget is 0, each
 * join costs one, and waits for it.
 */
bool rdl_fair_look(const struct rdl_lock *l)
{
	const struct rdl_queue *q = &l->q;

	return l->st == RDL_ST_HELD && q->mode == RDL_MODE_S && l->users && !rdl_first_turn(l) && !q->writer &&
	       rdl_fair_joins(l) <= l->budget / 2 && (l->budget || l->nq) && !rdl_bust(READERS_NO_LOOK);
}

/*
 * Have so many shared this grant that no token is left for another, whom, as far as is known, no writer keeps out?
 * Mostly all of them leave soon, and the node draws a new ticket. If not, it asks for a recovery when a second is over
 * (q->tries: it has begun), and not more often: there are 2^28 of them in the life of a space.
 */
bool rdl_fair_spent(const struct rdl_lock *l)
{
	return l->st == RDL_ST_HELD && l->frz == RDL_FRZ_RUN && l->q.mode == RDL_MODE_S && l->users &&
	       l->loc >= RDL_LOC_MAX && rdl_fair_joins(l);
}

/*
 * Advice is enough: a writer that draws its ticket behind the READ is overtaken by a budget of readers at most, those
 * that join while it is in flight (half of it, see above) and those that it lets in. A word that is being recovered
 * tells nothing, and is looked at again when it is rebuilt.
 */
RDL_FAIR_CELL(op_held)
{
	struct rdl_queue *q = &l->q;

	if (rdl_side_ended(l, ev, acts))
		return rdl_turn_go(l, ev, acts);
	if (ev->op != RDL_ACT_POST_READ_WORD || q->mode != RDL_MODE_S)
		return -EPROTO;
	if (!rdl_bust(LOOK_IGNORED) && (rdl_w_frozen(ev->old) || rdl_w_ep18(ev->old) != rdl_ep18(l->epoch) ||
					rdl_w_mid(ev->old)))
		q->writer = 1;
	else
		q->extra += l->budget ? l->budget - l->budget / 2 : 1;
	return rdl_turn_go(l, ev, acts);
}

/* ---- conversions ---- */

RDL_FAIR_CELL(downgrade)
{
	if (l->q.mode != RDL_MODE_X || l->users != 1)
		return -EPROTO;
	if (!rdl_may_post(l, ev) || (ev->dirty && !rdl_version_left(l))) {
		rdl_act(acts, RDL_ACT_CONVERT_FAILED)->arg = EAGAIN;
		return 0;
	}
	rdl_user_changed(l, ev, acts);
	if (rdl_must_store(l) && !rdl_bust(DOWN_UNSTORED)) {
		l->st = RDL_ST_STORE;
		l->q.step = RDL_STEP_SHARE;
		rdl_store(l, acts);
		return 0;
	}
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
	/* As if they waited on another node. */
	if (l->nq || !rdl_may_post(l, ev)) {
		rdl_act(acts, RDL_ACT_CONVERT_FAILED)->arg = l->nq ? EDEADLK : EAGAIN;
		return 0;
	}
	rdl_drop_read(l);
	l->st = RDL_ST_UPG;
	l->retried = 0;
	l->q.step = RDL_STEP_LOOK;
	rdl_look(l, acts);
	return 0;
}

/* ---- time ---- */

/* A writer's ticket, and who waits for it here, if anybody, are readers, who came later. */
bool rdl_fair_lazy(const struct rdl_lock *l, const struct rdl_event *ev)
{
	if (l->st != RDL_ST_WAIT || l->kind != RDL_KIND_FAIR || l->q.mode != RDL_MODE_X)
		return false;
	return !l->nq || (rdl_head(l, ev) == RDL_MODE_S && (ev->run >= l->nq || ev->run > RDL_LOC_MAX));
}

/*
 * A waiter has left. If it was the last writer, it is soon seen whether the ticket is in anybody's way. But a wait that
 * is only beginning is not begun anew: who waits again and again, each time for less than a second, would never ask the
 * home.
 */
void rdl_fair_left(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	struct rdl_queue *q = &l->q;

	if (!rdl_fair_lazy(l, ev) || l->frz != RDL_FRZ_RUN || q->step == RDL_STEP_SEEK || !q->tries)
		return;
	q->tries = 0;
	if (!q->paused && !q->rd && !q->rd_due)
		rdl_watch(l, acts);
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
	l->q.step = rdl_fair_lazy(l, ev) ? RDL_STEP_LOOK : RDL_STEP_AGAIN;
	rdl_want_read(l);
}

RDL_FAIR_CELL(wake_wait)
{
	struct rdl_queue *q = &l->q;

	if (l->frz != RDL_FRZ_RUN || q->rd || q->rd_due)
		return rdl_turn_wake(l, ev, acts);
	q->paused = 0;
	if (q->tries < RDL_TRIES_MAX)
		q->tries++;
	if (rdl_fair_lazy(l, ev) && q->step != RDL_STEP_SEEK && q->tries > RDL_LAZY_MAX)
		q->tries = RDL_LAZY_MAX;
	if (q->step != RDL_STEP_SEEK) {
		watched(l, ev, acts);
	} else {
		rdl_want_read(l);
		if (q->tries % RDL_SEEKS_QUERY == 0 && (ev->flags & RDL_F_LINK))
			rdl_act_msg(l, acts, RDL_ACT_QUERY);
	}
	return rdl_turn_go(l, ev, acts);
}

/* Readers have the lock for so long that no token was left: a recovery gives them a ticket with others. */
RDL_FAIR_CELL(wake_held)
{
	struct rdl_queue *q = &l->q;

	if (q->tries && !q->paused && rdl_fair_spent(l) && !rdl_bust(SPENT_STAYS))
		rdl_roll(l, acts);
	q->tries = 0;
	return rdl_turn_wake(l, ev, acts);
}

/* DUTY and DDUTY: a slot was not there yet. */
RDL_FAIR_CELL(wake_duty)
{
	if (l->frz == RDL_FRZ_RUN && !l->q.paused && !l->q.rd && !l->io && l->q.step != RDL_STEP_PROVE)
		rdl_want_read(l);
	return rdl_turn_wake(l, ev, acts);
}
