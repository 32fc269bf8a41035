/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This node's session with the home of its space: link, handshake, requests, lease. At the home itself the session is
 * local: always up, operations go through the loopback pair, messages by a function call or a queue.
 *
 * A session survives a broken link if the node comes back, with the same incarnation, before the home evicts it: what
 * it holds stays held. When the lease runs out first, everything is lost and the node joins again as a new incarnation.
 *
 *          link up, WELCOME                    link down                     lease over
 *   DOWN -------------------> UP (ready) ----------------> DOWN (suspect) ----------------> DOWN (lost) --> UP again
 */
#ifndef RDLOCK_SESSION_H
#define RDLOCK_SESSION_H

#include <linux/completion.h>
#include <linux/ktime.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "core/core.h"
#include "fabric/fabric.h"

struct rdlock_space;

/*
 * The place of leases, as constants until they are parameters of the space: a node that has had no heartbeat
 * acknowledged for RDLOCK_LEASE_MS, counted from the sending of the last acknowledged one, has lost what it held; the
 * home evicts it RDLOCK_EVICT_MS after it received the last one. The difference covers the drift of the clocks and late
 * timers.
 */
#define RDLOCK_LEASE_MS		4000
#define RDLOCK_EVICT_MS		5000
#define RDLOCK_MARGIN_MS	200	/* nothing is granted or posted with less than that left */
#define RDLOCK_HB_MS		500
#define RDLOCK_CALL_MS		2000	/* wait for an answer, or a sign of life, before the link is given up */
#define RDLOCK_NR_HB		32	/* heartbeats in flight whose time is known; at most two a RDLOCK_HB_MS */

/**
 * struct rdlock_session - with the home
 * @up: the handshake is done and the link stands. Protected by space->lock.
 * @local: this node is the home; fixed
 * @stopped: never again. Protected by space->lock.
 * @lost: the lease ran out or the home did not take the session up again; cleared by the next WELCOME. Protected by
 *   space->lock.
 * @losing: so many calls are telling agents that all is lost, and some do not know yet. Protected by space->lock.
 * @link: to the home; NULL while there is none. Protected by space->lock.
 * @no: number of the session's link on this node: rkeys of another number are void. Protected by space->lock.
 * @id: the home's number of the session, to resume by; 0: none. Protected by space->lock.
 * @inc: own incarnation. Protected by space->lock.
 * @home_inc, @home_node: the home's. Protected by space->lock.
 * @lease_end: boottime ns; U64_MAX when @local. Protected by space->lock.
 * @lease_low: an agent wants to know when the lease is renewed: it holds back a grant, or its CLOSE may be lost until
 *   then. Protected by space->lock.
 * @hb_acked: number of the last heartbeat acknowledged before which all that was sent has arrived. Protected by
 *   space->lock.
 * @hb: number of the last heartbeat sent; by number modulo RDLOCK_NR_HB, @hb_sent: boottime ns, @hb_over: bit, it may
 *   have overtaken other messages. Protected by space->lock.
 * @hello_sent: boottime ns of this link's HELLO, where the lease of a new session starts; 0: not sent. Protected by
 *   space->lock.
 * @connecting: rdf_link_connect() was called, its link is not known here yet. Protected by space->lock.
 * @other_instance: the space was created anew since; all handles are to be revoked. Protected by space->lock.
 * @last_err: why there is no session, negative errno. Protected by space->lock.
 * @tries: attempts to connect since the last session, at most 4. Protected by space->lock.
 * @resets: of them, those in a row that the home's host ended without a word. Protected by space->lock.
 * @backoff_ms: until the next connect. Protected by space->lock.
 * @calls: requests that wait for an answer, by number; entries are on their callers' stacks, protected by the xarray's
 *   lock
 * @req: last number given. Protected by @calls' lock.
 * @wq: woken at every change of the above
 * @open_lock: outside of space->lock, BH off; @opening: locks that are being opened. Protected by @open_lock.
 * @bye: completed by BYE_ACK
 */
struct rdlock_session {
	bool up;
	bool local;
	bool stopped;
	bool lost;
	unsigned int losing;
	bool connecting;
	bool other_instance;
	struct rdf_link *link;
	u32 no;
	u64 id;
	u32 inc;
	u32 home_inc;
	u16 home_node;
	u64 lease_end;
	bool lease_low;
	u32 hb;
	u32 hb_acked;
	u64 hb_sent[RDLOCK_NR_HB];
	unsigned long hb_over;
	u64 hello_sent;
	int last_err;
	u32 tries;
	u32 resets;
	u32 backoff_ms;
	struct xarray calls;
	u32 req;
	wait_queue_head_t wq;
	spinlock_t open_lock;
	u32 opening;
	struct completion bye;
	struct delayed_work connect_work;	/* on space->wq: make a domain and a link */
	struct work_struct up_work;		/* on space->wq: open everything again */
	struct delayed_work hb_work;		/* on rdlock_lease_wq: a heartbeat */
	struct delayed_work lease_work;		/* on rdlock_lease_wq: the lease or the wait for WELCOME may be over */
};

void rdlock_session_init(struct rdlock_space *space, bool local);
/* Home: the loopback session stands from now on. */
void rdlock_session_start_local(struct rdlock_space *space);
void rdlock_session_start(struct rdlock_space *space);
/*
 * Leave: no link, no work of it running afterwards. @polite: say BYE and wait for the answer. What is open must have
 * been revoked before. Context: process, bounded.
 */
void rdlock_session_stop(struct rdlock_space *space, bool polite);

/* Everything of this session is gone: revoke, join again. Context: process. */
void rdlock_session_lose(struct rdlock_space *space, int err);
/* Wait until the session is up. 0, -ERESTARTSYS, -EHOSTUNREACH (or a better reason) at @deadline, -ESHUTDOWN. */
int rdlock_session_wait_up(struct rdlock_space *space, ktime_t deadline, bool interruptible);

/**
 * struct rdlock_caller - how long a caller waits
 * @deadline: CLOCK_MONOTONIC, KTIME_MAX: none
 * @interruptible: any signal ends it; else fatal ones only
 */
struct rdlock_caller {
	ktime_t deadline;
	bool interruptible;
};

/**
 * rdlock_session_call - one request and its answer
 * @msg, @len: the request; its number is filled in
 * @reply: the answer's header and payload, room for @reply_len
 * @caller: who waits for it; NULL: a work does, and a home that lives is given more time
 * @no: set to the number of the session that was asked, also on an error; 0: there was none, nothing was sent
 *
 * Return: 0, -ENOTCONN (no session, or it broke: may be asked again), -ETIMEDOUT (no answer by the deadline, or in
 * RDLOCK_CALL_MS), -ERESTARTSYS, -ENOMEM, or the error the home answered.
 * Context: process, sleeps. Bounded by RDLOCK_CALL_MS; without @caller by three of them.
 */
int rdlock_session_call(struct rdlock_space *space, struct rdl_msg *msg, u32 len, void *reply, u32 reply_len,
			const struct rdlock_caller *caller, u32 *no);
/* A message to the home without an answer. Context: any. 0, -ENOTCONN, -ENOMEM. */
int rdlock_session_send(struct rdlock_space *space, struct rdl_msg *msg, u32 len);
/* One that waits for no other; also 1: it has overtaken some. */
int rdlock_session_send_urgent(struct rdlock_space *space, struct rdl_msg *msg, u32 len);
/* Around asking the home to open a lock, until it is found by its slot; see lock_message(). */
void rdlock_session_opening(struct rdlock_space *space, int n);
/* What cannot be happened: give the session up, from any context. */
void rdlock_session_doubt(struct rdlock_space *space);
/* A message from the home. Context: softirq, or process at the home itself. */
void rdlock_session_recv(struct rdlock_space *space, const struct rdl_msg *msg, u32 len);

/* session_call.c, for session.c: an answer has come; none will, the session is over; BYE, and wait for its answer. */
void rdlock_session_answer(struct rdlock_space *space, const struct rdl_msg *msg, u32 len);
void rdlock_session_calls_fail(struct rdlock_space *space, int err);
void rdlock_session_bye(struct rdlock_space *space);

/* The first time: also fails at once when the home refuses for good. */
int rdlock_session_wait_joined(struct rdlock_space *space, ktime_t deadline);

/* RDL_F_* for an agent whose address belongs to session @no; with RDL_F_LINK *@link, if wanted, gets a reference. */
u8 rdlock_session_flags(struct rdlock_space *space, u32 no, struct rdf_link **link);
/*
 * By the clock: a node whose processors are all taken finds out late. False: what this node holds is lost, and stays
 * so. Context: any that may take a BH lock.
 */
bool rdlock_session_lease_ok(struct rdlock_space *space);

#endif /* RDLOCK_SESSION_H */
