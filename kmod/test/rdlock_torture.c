// SPDX-License-Identifier: GPL-2.0
/*
 * rdlock_torture: threads that take one lock, on as many nodes as load this module with the same space and
 * key, and look for a second owner. It is a consumer like any other: exported symbols only.
 *
 * What a holder checks, each in a cell of a counter that only the holder may touch:
 *
 *   CELL_OWNER  CAS 0 -> me at the start, me -> 0 at the end. Another value: somebody else is inside, on whatever node.
 *   CELL_COUNT  read, then CAS value -> value + 1. Another old value: somebody wrote between the two.
 *   CELL_TOKEN  the last holder's token must be less than mine; then mine is stored.
 *
 * and a word of this node's memory, which needs no working network to be right.
 *
 * A holder that was cut off (-EKEYREVOKED) leaves CELL_OWNER behind; its heir knows by
 * RDLOCK_GRANT_OWNER_DIED that this is no error. type=busted leaves the lock out now and then: a test that
 * passes with it is no test.
 *
 * The verdict is one line, in the log and in debugfs rdlock_torture/result: "rdlock_torture: PASS: ..." or "FAIL".
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "../compat.h"
#include "../include/linux/rdlock.h"
#include "../../uapi/linux/rdlock.h"

static char *space = "t";
module_param(space, charp, 0444);
MODULE_PARM_DESC(space, "space, which must be there (default t)");

static char *key = "torture";
module_param(key, charp, 0444);
MODULE_PARM_DESC(key, "key of the lock and of the counter (default torture)");

static char *type = "mutex";
module_param(type, charp, 0444);
MODULE_PARM_DESC(type, "mutex, try, timed, async or busted (default mutex)");

static uint nthreads = 4;
module_param(nthreads, uint, 0444);
MODULE_PARM_DESC(nthreads, "threads on this node (default 4)");

static uint hold_us = 100;
module_param(hold_us, uint, 0444);
MODULE_PARM_DESC(hold_us, "longest pause inside, in microseconds (default 100)");

static uint stutter;
module_param(stutter, uint, 0444);
MODULE_PARM_DESC(stutter, "seconds of work, then of rest, in turn; 0: no rest (default)");

static uint seconds;
module_param(seconds, uint, 0444);
MODULE_PARM_DESC(seconds, "end after that long; 0: when unloaded (default)");

static uint count;
module_param(count, uint, 0444);
MODULE_PARM_DESC(count, "end after that many grants on this node; 0: no limit (default)");

enum tort_type { TORT_MUTEX, TORT_TRY, TORT_TIMED, TORT_ASYNC, TORT_BUSTED };

static const char * const tort_types[] = {
	[TORT_MUTEX] = "mutex",
	[TORT_TRY] = "try",
	[TORT_TIMED] = "timed",
	[TORT_ASYNC] = "async",
	[TORT_BUSTED] = "busted",
};

enum tort_cell { CELL_OWNER, CELL_COUNT, CELL_TOKEN, NR_CELLS };

#define TORT_MAX_THREADS	64
#define TORT_OPEN_MS		2000
#define TORT_CELL_MS		2000
#define TORT_REST_MS		50
#define TORT_SHOWN		10	/* violations that are printed; all are counted */

/**
 * struct tort_stats - what a thread has seen; written by it alone
 * @grants: times it got the lock
 * @misses: tries that failed, deadlines that passed, requests withdrawn
 * @done: increments of CELL_COUNT that are certain
 * @revoked: times the lock was lost while held or wanted
 * @inherited: CELL_OWNER left by an owner that was cut off
 * @unknown: cell operations without an answer, looked up later
 * @skipped: rounds without the lock (busted)
 * @violations: exclusion or token order broken
 * @unexpected: an errno that has no business here
 */
struct tort_stats {
	u64 grants;
	u64 misses;
	u64 done;
	u64 revoked;
	u64 inherited;
	u64 unknown;
	u64 skipped;
	u64 violations;
	u64 unexpected;
};

/**
 * struct tort_thread - one owner
 * @task: its kthread
 * @id: unique over nodes and loads, what it writes to CELL_OWNER
 * @lock: its handle. Written by the thread under tort.lock, read by others under it.
 * @counter: its cells
 * @waiting: it sleeps for the lock without a deadline and may be sent SIGKILL. Protected by tort.lock.
 * @grant: of the lock it holds
 * @granted: an asynchronous acquire has ended
 * @err: how
 * @stats: what it has seen
 */
struct tort_thread {
	struct task_struct *task;
	u64 id;
	struct rdlock *lock;
	struct rdlock_counter *counter;
	bool waiting;
	struct rdlock_grant grant;
	struct completion granted;
	int err;
	struct tort_stats stats;
};

/**
 * struct tort - the run
 * @space: where it happens
 * @type: how the lock is taken
 * @lock: see struct tort_thread
 * @stopping: begin nothing new. Protected by @lock for writing.
 * @owner: index + 1 of the thread of this node that is inside. Protected by @lock.
 * @grants: of all threads, for @count
 * @running: threads that still work
 * @shown: violations printed
 * @reported: the verdict is out
 * @end: stops the run after @seconds
 * @dir: debugfs
 * @threads: nthreads of them
 */
static struct tort {
	struct rdlock_space *space;
	enum tort_type type;
	spinlock_t lock;	/* stopping, owner; waiting and lock of the threads */
	bool stopping;
	uint owner;
	atomic64_t grants;
	atomic_t running;
	atomic_t shown;
	atomic_t reported;
	struct delayed_work end;
	struct dentry *dir;
	struct tort_thread *threads;
} tort;

static ktime_t tort_after_ms(uint ms)
{
	return ktime_add_ms(ktime_get(), ms);
}

static void tort_rest(uint ms)
{
	schedule_timeout_idle(msecs_to_jiffies(ms) + 1);
}

static bool tort_ends(void)
{
	return READ_ONCE(tort.stopping) || kthread_should_stop() ||
	       (count && atomic64_read(&tort.grants) >= count);
}

static void tort_violation(struct tort_thread *t, const char *what, u64 want, u64 got)
{
	t->stats.violations++;
	if (atomic_inc_return(&tort.shown) <= TORT_SHOWN)
		pr_err("%s: thread %llx: %llx, not %llx (token %llx)\n", what, t->id, got, want, t->grant.token);
}

static void tort_unexpected(struct tort_thread *t, const char *what, int err)
{
	t->stats.unexpected++;
	if (atomic_inc_return(&tort.shown) <= TORT_SHOWN)
		pr_err("%s: thread %llx: unexpected error %d\n", what, t->id, err);
}

/* ---- the verdict ---- */

static const char *tort_verdict(char *buf, size_t len, bool running)
{
	struct tort_stats sum = {};
	const char *word = "PASS";
	uint i;

	for (i = 0; i < nthreads; i++) {
		struct tort_stats *s = &tort.threads[i].stats;

		sum.grants += READ_ONCE(s->grants);
		sum.misses += READ_ONCE(s->misses);
		sum.done += READ_ONCE(s->done);
		sum.revoked += READ_ONCE(s->revoked);
		sum.inherited += READ_ONCE(s->inherited);
		sum.unknown += READ_ONCE(s->unknown);
		sum.skipped += READ_ONCE(s->skipped);
		sum.violations += READ_ONCE(s->violations);
		sum.unexpected += READ_ONCE(s->unexpected);
	}
	/* A run that never held the lock has shown nothing. */
	if (running)
		word = "RUNNING";
	else if (sum.violations || sum.unexpected || !sum.grants)
		word = "FAIL";
	snprintf(buf, len,
		 "%s: type=%s threads=%u grants=%llu misses=%llu done=%llu revoked=%llu inherited=%llu unknown=%llu skipped=%llu violations=%llu unexpected=%llu",
		 word, tort_types[tort.type], nthreads, sum.grants, sum.misses, sum.done, sum.revoked,
		 sum.inherited, sum.unknown, sum.skipped, sum.violations, sum.unexpected);
	return buf;
}

static void tort_report(void)
{
	char buf[320];

	if (!atomic_xchg(&tort.reported, 1))
		pr_info("%s\n", tort_verdict(buf, sizeof(buf), false));
}

static int result_show(struct seq_file *m, void *unused)
{
	char buf[320];

	seq_printf(m, KBUILD_MODNAME ": %s\n", tort_verdict(buf, sizeof(buf), !atomic_read(&tort.reported)));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(result);

/* ---- cells ---- */

/*
 * Nobody but the holder writes the cells, so what became of an operation without an answer can be looked up,
 * and one that was not done be repeated. Not worth it without the lock.
 */
static bool tort_again(struct tort_thread *t, int err, ktime_t give_up)
{
	if (err == -EREMOTEIO)
		t->stats.unknown++;
	else if (err != -EHOSTUNREACH && err != -ETIMEDOUT)
		return false;
	if (!rdlock_valid(t->lock) || ktime_after(ktime_get(), give_up))
		return false;
	tort_rest(TORT_REST_MS);
	return true;
}

static int tort_read(struct tort_thread *t, u32 cell, u64 *value)
{
	ktime_t give_up = tort_after_ms(10 * TORT_CELL_MS);
	int err;

	do {
		err = rdlock_counter_read(t->counter, cell, tort_after_ms(TORT_CELL_MS), value);
	} while (err && tort_again(t, err, give_up));
	return err;
}

static int tort_cas(struct tort_thread *t, u32 cell, u64 expect, u64 desired, u64 *old)
{
	ktime_t give_up = tort_after_ms(10 * TORT_CELL_MS);
	bool unknown = false;
	int err;

	for (;;) {
		err = rdlock_counter_cas(t->counter, cell, expect, desired, tort_after_ms(TORT_CELL_MS), old);
		if (!err)
			break;
		unknown |= err == -EREMOTEIO;
		if (!tort_again(t, err, give_up))
			return err;
	}
	/* The attempt whose answer was lost had done it. */
	if (unknown && *old == desired)
		*old = expect;
	return 0;
}

/* ---- inside ---- */

static void tort_enter_local(struct tort_thread *t, uint me)
{
	bool overlap = false;
	u64 other = 0;

	spin_lock(&tort.lock);
	if (tort.owner) {
		struct tort_thread *o = &tort.threads[tort.owner - 1];

		/* One that was cut off may not have noticed yet. */
		overlap = o->lock && rdlock_valid(o->lock);
		other = o->id;
	}
	tort.owner = me;
	spin_unlock(&tort.lock);
	if (overlap)
		tort_violation(t, "two owners on this node", 0, other);
}

static void tort_leave_local(struct tort_thread *t, uint me)
{
	bool overlap;

	spin_lock(&tort.lock);
	overlap = tort.owner != me && rdlock_valid(t->lock);
	if (tort.owner == me)
		tort.owner = 0;
	spin_unlock(&tort.lock);
	if (overlap)
		tort_violation(t, "another owner on this node", me, tort.owner);
}

static int tort_check_owner(struct tort_thread *t, bool held)
{
	u64 old, now;
	int err;

	err = tort_cas(t, CELL_OWNER, 0, t->id, &old);
	if (err || !old)
		return err;
	if (!held || !(t->grant.flags & RDLOCK_GRANT_OWNER_DIED)) {
		tort_violation(t, "owner cell taken", 0, old);
		return 0;
	}
	t->stats.inherited++;
	err = tort_cas(t, CELL_OWNER, old, t->id, &now);
	if (!err && now != old)
		tort_violation(t, "owner cell of the dead changed", old, now);
	return err;
}

static int tort_check_count(struct tort_thread *t)
{
	u64 value, old;
	int err;

	err = tort_read(t, CELL_COUNT, &value);
	if (err)
		return err;
	if (hold_us)
		usleep_range(1, 1 + get_random_u32() % hold_us);
	err = tort_cas(t, CELL_COUNT, value, value + 1, &old);
	if (err)
		return err;
	if (old != value)
		tort_violation(t, "count changed under the lock", value, old);
	else
		t->stats.done++;
	return 0;
}

static int tort_check_token(struct tort_thread *t)
{
	u64 last, old;
	int err;

	err = tort_read(t, CELL_TOKEN, &last);
	if (err)
		return err;
	if (t->grant.token <= last)
		tort_violation(t, "token did not grow", last, t->grant.token);
	err = tort_cas(t, CELL_TOKEN, last, t->grant.token, &old);
	if (!err && old != last)
		tort_violation(t, "token cell changed under the lock", last, old);
	return err;
}

static int tort_check_leave(struct tort_thread *t)
{
	u64 old;
	int err;

	err = tort_cas(t, CELL_OWNER, t->id, 0, &old);
	if (!err && old != t->id)
		tort_violation(t, "owner cell changed under the lock", t->id, old);
	return err;
}

static void tort_inside(struct tort_thread *t, bool held)
{
	uint me = t - tort.threads + 1;
	int err;

	tort_enter_local(t, me);
	err = tort_check_owner(t, held);
	if (!err)
		err = tort_check_count(t);
	if (!err && held)
		err = tort_check_token(t);
	if (!err)
		err = tort_check_leave(t);
	tort_leave_local(t, me);
	/* Cut off in the middle is no fault of exclusion; an unknown end with a lock that still holds is. */
	if (err && held && rdlock_valid(t->lock))
		tort_unexpected(t, "cell", err);
}

/* ---- taking the lock ---- */

static int tort_wait(struct tort_thread *t)
{
	int err;

	spin_lock(&tort.lock);
	t->waiting = !tort.stopping;
	spin_unlock(&tort.lock);
	if (!t->waiting)
		return -EINTR;
	err = rdlock_acquire(t->lock, RDLOCK_EXCLUSIVE, KTIME_MAX, &t->grant);
	spin_lock(&tort.lock);
	t->waiting = false;
	spin_unlock(&tort.lock);
	/* It has served; inside, it would end the waiting for cells. */
	flush_signals(current);
	return err;
}

static void tort_granted(struct rdlock *lock, int err, const struct rdlock_grant *grant, void *ctx)
{
	struct tort_thread *t = ctx;

	t->err = err;
	if (!err)
		t->grant = *grant;
	complete(&t->granted);
}

static int tort_async(struct tort_thread *t)
{
	uint ms = 1 + get_random_u32() % 200;
	int err;

	reinit_completion(&t->granted);
	err = rdlock_acquire_async(t->lock, RDLOCK_EXCLUSIVE, tort_after_ms(ms), tort_granted, t);
	if (err)
		return err;
	if (get_random_u32() % 8 == 0) {
		usleep_range(1, 1000);
		err = rdlock_cancel(t->lock);
		if (!err || err == -EKEYREVOKED)
			return err ? err : -ECANCELED;
		/* Too late: the callback has run, or will. */
	}
	wait_for_completion(&t->granted);
	return t->err;
}

/* 1: go inside without the lock. */
static int tort_take(struct tort_thread *t)
{
	switch (tort.type) {
	case TORT_MUTEX:
		return tort_wait(t);
	case TORT_TRY:
		return rdlock_try(t->lock, RDLOCK_EXCLUSIVE, &t->grant);
	case TORT_TIMED:
		return rdlock_acquire(t->lock, RDLOCK_EXCLUSIVE, tort_after_ms(get_random_u32() % 50), &t->grant);
	case TORT_ASYNC:
		return tort_async(t);
	case TORT_BUSTED:
		return get_random_u32() % 4 ? tort_wait(t) : 1;
	}
	return -EINVAL;
}

static void tort_close(struct tort_thread *t)
{
	struct rdlock *lock = t->lock;

	spin_lock(&tort.lock);
	t->lock = NULL;
	spin_unlock(&tort.lock);
	if (lock)
		rdlock_close(lock);
	if (t->counter)
		rdlock_counter_close(t->counter);
	t->counter = NULL;
}

static int tort_open(struct tort_thread *t)
{
	struct rdlock_counter *counter;
	struct rdlock *lock;

	lock = rdlock_open(tort.space, key, strlen(key), 0, tort_after_ms(TORT_OPEN_MS));
	if (IS_ERR(lock))
		return PTR_ERR(lock);
	counter = rdlock_counter_open(tort.space, key, strlen(key), NR_CELLS, tort_after_ms(TORT_OPEN_MS));
	if (IS_ERR(counter)) {
		rdlock_close(lock);
		return PTR_ERR(counter);
	}
	spin_lock(&tort.lock);
	t->lock = lock;
	spin_unlock(&tort.lock);
	t->counter = counter;
	return 0;
}

static void tort_round(struct tort_thread *t)
{
	int err = tort_take(t);

	switch (err) {
	case 0:
		t->stats.grants++;
		atomic64_inc(&tort.grants);
		tort_inside(t, true);
		err = rdlock_release(t->lock);
		if (err && err != -EKEYREVOKED)
			tort_unexpected(t, "release", err);
		break;
	case 1:
		t->stats.skipped++;
		tort_inside(t, false);
		return;
	case -EAGAIN:
		usleep_range(100, 500);
		fallthrough;
	case -ETIMEDOUT:
	case -ECANCELED:
	case -EINTR:
	case -ERESTARTSYS:
		t->stats.misses++;
		return;
	case -EHOSTUNREACH:
		t->stats.misses++;
		tort_rest(TORT_REST_MS);
		return;
	case -EKEYREVOKED:
	case -ESHUTDOWN:
	case -ENODEV:
		break;
	default:
		tort_unexpected(t, "acquire", err);
		tort_rest(TORT_REST_MS);
	}
	if (err) {
		t->stats.revoked++;
		tort_close(t);
	}
}

static int tort_thread(void *arg)
{
	struct tort_thread *t = arg;

	allow_signal(SIGKILL);
	while (!tort_ends()) {
		if (!t->lock && tort_open(t)) {
			tort_rest(TORT_REST_MS);
			continue;
		}
		if (stutter && (ktime_get_seconds() / stutter) & 1)
			tort_rest(TORT_REST_MS);
		else
			tort_round(t);
		cond_resched();
	}
	tort_close(t);
	if (atomic_dec_and_test(&tort.running))
		tort_report();
	while (!kthread_should_stop()) {
		set_current_state(TASK_IDLE);
		if (!kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);
	}
	return 0;
}

/* ---- life ---- */

/* Waiters without a deadline are called off as a killed process would be. */
static void tort_call_off(void)
{
	uint i;

	spin_lock(&tort.lock);
	tort.stopping = true;
	for (i = 0; i < nthreads; i++)
		if (tort.threads[i].waiting)
			send_sig(SIGKILL, tort.threads[i].task, 1);
	spin_unlock(&tort.lock);
}

static void tort_end(struct work_struct *work)
{
	tort_call_off();
}

static void tort_stop(void)
{
	uint i;

	cancel_delayed_work_sync(&tort.end);
	tort_call_off();
	for (i = 0; i < nthreads; i++)
		if (tort.threads[i].task)
			kthread_stop(tort.threads[i].task);
}

static int tort_start(void)
{
	uint i, load = get_random_u32();

	atomic_set(&tort.running, nthreads);
	for (i = 0; i < nthreads; i++) {
		struct tort_thread *t = &tort.threads[i];
		struct task_struct *task;

		init_completion(&t->granted);
		t->id = (u64)load << 8 | (i + 1);
		task = kthread_create(tort_thread, t, "rdlock_torture/%u", i);
		if (IS_ERR(task))
			return PTR_ERR(task);
		t->task = task;
	}
	for (i = 0; i < nthreads; i++)
		wake_up_process(tort.threads[i].task);
	if (seconds)
		schedule_delayed_work(&tort.end, seconds * HZ);
	return 0;
}

static int __init tort_init(void)
{
	uint kind = 0;
	int err;

	while (kind < ARRAY_SIZE(tort_types) && strcmp(type, tort_types[kind]))
		kind++;
	if (kind == ARRAY_SIZE(tort_types) || !nthreads || nthreads > TORT_MAX_THREADS)
		return -EINVAL;
	tort.type = kind;
	spin_lock_init(&tort.lock);
	INIT_DELAYED_WORK(&tort.end, tort_end);

	tort.threads = kcalloc(nthreads, sizeof(*tort.threads), GFP_KERNEL);
	if (!tort.threads)
		return -ENOMEM;
	tort.space = rdlock_space_get(current->nsproxy->net_ns, space, strlen(space));
	if (IS_ERR(tort.space)) {
		err = PTR_ERR(tort.space);
		pr_err("no space '%s' here: %d\n", space, err);
		goto err_free;
	}
	tort.dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("result", 0444, tort.dir, NULL, &result_fops);
	err = tort_start();
	if (err)
		goto err_stop;
	return 0;

err_stop:
	tort_stop();
	debugfs_remove(tort.dir);
	rdlock_space_put(tort.space);
err_free:
	kfree(tort.threads);
	return err;
}

static void __exit tort_exit(void)
{
	tort_stop();
	tort_report();
	debugfs_remove(tort.dir);
	rdlock_space_put(tort.space);
	kfree(tort.threads);
}

module_init(tort_init);
module_exit(tort_exit);

MODULE_DESCRIPTION("Torture test of rdlock");
MODULE_LICENSE("GPL");
RDLOCK_IMPORT_NS;
