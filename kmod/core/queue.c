// SPDX-License-Identifier: GPL-2.0
/*
 * What the kinds with a queue of tickets have in common: operations beside the one on the word (READs of the board or
 * value, the WRITE of the own slot), grants and users, and what is claimed in a recovery.
 *
 * What has to be posted is remembered as a state or a *_due, and posted at the end of a step if that is possible then.
 * So nothing is forgotten for a link that is down, a lease that runs low, or a recovery: the event that ends it comes
 * through the same end of a step.
 */
#include "bust.h"
#include "fair.h"

enum rdl_word_end rdl_word_end(struct rdl_lock *l, const struct rdl_event *ev)
{
	l->io = 0;
	if (ev->outcome == RDL_FAILED)
		return RDL_END_FAILED;
	if (ev->outcome == RDL_AMBIGUOUS)
		return rdl_bust(AMBIG_RETRIED) ? RDL_END_FAILED : RDL_END_UNKNOWN;
	l->k = 0;
	if (rdl_w_frozen(ev->old) && !rdl_bust(FROZEN_IGNORED)) {
		l->is_void = 1;
		return RDL_END_VOID;
	}
	return rdl_w_ep18(ev->old) == rdl_ep18(l->epoch) ? RDL_END_OK : RDL_END_UNKNOWN;
}

/* ---- operations beside the one on the word ---- */

bool rdl_may_post(const struct rdl_lock *l, const struct rdl_event *ev)
{
	return l->frz == RDL_FRZ_RUN && !l->is_void && !l->landing && !l->q.paused && (ev->flags & RDL_F_LINK);
}

/* A waiter, so that its turn can be told to it; and a holder that may keep the lock idle, so that it can be asked. */
bool rdl_needs_slot(const struct rdl_lock *l)
{
	if (l->kind != RDL_KIND_FAIR)
		return false;
	switch (l->st) {
	case RDL_ST_WAIT:
		return true;
	case RDL_ST_FETCH:
	case RDL_ST_HELD:
	case RDL_ST_CACHED:
	case RDL_ST_STORE:
		return l->q.mode == RDL_MODE_X && (l->q.props & RDL_P_STICKY) && !rdl_bust(STICKY_NO_SLOT);
	default:
		return false;
	}
}

void rdl_want_read(struct rdl_lock *l)
{
	l->q.rd_due = 1;
	l->q.rd_old = !!l->q.rd;
}

void rdl_drop_read(struct rdl_lock *l)
{
	l->q.rd_due = 0;
	l->q.rd_old = !!l->q.rd;
}

/* Refused: not again before some time has passed, or a new link stands. */
void rdl_pause(struct rdl_lock *l, struct rdl_acts *acts)
{
	l->q.paused = 1;
	if (l->frz != RDL_FRZ_RUN)
		return;
	rdl_act_timer(l, acts, (u64)RDL_SPIN_BASE_NS << l->k);
	if (l->k < RDL_SPIN_KMAX)
		l->k++;
}

/* What is here already may be the newest: of a big value the version alone tells, and is a small READ. */
static u8 read_of_value(const struct rdl_queue *q)
{
	if (!(q->props & RDL_P_BIG) || (q->need == RDL_NEED_BODY && q->ver))
		return RDL_ACT_POST_READ_VALUE;
	return RDL_ACT_POST_READ_AREA;
}

static bool reads_word(const struct rdl_lock *l)
{
	return l->kind == RDL_KIND_TICKET || l->st == RDL_ST_HELD ||
	       (l->st == RDL_ST_WAIT && l->q.step == RDL_STEP_LOOK);
}

/*
 * The slot first: who reads the board behind it and speaks to another node must be found there itself. On one queue
 * pair the READ cannot overtake it.
 */
void rdl_post_side(struct rdl_lock *l, struct rdl_acts *acts)
{
	struct rdl_queue *q = &l->q;

	if (q->slot_due && !rdl_needs_slot(l))
		q->slot_due = 0;
	if (q->slot_due && !q->slot) {
		q->slot_due = 0;
		q->slot = 1;
		rdl_act(acts, RDL_ACT_POST_WRITE_SLOT)->val =
			rdl_slot(q->seed, l->node, l->epoch, l->ticket, q->mode == RDL_MODE_X);
	}
	if (q->rd_due && !q->rd && !q->slot_due) {
		q->rd_due = 0;
		if (l->st == RDL_ST_FETCH)
			q->rd = read_of_value(q);
		else
			q->rd = reads_word(l) ? RDL_ACT_POST_READ_WORD : RDL_ACT_POST_READ_SLOTS;
		if (q->rd == RDL_ACT_POST_READ_AREA)
			q->ver = 0;
		rdl_act(acts, q->rd);
	}
}

/*
 * True: the event was the end of something beside the word, and there is nothing more to it. A READ that brought what
 * the state waits for is left to the caller. A WRITE of unknown outcome may still land: the claim waits for a new link.
 */
bool rdl_side_ended(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	struct rdl_queue *q = &l->q;

	switch (ev->op) {
	case RDL_ACT_POST_WRITE_SLOT:
		q->slot = 0;
		if (ev->outcome != RDL_OK)
			q->slot_due = rdl_needs_slot(l);
		break;
	case RDL_ACT_POST_READ_SLOTS:
	case RDL_ACT_POST_READ_VALUE:
	case RDL_ACT_POST_READ_WORD:
	case RDL_ACT_POST_READ_AREA:
		q->rd = 0;
		if (ev->outcome == RDL_OK && !q->rd_old)
			return false;
		if (!q->rd_old)
			q->rd_due = 1;
		q->rd_old = 0;
		break;
	default:
		return false;
	}
	if (ev->outcome == RDL_AMBIGUOUS)
		l->landing = 1;
	if (ev->outcome == RDL_FAILED)
		rdl_pause(l, acts);
	return true;
}

/* ---- grants ---- */

/* Neither ticket nor grant. What was handed on, and the value, stay known: a recovery may need them. */
void rdl_grant_over(struct rdl_lock *l)
{
	struct rdl_queue *q = &l->q;

	rdl_drop_read(l);
	rdl_forget_early(l);
	l->st = l->nq ? RDL_ST_WANT : RDL_ST_NONE;
	l->ticket = 0;
	l->loc = 0;
	l->handovers = 0;
	l->relf = 0;
	l->retried = 0;
	q->ticket_epoch = 0;
	q->mode = RDL_MODE_NL;
	q->debt = 0;
	q->dirty = 0;
	q->vflags = 0;
	q->noted = 0;
	q->slot_due = 0;
	q->hint = RDL_MODE_NL;
	q->hint_node = 0;
	q->heard = 0;
	q->step = 0;
	q->need = 0;
	q->gone = 0;
	q->fresh = 0;
	q->had = 0;
	q->writer = 0;
	q->extra = 0;
	q->tries = 0;
	q->count = 0;
	q->from = 0;
	q->to = 0;
}

/*
 * Was the value handed on in this epoch, with nothing of it in the body? Until the next epoch this node may be the only
 * one to know it: a FREEZE that comes between makes the receiver drop the GRANT.
 *
 *   this node                  home                       receiver
 *   GRANT with the value
 *                              w |= F, FREEZE
 *   CLOSE                                                 claims WAIT, drops the GRANT
 *                              nobody claims the value
 *
 * Of a big value the body has all before the lock changes hands.
 */
bool rdl_only_copy(const struct rdl_lock *l)
{
	const struct rdl_queue *q = &l->q;

	return (q->props & (RDL_P_VALUE | RDL_P_BIG)) == RDL_P_VALUE && q->handed_epoch == l->epoch &&
	       !rdl_bust(CLOSE_FORGETS);
}

/* A big value that nobody else can read: it goes to the home before anything else happens to the lock. */
bool rdl_must_store(const struct rdl_lock *l)
{
	return (l->q.props & RDL_P_BIG) && l->q.dirty;
}

/* The ticket's turn has come. */
void rdl_granted(struct rdl_lock *l)
{
	rdl_drop_read(l);
	l->st = RDL_ST_HELD;
	l->q.fresh = 1;
	l->q.step = 0;
	l->q.tries = 0;
	l->q.handed_epoch = 0;
	l->q.handed_ticket = 0;
}

/* Granted, and the home has version @ver of a big value: is that the one that is here? */
void rdl_fetch_bytes(struct rdl_lock *l, u64 ver)
{
	struct rdl_queue *q = &l->q;

	if (!(q->props & RDL_P_BIG) || (ver && ver == q->ver))
		return;
	if (rdl_bust(OLD_COPY) && q->ver) {
		q->ver = ver;
		return;
	}
	l->st = RDL_ST_FETCH;
	q->need = RDL_NEED_BYTES;
	rdl_want_read(l);
}

void rdl_took_ticket(struct rdl_lock *l, struct rdl_acts *acts, u32 ticket)
{
	l->ticket = ticket;
	l->loc = 0;
	l->handovers = 0;
	l->q.ticket_epoch = l->epoch;
	l->q.debt = 0;
	l->q.hint = RDL_MODE_NL;
	l->q.heard = 0;
	l->q.had = 0;
	if (ticket >= RDL_TICKET_SOFT)
		rdl_roll(l, acts);
}

/* A grant may be lost with a link, though it is sent again through the home: ask, the longer the rarer. */
void rdl_watch(struct rdl_lock *l, struct rdl_acts *acts)
{
	rdl_act_timer(l, acts, RDL_WATCH_NS << (l->q.tries < RDL_WATCH_MAX ? l->q.tries : RDL_WATCH_MAX));
}

/* ---- users ---- */

u8 rdl_head(const struct rdl_lock *l, const struct rdl_event *ev)
{
	if (!l->nq)
		return RDL_MODE_NL;
	return ev->head == RDL_MODE_S ? RDL_MODE_S : RDL_MODE_X;
}

/* What users know, and values that are whole again: the home may forget the flags. */
void rdl_tell_settled(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	struct rdl_action *a;

	if (!l->q.noted || !(ev->flags & RDL_F_LINK) || l->frz != RDL_FRZ_RUN)
		return;
	a = rdl_act(acts, RDL_ACT_CONSISTENT);
	a->epoch = l->epoch;
	a->arg = l->q.noted;
}

static void settle_flags(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts, u32 vflags)
{
	vflags &= l->q.vflags & ~l->q.noted;
	if (!vflags)
		return;
	l->q.noted |= vflags;
	rdl_tell_settled(l, ev, acts);
}

#define DIED	(RDL_VF_OWNER_DIED | RDL_VF_MAYBE_DIED)

/* Of a lock without a value that flag goes with the notice; of another it stays until the value is written. */
static u32 no_value(const struct rdl_queue *q)
{
	return q->props & RDL_P_VALUE ? 0 : RDL_VF_VALUE_INVALID;
}

void rdl_queue_told(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	settle_flags(l, ev, acts, DIED | no_value(&l->q));
}

static void count_joins(struct rdl_lock *l, u32 n)
{
	u32 extra = n < l->q.extra ? n : l->q.extra;

	l->q.extra -= extra;
	l->handovers += n - extra;
}

/*
 * The first @n waiters become users. They may leave without having looked, so a notice is not settled by that: until
 * the shell says that one of them knows, whoever gets the lock next, by whatever road, is told again.
 */
void rdl_deliver_run(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts, u32 n)
{
	struct rdl_queue *q = &l->q;
	u32 tells = q->vflags & ~q->noted;
	struct rdl_action *a;

	if (!rdl_insist(acts, n && l->nq >= n))
		return;
	a = rdl_act(acts, RDL_ACT_DELIVER);
	a->arg = rdl_robust_tells(l) | (q->fresh ? 0 : RDL_GRANT_LOCAL);
	a->n = n;
	a->mode = q->mode;
	if (tells & RDL_VF_OWNER_DIED)
		a->arg |= RDL_GRANT_OWNER_DIED;
	if (tells & RDL_VF_MAYBE_DIED)
		a->arg |= RDL_GRANT_MAYBE_DIED;
	if (tells & RDL_VF_VALUE_INVALID)
		a->arg |= RDL_GRANT_VALUE_INVALID;
	if (!q->fresh)
		l->loc++;
	a->val = rdl_token(l->epoch, l->ticket, l->loc);
	l->loc += n - 1;
	count_joins(l, rdl_first_turn(l) ? n - 1 : n);
	l->token = rdl_token(l->epoch, l->ticket, l->loc);
	l->st = RDL_ST_HELD;
	l->nq -= n;
	l->users += n;
	l->relf = 0;
	q->fresh = 0;
	q->had = 0;
	q->asker = 0;
	/* A body that was damaged, and had no value: there is nothing to tell, and nobody will answer. */
	if (!(tells & DIED))
		settle_flags(l, ev, acts, no_value(q));
	else if (rdl_bust(NOTICE_EARLY))
		rdl_queue_told(l, ev, acts);
}

/*
 * What names a value that the user leaves now: its token, unless that names one already, because a downgrade failed and
 * the user is a writer again. That value may be in the body, so another one must not have its name: it gets the next
 * number of the local sequence, which no grant has.
 */
static u64 next_version(struct rdl_lock *l)
{
	if (l->q.ver < l->token || rdl_bust(VERSION_AGAIN))
		return l->token;
	l->loc++;
	return rdl_token(l->q.ticket_epoch, l->ticket, l->loc);
}

/* Before a release at least one more is left. */
bool rdl_version_left(const struct rdl_lock *l)
{
	return l->q.ver < l->token || l->loc < RDL_LOC_MAX;
}

/* The user that leaves, or goes on as a reader, has changed the value. */
void rdl_user_changed(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	struct rdl_queue *q = &l->q;

	if (!ev->dirty || q->mode != RDL_MODE_X || !(q->props & RDL_P_VALUE))
		return;
	q->dirty = 1;
	q->ver = next_version(l);
	if (!rdl_bust(INVALID_STAYS))
		settle_flags(l, ev, acts, RDL_VF_VALUE_INVALID);
}

/* ---- recovery and loss ---- */

void rdl_queue_begin(struct rdl_lock *l, bool a)
{
	l->guess = rdl_w_free(l->epoch, 0, a);
	l->q.nx = 0;
	l->q.paused = 0;
}

/* The turn, or the lock itself, is given up by the claim; the exclusive tickets still count in the frozen word. */
static void give_up(struct rdl_lock *l)
{
	if (l->q.mode == RDL_MODE_X)
		l->q.nx = 1 + l->q.debt;
	rdl_grant_over(l);
}

/* The first answer to a FREEZE decides what goes on and what ends. */
static void settle(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	struct rdl_queue *q = &l->q;

	switch (l->st) {
	case RDL_ST_TRY:
	case RDL_ST_PROBE:
		if (!q->gone)
			rdl_act_fail(l, acts, RDL_ACT_FAIL_HEAD, EAGAIN);
		rdl_grant_over(l);
		break;
	case RDL_ST_WAIT:
		q->nx = q->mode == RDL_MODE_X;
		if (!l->nq)
			rdl_grant_over(l);
		else if (rdl_fair_lazy(l, ev))
			q->mode = RDL_MODE_S;
		break;
	case RDL_ST_FETCH:
	case RDL_ST_HELD:
	case RDL_ST_STORE:
	case RDL_ST_DDUTY:
	case RDL_ST_DOUBT:
		/* What only this node has is not given up with the lock; it goes to the home in the next epoch. */
		if (!l->users && !l->nq && rdl_must_store(l) && !rdl_bust(CLAIM_UNSTORED)) {
			l->relf = 1;
		} else if (!l->users && !l->nq) {
			give_up(l);
			break;
		}
		if (q->mode == RDL_MODE_X)
			q->nx = 1 + q->debt;
		l->st = RDL_ST_HELD;
		break;
	case RDL_ST_CACHED:
	case RDL_ST_OWED:
		give_up(l);
		break;
	case RDL_ST_WNEXT:
		/* Given back, to whoever waits with the next ticket. */
		q->handed_epoch = l->epoch;
		q->handed_ticket = l->ticket + 1;
		rdl_grant_over(l);
		break;
	case RDL_ST_AMBIG:
		/* Unknown, so nothing: at worst a death is told that was none. The other error would hide one. */
		q->nx = rdl_bust(AMBIG_NX);
		rdl_grant_over(l);
		break;
	default:
		rdl_grant_over(l);
	}
	rdl_drop_read(l);
	q->slot_due = 0;
	q->debt = 0;
	q->hint = RDL_MODE_NL;
	q->hint_node = 0;
	q->step = 0;
	q->need = 0;
	q->tries = 0;
	q->asker = 0;
	q->paused = 0;
	q->writer = 0;
	q->extra = 0;
	q->count = 0;
	q->from = 0;
	q->to = 0;
	l->retried = 0;
	if (l->armed)
		rdl_act_timer(l, acts, 0);
}

/*
 * While CLAIMED the state is NONE or WANT, WAIT, or HELD, and says what was claimed: one that is asked for again is the
 * same, but that a value may be newer (released meanwhile).
 */
void rdl_queue_claim(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_claim *c, struct rdl_acts *acts)
{
	struct rdl_queue *q = &l->q;

	if (l->frz != RDL_FRZ_CLAIMED)
		settle(l, ev, acts);
	if (l->st == RDL_ST_HELD || l->st == RDL_ST_WAIT) {
		c->what = l->st == RDL_ST_HELD ? RDL_CLAIM_HOLD : RDL_CLAIM_WAIT;
		c->mode = q->mode;
		c->ticket = l->ticket;
		c->ticket_epoch = q->ticket_epoch;
		c->vflags = q->vflags & ~q->noted;
	}
	c->nx = q->nx;
	c->handed_epoch = q->handed_epoch;
	c->handed_ticket = q->handed_ticket;
	c->ver = rdl_bust(CLAIM_NO_VALUE) ? 0 : q->ver;
}

/* A REBUILT was lost, and with it the new ticket: the old one, with its epoch, says where this node stood. */
void rdl_queue_missed(struct rdl_lock *l, u32 epoch)
{
	l->epoch = epoch;
	l->is_void = 0;
	l->rolled = 0;
	l->guess = rdl_w_free(epoch, 0, false);
	l->q.nx = l->q.mode == RDL_MODE_X;
	l->q.debt = 0;
	if (l->q.grant_epoch <= epoch)
		l->q.grant_epoch = 0;
	if (l->q.hint_epoch <= epoch)
		l->q.hint_epoch = 0;
}

void rdl_queue_forget(struct rdl_lock *l, struct rdl_acts *acts)
{
	struct rdl_queue *q = &l->q;

	if (l->armed)
		rdl_act_timer(l, acts, 0);
	rdl_grant_over(l);
	*q = (struct rdl_queue){
		.props = q->props, .seed = q->seed, .rd = q->rd, .slot = q->slot,
		.stale = (q->rd ? RDL_STALE_READ : 0) | (q->slot ? RDL_STALE_WRITE : 0),
	};
	l->rolled = 0;
	l->k = 0;
}

/* What was in flight belonged to a session that is over. */
int rdl_queue_stale_ended(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	switch (ev->op) {
	case RDL_ACT_POST_WRITE_SLOT:
		l->q.slot = 0;
		l->q.stale &= ~RDL_STALE_WRITE;
		return 0;
	case RDL_ACT_POST_READ_SLOTS:
	case RDL_ACT_POST_READ_VALUE:
	case RDL_ACT_POST_READ_WORD:
	case RDL_ACT_POST_READ_AREA:
		l->q.rd = 0;
		l->q.stale &= ~RDL_STALE_READ;
		return 0;
	default:
		return rdl_stale_ended(l, ev, acts);
	}
}
