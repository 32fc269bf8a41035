// SPDX-License-Identifier: GPL-2.0
/* One holder at a time, whoever asks; tokens that grow; and what an fd says of itself in every state. */
#include <pthread.h>
#include <sched.h>

#include "common.h"

struct page {
	volatile uint64_t unprotected;	/* what the lock guards, read and written in two steps */
	volatile uint64_t last_token;
	volatile int inside;
	volatile int go;
};

static struct page *page;

/* @rounds times: alone inside, with a larger token than whoever was before. Runs in a process of its own. */
static void contend(const char *key, unsigned int rounds, bool tries)
{
	int lock = need_lock(need_space(), key);
	uint64_t token, seen;

	while (!page->go)
		sleep_us(100);
	while (rounds--) {
		int ret;

		do
			ret = lock_acquire(lock, tries ? RDLOCK_ACQUIRE_TRY : 0, NEVER, &token);
		while (tries && ret == -EAGAIN);
		REQUIRE(ret, 0);
		EXPECT(__sync_fetch_and_add(&page->inside, 1), 0);
		EXPECT_TRUE(token > page->last_token);
		page->last_token = token;
		seen = page->unprotected;
		if (rounds % 4 == 0)
			sched_yield();
		page->unprotected = seen + 1;
		EXPECT(__sync_fetch_and_sub(&page->inside, 1), 1);
		REQUIRE(lock_release(lock), 0);
	}
	exit_test();
}

static void many_contend(unsigned int procs, unsigned int rounds, bool tries)
{
	const char *key = fresh_key("excl");
	pid_t pids[16];

	page = shared_page();
	REQUIRE_TRUE(page);
	for (unsigned int i = 0; i < procs; i++) {
		pids[i] = spawn();
		if (!pids[i])
			contend(key, rounds, tries);
	}
	page->go = 1;
	for (unsigned int i = 0; i < procs; i++)
		EXPECT(reap(pids[i]), 0);
	EXPECT(page->unprotected, (uint64_t)procs * rounds);
	EXPECT(lock_is_free(need_lock(need_space(), key)), 0);
}

TEST(processes_exclude_each_other, 120)
{
	many_contend(8, scaled(5000), false);
}

TEST(tries_exclude_each_other, 120)
{
	many_contend(3, scaled(2000), true);
}

static void *thread_contends(void *arg)
{
	const char *key = arg;
	int lock = need_lock(need_space(), key);

	for (unsigned int i = scaled(5000); i; i--) {
		uint64_t seen;

		EXPECT(lock_acquire(lock, 0, NEVER, NULL), 0);
		seen = page->unprotected;
		sched_yield();
		page->unprotected = seen + 1;
		EXPECT(lock_release(lock), 0);
	}
	close(lock);
	return NULL;
}

TEST(threads_with_handles_of_their_own_exclude_each_other, 120)
{
	const char *key = fresh_key("threads");
	pthread_t threads[4];

	page = shared_page();
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		REQUIRE(pthread_create(&threads[i], NULL, thread_contends, (void *)key), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	EXPECT(page->unprotected, ARRAY_SIZE(threads) * scaled(5000));
}

TEST(two_keys_are_two_locks, 30)
{
	int space = need_space();
	int a = need_lock(space, fresh_key("two")), b = need_lock(space, fresh_key("two"));
	uint64_t ta, tb;

	EXPECT(lock_acquire(a, 0, in_ms(5000), &ta), 0);
	EXPECT(lock_acquire(b, 0, in_ms(5000), &tb), 0);
	EXPECT(lock_state(a), RDLOCK_FD_HELD);
	EXPECT(lock_state(b), RDLOCK_FD_HELD);
	EXPECT(lock_release(a), 0);
	EXPECT(lock_state(b), RDLOCK_FD_HELD);
	EXPECT(lock_release(b), 0);
}

/* More than the module's budget, and nobody else wants it: none waits for another to leave. */
TEST(readers_join_readers_however_many, 60)
{
	int space = need_space(), fds[60], writer;
	const char *key = fresh_key("readers");

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = lock_open_as(space, key, RDLOCK_KIND_FAIR, 0, 0);
		REQUIRE_TRUE(fds[i] >= 0);
		REQUIRE(lock_acquire_mode(fds[i], RDLOCK_MODE_SHARED, 0, in_ms(5000), NULL), 0);
	}
	writer = lock_open_as(space, key, RDLOCK_KIND_FAIR, 0, 0);
	REQUIRE_TRUE(writer >= 0);
	EXPECT(lock_acquire(writer, 0, in_ms(100), NULL), -ETIMEDOUT);
	EXPECT(lock_release(fds[0]), 0);
	EXPECT(lock_acquire_mode(fds[0], RDLOCK_MODE_SHARED, 0, in_ms(5000), NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		EXPECT(lock_release(fds[i]), 0);
	EXPECT(lock_acquire(writer, 0, in_ms(5000), NULL), 0);
}

TEST(readers_try_beside_readers_however_many, 60)
{
	int space = need_space(), fds[60], failed = 0;
	const char *key = fresh_key("tries");

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = lock_open_as(space, key, RDLOCK_KIND_FAIR, 0, 0);
		REQUIRE_TRUE(fds[i] >= 0);
	}
	REQUIRE(lock_acquire_mode(fds[0], RDLOCK_MODE_SHARED, 0, in_ms(5000), NULL), 0);
	for (size_t i = 1; i < ARRAY_SIZE(fds); i++)
		failed += lock_acquire_mode(fds[i], RDLOCK_MODE_SHARED, RDLOCK_ACQUIRE_TRY, 0, NULL) != 0;
	EXPECT(failed, 0);
}

/* The node looks whether one more may join, and while it does all others leave: nobody has the lock. */
TEST(a_reader_tries_while_the_others_leave, 60)
{
	int space = need_space(), fds[24], last;
	volatile unsigned int *page = shared_page();	/* rounds: readers are there, the other has tried; failures */
	const char *key = fresh_key("leave");
	unsigned int seed = 6;
	pid_t pid;

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = lock_open_as(space, key, RDLOCK_KIND_FAIR, 0, 0);
	pid = spawn();
	if (!pid) {
		last = lock_open_as(space, key, RDLOCK_KIND_FAIR, 0, 0);
		for (unsigned int round = 1; round <= 60; round++) {
			while (page[0] < round)
				;
			if (lock_acquire_mode(last, RDLOCK_MODE_SHARED, RDLOCK_ACQUIRE_TRY, 0, NULL))
				page[2]++;
			else
				REQUIRE(lock_release(last), 0);
			page[1] = round;
		}
		exit_test();
	}
	for (unsigned int round = 1; round <= 60; round++) {
		/* One that uses up all, and more. */
		for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
			REQUIRE(lock_acquire_mode(fds[i], RDLOCK_MODE_SHARED, 0, in_ms(5000), NULL), 0);
		page[0] = round;
		sleep_us(rand_r(&seed) % 1000);
		for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
			REQUIRE(lock_release(fds[i]), 0);
		while (page[1] < round)
			sleep_us(500);
	}
	EXPECT(reap(pid), 0);
	EXPECT(page[2], 0);
}

/* None takes the operation of another for a writer's lock. */
TEST(readers_that_try_at_once_share, 60)
{
	enum { READERS = 4, ROUNDS = 20 };
	volatile unsigned int *page = shared_page();	/* 0: the round; 1, 2: in it so many have tried, have failed */
	const char *key = fresh_key("atonce");
	int space = need_space();
	pid_t pids[READERS];

	for (int i = 0; i < READERS; i++) {
		pids[i] = spawn();
		if (pids[i])
			continue;
		int lock = lock_open_as(space, key, RDLOCK_KIND_FAIR, 0, 0);

		for (unsigned int round = 1; round <= ROUNDS; round++) {
			int err;

			while (page[0] < round)
				sleep_us(20);
			err = lock_acquire_mode(lock, RDLOCK_MODE_SHARED, RDLOCK_ACQUIRE_TRY, 0, NULL);
			__atomic_add_fetch(&page[2], err != 0, __ATOMIC_SEQ_CST);
			__atomic_add_fetch(&page[1], 1, __ATOMIC_SEQ_CST);
			while (page[1] < round * READERS)
				sleep_us(200);
			if (!err)
				REQUIRE(lock_release(lock), 0);
		}
		exit_test();
	}
	for (unsigned int round = 1; round <= ROUNDS; round++) {
		sleep_us(20000);
		page[0] = round;
		while (page[1] < round * READERS)
			sleep_us(1000);
	}
	for (int i = 0; i < READERS; i++)
		EXPECT(reap(pids[i]), 0);
	EXPECT(page[2], 0);
}

TEST(one_key_in_two_spaces_is_two_locks, 30)
{
	int dev = need_dev(), space = need_space(), second, a, b;
	const char *key = fresh_key("spaces");

	EXPECT(space_create(dev, "excl.second", 0600, ~0U, ~0U), 0);
	second = space_open(dev, "excl.second");
	REQUIRE_TRUE(second >= 0);
	a = need_lock(space, key);
	b = need_lock(second, key);
	EXPECT(lock_acquire(a, 0, in_ms(5000), NULL), 0);
	EXPECT(lock_acquire(b, 0, in_ms(5000), NULL), 0);
	close(a);
	close(b);
	close(second);
	EXPECT(space_destroy(dev, "excl.second", 0), 0);
}

TEST(two_handles_of_one_process_exclude_each_other, 30)
{
	int space = need_space();
	const char *key = fresh_key("handles");
	int a = need_lock(space, key), b = need_lock(space, key);
	uint64_t first, second;

	EXPECT(lock_acquire(a, RDLOCK_ACQUIRE_TRY, 0, &first), 0);
	EXPECT(lock_try(b), -EAGAIN);
	EXPECT(lock_state(b), RDLOCK_FD_IDLE);
	EXPECT(lock_acquire(b, 0, in_ms(100), NULL), -ETIMEDOUT);
	EXPECT(lock_state(b), RDLOCK_FD_IDLE);
	EXPECT(lock_state(a), RDLOCK_FD_HELD);
	EXPECT(lock_release(a), 0);
	EXPECT(lock_acquire(b, 0, in_ms(1000), &second), 0);
	EXPECT_TRUE(second > first);
	EXPECT(lock_try(a), -EAGAIN);
	EXPECT(lock_release(b), 0);
}

/* The release before is on its way to the home, or has just arrived: nobody has the lock. */
TEST(a_try_behind_the_own_release, 60)
{
	int space = need_space();
	const char *key = fresh_key("behind");
	int a = need_lock(space, key), b = need_lock(space, key);

	for (int i = 0; i < 200; i++) {
		EXPECT(lock_try(i % 3 ? a : b), 0);
		EXPECT(lock_release(i % 3 ? a : b), 0);
	}
}

/* An idle owner that has used up the tokens of its grant gives the lock back, and takes it again. */
TEST(tries_go_on_past_the_last_local_grant, 60)
{
	int lock = lock_open_as(need_space(), fresh_key("tokens"), RDLOCK_KIND_FAIR, 0, RDLOCK_OPEN_STICKY);

	REQUIRE_TRUE(lock >= 0);
	for (int i = 0; i < 1100; i++) {
		REQUIRE(lock_try(lock), 0);
		REQUIRE(lock_release(lock), 0);
	}
}

TEST(only_the_owner_releases, 30)
{
	int space = need_space();
	const char *key = fresh_key("owner");
	int a = need_lock(space, key), b = need_lock(space, key);

	EXPECT(lock_release(a), -EPERM);
	EXPECT(lock_acquire(a, 0, in_ms(5000), NULL), 0);
	EXPECT(lock_release(b), -EPERM);
	EXPECT(lock_cancel(b), -ENOENT);
	EXPECT(lock_cancel(a), -ENOENT);
	EXPECT(lock_state(a), RDLOCK_FD_HELD);
	EXPECT(lock_try(b), -EAGAIN);
	EXPECT(lock_release(a), 0);
	EXPECT(lock_release(a), -EPERM);
}

TEST(acquire_of_what_the_fd_holds_is_edeadlk, 30)
{
	int lock = need_lock(need_space(), fresh_key("deadlk"));
	struct rdlock_status before, after;

	EXPECT(lock_acquire(lock, 0, in_ms(5000), NULL), 0);
	EXPECT(lock_status(lock, &before), 0);
	EXPECT(lock_acquire(lock, 0, in_ms(5000), NULL), -EDEADLK);
	EXPECT(lock_acquire(lock, 0, 1, NULL), -EDEADLK);
	EXPECT(lock_try(lock), -EDEADLK);
	fcntl(lock, F_SETFL, O_NONBLOCK);
	EXPECT(lock_acquire(lock, 0, in_ms(5000), NULL), -EDEADLK);
	EXPECT(lock_status(lock, &after), 0);
	EXPECT(memcmp(&before, &after, sizeof(after)), 0);
	EXPECT(lock_release(lock), 0);
}

static void *acquires(void *arg)
{
	int ret = lock_acquire(*(int *)arg, 0, in_ms(10000), NULL);

	return (void *)(intptr_t)ret;
}

TEST(acquire_of_what_another_thread_waits_for_on_the_fd_is_ebusy, 30)
{
	int space = need_space();
	const char *key = fresh_key("busy");
	int holder = need_lock(space, key), lock = need_lock(space, key);
	pthread_t thread;
	void *ret;

	EXPECT(lock_acquire(holder, 0, in_ms(5000), NULL), 0);
	REQUIRE(pthread_create(&thread, NULL, acquires, &lock), 0);
	for (int i = 0; i < 2000 && lock_state(lock) != RDLOCK_FD_PENDING; i++)
		sleep_us(1000);
	EXPECT(lock_state(lock), RDLOCK_FD_PENDING);
	EXPECT(lock_acquire(lock, 0, in_ms(5000), NULL), -EBUSY);
	EXPECT(lock_try(lock), -EBUSY);
	EXPECT(lock_release(lock), -EPERM);
	EXPECT(lock_state(lock), RDLOCK_FD_PENDING);
	EXPECT(lock_release(holder), 0);
	pthread_join(thread, &ret);
	EXPECT((intptr_t)ret, 0);
	EXPECT(lock_state(lock), RDLOCK_FD_HELD);
	EXPECT(lock_release(lock), 0);
}

/* C06: one name, one process, two spaces: each wakes for its own. */
TEST(waiters_of_one_key_in_two_spaces_wake_for_their_own, 30)
{
	int dev = need_dev(), spaces[2] = { need_space(), -1 }, held[2], wanted[2];
	const char *key = fresh_key("wake");
	pthread_t threads[2];
	void *ret;

	EXPECT(space_create(dev, "excl.second", 0600, ~0U, ~0U), 0);
	spaces[1] = space_open(dev, "excl.second");
	REQUIRE_TRUE(spaces[1] >= 0);
	for (int i = 0; i < 2; i++) {
		held[i] = need_lock(spaces[i], key);
		wanted[i] = need_lock(spaces[i], key);
		EXPECT(lock_acquire(held[i], 0, in_ms(5000), NULL), 0);
		REQUIRE(pthread_create(&threads[i], NULL, acquires, &wanted[i]), 0);
	}
	for (int i = 0; i < 2; i++)
		for (int j = 0; j < 2000 && lock_state(wanted[i]) != RDLOCK_FD_PENDING; j++)
			sleep_us(1000);
	EXPECT(lock_release(held[1]), 0);
	pthread_join(threads[1], &ret);
	EXPECT((intptr_t)ret, 0);
	sleep_us(20000);
	EXPECT(lock_state(wanted[0]), RDLOCK_FD_PENDING);
	EXPECT(lock_state(wanted[1]), RDLOCK_FD_HELD);
	EXPECT(lock_release(held[0]), 0);
	pthread_join(threads[0], &ret);
	EXPECT((intptr_t)ret, 0);
	close(held[1]);
	close(wanted[1]);
	close(spaces[1]);
	EXPECT(space_destroy(dev, "excl.second", 0), 0);
}

TEST(status_tells_the_state, 30)
{
	int space = need_space();
	const char *key = fresh_key("status");
	int lock = need_lock(space, key), other = need_lock(space, key);
	struct rdlock_space_stat space_st;
	struct rdlock_status st;
	uint64_t token = 0;

	EXPECT(space_stat(space, &space_st), 0);
	for (int held = 0; held < 2; held++) {
		EXPECT(lock_status(lock, &st), 0);
		EXPECT(st.out_state, held ? RDLOCK_FD_HELD : RDLOCK_FD_IDLE);
		EXPECT(st.out_mode, held ? RDLOCK_MODE_EXCLUSIVE : 0);
		EXPECT(st.out_kind, RDLOCK_KIND_FAIR);
		EXPECT(st.out_reserved, 0);
		EXPECT(st.out_token, token);
		EXPECT(st.out_instance, space_st.out_instance);
		if (!held)
			EXPECT(lock_acquire(lock, 0, in_ms(5000), &token), 0);
	}
	/* another's grant is none of its business */
	EXPECT(lock_status(other, &st), 0);
	EXPECT(st.out_state, RDLOCK_FD_IDLE);
	EXPECT(st.out_token, 0);
	EXPECT(lock_release(lock), 0);
	EXPECT(lock_status(lock, &st), 0);
	EXPECT(st.out_state, RDLOCK_FD_IDLE);
	EXPECT(st.out_mode, 0);
	EXPECT(st.out_token, 0);
}

TEST(a_grant_names_its_instance_and_whether_it_was_local, 30)
{
	int space = need_space();
	const char *key = fresh_key("grant");
	int a = need_lock(space, key);
	struct rdlock_space_stat st;
	struct rdlock_acquire arg;

	EXPECT(space_stat(space, &st), 0);
	poison(&arg, sizeof(arg));
	arg.size = sizeof(arg);
	arg.mode = RDLOCK_MODE_EXCLUSIVE;
	arg.flags = 0;
	arg.deadline = in_ms(5000);
	EXPECT(call(a, RDLOCK_IOC_ACQUIRE, &arg), 0);
	EXPECT(arg.out_instance, st.out_instance);
	/* the first grant of a lock comes from nobody */
	EXPECT(arg.out_flags, 0);
	EXPECT_TRUE(arg.out_token);
	EXPECT(lock_release(a), 0);
}

TEST(tokens_grow_through_closing_and_opening, 30)
{
	int space = need_space();
	const char *key = fresh_key("tokens");
	uint64_t last = 0, token = 0;

	for (int i = 0; i < 50; i++) {
		int lock = need_lock(space, key);

		EXPECT(lock_acquire(lock, 0, in_ms(5000), &token), 0);
		EXPECT_TRUE(token > last);
		last = token;
		if (i % 2)
			EXPECT(lock_release(lock), 0);
		close(lock);
	}
}

TEST(many_locks_at_once, 60)
{
	int space = need_space();
	enum { N = 200 };
	int locks[N];
	char key[32];

	for (int i = 0; i < N; i++) {
		snprintf(key, sizeof(key), "many.%d.%d", getpid(), i);
		locks[i] = need_lock(space, key);
		EXPECT(lock_acquire(locks[i], 0, in_ms(5000), NULL), 0);
	}
	for (int i = 0; i < N; i++)
		EXPECT(lock_state(locks[i]), RDLOCK_FD_HELD);
	for (int i = 0; i < N; i += 2)
		EXPECT(lock_release(locks[i]), 0);
	for (int i = 0; i < N; i++)
		close(locks[i]);
	for (int i = 0; i < N; i += 7) {
		snprintf(key, sizeof(key), "many.%d.%d", getpid(), i);
		EXPECT(lock_is_free(need_lock(space, key)), 0);
	}
}

int main(int argc, char **argv)
{
	return tap_main(argc, argv, setup_space);
}
