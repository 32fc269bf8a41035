/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the test programs share: raw ioctls with negative errnos, and the space they run in.
 *
 * RDLOCK_SPACE (t), RDLOCK_ADDR (10.77.0.1) and RDLOCK_NODE (0) name the space, its home's address and this node's id,
 * IP this node's address. A program creates the space if nobody has, or, when RDLOCK_NODE is not 0, joins it, and
 * leaves it standing: the next one uses it too.
 */
#ifndef RDLOCK_TEST_COMMON_H
#define RDLOCK_TEST_COMMON_H

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "tap.h"
#include "../uapi/linux/rdlock.h"

#define MS 1000000ULL
#define SEC 1000000000ULL
#define NEVER RDLOCK_NO_DEADLINE

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static inline int call(int fd, unsigned long cmd, void *arg)
{
	int ret = ioctl(fd, cmd, arg);

	return ret < 0 ? -errno : ret;
}

/* What an output field still holds if the kernel forgot it. */
static inline void poison(void *p, size_t size)
{
	memset(p, 0xcc, size);
}

static inline uint64_t in_ms(uint64_t ms)
{
	return now_ns() + ms * MS;
}

static inline const char *env_or(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value && *value ? value : otherwise;
}

static inline const char *the_space(void)
{
	return env_or("RDLOCK_SPACE", "t");
}

static inline struct rdlock_addr address(const char *text)
{
	struct rdlock_addr addr = { .family = AF_INET };

	inet_pton(AF_INET, text, addr.addr);
	return addr;
}

static inline struct rdlock_addr home_address(void)
{
	return address(env_or("RDLOCK_ADDR", "10.77.0.1"));
}

/* Of this node, where it is a home itself. */
static inline struct rdlock_addr own_address(void)
{
	return address(env_or("IP", env_or("RDLOCK_ADDR", "10.77.0.1")));
}

static inline int dev_open(void)
{
	int fd = open("/dev/rdlock", O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* --- spaces --- */

static inline int space_create(int dev, const char *name, uint32_t mode, uint32_t uid, uint32_t gid)
{
	struct rdlock_space_create arg = {
		.size = sizeof(arg), .name_len = strlen(name), .mode = mode, .uid = uid, .gid = gid,
		.addr = own_address(),
	};

	memcpy(arg.name, name, strlen(name));
	return call(dev, RDLOCK_IOC_SPACE_CREATE, &arg);
}

static inline int space_join(int dev, const char *name, const char *addr, uint32_t node, uint64_t deadline)
{
	struct rdlock_space_join arg = {
		.size = sizeof(arg), .name_len = strlen(name), .mode = 0666, .uid = ~0U, .gid = ~0U, .node = node,
		.deadline = deadline, .addr = address(addr),
	};

	memcpy(arg.name, name, strlen(name));
	return call(dev, RDLOCK_IOC_SPACE_JOIN, &arg);
}

static inline int space_named(int dev, unsigned long cmd, const char *name, uint32_t flags)
{
	struct rdlock_space_name arg = { .size = sizeof(arg), .flags = flags, .name_len = strlen(name) };

	memcpy(arg.name, name, strlen(name));
	return call(dev, cmd, &arg);
}

static inline int space_open(int dev, const char *name)
{
	return space_named(dev, RDLOCK_IOC_SPACE_OPEN, name, 0);
}

static inline int space_leave(int dev, const char *name, uint32_t flags)
{
	return space_named(dev, RDLOCK_IOC_SPACE_LEAVE, name, flags);
}

static inline int space_destroy(int dev, const char *name, uint32_t flags)
{
	return space_named(dev, RDLOCK_IOC_SPACE_DESTROY, name, flags);
}

static inline int space_stat(int space, struct rdlock_space_stat *st)
{
	poison(st, sizeof(*st));
	st->size = sizeof(*st);
	st->flags = 0;
	return call(space, RDLOCK_IOC_SPACE_STAT, st);
}

/* --- locks --- */

static inline int lock_open(int space, const char *key, uint32_t flags)
{
	struct rdlock_lock_open arg = {
		.size = sizeof(arg), .flags = flags, .key_len = strlen(key), .deadline = in_ms(5000),
	};

	memcpy(arg.key, key, strlen(key));
	return call(space, RDLOCK_IOC_LOCK_OPEN, &arg);
}

/* As @kind, with @value_size; RDLOCK_OPEN_STICKY etc. in @flags. */
static inline int lock_open_as(int space, const char *key, uint32_t kind, uint32_t value_size, uint32_t flags)
{
	struct rdlock_lock_open arg = {
		.size = sizeof(arg), .flags = flags, .key_len = strlen(key), .kind = kind, .value_size = value_size,
		.deadline = in_ms(5000),
	};

	memcpy(arg.key, key, strlen(key));
	return call(space, RDLOCK_IOC_LOCK_OPEN, &arg);
}

/* "fair" etc.; NULL: the space's default; -1: no such kind. */
static inline int kind_of(const char *word)
{
	static const char * const words[] = { "default", "spin", "fair", "ticket", "mcs" };

	for (int i = 0; word && i < (int)ARRAY_SIZE(words); i++)
		if (!strcmp(word, words[i]))
			return i;
	return word ? -1 : 0;
}

static inline int lock_acquire_mode(int lock, uint32_t mode, uint32_t flags, uint64_t deadline, uint64_t *token)
{
	struct rdlock_acquire arg;
	int ret;

	poison(&arg, sizeof(arg));
	arg.size = sizeof(arg);
	arg.mode = mode;
	arg.flags = flags;
	arg.deadline = deadline;
	ret = call(lock, RDLOCK_IOC_ACQUIRE, &arg);
	if ((!ret || ret == -EOWNERDEAD) && token)
		*token = arg.out_token;
	return ret;
}

static inline int lock_acquire(int lock, uint32_t flags, uint64_t deadline, uint64_t *token)
{
	return lock_acquire_mode(lock, RDLOCK_MODE_EXCLUSIVE, flags, deadline, token);
}

static inline int lock_convert(int lock, uint32_t mode, uint64_t *token)
{
	struct rdlock_convert arg = { .size = sizeof(arg), .mode = mode };
	int ret = call(lock, RDLOCK_IOC_CONVERT, &arg);

	if (!ret && token)
		*token = arg.out_token;
	return ret;
}

static inline int lock_value_get(int lock, void *value, uint32_t *len)
{
	struct rdlock_value arg = { .size = sizeof(arg) };
	int ret = call(lock, RDLOCK_IOC_VALUE_GET, &arg);

	if (!ret) {
		memcpy(value, arg.value, sizeof(arg.value));
		*len = arg.out_len;
	}
	return ret;
}

/* By address; @len: room, and what there is. */
static inline int lock_value_read(int lock, void *to, uint32_t *len)
{
	struct rdlock_value arg = { .size = sizeof(arg), .len = *len, .addr = (uintptr_t)to };
	int ret = call(lock, RDLOCK_IOC_VALUE_GET, &arg);

	if (!ret)
		*len = arg.out_len;
	return ret;
}

static inline int lock_value_write(int lock, const void *from, uint32_t len)
{
	struct rdlock_value arg = { .size = sizeof(arg), .len = len, .addr = (uintptr_t)from };

	return call(lock, RDLOCK_IOC_VALUE_SET, &arg);
}

static inline int lock_value_set(int lock, const void *value, uint32_t len)
{
	struct rdlock_value arg = { .size = sizeof(arg), .len = len };

	memcpy(arg.value, value, len < sizeof(arg.value) ? len : sizeof(arg.value));
	return call(lock, RDLOCK_IOC_VALUE_SET, &arg);
}

/* A try can fail for a moment after a close: the word is given back by an operation that nobody waits for. */
static inline int lock_try(int lock)
{
	return lock_acquire(lock, RDLOCK_ACQUIRE_TRY, 0, NULL);
}

static inline int lock_release(int lock)
{
	struct rdlock_release arg = { .size = sizeof(arg) };

	return call(lock, RDLOCK_IOC_RELEASE, &arg);
}

static inline int lock_consistent(int lock)
{
	struct rdlock_release arg = { .size = sizeof(arg) };

	return call(lock, RDLOCK_IOC_CONSISTENT, &arg);
}

static inline int lock_reset(int space, const char *key)
{
	struct rdlock_lock_reset arg = { .size = sizeof(arg), .key_len = strlen(key), .deadline = in_ms(5000) };

	memcpy(arg.key, key, strlen(key));
	return call(space, RDLOCK_IOC_LOCK_RESET, &arg);
}

/* A robust lock of @kind whose owner has died: by closing what it held. The fd holds nothing. */
static inline int lock_of_dead(int space, const char *key, uint32_t kind)
{
	int lock = lock_open_as(space, key, kind, 0, RDLOCK_OPEN_ROBUST);
	int dead = lock_open_as(space, key, kind, 0, RDLOCK_OPEN_ROBUST);

	REQUIRE_TRUE(lock >= 0 && dead >= 0);
	REQUIRE(call(dead, RDLOCK_IOC_ACQUIRE, &(struct rdlock_acquire){
		.size = sizeof(struct rdlock_acquire), .mode = RDLOCK_MODE_EXCLUSIVE, .deadline = in_ms(5000) }), 0);
	close(dead);
	return lock;
}

static inline int lock_cancel(int lock)
{
	struct rdlock_release arg = { .size = sizeof(arg) };

	return call(lock, RDLOCK_IOC_CANCEL, &arg);
}

static inline int lock_status(int lock, struct rdlock_status *st)
{
	poison(st, sizeof(*st));
	st->size = sizeof(*st);
	st->flags = 0;
	return call(lock, RDLOCK_IOC_STATUS, st);
}

/* enum rdlock_fd_state or negative errno */
static inline int lock_state(int lock)
{
	struct rdlock_status st;
	int ret = lock_status(lock, &st);

	return ret ? ret : (int)st.out_state;
}

/* Is it free, within the second that an owner's death or close may take? Takes and gives it back. */
static inline int lock_is_free(int lock)
{
	int ret = lock_acquire(lock, 0, in_ms(1000), NULL);

	return ret ? ret : lock_release(lock);
}

/* --- counters --- */

static inline int counter_open(int space, const char *key, uint32_t cells)
{
	struct rdlock_counter_open arg = {
		.size = sizeof(arg), .key_len = strlen(key), .cells = cells, .deadline = in_ms(5000),
	};

	memcpy(arg.key, key, strlen(key));
	return call(space, RDLOCK_IOC_COUNTER_OPEN, &arg);
}

static inline int counter_op(int counter, unsigned long cmd, uint32_t cell, uint64_t value, uint64_t expect,
			     uint64_t *old)
{
	struct rdlock_counter_op arg;
	int ret;

	poison(&arg, sizeof(arg));
	arg.size = sizeof(arg);
	arg.flags = 0;
	arg.cell = cell;
	arg.deadline = in_ms(5000);
	arg.arg = value;
	arg.expect = expect;
	ret = call(counter, cmd, &arg);
	if (!ret && old)
		*old = arg.out_old;
	return ret;
}

static inline int counter_add(int counter, uint32_t cell, uint64_t value, uint64_t *old)
{
	return counter_op(counter, RDLOCK_IOC_COUNTER_ADD, cell, value, 0, old);
}

static inline int counter_cas(int counter, uint32_t cell, uint64_t expect, uint64_t value, uint64_t *old)
{
	return counter_op(counter, RDLOCK_IOC_COUNTER_CAS, cell, value, expect, old);
}

static inline int counter_read(int counter, uint32_t cell, uint64_t *value)
{
	return counter_op(counter, RDLOCK_IOC_COUNTER_READ, cell, 0, 0, value);
}

/* --- the ground a test stands on --- */

/* A key of this run of this test alone, so that a failed test does not disturb the next. */
static inline const char *fresh_key(const char *word)
{
	static char keys[8][RDLOCK_NAME_MAX];
	static unsigned int n;
	char *key = keys[n % 8];

	snprintf(key, sizeof(keys[0]), "%s.%d.%u", word, (int)getpid(), n++);
	return key;
}

/* Device and space fd of the test; the test ends if there are none. */
static inline int need_dev(void)
{
	int dev = dev_open();

	REQUIRE_TRUE(dev >= 0);
	return dev;
}

static inline int need_space(void)
{
	int dev = need_dev();
	int space = space_open(dev, the_space());

	if (space < 0)
		REQUIRE(space, 0);
	close(dev);
	return space;
}

static inline int need_lock(int space, const char *key)
{
	int lock = lock_open(space, key, 0);

	if (lock < 0)
		REQUIRE(lock, 0);
	return lock;
}

static inline int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	if (!dir)
		return -errno;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* The line that begins with @word and has @key in debugfs' list of locks of a space; true if there is one. */
static inline bool debugfs_line(const char *space, const char *word, const char *key, char *line, size_t size)
{
	char path[128];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/debug/rdlock/%s/locks", space);
	f = fopen(path, "r");
	if (!f)
		return false;
	while (!found && fgets(line, size, f))
		found = !strncmp(line, word, strlen(word)) && strstr(line, key);
	fclose(f);
	return found;
}

static inline const char *setup_space(void)
{
	int node = atoi(env_or("RDLOCK_NODE", "0"));
	int dev = dev_open();
	int ret;

	if (dev == -ENOENT || dev == -ENODEV)
		return "no /dev/rdlock: the module is not loaded";
	if (dev < 0) {
		EXPECT(dev, 0);
		return NULL;
	}
	if (node)
		ret = space_join(dev, the_space(), env_or("RDLOCK_ADDR", "10.77.0.1"), node, in_ms(20000));
	else
		ret = space_create(dev, the_space(), 0666, ~0U, ~0U);
	if (ret != -EEXIST)
		EXPECT(ret, 0);
	close(dev);
	return NULL;
}

#endif /* RDLOCK_TEST_COMMON_H */
