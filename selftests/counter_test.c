// SPDX-License-Identifier: GPL-2.0
/* Counters: exact sums under concurrency, cells that do not touch each other, and a life as long as their space's. */
#include "common.h"

static int need_counter(int space, const char *key, uint32_t cells)
{
	int counter = counter_open(space, key, cells);

	if (counter < 0)
		REQUIRE(counter, 0);
	return counter;
}

static uint64_t value_of(int counter, uint32_t cell)
{
	uint64_t value = 0;

	EXPECT(counter_read(counter, cell, &value), 0);
	return value;
}

TEST(add_returns_what_was_there, 30)
{
	int c = need_counter(need_space(), fresh_key("add"), 1);
	uint64_t old;

	EXPECT(value_of(c, 0), 0);
	EXPECT(counter_add(c, 0, 5, &old), 0);
	EXPECT(old, 0);
	EXPECT(counter_add(c, 0, 7, &old), 0);
	EXPECT(old, 5);
	EXPECT(value_of(c, 0), 12);
	/* modulo 2^64, so subtraction is an addition */
	EXPECT(counter_add(c, 0, -13ULL, &old), 0);
	EXPECT(old, 12);
	EXPECT(value_of(c, 0), -1ULL);
	EXPECT(counter_add(c, 0, 0x0102030405060708ULL, &old), 0);
	EXPECT(value_of(c, 0), 0x0102030405060707ULL);
	EXPECT(counter_add(c, 0, 0, &old), 0);
	EXPECT(old, 0x0102030405060707ULL);
}

TEST(cas_stores_only_if_the_expectation_holds, 30)
{
	int c = need_counter(need_space(), fresh_key("cas"), 1);
	uint64_t old;

	EXPECT(counter_cas(c, 0, 0, 0x1122334455667788ULL, &old), 0);
	EXPECT(old, 0);
	EXPECT(counter_cas(c, 0, 0, 9, &old), 0);
	EXPECT(old, 0x1122334455667788ULL);
	EXPECT(value_of(c, 0), 0x1122334455667788ULL);
	EXPECT(counter_cas(c, 0, 0x1122334455667788ULL, -1ULL, &old), 0);
	EXPECT(old, 0x1122334455667788ULL);
	EXPECT(value_of(c, 0), -1ULL);
}

TEST(cells_do_not_touch_each_other, 60)
{
	struct rdlock_counter_op op = { .size = sizeof(op), .deadline = in_ms(5000) };
	struct rdlock_info info = { .size = sizeof(info) };
	uint32_t n;
	uint64_t old;
	int c;

	REQUIRE(call(need_dev(), RDLOCK_IOC_INFO, &info), 0);
	n = info.out_max_cells;
	REQUIRE_TRUE(n >= 64);
	c = need_counter(need_space(), fresh_key("cells"), n);
	EXPECT(call(c, RDLOCK_IOC_COUNTER_READ, &op), 0);
	EXPECT(op.out_cells, n);
	for (uint32_t i = 0; i < n; i++)
		EXPECT(counter_add(c, i, i * 0x100000001ULL + 1, &old), 0);
	for (uint32_t i = 0; i < n; i++)
		EXPECT(value_of(c, i), i * 0x100000001ULL + 1);
	EXPECT(counter_read(c, n, &old), -ERANGE);
}

TEST(a_counter_outlives_its_fds, 30)
{
	const char *key = fresh_key("outlives");
	int space = need_space();
	int c = need_counter(space, key, 2);

	EXPECT(counter_add(c, 1, 42, NULL), 0);
	close(c);
	c = need_counter(space, key, 2);
	EXPECT(value_of(c, 1), 42);
	close(c);
	close(space);
	c = need_counter(need_space(), key, 0);
	EXPECT(value_of(c, 0), 0);
	EXPECT(value_of(c, 1), 42);
}

TEST(the_number_of_cells_is_fixed_by_the_first_open, 30)
{
	const char *key = fresh_key("fixed");
	int space = need_space();

	EXPECT(counter_open(space, key, 0), -ENOENT);
	EXPECT(counter_open(space, key, 0), -ENOENT);
	close(need_counter(space, key, 4));
	EXPECT(counter_open(space, key, 5), -EEXIST);
	EXPECT(counter_open(space, key, 3), -EEXIST);
	close(need_counter(space, key, 4));
	close(need_counter(space, key, 0));
}

TEST(two_fds_of_one_counter_see_each_other, 30)
{
	const char *key = fresh_key("fds");
	int space = need_space();
	int a = need_counter(space, key, 1), b = need_counter(space, key, 1);
	uint64_t old;

	EXPECT(counter_add(a, 0, 1, &old), 0);
	EXPECT(counter_add(b, 0, 1, &old), 0);
	EXPECT(old, 1);
	EXPECT(value_of(a, 0), 2);
}

TEST(locks_and_counters_have_separate_keys, 30)
{
	const char *key = fresh_key("both");
	int space = need_space();
	int lock = need_lock(space, key), c = need_counter(space, key, 1);

	EXPECT(lock_acquire(lock, 0, in_ms(5000), NULL), 0);
	EXPECT(counter_add(c, 0, 1, NULL), 0);
	EXPECT(lock_release(lock), 0);
	EXPECT(value_of(c, 0), 1);
	EXPECT(lock_is_free(lock), 0);
}

TEST(the_counter_works_when_its_space_fd_is_closed, 30)
{
	int space = need_space();
	int c = need_counter(space, fresh_key("orphan"), 1);

	close(space);
	EXPECT(counter_add(c, 0, 3, NULL), 0);
	EXPECT(value_of(c, 0), 3);
}

TEST(sums_of_many_processes_are_exact, 400)
{
	const char *key = fresh_key("sum");
	int c = need_counter(need_space(), key, 2);
	unsigned int rounds = scaled(20000);
	pid_t pids[6];

	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		pids[i] = spawn();
		if (!pids[i]) {
			int mine = need_counter(need_space(), key, 2);
			uint64_t last = 0, old;

			for (unsigned int r = 0; r < rounds; r++) {
				REQUIRE(counter_add(mine, 0, 1, &old), 0);
				/* each sees its own additions in order */
				EXPECT_TRUE(!r || old > last);
				last = old;
			}
			for (unsigned int r = 0; r < rounds / 4; r++) {
				uint64_t expect = 0;

				for (;;) {
					REQUIRE(counter_cas(mine, 1, expect, expect + 2, &old), 0);
					if (old == expect)
						break;
					expect = old;
				}
			}
			exit_test();
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		EXPECT(reap(pids[i]), 0);
	EXPECT(value_of(c, 0), (uint64_t)rounds * ARRAY_SIZE(pids));
	EXPECT(value_of(c, 1), (uint64_t)(rounds / 4) * 2 * ARRAY_SIZE(pids));
}

TEST(a_killed_adder_leaves_a_sum_that_fits, 60)
{
	const char *key = fresh_key("killed");
	int c = need_counter(need_space(), key, 1);
	volatile uint64_t *done = shared_page();
	unsigned int kills = scaled(400), hidden = 0;
	uint64_t sum;

	/* On a busy machine an adder may be killed before its first addition: more of them, until some have added. */
	for (unsigned int i = 0; i < kills || !*done; i++) {
		pid_t pid = spawn();

		if (!pid) {
			for (;;) {
				REQUIRE(counter_add(c, 0, 1, NULL), 0);
				(*done)++;
			}
		}
		sleep_us(2000 + i * 997 % 30000);
		kill(pid, SIGKILL);
		EXPECT(reap(pid), 1000 + SIGKILL);
		hidden++;
	}
	/* each kill can hide one addition that happened and was not told of */
	sum = value_of(c, 0);
	EXPECT_TRUE(sum >= *done && sum <= *done + hidden);
}

TEST(a_space_that_is_gone_takes_its_counters_along, 30)
{
	int dev = need_dev(), space, c;

	EXPECT(space_create(dev, "counter.gone", 0600, ~0U, ~0U), 0);
	space = space_open(dev, "counter.gone");
	REQUIRE_TRUE(space >= 0);
	c = need_counter(space, "k", 1);
	EXPECT(counter_add(c, 0, 1, NULL), 0);
	EXPECT(space_destroy(dev, "counter.gone", 0), -EBUSY);
	EXPECT(space_destroy(dev, "counter.gone", RDLOCK_SPACE_FORCE), 0);
	EXPECT(counter_add(c, 0, 1, NULL), -ESHUTDOWN);
	EXPECT(counter_read(c, 0, NULL), -ESHUTDOWN);
	close(c);
	close(space);
	EXPECT(space_create(dev, "counter.gone", 0600, ~0U, ~0U), 0);
	space = space_open(dev, "counter.gone");
	REQUIRE_TRUE(space >= 0);
	EXPECT(counter_open(space, "k", 0), -ENOENT);
	close(space);
	EXPECT(space_destroy(dev, "counter.gone", 0), 0);
}

int main(int argc, char **argv)
{
	return tap_main(argc, argv, setup_space);
}
