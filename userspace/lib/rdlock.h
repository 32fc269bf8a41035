/* SPDX-License-Identifier: GPL-2.0 */
/*
 * librdlock: locks and counters over RDMA atomics, through /dev/rdlock.
 *
 * Every call returns 0, a number or a new fd, or a negative errno; errno itself is left alone. No call starts a
 * thread, keeps state, or repeats a system call that a signal ended (-EINTR). The fds are ordinary ones: close() ends
 * what they stand for, and a lock is held by its open file description (see rdlock(4)). What each errno means is in
 * <linux/rdlock.h>; rdlock_explain() says it in words.
 *
 * The structures of <linux/rdlock.h> grow. Where the library fills one, @size is sizeof() of the caller's: what the
 * kernel does not know of a longer one is zero, and nothing is written behind a shorter one.
 */
#ifndef RDLOCK_H
#define RDLOCK_H

#include <stddef.h>
#include <stdint.h>

#include <linux/rdlock.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RDLOCK_API __attribute__((visibility("default")))
#else
#define RDLOCK_API
#endif

/**
 * struct rdlock_grant - what comes with a lock
 * @token: fencing token: hand it to the storage the lock protects, which refuses smaller ones
 * @instance: what @token belongs to; tokens of two instances do not compare
 * @flags: RDLOCK_GRANT_*
 */
struct rdlock_grant {
	uint64_t token;
	uint64_t instance;
	uint32_t flags;
	uint32_t reserved;
};

/**
 * struct rdlock_space_opts - properties of a space; start from RDLOCK_SPACE_OPTS_INIT
 * @max_nodes: 16, 64, 256; 0: 64. Creation only
 * @kind: enum rdlock_kind. Creation only
 * @mode: permission bits, up to 0666
 * @uid: owner; ~0: the caller
 * @gid: group; ~0: the caller's
 * @wait: enum rdlock_wait, of this node
 * @reserved: 0
 */
struct rdlock_space_opts {
	uint32_t max_nodes;
	uint32_t kind;
	uint32_t mode;
	uint32_t uid;
	uint32_t gid;
	uint32_t wait;
	uint32_t reserved[2];
};

#define RDLOCK_SPACE_OPTS_INIT { .mode = 0600, .uid = ~0U, .gid = ~0U }

/**
 * struct rdlock_lock_opts - what a lock is; the first open of its key decides
 * @kind: enum rdlock_kind; 0: the space's default, or as it is
 * @value_size: bytes of its value block, up to RDLOCK_VALUE_MAX; 0: none, or as many as it has
 * @reserved: 0
 */
struct rdlock_lock_opts {
	uint32_t kind;
	uint32_t value_size;
	uint32_t reserved[6];
};

/* ---- device ---- */

/* Open /dev/rdlock. Return: fd, or -ENOENT when the module is not loaded, -EACCES, ... */
RDLOCK_API int rdlock_dev_open(void);
/* @size: sizeof(*info) */
RDLOCK_API int rdlock_get_info(int dev, struct rdlock_info *info, size_t size);

/* ---- spaces; @opts NULL: the defaults. These four need CAP_NET_ADMIN. ---- */

RDLOCK_API int rdlock_space_create(int dev, const void *name, size_t len, const struct rdlock_addr *addr,
				   unsigned int node, const struct rdlock_space_opts *opts);
/* The home is tried until @deadline (see rdlock_deadline_in()). */
RDLOCK_API int rdlock_space_join(int dev, const void *name, size_t len, const struct rdlock_addr *addr,
				 unsigned int node, const struct rdlock_space_opts *opts, uint64_t deadline);
/* @flags: RDLOCK_SPACE_FORCE */
RDLOCK_API int rdlock_space_leave(int dev, const void *name, size_t len, unsigned int flags);
RDLOCK_API int rdlock_space_destroy(int dev, const void *name, size_t len, unsigned int flags);

/* All spaces of the net namespace, in an array to free(); @size: sizeof(**stats), of one entry. Return: how many. */
RDLOCK_API int rdlock_space_list(int dev, struct rdlock_space_stat **stats, size_t size);
/* Return: space fd */
RDLOCK_API int rdlock_space_open(int dev, const void *name, size_t len);
/* @size: sizeof(*stat) */
RDLOCK_API int rdlock_get_space_stat(int space, struct rdlock_space_stat *stat, size_t size);

/* ---- locks ---- */

/* @flags: RDLOCK_OPEN_NONBLOCK. Return: lock fd */
RDLOCK_API int rdlock_lock_open(int space, const void *key, size_t len, unsigned int kind, unsigned int flags,
				uint64_t deadline);
/*
 * With what it is to be; @flags may also have RDLOCK_OPEN_STICKY or _NOT_STICKY, and RDLOCK_OPEN_ROBUST. -EINVAL: it
 * exists, and is not so.
 */
RDLOCK_API int rdlock_lock_open_as(int space, const void *key, size_t len, const struct rdlock_lock_opts *opts,
				   unsigned int flags, uint64_t deadline);
/*
 * @mode: enum rdlock_mode. @grant may be NULL; it is written on success, and with -EOWNERDEAD: then the lock, which is
 * robust, is held too, and what it guards may not be consistent. -ENOTRECOVERABLE: that was given up, nothing is held.
 */
RDLOCK_API int rdlock_acquire(int lock, unsigned int mode, uint64_t deadline, struct rdlock_grant *grant);
/* Does not wait for the holder: -EAGAIN. */
RDLOCK_API int rdlock_try(int lock, unsigned int mode, struct rdlock_grant *grant);
/* A robust lock that was acquired exclusively with -EOWNERDEAD is given up by it, unless it was made consistent. */
RDLOCK_API int rdlock_release(int lock);
/* What it guards is consistent again: to be said by an exclusive owner, before it releases the lock. */
RDLOCK_API int rdlock_make_consistent(int lock);
/* A robust lock that was given up can be had again. Needs CAP_NET_ADMIN. -ENOENT: nobody has it open. */
RDLOCK_API int rdlock_lock_reset(int space, const void *key, size_t len, uint64_t deadline);
/* To another mode while it is held. -EDEADLK: others share it or wait for it; -EAGAIN: not now. */
RDLOCK_API int rdlock_convert(int lock, unsigned int mode, struct rdlock_grant *grant);
/* The value block of a lock that is held: at most @size bytes of it. Return: its size */
RDLOCK_API int rdlock_value_get(int lock, void *value, size_t size);
/* What the next owner finds after rdlock_release(); @size is exactly the lock's. */
RDLOCK_API int rdlock_value_set(int lock, const void *value, size_t size);
/* Withdraw an acquire that returned -EAGAIN under O_NONBLOCK. */
RDLOCK_API int rdlock_cancel(int lock);
/* @size: sizeof(*status) */
RDLOCK_API int rdlock_get_status(int lock, struct rdlock_status *status, size_t size);

/* ---- counters ---- */

/* @cells: how many it has or shall have; 0: it must exist. Return: counter fd */
RDLOCK_API int rdlock_counter_open(int space, const void *key, size_t len, unsigned int cells, uint64_t deadline);
/* @old may be NULL. -EREMOTEIO: it may or may not have happened. */
RDLOCK_API int rdlock_counter_add(int counter, unsigned int cell, uint64_t addend, uint64_t deadline, uint64_t *old);
/* Stores @desired if the cell holds @expect; it did if *@old == @expect. */
RDLOCK_API int rdlock_counter_cas(int counter, unsigned int cell, uint64_t expect, uint64_t desired, uint64_t deadline,
				  uint64_t *old);
RDLOCK_API int rdlock_counter_read(int counter, unsigned int cell, uint64_t deadline, uint64_t *value);
/* Return: number of cells */
RDLOCK_API int rdlock_counter_cells(int counter, uint64_t deadline);

/* ---- helpers ---- */

/* The deadline @seconds from now; infinity: RDLOCK_NO_DEADLINE. */
RDLOCK_API uint64_t rdlock_deadline_in(double seconds);

#define RDLOCK_ADDR_STR	80	/* of rdlock_addr_format() */

/* "10.0.0.1", "10.0.0.1:7517", "fd00::1", "[fd00::1]:7517", "[fe80::1%eth0]:7517". 0 or -EINVAL. */
RDLOCK_API int rdlock_addr_parse(const char *text, struct rdlock_addr *addr);
RDLOCK_API char *rdlock_addr_format(const struct rdlock_addr *addr, char buf[RDLOCK_ADDR_STR]);

#define RDLOCK_NAME_STR	(3 * RDLOCK_NAME_MAX + 1)	/* of rdlock_name_format() */

/*
 * Names and keys as text: printable ASCII stands for itself, all else, '%', and the bytes in @special, are written %XX.
 * The parser takes any byte but '%' for itself. It returns the number of bytes, -EINVAL or, when they are more than
 * RDLOCK_NAME_MAX or none, -ENAMETOOLONG or -ENODATA.
 */
RDLOCK_API int rdlock_name_parse(const char *text, size_t len, unsigned char name[RDLOCK_NAME_MAX]);
RDLOCK_API char *rdlock_name_format(const void *name, size_t len, const char *special, char buf[RDLOCK_NAME_STR]);

#define RDLOCK_CMD_DEV_OPEN	(-1)	/* rdlock_dev_open(), for rdlock_explain() */

/*
 * A sentence about the negative errno @err of the command @cmd (RDLOCK_CMD_*): what happened, and after a newline, what
 * to do, if there is something. @space and @key are text, either may be NULL. Returns @buf, always terminated.
 */
RDLOCK_API char *rdlock_explain(int cmd, int err, const char *space, const char *key, char *buf, size_t size);
/* "ENOENT"; "E?" when it has none. */
RDLOCK_API const char *rdlock_errno_name(int err);

#ifdef __cplusplus
}
#endif

#endif /* RDLOCK_H */
