// SPDX-License-Identifier: GPL-2.0
/*
 * rdlock_kapi: what kernel code may do with a lock at an awkward moment. The module does one test as it is loaded, and
 * is not loaded if that fails; what was wrong is in the log.
 *
 *	modprobe rdlock_kapi test=close_asleep [space=t]
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <net/net_namespace.h>

#include "../compat.h"
#include "../include/linux/rdlock.h"
#include "../../uapi/linux/rdlock.h"

static char *space_name = "t";
module_param_named(space, space_name, charp, 0444);
MODULE_PARM_DESC(space, "space, which must be there (default t)");

static char *test = "";
module_param(test, charp, 0444);
MODULE_PARM_DESC(test, "close_asleep");

/* Nothing here takes longer, but for what hangs. */
#define KAPI_MS		20000

static struct rdlock_space *space;
static unsigned int wrong;

#define kapi_check(good, fmt, ...)						\
do {										\
	if (!(good)) {								\
		wrong++;							\
		pr_err("%s: " fmt "\n", test, ##__VA_ARGS__);			\
	}									\
} while (0)

static ktime_t kapi_deadline(void)
{
	return ktime_add_ms(ktime_get(), KAPI_MS);
}

static struct rdlock *kapi_open(void)
{
	struct rdlock *l = rdlock_open(space, "kapi", 4, 0, kapi_deadline());

	kapi_check(!IS_ERR(l), "open: %pe", l);
	return IS_ERR(l) ? NULL : l;
}

/**
 * struct kapi_fn - a function that was called, and what it does then
 * @called: it was called
 * @go: it may go on
 * @asks: it is about to sleep in a call
 * @err: what that said, when the work has ended
 */
struct kapi_fn {
	struct completion called;
	struct completion go;
	struct completion asks;
	int err;
};

static void kapi_fn_init(struct kapi_fn *f)
{
	init_completion(&f->called);
	init_completion(&f->go);
	init_completion(&f->asks);
	f->err = 1;
}

/* Gives back what it was granted, and asks for it once more. */
static void ask_again(struct rdlock *lock, int err, const struct rdlock_grant *grant, void *ctx)
{
	struct kapi_fn *f = ctx;

	kapi_check(!err, "granted: %d", err);
	err = rdlock_release(lock);
	kapi_check(!err, "release: %d", err);
	complete(&f->called);
	wait_for_completion(&f->go);
	complete(&f->asks);
	f->err = rdlock_acquire(lock, RDLOCK_EXCLUSIVE, kapi_deadline(), NULL);
}

/* A lock is closed while its function sleeps in rdlock_acquire(), for a lock that another handle holds all the time. */
static void close_asleep(void)
{
	struct rdlock *holder = kapi_open(), *lock = kapi_open();
	struct kapi_fn f;
	ktime_t start;
	s64 took;
	int err;

	if (!holder || !lock)
		goto out;
	kapi_fn_init(&f);
	err = rdlock_acquire_async(lock, RDLOCK_EXCLUSIVE, kapi_deadline(), ask_again, &f);
	kapi_check(!err, "acquire_async: %d", err);
	if (err)
		goto out;
	wait_for_completion(&f.called);
	err = rdlock_acquire(holder, RDLOCK_EXCLUSIVE, kapi_deadline(), NULL);
	kapi_check(!err, "acquire: %d", err);
	complete(&f.go);
	wait_for_completion(&f.asks);
	/* It sleeps now, or is about to. */
	schedule_timeout_uninterruptible(HZ / 5);
	start = ktime_get();
	rdlock_close(lock);
	lock = NULL;
	took = ktime_ms_delta(ktime_get(), start);
	kapi_check(took < KAPI_MS / 4, "close took %lld ms", took);
	kapi_check(f.err == -EKEYREVOKED, "the call in the function said %d", f.err);
	err = rdlock_release(holder);
	kapi_check(!err, "release: %d", err);
out:
	if (lock)
		rdlock_close(lock);
	if (holder)
		rdlock_close(holder);
}

static const struct kapi_test {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "close_asleep", close_asleep },
};

static int __init kapi_init(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(tests) && strcmp(tests[i].name, test); i++)
		;
	if (i == ARRAY_SIZE(tests)) {
		pr_err("no test \"%s\"\n", test);
		return -EINVAL;
	}
	space = rdlock_space_get(current->nsproxy->net_ns, space_name, strlen(space_name));
	if (IS_ERR(space)) {
		pr_err("no space %s: %ld\n", space_name, PTR_ERR(space));
		return PTR_ERR(space);
	}
	tests[i].run();
	rdlock_space_put(space);
	return wrong ? -EIO : 0;
}

static void __exit kapi_exit(void)
{
}

module_init(kapi_init);
module_exit(kapi_exit);
MODULE_DESCRIPTION("Tests of the kernel API of rdlock");
MODULE_LICENSE("GPL");
RDLOCK_IMPORT_NS;
