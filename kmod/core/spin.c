// SPDX-License-Identifier: GPL-2.0
/*
 * Kind "spin", Documentation/protocol.rst: a node takes the word by CAS (free word -> ticket + 1, owner
 * = this node) and gives it back by FAA(-owner). Between nodes there is no order; within a node
 * waiters are FIFO, and a bounded number of them take over without touching the network.
 */
#include "bust.h"
#include "cell.h"

static u64 pop_addend(const struct rdl_lock *l)
{
	return -((u64)(l->node + 1) << RDL_W_MID_SHIFT);
}

/* ---- back-off ---- */

/*
 * A new wait starts near the length that the last one needed, one step lower, so that the memory
 * fades. It never starts below the arithmetic of limits.h, so the bound on atomics holds.
 */
static void wait_begin(struct rdl_lock *l)
{
	l->retried = 0;
	if (l->k)
		l->k--;
}

static u64 backoff(struct rdl_lock *l, u32 rnd)
{
	u32 half = (RDL_SPIN_BASE_NS << l->k) / 2;

	if (l->k < RDL_SPIN_KMAX)
		l->k++;
	if (rdl_bust(NO_BACKOFF))
		return 1;
	return half + ((u64)rnd * (half + 1) >> 32);
}

static void arm(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (l->frz == RDL_FRZ_RUN && !l->is_void && (ev->flags & RDL_F_LINK))
		rdl_act_timer(l, acts, backoff(l, ev->rnd));
}

/* ---- recovery ---- */

/*
 * A word that nobody here uses is given up by the claim itself. While CLAIMED the state is NONE, WAIT or HELD, and HELD
 * means that HOLD was claimed.
 */
static void claim(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_claim *c, struct rdl_acts *acts)
{
	if (l->st == RDL_ST_HELD && (l->users || l->nq || l->relf)) {
		c->what = RDL_CLAIM_HOLD;
		c->mode = RDL_MODE_X;
		c->ticket = l->ticket;
		return;
	}
	if (l->st == RDL_ST_WAIT)
		rdl_act_timer(l, acts, 0);
	l->st = l->nq ? RDL_ST_WAIT : RDL_ST_NONE;
	l->attention = 0;
}

static void begin(struct rdl_lock *l, bool a)
{
	l->guess = rdl_w_free(l->epoch, 0, a);
}

/* A REBUILT was lost, and with it nothing but the ticket of a HOLD, which is 0. */
static void missed(struct rdl_lock *l, u32 epoch)
{
	rdl_epoch_begins(l, epoch, l->dead, NULL);
	l->ticket = 0;
}

static void lost(struct rdl_lock *l, struct rdl_acts *acts)
{
	if (l->st == RDL_ST_WAIT || l->st == RDL_ST_OWED)
		rdl_act_timer(l, acts, 0);
}

/* ---- taking and giving back ---- */

/* No claim to the word and nothing in flight: wait if somebody here wants it. */
static void rest(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	l->st = l->nq ? RDL_ST_WAIT : RDL_ST_NONE;
	rdl_drained(l, ev, acts);
	if (l->st == RDL_ST_WAIT)
		arm(l, ev, acts);
}

/* May the word that was seen last be taken? Past HARD only the rebuild helps; whoever sees it asks for one. */
static bool takable(struct rdl_lock *l, struct rdl_acts *acts)
{
	if (rdl_w_ticket(l->guess) < RDL_TICKET_HARD || rdl_bust(HARD_IGNORED))
		return true;
	rdl_roll(l, acts);
	return false;
}

static void post_cas(struct rdl_lock *l, struct rdl_acts *acts, u8 st)
{
	u32 t = rdl_w_ticket(l->guess) + (rdl_bust(TICKET_KEPT) ? 0 : 1);

	l->st = st;
	rdl_act_post(l, acts, RDL_ACT_POST_CAS, l->guess,
		     rdl_w_pack(t, l->node + 1, 0, l->epoch, rdl_w_attention(l->guess),
				rdl_w_frozen(l->guess)));
}

static void draw(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	l->st = RDL_ST_WAIT;
	if (l->frz == RDL_FRZ_RUN && !l->is_void && (ev->flags & RDL_F_LINK) && takable(l, acts))
		post_cas(l, acts, RDL_ST_DRAW);
}

static void give_back(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (l->frz == RDL_FRZ_CLAIMED) {
		l->relf = 1;
		return;
	}
	l->relf = 0;
	if (rdl_holds_back(l))
		return;
	l->st = RDL_ST_OWED;
	if (!(ev->flags & RDL_F_LINK))
		return;
	l->st = RDL_ST_POP;
	rdl_act_post(l, acts, RDL_ACT_POST_FAA, 0, pop_addend(l));
}

/* HELD without a local user: the head gets the node's own grant, or nobody is left who wants it. */
static void serve(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (l->st != RDL_ST_HELD || l->users || l->frz != RDL_FRZ_RUN || rdl_holds_back(l))
		return;
	if (l->nq) {
		if (rdl_lease_ok(ev))
			rdl_deliver(l, ev, acts, 0);
	} else if (!rdl_bust(CANCEL_KEEPS)) {
		give_back(l, ev, acts);
	}
}

/* The CAS found what it expected. */
static void taken(struct rdl_lock *l, struct rdl_acts *acts, u64 old)
{
	l->st = RDL_ST_HELD;
	l->ticket = rdl_w_ticket(old);
	l->attention = rdl_w_attention(old) ? RDL_ATT_UNTOLD : RDL_ATT_NONE;
	l->loc = 0;
	l->handovers = 0;
	/* The next owner of this node sees at least this ticket. */
	l->guess = rdl_w_free(l->epoch, l->ticket + 1, rdl_w_attention(old));
	if (l->ticket >= RDL_TICKET_SOFT)
		rdl_roll(l, acts);
}

/* Should CONSISTENT be lost, it is said again on the next link or in the next epoch; or the next owner is told, too. */
static void told(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (l->attention != RDL_ATT_UNTOLD)
		return;
	l->attention = RDL_ATT_TOLD;
	if (l->frz == RDL_FRZ_RUN && (ev->flags & RDL_F_LINK))
		rdl_act_msg(l, acts, RDL_ACT_CONSISTENT);
}

/* ---- outcomes ---- */

enum cas_result {
	CAS_TAKEN,
	CAS_STALE,	/* free, but not the word that was expected */
	CAS_BUSY,
	CAS_VOID,
	CAS_FAILED,
	CAS_AMBIG,	/* not known, or a word that cannot be */
};

/* Reads the outcome of a CAS and remembers what was seen. */
static enum cas_result cas_ended(struct rdl_lock *l, const struct rdl_event *ev)
{
	u64 old = ev->old;

	l->io = 0;
	if (ev->outcome == RDL_FAILED)
		return CAS_FAILED;
	if (ev->outcome == RDL_AMBIGUOUS)
		return rdl_bust(AMBIG_RETRIED) ? CAS_FAILED : CAS_AMBIG;
	if (rdl_w_frozen(old) && !rdl_bust(FROZEN_IGNORED)) {
		l->is_void = 1;
		return CAS_VOID;
	}
	if (rdl_w_ep18(old) != rdl_ep18(l->epoch) || rdl_w_mid(old) == l->node + 1u || rdl_w_low(old))
		return CAS_AMBIG;
	if (old == l->guess || rdl_bust(BUSY_TAKEN))
		return CAS_TAKEN;
	/* What the word will be when its owner has given it back and nobody else took it. */
	l->guess = old & ~(RDL_W_CNT_MASK << RDL_W_MID_SHIFT);
	return rdl_w_mid(old) ? CAS_BUSY : CAS_STALE;
}

static int draw_ended(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	switch (cas_ended(l, ev)) {
	case CAS_TAKEN:
		taken(l, acts, ev->old);
		rdl_drained(l, ev, acts);
		serve(l, ev, acts);
		break;
	case CAS_STALE:
		if (l->nq && l->frz == RDL_FRZ_RUN && !l->retried) {
			l->retried = 1;
			draw(l, ev, acts);
			break;
		}
		fallthrough;
	case CAS_BUSY:
	case CAS_VOID:
	case CAS_FAILED:
		rest(l, ev, acts);
		break;
	case CAS_AMBIG:
		rdl_doubt(l, ev, acts);
		break;
	}
	return 0;
}

/* A try does not wait: neither for another node, nor for a rebuild, nor for a lease. */
static int try_ended(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	switch (cas_ended(l, ev)) {
	case CAS_TAKEN:
		taken(l, acts, ev->old);
		if (l->frz != RDL_FRZ_RUN)
			rdl_act_fail(l, acts, RDL_ACT_FAIL_HEAD, EAGAIN);
		else if (!rdl_lease_ok(ev))
			rdl_act_fail(l, acts, RDL_ACT_FAIL_HEAD, EHOSTUNREACH);
		rdl_drained(l, ev, acts);
		serve(l, ev, acts);
		break;
	case CAS_STALE:
		if (l->frz == RDL_FRZ_RUN && !l->retried && (ev->flags & RDL_F_LINK) && takable(l, acts)) {
			l->retried = 1;
			post_cas(l, acts, RDL_ST_TRY);
			break;
		}
		fallthrough;
	case CAS_BUSY:
	case CAS_VOID:
		rdl_act_fail(l, acts, RDL_ACT_FAIL_HEAD, EAGAIN);
		wait_begin(l);
		rest(l, ev, acts);
		break;
	case CAS_FAILED:
		rdl_act_fail(l, acts, RDL_ACT_FAIL_HEAD, EHOSTUNREACH);
		wait_begin(l);
		rest(l, ev, acts);
		break;
	case CAS_AMBIG:
		/* The waiter holds nothing; what its CAS may have taken is given up by the recovery. */
		rdl_act_fail(l, acts, RDL_ACT_FAIL_HEAD, EHOSTUNREACH);
		rdl_doubt(l, ev, acts);
		break;
	}
	return 0;
}

static int pop_ended(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	u64 old = ev->old;

	l->io = 0;
	if (ev->outcome == RDL_FAILED || (ev->outcome == RDL_AMBIGUOUS && rdl_bust(AMBIG_RETRIED))) {
		l->st = RDL_ST_OWED;
		rdl_drained(l, ev, acts);
		if (l->st == RDL_ST_OWED && !rdl_hand_over(l, ev, acts))
			arm(l, ev, acts);
		return 0;
	}
	l->attention = RDL_ATT_NONE;
	if (ev->outcome == RDL_AMBIGUOUS ||
	    (!rdl_w_frozen(old) &&
	     (rdl_w_mid(old) != l->node + 1u || rdl_w_ep18(old) != rdl_ep18(l->epoch)))) {
		rdl_doubt(l, ev, acts);
		return 0;
	}
	if (rdl_w_frozen(old) && !rdl_bust(FROZEN_IGNORED))
		l->is_void = 1;
	else
		l->guess = rdl_w_free(l->epoch, rdl_w_ticket(old), rdl_w_attention(old));
	/* The other nodes' turn first: the next draw comes after a back-off. */
	wait_begin(l);
	rest(l, ev, acts);
	return 0;
}

/* ---- local waiters ---- */

static int acquire(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (!ev->try) {
		l->nq++;
		wait_begin(l);
		draw(l, ev, acts);
		return 0;
	}
	if (l->frz != RDL_FRZ_RUN || l->is_void || !(ev->flags & RDL_F_LINK) || !takable(l, acts))
		return rdl_queue(l, ev, acts);
	l->nq++;
	l->retried = 0;
	post_cas(l, acts, RDL_ST_TRY);
	return 0;
}

/* Not given back yet: a local waiter may have it meanwhile, unless others were there before it. */
static int acquire_owed(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (ev->try && l->nq)
		return rdl_queue(l, ev, acts);
	l->nq++;
	if (!rdl_hand_over(l, ev, acts) && ev->try)
		rdl_act_fail(l, acts, RDL_ACT_FAIL_TAIL,
			     ev->flags & RDL_F_LINK ? EAGAIN : EHOSTUNREACH);
	return 0;
}

static int release(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (!l->users)
		return -EPROTO;
	l->users = 0;
	l->token = 0;
	if (!rdl_hand_over(l, ev, acts))
		give_back(l, ev, acts);
	return 0;
}

static int cancel_try(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	/* The head is the try; others leave from behind it. */
	if (!ev->try && l->nq < 2)
		return -EPROTO;
	l->nq--;
	if (ev->try)
		l->st = RDL_ST_DRAW;
	return 0;
}

static int cancel_wait(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (!l->nq)
		return -EPROTO;
	l->nq--;
	if (l->nq)
		return 0;
	l->st = RDL_ST_NONE;
	rdl_act_timer(l, acts, 0);
	return 0;
}

static int cancel_held(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (!l->nq)
		return -EPROTO;
	l->nq--;
	if (!l->users && !l->nq)
		give_back(l, ev, acts);
	return 0;
}

/* ---- timers, link, lease ---- */

static int retry(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	draw(l, ev, acts);
	return 0;
}

static int repay(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	give_back(l, ev, acts);
	return 0;
}

static int serve_held(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	serve(l, ev, acts);
	return 0;
}

/* While the lease ran low nothing was posted, and no event says that posts are possible again but this one. */
static int lease_owed(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (!rdl_hand_over(l, ev, acts) && !l->armed)
		give_back(l, ev, acts);
	return 0;
}

static int lease_wait(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (!l->armed && !rdl_bust(LEASE_LOW))
		arm(l, ev, acts);
	return 0;
}

/* ---- recovery, as events ---- */

static int rebuilt(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	bool pop = rdl_bust(VOID_POP_AGAIN) && l->is_void && l->st == RDL_ST_NONE;

	if (ev->rebuilt.what != RDL_CLAIM_NONE)
		return -EPROTO;
	rdl_epoch_begins(l, ev->epoch, ev->rebuilt.vflags & RDL_VF_DEAD, acts);
	if (pop)
		give_back(l, ev, acts);
	else if (!rdl_bust(REBUILT_NO_DRAW))
		rest(l, ev, acts);
	return 0;
}

/* The grant goes on under a new epoch and ticket; the user keeps the token it was given. */
static void held_on(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts, u32 ticket, bool a)
{
	rdl_epoch_begins(l, ev->epoch, l->robust ? ev->rebuilt.vflags : 0, acts);
	l->ticket = ticket;
	l->guess = rdl_w_free(l->epoch, ticket + 1, false);
	if (!a)
		l->attention = RDL_ATT_NONE;
	if (l->attention == RDL_ATT_TOLD && (ev->flags & RDL_F_LINK))
		rdl_act_msg(l, acts, RDL_ACT_CONSISTENT);
	if (l->users)
		return;
	if (l->relf) {
		l->relf = 0;
		if (!rdl_hand_over(l, ev, acts))
			give_back(l, ev, acts);
	} else {
		serve(l, ev, acts);
	}
}

static int rebuilt_held(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (ev->rebuilt.what != RDL_CLAIM_HOLD || ev->rebuilt.ticket >= RDL_TICKET_SOFT)
		return -EPROTO;
	held_on(l, ev, acts, ev->rebuilt.ticket, ev->rebuilt.vflags & RDL_VF_OWNER_DIED);
	return 0;
}

/*
 * A new link to the same home. An epoch newer than the one that was claimed says that the REBUILT
 * was lost with the old link; of a spin lock everything it said is known (a HOLD has ticket 0),
 * but for A: what was told is told again.
 */
static int link_up(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (ev->epoch > l->epoch)
		rdl_epoch_begins(l, ev->epoch, l->robust ? ev->rebuilt.vflags : 0, acts);
	l->rolled = 0;
	l->st = l->nq ? RDL_ST_WAIT : RDL_ST_NONE;
	if (l->st == RDL_ST_WAIT)
		arm(l, ev, acts);
	return 0;
}

/* What was sent over the old link may be lost: ask again for a roll-over if it is still needed. */
static int link_up_owed(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	l->rolled = 0;
	give_back(l, ev, acts);
	return 0;
}

static int link_up_held(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (ev->epoch > l->epoch) {
		held_on(l, ev, acts, 0, true);
		return 0;
	}
	l->rolled = 0;
	if (l->attention == RDL_ATT_TOLD && l->frz == RDL_FRZ_RUN && (ev->flags & RDL_F_LINK))
		rdl_act_msg(l, acts, RDL_ACT_CONSISTENT);
	return 0;
}

/* ---- loss of the session ---- */

static int rejoin(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (l->io)
		return -EPROTO;
	rdl_epoch_begins(l, ev->epoch, ev->rebuilt.vflags & RDL_VF_DEAD, acts);
	l->st = RDL_ST_NONE;
	if (l->nq) {
		wait_begin(l);
		draw(l, ev, acts);
	}
	return 0;
}

/* ---- the table ---- */

/* Where a lock goes that was given back, and one that was taken. */
#define RESTS		(B(NONE) | B(WAIT))
#define GIVES_BACK	(B(HELD) | B(POP) | B(OWED))

static const struct rdl_cell table[RDL_NR_STATES][RDL_NR_EVENTS] = {
	[RDL_ST_NONE] = {
		[RDL_EV_ACQ]	 = C(acquire, B(DRAW) | B(TRY) | B(WAIT) | B(NONE)),
		[RDL_EV_REL]	 = IMP(NONE),
		[RDL_EV_CANCEL]	 = IMP(NONE),
		[RDL_EV_OP]	 = IMP(NONE),
		[RDL_EV_TIMER]	 = IGN(NONE),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(NONE)),
		[RDL_EV_REBUILT] = C(rebuilt, B(NONE)),
		[RDL_EV_LINK_UP] = C(link_up, B(NONE)),
		[RDL_EV_LEASE]	 = IGN(NONE),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(NONE),
	},
	[RDL_ST_DRAW] = {
		[RDL_EV_ACQ]	 = C(rdl_queue, B(DRAW)),
		[RDL_EV_REL]	 = IMP(DRAW),
		[RDL_EV_CANCEL]	 = C(rdl_cancel, B(DRAW)),
		[RDL_EV_OP]	 = C(draw_ended, RESTS | GIVES_BACK | B(DRAW) | B(AMBIG)),
		[RDL_EV_TIMER]	 = IGN(DRAW),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(DRAW)),
		[RDL_EV_REBUILT] = IMP(DRAW),
		[RDL_EV_LINK_UP] = IMP(DRAW),
		[RDL_EV_LEASE]	 = IGN(DRAW),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(DRAW),
	},
	[RDL_ST_TRY] = {
		[RDL_EV_ACQ]	 = C(rdl_queue, B(TRY)),
		[RDL_EV_REL]	 = IMP(TRY),
		[RDL_EV_CANCEL]	 = C(cancel_try, B(TRY) | B(DRAW)),
		[RDL_EV_OP]	 = C(try_ended, RESTS | GIVES_BACK | B(TRY) | B(AMBIG)),
		[RDL_EV_TIMER]	 = IGN(TRY),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(TRY)),
		[RDL_EV_REBUILT] = IMP(TRY),
		[RDL_EV_LINK_UP] = IMP(TRY),
		[RDL_EV_LEASE]	 = IGN(TRY),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(TRY),
	},
	[RDL_ST_WAIT] = {
		[RDL_EV_ACQ]	 = C(rdl_queue, B(WAIT)),
		[RDL_EV_REL]	 = IMP(WAIT),
		[RDL_EV_CANCEL]	 = C(cancel_wait, B(WAIT) | B(NONE)),
		[RDL_EV_OP]	 = IMP(WAIT),
		[RDL_EV_TIMER]	 = C(retry, B(WAIT) | B(DRAW)),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(WAIT)),
		[RDL_EV_REBUILT] = C(rebuilt, RESTS),
		[RDL_EV_LINK_UP] = C(link_up, RESTS),
		[RDL_EV_LEASE]	 = C(lease_wait, B(WAIT)),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(WAIT),
	},
	[RDL_ST_HELD] = {
		[RDL_EV_ACQ]	 = C(rdl_queue, B(HELD)),
		[RDL_EV_REL]	 = C(release, GIVES_BACK),
		[RDL_EV_CANCEL]	 = C(cancel_held, GIVES_BACK),
		[RDL_EV_OP]	 = IMP(HELD),
		[RDL_EV_TIMER]	 = IGN(HELD),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(HELD) | B(NONE)),
		[RDL_EV_REBUILT] = C(rebuilt_held, GIVES_BACK),
		[RDL_EV_LINK_UP] = C(link_up_held, GIVES_BACK),
		[RDL_EV_LEASE]	 = C(serve_held, B(HELD)),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(HELD),
	},
	[RDL_ST_POP] = {
		[RDL_EV_ACQ]	 = C(rdl_queue, B(POP)),
		[RDL_EV_REL]	 = IMP(POP),
		[RDL_EV_CANCEL]	 = C(rdl_cancel, B(POP)),
		[RDL_EV_OP]	 = C(pop_ended, RESTS | B(HELD) | B(OWED) | B(AMBIG)),
		[RDL_EV_TIMER]	 = IGN(POP),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(POP)),
		[RDL_EV_REBUILT] = IMP(POP),
		[RDL_EV_LINK_UP] = IMP(POP),
		[RDL_EV_LEASE]	 = IGN(POP),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(POP),
	},
	[RDL_ST_OWED] = {
		[RDL_EV_ACQ]	 = C(acquire_owed, B(OWED) | B(HELD)),
		[RDL_EV_REL]	 = IMP(OWED),
		[RDL_EV_CANCEL]	 = C(rdl_cancel, B(OWED)),
		[RDL_EV_OP]	 = IMP(OWED),
		[RDL_EV_TIMER]	 = C(repay, B(OWED) | B(POP)),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, RESTS),
		[RDL_EV_REBUILT] = IMP(OWED),
		[RDL_EV_LINK_UP] = C(link_up_owed, B(OWED) | B(POP)),
		[RDL_EV_LEASE]	 = C(lease_owed, GIVES_BACK),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(OWED),
	},
	[RDL_ST_AMBIG] = {
		[RDL_EV_ACQ]	 = C(rdl_queue, B(AMBIG)),
		[RDL_EV_REL]	 = IMP(AMBIG),
		[RDL_EV_CANCEL]	 = C(rdl_cancel, B(AMBIG)),
		[RDL_EV_OP]	 = IMP(AMBIG),
		[RDL_EV_TIMER]	 = IGN(AMBIG),
		[RDL_EV_FREEZE]	 = C(rdl_freeze, B(AMBIG) | RESTS),
		[RDL_EV_REBUILT] = IMP(AMBIG),
		[RDL_EV_LINK_UP] = C(rdl_new_link_ambig, B(AMBIG) | RESTS),
		[RDL_EV_LEASE]	 = IGN(AMBIG),
		[RDL_EV_LOSE]	 = C(rdl_lose, B(LOST)),
		[RDL_EV_REJOIN]	 = IMP(AMBIG),
	},
	[RDL_ST_LOST] = {
		[RDL_EV_ACQ]	 = C(rdl_queue_lost, B(LOST)),
		[RDL_EV_REL]	 = IGN(LOST),
		[RDL_EV_CANCEL]	 = C(rdl_cancel, B(LOST)),
		[RDL_EV_OP]	 = C(rdl_stale_ended, B(LOST)),
		[RDL_EV_TIMER]	 = IGN(LOST),
		[RDL_EV_FREEZE]	 = IGN(LOST),
		[RDL_EV_REBUILT] = IGN(LOST),
		[RDL_EV_LINK_UP] = IGN(LOST),
		[RDL_EV_LEASE]	 = IGN(LOST),
		[RDL_EV_LOSE]	 = IGN(LOST),
		[RDL_EV_REJOIN]	 = C(rejoin, B(NONE) | B(DRAW) | B(WAIT)),
	},
};

#define STATES	(B(NONE) | B(DRAW) | B(TRY) | B(WAIT) | B(HELD) | B(POP) | B(OWED) | B(AMBIG) | B(LOST))

const struct rdl_kind_ops rdl_spin = {
	.states = STATES,
	.events = (2u << RDL_EV_REJOIN) - 1,
	.owns = B(HELD) | B(POP) | B(OWED),
	.table = table,
	.begin = begin,
	.claim = claim,
	.missed = missed,
	.lost = lost,
	.told = told,
	.check = rdl_spin_check,
	.fits = rdl_spin_fits,
	.finish = rdl_spin_finish,
};
