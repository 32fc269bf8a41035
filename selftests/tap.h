/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A small test harness: every test in a process group of its own, with a time limit, results as TAP. Used in place of
 * kselftest_harness.h because it needs nothing but libc, so that one source builds as static 64-bit, 32-bit and x32
 * program.
 *
 *	TEST(name, seconds) { ... EXPECT(call(), -EINVAL); ... }
 *	int main(int argc, char **argv) { return tap_main(argc, argv, setup); }
 *
 * EXPECT notes a difference and goes on, REQUIRE ends the test there. Both also work in the processes a test forks, if
 * those end by exit_test() and the test waits for them by reap().
 */
#ifndef RDLOCK_TEST_TAP_H
#define RDLOCK_TEST_TAP_H

#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef __printf
#define __printf(f, a) __attribute__((format(printf, f, a)))
#endif
#ifndef __noreturn
#define __noreturn __attribute__((noreturn))
#endif

#define TAP_SKIP 4

struct tap_test {
	const char *name;
	void (*run)(void);
	unsigned int seconds;
	struct tap_test *next;
};

static struct tap_test *tap_first;
static struct tap_test **tap_last = &tap_first;
static volatile bool tap_failed;
static char *tap_reason;	/* for a skip; shared with the test's process */

static inline void tap_add(struct tap_test *test)
{
	*tap_last = test;
	tap_last = &test->next;
}

#define TEST(name_, seconds_)							\
	static void name_(void);						\
	static struct tap_test name_##_test = {					\
		.name = #name_, .run = name_, .seconds = seconds_,		\
	};									\
	static void __attribute__((constructor)) name_##_add(void)		\
	{									\
		tap_add(&name_##_test);						\
	}									\
	static void name_(void)

static inline void __printf(1, 2) diag(const char *fmt, ...)
{
	char line[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	printf("# %s\n", line);
	fflush(stdout);
}

static inline void __noreturn exit_test(void)
{
	fflush(stdout);
	_exit(tap_failed ? 1 : 0);
}

static inline void __noreturn skip_test(const char *reason)
{
	if (tap_reason)
		snprintf(tap_reason, 256, "%s", reason);
	fflush(stdout);
	_exit(TAP_SKIP);
}

/* A number for people: results of calls are negative errnos. */
static inline void tap_number(char *buf, size_t size, long long v)
{
	const char *name = v < 0 && v > -4096 ? strerrorname_np((int)-v) : NULL;

	if (name)
		snprintf(buf, size, "-%s", name);
	else
		snprintf(buf, size, "%lld", v);
}

static inline bool tap_compare(const char *file, int line, const char *what, long long got, long long want)
{
	char a[64], b[64];

	if (got == want)
		return true;
	tap_failed = true;
	tap_number(a, sizeof(a), got);
	tap_number(b, sizeof(b), want);
	diag("%s:%d: %s is %s, not %s", file, line, what, a, b);
	return false;
}

static inline bool tap_true(const char *file, int line, const char *what, bool good)
{
	if (good)
		return true;
	tap_failed = true;
	diag("%s:%d: not true: %s", file, line, what);
	return false;
}

#define EXPECT(got, want) tap_compare(__FILE__, __LINE__, #got, (long long)(got), (long long)(want))
#define REQUIRE(got, want)							\
	do {									\
		if (!EXPECT(got, want))						\
			exit_test();						\
	} while (0)
#define EXPECT_TRUE(cond) tap_true(__FILE__, __LINE__, #cond, cond)
#define REQUIRE_TRUE(cond)							\
	do {									\
		if (!EXPECT_TRUE(cond))						\
			exit_test();						\
	} while (0)

/* A process of the test; it dies with its parent. Returns 0 in the child. */
static inline pid_t spawn(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* Its exit status, or 1000 + the signal that ended it. */
static inline int reap(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static inline void *shared_page(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return page == MAP_FAILED ? NULL : page;
}

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static inline void sleep_us(uint64_t us)
{
	struct timespec ts = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/* Loops and kills are written with their full count; SCALE (0.05 unless told) shortens them. */
static inline unsigned int scaled(unsigned int count)
{
	const char *scale = getenv("SCALE");
	double n = count * (scale && *scale ? atof(scale) : 0.05);

	return n < 1 ? 1 : (unsigned int)n;
}

/* A kernel that is slow says so: its limits are PATIENCE times as long. */
static inline unsigned int patient(unsigned int limit)
{
	const char *patience = getenv("PATIENCE");
	int n = patience ? atoi(patience) : 1;

	return n > 1 ? limit * n : limit;
}

static inline int tap_run(struct tap_test *test)
{
	sigset_t chld;
	struct timespec left;
	/* Full counts, on a machine that has several scenarios to run at once. */
	unsigned int seconds = patient(test->seconds) * (scaled(100) > 50 ? 4 : 1);
	uint64_t end = now_ns() + seconds * 1000000000ULL;
	int status = 0;
	pid_t pid;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		setpgid(0, 0);
		sigprocmask(SIG_UNBLOCK, &chld, NULL);
		test->run();
		exit_test();
	}
	setpgid(pid, pid);
	while (!waitpid(pid, &status, WNOHANG)) {
		uint64_t now = now_ns();

		if (now >= end) {
			diag("%s: not done after %u s", test->name, seconds);
			kill(-pid, SIGKILL);
			waitpid(pid, &status, 0);
			return 1;
		}
		left.tv_sec = (end - now) / 1000000000;
		left.tv_nsec = (end - now) % 1000000000;
		sigtimedwait(&chld, NULL, &left);
	}
	kill(-pid, SIGKILL);
	if (WIFSIGNALED(status)) {
		diag("%s: ended by signal %d", test->name, WTERMSIG(status));
		return 1;
	}
	return WEXITSTATUS(status);
}

/*
 * Arguments choose tests by pattern. @setup runs once before them: NULL, or why nothing can run here. An EXPECT in
 * it that is not met fails the program. Exit status 0, 1, or TAP_SKIP.
 */
static inline int tap_main(int argc, char **argv, const char *(*setup)(void))
{
	const char *reason;
	struct tap_test *test;
	unsigned int planned = 0, n = 0, failed = 0;
	int ret, i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n");
	tap_reason = shared_page();
	reason = setup ? setup() : NULL;
	if (reason) {
		printf("1..0 # SKIP %s\n", reason);
		return TAP_SKIP;
	}
	if (tap_failed) {
		printf("1..1\nnot ok 1 setup\n");
		return 1;
	}
	for (test = tap_first; test; test = test->next) {
		bool chosen = argc < 2;

		for (i = 1; i < argc; i++)
			chosen |= !fnmatch(argv[i], test->name, 0);
		if (!chosen)
			test->run = NULL;
		planned += chosen;
	}
	printf("1..%u\n", planned);
	for (test = tap_first; test; test = test->next) {
		if (!test->run)
			continue;
		ret = tap_run(test);
		n++;
		if (ret == TAP_SKIP)
			printf("ok %u %s # SKIP %s\n", n, test->name, tap_reason);
		else
			printf("%sok %u %s\n", ret ? "not " : "", n, test->name);
		failed += ret && ret != TAP_SKIP;
	}
	return failed || !planned;
}

#endif /* RDLOCK_TEST_TAP_H */
