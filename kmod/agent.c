// SPDX-License-Identifier: GPL-2.0
/*
 * The agent of a lock: the one door through which events reach the core, and the one place that carries out what the
 * core decides. Local calls, completions, messages, timers, lease and session changes all end in agent_event().
 *
 * Locking: agent->lock (BH off) around agent_event(). Inside it space->lock and the fabric's locks are taken, never the
 * other way round. What sleeps (asking the home) is done by agent->work.
 *
 * The lost wake-up that must not be: a waiter is put into the queue and the core is told (ACQ) under one hold of
 * agent->lock, and a grant is delivered to the head of the queue under the same lock, so that no grant can fall between
 * "not free" and "queued". The sleeper reads its own state after prepare_to_wait(); wake_up() follows the store of the
 * state (the barrier pair is set_current_state() there and the one in wake_up() here).
 */
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "agent.h"
#include "main.h"
#include "session.h"
#include "space.h"
#include "stats.h"
#include "trace.h"
#include "wait.h"
#include "compat.h"

/*
 * Pause before the home is asked again to open a lock. Longer than the home takes to repeat a FREEZE: while we ask for
 * any lock, those of locks that are unknown here stay without answer, see lock_unknown().
 */
#define AGENT_AGAIN_MS	600

static void agent_work(struct work_struct *work);
static void agent_op_done(struct rdf_op *op);
static enum hrtimer_restart agent_timer(struct hrtimer *t);

static u32 agent_key_hash(const void *data, u32 len, u32 seed)
{
	const struct rdlock_agent_key *k = data;

	return jhash(k->key, k->len, seed);
}

static u32 agent_obj_hash(const void *data, u32 len, u32 seed)
{
	const struct rdlock_agent *a = data;

	return agent_key_hash(&a->key, len, seed);
}

static int agent_cmp(struct rhashtable_compare_arg *arg, const void *obj)
{
	const struct rdlock_agent_key *k = arg->key;
	const struct rdlock_agent *a = obj;

	return a->key.len != k->len || memcmp(a->key.key, k->key, k->len);
}

static const struct rhashtable_params agent_params = {
	.head_offset = offsetof(struct rdlock_agent, hnode),
	.key_offset = offsetof(struct rdlock_agent, key),
	.key_len = sizeof(struct rdlock_agent_key),
	.hashfn = agent_key_hash,
	.obj_hashfn = agent_obj_hash,
	.obj_cmpfn = agent_cmp,
	.automatic_shrinking = true,
};

/* (table, lock) in one index; a table is a page of words, so a lock's number stays below RDL_CELLS_MAX. */
static unsigned long slot_index(u32 table, u32 slot)
{
	return (unsigned long)table * RDL_CELLS_MAX + slot;
}

static void agent_free_rcu(struct rcu_head *rcu)
{
	kfree(container_of(rcu, struct rdlock_agent, rcu));
}

static void agent_release(struct kref *ref)
{
	struct rdlock_agent *a = container_of(ref, struct rdlock_agent, ref);
	struct rdlock_space *space = a->space;

	WARN_ON_ONCE(!list_empty(&a->queue) || a->user);
	call_rcu(&a->rcu, agent_free_rcu);
	rdlock_space_unref(space);
}

struct rdlock_agent *rdlock_agent_get(struct rdlock_agent *a)
{
	kref_get(&a->ref);
	return a;
}

void rdlock_agent_put(struct rdlock_agent *a)
{
	kref_put(&a->ref, agent_release);
}

void rdlock_agent_kick(struct rdlock_agent *a)
{
	rdlock_agent_get(a);
	if (!queue_work(rdlock_wq, &a->work))
		rdlock_agent_put(a);
}

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
	/* Lost with the link if it is down: the next open of the lock in a new session makes the home ask again. */
	rdlock_session_send(a->space, &m.h, len);
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
 * agent_event - the door
 * @a: agent
 * @ev: type and details; flags and randomness are filled in here
 *
 * Locks: a->lock is held, BH off.
 */
static void agent_event(struct rdlock_agent *a, struct rdl_event *ev)
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
	agent_event(a, &ev);
	spin_unlock_bh(&a->lock);
	rdlock_agent_put(a);
}

static enum hrtimer_restart agent_timer(struct hrtimer *t)
{
	struct rdlock_agent *a = container_of(t, struct rdlock_agent, timer);
	struct rdl_event ev = { .type = RDL_EV_TIMER };

	spin_lock_bh(&a->lock);
	agent_event(a, &ev);
	spin_unlock_bh(&a->lock);
	rdlock_agent_put(a);
	return HRTIMER_NORESTART;
}

/* ---- events from inside the node ---- */

void rdlock_agent_acquire(struct rdlock_agent *a, struct rdlock *l)
{
	struct rdl_event ev = { .type = RDL_EV_ACQ, .try = l->try };

	lockdep_assert_held(&a->lock);
	rdlock_stat_inc(a->space, acquire);
	list_add_tail(&l->node, &a->queue);
	agent_event(a, &ev);
}

void rdlock_agent_cancel(struct rdlock_agent *a, struct rdlock *l)
{
	/* A try that is killed in flight leaves from the head, everybody else from behind it. */
	struct rdl_event ev = { .type = RDL_EV_CANCEL, .try = l->try };

	lockdep_assert_held(&a->lock);
	rdlock_stat_inc(a->space, withdrawn);
	agent_event(a, &ev);
}

void rdlock_agent_release(struct rdlock_agent *a)
{
	struct rdl_event ev = { .type = RDL_EV_REL };

	lockdep_assert_held(&a->lock);
	rdlock_stat_inc(a->space, release);
	agent_event(a, &ev);
}

/* ---- events from the home ---- */

static void agent_drop_slot(struct rdlock_agent *a)
{
	unsigned long index = slot_index(a->table, a->slot);

	xa_lock_bh(&a->space->by_slot);
	if (xa_load(&a->space->by_slot, index) == a)
		__xa_erase(&a->space->by_slot, index);
	xa_unlock_bh(&a->space->by_slot);
}

void rdlock_agent_freeze(struct rdlock_agent *a, u32 epoch)
{
	struct rdl_event ev = { .type = RDL_EV_FREEZE, .epoch = epoch };

	spin_lock_bh(&a->lock);
	agent_event(a, &ev);
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
	agent_event(a, &ev);
	spin_unlock_bh(&a->lock);
}

void rdlock_agent_lease(struct rdlock_agent *a)
{
	struct rdl_event ev = { .type = RDL_EV_LEASE };

	spin_lock_bh(&a->lock);
	if (a->registered)
		agent_event(a, &ev);
	spin_unlock_bh(&a->lock);
}

void rdlock_agent_lose(struct rdlock_agent *a, int err, bool all)
{
	struct rdl_event ev = { .type = RDL_EV_LOSE };
	struct rdlock *l, *n;

	spin_lock_bh(&a->lock);
	if (a->registered) {
		a->registered = false;
		agent_drop_slot(a);
		agent_event(a, &ev);
	}
	list_for_each_entry_safe(l, n, &a->queue, node) {
		if (!all && l->deadline != KTIME_MAX && !l->try)
			continue;
		waiter_fail(a, l, err);
		ev = (struct rdl_event){ .type = RDL_EV_CANCEL };
		agent_event(a, &ev);
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

/* ---- what the home knows ---- */

/* One round of asking the home to open the lock; true: go on, something else may be to do. */
static bool agent_register(struct rdlock_agent *a)
{
	struct {
		struct rdl_msg h;
		struct rdl_msg_open o;
	} req = { .h.type = RDL_MSG_OPEN };
	struct {
		struct rdl_msg h;
		struct rdl_msg_opened o;
	} rep;
	struct rdlock_space *space = a->space;
	struct rdl_event ev = {};
	u32 no, old_table = 0, old_slot = 0;
	bool had = false, moved = false, stale, again;
	int err;

	req.o.obj = RDL_OBJ_LOCK;
	req.o.kind = a->key.kind;
	req.o.key_len = a->key.len;
	memcpy(req.o.key, a->key.key, sizeof(req.o.key));
	spin_lock_bh(&a->lock);
	if (a->registered) {
		/* The same incarnation in a new session: what is not known of the last operations must be recovered. */
		if (rdl_ambiguous(&a->core))
			req.o.flags |= RDL_OPEN_AMBIG;
		had = true;
		old_table = a->table;
		old_slot = a->slot;
	}
	spin_unlock_bh(&a->lock);

	rdlock_session_opening(space, 1);
	err = rdlock_session_call(space, &req.h, sizeof(req), &rep, sizeof(rep), &no);
	if (err == -EAGAIN || err == -ENOTCONN || err == -ETIMEDOUT) {
		rdlock_session_opening(space, -1);
		/* The session's end or its next beginning kicks this work again; a recovery or a slow home does not. */
		if (err == -ENOTCONN || (err == -ETIMEDOUT && !space->session.local))
			return false;
		msleep(AGENT_AGAIN_MS);
		return true;
	}

	/*
	 * Until the end, so that the loss of the session comes before or after: an entry in by_slot has no reference,
	 * and only the table and slot that the agent knows of are ever taken out again.
	 */
	mutex_lock(&space->agents_mutex);
	stale = no != READ_ONCE(space->session.no);
	if (!err && !stale) {
		u32 table = le32_to_cpu(rep.h.table), slot = le32_to_cpu(rep.h.lock);

		moved = had && a->registered && (table != old_table || slot != old_slot);
		/* Before the core is told, so that a FREEZE right behind the answer finds the agent. */
		if (!moved && xa_err(xa_store_bh(&space->by_slot, slot_index(table, slot), a, GFP_KERNEL)))
			err = -ENOMEM;
	}
	rdlock_session_opening(space, -1);
	if (stale || moved) {
		mutex_unlock(&space->agents_mutex);
		if (moved)
			/* The home of the same session cannot have moved it. */
			rdlock_session_lose(space, -EPROTO);
		return stale;
	}

	spin_lock_bh(&a->lock);
	if (err) {
		/* No opener hears of it when a lock that is open is opened again: then go on until it succeeds. */
		again = a->registered;
		if (!again)
			a->open_err = err;
		spin_unlock_bh(&a->lock);
		mutex_unlock(&space->agents_mutex);
		wake_up_all(&a->wq);
		if (again)
			msleep(AGENT_AGAIN_MS);
		return again;
	}
	a->table = le32_to_cpu(rep.h.table);
	a->slot = le32_to_cpu(rep.h.lock);
	a->addr.addr = le64_to_cpu(rep.o.addr);
	a->addr.rkey = le32_to_cpu(rep.o.rkey);
	a->session = no;
	ev.epoch = le32_to_cpu(rep.h.epoch);
	if (a->registered) {
		ev.type = RDL_EV_LINK_UP;
	} else {
		/*
		 * A fresh start: nothing is in flight (the old link is dead before a new one comes up) and nothing is
		 * held. Waiters that stayed in the queue are told to the new core by REJOIN.
		 */
		u32 nq = a->core.nq;

		rdl_lock_init(&a->core, rep.o.kind, space->node, ev.epoch, rdlock_budget);
		a->core.st = RDL_ST_LOST;
		a->core.nq = nq;
		a->registered = true;
		a->open_err = 0;
		rdlock_stat_inc(space, open);
		ev.type = RDL_EV_REJOIN;
	}
	agent_event(a, &ev);
	spin_unlock_bh(&a->lock);
	mutex_unlock(&space->agents_mutex);
	wake_up_all(&a->wq);
	return true;
}

/* Nobody has it open: tell the home and go, if the core is at rest. */
static void agent_retire(struct rdlock_agent *a)
{
	struct rdlock_space *space = a->space;
	struct rdl_msg m = { .type = RDL_MSG_CLOSE };
	bool idle, told;

	lockdep_assert_held(&space->agents_mutex);
	spin_lock_bh(&a->lock);
	idle = !a->registered || rdl_idle(&a->core);
	told = a->registered && a->session == READ_ONCE(space->session.no);
	if (idle)
		a->registered = false;
	m.table = cpu_to_le32(a->table);
	m.lock = cpu_to_le32(a->slot);
	m.epoch = cpu_to_le32(a->core.epoch);
	spin_unlock_bh(&a->lock);
	if (!idle)
		return;
	a->dead = true;
	agent_drop_slot(a);
	rhashtable_remove_fast(&space->agents, &a->hnode, agent_params);
	list_del_init(&a->list);
	if (told && !rdlock_session_send(space, &m, sizeof(m)))
		rdlock_stat_inc(space, close);
	spin_lock_bh(&a->lock);
	act_timer(a, 0);
	spin_unlock_bh(&a->lock);
	rdlock_agent_put(a);	/* the table's */
}

static void agent_work(struct work_struct *work)
{
	struct rdlock_agent *a = container_of(work, struct rdlock_agent, work);
	struct rdlock_space *space = a->space;
	bool more = true;

	while (more) {
		bool want;

		more = false;
		mutex_lock(&space->agents_mutex);
		if (a->dead) {
			mutex_unlock(&space->agents_mutex);
			break;
		}
		if (!a->opens) {
			agent_retire(a);
			want = !a->dead && a->session != READ_ONCE(space->session.no);
		} else {
			want = !a->open_err && (!a->registered || a->session != READ_ONCE(space->session.no));
		}
		/* Everything is about to be revoked; the work that does it kicks us afterwards. */
		if (READ_ONCE(space->session.other_instance))
			want = false;
		a->asking = want;
		mutex_unlock(&space->agents_mutex);
		if (!want)
			break;
		/*
		 * Not under the mutex: it may take a while, and others must be able to come and go. Works of one agent
		 * do not run twice at once, so nobody else registers it meanwhile.
		 */
		more = agent_register(a);
		mutex_lock(&space->agents_mutex);
		a->asking = false;
		/* Whoever closed it meanwhile has left the end to us. */
		if (!more && !a->opens)
			agent_retire(a);
		mutex_unlock(&space->agents_mutex);
	}
	rdlock_agent_put(a);
}

/* ---- the table ---- */

struct rdlock_agent *rdlock_agent_open(struct rdlock_space *space, const void *key, u32 len, u32 kind)
{
	struct rdlock_agent_key k = { .len = len, .kind = kind };
	struct rdlock_agent *a;
	int err;

	memcpy(k.key, key, len);
	mutex_lock(&space->agents_mutex);
	a = rhashtable_lookup_fast(&space->agents, &k, agent_params);
	if (a) {
		spin_lock_bh(&a->lock);
		if (a->registered && kind && kind != a->core.kind)
			err = -EEXIST;
		else
			err = 0;
		/* A refusal was for those who waited then; ask again. */
		if (!a->registered)
			a->open_err = 0;
		spin_unlock_bh(&a->lock);
		if (err)
			goto err_unlock;
		a->opens++;
		rdlock_agent_get(a);
		goto out_kick;
	}
	err = -ENOMEM;
	a = kzalloc(sizeof(*a), GFP_KERNEL_ACCOUNT);
	if (!a)
		goto err_unlock;
	kref_init(&a->ref);
	a->space = space;
	a->key = k;
	a->opens = 1;
	spin_lock_init(&a->lock);
	INIT_LIST_HEAD(&a->queue);
	INIT_LIST_HEAD(&a->handles);
	rdl_lock_init(&a->core, kind ? kind : space->kind, space->node, rdl_epoch(1, 0), rdlock_budget);
	a->core.st = RDL_ST_LOST;
	rdf_op_init(&a->op, agent_op_done);
	rdlock_hrtimer_setup(&a->timer, agent_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	init_waitqueue_head(&a->wq);
	INIT_WORK(&a->work, agent_work);
	err = rhashtable_insert_fast(&space->agents, &a->hnode, agent_params);
	if (err)
		goto err_free;
	rdlock_space_ref(space);
	list_add_tail(&a->list, &space->agent_list);
	rdlock_agent_get(a);	/* the caller's; the first is the table's */
out_kick:
	mutex_unlock(&space->agents_mutex);
	rdlock_agent_kick(a);
	return a;

err_free:
	kfree(a);
err_unlock:
	mutex_unlock(&space->agents_mutex);
	return ERR_PTR(err);
}

void rdlock_agent_close(struct rdlock_agent *a)
{
	struct rdlock_space *space = a->space;

	mutex_lock(&space->agents_mutex);
	WRITE_ONCE(a->opens, a->opens - 1);
	if (!a->opens && !a->dead && !a->asking)
		agent_retire(a);
	mutex_unlock(&space->agents_mutex);
	rdlock_agent_put(a);
}

struct rdlock_agent *rdlock_agent_by_slot(struct rdlock_space *space, u32 table, u32 slot)
{
	struct rdlock_agent *a;

	if (slot >= RDL_CELLS_MAX)
		return NULL;
	rcu_read_lock();
	a = xa_load(&space->by_slot, slot_index(table, slot));
	if (a && !kref_get_unless_zero(&a->ref))
		a = NULL;
	rcu_read_unlock();
	return a;
}

void rdlock_agents_each(struct rdlock_space *space, void (*fn)(struct rdlock_agent *a, void *arg), void *arg)
{
	struct rdlock_agent *a, *n;

	mutex_lock(&space->agents_mutex);
	list_for_each_entry_safe(a, n, &space->agent_list, list)
		fn(a, arg);
	mutex_unlock(&space->agents_mutex);
}

int rdlock_agents_init(struct rdlock_space *space)
{
	mutex_init(&space->agents_mutex);
	INIT_LIST_HEAD(&space->agent_list);
	xa_init_flags(&space->by_slot, XA_FLAGS_LOCK_BH);
	return rhashtable_init(&space->agents, &agent_params);
}

void rdlock_agents_destroy(struct rdlock_space *space)
{
	WARN_ON_ONCE(!list_empty(&space->agent_list));
	rhashtable_destroy(&space->agents);
	xa_destroy(&space->by_slot);
}

void rdlock_agent_show(struct seq_file *m, struct rdlock_agent *a)
{
	char name[RDLOCK_NAME_STR];
	struct rdl_lock core;
	bool reg;
	u64 token = 0;

	spin_lock_bh(&a->lock);
	core = a->core;
	reg = a->registered;
	if (a->user)
		token = a->user->grant.token;
	spin_unlock_bh(&a->lock);
	seq_printf(m, "agent %s kind=%s state=%s%s%s waiters=%u user=%d token=%#llx epoch=%u.%u ticket=%u opens=%u\n",
		   rdlock_name_str(name, a->key.key, a->key.len), rdl_kind_name(core.kind), rdl_state_name(core.st),
		   reg ? "" : ",unregistered", core.frz ? ",frozen" : "", core.nq, !!token, token,
		   rdl_epoch_gen(core.epoch), rdl_epoch_rep(core.epoch), core.ticket, READ_ONCE(a->opens));
}
