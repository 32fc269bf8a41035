// SPDX-License-Identifier: GPL-2.0
/*
 * The device and spaces.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "lib.h"
#include "rdlock.h"

int lib_call(int fd, unsigned long cmd, void *arg)
{
	int saved = errno;
	int ret = ioctl(fd, cmd, arg);

	if (ret < 0)
		ret = -errno;
	errno = saved;
	return ret;
}

int lib_name(uint8_t *field, uint32_t *field_len, const void *name, size_t len)
{
	if (!len || len > RDLOCK_NAME_MAX)
		return -EINVAL;
	memcpy(field, name, len);
	*field_len = len;
	return 0;
}

int lib_out(void *out, size_t size)
{
	uint32_t head[2] = { size };

	if (size < sizeof(head) || size > UINT32_MAX)
		return -EINVAL;
	memset(out, 0, size);
	memcpy(out, head, sizeof(head));
	return 0;
}

int rdlock_dev_open(void)
{
	int saved = errno;
	int fd = open("/dev/rdlock", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		fd = -errno;
	errno = saved;
	return fd;
}

int rdlock_get_info(int dev, struct rdlock_info *info, size_t size)
{
	int err = lib_out(info, size);

	return err ? err : lib_call(dev, RDLOCK_IOC_INFO, info);
}

int rdlock_space_create(int dev, const void *name, size_t len, const struct rdlock_addr *addr,
			unsigned int node, const struct rdlock_space_opts *opts)
{
	static const struct rdlock_space_opts defaults = RDLOCK_SPACE_OPTS_INIT;
	struct rdlock_space_create c = { .size = sizeof(c), .node = node, .addr = *addr };
	int err = lib_name(c.name, &c.name_len, name, len);

	if (err)
		return err;
	if (!opts)
		opts = &defaults;
	c.max_nodes = opts->max_nodes;
	c.kind = opts->kind;
	c.mode = opts->mode;
	c.uid = opts->uid;
	c.gid = opts->gid;
	c.wait = opts->wait;
	return lib_call(dev, RDLOCK_IOC_SPACE_CREATE, &c);
}

int rdlock_space_join(int dev, const void *name, size_t len, const struct rdlock_addr *addr,
		      unsigned int node, const struct rdlock_space_opts *opts, uint64_t deadline)
{
	static const struct rdlock_space_opts defaults = RDLOCK_SPACE_OPTS_INIT;
	struct rdlock_space_join j = {
		.size = sizeof(j),
		.node = node,
		.deadline = deadline,
		.addr = *addr,
	};
	int err = lib_name(j.name, &j.name_len, name, len);

	if (err)
		return err;
	if (!opts)
		opts = &defaults;
	j.mode = opts->mode;
	j.uid = opts->uid;
	j.gid = opts->gid;
	j.wait = opts->wait;
	return lib_call(dev, RDLOCK_IOC_SPACE_JOIN, &j);
}

static int by_name(int dev, unsigned long cmd, const void *name, size_t len, unsigned int flags)
{
	struct rdlock_space_name n = { .size = sizeof(n), .flags = flags };
	int err = lib_name(n.name, &n.name_len, name, len);

	return err ? err : lib_call(dev, cmd, &n);
}

int rdlock_space_leave(int dev, const void *name, size_t len, unsigned int flags)
{
	return by_name(dev, RDLOCK_IOC_SPACE_LEAVE, name, len, flags);
}

int rdlock_space_destroy(int dev, const void *name, size_t len, unsigned int flags)
{
	return by_name(dev, RDLOCK_IOC_SPACE_DESTROY, name, len, flags);
}

int rdlock_space_open(int dev, const void *name, size_t len)
{
	return by_name(dev, RDLOCK_IOC_SPACE_OPEN, name, len, 0);
}

/* Spaces come and go between two calls, so ask until all fit. */
int rdlock_space_list(int dev, struct rdlock_space_stat **stats, size_t size)
{
	struct rdlock_space_list l = { .size = sizeof(l), .stat_size = size, .count = 16 };
	int saved = errno;
	void *array;
	int err;

	/* The kernel has a bound of its own, which is less. */
	if (!size || size > UINT32_MAX)
		return -EINVAL;
	for (;;) {
		array = calloc(l.count, size);
		errno = saved;
		if (!array)
			return -ENOMEM;
		l.stats = (uintptr_t)array;
		l.out_total = 0;
		err = lib_call(dev, RDLOCK_IOC_SPACE_LIST, &l);
		if (err < 0) {
			free(array);
			return err;
		}
		if (l.out_total <= l.count)
			break;
		free(array);
		l.count = l.out_total + 4;
	}
	*stats = array;
	return l.out_total;
}

int rdlock_get_space_stat(int space, struct rdlock_space_stat *stat, size_t size)
{
	int err = lib_out(stat, size);

	return err ? err : lib_call(space, RDLOCK_IOC_SPACE_STAT, stat);
}
