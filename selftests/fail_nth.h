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

#include "common.h"

#define FAIL_NTH_CAP	2000	/* a call that makes more allocations than that is not what we think it is */
#define SETTLE_MS	15000	/* a node that had to be reached again is there, and a lock that was recovered */

/**
 * struct fail_case - one call
 * @name: of the case, which may be a variant of its ioctl
 * @cmd: the ioctl, 0 for another call
 * @prepare: brings about what the call needs, without faults
 * @run: the call and nothing else; negative errno, or something that is none
 * @undo: takes back what @prepare and a successful @run have done
 * @want: what @run answers without faults: a negative errno, or 0 for any success
 * @also: errnos other than ENOMEM and EFAULT that are right, 0-terminated
 * @needs: least number of allocations that must have failed, or the sweep has tested nothing
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

static unsigned int fail_problems;
static const struct fail_case *fail_now;

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

/* --- the state, as lines of text --- */

struct state {
	char text[16384];
	size_t len;
};

static void __printf(2, 3) state_add(struct state *s, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(s->text + s->len, sizeof(s->text) - s->len, fmt, args);
	va_end(args);
	REQUIRE_TRUE(n >= 0 && s->len + n < sizeof(s->text));
	s->len += n;
}

static void state_spaces(struct state *s)
{
	static struct rdlock_space_stat stats[16];
	struct rdlock_space_list list = {
		.size = sizeof(list), .count = ARRAY_SIZE(stats), .stat_size = sizeof(stats[0]),
		.stats = (uintptr_t)stats,
	};
	int dev = need_dev();

	REQUIRE(call(dev, RDLOCK_IOC_SPACE_LIST, &list), 0);
	close(dev);
	REQUIRE_TRUE(list.out_total <= ARRAY_SIZE(stats));
	for (uint32_t i = 0; i < list.out_total; i++) {
		struct rdlock_space_stat *st = &stats[i];

		state_add(s, "space %.*s state=%u reason=%u members=%u openers=%u dev=%s\n", (int)st->out_name_len,
			  st->out_name, st->out_state, st->out_reason, st->out_members, st->out_openers, st->out_dev);
	}
}

/*
 * A lock that had to be recovered has another word, epoch and token, and a key that was opened again may have another
 * place: right, and no trace of a failure. All else of a line of the dump counts.
 */
static void state_line(struct state *s, const char *space, char *line)
{
	static const char *const vary[] = { "word=", "epoch=", "ticket=", "token=", "table=", "index=" };
	char *word, *rest = NULL;

	state_add(s, "%s:", space);
	for (word = strtok_r(line, "\n ", &rest); word; word = strtok_r(NULL, "\n ", &rest)) {
		bool same = true;

		for (size_t i = 0; i < ARRAY_SIZE(vary); i++)
			same &= strncmp(word, vary[i], strlen(vary[i])) != 0;
		if (same)
			state_add(s, " %s", word);
	}
	state_add(s, "\n");
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void state_dump(struct state *s, const char *space)
{
	char path[320], *lines[256], *line = NULL;
	size_t room = 0, n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/debug/rdlock/%s/locks", space);
	f = fopen(path, "r");
	if (!f) {
		/* The folder was listed and has gone since: the next look will tell. */
		state_add(s, "%s: no dump\n", space);
		return;
	}
	while (n < ARRAY_SIZE(lines) && getline(&line, &room, f) > 0)
		lines[n++] = strdup(line);
	fclose(f);
	free(line);
	REQUIRE_TRUE(n < ARRAY_SIZE(lines));
	/* The dump's order is that of a hash and of openings. */
	qsort(lines, n, sizeof(lines[0]), by_text);
	for (size_t i = 0; i < n; i++) {
		if (!fail_now->grows || strncmp(lines[i], fail_now->grows, strlen(fail_now->grows)))
			state_line(s, space, lines[i]);
		free(lines[i]);
	}
}

static void state_dumps(struct state *s)
{
	struct dirent **names;
	int n = scandir("/sys/kernel/debug/rdlock", &names, NULL, alphasort);

	REQUIRE_TRUE(n >= 0);
	for (int i = 0; i < n; i++) {
		if (names[i]->d_name[0] != '.' && strcmp(names[i]->d_name, "fault"))
			state_dump(s, names[i]->d_name);
		free(names[i]);
	}
	free(names);
}

/* Objects at the RDMA devices: a queue pair or a key that an error path forgot. */
static void state_rdma(struct state *s)
{
	FILE *f = popen("/sbin/rdma resource show", "re");
	char line[256];
	bool any = false;

	REQUIRE_TRUE(f);
	while (fgets(line, sizeof(line), f)) {
		any = true;
		state_add(s, "%s", line);
	}
	REQUIRE(pclose(f), 0);
	REQUIRE_TRUE(any);
}

static void state_module(struct state *s)
{
	FILE *f = fopen("/sys/module/rdlock/refcnt", "re");
	int refs = -1;

	REQUIRE_TRUE(f && fscanf(f, "%d", &refs) == 1);
	fclose(f);
	state_add(s, "module refs=%d\nfds=%d\n", refs, count_fds());
}

static void state_get(struct state *s)
{
	s->len = 0;
	state_spaces(s);
	state_dumps(s);
	state_rdma(s);
	state_module(s);
}

static void state_diff(const struct state *want, const struct state *got)
{
	const char *a = want->text, *b = got->text;

	while (*a || *b) {
		int n = strcspn(a, "\n"), m = strcspn(b, "\n");

		if (n != m || strncmp(a, b, n))
			diag("  was: %.*s   is: %.*s", n, a, m, b);
		a += n + !!a[n];
		b += m + !!b[m];
	}
}

/* Closing and recovering end behind the call. */
static bool state_settles(const struct state *want, struct state *got)
{
	uint64_t end = in_ms(fail_now->patience_ms ?: SETTLE_MS);

	for (;;) {
		state_get(got);
		if (got->len == want->len && !memcmp(got->text, want->text, got->len))
			return true;
		if (now_ns() >= end)
			return false;
		sleep_us(20000);
	}
}

/* The state once nothing moves any more. */
static void state_rest(struct state *s)
{
	struct state again;

	state_get(s);
	for (int i = 0; i < 100; i++) {
		sleep_us(300000);
		state_get(&again);
		if (again.len == s->len && !memcmp(again.text, s->text, s->len))
			return;
		*s = again;
	}
	EXPECT_TRUE(!"the state comes to rest");
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
	fail_now = c;
	fail_problems = 0;
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
	if (failed < c->needs)
		problem(c, "only %u allocations failed, not %u: nothing was tested", failed, c->needs);
	diag("%s: %u allocations failed, %u problems, %llu ms", c->name, failed, fail_problems,
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
	if (!fail_knob("fail_page_alloc/ignore-gfp-wait", "N") || !fail_knob("fail_page_alloc/min-order", "0") ||
	    !fail_knob("fail_page_alloc/verbose", "0"))
		return "no /sys/kernel/debug/fail_page_alloc: a kernel without CONFIG_FAIL_PAGE_ALLOC or its debugfs";
	return setup_space();
}

#endif /* RDLOCK_TEST_FAIL_NTH_H */
