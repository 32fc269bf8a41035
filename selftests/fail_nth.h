/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fail-nth: a call is made again and again, and each time another of its allocations (or copies from and to user
 * memory) fails: the 1st, the 2nd, ..., until one call makes no n-th. After each the state is what it was before, and
 * the call works when it is made again.
 *
 * The kernel counts allocations of one task (/proc/thread-self/fail-nth), so what a call leaves to the module's work
 * items is not reached from here; the load of fail_nth.sh does that, with faults at random.
 *
 *	FAIL_NTH(RDLOCK_IOC_LOCK_OPEN, lock_open_new, .run = opens, .undo = closes, .needs = 1)
 */
#ifndef RDLOCK_TEST_FAIL_NTH_H
#define RDLOCK_TEST_FAIL_NTH_H

#include "fail_nth_state.h"

#define FAIL_NTH_CAP	2000	/* a call that makes more allocations than that is not what we think it is */

/**
 * struct fail_case - one call
 * @name: of the case, which may be a variant of its ioctl
 * @cmd: the ioctl, 0 for another call
 * @prepare: brings about what the call needs, without faults
 * @run: the call and nothing else; negative errno, or something that is none
 * @undo: takes back what @prepare and a successful @run have done
 * @want: what @run answers without faults: a negative errno, or 0 for any success
 * @also: errnos other than ENOMEM and EFAULT that are right, 0-terminated
 * @needs: least number of calls that must have ended with ENOMEM, or the sweep has tested nothing
 * @firm: no lack of memory may make it fail, though a copy may
 * @once: what it waits for comes once: a call that fails leaves not what was there, but less, and @prepare is needed
 * @grows: lines of a dump that begin so are no trace: a counter lives as long as its space, whoever opened it
 * @patience_ms: how long a trace may take to go; 0: SETTLE_MS
 * @arg: for @prepare, @run and @undo
 */
struct fail_case {
	const char *name;
	unsigned long cmd;
	void (*prepare)(const struct fail_case *c);
	int (*run)(const struct fail_case *c);
	void (*undo)(const struct fail_case *c);
	int want;
	int also[6];
	unsigned int needs;
	bool firm;
	bool once;
	const char *grows;
	unsigned int patience_ms;
	const char *arg;
};

static unsigned int fail_problems, fail_enomem;

/* Not by EXPECT: the controls want to see problems. */
static void __printf(2, 3) problem(const struct fail_case *c, const char *fmt, ...)
{
	char line[400];
	va_list args;

	fail_problems++;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	diag("%s: %s", c->name, line);
}

/* --- faults --- */

static int fail_nth_open(void)
{
	int fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Makes the call with its @n-th allocation failing. *fired: there was an n-th. */
static int fail_one(const struct fail_case *c, int fd, unsigned int n, bool *fired)
{
	char number[16] = "";
	int len = snprintf(number, sizeof(number), "%u", n), ret;

	REQUIRE(pwrite(fd, number, len, 0), len);
	ret = c->run(c);
	memset(number, 0, sizeof(number));
	/* What the call left may hit these two: their copies count, too. */
	*fired = pread(fd, number, sizeof(number) - 1, 0) > 0 && atoi(number) == 0;
	while (pwrite(fd, "0", 1, 0) != 1)
		REQUIRE(errno, EFAULT);
	return ret;
}

static bool fail_right_errno(const struct fail_case *c, int ret)
{
	if (ret == -EFAULT || (ret == -ENOMEM && !c->firm))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(c->also) && c->also[i]; i++)
		if (ret == -c->also[i])
			return true;
	return false;
}

static bool fail_as_wanted(const struct fail_case *c, int ret)
{
	return c->want ? ret == c->want : ret >= 0;
}

/* One call with a fault. false: no use to go on. */
static bool fail_round(const struct fail_case *c, int fd, unsigned int n, bool *fired, const struct state *ready)
{
	struct state now;
	int ret;

	ret = fail_one(c, fd, n, fired);
	fail_enomem += ret == -ENOMEM;
	if (fail_as_wanted(c, ret))
		return true;
	if (!*fired) {
		problem(c, "without a fault: %s", strerrorname_np(-ret) ?: "?");
		return false;
	}
	if (!fail_right_errno(c, ret))
		problem(c, "allocation %u: %s", n, ret < 0 ? strerrorname_np(-ret) : "a wrong success");
	if (c->once) {
		c->undo(c);
		c->prepare(c);
	}
	if (!state_settles(ready, &now)) {
		problem(c, "allocation %u: the failure left a trace", n);
		state_diff(ready, &now);
		return false;
	}
	ret = c->run(c);
	if (!fail_as_wanted(c, ret)) {
		problem(c, "allocation %u: made again: %s", n, ret < 0 ? strerrorname_np(-ret) : "a wrong success");
		return false;
	}
	return true;
}

/* All of it. Returns the number of problems. */
static unsigned int fail_sweep(const struct fail_case *c)
{
	unsigned int n, failed = 0;
	struct state rest, ready, now;
	uint64_t start = now_ns();
	bool fired = true, go = true;
	int fd = fail_nth_open();

	REQUIRE_TRUE(fd >= 0);
	state_patience_ms = c->patience_ms ?: SETTLE_MS;
	state_grows = c->grows;
	fail_problems = 0;
	fail_enomem = 0;
	state_rest(&rest);
	for (n = 1; go && fired && n <= FAIL_NTH_CAP; n++) {
		if (c->prepare)
			c->prepare(c);
		if (n == 1) {
			state_rest(&ready);
		} else if (!state_settles(&ready, &now)) {
			problem(c, "before allocation %u: not as before the first", n);
			state_diff(&ready, &now);
			break;
		}
		go = fail_round(c, fd, n, &fired, &ready);
		failed += fired;
		if (go && c->undo)
			c->undo(c);
		if (go && !state_settles(&rest, &now)) {
			problem(c, "allocation %u: something is left behind", n);
			state_diff(&rest, &now);
			go = false;
		}
	}
	close(fd);
	if (go && fired && n > FAIL_NTH_CAP)
		problem(c, "no end after %u allocations", FAIL_NTH_CAP);
	if (fail_enomem < c->needs)
		problem(c, "ENOMEM %u times, not %u: nothing was tested", fail_enomem, c->needs);
	diag("%s: %u faults, %u times ENOMEM, %u problems, %llu ms", c->name, failed, fail_enomem, fail_problems,
	     (unsigned long long)((now_ns() - start) / MS));
	return fail_problems;
}

#define FAIL_NTH(cmd_, name_, ...)						\
	TEST(name_, 1200)							\
	{									\
		static const struct fail_case c = {				\
			.name = #name_, .cmd = (cmd_), __VA_ARGS__		\
		};								\
										\
		EXPECT(fail_sweep(&c), 0);					\
	}

/* --- the kernel's side of it --- */

static bool fail_knob(const char *path, const char *value)
{
	char name[128];
	bool ok;
	FILE *f;

	snprintf(name, sizeof(name), "/sys/kernel/debug/%s", path);
	f = fopen(name, "we");
	if (!f)
		return false;
	ok = fputs(value, f) >= 0;
	return !fclose(f) && ok;
}

/* NULL, or what is missing. Faults also in allocations that may wait, and no line in the log for each. */
static const char *fail_nth_setup(void)
{
	int fd = fail_nth_open();

	if (fd < 0)
		return "no /proc/thread-self/fail-nth: a kernel without CONFIG_FAULT_INJECTION";
	close(fd);
	if (!fail_knob("failslab/ignore-gfp-wait", "N") || !fail_knob("failslab/verbose", "0"))
		return "no /sys/kernel/debug/failslab: a kernel without CONFIG_FAILSLAB or its debugfs";
	if (!fail_knob("fail_usercopy/verbose", "0"))
		return "no /sys/kernel/debug/fail_usercopy: a kernel without CONFIG_FAULT_INJECTION_USERCOPY";
	if (!fail_knob("fail_page_alloc/ignore-gfp-wait", "N") || !fail_knob("fail_page_alloc/min-order", "0") ||
	    !fail_knob("fail_page_alloc/verbose", "0"))
		return "no /sys/kernel/debug/fail_page_alloc: a kernel without CONFIG_FAIL_PAGE_ALLOC or its debugfs";
	return setup_space();
}

#endif /* RDLOCK_TEST_FAIL_NTH_H */
