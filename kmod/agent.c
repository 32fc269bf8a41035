// SPDX-License-Identifier: GPL-2.0
/*
 * The agent of a lock: the one door through which events reach the core, and the one place that carries out what the
 * core decides. Local calls, completions, messages, timers, lease and session changes all end in rdlock_agent_event().
 *
 * Locking: agent->lock (BH off) around rdlock_agent_event(). Inside it space->lock and the fabric's locks are taken,
 * never the other way round. What sleeps (asking the home) is done by agent->work, in agent_open.c; agents are found
 * and freed in agent_table.c.
 *
 * The lost wake-up that must not be: a waiter is put into the queue and the core is told (ACQ) under one hold of
 * agent->lock, and a grant is delivered to the head of the queue under the same lock, so that no grant can fall between
 * "not free" and "queued". The sleeper reads its own state after prepare_to_wait(); wake_up() follows the store of the
 * state (the barrier pair is set_current_state() there and the one in wake_up() here).
 */
#include <linux/errno.h>
#include <linux/random.h>

#include "agent.h"
#include "block.h"
#include "fabric/fault.h"
#include "main.h"
#include "session.h"
#include "space.h"
#include "stats.h"
#include "trace.h"
#include "wait.h"
#include "compat.h"

/*
 * The timer has no reference: nothing can tell whether a callback that is running was the last. Who takes the agent out
 * of the table waits for it. One that runs late finds a late event harmless.
 */
static void act_timer(struct rdlock_agent *a, u64 ns)
{
	if (ns)
		hrtimer_start(&a->timer, ns_to_ktime(ns), HRTIMER_MODE_REL_SOFT);
	else
		hrtimer_try_to_cancel(&a->timer);
}

/* The bytes of the version that the core speaks of from now on. Of a damaged body there are none. */
static void act_take(struct rdlock_agent *a, const struct rdl_action *act, const u8 *value)
{
	/* Read in place. */
	if (a->core.q.props & RDL_P_BIG) {
		if (!value)
			rdlock_block_zero(a->big->value);
		return;
	}
	if (act->arg)
		value = a->parked;
	if (value)
		memcpy(a->value, value, sizeof(a->value));
	else
		memset(a->value, 0, sizeof(a->value));
}

static bool is_post(u8 type)
{
	switch (type) {
	case RDL_ACT_POST_CAS:
	case RDL_ACT_POST_FAA:
	case RDL_ACT_POST_READ_SLOTS:
	case RDL_ACT_POST_READ_VALUE:
	case RDL_ACT_POST_READ_WORD:
	case RDL_ACT_POST_WRITE_SLOT:
	case RDL_ACT_POST_READ_AREA:
	case RDL_ACT_POST_WRITE_VALUE:
		return true;
	}
	return false;
}

/* @refused: posts of this event that were refused; after one of them no later one may go. */
static void perform(struct rdlock_agent *a, const struct rdl_acts *acts, const struct rdl_action *act,
		    const struct rdl_event *ev, const u8 *value, u8 *refused, unsigned int *n)
{
	if (is_post(act->type)) {
		if ((*n || !rdlock_agent_post(a, act)) && !WARN_ON_ONCE(*n == RDLOCK_AGENT_REFUSED))
			refused[(*n)++] = act->type;
		return;
	}
	switch (act->type) {
	case RDL_ACT_DELIVER:
		rdlock_agent_deliver(a, act);
		break;
	case RDL_ACT_FAIL_HEAD:
	case RDL_ACT_FAIL_TAIL:
		rdlock_agent_fail(a, act);
		break;
	case RDL_ACT_FAIL_ALL:
		rdlock_agent_fail_all(a, -(int)act->arg);
		break;
	case RDL_ACT_TIMER:
		act_timer(a, act->val);
		break;
	case RDL_ACT_LOST:
		rdlock_agent_users_lost(a);
		break;
	case RDL_ACT_TAKE:
		act_take(a, act, value);
		break;
	case RDL_ACT_PARK:
		if (value)
			memcpy(a->parked, value, sizeof(a->parked));
		break;
	case RDL_ACT_CONVERTED:
	case RDL_ACT_CONVERT_FAILED:
		rdlock_agent_converted(a, act);
		break;
	default:
		rdlock_agent_send(a, acts, act, ev);
		break;
	}
}

static bool in_doubt(u8 st)
{
	return st == RDL_ST_AMBIG || st == RDL_ST_DOUBT;
}

/*
 * The lock must be opened again though the link stands: it saw a word that cannot be, and nothing else would bring the
 * home to recover it; or an operation on the loopback pair ended with an unknown outcome, and no new link will come.
 * Only once all its operations have ended. Until it is open again nothing is posted.
 */
static void open_again(struct rdlock_agent *a, u8 was, bool landed)
{
	const struct rdl_lock *core = &a->core;

	if (!a->registered)
		return;
	if ((in_doubt(core->st) && !in_doubt(was) && !core->landing) ||
	    (a->space->session.local && core->landing && landed))
		a->session = 0;
	if (!a->session && !rdlock_agent_busy(a))
		rdlock_agent_kick(a);
}

/* Does anybody here wait for what a valid lease allows? Then its renewal is told to the core. */
static bool wants_lease(const struct rdlock_agent *a)
{
	if (a->core.nq || (!READ_ONCE(a->opens) && !rdl_idle(&a->core)))
		return true;
	/* A spin lock with a user needs it for nothing else; the others may owe another node an answer. */
	if (rdl_reports(&a->core))
		return true;
	return rdl_owns(&a->core) && (a->core.kind != RDL_KIND_SPIN || list_empty(&a->users));
}

/* The core will not hear of the end of @op, which has ended. */
static void op_is_over(struct rdlock_agent *a, u8 op)
{
	switch (op) {
	case RDL_ACT_POST_WRITE_SLOT:
		a->core.q.slot = 0;
		break;
	case RDL_ACT_POST_READ_SLOTS:
	case RDL_ACT_POST_READ_VALUE:
	case RDL_ACT_POST_READ_WORD:
	case RDL_ACT_POST_READ_AREA:
		a->core.q.rd = 0;
		break;
	default:
		a->core.io = 0;
	}
}

/*
 * The core contradicts itself: a bug. Whatever this node believes of the lock may be wrong, so nothing of this step is
 * done, the core is asked no more, and the node leaves the session as if it had died: the home hands on what it held
 * once its lease is over.
 */
static void core_is_broken(struct rdlock_agent *a, const struct rdl_event *ev, const struct rdl_acts *acts)
{
	u32 types = acts->dropped;
	unsigned int i;

	a->broken = true;
	for (i = 0; i < acts->n; i++)
		types |= 1U << acts->a[i].type;
	/* What is not posted does not end. */
	for (i = 0; i < RDL_NR_ACTIONS; i++)
		if (types & 1U << i && is_post(i))
			op_is_over(a, i);
	/* The session that is lost is over. */
	if (ev->type != RDL_EV_LOSE)
		rdlock_session_doubt(a->space);
}

/* The session is over, and with it all that the core may be wrong about. */
static void core_is_mended(struct rdlock_agent *a, int err)
{
	if (!list_empty(&a->users))
		rdlock_agent_users_lost(a);
	rdlock_agent_fail_all(a, err);
	a->core.st = RDL_ST_LOST;
	a->core.users = 0;
	a->core.nq = 0;
	a->broken = false;
	if (!READ_ONCE(a->opens))
		rdlock_agent_kick(a);
}

/**
 * rdlock_agent_event - the door
 * @a: agent
 * @ev: type and details; flags, randomness and the head of the queue are filled in here
 * @value: the value's bytes that came with it, RDL_VALUE_MAX; NULL: none
 *
 * Locks: a->lock is held, BH off.
 */
void rdlock_agent_event(struct rdlock_agent *a, struct rdl_event *ev, const u8 *value)
{
	u8 refused[RDLOCK_AGENT_REFUSED];
	struct rdl_event next;
	unsigned int i, n = 0, st;
	struct rdl_acts acts;
	bool landing, early;
	u32 epoch;
	int err;

	lockdep_assert_held(&a->lock);
	if (unlikely(a->broken) && ev->type != RDL_EV_LOSE) {
		if (ev->type == RDL_EV_OP)
			op_is_over(a, ev->op);
		return;
	}
	for (;;) {
		ev->flags = rdlock_session_flags(a->space, a->session, NULL);
		if (!READ_ONCE(a->opens))
			ev->flags |= RDL_F_SHED;
		ev->rnd = get_random_u32();
		rdlock_agent_head(a, ev);
		st = a->core.st;
		landing = a->core.landing;
		epoch = a->core.epoch;
		early = rdl_try_is_early(&a->core, RDL_MODE_S);
		err = rdl_step(&a->core, ev, &acts);
		trace_rdlock_step(a, ev, st, err, acts.n);
		if (WARN_ON_ONCE(acts.broken) || rdf_fault(RDF_FAULT_core_broken)) {
			core_is_broken(a, ev, &acts);
			goto out_refused;
		}
		if (err) {
			rdlock_stat_inc(a->space, bad_msg);
			if (WARN_ON_ONCE(ev->type == RDL_EV_OP)) {
				/* Rather start afresh than wait for ever. */
				op_is_over(a, ev->op);
				rdlock_session_doubt(a->space);
			}
			goto out_refused;
		}
		for (i = 0; i < acts.n; i++)
			perform(a, &acts, &acts.a[i], ev, value, refused, &n);
		if (a->core.robust && a->core.epoch != epoch)
			rdlock_agent_said(a);
		if (!(ev->flags & RDL_F_LEASE) && wants_lease(a))
			WRITE_ONCE(a->space->session.lease_low, true);
		open_again(a, st, !landing);
		/* Who wants to try waits for it. Pairs with the barrier in prepare_to_wait(). */
		if (early)
			wake_up_all(&a->wq);
		if (!n)
			break;
		/* In the order in which they were asked for. */
		next = (struct rdl_event){ .type = RDL_EV_OP, .outcome = RDL_FAILED, .op = refused[0] };
		n--;
		memmove(refused, refused + 1, n);
		ev = &next;
		value = NULL;
	}

	/* Closing waits for idleness; a stale read of opens only costs a look by the work. */
	if (!READ_ONCE(a->opens) && rdl_idle(&a->core))
		rdlock_agent_kick(a);
out_refused:
	/* Were there some left, their ends would not be told any more. */
	while (n)
		op_is_over(a, refused[--n]);
}

static enum hrtimer_restart agent_timer(struct hrtimer *t)
{
	struct rdlock_agent *a = container_of(t, struct rdlock_agent, timer);
	struct rdl_event ev = { .type = RDL_EV_TIMER };

	spin_lock_bh(&a->lock);
	rdlock_agent_event(a, &ev, NULL);
	spin_unlock_bh(&a->lock);
	return HRTIMER_NORESTART;
}

void rdlock_agent_door_init(struct rdlock_agent *a)
{
	rdlock_agent_post_init(a);
	rdlock_hrtimer_setup(&a->timer, agent_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
}

void rdlock_agent_stop_timer(struct rdlock_agent *a)
{
	hrtimer_cancel(&a->timer);
}

/* ---- events from inside the node ---- */

/*
 * Nearly always the last: only who was interrupted by a signal is back before those who came later, whom it passes one
 * by one; where all of very many are interrupted at once, that is long for a lock. Not before a try, which the core
 * knows to be the first.
 */
static void queue_at_place(struct rdlock_agent *a, struct rdlock *l)
{
	struct list_head *pos;
	struct rdlock *before;

	lockdep_assert_held(&a->lock);
	list_for_each_prev(pos, &a->queue) {
		before = list_entry(pos, struct rdlock, node);
		if (before->try || before->place < l->place)
			break;
	}
	list_add(&l->node, pos);
}

void rdlock_agent_acquire(struct rdlock_agent *a, struct rdlock *l)
{
	struct rdl_event ev = { .type = RDL_EV_ACQ, .try = l->try, .mode = l->mode };

	lockdep_assert_held(&a->lock);
	rdlock_stat_inc(a->space, acquire);
	queue_at_place(a, l);
	rdlock_agent_event(a, &ev, NULL);
}

void rdlock_agent_cancel(struct rdlock_agent *a, struct rdlock *l)
{
	/* A try that is killed in flight leaves from the head, everybody else from behind it. */
	struct rdl_event ev = { .type = RDL_EV_CANCEL, .try = l->try };

	lockdep_assert_held(&a->lock);
	rdlock_stat_inc(a->space, withdrawn);
	rdlock_agent_event(a, &ev, NULL);
}

void rdlock_agent_report(struct rdlock_agent *a, u8 report)
{
	struct rdl_event ev = { .type = RDL_EV_REPORT, .report = report };

	lockdep_assert_held(&a->lock);
	rdlock_agent_event(a, &ev, NULL);
}

void rdlock_agent_release(struct rdlock_agent *a, bool dirty, u8 report)
{
	struct rdl_event ev = { .type = RDL_EV_REL, .dirty = dirty, .report = report };

	lockdep_assert_held(&a->lock);
	rdlock_stat_inc(a->space, release);
	rdlock_agent_event(a, &ev, NULL);
}

static void convert_take(struct rdlock_agent *a, struct rdlock *l, u8 *before)
{
	if (l->staged) {
		swap(a->big->value, l->staged);
		return;
	}
	memcpy(before, a->value, sizeof(a->value));
	memcpy(a->value, l->value, sizeof(a->value));
}

static void convert_untake(struct rdlock_agent *a, struct rdlock *l, const u8 *before)
{
	if (l->staged)
		swap(a->big->value, l->staged);
	else
		memcpy(a->value, before, sizeof(a->value));
}

/*
 * The value of a writer that goes to shared is the copy's from when the core has taken it: before, another version is
 * named with it.
 */
int rdlock_agent_convert(struct rdlock_agent *a, struct rdlock *l, u32 mode, bool dirty)
{
	struct rdl_event ev = { .type = mode == RDLOCK_SHARED ? RDL_EV_DOWN : RDL_EV_UP, .dirty = dirty };
	u8 before[RDL_VALUE_MAX];

	lockdep_assert_held(&a->lock);
	/* In the middle of something else, a recovery perhaps; it does not last. */
	if (a->core.st != RDL_ST_HELD)
		return -EAGAIN;
	if (dirty)
		convert_take(a, l, before);
	l->err = 0;
	WRITE_ONCE(l->converting, true);
	rdlock_agent_event(a, &ev, NULL);
	if (!dirty)
		return 0;
	/* Not begun, so not taken. One that fails later has taken it: it may be in the body, and stays the lock's. */
	if (!l->converting && l->err == -EAGAIN)
		convert_untake(a, l, before);
	else
		l->dirty = false;
	return 0;
}

void rdlock_agent_shed(struct rdlock_agent *a)
{
	struct rdl_event ev = { .type = RDL_EV_SHED };

	spin_lock_bh(&a->lock);
	/* Kinds that keep nothing do not know the event: neither the lock, nor a value that they handed on. */
	if (a->core.kind == RDL_KIND_FAIR || a->core.kind == RDL_KIND_MCS)
		rdlock_agent_event(a, &ev, NULL);
	spin_unlock_bh(&a->lock);
}

/* ---- events from the home ---- */

void rdlock_agent_lease(struct rdlock_agent *a)
{
	struct rdl_event ev = { .type = RDL_EV_LEASE };

	spin_lock_bh(&a->lock);
	if (a->registered)
		rdlock_agent_event(a, &ev, NULL);
	else if (a->unsure && !READ_ONCE(a->opens))
		rdlock_agent_kick(a);
	spin_unlock_bh(&a->lock);
}

static void waiter_lost(struct rdlock_agent *a, struct rdlock *l, int err)
{
	struct rdl_event ev = { .type = RDL_EV_CANCEL };

	rdlock_agent_waiter_fail(a, l, err);
	rdlock_agent_event(a, &ev, NULL);
}

void rdlock_agent_revoke(struct rdlock_agent *a, int err)
{
	struct rdlock *l, *n;

	lockdep_assert_held(&a->lock);
	list_for_each_entry_safe(l, n, &a->queue, node)
		waiter_lost(a, l, err);
	list_for_each_entry(l, &a->handles, all) {
		WRITE_ONCE(l->state, RDLOCK_FD_REVOKED);
		rdlock_agent_wake(l);
	}
	/* Its key may stand for another lock from now on. */
	a->exact = false;
	a->ask = (struct rdlock_props){};
}

static void lose_grants(struct rdlock_agent *a, int err)
{
	struct rdl_event ev = { .type = RDL_EV_LOSE };

	lockdep_assert_held(&a->lock);
	if (a->registered || a->broken) {
		a->registered = false;
		rdlock_agent_drop_slot(a);
		rdlock_agent_event(a, &ev, NULL);
	}
	if (a->broken)
		core_is_mended(a, err);
}

void rdlock_agent_lose_grants(struct rdlock_agent *a, void *err)
{
	spin_lock_bh(&a->lock);
	lose_grants(a, *(int *)err);
	spin_unlock_bh(&a->lock);
}

void rdlock_agent_lose(struct rdlock_agent *a, int err, bool all)
{
	struct rdlock *l, *n;

	spin_lock_bh(&a->lock);
	lose_grants(a, err);
	if (a->unsure) {
		/* The home evicted us, or is another one: now it certainly does not know us. */
		a->unsure = false;
		rdlock_agent_kick(a);
	}
	if (all)
		rdlock_agent_revoke(a, err);
	list_for_each_entry_safe(l, n, &a->queue, node)
		if (l->deadline == KTIME_MAX || l->try)
			waiter_lost(a, l, err);
	spin_unlock_bh(&a->lock);
	/*
	 * LOST arms no timer. One that ran late, after the space is down, would queue work while the module drains its
	 * queue.
	 */
	if (all)
		rdlock_agent_stop_timer(a);
	wake_up_all(&a->wq);
}
