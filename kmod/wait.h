/* SPDX-License-Identifier: GPL-2.0 */
/*
 * struct rdlock: one owner of a lock, as a lock fd or a kernel consumer has it, and its waiting. A handle has at most
 * one request at a time, so the waiter is part of it and acquiring allocates nothing.
 */
#ifndef RDLOCK_WAIT_H
#define RDLOCK_WAIT_H

#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/poll.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "core/limits.h"
#include "include/linux/rdlock.h"
#include "../uapi/linux/rdlock.h"

struct rdlock_agent;
struct rdlock_block;
struct rdlock_space;

/**
 * struct rdlock - a handle
 * @agent: this node's side of the lock; fixed, referenced
 * @state: enum rdlock_fd_state. Protected by agent->lock; read without it by the sleeper and poll.
 * @err: result of a request that failed while nobody slept in it (asynchronous), 0: none. Protected by agent->lock.
 * @mode: of the request or the grant. Protected by agent->lock.
 * @async: the request has no sleeper: poll or @fn get the result. Protected by agent->lock.
 * @try: the request is a try. Protected by agent->lock.
 * @sleeper: a call sleeps for the result, or has not looked at it yet. Protected by agent->lock.
 * @deadline: of the request. Protected by agent->lock.
 * @place: of the request, in the order of those who came: agent->places then. Protected by agent->lock.
 * @back_by: if it is made again by then it has the same place, for a signal had ended it. Protected by agent->lock.
 * @grant: valid in GRANTED and HELD. Protected by agent->lock.
 * @value: of the lock, as it came with the grant or as the owner wants it. Protected by agent->lock.
 * @staged: the same of a big value, NULL: it has none; meaningful only if @dirty, until then the owner has what the
 *   node's copy has. Protected by agent->lock.
 * @dirty: the owner has changed @value, or @staged. Protected by agent->lock.
 * @notice: HELD, not robust: @grant says that an owner died, and the one that fetched it may not know yet. Protected by
 *   agent->lock.
 * @converting: the owner waits for another mode. Protected by agent->lock; read without it by the sleeper.
 * @saying: the owner has said that the lock is consistent, the home does not know yet. Protected likewise.
 * @node: in agent->queue while PENDING, in agent->users while GRANTED or HELD. Protected by agent->lock.
 * @all: in agent->handles. Protected by agent->lock.
 * @wq: the sleeper and pollers
 * @timer: deadline of an asynchronous request
 * @fn, @ctx: of rdlock_acquire_async(). Protected by agent->lock.
 * @work: runs @fn
 * @dep_map: lockdep's view of the distributed lock (kernel consumers)
 * @has_dep: @dep_map is in use
 */
struct rdlock {
	struct rdlock_agent *agent;
	enum rdlock_fd_state state;
	int err;
	u8 mode;
	bool async;
	bool try;
	bool sleeper;
	ktime_t deadline;
	u64 place;
	ktime_t back_by;
	struct rdlock_grant grant;
	u8 value[RDL_VALUE_MAX];
	struct rdlock_block *staged;
	bool dirty;
	bool notice;
	bool converting;
	bool saying;
	struct list_head node;
	struct list_head all;
	wait_queue_head_t wq;
	struct hrtimer timer;
	rdlock_granted_fn fn;
	void *ctx;
	struct work_struct work;
	bool has_dep;
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	struct lockdep_map dep_map;
#endif
};

/*
 * Open a handle; the space is pinned by it. Context: process, sleeps; @interruptible: -ERESTARTSYS on any signal, else
 * only a fatal one ends the wait. Return: handle or ERR_PTR.
 */
struct rdlock *rdlock_handle_open(struct rdlock_space *space, const void *key, u32 len, const struct rdlock_props *ask,
				  ktime_t deadline, bool interruptible);
/* Releases or withdraws whatever it has. Context: process. */
void rdlock_handle_close(struct rdlock *l);

#define RDLOCK_REQ_TRY		 (1 << 0)
#define RDLOCK_REQ_INTERRUPTIBLE (1 << 1)	/* -ERESTARTSYS on any signal; else killable */
#define RDLOCK_REQ_NOWAIT	 (1 << 2)	/* queue it, -EAGAIN, the result by poll and the next call */

#define RDLOCK_REQ_REPLY	 (1 << 3)	/* by a reply to the owner: rdlock_handle_told() or _undo() follows */

/* Context: process; sleeps without NOWAIT. @g is written on success, and with -EOWNERDEAD: then it is held, too. */
int rdlock_request(struct rdlock *l, u32 mode, u32 flags, ktime_t deadline, struct rdlock_grant *g);
int rdlock_request_async(struct rdlock *l, u32 mode, ktime_t deadline, rdlock_granted_fn fn, void *ctx);
/* 0; -ENOENT: no asynchronous request, none granted and unfetched. */
int rdlock_request_cancel(struct rdlock *l);
/* What follows: 0, -EPERM not held, -EKEYREVOKED. Any context that may take a BH lock, but for convert. */
int rdlock_handle_release(struct rdlock *l);
/* The owner has got the grant with that token. */
void rdlock_handle_told(struct rdlock *l, u64 token);
/* As if it had not been acquired: nobody has seen the grant with that token. A later one is another's to give back. */
void rdlock_handle_undo(struct rdlock *l, u64 token);
/* held.c: also -EOPNOTSUPP, -EDEADLK, -EAGAIN. Context: process, sleeps. @g is written on success only. */
int rdlock_handle_convert(struct rdlock *l, u32 mode, struct rdlock_grant *g);
/* Copies at most @size bytes. The value's size, or -EOPNOTSUPP: the lock has none. */
int rdlock_handle_value_get(struct rdlock *l, void *value, u32 size);
/* Exactly the lock's size, else -EINVAL; -EPERM also if it is held shared. */
int rdlock_handle_value_set(struct rdlock *l, const void *value, u32 size);
/* held.c: of a robust lock whose owner died; -EINVAL it is none, or is not held exclusively. Sleeps. */
int rdlock_handle_consistent(struct rdlock *l);
/* held.c: a robust lock that is not recoverable is usable again; of one that is, nothing. Context: process, sleeps. */
int rdlock_lock_reset(struct rdlock_space *space, const void *key, u32 len, ktime_t deadline);
/* enum rdlock_fd_state as of now. Locks: l->agent->lock held. */
u32 rdlock_handle_state(const struct rdlock *l);
bool rdlock_handle_valid(struct rdlock *l);
__poll_t rdlock_handle_poll(struct rdlock *l, struct file *file, struct poll_table_struct *pt);
void rdlock_handle_status(struct rdlock *l, struct rdlock_status *out);

/* What to say when a deadline passed: was it the lock, or the home? */
int rdlock_timeout_error(struct rdlock_space *space);
/* Sleep on @wq until @cond(@arg), a signal, or @deadline (absolute, CLOCK_MONOTONIC): 0, -ERESTARTSYS, -ETIMEDOUT. */
int rdlock_sleep_until(wait_queue_head_t *wq, bool (*cond)(void *arg), void *arg, ktime_t deadline, bool interruptible);

#endif /* RDLOCK_WAIT_H */
