// SPDX-License-Identifier: GPL-2.0
/*
 * A second node: joining, the ways in which it is refused, leaving. For a node whose RDLOCK_NODE is not 0 and whose
 * RDLOCK_ADDR is another machine, home of the space RDLOCK_SPACE.
 */
#include "common.h"

#define NOBODY "10.77.0.250"	/* on the link, and no machine has it */

static const char *home;
static uint32_t self;

static const char *setup(void)
{
	int dev = dev_open();

	home = env_or("RDLOCK_ADDR", "10.77.0.1");
	self = atoi(env_or("RDLOCK_NODE", "0"));
	if (dev < 0)
		return "no /dev/rdlock: the module is not loaded";
	if (!self)
		return "RDLOCK_NODE is not set: this node is the home";
	close(dev);
	return NULL;
}

TEST(join_use_and_leave, 60)
{
	int dev = need_dev(), space, lock, counter;
	struct rdlock_space_stat st;

	for (int i = 0; i < 3; i++) {
		EXPECT(space_join(dev, the_space(), home, self, in_ms(10000)), 0);
		EXPECT(space_join(dev, the_space(), home, self, in_ms(1000)), -EEXIST);
		space = space_open(dev, the_space());
		REQUIRE_TRUE(space >= 0);
		EXPECT(space_stat(space, &st), 0);
		EXPECT(st.out_state, RDLOCK_SPACE_READY);
		EXPECT(st.out_is_home, 0);
		EXPECT(st.out_node, self);
		EXPECT(st.out_home, 0);
		EXPECT(st.out_members, 2);
		EXPECT(st.out_max_nodes, 64);
		EXPECT_TRUE(st.out_instance);
		EXPECT(memcmp(st.out_addr.addr, home_address().addr, 16), 0);
		lock = need_lock(space, fresh_key("join"));
		EXPECT(lock_is_free(lock), 0);
		counter = counter_open(space, fresh_key("join"), 1);
		EXPECT(counter_add(counter, 0, 1, NULL), 0);
		EXPECT(space_leave(dev, the_space(), 0), -EBUSY);
		EXPECT(space_destroy(dev, the_space(), 0), -EINVAL);
		EXPECT(space_destroy(dev, the_space(), RDLOCK_SPACE_FORCE), -EINVAL);
		EXPECT(lock_is_free(lock), 0);
		close(lock);
		close(counter);
		close(space);
		EXPECT(space_leave(dev, the_space(), 0), 0);
		EXPECT(space_open(dev, the_space()), -ENOENT);
		EXPECT(space_leave(dev, the_space(), 0), -ENOENT);
	}
}

TEST(what_the_home_refuses, 60)
{
	int dev = need_dev();

	/* ids that are taken or cannot be */
	EXPECT(space_join(dev, the_space(), home, 0, in_ms(5000)), -EBUSY);
	EXPECT(space_join(dev, the_space(), home, 64, in_ms(5000)), -EINVAL);
	EXPECT(space_join(dev, the_space(), home, 256, in_ms(5000)), -EINVAL);
	/* the machine answers, but has no such space */
	EXPECT(space_join(dev, "join.nowhere", home, self, in_ms(3000)), -ECONNREFUSED);
	EXPECT(space_join(dev, "join.nowhere", NOBODY, self, in_ms(1000)), -EHOSTUNREACH);
	EXPECT(space_open(dev, "join.nowhere"), -ENOENT);
	EXPECT(space_open(dev, the_space()), -ENOENT);
}

TEST(a_forced_leave_revokes_and_frees, 60)
{
	int dev = need_dev(), space, lock, again;
	const char *key = fresh_key("forced");
	struct pollfd pfd;

	EXPECT(space_join(dev, the_space(), home, self, in_ms(10000)), 0);
	space = space_open(dev, the_space());
	REQUIRE_TRUE(space >= 0);
	lock = need_lock(space, key);
	EXPECT(lock_acquire(lock, 0, in_ms(5000), NULL), 0);
	EXPECT(space_leave(dev, the_space(), RDLOCK_SPACE_FORCE), 0);
	pfd = (struct pollfd){ .fd = lock, .events = POLLIN };
	EXPECT(poll(&pfd, 1, 2000), 1);
	EXPECT(pfd.revents & (POLLERR | POLLHUP), POLLERR | POLLHUP);
	EXPECT(lock_state(lock), RDLOCK_FD_REVOKED);
	EXPECT(lock_release(lock), -EKEYREVOKED);
	EXPECT(lock_acquire(lock, 0, in_ms(1000), NULL), -EKEYREVOKED);
	EXPECT(lock_open(space, key, 0), -ESHUTDOWN);

	/* back again, before the old fds are closed: the home has freed what was held */
	EXPECT(space_join(dev, the_space(), home, self, in_ms(20000)), 0);
	again = space_open(dev, the_space());
	REQUIRE_TRUE(again >= 0);
	close(lock);
	lock = need_lock(again, key);
	EXPECT(lock_acquire(lock, 0, in_ms(15000), NULL), 0);
	close(lock);
	close(again);
	close(space);
	EXPECT(space_leave(dev, the_space(), 0), 0);
}

int main(int argc, char **argv)
{
	return tap_main(argc, argv, setup);
}
