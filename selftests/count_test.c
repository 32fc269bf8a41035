// SPDX-License-Identifier: GPL-2.0
/*
 * What each path costs in operations on the home's memory, from the module's own counters. One row a path, of the
 * protocol's table of exact counts (Documentation/protocol.rst); nobody else may use the space meanwhile. Runs on a
 * member, and on the home, which goes the same way through its loopback pair.
 */
#include "common.h"

enum { ATOMIC, READ, WRITE, SENT, NR_COSTS };

static const char * const cost_names[NR_COSTS] = { "atomics", "reads", "writes", "messages to nodes" };

struct cost {
	unsigned long long n[NR_COSTS];
};

static struct cost cost_now(void)
{
	static const struct {
		const char *name;
		int cost;
	} stats[] = {
		{ "lock_cas", ATOMIC }, { "lock_faa", ATOMIC }, { "lock_read", READ }, { "lock_write", WRITE },
		{ "sent_grant", SENT }, { "sent_hint", SENT }, { "sent_probe", SENT },
	};
	struct cost c = {};
	unsigned long long value;
	char path[128], name[64];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/debug/rdlock/%s/stats", the_space());
	f = fopen(path, "r");
	REQUIRE_TRUE(f);
	while (fscanf(f, "%63s %llu", name, &value) == 2)
		for (size_t i = 0; i < ARRAY_SIZE(stats); i++)
			if (!strcmp(name, stats[i].name))
				c.n[stats[i].cost] += value;
	fclose(f);
	return c;
}

static struct cost last;

/* What was done since the last look must have cost just that. */
static void costs(const char *what, unsigned int atomics, unsigned int reads, unsigned int writes)
{
	struct cost now = cost_now();
	unsigned int want[NR_COSTS] = { atomics, reads, writes, 0 };

	for (int i = 0; i < NR_COSTS; i++)
		if (!EXPECT(now.n[i] - last.n[i], want[i]))
			diag("... %s of: %s", cost_names[i], what);
	last = now;
}

static int open_warm(int space, uint32_t kind, uint32_t value, uint32_t flags)
{
	int lock = lock_open_as(space, fresh_key("count"), kind, value, flags);

	REQUIRE_TRUE(lock >= 0);
	/* The first time a compare-and-swap has nothing to guess from. */
	REQUIRE(lock_acquire(lock, 0, in_ms(5000), NULL), 0);
	REQUIRE(lock_release(lock), 0);
	return lock;
}

/* Until what was given back without waiting has arrived: the next attempt's guess depends on it. */
static void settle(void)
{
	sleep_us(200000);
	last = cost_now();
}

TEST(uncontended_not_sticky, 60)
{
	static const uint32_t kinds[] = { RDLOCK_KIND_SPIN, RDLOCK_KIND_FAIR, RDLOCK_KIND_TICKET, RDLOCK_KIND_MCS };
	int space = need_space();

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		bool sticks = kinds[i] == RDLOCK_KIND_FAIR || kinds[i] == RDLOCK_KIND_MCS;
		int lock = open_warm(space, kinds[i], 0, sticks ? RDLOCK_OPEN_NOT_STICKY : 0);

		for (int turn = 0; turn < 3; turn++) {
			settle();
			EXPECT(lock_acquire(lock, 0, in_ms(5000), NULL), 0);
			costs("acquire", 1, 0, 0);
			EXPECT(lock_release(lock), 0);
			costs("release", 1, 0, 0);
		}
		settle();
		EXPECT(lock_try(lock), 0);
		costs("try of a free lock", 1, 0, 0);
		EXPECT(lock_release(lock), 0);
		close(lock);
	}
}

TEST(sticky_fair_acquires_with_one_atomic_and_a_write, 30)
{
	int space = need_space(), lock = lock_open_as(space, fresh_key("count"), RDLOCK_KIND_FAIR, 0, 0);

	REQUIRE_TRUE(lock >= 0);
	settle();
	EXPECT(lock_acquire(lock, 0, in_ms(5000), NULL), 0);
	costs("acquire", 1, 0, 1);
	EXPECT(lock_release(lock), 0);
	costs("release", 0, 0, 0);
}

TEST(cached_grants_cost_nothing, 30)
{
	static const uint32_t kinds[] = { RDLOCK_KIND_FAIR, RDLOCK_KIND_MCS };
	int space = need_space();

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		int lock = open_warm(space, kinds[i], 8, 0);

		settle();
		for (int turn = 0; turn < 100; turn++) {
			EXPECT(lock_acquire(lock, 0, in_ms(5000), NULL), 0);
			EXPECT(lock_value_set(lock, "12345678", 8), 0);
			EXPECT(lock_release(lock), 0);
		}
		costs("a hundred acquires and releases", 0, 0, 0);
	}
}

TEST(handover_within_the_node_costs_nothing, 30)
{
	int space = need_space();
	const char *key = fresh_key("count");
	int a = lock_open_as(space, key, RDLOCK_KIND_FAIR, 0, RDLOCK_OPEN_NOT_STICKY);
	int b = lock_open_as(space, key, 0, 0, RDLOCK_OPEN_NONBLOCK);

	REQUIRE_TRUE(a >= 0 && b >= 0);
	settle();
	EXPECT(lock_acquire(a, 0, in_ms(5000), NULL), 0);
	EXPECT(lock_acquire(b, 0, in_ms(5000), NULL), -EAGAIN);
	costs("one that waits for another of its node", 1, 0, 0);
	EXPECT(lock_release(a), 0);
	EXPECT(lock_acquire(b, 0, in_ms(5000), NULL), 0);
	costs("hand-over", 0, 0, 0);
	EXPECT(lock_release(b), 0);
	costs("release", 1, 0, 0);
}

TEST(readers, 30)
{
	int space = need_space();
	const char *key = fresh_key("count");
	int a = lock_open_as(space, key, RDLOCK_KIND_FAIR, 0, 0), b = lock_open_as(space, key, 0, 0, 0);

	REQUIRE_TRUE(a >= 0 && b >= 0);
	settle();
	EXPECT(lock_acquire_mode(a, RDLOCK_MODE_SHARED, 0, in_ms(5000), NULL), 0);
	costs("shared acquire", 1, 0, 0);
	EXPECT(lock_acquire_mode(b, RDLOCK_MODE_SHARED, 0, in_ms(5000), NULL), 0);
	costs("one more reader of the node", 0, 0, 0);
	EXPECT(lock_release(a), 0);
	costs("one reader of two leaves", 0, 0, 0);
	EXPECT(lock_convert(b, RDLOCK_MODE_EXCLUSIVE, NULL), 0);
	costs("upgrade", 2, 0, 1);
	EXPECT(lock_convert(b, RDLOCK_MODE_SHARED, NULL), 0);
	costs("downgrade", 1, 0, 0);
	EXPECT(lock_release(b), 0);
	costs("shared release", 1, 0, 0);
}

TEST(values, 30)
{
	static const uint32_t kinds[] = { RDLOCK_KIND_FAIR, RDLOCK_KIND_TICKET, RDLOCK_KIND_MCS };
	int space = need_space();

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		uint32_t flags = kinds[i] == RDLOCK_KIND_TICKET ? 0 : RDLOCK_OPEN_NOT_STICKY;
		int lock = open_warm(space, kinds[i], 64, flags);

		settle();
		EXPECT(lock_acquire(lock, 0, in_ms(5000), NULL), 0);
		costs("acquire with a value", 1, 1, 0);
		EXPECT(lock_release(lock), 0);
		costs("release of one that was not changed", 1, 0, 0);
		settle();
		EXPECT(lock_acquire(lock, 0, in_ms(5000), NULL), 0);
		EXPECT(lock_value_set(lock, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", 64), 0);
		last = cost_now();
		EXPECT(lock_release(lock), 0);
		costs("release of one that was", 1, 0, 1);
	}
}

int main(int argc, char **argv)
{
	return tap_main(argc, argv, setup_space);
}
