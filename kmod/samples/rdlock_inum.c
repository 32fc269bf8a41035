// SPDX-License-Identifier: GPL-2.0
/*
 * rdlock_inum: the inode-number allocator of a pretended shared file system, as an example of rdlock's kernel
 * interface.
 *
 * Every node that mounts the file system needs inode numbers that no other node uses. The numbers are divided
 * into groups, as block groups divide a disk. How much of each group is taken, and how much is taken in all
 * (what statfs would tell), is shared by the nodes: cells of a distributed counter. Group and total have to
 * agree, so changing them takes a lock.
 *
 *	node 0            node 1                 cells at the home
 *	next 3, end 64    next 1030, end 1088    total 128 | group 0: 64 | group 1: 64 | group 2: 0 ...
 *
 * A node takes a range of numbers at a time and hands them out from its own memory: the lock is needed once a range.
 *
 * What a consumer of rdlock has to care for, and where to look:
 *
 *   - opening, closing, deadlines: inum_open(), inum_close(); a handle is one owner, so here a mutex makes
 *     the threads of this node take turns at it
 *   - a node that died holding the lock: inum_take_range() is told by RDLOCK_GRANT_OWNER_DIED, and makes the
 *     cells agree before it trusts them: inum_recount()
 *   - an operation that may or may not have happened, -EREMOTEIO: order the changes so that the worst outcome
 *     is harmless. Here the group is changed first, and a range whose outcome is unknown is never used; the
 *     total is then counted anew
 *   - this node was cut off, -EKEYREVOKED: what the handle held is gone; inum_refill() opens it again
 *   - the space was destroyed and made again: its cells are 0 and would give every number a second time. The
 *     grant names another instance, and inum_take_range() refuses with -ESTALE
 *
 * Reading debugfs rdlock_inum/next gives the next number.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <net/net_namespace.h>

#include "../compat.h"
#include "../include/linux/rdlock.h"
#include "../../uapi/linux/rdlock.h"

static char *space = "t";
module_param(space, charp, 0444);
MODULE_PARM_DESC(space, "space, which must be there (default t)");

static char *key = "inum";
module_param(key, charp, 0444);
MODULE_PARM_DESC(key, "key of the lock and of the counter, a file system's name (default inum)");

static uint range = 64;
module_param(range, uint, 0444);
MODULE_PARM_DESC(range, "numbers taken at a time (default 64)");

static uint deadline_ms = 10000;
module_param(deadline_ms, uint, 0444);
MODULE_PARM_DESC(deadline_ms, "how long a reader waits for a number, in milliseconds (default 10000)");

#define INUM_GROUPS	16
#define INUM_GROUP_SIZE	65536
#define INUM_FIRST	1		/* 0 is no inode number */

/* Cells: the total, then the groups. */
#define CELL_TOTAL	0
#define CELL_GROUP(n)	(1 + (n))
#define NR_CELLS	CELL_GROUP(INUM_GROUPS)

/**
 * struct inum - this node's allocator
 * @space: where lock and counter live
 * @mutex: protects everything below; outside of the distributed lock
 * @lock: guards the cells; NULL: has to be opened
 * @counter: the cells; NULL with @lock
 * @group: where the last range came from; the next is looked for there first
 * @next: next number of the range
 * @end: end of the range
 * @instance: of the space, that the numbers belong to; 0: none yet
 * @recount: an operation's outcome is unknown: the total may be wrong
 */
struct inum {
	struct rdlock_space *space;
	struct mutex mutex;	/* the fields below */
	struct rdlock *lock;
	struct rdlock_counter *counter;
	u32 group;
	u64 next;
	u64 end;
	u64 instance;
	bool recount;
};

static struct inum inum = {
	.mutex = __MUTEX_INITIALIZER(inum.mutex),
};

static struct dentry *inum_dir;

static void inum_close(struct inum *in)
{
	lockdep_assert_held(&in->mutex);

	if (in->lock)
		rdlock_close(in->lock);
	if (in->counter)
		rdlock_counter_close(in->counter);
	in->lock = NULL;
	in->counter = NULL;
}

static int inum_open(struct inum *in, ktime_t deadline)
{
	struct rdlock_counter *counter;
	struct rdlock *lock;

	lockdep_assert_held(&in->mutex);

	if (in->lock)
		return 0;
	lock = rdlock_open(in->space, key, strlen(key), 0, deadline);
	if (IS_ERR(lock))
		return PTR_ERR(lock);
	counter = rdlock_counter_open(in->space, key, strlen(key), NR_CELLS, deadline);
	if (IS_ERR(counter)) {
		rdlock_close(lock);
		return PTR_ERR(counter);
	}
	in->lock = lock;
	in->counter = counter;
	return 0;
}

/**
 * inum_recount - make the total agree with the groups
 * @in: allocator, which holds the lock
 * @deadline: until then the home is waited for
 *
 * The groups are right at any time, the total may miss a range.
 *
 * Return: 0 or negative errno.
 */
static int inum_recount(struct inum *in, ktime_t deadline)
{
	u64 sum = 0, total, taken, old;
	u32 i;
	int err;

	for (i = 0; i < INUM_GROUPS; i++) {
		err = rdlock_counter_read(in->counter, CELL_GROUP(i), deadline, &taken);
		if (err)
			return err;
		sum += taken;
	}
	err = rdlock_counter_read(in->counter, CELL_TOTAL, deadline, &total);
	if (err)
		return err;
	if (total != sum) {
		pr_info("total corrected from %llu to %llu\n", total, sum);
		err = rdlock_counter_add(in->counter, CELL_TOTAL, sum - total, deadline, &old);
		if (err)
			return err;
	}
	in->recount = false;
	return 0;
}

/* Under the lock: the cells are ours alone. */
static int inum_take_from(struct inum *in, u32 group, u64 taken, ktime_t deadline)
{
	u64 n = min_t(u64, range, INUM_GROUP_SIZE - taken);
	u64 old;
	int err;

	/* The group first: dying in between loses a range of numbers, the other order would hand one out twice. */
	err = rdlock_counter_cas(in->counter, CELL_GROUP(group), taken, taken + n, deadline, &old);
	if (err)
		return err;
	if (old != taken) {
		pr_err("group %u changed under the lock: %llu, not %llu\n", group, old, taken);
		return -EUCLEAN;
	}
	err = rdlock_counter_add(in->counter, CELL_TOTAL, n, deadline, &old);
	/* The range is ours in any case, the total is right only if this was done. */
	if (err)
		in->recount = true;
	in->group = group;
	in->next = INUM_FIRST + (u64)group * INUM_GROUP_SIZE + taken;
	in->end = in->next + n;
	return 0;
}

static int inum_take_range(struct inum *in, ktime_t deadline)
{
	struct rdlock_grant grant;
	u64 taken;
	u32 i;
	int err;

	err = rdlock_acquire(in->lock, RDLOCK_EXCLUSIVE, deadline, &grant);
	if (err)
		return err;

	if (in->instance && grant.instance != in->instance) {
		pr_err("the space is another one than before\n");
		err = -ESTALE;
		goto out_release;
	}
	in->instance = grant.instance;

	if (grant.flags & RDLOCK_GRANT_OWNER_DIED)
		in->recount = true;
	if (in->recount)
		err = inum_recount(in, deadline);
	if (err)
		goto out_release;

	for (i = 0; i < INUM_GROUPS; i++) {
		u32 group = (in->group + i) % INUM_GROUPS;

		err = rdlock_counter_read(in->counter, CELL_GROUP(group), deadline, &taken);
		if (err)
			goto out_release;
		if (taken < INUM_GROUP_SIZE) {
			err = inum_take_from(in, group, taken, deadline);
			goto out_release;
		}
	}
	err = -ENOSPC;

out_release:
	if (err == -EREMOTEIO)
		in->recount = true;
	/* Cannot fail in a way that matters here: whether this node was cut off is found out by the next acquire. */
	rdlock_release(in->lock);
	return err;
}

/**
 * inum_refill - get this node a new range
 * @in: allocator
 * @deadline: give up then
 *
 * Return: 0, -ETIMEDOUT, -EHOSTUNREACH, -ENOSPC or another negative errno.
 */
static int inum_refill(struct inum *in, ktime_t deadline)
{
	int err;

	lockdep_assert_held(&in->mutex);

	for (;;) {
		err = inum_open(in, deadline);
		if (!err)
			err = inum_take_range(in, deadline);
		switch (err) {
		case -EKEYREVOKED:
			/* Cut off: what the handles stood for is gone. The node joins again by itself. */
			inum_close(in);
			break;
		case -EREMOTEIO:
			break;
		default:
			return err;
		}
		if (ktime_after(ktime_get(), deadline))
			return err;
		if (msleep_interruptible(10))
			return -EINTR;
	}
}

/**
 * inum_next - an inode number that no other caller on any node gets
 * @in: allocator
 * @number: the number
 *
 * Context: process, sleeps.
 * Return: 0 or negative errno.
 */
static int inum_next(struct inum *in, u64 *number)
{
	ktime_t deadline = ktime_add_ms(ktime_get(), deadline_ms);
	int err = 0;

	if (mutex_lock_interruptible(&in->mutex))
		return -ERESTARTSYS;
	if (in->next == in->end)
		err = inum_refill(in, deadline);
	if (!err)
		*number = in->next++;
	mutex_unlock(&in->mutex);
	return err;
}

/* statfs, so to speak. No lock: a sum that is a moment old is good enough here. */
static int inum_total(struct inum *in, u64 *total)
{
	ktime_t deadline = ktime_add_ms(ktime_get(), deadline_ms);
	int err;

	if (mutex_lock_interruptible(&in->mutex))
		return -ERESTARTSYS;
	err = inum_open(in, deadline);
	if (!err)
		err = rdlock_counter_read(in->counter, CELL_TOTAL, deadline, total);
	if (err == -EKEYREVOKED)
		inum_close(in);
	mutex_unlock(&in->mutex);
	return err;
}

static int next_get(void *data, u64 *value)
{
	return inum_next(data, value);
}
DEFINE_DEBUGFS_ATTRIBUTE(next_fops, next_get, NULL, "%llu\n");

static int total_get(void *data, u64 *value)
{
	return inum_total(data, value);
}
DEFINE_DEBUGFS_ATTRIBUTE(total_fops, total_get, NULL, "%llu\n");

static int __init inum_init(void)
{
	int err;

	if (!range || range > INUM_GROUP_SIZE)
		return -EINVAL;
	inum.space = rdlock_space_get(current->nsproxy->net_ns, space, strlen(space));
	if (IS_ERR(inum.space)) {
		err = PTR_ERR(inum.space);
		pr_err("no space '%s' here (%d): rdlock space join %s ADDRESS --id N\n", space, err, space);
		return err;
	}
	inum_dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("next", 0400, inum_dir, &inum, &next_fops);
	debugfs_create_file("total", 0400, inum_dir, &inum, &total_fops);
	return 0;
}

static void __exit inum_exit(void)
{
	/* Files first: after this nobody is inside. */
	debugfs_remove(inum_dir);
	mutex_lock(&inum.mutex);
	inum_close(&inum);
	mutex_unlock(&inum.mutex);
	rdlock_space_put(inum.space);
}

module_init(inum_init);
module_exit(inum_exit);

MODULE_DESCRIPTION("Inode-number allocator over rdlock, an example");
MODULE_LICENSE("GPL");
RDLOCK_IMPORT_NS;
