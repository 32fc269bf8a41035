// SPDX-License-Identifier: GPL-2.0
/* Deadlines are absolute: kept exactly, by every way of waiting, in every time namespace. */
#include <sched.h>
#include <sys/time.h>

#include "common.h"

/* How late a wake-up may be on a loaded emulated machine. Early is never right. */
#define LATE (500 * MS)

static void in_time(uint64_t deadline)
{
	uint64_t now = now_ns();

	if (!EXPECT_TRUE(now >= deadline))
		diag("%llu us early", (unsigned long long)(deadline - now) / 1000);
	if (!EXPECT_TRUE(now < deadline + LATE))
		diag("%llu ms late", (unsigned long long)((now - deadline) / MS));
}

static void held_and_waiter(int *holder, int *waiter)
{
	const char *key = fresh_key("deadline");
	int space = need_space();

	*holder = need_lock(space, key);
	*waiter = need_lock(space, key);
	REQUIRE(lock_acquire(*holder, 0, in_ms(5000), NULL), 0);
}

TEST(a_held_lock_times_out_at_the_deadline, 30)
{
	static const unsigned int waits[] = { 1, 5, 20, 100, 400, 1000 };	/* ms */
	int holder, waiter;

	held_and_waiter(&holder, &waiter);
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		uint64_t deadline = in_ms(waits[i]);

		EXPECT(lock_acquire(waiter, 0, deadline, NULL), -ETIMEDOUT);
		in_time(deadline);
		EXPECT(lock_state(waiter), RDLOCK_FD_IDLE);
		EXPECT(lock_state(holder), RDLOCK_FD_HELD);
	}
	/* nobody is left in the queue */
	EXPECT(lock_release(holder), 0);
	EXPECT(lock_is_free(holder), 0);
	EXPECT(lock_state(waiter), RDLOCK_FD_IDLE);
}

TEST(a_passed_deadline_fails_at_once, 30)
{
	int holder, waiter;
	uint64_t start;

	held_and_waiter(&holder, &waiter);
	for (int held = 1; held >= 0; held--) {
		start = now_ns();
		EXPECT(lock_acquire(waiter, 0, start - 1, NULL), -ETIMEDOUT);
		EXPECT(lock_acquire(waiter, 0, 1, NULL), -ETIMEDOUT);
		EXPECT_TRUE(now_ns() - start < 100 * MS);
		EXPECT(lock_state(waiter), RDLOCK_FD_IDLE);
		if (held)
			EXPECT(lock_release(holder), 0);
	}
	EXPECT(lock_is_free(holder), 0);
}

TEST(a_try_never_waits, 30)
{
	int holder, waiter;
	uint64_t start;

	held_and_waiter(&holder, &waiter);
	start = now_ns();
	for (int i = 0; i < 100; i++)
		EXPECT(lock_acquire(waiter, RDLOCK_ACQUIRE_TRY, NEVER, NULL), -EAGAIN);
	EXPECT_TRUE(now_ns() - start < 2 * SEC);
	EXPECT(lock_state(waiter), RDLOCK_FD_IDLE);
	EXPECT(lock_release(holder), 0);
	EXPECT(lock_is_free(waiter), 0);
}

TEST(a_release_ends_the_wait_before_the_deadline, 30)
{
	int holder, waiter;
	uint64_t start;
	pid_t pid;

	for (int i = 0; i < 10; i++) {
		held_and_waiter(&holder, &waiter);
		pid = spawn();
		if (!pid) {
			sleep_us(50000);
			EXPECT(lock_release(holder), 0);
			exit_test();
		}
		start = now_ns();
		EXPECT(lock_acquire(waiter, 0, i % 2 ? NEVER : in_ms(10000), NULL), 0);
		EXPECT_TRUE(now_ns() - start < 50 * MS + LATE);
		EXPECT(reap(pid), 0);
		EXPECT(lock_release(waiter), 0);
	}
}

TEST(waiters_time_out_each_at_its_own_deadline, 30)
{
	const char *key = fresh_key("deadline");
	int holder = need_lock(need_space(), key);
	pid_t pids[8];

	REQUIRE(lock_acquire(holder, 0, in_ms(5000), NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		pids[i] = spawn();
		if (!pids[i]) {
			int waiter = need_lock(need_space(), key);
			uint64_t deadline = in_ms(1000 - 100 * i);

			EXPECT(lock_acquire(waiter, 0, deadline, NULL), -ETIMEDOUT);
			in_time(deadline);
			exit_test();
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		EXPECT(reap(pids[i]), 0);
	EXPECT(lock_release(holder), 0);
	EXPECT(lock_is_free(holder), 0);
}

static volatile int alarms;

static void on_alarm(int sig)
{
	alarms++;
}

/* C03: the wait starts again with the same deadline, or the grant that came first is kept. */
TEST(a_restarted_wait_keeps_its_deadline, 120)
{
	struct sigaction act = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct itimerval every = { { 0, 20000 }, { 0, 20000 } }, never = { { 0, 0 }, { 0, 0 } };

	sigaction(SIGALRM, &act, NULL);
	for (unsigned int i = 0; i < 2 * scaled(100); i++) {
		int holder, waiter, ret;
		uint64_t deadline;
		pid_t pid;

		held_and_waiter(&holder, &waiter);
		pid = spawn();
		if (!pid) {
			sleep_us(i % 2 ? 150000 : 450000);
			EXPECT(lock_release(holder), 0);
			exit_test();
		}
		alarms = 0;
		setitimer(ITIMER_REAL, &every, NULL);
		deadline = in_ms(300);
		ret = lock_acquire(waiter, 0, deadline, NULL);
		setitimer(ITIMER_REAL, &never, NULL);
		if (i % 2) {
			EXPECT(ret, 0);
			EXPECT(lock_state(waiter), RDLOCK_FD_HELD);
			EXPECT(lock_release(waiter), 0);
		} else {
			EXPECT(ret, -ETIMEDOUT);
			in_time(deadline);
			EXPECT(lock_state(waiter), RDLOCK_FD_IDLE);
		}
		EXPECT_TRUE(alarms >= 3);
		EXPECT(reap(pid), 0);
		EXPECT(lock_is_free(holder), 0);
		close(holder);
		close(waiter);
	}
}

/* Where CLOCK_MONOTONIC is @seconds ahead of the machine's. */
static void in_time_namespace(long seconds)
{
	int holder, waiter, fd;
	uint64_t deadline;
	char offset[64];
	pid_t pid;

	held_and_waiter(&holder, &waiter);
	if (unshare(CLONE_NEWTIME)) {
		if (errno == EINVAL || errno == ENOSYS)
			skip_test("no time namespaces in this kernel");
		REQUIRE(-errno, 0);
	}
	fd = open("/proc/self/timens_offsets", O_WRONLY);
	REQUIRE_TRUE(fd >= 0);
	snprintf(offset, sizeof(offset), "monotonic %ld 0", seconds);
	REQUIRE(write(fd, offset, strlen(offset)), strlen(offset));
	close(fd);
	deadline = in_ms(0);
	pid = spawn();
	if (!pid) {
		struct rdlock_space_stat st;
		int space = need_space();

		/* the namespace works at all */
		EXPECT_TRUE(now_ns() - deadline >= seconds * SEC && now_ns() - deadline < (seconds + 10) * SEC);
		deadline = in_ms(300);
		EXPECT(lock_acquire(waiter, 0, deadline, NULL), -ETIMEDOUT);
		in_time(deadline);
		EXPECT(lock_acquire(waiter, 0, now_ns() - MS, NULL), -ETIMEDOUT);
		fcntl(waiter, F_SETFL, O_NONBLOCK);
		deadline = in_ms(300);
		EXPECT(lock_acquire(waiter, 0, deadline, NULL), -EAGAIN);
		EXPECT(poll(&(struct pollfd){ .fd = waiter, .events = POLLIN }, 1, 5000), 1);
		in_time(deadline);
		EXPECT(lock_acquire(waiter, 0, deadline, NULL), -ETIMEDOUT);
		EXPECT(space_stat(space, &st), 0);
		EXPECT_TRUE(st.out_since <= now_ns());
		if (seconds > 0)
			EXPECT_TRUE(st.out_since > (uint64_t)seconds * SEC);
		exit_test();
	}
	EXPECT(reap(pid), 0);
	EXPECT(lock_release(holder), 0);
	EXPECT(lock_is_free(holder), 0);
}

TEST(deadlines_are_of_the_callers_time_namespace, 30)
{
	in_time_namespace(1000000);
}

TEST(info_says_that_time_namespaces_are_respected, 30)
{
	struct rdlock_info info = { .size = sizeof(info) };

	EXPECT(call(need_dev(), RDLOCK_IOC_INFO, &info), 0);
	if (access("/proc/self/timens_offsets", F_OK))
		skip_test("no time namespaces in this kernel");
	EXPECT_TRUE(info.out_features & RDLOCK_FEATURE_TIMENS);
}

int main(int argc, char **argv)
{
	return tap_main(argc, argv, setup_space);
}
