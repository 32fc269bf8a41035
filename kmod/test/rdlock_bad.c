// SPDX-License-Identifier: GPL-2.0
/*
 * rdlock_bad: mistakes made on purpose, one for each checker of the debug kernel. A scenario loads this module and
 * fails unless the checker speaks up: silence of a checker that cannot see would be worth nothing.
 *
 * Never built unless asked for (RDLOCK_BAD=m). Where a checker has to be able to see into rdlock.ko, the mistake is one
 * that a consumer of rdlock could make, and it is rdlock's own code that runs into it.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debug_locks.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <net/net_namespace.h>

#include "../compat.h"
#include "../include/linux/rdlock.h"

static char *bug = "";
module_param(bug, charp, 0444);
MODULE_PARM_DESC(bug, "the mistake: see bad_bugs");

/* Space t, which must be there. */
static struct rdlock_space *bad_space;

/* Written by nobody; keeps the compiler from seeing through a mistake. */
static uint bad_bits = 32;
module_param(bad_bits, uint, 0444);
MODULE_PARM_DESC(bad_bits, "leave it alone");

/* What bad_leak_late() leaks: reachable as long as this module is. */
static void *bad_kept;

static struct rdlock *bad_open(void)
{
	return rdlock_open(bad_space, "bad", 3, 0, ktime_add_ms(ktime_get(), 10000));
}

/* The handle is looked at after its end. Expected of KASAN, in rdlock.ko. */
static int bad_uaf(void)
{
	struct rdlock *lock = bad_open();

	if (IS_ERR(lock))
		return PTR_ERR(lock);
	rdlock_close(lock);
	return rdlock_valid(lock) ? -EBUSY : 0;
}

/* A distributed lock inside a mutex, then the mutex inside the lock. Expected of lockdep: rdlock tells it of both. */
static int bad_abba(void)
{
	static DEFINE_MUTEX(mutex);
	struct rdlock *lock = bad_open();
	int err;

	if (IS_ERR(lock))
		return PTR_ERR(lock);
	mutex_lock(&mutex);
	err = rdlock_acquire(lock, RDLOCK_EXCLUSIVE, KTIME_MAX, NULL);
	if (!err)
		rdlock_release(lock);
	mutex_unlock(&mutex);
	if (!err)
		err = rdlock_acquire(lock, RDLOCK_EXCLUSIVE, KTIME_MAX, NULL);
	if (!err) {
		mutex_lock(&mutex);
		mutex_unlock(&mutex);
		rdlock_release(lock);
	}
	rdlock_close(lock);
	return err;
}

/* A key of no length is refused, but whoever calls might have slept. Expected of DEBUG_ATOMIC_SLEEP, in rdlock.ko. */
static int bad_atomic(void)
{
	static DEFINE_SPINLOCK(lock);
	struct rdlock *none;

	spin_lock(&lock);
	none = rdlock_open(bad_space, "", 0, 0, KTIME_MAX);
	spin_unlock(&lock);
	return IS_ERR(none) ? 0 : -EBUSY;
}

/* Nobody knows the address any more. Expected of kmemleak, while this module is loaded. */
static int bad_leak(void)
{
	u64 *lost = kmalloc(200, GFP_KERNEL);

	if (!lost)
		return -ENOMEM;
	WRITE_ONCE(*lost, 1);
	return 0;
}

/* The address goes with the module. Expected of kmemleak, when this module is unloaded and not before. */
static int bad_leak_late(void)
{
	bad_kept = kzalloc(200, GFP_KERNEL);
	return bad_kept ? 0 : -ENOMEM;
}

/* lockdep is switched off, and nothing says so. Expected of whoever looks after the scenario. */
static int bad_lockdep_off(void)
{
	debug_locks_off();
	return 0;
}

/* More bits than the type has. Expected of UBSAN. */
static int bad_shift(void)
{
	pr_info("1 << %u is %u\n", bad_bits, 1U << bad_bits);
	return 0;
}

static void bad_timer_fn(struct timer_list *unused)
{
}

/* Memory is freed with a timer in it that runs. Expected of DEBUG_OBJECTS. */
static int bad_timer(void)
{
	struct timer_list *timer = kmalloc(sizeof(*timer), GFP_KERNEL);

	if (!timer)
		return -ENOMEM;
	timer_setup(timer, bad_timer_fn, 0);
	mod_timer(timer, jiffies + 600 * HZ);
	kfree(timer);
	return 0;
}

/* Nobody gives this back, so the module cannot be unloaded. Expected of whoever looks after the scenario. */
static int bad_stays(void)
{
	__module_get(THIS_MODULE);
	return 0;
}

static const struct {
	const char *name;
	int (*make)(void);
	bool space;		/* needs space t */
} bad_bugs[] = {
	{ "uaf", bad_uaf, true },
	{ "abba", bad_abba, true },
	{ "atomic", bad_atomic, true },
	{ "leak", bad_leak },
	{ "leak_late", bad_leak_late },
	{ "lockdep_off", bad_lockdep_off },
	{ "shift", bad_shift },
	{ "stays", bad_stays },
	{ "timer", bad_timer },
};

static int __init bad_init(void)
{
	uint i = 0;
	int err;

	while (i < ARRAY_SIZE(bad_bugs) && strcmp(bug, bad_bugs[i].name))
		i++;
	if (i == ARRAY_SIZE(bad_bugs))
		return -EINVAL;
	if (bad_bugs[i].space) {
		bad_space = rdlock_space_get(current->nsproxy->net_ns, "t", 1);
		if (IS_ERR(bad_space))
			return PTR_ERR(bad_space);
	}
	err = bad_bugs[i].make();
	if (bad_bugs[i].space)
		rdlock_space_put(bad_space);
	return err;
}

static void __exit bad_exit(void)
{
}

module_init(bad_init);
module_exit(bad_exit);

MODULE_DESCRIPTION("Mistakes on purpose, to test checkers");
MODULE_LICENSE("GPL");
RDLOCK_IMPORT_NS;
