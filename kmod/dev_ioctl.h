/* SPDX-License-Identifier: GPL-2.0 */
/* Between the files of the user interface: how an ioctl is described, and carried out (dev.c). */
#ifndef RDLOCK_DEV_IOCTL_H
#define RDLOCK_DEV_IOCTL_H

#include <linux/build_bug.h>
#include <linux/fs.h>
#include <linux/stddef.h>
#include <linux/types.h>

#include "../uapi/linux/rdlock.h"

/* Every structure an ioctl takes; one buffer on the stack serves all. */
union rdlock_ubuf {
	struct rdlock_info info;
	struct rdlock_space_create create;
	struct rdlock_space_join join;
	struct rdlock_space_name name;
	struct rdlock_space_list list;
	struct rdlock_space_stat stat;
	struct rdlock_lock_open lock_open;
	struct rdlock_counter_open counter_open;
	struct rdlock_acquire acquire;
	struct rdlock_release release;
	struct rdlock_status status;
	struct rdlock_convert convert;
	struct rdlock_value value;
	struct rdlock_lock_reset reset;
	struct rdlock_counter_op counter;
};

/**
 * struct rdlock_ioctl - one command of one kind of fd
 * @cmd: the whole number, not only its _IOC_NR
 * @size: of the structure as this kernel knows it
 * @min_size: of the structure as it was first published
 * @reply: the structure goes back when @fn succeeds, and with -EOWNERDEAD, which is no failure of an acquire
 * @fn: does it; 0, an fd, or a negative errno
 * @done: the reply was delivered; NULL: nothing depends on that
 * @undo: takes back what @fn did when the reply could not be delivered; NULL: nothing to take back
 */
struct rdlock_ioctl {
	unsigned int cmd;
	u32 size;
	u32 min_size;
	bool reply;
	int (*fn)(struct file *file, union rdlock_ubuf *u);
	void (*done)(struct file *file, const union rdlock_ubuf *u);
	void (*undo)(struct file *file, const union rdlock_ubuf *u);
};

#define RDLOCK_IOCTL(_cmd, _fn, _type, _last, ...)				\
	{									\
		.cmd = (_cmd),							\
		.size = sizeof(struct _type) +					\
			BUILD_BUG_ON_ZERO(sizeof(struct _type) >		\
					  sizeof(union rdlock_ubuf)),		\
		.min_size = offsetofend(struct _type, _last),			\
		.fn = (_fn),							\
		__VA_ARGS__							\
	}

/* Copies in, checks, calls @op->fn of the @count commands at @op, copies out. */
long rdlock_ioctl(struct file *file, unsigned int cmd, unsigned long arg, const struct rdlock_ioctl *op, size_t count);

extern const struct file_operations rdlock_counter_fops;	/* private_data: struct rdlock_counter */

#endif /* RDLOCK_DEV_IOCTL_H */
