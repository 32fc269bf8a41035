// SPDX-License-Identifier: GPL-2.0
/*
 * Every call of /dev/rdlock, each of its allocations failing in turn: fail_nth.h. Names say where a case can run:
 *
 *	home_*, node_*	on the home, on a member (RDLOCK_NODE)
 *	any_*		on both, where they take other paths
 *	control_*	calls that are wrong on purpose: the sweep must see it
 *	kernel_*	exported symbols, called by rdlock_fail.ko
 *
 * The space "v" must exist at the home for node_*.
 */

#include <pthread.h>

#include "fail_nth.h"

static int dev = -1, space = -1, mine = -1, other = -1, counter = -1;

static void closes(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void closes_all(const struct fail_case *c)
{
	closes(&mine);
	closes(&other);
	closes(&counter);
	closes(&space);
	closes(&dev);
}

/* --- the device --- */

static void has_dev(const struct fail_case *c)
{
	dev = need_dev();
}

static int opens_dev(const struct fail_case *c)
{
	return dev = dev_open();
}

static int asks_info(const struct fail_case *c)
{
	struct rdlock_info info = { .size = sizeof(info) };

	return call(dev, RDLOCK_IOC_INFO, &info);
}

static int lists(const struct fail_case *c)
{
	static struct rdlock_space_stat stats[16];
	struct rdlock_space_list list = {
		.size = sizeof(list), .count = ARRAY_SIZE(stats), .stat_size = sizeof(stats[0]),
		.stats = (uintptr_t)stats,
	};

	return call(dev, RDLOCK_IOC_SPACE_LIST, &list);
}

static int closes_dev(const struct fail_case *c)
{
	int ret = close(dev);

	dev = -1;
	return ret;
}

FAIL_NTH(0, any_device_open, .run = opens_dev, .undo = closes_all, .needs = 1)
FAIL_NTH(0, any_device_close, .prepare = has_dev, .run = closes_dev, .firm = true)
FAIL_NTH(RDLOCK_IOC_INFO, any_info, .prepare = has_dev, .run = asks_info, .undo = closes_all, .firm = true)
FAIL_NTH(RDLOCK_IOC_SPACE_LIST, any_list, .prepare = has_dev, .run = lists, .undo = closes_all, .needs = 1)

/* --- spaces --- */

static int creates(const struct fail_case *c)
{
	return space_create(dev, "u", 0666, ~0U, ~0U);
}

static void destroys(const struct fail_case *c)
{
	EXPECT(space_destroy(dev, "u", 0), 0);
	closes_all(c);
}

/* With something in it, so that there is something to free. */
static void has_created(const struct fail_case *c)
{
	has_dev(c);
	REQUIRE(creates(c), 0);
	space = space_open(dev, "u");
	REQUIRE_TRUE(space >= 0);
	mine = need_lock(space, "k");
	counter = counter_open(space, "c", 3);
	REQUIRE_TRUE(counter >= 0);
	if (c->arg) {
		REQUIRE(lock_acquire(mine, 0, in_ms(5000), NULL), 0);
		return;
	}
	closes(&counter);
	closes(&mine);
	closes(&space);
}

static int destroys_it(const struct fail_case *c)
{
	return space_destroy(dev, "u", c->arg ? RDLOCK_SPACE_FORCE : 0);
}

/*
 * Besides ENOMEM: rxe of 6.1 has no other word than EINVAL for want of memory for an object's number, and a device that
 * cannot make a probing atomic for want of memory looks like one that has none. The socket layer says ENFILE.
 */
FAIL_NTH(RDLOCK_IOC_SPACE_CREATE, home_create, .prepare = has_dev, .run = creates, .undo = destroys, .needs = 20,
	 .also = { EINVAL, ENFILE })
FAIL_NTH(RDLOCK_IOC_SPACE_DESTROY, home_destroy, .prepare = has_created, .run = destroys_it, .undo = closes_all,
	 .firm = true)
FAIL_NTH(RDLOCK_IOC_SPACE_DESTROY, home_destroy_by_force, .prepare = has_created, .run = destroys_it,
	 .undo = closes_all, .firm = true, .arg = "force")

static int joins(const struct fail_case *c)
{
	return space_join(dev, "v", env_or("RDLOCK_ADDR", "10.77.0.1"), atoi(env_or("RDLOCK_NODE", "1")), in_ms(20000));
}

static void leaves(const struct fail_case *c)
{
	EXPECT(space_leave(dev, "v", 0), 0);
	closes_all(c);
}

static void has_joined(const struct fail_case *c)
{
	has_dev(c);
	REQUIRE(joins(c), 0);
	if (!c->arg)
		return;
	space = space_open(dev, "v");
	REQUIRE_TRUE(space >= 0);
	mine = need_lock(space, "k");
	REQUIRE(lock_acquire(mine, 0, in_ms(5000), NULL), 0);
}

static int leaves_it(const struct fail_case *c)
{
	return space_leave(dev, "v", c->arg ? RDLOCK_SPACE_FORCE : 0);
}

FAIL_NTH(RDLOCK_IOC_SPACE_JOIN, node_join, .prepare = has_dev, .run = joins, .undo = leaves, .needs = 5)
FAIL_NTH(RDLOCK_IOC_SPACE_LEAVE, node_leave, .prepare = has_joined, .run = leaves_it, .undo = closes_all, .firm = true)
FAIL_NTH(RDLOCK_IOC_SPACE_LEAVE, node_leave_by_force, .prepare = has_joined, .run = leaves_it, .undo = closes_all,
	 .firm = true, .arg = "force")

static void has_space(const struct fail_case *c)
{
	space = need_space();
}

static int opens_space(const struct fail_case *c)
{
	return space = space_open(dev, the_space());
}

static int asks_stat(const struct fail_case *c)
{
	struct rdlock_space_stat st;

	return space_stat(space, &st);
}

static int closes_space(const struct fail_case *c)
{
	int ret = close(space);

	space = -1;
	return ret;
}

FAIL_NTH(RDLOCK_IOC_SPACE_OPEN, any_space_open, .prepare = has_dev, .run = opens_space, .undo = closes_all, .needs = 1)
FAIL_NTH(RDLOCK_IOC_SPACE_STAT, any_space_stat, .prepare = has_space, .run = asks_stat, .undo = closes_all,
	 .firm = true)
FAIL_NTH(0, any_space_close, .prepare = has_space, .run = closes_space, .firm = true)

/* --- locks --- */

static void has_other(const struct fail_case *c)
{
	has_space(c);
	other = need_lock(space, "k");
}

static int opens_lock(const struct fail_case *c)
{
	return mine = lock_open(space, "k", c->arg ? RDLOCK_OPEN_NONBLOCK : 0);
}

static void has_lock(const struct fail_case *c)
{
	has_space(c);
	mine = need_lock(space, "k");
}

/* Of a kind that keeps nothing: what an acquire leaves is what was there before. */
static void has_spin(const struct fail_case *c)
{
	has_space(c);
	mine = lock_open_as(space, "k", kind_of("spin"), 0, 0);
}

static void has_held(const struct fail_case *c)
{
	has_lock(c);
	REQUIRE(lock_acquire(mine, 0, in_ms(5000), NULL), 0);
}

static void has_taken(const struct fail_case *c)
{
	has_lock(c);
	other = need_lock(space, "k");
	REQUIRE(lock_acquire(other, 0, in_ms(5000), NULL), 0);
}

static void has_queued(const struct fail_case *c)
{
	has_taken(c);
	fcntl(mine, F_SETFL, O_NONBLOCK);
	REQUIRE(lock_acquire(mine, 0, NEVER, NULL), -EAGAIN);
	REQUIRE(lock_state(mine), RDLOCK_FD_PENDING);
}

static void has_granted(const struct fail_case *c)
{
	struct pollfd pfd;

	has_queued(c);
	REQUIRE(lock_release(other), 0);
	pfd = (struct pollfd){ .fd = mine, .events = POLLIN };
	REQUIRE(poll(&pfd, 1, 5000), 1);
	REQUIRE(pfd.revents, POLLIN);
}

static void has_nonblock(const struct fail_case *c)
{
	has_taken(c);
	fcntl(mine, F_SETFL, O_NONBLOCK);
}

static pthread_t releaser;

static volatile bool no_waiter;

/* Lets go when somebody waits, so that the wait is one. */
static void *releases_for_a_waiter(void *arg)
{
	while (!no_waiter && lock_state(mine) != RDLOCK_FD_PENDING)
		sleep_us(1000);
	EXPECT(lock_release(other), 0);
	return NULL;
}

static void has_releaser(const struct fail_case *c)
{
	has_taken(c);
	no_waiter = false;
	REQUIRE(pthread_create(&releaser, NULL, releases_for_a_waiter, NULL), 0);
}

static void joins_releaser(const struct fail_case *c)
{
	no_waiter = true;
	pthread_join(releaser, NULL);
	closes_all(c);
}

static int acquires(const struct fail_case *c)
{
	return lock_acquire(mine, 0, c->want == -ETIMEDOUT ? in_ms(50) : in_ms(20000), NULL);
}

static int tries(const struct fail_case *c)
{
	return lock_try(mine);
}

static int releases(const struct fail_case *c)
{
	return lock_release(mine);
}

static int cancels(const struct fail_case *c)
{
	return lock_cancel(mine);
}

static int asks_status(const struct fail_case *c)
{
	int ret = lock_state(mine);

	return ret < 0 ? ret : 0;
}

static int polls(const struct fail_case *c)
{
	struct pollfd pfd = { .fd = mine, .events = POLLIN };

	return poll(&pfd, 1, 0) < 0 ? -errno : 0;
}

static int reads_fdinfo(const struct fail_case *c)
{
	char path[64], text[1024];
	int fd, ret;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", mine);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = read(fd, text, sizeof(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

static int closes_lock(const struct fail_case *c)
{
	int ret = close(mine);

	mine = -1;
	return ret;
}

/* Of a kind with buffers, and the home with a body for it. */
static int opens_fair(const struct fail_case *c)
{
	return mine = lock_open_as(space, "f", RDLOCK_KIND_FAIR, 8, 0);
}

static void has_fair(const struct fail_case *c)
{
	has_space(c);
	REQUIRE_TRUE(opens_fair(c) >= 0);
	REQUIRE(lock_acquire(mine, 0, in_ms(5000), NULL), 0);
}

static int converts(const struct fail_case *c)
{
	return lock_convert(mine, RDLOCK_MODE_SHARED, NULL);
}

static int gets_value(const struct fail_case *c)
{
	char value[RDLOCK_VALUE_INLINE];
	uint32_t len;

	return lock_value_get(mine, value, &len);
}

static int sets_value(const struct fail_case *c)
{
	return lock_value_set(mine, "12345678", 8);
}

static void has_died(const struct fail_case *c)
{
	int first;

	has_space(c);
	/* Not sticky: what an idle owner keeps depends on when the recovery came. */
	first = lock_open_as(space, "r", RDLOCK_KIND_FAIR, 0, RDLOCK_OPEN_ROBUST | RDLOCK_OPEN_NOT_STICKY);
	REQUIRE_TRUE(first >= 0);
	mine = lock_of_dead(space, "r", RDLOCK_KIND_FAIR);
	close(first);
	REQUIRE(lock_acquire(mine, 0, in_ms(5000), NULL), -EOWNERDEAD);
}

static int makes_consistent(const struct fail_case *c)
{
	return lock_consistent(mine);
}

/* Who closes what it holds dies, and the home keeps the key for it. */
static void leaves_robust(const struct fail_case *c)
{
	EXPECT(lock_release(mine), 0);
	closes_all(c);
}

static void has_ruined(const struct fail_case *c)
{
	has_died(c);
	REQUIRE(lock_release(mine), 0);
	REQUIRE(lock_acquire(mine, 0, in_ms(5000), NULL), -ENOTRECOVERABLE);
}

static int resets(const struct fail_case *c)
{
	return lock_reset(space, "r");
}

FAIL_NTH(RDLOCK_IOC_CONSISTENT, any_consistent, .prepare = has_died, .run = makes_consistent, .undo = leaves_robust,
	 .firm = true)
FAIL_NTH(RDLOCK_IOC_LOCK_RESET, any_lock_reset, .prepare = has_ruined, .run = resets, .undo = closes_all, .needs = 1)
FAIL_NTH(RDLOCK_IOC_LOCK_OPEN, any_lock_open_fair, .prepare = has_space, .run = opens_fair, .undo = closes_all,
	 .needs = 3)
FAIL_NTH(RDLOCK_IOC_CONVERT, any_convert, .prepare = has_fair, .run = converts, .undo = closes_all, .firm = true,
	 .once = true)
FAIL_NTH(RDLOCK_IOC_VALUE_GET, any_value_get, .prepare = has_fair, .run = gets_value, .undo = closes_all, .firm = true)
FAIL_NTH(RDLOCK_IOC_VALUE_SET, any_value_set, .prepare = has_fair, .run = sets_value, .undo = closes_all, .firm = true)
FAIL_NTH(RDLOCK_IOC_LOCK_OPEN, any_lock_open, .prepare = has_space, .run = opens_lock, .undo = closes_all, .needs = 3)
FAIL_NTH(RDLOCK_IOC_LOCK_OPEN, any_lock_open_nonblock, .prepare = has_space, .run = opens_lock, .undo = closes_all,
	 .needs = 3, .arg = "nonblock")
FAIL_NTH(RDLOCK_IOC_LOCK_OPEN, any_lock_open_second, .prepare = has_other, .run = opens_lock, .undo = closes_all,
	 .needs = 2)
FAIL_NTH(RDLOCK_IOC_ACQUIRE, any_acquire, .prepare = has_spin, .run = acquires, .undo = closes_all, .firm = true)
FAIL_NTH(RDLOCK_IOC_ACQUIRE, any_acquire_waits, .prepare = has_releaser, .run = acquires, .undo = joins_releaser,
	 .firm = true, .once = true)
FAIL_NTH(RDLOCK_IOC_ACQUIRE, any_acquire_times_out, .prepare = has_taken, .run = acquires, .undo = closes_all,
	 .want = -ETIMEDOUT, .firm = true)
FAIL_NTH(RDLOCK_IOC_ACQUIRE, any_acquire_queues, .prepare = has_nonblock, .run = acquires, .undo = closes_all,
	 .want = -EAGAIN, .firm = true)
FAIL_NTH(RDLOCK_IOC_ACQUIRE, any_acquire_fetches, .prepare = has_granted, .run = acquires, .undo = closes_all,
	 .firm = true, .once = true)
FAIL_NTH(RDLOCK_IOC_ACQUIRE, any_try, .prepare = has_spin, .run = tries, .undo = closes_all, .firm = true)
FAIL_NTH(RDLOCK_IOC_ACQUIRE, any_try_taken, .prepare = has_taken, .run = tries, .undo = closes_all, .want = -EAGAIN,
	 .firm = true)
FAIL_NTH(RDLOCK_IOC_RELEASE, any_release, .prepare = has_held, .run = releases, .undo = closes_all, .firm = true)
FAIL_NTH(RDLOCK_IOC_CANCEL, any_cancel_queued, .prepare = has_queued, .run = cancels, .undo = closes_all, .firm = true)
FAIL_NTH(RDLOCK_IOC_CANCEL, any_cancel_granted, .prepare = has_granted, .run = cancels, .undo = closes_all,
	 .firm = true)
FAIL_NTH(RDLOCK_IOC_STATUS, any_status, .prepare = has_held, .run = asks_status, .undo = closes_all, .firm = true)
FAIL_NTH(0, any_poll, .prepare = has_queued, .run = polls, .undo = closes_all, .firm = true)
FAIL_NTH(0, any_fdinfo, .prepare = has_held, .run = reads_fdinfo, .undo = closes_all, .needs = 1)
FAIL_NTH(0, any_close_idle, .prepare = has_lock, .run = closes_lock, .undo = closes_all, .firm = true)
FAIL_NTH(0, any_close_held, .prepare = has_held, .run = closes_lock, .undo = closes_all, .firm = true)
FAIL_NTH(0, any_close_queued, .prepare = has_queued, .run = closes_lock, .undo = closes_all, .firm = true)

/* --- counters --- */

static void has_counter(const struct fail_case *c)
{
	has_space(c);
	counter = counter_open(space, "c", 3);
	REQUIRE_TRUE(counter >= 0);
}

/* A round's call may be made twice, and then asks for the same counter. */
static const char *fresh;

static void has_fresh_key(const struct fail_case *c)
{
	has_space(c);
	fresh = fresh_key("fresh");
}

static int opens_counter(const struct fail_case *c)
{
	return counter = counter_open(space, c->arg ?: fresh, 3);
}

static int adds(const struct fail_case *c)
{
	return counter_add(counter, 1, 7, NULL);
}

static int swaps(const struct fail_case *c)
{
	return counter_cas(counter, 2, 0, 0, NULL);
}

static int reads(const struct fail_case *c)
{
	return counter_read(counter, 0, NULL);
}

static int closes_counter(const struct fail_case *c)
{
	int ret = close(counter);

	counter = -1;
	return ret;
}

FAIL_NTH(RDLOCK_IOC_COUNTER_OPEN, any_counter_open_new, .prepare = has_fresh_key, .run = opens_counter,
	 .undo = closes_all, .needs = 3, .grows = "counter ")
FAIL_NTH(RDLOCK_IOC_COUNTER_OPEN, any_counter_open, .prepare = has_space, .run = opens_counter, .undo = closes_all,
	 .needs = 3, .arg = "c")
FAIL_NTH(RDLOCK_IOC_COUNTER_ADD, any_counter_add, .prepare = has_counter, .run = adds, .undo = closes_all, .needs = 1)
FAIL_NTH(RDLOCK_IOC_COUNTER_CAS, any_counter_cas, .prepare = has_counter, .run = swaps, .undo = closes_all, .needs = 1)
FAIL_NTH(RDLOCK_IOC_COUNTER_READ, any_counter_read, .prepare = has_counter, .run = reads, .undo = closes_all,
	 .needs = 1)
FAIL_NTH(0, any_counter_close, .prepare = has_counter, .run = closes_counter, .undo = closes_all, .firm = true)

/* --- the sweep sees what is wrong --- */

static int forgets_an_fd(const struct fail_case *c)
{
	int ret = opens_space(c);

	if (ret < 0)
		open("/dev/null", O_RDONLY | O_CLOEXEC);
	return ret;
}

static int says_eio(const struct fail_case *c)
{
	int ret = opens_space(c);

	return ret == -ENOMEM ? -EIO : ret;
}

static int says_it_was_done(const struct fail_case *c)
{
	int ret = opens_space(c);

	return ret == -ENOMEM ? 0 : ret;
}

static int stays_broken(const struct fail_case *c)
{
	static bool broken;
	int ret = broken ? -ENOMEM : opens_space(c);

	broken |= ret == -ENOMEM;
	return ret;
}

static void closes_less(const struct fail_case *c)
{
	closes(&space);
}

#define CONTROL(name_, ...)							\
	TEST(name_, 120)							\
	{									\
		static const struct fail_case c = {				\
			.name = #name_, .patience_ms = 1000, __VA_ARGS__	\
		};								\
										\
		diag("a problem is right here:");				\
		EXPECT_TRUE(fail_sweep(&c) > 0);				\
	}

CONTROL(control_trace, .prepare = has_dev, .run = forgets_an_fd, .undo = closes_all)
CONTROL(control_errno, .prepare = has_dev, .run = says_eio, .undo = closes_all)
CONTROL(control_firm, .prepare = has_dev, .run = opens_space, .undo = closes_all, .firm = true)
CONTROL(control_again, .prepare = has_dev, .run = stays_broken, .undo = closes_all)
CONTROL(control_rest, .prepare = has_dev, .run = opens_space, .undo = closes_less)
CONTROL(control_want, .prepare = has_dev, .run = says_it_was_done, .undo = closes_all, .want = -EBUSY)
CONTROL(control_nothing, .prepare = has_dev, .run = asks_info, .undo = closes_all, .needs = 1)

/* --- what the module exports --- */

static int calls = -1;

static int tell(const char *fmt, const char *name)
{
	char line[96];
	int len = snprintf(line, sizeof(line), fmt, name);

	return write(calls, line, len) < 0 ? -errno : 0;
}

static void kernel_prepares(const struct fail_case *c)
{
	REQUIRE(tell("prepare %s", c->arg), 0);
}

static int kernel_runs(const struct fail_case *c)
{
	return write(calls, "run", 3) < 0 ? -errno : 0;
}

static void kernel_undoes(const struct fail_case *c)
{
	EXPECT(tell("undo", ""), 0);
}

TEST(kernel_calls, 1200)
{
	FILE *f = fopen("/sys/kernel/debug/rdlock_fail/cases", "re");
	unsigned int n = 0;
	char name[64], how[16];

	REQUIRE_TRUE(f);
	calls = open("/sys/kernel/debug/rdlock_fail/call", O_RDWR | O_CLOEXEC);
	REQUIRE_TRUE(calls >= 0);
	/* The first write makes what debugfs keeps of an open file; no call of ours does. */
	EXPECT(tell("undo", ""), 0);
	while (fscanf(f, "%63s %15s", name, how) == 2) {
		struct fail_case c = {
			.name = name, .arg = name, .prepare = kernel_prepares, .run = kernel_runs,
			.undo = kernel_undoes, .firm = !strcmp(how, "firm"), .needs = !strcmp(how, "allocates"),
		};

		/* Once without a fault: what stays as long as the space does, as cells do, is no trace of a failure. */
		kernel_prepares(&c);
		EXPECT(kernel_runs(&c), 0);
		kernel_undoes(&c);
		EXPECT(fail_sweep(&c), 0);
		n++;
	}
	fclose(f);
	EXPECT_TRUE(n > 0);
	diag("%u calls", n);
}

static const char *setup(void)
{
	const char *reason = fail_nth_setup();
	int fd;

	if (reason)
		return reason;
	/* The home's memory for words, and the device's key to it, stay once they are made. */
	space = need_space();
	fd = lock_open_as(space, "warm", kind_of("spin"), 0, 0);
	close(fd);
	fd = lock_open_as(space, "warm fair", kind_of("fair"), 8, RDLOCK_OPEN_STICKY);
	EXPECT_TRUE(fd >= 0);
	close(fd);
	fd = counter_open(space, "c", 3);
	EXPECT_TRUE(fd >= 0);
	close(fd);
	closes(&space);
	return NULL;
}

int main(int argc, char **argv)
{
	return tap_main(argc, argv, setup);
}
