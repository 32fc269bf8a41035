/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fabric: what the rest of rdlock sees of RDMA.
 *
 * Purpose: asynchronous CAS, FAA, READ, WRITE and SEND between two nodes of a space, each completing exactly once with
 * an outcome that says whether it certainly happened, certainly did not, or may have happened. No protocol lives here,
 * and nothing above this header names a QP.
 *
 * Two back-ends: nic, the home's device carries the operations out by itself; rpc, they travel as messages and the
 * home's CPU does (rpc.h). The home's domain has one of them for all of its memory; a link has that of its home.
 *
 * Objects and lifetime
 *
 *   rdf_dom       a space's presence on one RDMA device: PD, completion queues and, at a home, the loopback QP pair
 *                 (rpc: a link without queue pairs that does the same).
 *                 Owned by the space. An access key of one domain is worthless in another.
 *   rdf_link      the connection of two nodes in one space: two RC QPs ("channels"), one for messages, one for
 *                 one-sided operations, so that a full receive queue cannot break an atomic. Refcounted.
 *   rdf_mem       memory at a home that peers reach.   rdf_mr: the right of one peer to one rdf_mem (own rkey).
 *   rdf_op        one operation; embedded in the caller's object, which must live until ->done was called.
 *
 * A link's life (verbs_link.c, one function changes the state):
 *
 *   CONNECTING --both channels established--> UP --error, kill, device gone--> DYING --QPs destroyed--> DEAD
 *        \_______________error, time-out, kill______________________________________/
 *
 *   ->up()    at CONNECTING -> UP.
 *   ->down()  exactly once for every link whose connect or accept succeeded in making it, in process context, after
 *             every operation on it has completed and both QPs are destroyed. Nothing of the link can land at the peer
 *             or here after ->down() began: this is what recovery relies on (Documentation/protocol.rst).
 */
#ifndef RDF_FABRIC_H
#define RDF_FABRIC_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/socket.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "../core/msg.h"

struct net;
struct rdf_dom;
struct rdf_link;
struct rdf_mem;
struct rdf_mr;
struct rdf_listener;

/**
 * enum rdf_outcome - what is known of a completed operation
 * @RDF_OK: it was done; @rdf_op.old is valid for CAS and FAA
 * @RDF_FAILED: it was certainly not done
 * @RDF_AMBIGUOUS: it may or may not have been done; never post it again
 */
enum rdf_outcome {
	RDF_OK,
	RDF_FAILED,
	RDF_AMBIGUOUS,
};

enum rdf_opcode {
	RDF_OP_CAS,
	RDF_OP_FAA,
	RDF_OP_READ,
	RDF_OP_WRITE,
};

/**
 * struct rdf_addr - where an operation goes
 * @addr: the peer's I/O virtual address
 * @rkey: the right to it, of the session that gave it
 */
struct rdf_addr {
	u64 addr;
	u32 rkey;
};

/**
 * struct rdf_op - one operation
 * @done: called exactly once, in softirq or process context, for every op that was taken (rdf_cas() etc. returned 0);
 *   may post again
 * @index: the owner's, after rdf_op_init(): which of several it is
 * @old: CAS, FAA: the word's value before the operation, host byte order
 * @outcome: set before @done
 * @status: enum ib_wc_status, for messages to people only
 *
 * The rest belongs to the fabric. One op may be in flight at most once; zero it once with rdf_op_init().
 */
struct rdf_op {
	void (*done)(struct rdf_op *op);
	u32 index;
	u64 old;
	enum rdf_outcome outcome;
	int status;

	/* fabric's own, protected by the link's lock while the op is taken */
	struct ib_cqe cqe;
	struct list_head node;
	struct rdf_link *link;
	enum rdf_opcode opcode;
	struct rdf_addr to;
	u64 arg[2];
	void *buf;
	u32 len;
	u32 asked;		/* rpc: bytes of a read or write that requests were sent for */
	u32 slot;
	u64 dma;
	u64 mark;		/* nic, atomics: in the slot until the result is */
	u64 cid;
	bool posted;
	bool undone;		/* a fault point: not carried out, and nobody is to know */
};

static inline void rdf_op_init(struct rdf_op *op, void (*done)(struct rdf_op *op))
{
	*op = (struct rdf_op){ .done = done };
	INIT_LIST_HEAD(&op->node);
}

/**
 * struct rdf_hello - CM private data of both channels of a link; all the passive side knows before it decides
 *
 * 56 bytes are the most that the CM carries in a REQ of RDMA_PS_TCP.
 */
struct rdf_hello {
	__le32 magic;		/* RDF_HELLO_MAGIC */
	__le16 version;		/* RDF_HELLO_VERSION */
	u8 chan;		/* enum rdf_chan_id; set by the fabric */
	u8 reserved;		/* 0 */
	__le64 space_hash;	/* hash of the space's name */
	__le64 nonce;		/* random; the same in both channels of one link; set by the fabric */
	__le32 inc;		/* incarnation of the connecting node */
	__le16 node;		/* id of the connecting node in the space */
	__le16 reserved2;	/* 0 */
} __packed;

#define RDF_HELLO_MAGIC   0x31464452	/* "RDF1" */
#define RDF_HELLO_VERSION 3

enum rdf_chan_id {
	RDF_CHAN_MSG,
	RDF_CHAN_OPS,
	RDF_NR_CHANS,
};

/**
 * struct rdf_accept - CM private data of an acceptance, of both channels
 */
struct rdf_accept {
	__le32 magic;		/* RDF_HELLO_MAGIC */
	u8 backend;		/* enum rdl_backend: how the home carries operations out */
	u8 reserved[3];		/* 0 */
} __packed;

/**
 * struct rdf_reject - CM private data of a refusal
 */
struct rdf_reject {
	__le32 magic;		/* RDF_HELLO_MAGIC */
	__le32 error;		/* positive errno */
} __packed;

/**
 * struct rdf_link_ops - what a link tells its owner
 * @up: both channels are established. Context: process; may sleep.
 * @recv: a message that passed rdl_msg_check(). Context: softirq. The buffer is the fabric's and is posted again when
 *	recv returns true; when it returns false the owner keeps @rx until rdf_rx_done(): the peer's credit for it
 *	comes back only then, which is the back-pressure.
 * @down: see above. @err: negative errno of the first cause; -ECONNREFUSED etc. carry the peer's refusal (struct
 *   rdf_reject).
 *	Context: process; may sleep.
 */
struct rdf_rx {
	const struct rdl_msg *msg;
	u32 len;
	struct list_head node;	/* the owner's while it keeps the buffer */
	struct rdf_link *link;
};

struct rdf_link_ops {
	void (*up)(struct rdf_link *link);
	bool (*recv)(struct rdf_link *link, struct rdf_rx *rx);
	void (*down)(struct rdf_link *link, int err);
};

/* Statistics of a domain; the meaning is beside the name and feeds stats.c. X(name, meaning) */
#define RDF_STATS(X) \
	X(cas, "compare-and-swaps posted") \
	X(faa, "fetch-and-adds posted") \
	X(read, "reads posted") \
	X(write, "writes posted") \
	X(served, "rpc: requests of peers that this node's processor carried out") \
	X(send, "messages sent, credit messages not counted") \
	X(recv, "messages received and valid") \
	X(credit, "messages sent only to return credits") \
	X(deferred, "operations that waited for a free send slot") \
	X(failed, "operations that certainly did not happen") \
	X(ambiguous, "operations that may or may not have happened") \
	X(bad_msg, "messages dropped: wrong magic, version, length or checksum") \
	X(bad_event, "CM events that did not fit the state and were ignored") \
	X(connect, "connections attempted") \
	X(accept, "connections accepted") \
	X(reject, "connections refused by this node") \
	X(link_down, "links lost or closed") \
	X(no_result, "atomics that the device said were done, without the word's old value") \
	X(stalled, "links ended because the device neither completed nor gave up what was posted")

enum rdf_stat {
#define RDF_STAT_ENUM(name, meaning) RDF_STAT_##name,
	RDF_STATS(RDF_STAT_ENUM)
#undef RDF_STAT_ENUM
	RDF_NR_STATS,
};

/* ---- module ---- */

int rdf_init(void);	/* ib_client, workqueue, debugfs fault points */
void rdf_exit(void);	/* all domains are gone by then */

/* ---- domains: verbs_dev.c ---- */

struct rdf_dom_ops {
	/*
	 * The device goes away. Context: process. Every link is being killed; the owner must see to it that
	 * rdf_dom_destroy() is called soon (from here or from a work item): device removal waits for it.
	 */
	void (*device_gone)(struct rdf_dom *dom);
};

#define RDF_DOM_HOME  BIT(0)	/* @addr is a local address; make the loopback pair */
#define RDF_DOM_NIC   BIT(1)	/* no other back-end than nic will do */
#define RDF_DOM_RPC   BIT(2)	/* back-end rpc whatever the device can; do not probe */

/**
 * rdf_dom_create - take a device into use for a space
 * @net: net namespace; the caller has a reference to it, until this returns
 * @addr: RDF_DOM_HOME: a local address of the device; else: the peer's address, the device is the one that routes to it
 * @flags: RDF_DOM_*
 * @timeout_ms: bound for address resolution
 * @ops, @ctx: see struct rdf_dom_ops, rdf_dom_ctx()
 *
 * The device's atomics are probed by really posting CAS and FAA on a loopback pair (value 0x0102030405060708 to catch
 * byte-swapped replies, a CAS that must fail, swapped operands); a good verdict is kept per device. A home on a device
 * that fails has back-end rpc; another node on such a device can only have links to homes of that back-end.
 *
 * Context: process, sleeps, killable.
 * Return: the domain or ERR_PTR: -ENODEV no RDMA device has or routes to the address, -EOPNOTSUPP the device cannot do
 * what @flags ask for, -EADDRNOTAVAIL, -ETIMEDOUT, -EINTR, -ENOMEM.
 */
struct rdf_dom *rdf_dom_create(struct net *net, const struct sockaddr_storage *addr, unsigned int flags, u32 timeout_ms,
			       const struct rdf_dom_ops *ops, void *ctx);
/* Links must be dead, MRs and memory freed, listeners stopped. Context: process, sleeps, bounded. */
void rdf_dom_destroy(struct rdf_dom *dom);
void *rdf_dom_ctx(struct rdf_dom *dom);
/* At a home: how operations on its memory are carried out. Elsewhere: RPC if the device has no atomics that work. */
enum rdl_backend rdf_dom_backend(struct rdf_dom *dom);
const char *rdf_dom_dev_name(struct rdf_dom *dom);
/*
 * RDF_DOM_HOME: one-sided ops on own memory; no messages. Valid as long as the domain. After an error on it the pair is
 * made again by itself: meanwhile operations are refused with -ENOTCONN, what was in flight has its outcome as on any
 * link.
 */
struct rdf_link *rdf_dom_loop(struct rdf_dom *dom);
bool rdf_dom_gone(struct rdf_dom *dom);			/* the device is going away */
u64 rdf_dom_stat(struct rdf_dom *dom, enum rdf_stat stat);
const char *rdf_stat_name(enum rdf_stat stat);

/* ---- memory: verbs_mem.c (all: process context, may sleep) ---- */

#define RDF_ACCESS_ATOMIC  BIT(0)	/* REMOTE_READ | REMOTE_ATOMIC, no REMOTE_WRITE: lock words, counter cells */
#define RDF_ACCESS_DATA    BIT(1)	/* REMOTE_READ | REMOTE_WRITE: boards, value blocks */

/* Bytes: an allocation that does not fail for want of order. */
#define RDF_MEM_PART	(PAGE_SIZE > 32768 ? PAGE_SIZE : 32768)

/* Zeroed; @size is rounded up to pages. More than RDF_MEM_PART may be in several places, which no peer can tell. */
struct rdf_mem *rdf_mem_alloc(struct rdf_dom *dom, size_t size);
void rdf_mem_free(struct rdf_mem *mem);		/* all its MRs are gone */
/*
 * The CPU's view. Stores only before the first rdf_mr_reg() of this memory: on rxe a CPU store, and on 6.1 even a
 * failing CAS, races with remote atomics. Loads (READ_ONCE) any time, for dumps only. Not of what is larger than
 * RDF_MEM_PART.
 */
void *rdf_mem_va(struct rdf_mem *mem);

/* A new rkey over the whole of @mem, posted on the loopback pair. Address 0 of the region is rdf_mr_addr().addr. */
struct rdf_mr *rdf_mr_reg(struct rdf_mem *mem, unsigned int access);
/*
 * Take the right away: invalidate, then free the MR. The peer's QPs must be destroyed first (its link is dead).
 */
void rdf_mr_dereg(struct rdf_mr *mr);
struct rdf_addr rdf_mr_addr(struct rdf_mr *mr);

/* ---- links: verbs_link.c ---- */

/**
 * rdf_link_connect - start connecting both channels
 * @dom: domain; the caller has a reference to its net namespace
 * @dst: the peer's address and port
 * @hello: node, inc, space_hash filled in
 * @timeout_ms: bound of the whole attempt; then ->down(-ETIMEDOUT)
 *
 * Return: a link with one reference for the caller, or ERR_PTR (then no callback comes).
 */
struct rdf_link *rdf_link_connect(struct rdf_dom *dom, const struct sockaddr_storage *dst,
				  const struct rdf_hello *hello, u32 timeout_ms,
				  const struct rdf_link_ops *ops, void *ctx);

/**
 * typedef rdf_request_fn - a peer asks for a link (its MSG channel arrived and passed the checks)
 * @ctx: of rdf_listen()
 * @hello: what it said
 * @link: not yet up; keep it by rdf_link_get() and rdf_link_set_owner() and return 0 to accept
 *
 * Return: 0, or negative errno: the peer's ->down() sees it.
 * Context: process, in a CM handler: must not close or wait for a link.
 */
typedef int (*rdf_request_fn)(void *ctx, const struct rdf_hello *hello, struct rdf_link *link);

/**
 * rdf_listen - accept links of one space at @addr
 *
 * Spaces on one address share the CM listener; @space_hash tells them apart. Pending handshakes are capped
 * (RDF_MAX_PENDING per listener) and time out; the excess is refused with -ENOBUFS.
 *
 * Return: listener or ERR_PTR: -EADDRINUSE, -EEXIST (same hash on that address), ...
 */
struct rdf_listener *rdf_listen(struct rdf_dom *dom, const struct sockaddr_storage *addr, u64 space_hash,
				rdf_request_fn request, void *ctx);
/*
 * No request is running and none comes after it returns. Half-made links of it are killed. Context: process, sleeps;
 * not under a lock that the request function takes.
 */
void rdf_listener_stop(struct rdf_listener *l);

void rdf_link_set_owner(struct rdf_link *link, const struct rdf_link_ops *ops, void *ctx);
void *rdf_link_ctx(struct rdf_link *link);
struct rdf_link *rdf_link_get(struct rdf_link *link);
void rdf_link_put(struct rdf_link *link);	/* any context */
bool rdf_link_is_up(struct rdf_link *link);
/* Known from ->up() on: that of the home at its passive end. */
enum rdl_backend rdf_link_backend(struct rdf_link *link);
/* Start taking it down; idempotent. Context: any that may take a spinlock with BH off. */
void rdf_link_kill(struct rdf_link *link, int err);
/* Wait until ->down() has returned; bounded (RDF_TEARDOWN_MS). Context: process, not in a callback of the link. */
void rdf_link_wait_dead(struct rdf_link *link);

/* ---- operations: verbs_wr.c ---- */
/*
 * Context: any, also under a spinlock with BH off, also from ->done and ->recv.
 * Return: 0: @op->done will be called exactly once. When all send slots are busy the op waits in the link's deferred
 * list. -EINVAL: misaligned address or bad length, -ENOTCONN: the link is not up, -ENOMEM: the buffer cannot be mapped
 * for the device; @done is not called, certainly not applied. With back-end rpc the passive end of a link may be asked
 * only, not ask: -EINVAL.
 */
int rdf_cas(struct rdf_link *link, struct rdf_op *op, struct rdf_addr to, u64 compare, u64 swap);
int rdf_faa(struct rdf_link *link, struct rdf_op *op, struct rdf_addr to, u64 addend);
/* @buf: kmalloc()ed, not on the stack, untouched until done; @len 1..RDF_RW_MAX */
int rdf_read(struct rdf_link *link, struct rdf_op *op, struct rdf_addr to, void *buf, u32 len);
int rdf_write(struct rdf_link *link, struct rdf_op *op, struct rdf_addr to, const void *buf, u32 len);

/**
 * rdf_send - send a message
 * @msg: header and payload, @len bytes, at most RDL_MSG_MAX; copied. The fabric fills magic, version, len, credits,
 *   checksum.
 *
 * In order and reliable as long as the link lives. Waits in a list while there is no credit.
 * Context: any, as above. Return: 0, -ENOTCONN, -ENOMEM, -EINVAL.
 */
int rdf_send(struct rdf_link *link, struct rdl_msg *msg, u32 len);
/*
 * The same for a message that may as well be lost: -ENOBUFS while RDF_TX_BEHIND wait already. So who makes this node
 * send to a peer that takes nothing cannot fill its memory.
 */
int rdf_send_lossy(struct rdf_link *link, struct rdl_msg *msg, u32 len);
/*
 * The same for one that overtakes what waits, and needs none of its credits: a heartbeat. ->recv() must give its buffer
 * back at once. Return: also 1, it has overtaken something.
 */
int rdf_send_urgent(struct rdf_link *link, struct rdl_msg *msg, u32 len);
/* Give back a message buffer that ->recv() kept. Context: any; also after the link died. */
void rdf_rx_done(struct rdf_rx *rx);

/* Bounds; the reasons stand in Documentation/fabric.rst. */
#define RDF_OP_SLOTS	  128	/* one-sided operations of a link in the send queue at once */
#define RDF_RPC_SLOTS	  64	/* rpc: requests of a link without an answer; buffers for them at each end */
#define RDF_RPC_DATA	  512	/* rpc: bytes of one request or answer; longer reads and writes are several */
#define RDF_RX_SLOTS	  64	/* receive buffers a link, and so the peer's credits */
#define RDF_TX_BEHIND	  16384	/* messages that wait for a peer, past which those that may be lost are */
#define RDF_RW_MAX	  65536
#define RDF_RD_ATOMIC	  16	/* responder_resources and initiator_depth before clamping */
#define RDF_ACK_TIMEOUT	  15	/* 4.096 us * 2^15 = 134 ms; below 14 rxe of 6.1 collapses */
#define RDF_RETRY_COUNT	  6	/* finite: 7 would be for ever on rxe of 6.1 */
#define RDF_RNR_RETRY	  6	/* finite: 7 would be for ever */
#define RDF_MAX_PENDING	  64
#define RDF_CONNECT_MS	  5000
#define RDF_LOOP_PAUSE_MS 50	/* before a broken loopback pair is made again */
#define RDF_LOOP_TRIES	  20	/* to make it; together less than the home waits for it (chunk.c) */
#define RDF_LOOP_LATER_MS 500	/* before each further one */
#define RDF_REFUSED_MS	  1000	/* for a peer whose request was refused to end the link itself */
#define RDF_TEARDOWN_MS	  15000
#define RDF_HANDLER_MS	  10	/* for who waits for the lock of an id to get it */
/*
 * A link on which nothing completes for this many looks, one a second, is ended. Longer than a device needs to give up
 * by itself: it may take each ACK time-out up to four times as long, 4 * 134 ms * (RDF_RETRY_COUNT + 1) = 3.8 s.
 */
#define RDF_STALL_LOOKS	  5
#define RDF_STALL_MS	  (RDF_STALL_LOOKS * 1000)

#endif /* RDF_FABRIC_H */
