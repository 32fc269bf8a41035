// SPDX-License-Identifier: GPL-2.0
/*
 * Signals at random moments. Whatever a call says of its end is what the lock is: a grant that was told is held, one
 * that was not told is nobody's. Processes are killed by the hundreds; nothing of them stays.
 */
#include <sys/time.h>

#include "common.h"

struct page {
	volatile uint64_t held;		/* rounds: the holder holds */
	volatile uint64_t taken;	/* rounds: the waiter is done */
	volatile uint64_t progress;
	volatile int inside;
	volatile int overlap;
};

static struct page *page;
static volatile int alarms;

static void on_alarm(int sig)
{
	alarms++;
}

/* Of a timer that ends when it has come often enough since the other waiter is there. */
static void on_alarm_of_place(int sig)
{
	alarms++;
	if (page->taken < 2 || ++page->progress < 20)
		return;
	setitimer(ITIMER_REAL, &(struct itimerval){}, NULL);
	page->inside = 1;
}

static void alarm_by(int flags)
{
	struct sigaction act = { .sa_handler = on_alarm, .sa_flags = flags };

	sigaction(SIGALRM, &act, NULL);
}

static void alarm_in(unsigned int us)
{
	struct itimerval it = { .it_value.tv_usec = us };

	setitimer(ITIMER_REAL, &it, NULL);
}

/* At rest: not had, or kept idle by the node that had it last. */
static bool at_rest(const char *line)
{
	return strstr(line, " state=NONE waiters=0 user=0 ") || strstr(line, " state=CACHED waiters=0 user=0 ");
}

/* Nobody holds, nobody waits: taken at once, and debugfs names no user of the key. */
static void nothing_is_left(const char *key)
{
	int lock = need_lock(need_space(), key);
	char line[512] = "";

	REQUIRE(lock_is_free(lock), 0);
	EXPECT(lock_state(lock), RDLOCK_FD_IDLE);
	/* the release of that is still on its way for a moment */
	for (int i = 0; i < 1000; i++) {
		if (debugfs_line(the_space(), "agent ", key, line, sizeof(line)) && at_rest(line))
			break;
		sleep_us(1000);
	}
	if (!EXPECT_TRUE(at_rest(line)))
		diag("debugfs: %s", line);
	if (!atoi(env_or("RDLOCK_NODE", "0"))) {
		REQUIRE_TRUE(debugfs_line(the_space(), "lock ", key, line, sizeof(line)));
		/* Of a lock that a node keeps, the word counts one writer. */
		if (!EXPECT_TRUE(strstr(line, " readers=0 ") &&
				 (strstr(line, " writers=0 ") || strstr(line, " writers=1 "))))
			diag("debugfs: %s", line);
	}
	close(lock);
}

/* C02: an alarm around the moment of the grant. */
static void alarms_around_the_grant(int sa_flags)
{
	const char *key = fresh_key("alarm");
	int space = need_space(), waiter, third;
	unsigned int rounds = scaled(10000), granted = 0, interrupted = 0;
	unsigned int seed = 1;
	pid_t holder;

	page = shared_page();
	holder = spawn();
	if (!holder) {
		int lock = need_lock(space, key);
		unsigned int hseed = 2;

		for (unsigned int i = 1; i <= rounds; i++) {
			REQUIRE(lock_acquire(lock, 0, in_ms(10000), NULL), 0);
			page->held = i;
			sleep_us(rand_r(&hseed) % 2000);
			REQUIRE(lock_release(lock), 0);
			while (page->taken < i)
				sleep_us(50);
		}
		exit_test();
	}
	waiter = need_lock(space, key);
	third = need_lock(space, key);
	alarm_by(sa_flags);
	for (unsigned int i = 1; i <= rounds; i++) {
		uint64_t token = 0;
		int ret;

		while (page->held < i)
			sleep_us(50);
		alarm_in(1 + rand_r(&seed) % 2500);
		ret = lock_acquire(waiter, 0, in_ms(10000), &token);
		alarm_in(0);
		if (!ret) {
			granted++;
			EXPECT(lock_state(waiter), RDLOCK_FD_HELD);
			EXPECT(lock_try(third), -EAGAIN);
			REQUIRE(lock_release(waiter), 0);
		} else {
			interrupted++;
			REQUIRE(ret, -EINTR);
			EXPECT(lock_state(waiter), RDLOCK_FD_IDLE);
			EXPECT(lock_release(waiter), -EPERM);
			REQUIRE(lock_acquire(third, 0, in_ms(2000), NULL), 0);
			REQUIRE(lock_release(third), 0);
		}
		page->taken = i;
	}
	EXPECT(reap(holder), 0);
	diag("%u granted, %u interrupted", granted, interrupted);
	EXPECT(granted + interrupted, rounds);
	EXPECT_TRUE(granted > 0);
	if (sa_flags & SA_RESTART)
		EXPECT(interrupted, 0);
	else
		EXPECT_TRUE(interrupted > 0);
	close(waiter);
	close(third);
	nothing_is_left(key);
}

TEST(an_alarm_without_sa_restart_ends_in_grant_or_eintr, 300)
{
	alarms_around_the_grant(0);
}

TEST(an_alarm_with_sa_restart_ends_in_a_grant, 300)
{
	alarms_around_the_grant(SA_RESTART);
}

/* Signals that come faster than the lock changes hands: who is interrupted waits on where it was. */
static void place_is_kept(int sa_flags)
{
	const char *key = fresh_key("place");
	int space = need_space(), first = need_lock(space, key);
	struct itimerval every = { .it_value.tv_usec = 5000, .it_interval.tv_usec = 5000 };
	pid_t pids[2];

	page = shared_page();
	REQUIRE(lock_acquire(first, 0, in_ms(5000), NULL), 0);
	for (int i = 0; i < 2; i++) {
		pids[i] = spawn();
		if (!pids[i]) {
			int lock = need_lock(space, key), ret;

			if (!i) {
				struct sigaction act = { .sa_handler = on_alarm_of_place, .sa_flags = sa_flags };

				sigaction(SIGALRM, &act, NULL);
				setitimer(ITIMER_REAL, &every, NULL);
			}
			do
				ret = lock_acquire(lock, 0, in_ms(20000), NULL);
			while (ret == -EINTR);
			REQUIRE(ret, 0);
			page->held = page->held * 10 + i + 1;
			REQUIRE(lock_release(lock), 0);
			exit_test();
		}
		/* It waits, and is interrupted before and after the other has come. */
		sleep_us(200000);
		page->taken = i + 1;
	}
	while (!page->inside)
		sleep_us(1000);
	/* It was away for a moment. */
	sleep_us(100000);
	EXPECT(lock_release(first), 0);
	for (int i = 0; i < 2; i++)
		EXPECT(reap(pids[i]), 0);
	EXPECT(page->held, 12);
	close(first);
	nothing_is_left(key);
}

TEST(an_interrupted_waiter_keeps_its_place, 60)
{
	for (int i = 0; i < 5; i++) {
		place_is_kept(SA_RESTART);
		place_is_kept(0);
	}
}

TEST(a_signal_that_is_ignored_does_not_end_the_wait, 30)
{
	const char *key = fresh_key("ignored");
	int space = need_space(), a = need_lock(space, key), b = need_lock(space, key);
	uint64_t deadline;

	signal(SIGALRM, SIG_IGN);
	REQUIRE(lock_acquire(a, 0, in_ms(5000), NULL), 0);
	alarm_in(50000);
	deadline = in_ms(200);
	EXPECT(lock_acquire(b, 0, deadline, NULL), -ETIMEDOUT);
	EXPECT_TRUE(now_ns() >= deadline);
}

/* C01: it waits for ever, and is gone at once. */
TEST(a_killed_waiter_is_gone_at_once, 60)
{
	const char *key = fresh_key("waiter");
	int holder = need_lock(need_space(), key);
	unsigned int rounds = 2 * scaled(200);

	for (unsigned int i = 0; i < rounds; i++) {
		uint64_t start;
		pid_t pid;

		REQUIRE(lock_acquire(holder, 0, in_ms(1000), NULL), 0);
		pid = spawn();
		if (!pid) {
			lock_acquire(need_lock(need_space(), key), 0, NEVER, NULL);
			exit_test();
		}
		sleep_us(i * 997 % 20000);
		start = now_ns();
		kill(pid, SIGKILL);
		EXPECT(reap(pid), 1000 + SIGKILL);
		EXPECT_TRUE(now_ns() - start < SEC);
		EXPECT(lock_state(holder), RDLOCK_FD_HELD);
		EXPECT(lock_release(holder), 0);
	}
	nothing_is_left(key);
}

/* C22 */
TEST(a_killed_holder_frees_the_lock, 60)
{
	const char *key = fresh_key("holder");
	int lock = need_lock(need_space(), key);
	unsigned int rounds = 2 * scaled(200);
	uint64_t last = 0, token;

	page = shared_page();
	for (unsigned int i = 1; i <= rounds; i++) {
		pid_t pid = spawn();

		if (!pid) {
			REQUIRE(lock_acquire(need_lock(need_space(), key), 0, in_ms(5000), NULL), 0);
			page->held = i;
			for (;;)
				pause();
		}
		while (page->held < i)
			sleep_us(100);
		EXPECT(lock_try(lock), -EAGAIN);
		kill(pid, SIGKILL);
		/* a waiter need not see the process gone */
		if (i % 2)
			EXPECT(reap(pid), 1000 + SIGKILL);
		REQUIRE(lock_acquire(lock, 0, in_ms(1000), &token), 0);
		EXPECT_TRUE(token > last);
		last = token;
		EXPECT(lock_release(lock), 0);
		if (i % 2 == 0)
			EXPECT(reap(pid), 1000 + SIGKILL);
	}
	nothing_is_left(key);
}

static void take_and_give(const char *key, unsigned int seed)
{
	int lock = need_lock(need_space(), key);

	for (;;) {
		if (lock_acquire(lock, 0, rand_r(&seed) % 4 ? NEVER : in_ms(5), NULL))
			continue;
		/* the killed one leaves its mark: what follows must not take that for a rival */
		page->inside = getpid();
		if (rand_r(&seed) % 2)
			sleep_us(rand_r(&seed) % 1000);
		if (page->inside != getpid())
			page->overlap++;
		page->progress++;
		if (lock_release(lock))
			page->overlap++;
	}
}

/* C01, C22, C23: holders and waiters, killed at random moments, some two at once. */
TEST(kill_storm, 600)
{
	const char *key = fresh_key("storm");
	unsigned int kills = scaled(2000), seed = 3;
	pid_t pids[5];

	page = shared_page();
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		pids[i] = spawn();
		if (!pids[i])
			take_and_give(key, i);
	}
	for (unsigned int k = 0; k < kills; k++) {
		size_t i = rand_r(&seed) % ARRAY_SIZE(pids), j = (i + 1) % ARRAY_SIZE(pids);
		bool two = rand_r(&seed) % 4 == 0;

		sleep_us(rand_r(&seed) % 8000);
		kill(pids[i], SIGKILL);
		if (two)
			kill(pids[j], SIGKILL);
		EXPECT(reap(pids[i]), 1000 + SIGKILL);
		pids[i] = spawn();
		if (!pids[i])
			take_and_give(key, 100 + k);
		if (!two)
			continue;
		EXPECT(reap(pids[j]), 1000 + SIGKILL);
		pids[j] = spawn();
		if (!pids[j])
			take_and_give(key, 10000 + k);
		k++;
	}
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		kill(pids[i], SIGKILL);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		EXPECT(reap(pids[i]), 1000 + SIGKILL);
	diag("%u kills, %llu rounds between them", kills, (unsigned long long)page->progress);
	EXPECT(page->overlap, 0);
	EXPECT_TRUE(page->progress > 0);
	nothing_is_left(key);
}

TEST(killed_while_opening, 120)
{
	unsigned int rounds = scaled(1000);
	const char *key = fresh_key("opening");
	int dev = need_dev();
	unsigned int seed = 4;
	struct rdlock_space_stat before, after;
	int space = need_space();

	EXPECT(space_stat(space, &before), 0);
	for (unsigned int i = 0; i < rounds; i++) {
		pid_t pid = spawn();

		if (!pid) {
			for (;;) {
				int s = space_open(dev, the_space());
				int lock = lock_open(s, key, 0), counter = counter_open(s, key, 1);

				close(s);
				close(lock);
				close(counter);
			}
		}
		sleep_us(rand_r(&seed) % 6000);
		kill(pid, SIGKILL);
		EXPECT(reap(pid), 1000 + SIGKILL);
	}
	EXPECT(space_stat(space, &after), 0);
	EXPECT(after.out_openers, before.out_openers);
	nothing_is_left(key);
}

/* C05: the withdrawal of one waiter touches no other. */
TEST(waiters_of_many_locks_killed_one_at_a_time, 120)
{
	enum { N = 32 };
	int space = need_space(), held[N], order[N];
	unsigned int seed = 5;
	char keys[N][32];
	pid_t pids[N];

	for (int i = 0; i < N; i++) {
		snprintf(keys[i], sizeof(keys[i]), "each.%d.%d", getpid(), i);
		held[i] = need_lock(space, keys[i]);
		REQUIRE(lock_acquire(held[i], 0, in_ms(5000), NULL), 0);
		order[i] = i;
		pids[i] = spawn();
		if (!pids[i]) {
			int ret = lock_acquire(need_lock(space, keys[i]), 0, NEVER, NULL);

			_exit(ret ? 1 : 7);
		}
	}
	for (int i = N - 1; i > 0; i--) {
		int j = rand_r(&seed) % (i + 1), t = order[i];

		order[i] = order[j];
		order[j] = t;
	}
	sleep_us(200000);
	/* half are killed, in one order; half get their lock, in another */
	for (int i = 0; i < N / 2; i++) {
		int victim = order[i], lucky = order[N - 1 - i];

		kill(pids[victim], SIGKILL);
		EXPECT(lock_release(held[lucky]), 0);
		EXPECT(reap(pids[victim]), 1000 + SIGKILL);
		EXPECT(reap(pids[lucky]), 7);
		EXPECT(lock_state(held[victim]), RDLOCK_FD_HELD);
	}
	for (int i = 0; i < N; i++)
		close(held[i]);
	for (int i = 0; i < N; i++)
		nothing_is_left(keys[i]);
}

TEST(stop_and_continue_do_not_end_a_wait, 30)
{
	const char *key = fresh_key("stop");
	int a = need_lock(need_space(), key);
	int status;
	pid_t pid;

	REQUIRE(lock_acquire(a, 0, in_ms(5000), NULL), 0);
	pid = spawn();
	if (!pid) {
		int b = need_lock(need_space(), key);
		uint64_t deadline = in_ms(600);
		int ret = lock_acquire(b, 0, deadline, NULL);

		EXPECT(ret, -ETIMEDOUT);
		EXPECT_TRUE(now_ns() >= deadline);
		EXPECT(lock_state(b), RDLOCK_FD_IDLE);
		exit_test();
	}
	sleep_us(100000);
	kill(pid, SIGSTOP);
	EXPECT(waitpid(pid, &status, WUNTRACED), pid);
	sleep_us(100000);
	kill(pid, SIGCONT);
	EXPECT(reap(pid), 0);
	EXPECT(lock_release(a), 0);
	nothing_is_left(key);
}

/* C15: a join that cannot end is killable and leaves no half-made space. */
TEST(a_killed_join_leaves_no_space, 60)
{
	int dev = need_dev();

	for (unsigned int i = 0; i < 3; i++) {
		uint64_t start;
		pid_t pid = spawn();

		if (!pid) {
			space_join(dev, "signal.join", "10.77.0.250", 1, NEVER);
			_exit(0);
		}
		sleep_us(20000 + i * 300000);
		start = now_ns();
		kill(pid, SIGKILL);
		EXPECT(reap(pid), 1000 + SIGKILL);
		/* the address may be in the course of being resolved; that has its own short bound */
		EXPECT_TRUE(now_ns() - start < 3 * SEC);
		EXPECT(space_open(dev, "signal.join"), -ENOENT);
	}
}

int main(int argc, char **argv)
{
	return tap_main(argc, argv, setup_space);
}
