// SPDX-License-Identifier: GPL-2.0
/*
 * A try, and what an immediate grant means, for every kind with a queue: a CAS that takes a ticket only if that is the
 * grant.
 */
#include "bust.h"
#include "fair.h"

static u64 rdl_drawn(const struct rdl_lock *l, u64 word)
{
	return rdl_kind_ops(l->kind)->drawn(l, word);
}

/* ---- ends of operations, of any kind ---- */

/* Nothing but a WRITE or READ that nobody waits for can be in flight. */
RDL_TURN_CELL(op_idle)
{
	if (!rdl_side_ended(l, ev, acts))
		return -EPROTO;
	return rdl_turn_go(l, ev, acts);
}

/* Neither ticket nor grant, and nobody knows whether the home thinks the same. */
static void unknown(struct rdl_lock *l, const struct rdl_event *ev)
{
	rdl_grant_over(l);
	l->landing |= ev->outcome == RDL_AMBIGUOUS;
	l->st = RDL_ST_AMBIG;
}

int rdl_turn_unknown(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	unknown(l, ev);
	return rdl_turn_go(l, ev, acts);
}

/* The draw, or a try's CAS, was the immediate grant. */
void rdl_granted_at_once(struct rdl_lock *l, struct rdl_acts *acts, u64 old)
{
	rdl_took_ticket(l, acts, rdl_w_ticket(old));
	rdl_early_hint(l);
	rdl_granted(l);
	l->q.slot_due = rdl_needs_slot(l);
	rdl_fetch(l, old);
}

/* The value, or what became of a dead owner, is to be read before anybody gets the grant. */
void rdl_fetch(struct rdl_lock *l, u64 old)
{
	if (((l->q.props & RDL_P_VALUE) && !rdl_bust(VALUE_NOT_READ)) || rdl_w_attention(old)) {
		l->st = RDL_ST_FETCH;
		rdl_want_read(l);
	}
}

/* Nobody writes the value now: the READ is the truth, or the body is damaged and its flags say so. */
RDL_TURN_CELL(op_fetch)
{
	struct rdl_queue *q = &l->q;

	if (rdl_side_ended(l, ev, acts))
		return rdl_turn_go(l, ev, acts);
	if (ev->op != RDL_ACT_POST_READ_VALUE && ev->op != RDL_ACT_POST_READ_AREA)
		return -EPROTO;
	/* A GRANT's own flags are newer than those that were written with the value. */
	if (q->need == RDL_NEED_BYTES)
		q->vflags |= ev->peer.vflags & RDL_VF_VALUE_INVALID;
	else
		q->vflags = ev->peer.vflags & RDL_VF_ALL;
	l->st = RDL_ST_HELD;
	if ((q->props & RDL_P_BIG) && ev->op == RDL_ACT_POST_READ_VALUE) {
		rdl_fetch_bytes(l, ev->peer.ver);
		return rdl_turn_go(l, ev, acts);
	}
	if (q->props & RDL_P_VALUE)
		rdl_act(acts, RDL_ACT_TAKE);
	q->need = RDL_NEED_BODY;
	q->ver = ev->peer.ver;
	return rdl_turn_go(l, ev, acts);
}

/* The bytes first, the version behind them: who finds the version, and the sum that goes with it, has all of it. */
void rdl_store(struct rdl_lock *l, struct rdl_acts *acts)
{
	struct rdl_queue *q = &l->q;
	struct rdl_action *a = rdl_act_post(l, acts, RDL_ACT_POST_WRITE_VALUE, 0, 0);

	a->peer.ver = q->ver;
	a->peer.vflags = q->vflags & ~q->noted;
}

/*
 * Until it has certainly been written it is written again, on a new link if need be: the old one is dead by then. The
 * user that waited to share the lock goes on as the writer that it was if anything went wrong.
 */
RDL_TURN_CELL(op_store)
{
	struct rdl_queue *q = &l->q;
	bool share = q->step == RDL_STEP_SHARE && l->users, ok = ev->outcome == RDL_OK;

	if (rdl_side_ended(l, ev, acts))
		return rdl_turn_go(l, ev, acts);
	if (!l->io)
		return -EPROTO;
	l->io = 0;
	q->step = RDL_STEP_NONE;
	if (ok || (ev->outcome == RDL_AMBIGUOUS && rdl_bust(STORE_ONCE)))
		q->dirty = 0;
	if (ok)
		l->k = 0;
	if (ev->outcome == RDL_AMBIGUOUS)
		l->landing = 1;
	if (share && ok && rdl_may_post(l, ev)) {
		rdl_fair_down(l, acts);
		return rdl_turn_go(l, ev, acts);
	}
	l->st = RDL_ST_HELD;
	if (share)
		/* Not EAGAIN, which says that nothing has changed: the value is the lock's already. */
		rdl_act(acts, RDL_ACT_CONVERT_FAILED)->arg = EHOSTUNREACH;
	if (ev->outcome == RDL_FAILED)
		rdl_pause(l, acts);
	return rdl_turn_go(l, ev, acts);
}

/* True: there is no ticket, or nobody knows; or the end was that of something else. */
bool rdl_draw_failed(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (rdl_side_ended(l, ev, acts))
		return true;
	switch (rdl_word_end(l, ev)) {
	case RDL_END_OK:
		return false;
	case RDL_END_FAILED:
		rdl_pause(l, acts);
		fallthrough;
	case RDL_END_VOID:
		rdl_grant_over(l);
		return true;
	default:
		unknown(l, ev);
		return true;
	}
}

/* As much of the end of an operation that gives the lock back. */
bool rdl_pop_failed(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	struct rdl_queue *q = &l->q;

	if (rdl_side_ended(l, ev, acts))
		return true;
	switch (rdl_word_end(l, ev)) {
	case RDL_END_OK:
		return false;
	case RDL_END_FAILED:
		l->st = RDL_ST_OWED;
		rdl_pause(l, acts);
		return true;
	case RDL_END_VOID:
		/* They count in the frozen word, and are this node's to answer for. */
		if (q->mode == RDL_MODE_X)
			q->nx = 1 + q->debt;
		q->asker = 0;
		rdl_grant_over(l);
		return true;
	default:
		q->asker = 0;
		unknown(l, ev);
		return true;
	}
}

int rdl_pop_unknown(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	l->q.asker = 0;
	return rdl_turn_unknown(l, ev, acts);
}

/* Given back, and who comes next has been told. */
void rdl_duty_over(struct rdl_lock *l, struct rdl_acts *acts)
{
	rdl_answer(l, acts, true);
	rdl_grant_over(l);
}

/* ---- try ---- */

/* Could @mode be had by a CAS from @word? */
bool rdl_word_free(const struct rdl_lock *l, u64 word, u8 mode)
{
	if (rdl_w_mid(word) || (mode == RDL_MODE_X && rdl_w_low(word)))
		return false;
	return rdl_w_ticket(word) < RDL_TICKET_HARD || rdl_bust(HARD_IGNORED);
}

void rdl_begin_try(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	struct rdl_queue *q = &l->q;

	l->st = RDL_ST_TRY;
	l->retried = 0;
	q->gone = 0;
	q->tries = 0;
	q->mode = ev->mode == RDL_MODE_S ? RDL_MODE_S : RDL_MODE_X;
	q->step = RDL_STEP_LOOK;
	if (!rdl_word_free(l, l->guess, q->mode)) {
		rdl_look(l, acts);
		return;
	}
	q->step = RDL_STEP_SWAP;
	rdl_act_post(l, acts, RDL_ACT_POST_CAS, l->guess, rdl_drawn(l, l->guess));
}

/* No answer came. */
RDL_TURN_CELL(wake_probe)
{
	if (!l->q.gone)
		rdl_act_fail(l, acts, RDL_ACT_FAIL_HEAD, EAGAIN);
	rdl_grant_over(l);
	return rdl_turn_go(l, ev, acts);
}

static int try_over(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts, u32 err)
{
	if (!l->q.gone)
		rdl_act_fail(l, acts, RDL_ACT_FAIL_HEAD, err);
	rdl_grant_over(l);
	return rdl_turn_go(l, ev, acts);
}

/* A try waits for nobody: neither for a rebuild, nor for a lease. */
static int try_won(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	bool gone = l->q.gone;

	l->guess = rdl_drawn(l, ev->old);
	rdl_granted_at_once(l, acts, ev->old);
	l->q.gone = 0;
	l->retried = 0;
	if (!gone && l->frz != RDL_FRZ_RUN)
		rdl_act_fail(l, acts, RDL_ACT_FAIL_HEAD, EAGAIN);
	else if (!gone && !rdl_lease_ok(ev))
		rdl_act_fail(l, acts, RDL_ACT_FAIL_HEAD, EHOSTUNREACH);
	return rdl_turn_go(l, ev, acts);
}

static int ask(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts, u16 node)
{
	rdl_forget_early(l);
	l->st = RDL_ST_PROBE;
	rdl_act_peer(l, acts, RDL_ACT_SEND_PROBE, node, rdl_w_ticket(l->guess) - 1);
	rdl_act_timer(l, acts, RDL_PROBE_NS);
	return rdl_turn_go(l, ev, acts);
}

/* The owner of the last ticket may have the lock for nothing. */
static int try_probe(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	bool x = false;
	int node;

	l->q.step = RDL_STEP_NONE;
	if (l->frz != RDL_FRZ_RUN || l->q.gone)
		return try_over(l, ev, acts, EAGAIN);
	node = rdl_board_find(l, ev, rdl_w_ticket(l->guess) - 1, &x);
	if (node < 0 || !x)
		return try_over(l, ev, acts, EAGAIN);
	return ask(l, ev, acts, node);
}

static int try_read_ended(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (!rdl_side_ended(l, ev, acts))
		return try_probe(l, ev, acts);
	if (ev->outcome != RDL_OK)
		return try_over(l, ev, acts, EHOSTUNREACH);
	return rdl_turn_go(l, ev, acts);
}

/* The word has changed: a writer was faster than this one; but readers that come and go keep no reader out. */
static bool swaps_again(const struct rdl_lock *l)
{
	return l->retried < (l->q.mode == RDL_MODE_S && !rdl_bust(TRY_ONCE) ? RDL_TRY_SWAPS : 1);
}

RDL_TURN_CELL(op_try)
{
	struct rdl_queue *q = &l->q;
	u64 old = ev->old;
	bool cas, won;

	if (ev->op == RDL_ACT_POST_READ_SLOTS && q->step == RDL_STEP_SEEK)
		return try_read_ended(l, ev, acts);
	if (rdl_side_ended(l, ev, acts))
		return rdl_turn_go(l, ev, acts);
	cas = l->io == RDL_ACT_POST_CAS;
	won = cas && (old == l->guess || rdl_bust(BUSY_TAKEN));
	switch (rdl_word_end(l, ev)) {
	case RDL_END_FAILED:
		return try_over(l, ev, acts, EHOSTUNREACH);
	case RDL_END_VOID:
		return try_over(l, ev, acts, EAGAIN);
	case RDL_END_UNKNOWN:
		if (!q->gone)
			rdl_act_fail(l, acts, RDL_ACT_FAIL_HEAD, EHOSTUNREACH);
		return rdl_turn_unknown(l, ev, acts);
	case RDL_END_OK:
		break;
	}
	if (won)
		return try_won(l, ev, acts);
	l->guess = old;
	if (!rdl_may_post(l, ev) || q->gone)
		return try_over(l, ev, acts, EAGAIN);
	if (rdl_word_free(l, old, q->mode)) {
		if (cas && !swaps_again(l))
			return try_over(l, ev, acts, EAGAIN);
		l->retried += cas;
		q->step = RDL_STEP_SWAP;
		rdl_act_post(l, acts, RDL_ACT_POST_CAS, old, rdl_drawn(l, old));
		return 0;
	}
	if (rdl_w_ticket(old) >= RDL_TICKET_SOFT)
		rdl_roll(l, acts);
	/* One probe a try; only a sticky lock is kept by an owner that does not use it. */
	if (!rdl_w_mid(old) || q->tries || !(q->props & RDL_P_STICKY))
		return try_over(l, ev, acts, EAGAIN);
	q->tries = 1;
	q->step = RDL_STEP_NONE;
	if (l->kind == RDL_KIND_MCS) {
		u32 tail = rdl_w_mid(old);

		/* A word that cannot be names nobody who could be asked. */
		return tail == l->node + 1u || tail > RDL_MAX_NODES ? try_over(l, ev, acts, EAGAIN) :
								      ask(l, ev, acts, tail - 1);
	}
	q->step = RDL_STEP_SEEK;
	rdl_want_read(l);
	return rdl_turn_go(l, ev, acts);
}
