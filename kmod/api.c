// SPDX-License-Identifier: GPL-2.0
/*
 * What kernel consumers call. Thin: checks, lockdep, and the functions that the ioctls use too.
 *
 * lockdep sees a distributed lock as a mutex of the class of the place that opened it (as ocfs2 does for its cluster
 * locks): an inversion between two of them, or between one and a local mutex, is reported on one machine before it
 * deadlocks two. An asynchronous grant belongs to no task, so lockdep is told nothing about it.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "agent.h"
#include "compat.h"
#include "object.h"
#include "space.h"
#include "wait.h"
#include "include/linux/rdlock.h"

/**
 * rdlock_space_get - find a space by name
 * @net: net namespace it was created or joined in
 * @name: its name
 * @len: bytes of @name
 *
 * A space with users cannot be left or destroyed unless by force.
 *
 * Context: process, may sleep.
 * Return: the space, to be given back by rdlock_space_put(), or ERR_PTR: -ENOENT, -ESHUTDOWN (it is being left or
 * destroyed), -ENODEV (its device was removed).
 */
struct rdlock_space *rdlock_space_get(struct net *net, const char *name, size_t len)
{
	struct rdlock_space *space;
	int err;

	if (!len || len > RDLOCK_NAME_MAX)
		return ERR_PTR(-EINVAL);
	space = rdlock_space_find(net, name, len);
	if (!space)
		return ERR_PTR(-ENOENT);
	err = rdlock_space_pin(space);
	rdlock_space_unref(space);
	return err ? ERR_PTR(err) : space;
}
RDLOCK_EXPORT(rdlock_space_get);

/**
 * rdlock_space_put - give a space back
 * @space: of rdlock_space_get()
 *
 * Context: any that may take a BH lock.
 */
void rdlock_space_put(struct rdlock_space *space)
{
	rdlock_space_unpin(space);
}
RDLOCK_EXPORT(rdlock_space_put);

/**
 * rdlock_space_ready - is there a session with the home?
 * @space: space
 *
 * Context: any. Return: true if locks can be acquired now; it may change at any time.
 */
bool rdlock_space_ready(struct rdlock_space *space)
{
	return READ_ONCE(space->state) == RDLOCK_SPACE_READY;
}
RDLOCK_EXPORT(rdlock_space_ready);

/**
 * __rdlock_open - see rdlock_open()
 * @space: space
 * @key: key
 * @len: its bytes
 * @props: what is asked of it
 * @deadline: CLOCK_MONOTONIC
 * @class: lockdep class
 * @class_name: its name
 *
 * Context: process, sleeps, killable. Return: the lock or ERR_PTR.
 */
struct rdlock *__rdlock_open(struct rdlock_space *space, const void *key, size_t len, const struct rdlock_props *props,
			     ktime_t deadline, struct lock_class_key *class, const char *class_name)
{
	struct rdlock *l;

	might_sleep();
	if (!len || len > RDLOCK_NAME_MAX || props->flags & RDLOCK_OPEN_EXISTING)
		return ERR_PTR(-EINVAL);
	l = rdlock_handle_open(space, key, len, props, deadline, false);
	if (IS_ERR(l))
		return l;
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	lockdep_init_map(&l->dep_map, class_name, class, 0);
	l->has_dep = true;
#endif
	return l;
}
RDLOCK_EXPORT(__rdlock_open);

static void dep_acquired(struct rdlock *l, unsigned int subclass, int try, unsigned long ip)
{
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	if (l->has_dep)
		mutex_acquire(&l->dep_map, subclass, try, ip);
#endif
}

static void dep_released(struct rdlock *l, unsigned long ip)
{
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	if (l->has_dep && lock_is_held(&l->dep_map))
		mutex_release(&l->dep_map, ip);
#endif
}

/**
 * rdlock_close - close a lock
 * @lock: lock; held or wanted: it is released or withdrawn
 *
 * A robust lock that is held exclusively is to be released first: to close it is to die with it, and the next owner is
 * told so.
 *
 * Context: process, sleeps; not from an rdlock_granted_fn, of whatever lock.
 */
void rdlock_close(struct rdlock *lock)
{
	might_sleep();
	dep_released(lock, _RET_IP_);
	rdlock_handle_close(lock);
}
RDLOCK_EXPORT(rdlock_close);

static int acquire(struct rdlock *lock, u32 mode, ktime_t deadline, struct rdlock_grant *grant, unsigned int subclass,
		   unsigned long ip)
{
	int err;

	might_sleep();
	/* Before the wait, so that an inversion is reported even when it does not deadlock today. */
	dep_acquired(lock, subclass, 0, ip);
	err = rdlock_request(lock, mode, 0, deadline, grant);
	if (err && err != -EOWNERDEAD)
		dep_released(lock, ip);
	return err;
}

/**
 * rdlock_acquire - acquire a lock
 * @lock: lock, not held by this handle
 * @mode: RDLOCK_EXCLUSIVE; RDLOCK_SHARED where the kind has it
 * @deadline: CLOCK_MONOTONIC; KTIME_MAX: for ever
 * @grant: filled on success, and with -EOWNERDEAD; may be NULL
 *
 * The task that acquires is the owner that lockdep knows, so on a kernel with lockdep it must also release or close;
 * who hands a held lock to another task uses rdlock_acquire_async().
 *
 * Context: process, sleeps, killable. Not from memory reclaim: the fabric may need memory to make progress.
 * Return: 0 with the lock held; -EOWNERDEAD, of a robust lock, with the lock held, too: see rdlock_make_consistent().
 * Nothing is held with any other error: -ETIMEDOUT, -EHOSTUNREACH (deadline passed, the home could not be reached),
 * -ERESTARTSYS (fatal signal), -EDEADLK (this handle holds it), -EBUSY (this handle is waiting), -ENOTRECOVERABLE (an
 * owner that was told of a death gave the robust lock up), -EKEYREVOKED (this node was cut off; close and open again if
 * the handle held the lock), -EOPNOTSUPP, -ESHUTDOWN, -ENODEV.
 */
int rdlock_acquire(struct rdlock *lock, u32 mode, ktime_t deadline, struct rdlock_grant *grant)
{
	return acquire(lock, mode, deadline, grant, 0, _RET_IP_);
}
RDLOCK_EXPORT(rdlock_acquire);

/**
 * rdlock_acquire_nested - acquire a lock while another of its class is held
 * @lock: as for rdlock_acquire()
 * @mode: as for rdlock_acquire()
 * @deadline: as for rdlock_acquire()
 * @grant: as for rdlock_acquire()
 * @subclass: which of the locks that are held at a time it is, for lockdep: 0 to 7, 0 as rdlock_acquire()
 *
 * For callers that take locks of one class in an order that lockdep cannot see, a parent before its child.
 *
 * Context: as rdlock_acquire(). Return: as rdlock_acquire().
 */
int rdlock_acquire_nested(struct rdlock *lock, u32 mode, ktime_t deadline, struct rdlock_grant *grant,
			  unsigned int subclass)
{
	return acquire(lock, mode, deadline, grant, subclass, _RET_IP_);
}
RDLOCK_EXPORT(rdlock_acquire_nested);

/**
 * rdlock_try - acquire a lock if nobody holds it
 * @lock: lock
 * @mode: as for rdlock_acquire()
 * @grant: as for rdlock_acquire()
 *
 * Context: process, sleeps for about a round trip to the home, killable.
 * Return: 0; -EAGAIN somebody has it; -EHOSTUNREACH; -EOWNERDEAD with the lock held; others as rdlock_acquire().
 */
int rdlock_try(struct rdlock *lock, u32 mode, struct rdlock_grant *grant)
{
	int err;

	might_sleep();
	err = rdlock_request(lock, mode, RDLOCK_REQ_TRY, KTIME_MAX, grant);
	if (!err || err == -EOWNERDEAD)
		dep_acquired(lock, 0, 1, _RET_IP_);
	return err;
}
RDLOCK_EXPORT(rdlock_try);

/**
 * rdlock_acquire_async - acquire a lock without waiting
 * @lock: lock
 * @mode: as for rdlock_acquire()
 * @deadline: then @fn is called with -ETIMEDOUT
 * @fn: called once when it is decided, unless rdlock_cancel() or rdlock_close() come first; also when it is decided at
 *   once
 * @ctx: for @fn
 *
 * Context: any that may take a BH lock.
 * Return: 0, @fn will tell; or an error as of rdlock_acquire(), @fn is not called.
 */
int rdlock_acquire_async(struct rdlock *lock, u32 mode, ktime_t deadline, rdlock_granted_fn fn, void *ctx)
{
	return rdlock_request_async(lock, mode, deadline, fn, ctx);
}
RDLOCK_EXPORT(rdlock_acquire_async);

/**
 * rdlock_cancel - withdraw an asynchronous acquire
 * @lock: lock
 *
 * Context: process. Return: 0: it is withdrawn, or was granted and is given back; -EKEYREVOKED: it ended by the loss of
 * the handle; -ENOENT: there was none, or it came too late, and its function has run, runs, or is about to. After 0 it
 * is not called; after -EKEYREVOKED it is not called any more, but may be running. rdlock_close() waits for it.
 */
int rdlock_cancel(struct rdlock *lock)
{
	return rdlock_request_cancel(lock);
}
RDLOCK_EXPORT(rdlock_cancel);

/**
 * rdlock_release - release a lock
 * @lock: lock
 *
 * Never waits: the operation goes out and its completion is dealt with behind the scenes.
 *
 * Context: any that may take a BH lock. Return: 0; -EPERM not held; -EKEYREVOKED it was lost meanwhile: what was done
 * under it may have raced with the next owner.
 */
int rdlock_release(struct rdlock *lock)
{
	dep_released(lock, _RET_IP_);
	return rdlock_handle_release(lock);
}
RDLOCK_EXPORT(rdlock_release);

/**
 * rdlock_make_consistent - say that what a robust lock guards is whole again
 * @lock: lock that is held exclusively, and was acquired with -EOWNERDEAD
 *
 * Whoever gets the lock afterwards, on whatever node, is told of no death. Who releases a lock that was acquired
 * exclusively with -EOWNERDEAD, and has not called this, gives it up for all: nobody gets it any more
 * (-ENOTRECOVERABLE) until an administrator resets it, or nobody has it open. A shared owner decides nothing.
 *
 * Context: process, sleeps until the home knows, killable: then it may be known later.
 * Return: 0; -EINVAL not robust, not held exclusively, or there is nothing to make consistent; -EBUSY this handle is
 * saying so already, or being converted; -EPERM not held; -EKEYREVOKED.
 */
int rdlock_make_consistent(struct rdlock *lock)
{
	might_sleep();
	return rdlock_handle_consistent(lock);
}
RDLOCK_EXPORT(rdlock_make_consistent);

/**
 * rdlock_convert - hold a lock in another mode
 * @lock: lock that is held
 * @mode: RDLOCK_SHARED or RDLOCK_EXCLUSIVE; the one it has: nothing happens
 * @grant: filled on success; may be NULL
 *
 * To shared it always goes, but for the errors below; to exclusive only if nobody shares the lock or waits for it. The
 * lock stays held with any error but -EKEYREVOKED.
 *
 * Context: process, sleeps, killable: then the mode is open until rdlock_release().
 * Return: 0; -EDEADLK others have it or wait; -EAGAIN or -EHOSTUNREACH not now, the mode is the old one (after
 * -EHOSTUNREACH a value that was written is the lock's, as if it had gone to shared); -EOPNOTSUPP the kind has no
 * shared mode; -EBUSY this handle is being converted; -EPERM not held; -EKEYREVOKED.
 */
int rdlock_convert(struct rdlock *lock, u32 mode, struct rdlock_grant *grant)
{
	might_sleep();
	return rdlock_handle_convert(lock, mode, grant);
}
RDLOCK_EXPORT(rdlock_convert);

/**
 * rdlock_value_get - read the value block of a lock
 * @lock: lock that is held
 * @value: where it goes
 * @size: room there; what does not fit is left out
 *
 * Up to 64 KiB are copied with BH off.
 *
 * Context: any that may take a BH lock.
 * Return: the value's size; -EOPNOTSUPP it has none; -EPERM not held; -EKEYREVOKED.
 */
int rdlock_value_get(struct rdlock *lock, void *value, size_t size)
{
	return rdlock_handle_value_get(lock, value, min_t(size_t, size, RDLOCK_VALUE_MAX));
}
RDLOCK_EXPORT(rdlock_value_get);

/**
 * rdlock_value_set - write the value block of a lock
 * @lock: lock that is held exclusively
 * @value: its bytes
 * @size: exactly the value's size
 *
 * The next owner finds it once this one has released the lock, or gone down to shared; not if it is lost or only
 * closed.
 *
 * Context: any that may take a BH lock. Return: 0; -EINVAL another size; others as rdlock_value_get().
 */
int rdlock_value_set(struct rdlock *lock, const void *value, size_t size)
{
	if (size > RDLOCK_VALUE_MAX)
		return -EINVAL;
	return rdlock_handle_value_set(lock, value, size);
}
RDLOCK_EXPORT(rdlock_value_set);

/**
 * rdlock_valid - is it still held?
 * @lock: lock that was acquired
 *
 * Context: any that may take a BH lock. Return: false once this node may have been cut off; true is only as good as the
 * moment.
 */
bool rdlock_valid(struct rdlock *lock)
{
	return rdlock_handle_valid(lock);
}
RDLOCK_EXPORT(rdlock_valid);

/**
 * rdlock_counter_open - open a counter by key
 * @space: space
 * @key: 1 to 64 bytes; counters and locks have separate keys
 * @len: bytes of @key
 * @cells: number of cells; 0: as many as it has
 * @deadline: CLOCK_MONOTONIC
 *
 * Context: process, sleeps, killable. Return: counter or ERR_PTR: -ENOENT, -EEXIST (another number of cells), -ENOSPC,
 * -EHOSTUNREACH, -ETIMEDOUT, -ERESTARTSYS (after which it may have been made), -EINVAL.
 */
struct rdlock_counter *rdlock_counter_open(struct rdlock_space *space, const void *key, size_t len, u32 cells,
					   ktime_t deadline)
{
	might_sleep();
	if (!len || len > RDLOCK_NAME_MAX)
		return ERR_PTR(-EINVAL);
	return rdlock_counter_do_open(space, key, len, cells, deadline, false);
}
RDLOCK_EXPORT(rdlock_counter_open);

/**
 * rdlock_counter_close - close a counter
 * @counter: counter
 *
 * Its cells stay until the space is destroyed.
 *
 * Context: process.
 */
void rdlock_counter_close(struct rdlock_counter *counter)
{
	rdlock_counter_do_close(counter);
}
RDLOCK_EXPORT(rdlock_counter_close);

/**
 * rdlock_counter_cells - number of cells
 * @counter: counter
 *
 * Context: any. Return: at least 1.
 */
u32 rdlock_counter_cells(struct rdlock_counter *counter)
{
	return rdlock_counter_nr_cells(counter);
}
RDLOCK_EXPORT(rdlock_counter_cells);

/**
 * rdlock_counter_add - add to a cell
 * @counter: counter
 * @cell: index
 * @addend: modulo 2^64
 * @deadline: until then an unreachable home is waited for
 * @old: the value before
 *
 * Context: process, sleeps, killable.
 * Return: 0; -EREMOTEIO it may or may not have happened, and is never repeated; -ERANGE; -EHOSTUNREACH, -ETIMEDOUT,
 * -ERESTARTSYS it did not happen; -EKEYREVOKED the space was created anew since.
 */
int rdlock_counter_add(struct rdlock_counter *counter, u32 cell, u64 addend, ktime_t deadline, u64 *old)
{
	might_sleep();
	return rdlock_counter_do(counter, RDLOCK_COUNTER_ADD, cell, addend, 0, deadline, false, old);
}
RDLOCK_EXPORT(rdlock_counter_add);

/**
 * rdlock_counter_cas - compare and swap a cell
 * @counter: counter
 * @cell: index
 * @expect: stored only if the cell holds this
 * @desired: what is stored
 * @deadline: as for rdlock_counter_add()
 * @old: the value before; it was stored if that is @expect
 *
 * Context: process, sleeps, killable. Return: as rdlock_counter_add().
 */
int rdlock_counter_cas(struct rdlock_counter *counter, u32 cell, u64 expect, u64 desired, ktime_t deadline, u64 *old)
{
	might_sleep();
	return rdlock_counter_do(counter, RDLOCK_COUNTER_CAS, cell, desired, expect, deadline, false, old);
}
RDLOCK_EXPORT(rdlock_counter_cas);

/**
 * rdlock_counter_read - read a cell
 * @counter: counter
 * @cell: index
 * @deadline: as for rdlock_counter_add()
 * @value: its value
 *
 * Context: process, sleeps, killable. Return: as rdlock_counter_add(), never -EREMOTEIO but by a fatal signal.
 */
int rdlock_counter_read(struct rdlock_counter *counter, u32 cell, ktime_t deadline, u64 *value)
{
	might_sleep();
	return rdlock_counter_do(counter, RDLOCK_COUNTER_READ, cell, 0, 0, deadline, false, value);
}
RDLOCK_EXPORT(rdlock_counter_read);
