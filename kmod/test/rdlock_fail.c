// SPDX-License-Identifier: GPL-2.0
/*
 * rdlock_fail: calls each exported symbol in the context of whoever writes its name, so that the faults of that task
 * (/proc/thread-self/fail-nth) are faults of the call. selftests/fail_nth_test.c drives it.
 *
 *	cases	a line for each symbol: its name, and "allocates" (some of its memory must fail in the sweep) or
 *		"firm" (no lack of memory may make it fail)
 *	call	"prepare NAME": what the call needs. "run": the call itself and nothing else; the write fails as it
 *		does. "undo": takes back what both have done. Reading tells the last result, and what there is now
 *
 * debugfs folder rdlock_fail.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>

#include "../compat.h"
#include "../include/linux/rdlock.h"
#include "../../uapi/linux/rdlock.h"

static char *space_name = "t";
module_param_named(space, space_name, charp, 0444);
MODULE_PARM_DESC(space, "space, which must be there (default t)");

#define FAIL_KEY	"kernel"
#define FAIL_CELLS	3
#define FAIL_VALUE	8
#define FAIL_MS		20000

/**
 * struct fail_case - one exported symbol
 * @name: the symbol
 * @how: what is asked of the sweep, see above
 * @prepare: what @run needs; NULL: nothing. On an error fail_undo() takes back what it did.
 * @run: the call; what it made goes to &struct fail
 */
struct fail_case {
	const char *name;
	const char *how;
	int (*prepare)(void);
	int (*run)(void);
};

/**
 * struct fail - what there is
 * @mutex: protects the rest
 * @now: the case that was prepared
 * @last: result of its last run
 * @space: pinned, or NULL
 * @lock: the handle that cases are about, or NULL
 * @rival: another one: of the same key, which may hold it, or of another one; or NULL
 * @counter: or NULL
 * @done: an asynchronous acquire has ended
 * @done_err: how. Written before @done is completed, read after it.
 */
struct fail {
	struct mutex mutex;	/* the fields below */
	const struct fail_case *now;
	int last;
	struct rdlock_space *space;
	struct rdlock *lock;
	struct rdlock *rival;
	struct rdlock_counter *counter;
	struct completion done;
	int done_err;
};

static struct fail fail = {
	.mutex = __MUTEX_INITIALIZER(fail.mutex),
	.done = COMPLETION_INITIALIZER(fail.done),
};

static struct dentry *fail_dir;

static ktime_t fail_deadline(void)
{
	return ktime_add_ms(ktime_get(), FAIL_MS);
}

/* ---- the calls ---- */

static int run_rdlock_space_get(void)
{
	struct rdlock_space *space = rdlock_space_get(current->nsproxy->net_ns, space_name, strlen(space_name));

	if (IS_ERR(space))
		return PTR_ERR(space);
	fail.space = space;
	return 0;
}

static int run_rdlock_space_put(void)
{
	rdlock_space_put(fail.space);
	fail.space = NULL;
	return 0;
}

static int run_rdlock_space_ready(void)
{
	return rdlock_space_ready(fail.space) ? 0 : -ENOLINK;
}

static int fail_open(struct rdlock **to, const char *key)
{
	struct rdlock *lock = rdlock_open(fail.space, key, strlen(key), 0, fail_deadline());

	if (IS_ERR(lock))
		return PTR_ERR(lock);
	*to = lock;
	return 0;
}

static int run___rdlock_open(void)
{
	return fail_open(&fail.lock, FAIL_KEY);
}

/* A task must not go back to user space with what lockdep takes for a mutex: what one write acquires it gives back. */

static int run_rdlock_acquire(void)
{
	int err = rdlock_acquire(fail.lock, RDLOCK_EXCLUSIVE, fail_deadline(), NULL);

	return err ? err : rdlock_release(fail.lock);
}

/* Inside another lock of the same class. */
static int run_rdlock_acquire_nested(void)
{
	int err = rdlock_acquire(fail.lock, RDLOCK_EXCLUSIVE, fail_deadline(), NULL);

	if (err)
		return err;
	err = rdlock_acquire_nested(fail.rival, RDLOCK_EXCLUSIVE, fail_deadline(), NULL, 1);
	if (!err)
		err = rdlock_release(fail.rival);
	rdlock_release(fail.lock);
	return err;
}

static int run_rdlock_try(void)
{
	int err = rdlock_try(fail.lock, RDLOCK_EXCLUSIVE, NULL);

	return err ? err : rdlock_release(fail.lock);
}

/* While it is held. */
static int run_rdlock_close(void)
{
	int err = rdlock_acquire(fail.lock, RDLOCK_EXCLUSIVE, fail_deadline(), NULL);

	if (err)
		return err;
	rdlock_close(fail.lock);
	fail.lock = NULL;
	return 0;
}

static void fail_granted(struct rdlock *lock, int err, const struct rdlock_grant *grant, void *ctx)
{
	fail.done_err = err;
	complete(&fail.done);
}

static int fail_ask(struct rdlock *lock)
{
	reinit_completion(&fail.done);
	return rdlock_acquire_async(lock, RDLOCK_EXCLUSIVE, fail_deadline(), fail_granted, NULL);
}

/* Of no task, so it may stay held from one write to the next. */
static int fail_take(struct rdlock *lock)
{
	int err = fail_ask(lock);

	if (err)
		return err;
	wait_for_completion(&fail.done);	/* its deadline bounds it */
	return fail.done_err;
}

static int run_rdlock_acquire_async(void)
{
	return fail_take(fail.lock);
}

static int run_rdlock_cancel(void)
{
	return rdlock_cancel(fail.lock);
}

static int run_rdlock_release(void)
{
	return rdlock_release(fail.lock);
}

/* And given back, so that its close is no death. */
static int run_rdlock_make_consistent(void)
{
	int err = rdlock_make_consistent(fail.lock);

	return err ? err : rdlock_release(fail.lock);
}

static int run_rdlock_convert(void)
{
	return rdlock_convert(fail.lock, RDLOCK_SHARED, NULL);
}

static int run_rdlock_value_get(void)
{
	u8 value[FAIL_VALUE];
	int ret = rdlock_value_get(fail.lock, value, sizeof(value));

	return ret == FAIL_VALUE ? 0 : ret < 0 ? ret : -ERANGE;
}

static int run_rdlock_value_set(void)
{
	static const u8 value[FAIL_VALUE];

	return rdlock_value_set(fail.lock, value, sizeof(value));
}

static int run_rdlock_valid(void)
{
	return rdlock_valid(fail.lock) ? 0 : -EKEYREVOKED;
}

static int run_rdlock_counter_open(void)
{
	struct rdlock_counter *counter;

	counter = rdlock_counter_open(fail.space, FAIL_KEY, strlen(FAIL_KEY), FAIL_CELLS, fail_deadline());
	if (IS_ERR(counter))
		return PTR_ERR(counter);
	fail.counter = counter;
	return 0;
}

static int run_rdlock_counter_close(void)
{
	rdlock_counter_close(fail.counter);
	fail.counter = NULL;
	return 0;
}

static int run_rdlock_counter_cells(void)
{
	return rdlock_counter_cells(fail.counter) == FAIL_CELLS ? 0 : -ERANGE;
}

static int run_rdlock_counter_add(void)
{
	u64 old;

	return rdlock_counter_add(fail.counter, 0, 1, fail_deadline(), &old);
}

static int run_rdlock_counter_cas(void)
{
	u64 old;

	return rdlock_counter_cas(fail.counter, 1, 0, 0, fail_deadline(), &old);
}

static int run_rdlock_counter_read(void)
{
	u64 value;

	return rdlock_counter_read(fail.counter, 2, fail_deadline(), &value);
}

/* ---- what they need ---- */

static int has_space(void)
{
	return run_rdlock_space_get();
}

static int has_lock(void)
{
	int err = has_space();

	return err ? err : fail_open(&fail.lock, FAIL_KEY);
}

static int has_two(void)
{
	int err = has_lock();

	return err ? err : fail_open(&fail.rival, "inner");
}

static int has_held(void)
{
	int err = has_lock();

	return err ? err : fail_take(fail.lock);
}

/* One that can be shared and has a value. */
static int has_fair(void)
{
	static const struct rdlock_props props = { .kind = RDLOCK_KIND_FAIR, .value_size = FAIL_VALUE };
	struct rdlock *lock;
	int err = has_space();

	if (err)
		return err;
	lock = rdlock_open_as(fail.space, "fair", 4, &props, fail_deadline());
	if (IS_ERR(lock))
		return PTR_ERR(lock);
	fail.lock = lock;
	return fail_take(lock);
}

/* A robust lock whose owner has died: by closing what it held. */
static int has_died(void)
{
	static const struct rdlock_props props = { .kind = RDLOCK_KIND_FAIR, .flags = RDLOCK_OPEN_ROBUST };
	struct rdlock *dead;
	int err = has_space();

	if (err)
		return err;
	fail.lock = rdlock_open_as(fail.space, "robust", 6, &props, fail_deadline());
	dead = rdlock_open_as(fail.space, "robust", 6, &props, fail_deadline());
	if (IS_ERR(fail.lock) || IS_ERR(dead)) {
		if (!IS_ERR(dead))
			rdlock_close(dead);
		err = IS_ERR(dead) ? PTR_ERR(dead) : PTR_ERR(fail.lock);
		fail.lock = IS_ERR(fail.lock) ? NULL : fail.lock;
		return err;
	}
	err = fail_take(dead);
	rdlock_close(dead);
	if (!err)
		err = fail_take(fail.lock);
	return err == -EOWNERDEAD ? 0 : err ? err : -ENODATA;
}

/* An asynchronous acquire that waits. */
static int has_asked(void)
{
	int err = has_lock();

	if (!err)
		err = fail_open(&fail.rival, FAIL_KEY);
	if (!err)
		err = fail_take(fail.rival);
	return err ? err : fail_ask(fail.lock);
}

static int has_counter(void)
{
	int err = has_space();

	return err ? err : run_rdlock_counter_open();
}

#define FAIL_CASE(_symbol, _prepare, _how)					\
	{ .name = #_symbol, .how = (_how), .prepare = (_prepare), .run = run_##_symbol }

static const struct fail_case fail_cases[] = {
	FAIL_CASE(rdlock_space_get, NULL, "firm"),
	FAIL_CASE(rdlock_space_put, has_space, "firm"),
	FAIL_CASE(rdlock_space_ready, has_space, "firm"),
	FAIL_CASE(__rdlock_open, has_space, "allocates"),
	FAIL_CASE(rdlock_close, has_lock, "firm"),
	FAIL_CASE(rdlock_acquire, has_lock, "firm"),
	FAIL_CASE(rdlock_acquire_nested, has_two, "firm"),
	FAIL_CASE(rdlock_try, has_lock, "firm"),
	FAIL_CASE(rdlock_acquire_async, has_lock, "firm"),
	FAIL_CASE(rdlock_cancel, has_asked, "firm"),
	FAIL_CASE(rdlock_release, has_held, "firm"),
	FAIL_CASE(rdlock_make_consistent, has_died, "firm"),
	FAIL_CASE(rdlock_convert, has_fair, "firm"),
	FAIL_CASE(rdlock_value_get, has_fair, "firm"),
	FAIL_CASE(rdlock_value_set, has_fair, "firm"),
	FAIL_CASE(rdlock_valid, has_held, "firm"),
	FAIL_CASE(rdlock_counter_open, has_space, "allocates"),
	FAIL_CASE(rdlock_counter_close, has_counter, "firm"),
	FAIL_CASE(rdlock_counter_cells, has_counter, "firm"),
	FAIL_CASE(rdlock_counter_add, has_counter, "allocates"),
	FAIL_CASE(rdlock_counter_cas, has_counter, "allocates"),
	FAIL_CASE(rdlock_counter_read, has_counter, "allocates"),
};

/* Releases and withdraws, too: closing does. */
static void fail_undo(void)
{
	lockdep_assert_held(&fail.mutex);
	if (fail.rival)
		rdlock_close(fail.rival);
	if (fail.lock)
		rdlock_close(fail.lock);
	if (fail.counter)
		rdlock_counter_close(fail.counter);
	if (fail.space)
		rdlock_space_put(fail.space);
	fail.rival = NULL;
	fail.lock = NULL;
	fail.counter = NULL;
	fail.space = NULL;
	fail.now = NULL;
}

/* ---- debugfs ---- */

static int fail_prepare(const char *name)
{
	size_t i;
	int err;

	lockdep_assert_held(&fail.mutex);
	for (i = 0; i < ARRAY_SIZE(fail_cases); i++)
		if (!strcmp(name, fail_cases[i].name))
			break;
	if (i == ARRAY_SIZE(fail_cases))
		return -ENOENT;
	if (fail.now)
		return -EBUSY;
	fail.now = &fail_cases[i];
	err = fail.now->prepare ? fail.now->prepare() : 0;
	if (err)
		fail_undo();
	return err;
}

static int fail_run(void)
{
	lockdep_assert_held(&fail.mutex);
	if (!fail.now)
		return -ENODATA;
	fail.last = fail.now->run();
	return fail.last;
}

/* No allocation but those of the call: the line is on the stack. */
static ssize_t fail_call_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	char line[80] = "";
	int err = 0;

	if (len >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, from, len))
		return -EFAULT;
	if (len && line[len - 1] == '\n')
		line[len - 1] = 0;
	mutex_lock(&fail.mutex);
	if (str_has_prefix(line, "prepare "))
		err = fail_prepare(line + strlen("prepare "));
	else if (!strcmp(line, "run"))
		err = fail_run();
	else if (!strcmp(line, "undo"))
		fail_undo();
	else
		err = -EINVAL;
	mutex_unlock(&fail.mutex);
	return err ? err : len;
}

static int fail_call_show(struct seq_file *m, void *v)
{
	mutex_lock(&fail.mutex);
	seq_printf(m, "%s errno=%d space=%d lock=%d rival=%d counter=%d\n", fail.now ? fail.now->name : "-",
		   -fail.last, !!fail.space, !!fail.lock, !!fail.rival, !!fail.counter);
	mutex_unlock(&fail.mutex);
	return 0;
}

static int fail_call_open(struct inode *inode, struct file *file)
{
	return single_open(file, fail_call_show, NULL);
}

static const struct file_operations fail_call_fops = {
	.owner		= THIS_MODULE,
	.open		= fail_call_open,
	.read		= seq_read,
	.write		= fail_call_write,
	.llseek		= seq_lseek,
	.release	= single_release,
};

static int fail_cases_show(struct seq_file *m, void *v)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fail_cases); i++)
		seq_printf(m, "%s %s\n", fail_cases[i].name, fail_cases[i].how);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(fail_cases);

static int __init fail_init(void)
{
	fail_dir = debugfs_create_dir("rdlock_fail", NULL);
	debugfs_create_file("cases", 0400, fail_dir, NULL, &fail_cases_fops);
	debugfs_create_file("call", 0600, fail_dir, NULL, &fail_call_fops);
	return 0;
}

static void __exit fail_exit(void)
{
	debugfs_remove_recursive(fail_dir);
	mutex_lock(&fail.mutex);
	fail_undo();
	mutex_unlock(&fail.mutex);
}

module_init(fail_init);
module_exit(fail_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Calls of rdlock's exported symbols, for tests that let their allocations fail");
RDLOCK_IMPORT_NS;
