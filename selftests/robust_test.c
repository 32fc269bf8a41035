// SPDX-License-Identifier: GPL-2.0
/*
 * Robust locks, on one node and of each kind: who is told of a death and how long, what ends it, and what a lock that
 * was given up is good for.
 */
#include <signal.h>
#include <sys/wait.h>

#include "common.h"

static const uint32_t kinds[] = { RDLOCK_KIND_SPIN, RDLOCK_KIND_FAIR, RDLOCK_KIND_TICKET, RDLOCK_KIND_MCS };

#define for_each_kind(i)	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)

static int space;

static int robust_open(const char *key, uint32_t kind)
{
	int lock = lock_open_as(space, key, kind, 0, RDLOCK_OPEN_ROBUST);

	if (lock < 0)
		REQUIRE(lock, 0);
	return lock;
}

static int take(int lock)
{
	return lock_acquire(lock, 0, in_ms(5000), NULL);
}

/* Taken and given back as if nothing had ever happened. */
static void expect_sound(int lock)
{
	EXPECT(take(lock), 0);
	EXPECT(lock_consistent(lock), -EINVAL);
	EXPECT(lock_release(lock), 0);
}

TEST(an_owner_that_dies_is_told_of_until_it_is_repaired, 60)
{
	space = need_space();
	for_each_kind(i) {
		const char *key = fresh_key("dead");
		int lock = lock_of_dead(space, key, kinds[i]), next;
		struct rdlock_acquire arg = {
			.size = sizeof(arg), .mode = RDLOCK_MODE_EXCLUSIVE, .deadline = in_ms(5000),
		};

		EXPECT(call(lock, RDLOCK_IOC_ACQUIRE, &arg), -EOWNERDEAD);
		EXPECT_TRUE(arg.out_flags & RDLOCK_GRANT_OWNER_DIED);
		EXPECT_TRUE(arg.out_token && arg.out_instance);
		EXPECT(lock_state(lock), RDLOCK_FD_HELD);
		/* It dies, too. */
		close(lock);
		lock = robust_open(key, kinds[i]);
		EXPECT(take(lock), -EOWNERDEAD);
		EXPECT(lock_consistent(lock), 0);
		EXPECT(lock_consistent(lock), -EINVAL);
		next = robust_open(key, kinds[i]);
		EXPECT(lock_try(next), -EAGAIN);
		EXPECT(lock_release(lock), 0);
		expect_sound(next);
		expect_sound(lock);
		close(next);
		close(lock);
	}
}

TEST(a_process_that_is_killed_is_an_owner_that_died, 60)
{
	space = need_space();
	for_each_kind(i) {
		const char *key = fresh_key("killed");
		int lock = robust_open(key, kinds[i]), pipes[2], status;
		pid_t pid;
		char c;

		REQUIRE(pipe(pipes), 0);
		pid = fork();
		REQUIRE_TRUE(pid >= 0);
		if (!pid) {
			int mine = lock_open_as(space, key, kinds[i], 0, RDLOCK_OPEN_ROBUST);

			if (!lock_acquire(mine, 0, in_ms(5000), NULL) && write(pipes[1], "x", 1) == 1)
				pause();
			_exit(1);
		}
		close(pipes[1]);
		EXPECT(read(pipes[0], &c, 1), 1);
		close(pipes[0]);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		EXPECT(take(lock), -EOWNERDEAD);
		EXPECT(lock_consistent(lock), 0);
		EXPECT(lock_release(lock), 0);
		expect_sound(lock);
		close(lock);
	}
}

/* Of a lock that is given up; the one that waits hears of it by poll. */
TEST(who_gives_it_up_does_so_for_all_until_it_is_reset, 60)
{
	space = need_space();
	for_each_kind(i) {
		const char *key = fresh_key("ruined");
		int lock = lock_of_dead(space, key, kinds[i]), waits = robust_open(key, kinds[i]);
		struct pollfd p = { .fd = waits, .events = POLLIN };

		EXPECT(take(lock), -EOWNERDEAD);
		fcntl(waits, F_SETFL, O_NONBLOCK);
		EXPECT(take(waits), -EAGAIN);
		EXPECT(lock_release(lock), 0);
		EXPECT(poll(&p, 1, 5000), 1);
		EXPECT(p.revents, POLLIN);
		EXPECT(take(waits), -ENOTRECOVERABLE);
		EXPECT(lock_state(waits), RDLOCK_FD_IDLE);
		EXPECT(take(lock), -ENOTRECOVERABLE);
		EXPECT(lock_try(lock), -ENOTRECOVERABLE);
		EXPECT(lock_consistent(lock), -EPERM);
		EXPECT(lock_reset(space, key), 0);
		EXPECT(lock_reset(space, key), 0);
		expect_sound(lock);
		fcntl(waits, F_SETFL, 0);
		expect_sound(waits);
		close(waits);
		close(lock);
	}
}

/* The notice of a death outlives its openers, the end of a lock does not. */
TEST(what_nobody_has_open, 60)
{
	space = need_space();
	for_each_kind(i) {
		const char *key = fresh_key("nobody");
		int lock = lock_of_dead(space, key, kinds[i]);

		close(lock);
		sleep_us(200000);
		lock = robust_open(key, kinds[i]);
		EXPECT(take(lock), -EOWNERDEAD);
		EXPECT(lock_release(lock), 0);
		EXPECT(take(lock), -ENOTRECOVERABLE);
		close(lock);
		for (int n = 0; n < 50 && lock_reset(space, key) != -ENOENT; n++)
			sleep_us(100000);
		EXPECT(lock_reset(space, key), -ENOENT);
		lock = robust_open(key, kinds[i]);
		expect_sound(lock);
		close(lock);
	}
}

TEST(poll_tells_of_a_death, 60)
{
	space = need_space();
	for_each_kind(i) {
		const char *key = fresh_key("poll");
		int dies = robust_open(key, kinds[i]), waits = robust_open(key, kinds[i]);
		struct pollfd p = { .fd = waits, .events = POLLIN };
		uint64_t token = 0;

		EXPECT(take(dies), 0);
		fcntl(waits, F_SETFL, O_NONBLOCK);
		EXPECT(take(waits), -EAGAIN);
		close(dies);
		EXPECT(poll(&p, 1, 5000), 1);
		EXPECT(lock_acquire(waits, 0, in_ms(5000), &token), -EOWNERDEAD);
		EXPECT_TRUE(token);
		EXPECT(lock_consistent(waits), 0);
		EXPECT(lock_release(waits), 0);
		close(waits);
	}
}

/* Withdrawn before anybody saw it: nobody has given anything up. */
TEST(a_grant_that_is_not_fetched_changes_nothing, 30)
{
	const char *key = fresh_key("unseen");
	int dies, waits;
	struct pollfd p = { .events = POLLIN };

	space = need_space();
	dies = robust_open(key, RDLOCK_KIND_FAIR);
	waits = robust_open(key, RDLOCK_KIND_FAIR);
	EXPECT(take(dies), 0);
	fcntl(waits, F_SETFL, O_NONBLOCK);
	EXPECT(take(waits), -EAGAIN);
	close(dies);
	p.fd = waits;
	EXPECT(poll(&p, 1, 5000), 1);
	EXPECT(lock_cancel(waits), 0);
	fcntl(waits, F_SETFL, 0);
	EXPECT(take(waits), -EOWNERDEAD);
	EXPECT(lock_consistent(waits), 0);
	EXPECT(lock_release(waits), 0);
	close(waits);
}

TEST(readers_are_told_and_decide_nothing, 30)
{
	const char *key = fresh_key("readers");
	int a, b;

	space = need_space();
	a = lock_of_dead(space, key, RDLOCK_KIND_FAIR);
	b = robust_open(key, RDLOCK_KIND_FAIR);
	EXPECT(lock_acquire_mode(a, RDLOCK_MODE_SHARED, 0, in_ms(5000), NULL), -EOWNERDEAD);
	EXPECT(lock_acquire_mode(b, RDLOCK_MODE_SHARED, 0, in_ms(5000), NULL), -EOWNERDEAD);
	EXPECT(lock_consistent(a), -EINVAL);
	EXPECT(lock_release(a), 0);
	close(b);
	EXPECT(lock_acquire_mode(a, RDLOCK_MODE_SHARED, 0, in_ms(5000), NULL), -EOWNERDEAD);
	for (int n = 0; n < 50 && lock_convert(a, RDLOCK_MODE_EXCLUSIVE, NULL) == -EDEADLK; n++)
		sleep_us(20000);
	EXPECT(lock_consistent(a), 0);
	EXPECT(lock_convert(a, RDLOCK_MODE_SHARED, NULL), 0);
	EXPECT(lock_release(a), 0);
	expect_sound(a);
	/* A reader that dies is not told of, nor an exclusive owner that goes to shared before. */
	EXPECT(take(a), 0);
	EXPECT(lock_convert(a, RDLOCK_MODE_SHARED, NULL), 0);
	close(a);
	a = robust_open(key, RDLOCK_KIND_FAIR);
	expect_sound(a);
	close(a);
}

TEST(robustness_is_the_locks, 30)
{
	space = need_space();
	for_each_kind(i) {
		const char *key = fresh_key("which");
		int lock = robust_open(key, kinds[i]);
		struct rdlock_status st;

		EXPECT(lock_status(lock, &st), 0);
		EXPECT(st.out_open_flags & RDLOCK_OPEN_ROBUST, RDLOCK_OPEN_ROBUST);
		EXPECT(lock_open_as(space, key, kinds[i], 0, 0), -EINVAL);
		close(lock);
		key = fresh_key("plain");
		lock = lock_open_as(space, key, kinds[i], 0, 0);
		REQUIRE_TRUE(lock >= 0);
		EXPECT(lock_status(lock, &st), 0);
		EXPECT(st.out_open_flags & RDLOCK_OPEN_ROBUST, 0);
		EXPECT(lock_open_as(space, key, kinds[i], 0, RDLOCK_OPEN_ROBUST), -EINVAL);
		EXPECT(lock_reset(space, key), -EINVAL);
		/* Of one that is not robust the end of its owner is a release. */
		EXPECT(take(lock), 0);
		EXPECT(lock_consistent(lock), -EINVAL);
		close(lock);
		lock = lock_open_as(space, key, kinds[i], 0, 0);
		EXPECT(take(lock), 0);
		close(lock);
	}
}

TEST(only_an_administrator_resets, 30)
{
	const char *key = fresh_key("admin");
	int lock, status;
	pid_t pid;

	space = need_space();
	lock = lock_of_dead(space, key, RDLOCK_KIND_FAIR);
	EXPECT(take(lock), -EOWNERDEAD);
	EXPECT(lock_release(lock), 0);
	pid = fork();
	REQUIRE_TRUE(pid >= 0);
	if (!pid)
		_exit(setuid(65534) || lock_reset(space, key) != -EPERM);
	REQUIRE(waitpid(pid, &status, 0), pid);
	EXPECT(status, 0);
	EXPECT(take(lock), -ENOTRECOVERABLE);
	EXPECT(lock_reset(space, key), 0);
	expect_sound(lock);
	close(lock);
}

int main(int argc, char **argv)
{
	return tap_main(argc, argv, setup_space);
}
