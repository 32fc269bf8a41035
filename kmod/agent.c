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
#include "main.h"
#include "session.h"
#include "space.h"
#include "stats.h"
#include "trace.h"
#include "wait.h"
#include "compat.h"

/* ---- actions ---- */

static void handle_wake(struct rdlock *l)
{
	/* Order: the state was stored before; pairs with set_current_state() in the sleeper (prepare_to_wait()). */
	wake_up_all(&l->wq);
	if (l->fn && queue_work(rdlock_fn_wq, &l->work))
		rdlock_agent_get(l->agent);
}

static void act_deliver(struct rdlock_agent *a, const struct rdl_action *act)
{
	struct rdlock *l = list_first_entry_or_null(&a->queue, struct rdlock, node);

	lockdep_assert_held(&a->lock);
	if (WARN_ON_ONCE(!l || a->user))
		return;
	list_del_init(&l->node);
	a->user = l;
	l->grant.token = act->val;
	l->grant.instance = READ_ONCE(a->space->instance);
	l->grant.flags = act->arg;
	rdlock_stat_inc(a->space, grant);
	if (act->arg & RDLOCK_GRANT_LOCAL)
		rdlock_stat_inc(a->space, grant_local);
	if (act->arg & RDLOCK_GRANT_OWNER_DIED)
		rdlock_stat_inc(a->space, owner_died);
	WRITE_ONCE(l->state, RDLOCK_FD_GRANTED);
	handle_wake(l);
}

static void waiter_fail(struct rdlock_agent *a, struct rdlock *l, int err)
{
	lockdep_assert_held(&a->lock);
	list_del_init(&l->node);
	if (err == -EAGAIN)
		rdlock_stat_inc(a->space, busy);
	l->err = err;
	WRITE_ONCE(l->state, RDLOCK_FD_IDLE);
	handle_wake(l);
}

static void act_fail(struct rdlock_agent *a, const struct rdl_action *act)
{
	struct rdlock *l;

	if (WARN_ON_ONCE(list_empty(&a->queue)))
		return;
	if (act->type == RDL_ACT_FAIL_HEAD)
		l = list_first_entry(&a->queue, struct rdlock, node);
	else
		l = list_last_entry(&a->queue, struct rdlock, node);
	waiter_fail(a, l, -(int)act->arg);
}

static void act_timer(struct rdlock_agent *a, u64 ns)
{
	/*
	 * A running timer has a reference; a callback that waits for our lock keeps its own and finds a late event
	 * harmless.
	 */
	if (!ns) {
		if (hrtimer_try_to_cancel(&a->timer) == 1)
			rdlock_agent_put(a);
		return;
	}
	if (hrtimer_try_to_cancel(&a->timer) != 1)
		rdlock_agent_get(a);
	hrtimer_start(&a->timer, ns_to_ktime(ns), HRTIMER_MODE_REL_SOFT);
}

static void act_message(struct rdlock_agent *a, const struct rdl_action *act)
{
	struct {
		struct rdl_msg h;
		struct rdl_msg_claim c;
	} m = {};
	u32 len = sizeof(m.h);

	switch (act->type) {
	case RDL_ACT_CLAIM:
		m.h.type = RDL_MSG_CLAIM;
		m.h.ticket = cpu_to_le32(act->claim.ticket);
		m.c.what = act->claim.what;
		m.c.mode = act->claim.mode;
		m.c.nx = cpu_to_le32(act->claim.nx);
		m.c.handed_epoch = cpu_to_le32(act->claim.handed_epoch);
		m.c.handed_ticket = cpu_to_le32(act->claim.handed_ticket);
		m.c.ver = cpu_to_le64(act->claim.ver);
		m.c.vflags = cpu_to_le32(act->claim.vflags);
		len = sizeof(m);
		break;
	case RDL_ACT_ROLL:
		m.h.type = RDL_MSG_ROLL_REQ;
		break;
	default:
		m.h.type = RDL_MSG_CONSISTENT;
		break;
	}
	m.h.table = cpu_to_le32(a->table);
	m.h.lock = cpu_to_le32(a->slot);
	m.h.epoch = cpu_to_le32(act->epoch);
	/*
	 * Lost with the link if it is down: the next open of the lock in a new session makes the home ask again, or the
	 * core say it again. So it does if there is no memory for it and the link stands; a claim is asked for anyway.
	 */
	if (rdlock_session_send(a->space, &m.h, len) == -ENOMEM && act->type != RDL_ACT_CLAIM) {
		a->session = 0;
		rdlock_agent_kick(a);
	}
}

/* Post what the core asks for; a refusal is an event of its own. */
static bool act_post(struct rdlock_agent *a, const struct rdl_action *act, struct rdl_event *next)
{
	struct rdf_link *link;
	int err = -ENOTCONN;

	/* RDL_F_LINK may have gone since the core looked: the fabric or the flags say no, and nothing was sent. */
	if (rdlock_session_flags(a->space, a->session, &link) & RDL_F_LINK) {
		rdlock_agent_get(a);
		if (act->type == RDL_ACT_POST_CAS) {
			rdlock_stat_inc(a->space, lock_cas);
			err = rdf_cas(link, &a->op, a->addr, act->cmp, act->val);
		} else {
			rdlock_stat_inc(a->space, lock_faa);
			err = rdf_faa(link, &a->op, a->addr, act->val);
		}
		rdf_link_put(link);
		if (!err)
			return false;
		rdlock_agent_put(a);
	}
	*next = (struct rdl_event){ .type = RDL_EV_OP, .outcome = RDL_FAILED };
	return true;
}

static void act_lost(struct rdlock_agent *a)
{
	struct rdlock *l = a->user;

	rdlock_stat_inc(a->space, lost);
	a->user = NULL;
	if (!l)
		return;
	l->grant = (struct rdlock_grant){};
	WRITE_ONCE(l->state, RDLOCK_FD_REVOKED);
	handle_wake(l);
}

/**
 * rdlock_agent_event - the door
 * @a: agent
 * @ev: type and details; flags and randomness are filled in here
 *
 * Locks: a->lock is held, BH off.
 */
void rdlock_agent_event(struct rdlock_agent *a, struct rdl_event *ev)
{
	struct rdl_event next;
	struct rdl_acts acts;
	unsigned int i, st;
	bool more;
	int err;

	lockdep_assert_held(&a->lock);
	do {
		more = false;
		ev->flags = rdlock_session_flags(a->space, a->session, NULL);
		ev->rnd = get_random_u32();
		st = a->core.st;
		err = rdl_step(&a->core, ev, &acts);
		trace_rdlock_step(a, ev, st, err, acts.n);
		if (err) {
			rdlock_stat_inc(a->space, bad_msg);
			if (WARN_ON_ONCE(ev->type == RDL_EV_OP)) {
				/*
				 * The core lost track of its operation: start afresh rather than wait for it for ever.
				 */
				a->core.io = 0;
				rdlock_session_doubt(a->space);
			}
			return;
		}
		for (i = 0; i < acts.n; i++) {
			const struct rdl_action *act = &acts.a[i];

			switch (act->type) {
			case RDL_ACT_POST_CAS:
			case RDL_ACT_POST_FAA:
				more = act_post(a, act, &next);
				break;
			case RDL_ACT_DELIVER:
				act_deliver(a, act);
				break;
			case RDL_ACT_FAIL_HEAD:
			case RDL_ACT_FAIL_TAIL:
				act_fail(a, act);
				break;
			case RDL_ACT_TIMER:
				act_timer(a, act->val);
				break;
			case RDL_ACT_CLAIM:
			case RDL_ACT_ROLL:
			case RDL_ACT_CONSISTENT:
				act_message(a, act);
				break;
			case RDL_ACT_LOST:
				act_lost(a);
				break;
			}
		}
		/*
		 * The core may be holding back a grant or a post for a lease that is about to be renewed: then tell it.
		 */
		if (!(ev->flags & RDL_F_LEASE) && !a->user && (a->core.nq || rdl_owns(&a->core)))
			WRITE_ONCE(a->space->session.lease_low, true);
		/*
		 * A word that cannot be, on a link that works: nothing else would bring the home to recover the lock,
		 * so open it again, which says that it is needed.
		 */
		if (a->core.st == RDL_ST_AMBIG && st != RDL_ST_AMBIG &&
		    (!a->core.landing || a->space->session.local)) {
			a->session = 0;
			rdlock_agent_kick(a);
		}
		ev = &next;
	} while (more);

	/* Closing waits for idleness; a stale read of opens only costs a look by the work. */
	if (!READ_ONCE(a->opens) && rdl_idle(&a->core))
		rdlock_agent_kick(a);
}

static void agent_op_done(struct rdf_op *op)
{
	struct rdlock_agent *a = container_of(op, struct rdlock_agent, op);
	struct rdl_event ev = { .type = RDL_EV_OP, .old = op->old };

	switch (op->outcome) {
	case RDF_OK:
		ev.outcome = RDL_OK;
		break;
	case RDF_FAILED:
		ev.outcome = RDL_FAILED;
		break;
	case RDF_AMBIGUOUS:
		ev.outcome = RDL_AMBIGUOUS;
		rdlock_stat_inc(a->space, ambiguous);
		break;
	}
	spin_lock_bh(&a->lock);
	rdlock_agent_event(a, &ev);
	spin_unlock_bh(&a->lock);
	rdlock_agent_put(a);
}

static enum hrtimer_restart agent_timer(struct hrtimer *t)
{
	struct rdlock_agent *a = container_of(t, struct rdlock_agent, timer);
	struct rdl_event ev = { .type = RDL_EV_TIMER };

	spin_lock_bh(&a->lock);
	rdlock_agent_event(a, &ev);
	spin_unlock_bh(&a->lock);
	rdlock_agent_put(a);
	return HRTIMER_NORESTART;
}

void rdlock_agent_door_init(struct rdlock_agent *a)
{
	rdf_op_init(&a->op, agent_op_done);
	rdlock_hrtimer_setup(&a->timer, agent_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
}

void rdlock_agent_stop_timer(struct rdlock_agent *a)
{
	spin_lock_bh(&a->lock);
	act_timer(a, 0);
	spin_unlock_bh(&a->lock);
}

/* ---- events from inside the node ---- */

void rdlock_agent_acquire(struct rdlock_agent *a, struct rdlock *l)
{
	struct rdl_event ev = { .type = RDL_EV_ACQ, .try = l->try };

	lockdep_assert_held(&a->lock);
	rdlock_stat_inc(a->space, acquire);
	list_add_tail(&l->node, &a->queue);
	rdlock_agent_event(a, &ev);
}

void rdlock_agent_cancel(struct rdlock_agent *a, struct rdlock *l)
{
	/* A try that is killed in flight leaves from the head, everybody else from behind it. */
	struct rdl_event ev = { .type = RDL_EV_CANCEL, .try = l->try };

	lockdep_assert_held(&a->lock);
	rdlock_stat_inc(a->space, withdrawn);
	rdlock_agent_event(a, &ev);
}

void rdlock_agent_release(struct rdlock_agent *a)
{
	struct rdl_event ev = { .type = RDL_EV_REL };

	lockdep_assert_held(&a->lock);
	rdlock_stat_inc(a->space, release);
	rdlock_agent_event(a, &ev);
}

/* ---- events from the home ---- */

void rdlock_agent_freeze(struct rdlock_agent *a, u32 epoch)
{
	struct rdl_event ev = { .type = RDL_EV_FREEZE, .epoch = epoch };

	spin_lock_bh(&a->lock);
	rdlock_agent_event(a, &ev);
	spin_unlock_bh(&a->lock);
}

void rdlock_agent_rebuilt(struct rdlock_agent *a, u32 epoch, const struct rdl_msg_rebuilt *m)
{
	struct rdl_event ev = { .type = RDL_EV_REBUILT, .epoch = epoch };

	ev.rebuilt.what = m->what;
	ev.rebuilt.mode = m->mode;
	ev.rebuilt.granted = m->granted;
	ev.rebuilt.ticket = le32_to_cpu(m->ticket);
	ev.rebuilt.pred = le32_to_cpu(m->pred);
	ev.rebuilt.vflags = le32_to_cpu(m->vflags);
	spin_lock_bh(&a->lock);
	rdlock_agent_event(a, &ev);
	spin_unlock_bh(&a->lock);
}

void rdlock_agent_lease(struct rdlock_agent *a)
{
	struct rdl_event ev = { .type = RDL_EV_LEASE };

	spin_lock_bh(&a->lock);
	if (a->registered)
		rdlock_agent_event(a, &ev);
	else if (a->unsure && !READ_ONCE(a->opens))
		rdlock_agent_kick(a);
	spin_unlock_bh(&a->lock);
}

void rdlock_agent_lose(struct rdlock_agent *a, int err, bool all)
{
	struct rdl_event ev = { .type = RDL_EV_LOSE };
	struct rdlock *l, *n;

	spin_lock_bh(&a->lock);
	if (a->registered) {
		a->registered = false;
		rdlock_agent_drop_slot(a);
		rdlock_agent_event(a, &ev);
	}
	if (a->unsure) {
		/* The home evicted us, or is another one: now it certainly does not know us. */
		a->unsure = false;
		rdlock_agent_kick(a);
	}
	list_for_each_entry_safe(l, n, &a->queue, node) {
		if (!all && l->deadline != KTIME_MAX && !l->try)
			continue;
		waiter_fail(a, l, err);
		ev = (struct rdl_event){ .type = RDL_EV_CANCEL };
		rdlock_agent_event(a, &ev);
	}
	if (all) {
		a->open_err = err;
		list_for_each_entry(l, &a->handles, all) {
			WRITE_ONCE(l->state, RDLOCK_FD_REVOKED);
			handle_wake(l);
		}
	}
	spin_unlock_bh(&a->lock);
	/*
	 * LOST arms no timer. One that ran late, after the space is down, would queue work while the module drains its
	 * queue.
	 */
	if (all && hrtimer_cancel(&a->timer))
		rdlock_agent_put(a);
	wake_up_all(&a->wq);
}
