// SPDX-License-Identifier: GPL-2.0
/*
 * Handles and waiting: sleep, deadline, signal, cancel. Knows no protocol.
 *
 * A request ends in exactly one way, decided under agent->lock: GRANTED by the agent, failed by the agent (IDLE with
 * err), or withdrawn by the waiter (which finds PENDING under the lock and takes itself out of the queue). A signal or
 * deadline that comes together with a grant loses: the waiter looks at its state under the lock first, so a grant is
 * never dropped.
 */
#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "agent.h"
#include "block.h"
#include "compat.h"
#include "main.h"
#include "session.h"
#include "space.h"
#include "stats.h"
#include "wait.h"

/* A signal handler may take so long before the wait goes on. */
#define WAIT_BACK_MS	1000
/* So often a try waits for operations of others of its node. */
#define TRY_ROUNDS	16

static void handle_work(struct work_struct *work);
static enum hrtimer_restart handle_timer(struct hrtimer *t);

/*
 * Who waits killably may be kernel code with locks of its own, which must not be frozen with them: suspend, and the
 * freezer of cgroups, wait for it.
 */
static unsigned int sleep_state(bool interruptible)
{
	return interruptible ? TASK_INTERRUPTIBLE | TASK_FREEZABLE : TASK_KILLABLE;
}

int rdlock_sleep_until(wait_queue_head_t *wq, bool (*cond)(void *arg), void *arg, ktime_t deadline, bool interruptible)
{
	unsigned int state = sleep_state(interruptible);
	DEFINE_WAIT(wait);
	int ret = 0;

	for (;;) {
		/* To hrtimers, a time before their clock began is a bug. */
		ktime_t t = max_t(ktime_t, deadline, 0);

		/* Pairs with the barrier in wake_up_all() of handle_wake() and of the openers' wake-ups. */
		prepare_to_wait(wq, &wait, state);
		if (cond(arg))
			break;
		if (signal_pending_state(state, current)) {
			ret = -ERESTARTSYS;
			break;
		}
		if (!schedule_hrtimeout_range(deadline == KTIME_MAX ? NULL : &t, 0, HRTIMER_MODE_ABS)) {
			/* The last look decides: a condition that came true together with the deadline wins. */
			ret = cond(arg) ? 0 : -ETIMEDOUT;
			break;
		}
	}
	finish_wait(wq, &wait);
	return ret;
}

static bool opener_settled(void *arg)
{
	struct rdlock_opener *o = arg;

	return READ_ONCE(o->agent->registered) || READ_ONCE(o->err) || rdlock_space_is_stopping(o->agent->space);
}

int rdlock_timeout_error(struct rdlock_space *space)
{
	struct rdlock_session *s = &space->session;

	if (READ_ONCE(s->up))
		return -ETIMEDOUT;
	return -EHOSTUNREACH;
}

/* Until the lock is open, and @l is one of its handles. */
static int wait_registered(struct rdlock *l, struct rdlock_opener *o, ktime_t deadline, bool interruptible)
{
	struct rdlock_agent *a = o->agent;
	int err;

	for (;;) {
		err = rdlock_sleep_until(&a->wq, opener_settled, o, deadline, interruptible);
		if (err == -ETIMEDOUT)
			err = rdlock_timeout_error(a->space);
		spin_lock_bh(&a->lock);
		if (err)
			break;
		if (rdlock_space_is_stopping(a->space)) {
			err = rdlock_space_gone_error(a->space);
			break;
		}
		if (a->registered) {
			if (rdlock_agent_fits(a, &o->ask)) {
				list_add_tail(&l->all, &a->handles);
				wake_up_all(&a->wq);	/* those who hope that it goes */
			} else {
				/* It may have been opened only so that its close could be told. */
				err = list_empty(&a->handles) ? -EBUSY : -EINVAL;
			}
			break;
		}
		/* The home's word, and ours is -EBUSY. */
		err = o->err == -EBUSY ? -EPROTO : o->err;
		if (err)
			break;
		/* The session was lost again. */
		spin_unlock_bh(&a->lock);
	}
	list_del(&o->list);
	spin_unlock_bh(&a->lock);
	return err;
}

/* Does nothing of what it was bind anybody any more? Or has somebody opened it as it was. A stale look is repeated. */
static bool agent_is_left(void *arg)
{
	struct rdlock_agent *a = arg;

	return READ_ONCE(a->dead) || !READ_ONCE(a->registered) || !list_empty_careful(&a->handles) ||
	       rdlock_space_is_stopping(a->space);
}

/* A lock that everybody has closed is another one as soon as the home knows: until then -EBUSY. */
static int open_agent(struct rdlock_space *space, const void *key, u32 len, struct rdlock_opener *o, ktime_t deadline,
		      bool interruptible)
{
	int err;

	for (;;) {
		err = rdlock_agent_open(space, key, len, o);
		if (err != -EBUSY)
			return err;
		err = rdlock_sleep_until(&o->agent->wq, agent_is_left, o->agent, deadline, interruptible);
		rdlock_agent_put(o->agent);
		if (err == -ETIMEDOUT)
			err = rdlock_timeout_error(space);
		else if (!err && rdlock_space_is_stopping(space))
			err = rdlock_space_gone_error(space);
		if (err)
			return err;
	}
}

/* What no lock can have, whoever opened it first. */
static int props_check(const struct rdlock_props *ask)
{
	u32 sticky = RDLOCK_OPEN_STICKY | RDLOCK_OPEN_NOT_STICKY;

	if (ask->kind >= RDL_NR_KINDS || ask->flags & ~(sticky | RDLOCK_OPEN_ROBUST | RDLOCK_OPEN_EXISTING) ||
	    (ask->flags & sticky) == sticky || ask->value_size > RDLOCK_VALUE_MAX)
		return -EINVAL;
	if (ask->kind && !(RDLOCK_KINDS >> ask->kind & 1))
		return -EOPNOTSUPP;
	return 0;
}

/* A release must not allocate, so room for what an owner writes is made now. */
static int make_room(struct rdlock *l)
{
	struct rdlock_agent *a = l->agent;
	u32 size;

	spin_lock_bh(&a->lock);
	size = a->ask.value_size;
	spin_unlock_bh(&a->lock);
	if (size <= RDL_VALUE_MAX)
		return 0;
	l->staged = rdlock_block_alloc(size);
	if (l->staged)
		return 0;
	spin_lock_bh(&a->lock);
	list_del_init(&l->all);
	spin_unlock_bh(&a->lock);
	return -ENOMEM;
}

struct rdlock *rdlock_handle_open(struct rdlock_space *space, const void *key, u32 len, const struct rdlock_props *ask,
				  ktime_t deadline, bool interruptible)
{
	struct rdlock_opener o = { .ask = *ask };
	struct rdlock *l;
	int err;

	if (!len || len > RDLOCK_NAME_MAX)
		return ERR_PTR(-EINVAL);
	err = props_check(ask);
	if (err)
		return ERR_PTR(err);
	err = rdlock_space_pin(space);
	if (err)
		return ERR_PTR(err);
	err = -ENOMEM;
	l = kzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);
	if (!l)
		goto err_unpin;
	INIT_LIST_HEAD(&l->node);
	init_waitqueue_head(&l->wq);
	INIT_WORK(&l->work, handle_work);
	rdlock_hrtimer_setup(&l->timer, handle_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	do {
		err = open_agent(space, key, len, &o, deadline, interruptible);
		if (err)
			goto err_free;
		l->agent = o.agent;
		err = wait_registered(l, &o, deadline, interruptible);
		if (err == -EBUSY)
			rdlock_agent_close(l->agent);
	} while (err == -EBUSY);
	if (!err)
		err = make_room(l);
	if (err)
		goto err_close;
	return l;

err_close:
	rdlock_agent_close(l->agent);
err_free:
	kfree(l);
err_unpin:
	rdlock_space_unpin(space);
	return ERR_PTR(err);
}

/*
 * The work that revokes what is held when the lease is over may be late, if real-time threads have all processors, say.
 * The home does not wait for it: so whoever asks is answered by the clock.
 */
u32 rdlock_handle_state(const struct rdlock *l)
{
	lockdep_assert_held(&l->agent->lock);
	if ((l->state == RDLOCK_FD_HELD || l->state == RDLOCK_FD_GRANTED) && !rdlock_session_lease_ok(l->agent->space))
		return RDLOCK_FD_REVOKED;
	return l->state;
}

enum withdraw {
	WITHDRAW_UNSEEN,	/* the caller knows of no grant */
	WITHDRAW_CLOSE,		/* goes without a release */
	WITHDRAW_RELEASE,	/* what it wrote into the value is kept */
};

/* What the end of an exclusive grant says of a robust lock. One that was told of a death, and dies, changes nothing. */
static u8 last_word(const struct rdlock *l, enum withdraw how)
{
	bool told = (l->grant.flags & RDLOCK_GRANT_OWNER_DIED) && !l->saying;

	if (!l->agent->core.robust || l->state != RDLOCK_FD_HELD || l->mode != RDLOCK_EXCLUSIVE ||
	    how == WITHDRAW_UNSEEN)
		return RDL_REPORT_NONE;
	if (how == WITHDRAW_CLOSE)
		return told ? RDL_REPORT_NONE : RDL_REPORT_DIED;
	return told ? RDL_REPORT_FAILED : RDL_REPORT_NONE;
}

/* Take @l out of what it has or wants; the result, if any, is thrown away. */
static void handle_withdraw(struct rdlock *l, enum withdraw how)
{
	struct rdlock_agent *a = l->agent;
	bool keep = how == WITHDRAW_RELEASE;
	u8 report = last_word(l, how);
	u32 state = rdlock_handle_state(l);

	switch (l->state) {
	case RDLOCK_FD_PENDING:
		list_del_init(&l->node);
		WRITE_ONCE(l->state, RDLOCK_FD_IDLE);
		rdlock_agent_cancel(a, l);
		/* The function of a lock that is closed may sleep in a call of its own; the closer waits for it. */
		wake_up_all(&l->wq);
		break;
	case RDLOCK_FD_GRANTED:
	case RDLOCK_FD_HELD:
		/* One that somebody was told is revoked stays so. */
		WRITE_ONCE(l->state, state == RDLOCK_FD_REVOKED ? RDLOCK_FD_REVOKED : RDLOCK_FD_IDLE);
		l->grant = (struct rdlock_grant){};
		list_del_init(&l->node);
		/* Who still sleeps in a conversion, or until the home knows what it said, has released it itself. */
		WRITE_ONCE(l->converting, false);
		WRITE_ONCE(l->saying, false);
		/* Also who polls: if it is revoked, whoever tells all users will not find it among them. */
		wake_up_all(&l->wq);
		/* Only an owner that says it is done publishes what it wrote. */
		if (keep && l->dirty && l->staged)
			swap(a->big->value, l->staged);
		else if (keep && l->dirty)
			memcpy(a->value, l->value, sizeof(a->value));
		rdlock_agent_release(a, keep && l->dirty, report);
		l->dirty = false;
		l->notice = false;
		break;
	case RDLOCK_FD_IDLE:
	case RDLOCK_FD_REVOKED:
		break;
	}
	l->async = false;
	l->err = 0;
	/* If the timer is at work on another processor, it finds a request that is over, or one of another deadline. */
	hrtimer_try_to_cancel(&l->timer);
}

void rdlock_handle_close(struct rdlock *l)
{
	struct rdlock_agent *a = l->agent;
	struct rdlock_space *space = a->space;

	spin_lock_bh(&a->lock);
	l->fn = NULL;
	handle_withdraw(l, WITHDRAW_CLOSE);
	/* A function that runs just now may acquire again: refused from here on. */
	WRITE_ONCE(l->state, RDLOCK_FD_REVOKED);
	spin_unlock_bh(&a->lock);
	/* After fn is NULL nobody queues the work again, after REVOKED nobody starts the timer. */
	hrtimer_cancel(&l->timer);
	if (cancel_work_sync(&l->work))
		rdlock_agent_put(a);
	/* Not before: its function may open the key, too, and wait until nobody has it open, while we wait for it. */
	spin_lock_bh(&a->lock);
	list_del_init(&l->all);
	spin_unlock_bh(&a->lock);
	rdlock_agent_close(a);
	rdlock_block_free(l->staged);
	kfree(l);
	rdlock_space_unpin(space);
}

#define WAIT_SPIN_NS	NSEC_PER_MSEC		/* RDLOCK_WAIT_SPIN; the caller asked for it */
#define WAIT_ADAPTIVE_NS	(50 * NSEC_PER_USEC)	/* RDLOCK_WAIT_ADAPTIVE: for longer, sleeping is cheaper */

/*
 * Look for the grant for a moment before going to sleep: to be woken takes as long as a round trip of a fast network.
 * As long as nobody else wants the processor. Completions come in softirqs, also on this processor.
 */
static void wait_busily(struct rdlock *l, ktime_t deadline)
{
	struct rdlock_space *space = l->agent->space;
	ktime_t end = ktime_get();

	if (space->wait == RDLOCK_WAIT_SPIN) {
		end = ktime_add_ns(end, WAIT_SPIN_NS);
	} else if (space->wait == RDLOCK_WAIT_ADAPTIVE) {
		u64 ns = 2ull * READ_ONCE(space->rtt);

		if (ns > WAIT_ADAPTIVE_NS)
			return;
		end = ktime_add_ns(end, ns);
	} else {
		return;
	}
	end = min(end, deadline);
	while (READ_ONCE(l->state) == RDLOCK_FD_PENDING && !need_resched() && !signal_pending(current) &&
	       ktime_before(ktime_get(), end))
		cpu_relax();
	if (READ_ONCE(l->state) != RDLOCK_FD_PENDING)
		rdlock_stat_inc(space, busy_wait);
}

static bool handle_settled(void *arg)
{
	struct rdlock *l = arg;

	return READ_ONCE(l->state) != RDLOCK_FD_PENDING;
}

/* Begin a request. 0: PENDING, GRANTED or failed with l->err; else an error of the caller, nothing changed. */
static int request_begin(struct rdlock *l, u32 mode, bool try, bool async, ktime_t deadline)
{
	struct rdlock_agent *a = l->agent;
	ktime_t back_by;

	lockdep_assert_held(&a->lock);
	/* A result that its sleeper has not seen yet must not be taken for that of a later request. */
	if (l->sleeper)
		return -EBUSY;
	switch (rdlock_handle_state(l)) {
	case RDLOCK_FD_IDLE:
		break;
	case RDLOCK_FD_PENDING:
	case RDLOCK_FD_GRANTED:
		return -EBUSY;
	case RDLOCK_FD_HELD:
		return -EDEADLK;
	case RDLOCK_FD_REVOKED:
		return -EKEYREVOKED;
	}
	back_by = l->back_by;
	l->back_by = 0;
	if (mode == RDLOCK_SHARED && a->core.kind != RDL_KIND_FAIR)
		return -EOPNOTSUPP;
	if (rdlock_space_is_stopping(a->space))
		return rdlock_space_gone_error(a->space);
	if (!try && deadline != KTIME_MAX && ktime_compare(ktime_get(), deadline) >= 0)
		return -ETIMEDOUT;
	if (!a->registered) {
		if (try)
			return -EHOSTUNREACH;
		/* Without a session nothing bounds such a wait. */
		if (deadline == KTIME_MAX)
			return -EKEYREVOKED;
	}
	if (try || async || mode != l->mode || ktime_compare(ktime_get(), back_by) >= 0)
		l->place = ++a->places;
	l->err = 0;
	l->mode = mode;
	l->try = try;
	l->async = async;
	l->deadline = deadline;
	WRITE_ONCE(l->state, RDLOCK_FD_PENDING);
	rdlock_agent_acquire(a, l);
	return 0;
}

/* The caller takes the result: the grant, or the error that ended the request. */
static int request_fetch(struct rdlock *l, struct rdlock_grant *g)
{
	int err = l->err;

	lockdep_assert_held(&l->agent->lock);
	l->err = 0;
	l->async = false;
	hrtimer_try_to_cancel(&l->timer);
	switch (rdlock_handle_state(l)) {
	case RDLOCK_FD_GRANTED:
		WRITE_ONCE(l->state, RDLOCK_FD_HELD);
		l->notice = !l->agent->core.robust &&
			    (l->grant.flags & (RDLOCK_GRANT_OWNER_DIED | RDLOCK_GRANT_MAYBE_DIED));
		if (g)
			*g = l->grant;
		return l->agent->core.robust && (l->grant.flags & RDLOCK_GRANT_OWNER_DIED) ? -EOWNERDEAD : 0;
	case RDLOCK_FD_REVOKED:
		return -EKEYREVOKED;
	default:
		return err ? err : -ECANCELED;
	}
}

/*
 * The owner knows what its grant says of a dead one. Until then the next one, here or elsewhere, is told, too: a grant
 * that is cancelled before anybody looked at it has told nobody. What a robust lock's owner knows, it says itself.
 */
static void handle_told(struct rdlock *l)
{
	lockdep_assert_held(&l->agent->lock);
	if (l->state != RDLOCK_FD_HELD || !l->notice)
		return;
	l->notice = false;
	rdlock_agent_report(l->agent, RDL_REPORT_CONSISTENT);
}

void rdlock_handle_told(struct rdlock *l, u64 token)
{
	struct rdlock_agent *a = l->agent;

	spin_lock_bh(&a->lock);
	if (l->grant.token == token)
		handle_told(l);
	spin_unlock_bh(&a->lock);
}

static int mode_check(u32 mode)
{
	if (mode != RDLOCK_SHARED && mode != RDLOCK_EXCLUSIVE)
		return -EINVAL;
	return 0;
}

static bool may_try(struct rdlock_agent *a, u8 mode)
{
	bool early;

	spin_lock_bh(&a->lock);
	early = rdl_try_is_early(&a->core, mode);
	spin_unlock_bh(&a->lock);
	return !early;
}

static bool may_try_shared(void *arg)
{
	return may_try(arg, RDL_MODE_S);
}

static bool may_try_exclusive(void *arg)
{
	return may_try(arg, RDL_MODE_X);
}

/*
 * A try that comes right behind the last user's release would find this node's own operation on its way, and fail for a
 * lock that nobody has; so would a reader's that comes behind another's, or while the node looks whether readers may
 * still join. The operation, or a big value's write before it, ends within the fabric's bounds, as that of the try
 * does.
 */
static int wait_for_own(struct rdlock_agent *a, u8 mode)
{
	bool (*cond)(void *arg) = mode == RDL_MODE_S ? may_try_shared : may_try_exclusive;

	return rdlock_sleep_until(&a->wq, cond, a, KTIME_MAX, false);
}

int rdlock_request(struct rdlock *l, u32 mode, u32 flags, ktime_t deadline, struct rdlock_grant *g)
{
	bool try = flags & RDLOCK_REQ_TRY, nowait = (flags & RDLOCK_REQ_NOWAIT) && !try;
	u8 core_mode = mode == RDLOCK_SHARED ? RDL_MODE_S : RDL_MODE_X;
	unsigned int rounds = TRY_ROUNDS;
	struct rdlock_agent *a = l->agent;
	int err;

	err = mode_check(mode);
	if (err)
		return err;
again:
	if (try)
		err = wait_for_own(a, core_mode);
	if (err)
		return err;
	spin_lock_bh(&a->lock);
	/* Another one was woken up as well, and was faster. */
	if (try && rdl_try_is_early(&a->core, core_mode) && --rounds) {
		spin_unlock_bh(&a->lock);
		goto again;
	}
	if (l->fn) {
		/* Decided or not, the result is the function's. */
		err = -EBUSY;
		goto out_unlock;
	}
	/*
	 * An asynchronous request of this handle: its result, or that it still waits. A grant is had by waiting calls
	 * too.
	 */
	if (!try && l->async && l->mode == mode && (nowait || l->state == RDLOCK_FD_GRANTED)) {
		if (l->state == RDLOCK_FD_PENDING)
			err = -EAGAIN;
		else
			err = request_fetch(l, g);
		goto out_unlock;
	}
	if (l->async && l->state == RDLOCK_FD_IDLE) {
		/* Its failure was not fetched; the new request takes its place. */
		l->async = false;
		l->err = 0;
	}
	err = request_begin(l, mode, try, nowait, deadline);
	if (err)
		goto out_unlock;
	if (nowait) {
		if (l->state == RDLOCK_FD_PENDING) {
			err = -EAGAIN;
			if (deadline != KTIME_MAX)
				hrtimer_start(&l->timer, deadline, HRTIMER_MODE_ABS_SOFT);
		} else {
			err = request_fetch(l, g);
		}
		goto out_unlock;
	}
	l->sleeper = true;
	spin_unlock_bh(&a->lock);

	if (READ_ONCE(l->state) == RDLOCK_FD_PENDING)
		wait_busily(l, try ? KTIME_MAX : deadline);
	/*
	 * A try ends by itself within the fabric's bounds: a signal must not leave its outcome open, only a fatal one
	 * may.
	 */
	err = rdlock_sleep_until(&l->wq, handle_settled, l, try ? KTIME_MAX : deadline,
				 !try && (flags & RDLOCK_REQ_INTERRUPTIBLE));

	spin_lock_bh(&a->lock);
	l->sleeper = false;
	if (l->state == RDLOCK_FD_PENDING) {
		handle_withdraw(l, WITHDRAW_UNSEEN);
		/* It is made again when the signal was handled, and must not starve if there are many. */
		if (err == -ERESTARTSYS)
			l->back_by = ktime_add_ms(ktime_get(), WAIT_BACK_MS);
		if (err == -ETIMEDOUT)
			err = rdlock_timeout_error(a->space);
	} else {
		err = request_fetch(l, g);
	}
out_unlock:
	if (!(flags & RDLOCK_REQ_REPLY))
		handle_told(l);
	spin_unlock_bh(&a->lock);
	return err;
}

int rdlock_request_async(struct rdlock *l, u32 mode, ktime_t deadline, rdlock_granted_fn fn, void *ctx)
{
	struct rdlock_agent *a = l->agent;
	int err;

	err = mode_check(mode);
	if (err)
		return err;
	spin_lock_bh(&a->lock);
	if (l->fn || l->async) {
		err = -EBUSY;
		goto out_unlock;
	}
	l->fn = fn;
	l->ctx = ctx;
	err = request_begin(l, mode, false, true, deadline);
	if (err)
		l->fn = NULL;
	else if (l->state == RDLOCK_FD_PENDING && deadline != KTIME_MAX)
		hrtimer_start(&l->timer, deadline, HRTIMER_MODE_ABS_SOFT);
out_unlock:
	spin_unlock_bh(&a->lock);
	return err;
}

static void handle_work(struct work_struct *work)
{
	struct rdlock *l = container_of(work, struct rdlock, work);
	struct rdlock_agent *a = l->agent;
	struct rdlock_grant g = {};
	rdlock_granted_fn fn;
	void *ctx;
	int err = 0;

	spin_lock_bh(&a->lock);
	fn = l->fn;
	ctx = l->ctx;
	if (fn && l->state != RDLOCK_FD_PENDING) {
		l->fn = NULL;
		err = request_fetch(l, &g);
		handle_told(l);
	} else {
		fn = NULL;
	}
	spin_unlock_bh(&a->lock);
	if (fn)
		fn(l, err, &g, ctx);
	/*
	 * fn() may have started the next request, even have seen it end; a closer waits in cancel_work_sync() for us,
	 * so the handle is still there, and the agent is held by our own reference.
	 */
	rdlock_agent_put(a);
}

static enum hrtimer_restart handle_timer(struct hrtimer *t)
{
	struct rdlock *l = container_of(t, struct rdlock, timer);
	struct rdlock_agent *a = l->agent;

	spin_lock_bh(&a->lock);
	if (l->state == RDLOCK_FD_PENDING && l->async && ktime_compare(ktime_get(), l->deadline) >= 0) {
		list_del_init(&l->node);
		l->err = rdlock_timeout_error(a->space);
		WRITE_ONCE(l->state, RDLOCK_FD_IDLE);
		rdlock_agent_cancel(a, l);
		wake_up_all(&l->wq);
		if (l->fn && queue_work(rdlock_fn_wq, &l->work))
			rdlock_agent_get(a);
	}
	spin_unlock_bh(&a->lock);
	return HRTIMER_NORESTART;
}

int rdlock_request_cancel(struct rdlock *l)
{
	struct rdlock_agent *a = l->agent;
	int err = 0;

	spin_lock_bh(&a->lock);
	if (!l->async) {
		err = rdlock_handle_state(l) == RDLOCK_FD_REVOKED ? -EKEYREVOKED : -ENOENT;
	} else {
		l->fn = NULL;
		if (rdlock_handle_state(l) == RDLOCK_FD_REVOKED)
			err = -EKEYREVOKED;
		handle_withdraw(l, WITHDRAW_UNSEEN);
	}
	spin_unlock_bh(&a->lock);
	return err;
}

int rdlock_handle_release(struct rdlock *l)
{
	struct rdlock_agent *a = l->agent;
	int err = 0;
	u32 state;

	spin_lock_bh(&a->lock);
	state = rdlock_handle_state(l);
	if (state == RDLOCK_FD_HELD)
		handle_withdraw(l, WITHDRAW_RELEASE);
	else
		err = state == RDLOCK_FD_REVOKED ? -EKEYREVOKED : -EPERM;
	spin_unlock_bh(&a->lock);
	return err;
}

void rdlock_handle_undo(struct rdlock *l, u64 token)
{
	struct rdlock_agent *a = l->agent;

	spin_lock_bh(&a->lock);
	if (l->state == RDLOCK_FD_HELD && l->grant.token == token)
		handle_withdraw(l, WITHDRAW_UNSEEN);
	spin_unlock_bh(&a->lock);
}

bool rdlock_handle_valid(struct rdlock *l)
{
	return READ_ONCE(l->state) == RDLOCK_FD_HELD && rdlock_session_lease_ok(l->agent->space);
}

__poll_t rdlock_handle_poll(struct rdlock *l, struct file *file, struct poll_table_struct *pt)
{
	struct rdlock_agent *a = l->agent;
	__poll_t mask = 0;
	u32 state;

	poll_wait(file, &l->wq, pt);
	spin_lock_bh(&a->lock);
	state = rdlock_handle_state(l);
	if (state == RDLOCK_FD_REVOKED)
		mask = EPOLLERR | EPOLLHUP;
	else if (l->async && state != RDLOCK_FD_PENDING)
		mask = EPOLLIN | EPOLLRDNORM;
	spin_unlock_bh(&a->lock);
	return mask;
}

void rdlock_handle_status(struct rdlock *l, struct rdlock_status *out)
{
	struct rdlock_agent *a = l->agent;

	spin_lock_bh(&a->lock);
	out->out_state = rdlock_handle_state(l);
	out->out_kind = a->core.kind;
	out->out_value_size = a->ask.value_size;
	out->out_open_flags = a->ask.flags & (RDLOCK_OPEN_STICKY | RDLOCK_OPEN_ROBUST);
	out->out_instance = READ_ONCE(a->space->instance);
	if (out->out_state == RDLOCK_FD_HELD || out->out_state == RDLOCK_FD_GRANTED) {
		out->out_mode = l->mode;
		out->out_token = l->grant.token;
		out->out_instance = l->grant.instance;
	}
	spin_unlock_bh(&a->lock);
}
