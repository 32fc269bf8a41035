/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An agent is this node's side of one lock: the core's state, the FIFO of local waiters, the one operation in flight.
 * All that happens to a lock on this node comes through rdlock_agent_event() in agent.c.
 *
 * Files: agent.c is the door, agent_post.c operations, agent_big.c those of big values, agent_msg.c messages,
 * agent_user.c users and waiters, agent_open.c the lock at the home, agent_table.c life.
 *
 * Life: made by the first open of a key, registered at the home by rdlock_agent.work, kept while a handle is open or
 * the core is not idle, then closed at the home and freed with the last reference. References: the table of agents,
 * each opener or handle, each operation in flight, a queued work.
 */
#ifndef RDLOCK_AGENT_H
#define RDLOCK_AGENT_H

#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/rhashtable.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "core/core.h"
#include "core/slot.h"
#include "fabric/fabric.h"
#include "include/linux/rdlock.h"
#include "../uapi/linux/rdlock.h"

struct rdlock;
struct rdlock_block;
struct rdlock_space;

struct rdlock_agent_key {
	u8 len;
	u8 key[RDLOCK_NAME_MAX];	/* zero-filled */
};

/**
 * struct rdlock_agent_out - what WRITEs beside the word send, of a kind with a queue; DMA-able, and not in one cache
 *	line with what a READ brings
 * @body: value and flags, before the operation that gives an exclusive grant back
 * @slot: of this node on the board
 */
struct rdlock_agent_out {
	struct rdl_body body;
	__le64 slot;
};

#define RDLOCK_BIG_OPS	17	/* operations of one transfer: pieces of 64 KiB, and the body */

/**
 * struct rdlock_agent_big - the copy of a big value, and the transfer of it (agent_big.c)
 * @agent: whose it is
 * @value: the copy that the core speaks of; a release that wrote a new one puts that in its place
 * @type: RDL_ACT_POST_READ_AREA or _WRITE_VALUE in flight, 0: none. Protected by agent->lock.
 * @cut: not all of it could be posted
 * @posted: which operations were
 * @left: how many have not ended
 * @op: of each piece, and of the body
 */
struct rdlock_agent_big {
	struct rdlock_agent *agent;
	struct rdlock_block *value;
	u8 type;
	bool cut;
	bool posted[RDLOCK_BIG_OPS];
	atomic_t left;
	struct rdf_op op[];
};

/**
 * struct rdlock_opener - who waits for the lock to be open; on its stack
 * @list: in agent->openers. Protected by agent->lock.
 * @agent: referenced
 * @ask: what it wants of the lock; fixed
 * @err: what the home said to that, negative errno; 0: nothing yet. Protected by agent->lock; read without it by the
 *   sleeper.
 */
struct rdlock_opener {
	struct list_head list;
	struct rdlock_agent *agent;
	struct rdlock_props ask;
	int err;
};

/* Beside the RDLOCK_OPEN_* of the user interface, in struct rdlock_props: as it is, and only if it is. */
#define RDLOCK_OPEN_EXISTING	(1U << 31)

#define RDLOCK_AGENT_REFUSED	4	/* posts that can be refused in one event: word, READ, slot; and one after */

/**
 * struct rdlock_agent - this node's side of one lock
 * @ref: references
 * @space: its space, referenced
 * @hnode: in space->agents; @list: in space->agent_list. Both protected by space->agents_mutex.
 * @key: fixed
 * @opens: openers and handles. Protected by space->agents_mutex.
 * @dead: out of the table, on its way to be freed. Protected by space->agents_mutex.
 * @asking: the work asks the home for it, and retires it afterwards if it was closed meanwhile. Protected by
 *   space->agents_mutex.
 * @registered: the home knows this node as an opener, in session @session. Protected by @lock.
 * @unsure: it may still, or may without our knowledge: an OPEN was not answered; or a CLOSE was sent in session
 *   @session, and no heartbeat after number @close_hb is acknowledged. Never with @registered. Protected by @lock.
 * @broken: @core contradicted itself, and the session is about to end. Protected by @lock.
 * @lock: protects the rest; taken with BH off, never held across what sleeps. Order: before space->lock and the
 *   fabric's.
 * @core: the protocol
 * @ask: properties that the home was asked for last; those it has, once @exact
 * @exact: @ask is what the lock was opened with, and must not become another
 * @openers: struct rdlock_opener.list, the oldest first
 * @queue: waiting handles (struct rdlock.node), head first
 * @places: so many requests have come
 * @handles: all handles (struct rdlock.all), so that they can be revoked
 * @users: handles that have the lock (struct rdlock.node): one, or readers
 * @op: the operation on the word in flight, while @core.io says so
 * @posted: when @op was posted
 * @read, @write_slot, @write_body: beside it; @body_busy: the last is in flight
 * @addr, @table, @slot: where the word is
 * @body, @slots: where value and board are; 0: spin
 * @session: number of the session @addr belongs to; 0: none, it is to be opened again
 * @in: what a READ brings, struct rdl_body or the board or the word; @out: see above. NULL: spin. Made before the
 *   home's answer is taken, freed with the agent.
 * @in_size: of @in
 * @value: the copy of the value that the core speaks of, unless it is a big one
 * @big: of a lock with RDL_P_BIG; made and freed as @in
 * @parked: the value that came with a GRANT of an epoch that has not begun
 * @timer: the core's
 * @wq: openers wait for @registered or rdlock_opener.err, tries for the end of rdl_try_is_early(), who resets it for an
 *	epoch
 * @work: makes what the home knows match @opens: opens, opens again, closes
 * @rcu: readers of space->by_slot
 */
struct rdlock_agent {
	struct kref ref;
	struct rdlock_space *space;
	struct rhash_head hnode;
	struct list_head list;
	struct rdlock_agent_key key;
	u32 opens;
	bool dead;
	bool asking;

	spinlock_t lock;
	bool registered;
	bool unsure;
	bool broken;
	u32 close_hb;
	struct rdl_lock core;
	struct rdlock_props ask;
	bool exact;
	struct list_head openers;
	struct list_head queue;
	u64 places;
	struct list_head handles;
	struct list_head users;
	struct rdf_op op;
	ktime_t posted;
	struct rdf_op read;
	struct rdf_op write_slot;
	struct rdf_op write_body;
	bool body_busy;
	struct rdf_addr addr;
	struct rdf_addr body;
	u16 slots;
	u32 table;
	u32 slot;
	u32 session;
	void *in;
	u32 in_size;
	struct rdlock_agent_out *out;
	u8 value[RDL_VALUE_MAX];
	u8 parked[RDL_VALUE_MAX];
	struct rdlock_agent_big *big;
	struct hrtimer timer;

	wait_queue_head_t wq;
	struct delayed_work work;
	struct rcu_head rcu;
};

/*
 * Find or make the agent, count an open. @o->ask is set; until it is taken out of @o->agent->openers it waits for an
 * answer. Context: process. Return: 0 or negative errno; -EBUSY: it has other properties, nobody has it open, but the
 * home does not know that yet: @o->agent is only referenced.
 */
int rdlock_agent_open(struct rdlock_space *space, const void *key, u32 len, struct rdlock_opener *o);
/* Does the lock have what @ask wants? Also false if it is not known yet. Locks: @a->lock held. */
bool rdlock_agent_fits(const struct rdlock_agent *a, const struct rdlock_props *ask);
void rdlock_agent_close(struct rdlock_agent *a);
struct rdlock_agent *rdlock_agent_get(struct rdlock_agent *a);
void rdlock_agent_put(struct rdlock_agent *a);	/* any context */

/* Events; all take @a->lock unless they say otherwise. Context: any that may take a BH lock. */
void rdlock_agent_acquire(struct rdlock_agent *a, struct rdlock *l);	/* @a->lock held */
/* @a->lock held; @l was PENDING and is out of the queue */
void rdlock_agent_cancel(struct rdlock_agent *a, struct rdlock *l);
/* @a->lock held; the user is gone from @a->users. @dirty: @a->value is what it has left. @report: enum rdl_report */
void rdlock_agent_release(struct rdlock_agent *a, bool dirty, u8 report);
/*
 * Says RDL_REPORT_CONSISTENT for the only user, or RDL_REPORT_RESET; rdl_reports() until the home knows. Of a lock that
 * is not robust: a user knows what its grant says of a dead owner. @a->lock held.
 */
void rdlock_agent_report(struct rdlock_agent *a, u8 report);
/* The only user goes to another mode; struct rdlock.converting says when it is over. 0 or -EAGAIN. @a->lock held. */
int rdlock_agent_convert(struct rdlock_agent *a, struct rdlock *l, u32 mode, bool dirty);
/* The last handle is closed: nothing idle is kept. */
void rdlock_agent_shed(struct rdlock_agent *a);
void rdlock_agent_freeze(struct rdlock_agent *a, u32 epoch);
void rdlock_agent_rebuilt(struct rdlock_agent *a, const struct rdl_msg *msg);
void rdlock_agent_peer(struct rdlock_agent *a, const struct rdl_msg *msg);	/* of another node */
void rdlock_agent_tell(struct rdlock_agent *a, u32 epoch);		/* the home's ASK: answer STAT */
void rdlock_agent_lease(struct rdlock_agent *a);
/*
 * The session is lost: what is held is revoked, waiters without a deadline fail with @err. With @all (the space goes
 * away, or came back as another instance) every handle is revoked and every waiter fails.
 */
void rdlock_agent_lose(struct rdlock_agent *a, int err, bool all);
/* Before it, and for all agents before the first of it: what is held only; @err points to an int. */
void rdlock_agent_lose_grants(struct rdlock_agent *a, void *err);

/* RCU lookup by the home's address; a reference or NULL. */
struct rdlock_agent *rdlock_agent_by_slot(struct rdlock_space *space, u32 table, u32 slot);
/* Run rdlock_agent.work, now (context: any) or in a while (space->agents_mutex held, @a not dead). */
void rdlock_agent_kick(struct rdlock_agent *a);
void rdlock_agent_kick_later(struct rdlock_agent *a, unsigned int ms);
/* Is there a handle that a new session makes good again? Locks: @a->lock held. */
bool rdlock_agent_has_live(const struct rdlock_agent *a);
/* Every handle is revoked, every waiter fails with @err. Locks: @a->lock held. */
void rdlock_agent_revoke(struct rdlock_agent *a, int err);

int rdlock_agents_init(struct rdlock_space *space);
void rdlock_agents_destroy(struct rdlock_space *space);
/* Call @fn for each agent, under space->agents_mutex. */
void rdlock_agents_each(struct rdlock_space *space, void (*fn)(struct rdlock_agent *a, void *arg), void *arg);

/* ---- between the files of an agent; @a->lock held unless they say otherwise ---- */

/* agent.c. @value: the bytes that came with @ev, NULL: none */
void rdlock_agent_door_init(struct rdlock_agent *a);
void rdlock_agent_event(struct rdlock_agent *a, struct rdl_event *ev, const u8 *value);
static inline bool rdlock_agent_busy(const struct rdlock_agent *a)
{
	return a->core.io || a->core.q.rd || a->core.q.slot || a->body_busy;
}

/* agent_post.c: an operation; false: refused, and certainly not done */
void rdlock_agent_post_init(struct rdlock_agent *a);
bool rdlock_agent_post(struct rdlock_agent *a, const struct rdl_action *act);
/* agent_big.c: all the operations of a big value's transfer. 0, or a negative errno: refused, as above */
int rdlock_agent_post_big(struct rdlock_agent *a, struct rdf_link *link, const struct rdl_action *act);
struct rdlock_agent_big *rdlock_agent_big_alloc(struct rdlock_agent *a, u32 size);	/* NULL: no memory */
void rdlock_agent_big_free(struct rdlock_agent_big *big);
/* agent_msg.c: a message to the home or a node */
void rdlock_agent_send(struct rdlock_agent *a, const struct rdl_acts *acts, const struct rdl_action *act,
		       const struct rdl_event *ev);
/* agent_user.c: what users and waiters see */
void rdlock_agent_deliver(struct rdlock_agent *a, const struct rdl_action *act);
void rdlock_agent_fail(struct rdlock_agent *a, const struct rdl_action *act);
void rdlock_agent_fail_all(struct rdlock_agent *a, int err);
void rdlock_agent_users_lost(struct rdlock_agent *a);
/* Of a robust lock: an epoch has begun, so the home may have taken a report. */
void rdlock_agent_said(struct rdlock_agent *a);
void rdlock_agent_converted(struct rdlock_agent *a, const struct rdl_action *act);
void rdlock_agent_waiter_fail(struct rdlock_agent *a, struct rdlock *l, int err);
void rdlock_agent_wake(struct rdlock *l);
/* Who is at the head of the queue, for @ev. */
void rdlock_agent_head(const struct rdlock_agent *a, struct rdl_event *ev);

/* agent_open.c, agent_table.c; without @a->lock */
void rdlock_agent_stop_timer(struct rdlock_agent *a);	/* waits for one that runs; not under @a->lock */
void rdlock_agent_work(struct work_struct *work);
/*
 * Nobody has it open: tell the home and go, if the core is at rest. true: not now, come back in a while. Locks:
 * space->agents_mutex held.
 */
bool rdlock_agent_retire(struct rdlock_agent *a);
/*
 * The place in space->by_slot, then the agent in it, for which there is memory then, or else -ENOMEM. The first one
 * sleeps, the second is under agents_mutex and does not. The entry has no reference; it is taken out before the agent
 * goes.
 */
int rdlock_agent_reserve_slot(struct rdlock_agent *a, u32 table, u32 slot);
int rdlock_agent_store_slot(struct rdlock_agent *a, u32 table, u32 slot);
void rdlock_agent_drop_slot(struct rdlock_agent *a);
void rdlock_agent_unlist(struct rdlock_agent *a);	/* space->agents_mutex held */

/* For dumps. */
void rdlock_agent_show(struct seq_file *m, struct rdlock_agent *a);

#endif /* RDLOCK_AGENT_H */
