/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rdlock for kernel code: locks and counters over RDMA atomics. Import the namespace RDLOCK.
 *
 * A space is found by name in a network namespace, a lock or counter is opened by key in a space. A struct rdlock is
 * one owner: it holds its lock once at most. Threads that are to exclude each other each open the key.
 */
#ifndef _LINUX_RDLOCK_H
#define _LINUX_RDLOCK_H

#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/types.h>

struct net;
struct rdlock;
struct rdlock_counter;
struct rdlock_space;

#define RDLOCK_SHARED		1	/* = enum rdlock_mode of the user interface */
#define RDLOCK_EXCLUSIVE	2

/**
 * struct rdlock_grant - what comes with a lock
 * @token: fencing token, greater than that of every earlier exclusive grant of this lock in this @instance
 * @instance: the space's instance
 * @flags: RDLOCK_GRANT_* of <uapi/linux/rdlock.h>
 */
struct rdlock_grant {
	u64 token;
	u64 instance;
	u32 flags;
};

/**
 * struct rdlock_props - what a lock is; the first open of a key decides
 * @kind: enum rdlock_kind, 0: the space's default, or as it is
 * @flags: RDLOCK_OPEN_STICKY, RDLOCK_OPEN_NOT_STICKY, or neither: as the kind has it, or as it is; RDLOCK_OPEN_ROBUST,
 *   without which it must not be robust
 * @value_size: bytes of the value block, up to RDLOCK_VALUE_MAX; 0: none, or as many as it has
 */
struct rdlock_props {
	u32 kind;
	u32 flags;
	u32 value_size;
};

/**
 * typedef rdlock_granted_fn - end of an asynchronous acquire
 * @lock: the lock
 * @err: 0 or -EOWNERDEAD: held, or a negative errno as of rdlock_acquire()
 * @grant: valid when it is held
 * @ctx: of rdlock_acquire_async()
 *
 * Context: process (a work item); may sleep; may call anything of rdlock but rdlock_close(), which
 * waits for the function of the lock that it closes. If that happens while the function sleeps in a call for this lock,
 * the call ends with -EKEYREVOKED. 256 functions may sleep at a time on a host; others are called as those end.
 */
typedef void (*rdlock_granted_fn)(struct rdlock *lock, int err, const struct rdlock_grant *grant, void *ctx);

struct rdlock_space *rdlock_space_get(struct net *net, const char *name, size_t len);
void rdlock_space_put(struct rdlock_space *space);
bool rdlock_space_ready(struct rdlock_space *space);

struct rdlock *__rdlock_open(struct rdlock_space *space, const void *key, size_t len, const struct rdlock_props *props,
			     ktime_t deadline, struct lock_class_key *class, const char *class_name);

/**
 * rdlock_open - open a lock by key
 * @space: space
 * @key: 1 to 64 bytes
 * @len: bytes of @key
 * @kind: enum rdlock_kind, 0: the space's default
 * @deadline: CLOCK_MONOTONIC; until then the home is asked; KTIME_MAX: for ever
 *
 * Each place in the source that opens locks is a lockdep class of its own.
 *
 * Context: process, sleeps, killable.
 * Return: the lock, not held, or ERR_PTR; see rdlock_acquire() and -EINVAL (the key exists with another kind), -ENOSPC.
 */
#define rdlock_open(space, key, len, kind, deadline)					\
({											\
	const struct rdlock_props __rdlock_props = { (kind) };				\
	rdlock_open_as(space, key, len, &__rdlock_props, deadline);			\
})

/**
 * rdlock_open_as - open a lock by key, with what it is to be
 * @space: space
 * @key: 1 to 64 bytes
 * @len: bytes of @key
 * @props: what is asked of it
 * @deadline: CLOCK_MONOTONIC; until then the home is asked; KTIME_MAX: for ever
 *
 * Context: as rdlock_open(). Return: as rdlock_open(); -EINVAL also for another value size or stickiness, and if only
 * one of lock and @props is robust; -EOPNOTSUPP: there is no such lock.
 */
#define rdlock_open_as(space, key, len, props, deadline)				\
({											\
	static struct lock_class_key __rdlock_class;					\
	__rdlock_open(space, key, len, props, deadline, &__rdlock_class, "rdlock:" #key);	\
})

void rdlock_close(struct rdlock *lock);
int rdlock_acquire(struct rdlock *lock, u32 mode, ktime_t deadline, struct rdlock_grant *grant);
int rdlock_acquire_nested(struct rdlock *lock, u32 mode, ktime_t deadline, struct rdlock_grant *grant,
			  unsigned int subclass);
int rdlock_try(struct rdlock *lock, u32 mode, struct rdlock_grant *grant);
int rdlock_acquire_async(struct rdlock *lock, u32 mode, ktime_t deadline, rdlock_granted_fn fn, void *ctx);
int rdlock_cancel(struct rdlock *lock);
int rdlock_release(struct rdlock *lock);
int rdlock_make_consistent(struct rdlock *lock);
int rdlock_convert(struct rdlock *lock, u32 mode, struct rdlock_grant *grant);
int rdlock_value_get(struct rdlock *lock, void *value, size_t size);
int rdlock_value_set(struct rdlock *lock, const void *value, size_t size);
bool rdlock_valid(struct rdlock *lock);

struct rdlock_counter *rdlock_counter_open(struct rdlock_space *space, const void *key, size_t len, u32 cells,
					   ktime_t deadline);
void rdlock_counter_close(struct rdlock_counter *counter);
u32 rdlock_counter_cells(struct rdlock_counter *counter);
int rdlock_counter_add(struct rdlock_counter *counter, u32 cell, u64 addend, ktime_t deadline, u64 *old);
int rdlock_counter_cas(struct rdlock_counter *counter, u32 cell, u64 expect, u64 desired, ktime_t deadline, u64 *old);
int rdlock_counter_read(struct rdlock_counter *counter, u32 cell, ktime_t deadline, u64 *value);

#endif /* _LINUX_RDLOCK_H */
