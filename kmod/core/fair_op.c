// SPDX-License-Identifier: GPL-2.0
/*
 * Kind "fair": what the end of an operation means. Each cell first looks whether the event ends something beside the
 * word; then an end is OK, FAILED (nothing happened), VOID (F: nothing happened, REBUILT follows), or unknown.
 */
#include "bust.h"
#include "fair.h"

RDL_FAIR_CELL(op_draw)
{
	struct rdl_queue *q = &l->q;

	if (rdl_draw_failed(l, ev, acts))
		return rdl_turn_go(l, ev, acts);
	l->guess = rdl_fair_drawn(l, ev->old);
	if (rdl_word_free(l, ev->old, q->mode)) {
		rdl_granted_at_once(l, acts, ev->old);
		return rdl_turn_go(l, ev, acts);
	}
	rdl_took_ticket(l, acts, rdl_w_ticket(ev->old));
	l->st = RDL_ST_WAIT;
	q->tries = 0;
	if (l->kind == RDL_KIND_TICKET) {
		rdl_ticket_wait(l, acts);
		return rdl_turn_go(l, ev, acts);
	}
	q->slot_due = 1;
	/* With no exclusive ticket before it, whoever is before holds shared, and cannot be asked for anything. */
	if (rdl_w_mid(ev->old) && l->ticket) {
		q->step = RDL_STEP_SEEK;
		rdl_want_read(l);
	} else if (l->frz == RDL_FRZ_RUN) {
		rdl_watch(l, acts);
	}
	return rdl_turn_go(l, ev, acts);
}

/*
 * No writer waits for the ticket any more. Does it keep readers out? They may stand behind readers, who leave when they
 * like, and wait for nobody's sake. A recovery drops it, or makes it a reader's. Else it stays, and is to be heard of
 * like any other: who has the lock may keep it for nothing, and others may wait behind it.
 */
static void lazy_looked(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (rdl_fair_lazy(l, ev) && rdl_w_low(ev->old) && !rdl_bust(LAZY_STAYS)) {
		l->q.step = RDL_STEP_NONE;
		rdl_watch(l, acts);
		rdl_roll(l, acts);
		return;
	}
	l->q.step = RDL_STEP_AGAIN;
	if (!rdl_bust(LAZY_SILENT))
		rdl_want_read(l);
}

/* The slot of the node before is not there. Is it still worth while to look for it all the time? */
static bool seeks_on(const struct rdl_lock *l, const struct rdl_event *ev)
{
	const struct rdl_queue *q = &l->q;

	if (q->step != RDL_STEP_SEEK || !(q->props & RDL_P_STICKY))
		return false;
	return q->tries < RDL_SEEK_KMAX || !rdl_fair_lazy(l, ev);
}

/* Who is before? A writer is told, so that it can hand the lock over, or give it back if it keeps it for nothing. */
RDL_FAIR_CELL(op_wait)
{
	struct rdl_queue *q = &l->q;
	bool x = false;
	int node;

	if (rdl_side_ended(l, ev, acts))
		return rdl_turn_go(l, ev, acts);
	if (ev->op != RDL_ACT_POST_READ_SLOTS && ev->op != RDL_ACT_POST_READ_WORD)
		return -EPROTO;
	if (l->frz != RDL_FRZ_RUN)
		return rdl_turn_go(l, ev, acts);
	if (ev->op == RDL_ACT_POST_READ_WORD) {
		lazy_looked(l, ev, acts);
		return rdl_turn_go(l, ev, acts);
	}
	node = rdl_board_find(l, ev, l->ticket - 1, &x);
	if (node < 0 && seeks_on(l, ev)) {
		u32 k = q->tries < RDL_SEEK_KMAX ? q->tries : RDL_SEEK_KMAX;

		rdl_act_timer(l, acts, (u64)RDL_SEEK_NS << (rdl_bust(SEEK_EAGER) ? 0 : k));
		return rdl_turn_go(l, ev, acts);
	}
	if (node >= 0 && x)
		rdl_act_peer(l, acts, RDL_ACT_SEND_HINT, node, l->ticket)->mode = q->mode;
	if (q->step == RDL_STEP_SEEK)
		q->tries = 0;
	/* Also if the watchdog looked again: its next time may have come in vain, while the READ was slow. */
	rdl_watch(l, acts);
	q->step = RDL_STEP_NONE;
	return rdl_turn_go(l, ev, acts);
}

/* Is the word what it must have been before this node gave its tickets back, or changed their mode? */
static bool mine(const struct rdl_lock *l, u64 old, u32 debt)
{
	return rdl_w_mid(old) >= 1 + debt && rdl_w_head(old) + debt == l->ticket;
}

static void begin_duty(struct rdl_lock *l, u8 st, u32 from, u32 to)
{
	l->st = st;
	l->q.from = from;
	l->q.to = to;
	l->q.tries = 0;
	l->q.step = RDL_STEP_NONE;
	rdl_want_read(l);
}

/* What DUTY hands out is not this node's any more. */
static void begin_pop_duty(struct rdl_lock *l, u32 from, u32 to, u32 count)
{
	l->q.slot_due = 0;
	l->q.hint = RDL_MODE_NL;
	l->q.hint_node = 0;
	l->q.debt = 0;
	l->q.count = count;
	begin_duty(l, RDL_ST_DUTY, from, to);
}

RDL_FAIR_CELL(op_pop)
{
	struct rdl_queue *q = &l->q;
	u64 old = ev->old;

	if (rdl_pop_failed(l, ev, acts))
		return rdl_turn_go(l, ev, acts);
	if (q->mode == RDL_MODE_X) {
		u32 next = l->ticket + 1;

		if (!mine(l, old, q->debt) && !rdl_bust(POP_NO_DEBT) && !rdl_bust(GRANT_NO_DEBT))
			return rdl_pop_unknown(l, ev, acts);
		l->guess = old - RDL_W_X(1 + q->debt);
		if (rdl_w_ticket(old) == next || l->kind == RDL_KIND_TICKET)
			rdl_duty_over(l, acts);
		else
			begin_pop_duty(l, next, rdl_w_ticket(old), 0);
		return rdl_turn_go(l, ev, acts);
	}
	if (!rdl_w_low(old))
		return rdl_pop_unknown(l, ev, acts);
	l->guess = old - RDL_W_S;
	/* Whose turn is it, once this reader is gone? If other readers are still in, the last of them asks the same. */
	if (!rdl_w_mid(old))
		rdl_duty_over(l, acts);
	else
		begin_pop_duty(l, rdl_w_head(old) + 1, rdl_w_ticket(old), rdl_w_mid(old));
	return rdl_turn_go(l, ev, acts);
}

static void read_again(struct rdl_lock *l, struct rdl_acts *acts)
{
	u32 k = l->q.tries < RDL_DUTY_KMAX ? l->q.tries : RDL_DUTY_KMAX;

	l->q.step = RDL_STEP_NONE;
	if (l->q.tries < RDL_TRIES_MAX)
		l->q.tries++;
	if (l->frz == RDL_FRZ_RUN)
		rdl_act_timer(l, acts, (u64)RDL_DUTY_NS << k);
}

static void grant_run(struct rdl_lock *l, struct rdl_acts *acts)
{
	struct rdl_action *a = rdl_act(acts, RDL_ACT_GRANT_RUN);

	a->epoch = l->epoch;
	a->peer.mode = RDL_MODE_S;
	a->peer.ver = l->q.ver;
	a->peer.vflags = l->q.vflags & ~l->q.noted;
}

/* A writer has gone: the next ticket is its to grant; if that is a reader's, the whole run of them. */
static void writer_duty(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	struct rdl_queue *q = &l->q;
	struct rdl_found found;

	rdl_board_run(l, ev, q->from, q->to, acts->run, &found);
	switch (found.what) {
	case RDL_MODE_X:
		rdl_send_grant(l, acts, found.node, q->from, RDL_MODE_X, 0);
		rdl_duty_over(l, acts);
		break;
	case RDL_MODE_S:
		grant_run(l, acts);
		if (rdl_bust(PIECEMEAL) && q->from + found.n < q->to) {
			q->from += found.n;
			read_again(l, acts);
			break;
		}
		rdl_duty_over(l, acts);
		break;
	default:
		read_again(l, acts);
	}
}

/*
 * A reader has gone. If the ticket that would be next is a writer's, it is granted by the last reader, who sees it at
 * the head. Who sees all the writers elsewhere was not the last. Who cannot tell asks whether the head has moved.
 */
static void reader_duty(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	struct rdl_queue *q = &l->q;
	bool x = false;
	int node = rdl_board_find(l, ev, q->from, &x);
	u32 n;

	if (node >= 0 && x) {
		rdl_send_grant(l, acts, node, q->from, RDL_MODE_X, 0);
		rdl_duty_over(l, acts);
		return;
	}
	n = rdl_board_count_x(l, ev, q->from, q->to);
	if (n == q->count || rdl_bust(S_NO_REREAD) || (rdl_bust(S_ANY_X) && n)) {
		rdl_duty_over(l, acts);
		return;
	}
	q->step = RDL_STEP_PROVE;
}

RDL_FAIR_CELL(op_duty)
{
	struct rdl_queue *q = &l->q;

	if (rdl_side_ended(l, ev, acts))
		return rdl_turn_go(l, ev, acts);
	if (ev->op == RDL_ACT_POST_READ_SLOTS) {
		if (l->frz == RDL_FRZ_RUN) {
			if (q->mode == RDL_MODE_X)
				writer_duty(l, ev, acts);
			else
				reader_duty(l, ev, acts);
		}
		return rdl_turn_go(l, ev, acts);
	}
	if (!l->io)
		return -EPROTO;
	/* FAA(0) changes nothing, whatever became of it. */
	switch (rdl_word_end(l, ev)) {
	case RDL_END_OK:
		l->guess = ev->old;
		if (rdl_w_head(ev->old) != q->from)
			rdl_duty_over(l, acts);
		else
			read_again(l, acts);
		break;
	case RDL_END_FAILED:
		rdl_pause(l, acts);
		break;
	case RDL_END_UNKNOWN:
		if (ev->outcome == RDL_OK)
			return rdl_pop_unknown(l, ev, acts);
		l->landing = 1;
		break;
	case RDL_END_VOID:
		/* The recovery takes the duty over. */
		break;
	}
	return rdl_turn_go(l, ev, acts);
}

/* ---- conversions ---- */

/* The user, if it is still there, has another mode and token. */
static void converted(struct rdl_lock *l, struct rdl_acts *acts)
{
	struct rdl_action *a;

	if (!l->users)
		return;
	l->q.fresh = 0;
	l->token = rdl_token(l->epoch, l->ticket, l->loc);
	a = rdl_act(acts, RDL_ACT_CONVERTED);
	a->val = l->token;
	a->mode = l->q.mode;
}

static void convert_failed(struct rdl_lock *l, struct rdl_acts *acts, u32 err)
{
	if (l->users)
		rdl_act(acts, RDL_ACT_CONVERT_FAILED)->arg = err;
}

/* The users keep what every outcome leaves them. */
static int doubt(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	l->st = RDL_ST_DOUBT;
	l->landing |= ev->outcome == RDL_AMBIGUOUS;
	l->q.debt = 0;
	return rdl_turn_go(l, ev, acts);
}

RDL_FAIR_CELL(op_down)
{
	struct rdl_queue *q = &l->q;
	enum rdl_word_end end;

	if (rdl_side_ended(l, ev, acts))
		return rdl_turn_go(l, ev, acts);
	end = rdl_word_end(l, ev);
	if (end == RDL_END_FAILED) {
		q->mode = RDL_MODE_X;
		l->st = RDL_ST_HELD;
		/* Its WRITE may have ended unknown meanwhile, when there seemed to be no use for it any more. */
		q->slot_due = rdl_needs_slot(l);
		convert_failed(l, acts, EHOSTUNREACH);
		rdl_pause(l, acts);
		return rdl_turn_go(l, ev, acts);
	}
	if (end == RDL_END_OK && !mine(l, ev->old, q->debt) && !rdl_bust(GRANT_NO_DEBT) && !rdl_bust(DOWN_KEEPS_DEBT) &&
	    !rdl_bust(POP_NO_DEBT))
		end = RDL_END_UNKNOWN;
	if (l->users)
		l->loc++;
	converted(l, acts);
	/* Writers may have been more while nobody asked; for readers it is used up. */
	if (l->handovers > l->budget)
		l->handovers = l->budget;
	q->hint = RDL_MODE_NL;
	q->hint_node = 0;
	switch (end) {
	case RDL_END_UNKNOWN:
		return doubt(l, ev, acts);
	case RDL_END_VOID:
		q->nx = 1 + q->debt;
		q->debt = 0;
		l->st = RDL_ST_HELD;
		return rdl_turn_go(l, ev, acts);
	default:
		break;
	}
	l->guess = ev->old + RDL_W_S - RDL_W_X(1 + q->debt);
	if (!rdl_bust(DOWN_KEEPS_DEBT))
		q->debt = 0;
	q->dirty = 0;
	l->st = RDL_ST_HELD;
	if (l->ticket + 1 < rdl_w_ticket(ev->old))
		begin_duty(l, RDL_ST_DDUTY, l->ticket + 1, rdl_w_ticket(ev->old));
	return rdl_turn_go(l, ev, acts);
}

/* DDUTY: the readers right behind come in now. */
RDL_FAIR_CELL(op_readers)
{
	struct rdl_queue *q = &l->q;
	struct rdl_found found;

	if (rdl_side_ended(l, ev, acts))
		return rdl_turn_go(l, ev, acts);
	if (ev->op != RDL_ACT_POST_READ_SLOTS)
		return -EPROTO;
	if (l->frz != RDL_FRZ_RUN)
		return rdl_turn_go(l, ev, acts);
	rdl_board_run(l, ev, q->from, q->to, acts->run, &found);
	if (found.what == RDL_MODE_NL) {
		read_again(l, acts);
		return rdl_turn_go(l, ev, acts);
	}
	if (found.what == RDL_MODE_S)
		grant_run(l, acts);
	q->from = 0;
	q->to = 0;
	q->tries = 0;
	l->st = RDL_ST_HELD;
	return rdl_turn_go(l, ev, acts);
}

/* Only this reader, and nobody waits. */
static bool alone(u64 word)
{
	return !rdl_w_mid(word) && rdl_w_low(word) == 1;
}

static int upgrade_over(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts, u32 err)
{
	l->st = RDL_ST_HELD;
	l->q.step = RDL_STEP_NONE;
	l->retried = 0;
	convert_failed(l, acts, err);
	return rdl_turn_go(l, ev, acts);
}

static void upgraded(struct rdl_lock *l, struct rdl_acts *acts, u64 old)
{
	struct rdl_queue *q = &l->q;

	l->guess = old + RDL_W_ADD_X - RDL_W_S;
	l->st = RDL_ST_HELD;
	l->retried = 0;
	q->step = RDL_STEP_NONE;
	q->mode = RDL_MODE_X;
	q->writer = 0;
	q->extra = 0;
	q->slot_due = 1;
	q->fresh = 1;
	q->handed_epoch = 0;
	q->handed_ticket = 0;
	rdl_took_ticket(l, acts, rdl_w_ticket(old));
	converted(l, acts);
}

RDL_FAIR_CELL(op_upgrade)
{
	struct rdl_queue *q = &l->q;
	u64 old = ev->old;
	bool swapped;

	if (rdl_side_ended(l, ev, acts))
		return rdl_turn_go(l, ev, acts);
	swapped = l->io == RDL_ACT_POST_CAS && old == l->guess;
	switch (rdl_word_end(l, ev)) {
	case RDL_END_FAILED:
		return upgrade_over(l, ev, acts, EHOSTUNREACH);
	case RDL_END_VOID:
		return upgrade_over(l, ev, acts, EAGAIN);
	case RDL_END_UNKNOWN:
		convert_failed(l, acts, EHOSTUNREACH);
		q->step = RDL_STEP_NONE;
		return doubt(l, ev, acts);
	case RDL_END_OK:
		break;
	}
	if (swapped) {
		upgraded(l, acts, old);
		return rdl_turn_go(l, ev, acts);
	}
	l->guess = old;
	if (!alone(old) || (q->step == RDL_STEP_SWAP && l->retried))
		return upgrade_over(l, ev, acts, EDEADLK);
	if (rdl_w_ticket(old) >= RDL_TICKET_SOFT)
		rdl_roll(l, acts);
	if (rdl_w_ticket(old) >= RDL_TICKET_HARD && !rdl_bust(UPGRADE_PAST_HARD))
		return upgrade_over(l, ev, acts, EAGAIN);
	if (!rdl_may_post(l, ev))
		return upgrade_over(l, ev, acts, EAGAIN);
	if (q->step == RDL_STEP_SWAP)
		l->retried = 1;
	q->step = RDL_STEP_SWAP;
	rdl_act_post(l, acts, RDL_ACT_POST_CAS, old, old + RDL_W_ADD_X - RDL_W_S);
	return 0;
}
