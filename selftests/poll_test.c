// SPDX-License-Identifier: GPL-2.0
/* Acquiring without waiting: O_NONBLOCK, poll, the call that fetches the result, and all that can come between. */
#include "common.h"

static int holder, waiter;

static void one_holds_one_wants(void)
{
	const char *key = fresh_key("poll");
	int space = need_space();

	holder = need_lock(space, key);
	waiter = lock_open(space, key, RDLOCK_OPEN_NONBLOCK);
	REQUIRE_TRUE(waiter >= 0);
	close(space);
	REQUIRE(lock_acquire(holder, 0, in_ms(5000), NULL), 0);
}

static int wait_events(int fd, int ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int ret = poll(&pfd, 1, ms);

	return ret < 0 ? -errno : ret ? pfd.revents : 0;
}

static int ask(uint64_t deadline)
{
	return lock_acquire(waiter, 0, deadline, NULL);
}

/* Takes @fd without sleeping in the acquire, free or not. */
static int nonblock_acquire(int fd, uint64_t *token)
{
	int ret = lock_acquire(fd, 0, in_ms(5000), token);

	if (ret != -EAGAIN)
		return ret;
	EXPECT(wait_events(fd, 5000), POLLIN);
	return lock_acquire(fd, 0, in_ms(5000), token);
}

/* The waiter has left the queue: the holder gives the lock back, and gets it again at once. */
static void nobody_waits(void)
{
	EXPECT(lock_release(holder), 0);
	EXPECT(lock_is_free(holder), 0);
}

TEST(the_open_flag_sets_o_nonblock, 30)
{
	one_holds_one_wants();
	EXPECT(!!(fcntl(waiter, F_GETFL) & O_NONBLOCK), 1);
	EXPECT(!!(fcntl(holder, F_GETFL) & O_NONBLOCK), 0);
}

TEST(a_free_lock_is_had_without_waiting, 30)
{
	int space = need_space();
	int fd = lock_open(space, fresh_key("free"), RDLOCK_OPEN_NONBLOCK);
	uint64_t token, last = 0;

	for (int i = 0; i < 100; i++) {
		EXPECT(nonblock_acquire(fd, &token), 0);
		EXPECT_TRUE(token > last);
		last = token;
		EXPECT(lock_state(fd), RDLOCK_FD_HELD);
		EXPECT(wait_events(fd, 0), 0);
		EXPECT(lock_release(fd), 0);
	}
}

TEST(a_grant_wakes_poll_and_is_fetched, 30)
{
	struct rdlock_status st;
	uint64_t token = 0;
	pid_t pid;

	for (int i = 0; i < 20; i++) {
		one_holds_one_wants();
		EXPECT(wait_events(waiter, 0), 0);
		EXPECT(ask(NEVER), -EAGAIN);
		EXPECT(lock_state(waiter), RDLOCK_FD_PENDING);
		EXPECT(wait_events(waiter, 20), 0);
		EXPECT(ask(NEVER), -EAGAIN);
		pid = spawn();
		if (!pid) {
			if (i % 2)
				sleep_us(20000);
			EXPECT(lock_release(holder), 0);
			exit_test();
		}
		EXPECT(wait_events(waiter, 2000), POLLIN);
		/* granted, and already nobody else's */
		EXPECT(lock_status(waiter, &st), 0);
		EXPECT(st.out_state, RDLOCK_FD_GRANTED);
		EXPECT(lock_try(holder), -EAGAIN);
		EXPECT(wait_events(waiter, 0), POLLIN);
		EXPECT(lock_acquire(waiter, 0, NEVER, &token), 0);
		EXPECT(lock_status(waiter, &st), 0);
		EXPECT(st.out_state, RDLOCK_FD_HELD);
		EXPECT(st.out_token, token);
		EXPECT(wait_events(waiter, 0), 0);
		EXPECT(ask(NEVER), -EDEADLK);
		EXPECT(reap(pid), 0);
		EXPECT(lock_release(waiter), 0);
		EXPECT(lock_is_free(holder), 0);
		close(holder);
		close(waiter);
	}
}

TEST(fcntl_switches_between_waiting_and_not, 30)
{
	pid_t pid;

	one_holds_one_wants();
	EXPECT(ask(NEVER), -EAGAIN);
	EXPECT(lock_cancel(waiter), 0);
	fcntl(waiter, F_SETFL, 0);
	EXPECT(ask(in_ms(50)), -ETIMEDOUT);
	pid = spawn();
	if (!pid) {
		sleep_us(50000);
		EXPECT(lock_release(holder), 0);
		exit_test();
	}
	EXPECT(ask(in_ms(5000)), 0);
	EXPECT(reap(pid), 0);
}

TEST(cancel_before_the_grant, 30)
{
	one_holds_one_wants();
	EXPECT(lock_cancel(waiter), -ENOENT);
	EXPECT(ask(NEVER), -EAGAIN);
	EXPECT(lock_cancel(waiter), 0);
	EXPECT(lock_state(waiter), RDLOCK_FD_IDLE);
	EXPECT(lock_cancel(waiter), -ENOENT);
	EXPECT(wait_events(waiter, 0), 0);
	nobody_waits();
	EXPECT(lock_state(waiter), RDLOCK_FD_IDLE);
	EXPECT(wait_events(waiter, 50), 0);
	/* and it can ask again */
	EXPECT(nonblock_acquire(waiter, NULL), 0);
}

TEST(cancel_after_the_grant_gives_it_back, 30)
{
	one_holds_one_wants();
	EXPECT(ask(NEVER), -EAGAIN);
	EXPECT(lock_release(holder), 0);
	EXPECT(wait_events(waiter, 2000), POLLIN);
	EXPECT(lock_state(waiter), RDLOCK_FD_GRANTED);
	EXPECT(lock_cancel(waiter), 0);
	EXPECT(lock_state(waiter), RDLOCK_FD_IDLE);
	EXPECT(wait_events(waiter, 0), 0);
	EXPECT(lock_cancel(waiter), -ENOENT);
	EXPECT(lock_is_free(holder), 0);
}

TEST(cancel_against_the_grant, 60)
{
	unsigned int rounds = scaled(4000);

	one_holds_one_wants();
	for (unsigned int i = 0; i < rounds; i++) {
		EXPECT(ask(NEVER), -EAGAIN);
		EXPECT(lock_release(holder), 0);
		if (i % 3)
			sleep_us(i * 31 % 300);
		EXPECT(lock_cancel(waiter), 0);
		EXPECT(lock_state(waiter), RDLOCK_FD_IDLE);
		REQUIRE(lock_acquire(holder, 0, in_ms(1000), NULL), 0);
	}
}

TEST(close_while_pending, 30)
{
	one_holds_one_wants();
	EXPECT(ask(NEVER), -EAGAIN);
	EXPECT(close(waiter), 0);
	nobody_waits();
}

TEST(close_of_what_was_granted_and_not_fetched, 30)
{
	one_holds_one_wants();
	EXPECT(ask(NEVER), -EAGAIN);
	EXPECT(lock_release(holder), 0);
	EXPECT(wait_events(waiter, 2000), POLLIN);
	EXPECT(close(waiter), 0);
	EXPECT(lock_is_free(holder), 0);
}

TEST(a_queued_request_ends_at_its_deadline, 30)
{
	uint64_t deadline;

	one_holds_one_wants();
	for (int i = 0; i < 5; i++) {
		deadline = in_ms(200);
		EXPECT(ask(deadline), -EAGAIN);
		/* the deadline is the first call's: later ones ask for the result */
		EXPECT(ask(NEVER), -EAGAIN);
		EXPECT(wait_events(waiter, 3000), POLLIN);
		EXPECT_TRUE(now_ns() >= deadline);
		EXPECT_TRUE(now_ns() < deadline + 500 * MS);
		EXPECT(ask(NEVER), -ETIMEDOUT);
		EXPECT(lock_state(waiter), RDLOCK_FD_IDLE);
		EXPECT(wait_events(waiter, 0), 0);
	}
	EXPECT(ask(1), -ETIMEDOUT);
	EXPECT(lock_state(waiter), RDLOCK_FD_IDLE);
	nobody_waits();
}

TEST(a_deadline_ends_only_its_own_request, 30)
{
	one_holds_one_wants();
	for (int i = 0; i < 3; i++) {
		uint64_t first = in_ms(200);

		/* over before its deadline: granted and fetched, or cancelled, or granted and cancelled */
		EXPECT(ask(first), -EAGAIN);
		if (i != 1) {
			EXPECT(lock_release(holder), 0);
			EXPECT(wait_events(waiter, 2000), POLLIN);
		}
		if (i == 0) {
			EXPECT(ask(first), 0);
			EXPECT(lock_release(waiter), 0);
		} else {
			EXPECT(lock_cancel(waiter), 0);
		}
		if (i != 1)
			EXPECT(lock_acquire(holder, 0, in_ms(1000), NULL), 0);
		EXPECT(ask(NEVER), -EAGAIN);
		EXPECT(wait_events(waiter, 400), 0);
		EXPECT(lock_state(waiter), RDLOCK_FD_PENDING);
		EXPECT(lock_cancel(waiter), 0);
	}
	nobody_waits();
}

TEST(a_failure_that_was_not_fetched_can_be_cancelled, 30)
{
	int ret;

	one_holds_one_wants();
	EXPECT(ask(in_ms(50)), -EAGAIN);
	EXPECT(wait_events(waiter, 3000), POLLIN);
	/* there is a result, or there is no request any more; after that there certainly is none */
	ret = lock_cancel(waiter);
	EXPECT_TRUE(ret == 0 || ret == -ENOENT);
	EXPECT(lock_cancel(waiter), -ENOENT);
	EXPECT(lock_state(waiter), RDLOCK_FD_IDLE);
	nobody_waits();
}

TEST(other_calls_while_one_is_pending, 30)
{
	one_holds_one_wants();
	EXPECT(ask(NEVER), -EAGAIN);
	EXPECT(lock_try(waiter), -EBUSY);
	EXPECT(lock_release(waiter), -EPERM);
	EXPECT(lock_state(waiter), RDLOCK_FD_PENDING);
	fcntl(waiter, F_SETFL, 0);
	EXPECT(ask(in_ms(1000)), -EBUSY);
	EXPECT(lock_state(waiter), RDLOCK_FD_PENDING);
	EXPECT(lock_release(holder), 0);
	EXPECT(wait_events(waiter, 2000), POLLIN);
	EXPECT(lock_release(waiter), -EPERM);
	EXPECT(lock_state(waiter), RDLOCK_FD_GRANTED);
	EXPECT(ask(in_ms(1000)), 0);
	EXPECT(lock_release(waiter), 0);
}

TEST(a_try_does_not_queue_on_a_nonblocking_fd, 30)
{
	one_holds_one_wants();
	EXPECT(lock_try(waiter), -EAGAIN);
	EXPECT(lock_state(waiter), RDLOCK_FD_IDLE);
	EXPECT(lock_release(holder), 0);
	EXPECT(wait_events(waiter, 100), 0);
	EXPECT(lock_state(waiter), RDLOCK_FD_IDLE);
	EXPECT(lock_is_free(holder), 0);
	EXPECT(lock_try(waiter), 0);
	EXPECT(lock_state(waiter), RDLOCK_FD_HELD);
}

TEST(one_poll_serves_many_locks, 60)
{
	enum { N = 40 };
	int space = need_space(), held[N], wanted[N], fetched = 0;
	struct pollfd pfds[N];
	uint64_t end = in_ms(20000);

	for (int i = 0; i < N; i++) {
		const char *key = fresh_key("many");

		held[i] = need_lock(space, key);
		wanted[i] = lock_open(space, key, RDLOCK_OPEN_NONBLOCK);
		EXPECT(lock_acquire(held[i], 0, in_ms(5000), NULL), 0);
		EXPECT(lock_acquire(wanted[i], 0, NEVER, NULL), -EAGAIN);
		pfds[i] = (struct pollfd){ .fd = wanted[i], .events = POLLIN };
	}
	for (int i = 0; i < N; i++)
		EXPECT(lock_release(held[(i * 7) % N]), 0);
	while (fetched < N && now_ns() < end) {
		EXPECT_TRUE(poll(pfds, N, 2000) > 0);
		for (int i = 0; i < N; i++) {
			if (!pfds[i].revents)
				continue;
			EXPECT(pfds[i].revents, POLLIN);
			EXPECT(lock_acquire(wanted[i], 0, NEVER, NULL), 0);
			pfds[i].fd = -1;
			fetched++;
		}
	}
	EXPECT(fetched, N);
}

TEST(force_destroy_revokes_what_is_open, 60)
{
	int dev = need_dev(), space, held, idle, queued;
	struct rdlock_status st;
	uint64_t start;
	pid_t pid;

	EXPECT(space_create(dev, "poll.force", 0666, ~0U, ~0U), 0);
	space = space_open(dev, "poll.force");
	REQUIRE_TRUE(space >= 0);
	held = need_lock(space, "k");
	idle = need_lock(space, "k");
	queued = lock_open(space, "k", RDLOCK_OPEN_NONBLOCK);
	EXPECT(lock_acquire(held, 0, in_ms(5000), NULL), 0);
	EXPECT(lock_acquire(queued, 0, NEVER, NULL), -EAGAIN);
	pid = spawn();
	if (!pid) {
		int blocked = need_lock(space, "k"), ret;

		ret = lock_acquire(blocked, 0, NEVER, NULL);
		EXPECT_TRUE(ret == -EKEYREVOKED || ret == -ESHUTDOWN);
		exit_test();
	}
	sleep_us(100000);
	EXPECT(wait_events(held, 0), 0);
	start = now_ns();
	EXPECT(space_destroy(dev, "poll.force", 0), -EBUSY);
	EXPECT(wait_events(held, 0), 0);
	EXPECT(lock_state(held), RDLOCK_FD_HELD);
	EXPECT(space_destroy(dev, "poll.force", RDLOCK_SPACE_FORCE), 0);
	EXPECT_TRUE(now_ns() - start < 10 * SEC);
	EXPECT(reap(pid), 0);

	EXPECT(wait_events(held, 1000) & (POLLERR | POLLHUP), POLLERR | POLLHUP);
	EXPECT(wait_events(queued, 1000) & (POLLERR | POLLHUP), POLLERR | POLLHUP);
	EXPECT(lock_status(held, &st), 0);
	EXPECT(st.out_state, RDLOCK_FD_REVOKED);
	EXPECT(st.out_mode, 0);
	EXPECT(st.out_token, 0);
	EXPECT(lock_release(held), -EKEYREVOKED);
	EXPECT(lock_acquire(held, 0, in_ms(1000), NULL), -EKEYREVOKED);
	EXPECT(lock_try(held), -EKEYREVOKED);
	EXPECT(lock_acquire(queued, 0, NEVER, NULL), -EKEYREVOKED);
	EXPECT(lock_acquire(idle, 0, in_ms(1000), NULL), -EKEYREVOKED);
	EXPECT(lock_state(held), RDLOCK_FD_REVOKED);
	EXPECT(lock_open(space, "k", 0), -ESHUTDOWN);
	EXPECT(space_open(dev, "poll.force"), -ENOENT);
	close(held);
	close(queued);
	close(idle);
	close(space);

	/* the name is free again, and nothing of the old space is in the new one */
	EXPECT(space_create(dev, "poll.force", 0666, ~0U, ~0U), 0);
	space = space_open(dev, "poll.force");
	EXPECT(lock_is_free(need_lock(space, "k")), 0);
	EXPECT(space_destroy(dev, "poll.force", RDLOCK_SPACE_FORCE), 0);
}

int main(int argc, char **argv)
{
	return tap_main(argc, argv, setup_space);
}
