/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fabric's own structures: domains, links and memory of both back-ends, and the operations of back-end nic; those
 * of back-end rpc are in rpc.h. Nothing outside fabric/ includes this.
 *
 * Locks, outer to inner:
 *
 *   rdf_dev_mutex	the devices, their domains, the probe's verdict (verbs_dev.c)
 *   rdf_port_mutex	the listening addresses (verbs_listen.c)
 *     port->mutex	the listeners of one address; held while an owner's request function runs
 *   the CM id's handler mutex (the CM's own)
 *   dom->lock		the domain's list of links
 *   link->lock		everything of one link; one operation or message posts under it
 *   dom->exec_lock	rpc: the home's memory and the rights to it; innermost
 *
 * No callback of an owner is ever called with link->lock or dom->lock held.
 */
#ifndef RDF_VERBS_H
#define RDF_VERBS_H

#include <linux/bitmap.h>
#include <linux/completion.h>
#include <linux/if_ether.h>
#include <linux/mutex.h>
#include <linux/scatterlist.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/rdma_cm.h>

#include "fabric.h"

#undef pr_fmt
#define pr_fmt(fmt) KBUILD_MODNAME ": fabric: " fmt

/*
 * Results of atomics land in memory of the link, one cache line a slot: a line that a device writes shares no bytes
 * with one that the CPU writes.
 */
#define RDF_SLOT_STRIDE	64
#define RDF_SLOT_BYTES	(RDF_OP_SLOTS * RDF_SLOT_STRIDE)

/* Messages in the send queue at once; the peer's receive buffers bound them from above as well. */
#define RDF_TX_SLOTS	RDF_RX_SLOTS
/* The last credit is kept for CREDIT messages, so that two full sides can still return what they owe. */
#define RDF_TX_RESERVED	1
#define RDF_TX_URGENT	1	/* credits for what overtakes */
/* Owed credits that are worth a message of their own. */
#define RDF_OWED_MAX	(RDF_RX_SLOTS / 2)
#define RDF_BAD_MSG_MAX	8

/* + 1 for ib_drain_qp()'s marker; on the loopback pair + 1 for a registration or an invalidation */
#define RDF_OPS_SQ	(RDF_OP_SLOTS + 2)
#define RDF_MSG_SQ	(RDF_TX_SLOTS + 2)
#define RDF_RPC_SQ	(RDF_RPC_SLOTS + 2)

/* A WRITE of at most this many bytes is one packet at any path MTU: a refusal proves that nothing was written. */
#define RDF_ONE_PACKET	256

enum rdf_link_state {
	RDF_CONNECTING,
	RDF_UP,
	RDF_DYING,
	RDF_DEAD,
};

enum rdf_chan_state {
	RDF_CH_IDLE,		/* no CM id, or one that has not begun */
	RDF_CH_ADDR,		/* active: address resolution is running */
	RDF_CH_ROUTE,		/* active: route resolution is running */
	RDF_CH_WAIT,		/* active: REQ sent; passive: accepted */
	RDF_CH_OPEN,		/* established */
};

enum rdf_event {
	RDF_EV_ADDR,	/* address resolved */
	RDF_EV_ROUTE,	/* route resolved */
	RDF_EV_OPEN,	/* established */
	RDF_EV_DATA,	/* a valid message came: the peer is up, whatever the CM says */
	RDF_EV_REFUSED,	/* the CM gave up making this channel */
	RDF_EV_GONE,	/* peer disconnected, or the address or the device went away */
	RDF_EV_KILL,	/* our own decision: time-out, owner */
	RDF_EV_FAILED,	/* a request failed, for a reason of its own */
	RDF_EV_FLUSHED,	/* a request was flushed, for whatever reason */
	RDF_EV_NOISE,	/* known and meaningless here */
	RDF_EV_UNKNOWN,
	RDF_EV_MADE,	/* loopback pair: (again) connected */
	RDF_EV_DEAD,	/* nothing of the link is left */
};

/* What a queue pair reported: bits of link->qp_events. */
enum rdf_qp_event {
	RDF_QP_BROKEN,		/* it is in error */
	RDF_QP_REFUSED,		/* it refused what the peer asked for, and says so to the peer */
};

enum rdf_act {
	RDF_ACT_NONE,
	RDF_ACT_ROUTE,
	RDF_ACT_CONNECT,
	RDF_ACT_WORK,	/* the work item has something to do */
	RDF_ACT_ODD,	/* does not fit the state: counted, nothing else */
};

struct rdf_dev {
	struct ib_device *ib;
	struct list_head node;		/* in rdf_devs */
	struct list_head doms;		/* protected by rdf_dev_mutex */
	bool probed;			/* its atomics were probed and are good; protected by rdf_dev_mutex */
	wait_queue_head_t idle;		/* woken when a domain leaves @doms or was told */
};

/* Path to ourselves: what the loopback pair needs. Immutable once the domain is made. */
struct rdf_path {
	union ib_gid gid;	/* its place in the device's table changes when the address is set up again */
	enum ib_gid_type gid_type;
	u32 port;
	u16 pkey_index;		/* the partition's of the address (InfiniBand), or 0 */
	u8 dmac[ETH_ALEN];
};

struct rdf_dom {
	struct kref ref;
	struct rdf_dev *dev;
	struct net *net;
	struct ib_pd *pd;
	enum rdl_backend backend;	/* see rdf_dom_backend(); immutable once the domain is made */
	const struct rdf_dom_ops *ops;
	void *ctx;
	struct rdf_path path;
	struct rdf_link *loop;		/* changed under rdf_dev_mutex; immutable once the domain is made */
	struct mutex reg_mutex;		/* one REG_MR or LOCAL_INV at a time on the loopback pair */
	struct list_head node;		/* in dev->doms; protected by rdf_dev_mutex */
	bool gone;			/* written under rdf_dev_mutex, read anywhere: READ_ONCE */
	bool made;			/* rdf_dom_create() succeeded; protected by rdf_dev_mutex */
	bool closing;			/* the loopback pair is not made again; set before it is killed: READ_ONCE */
	bool told;			/* device_gone was called; protected by rdf_dev_mutex */
	struct task_struct *telling;	/* runs device_gone now; protected by rdf_dev_mutex */
	spinlock_t lock;
	struct list_head links;		/* all but DEAD ones, without the loopback pair; protected by @lock */
	unsigned int nr_links;		/* of @links; protected by @lock */
	wait_queue_head_t idle;		/* woken when @nr_links falls to 0 */
	spinlock_t exec_lock;		/* rpc: held while an operation of anybody is carried out */
	struct xarray rights;		/* rpc: rkey >> 8 -> struct rdf_mr; read and erased under @exec_lock */
	u32 next_right;			/* protected by the lock of @rights */
	atomic64_t stats[RDF_NR_STATS];
};

/* Memory at a home. Immutable but for @nr_mrs, and @synced until somebody has a right. */
struct rdf_mem {
	struct rdf_dom *dom;
	void *va;		/* nic: NULL if it is in several places */
	size_t size;
	struct sg_table sg;	/* nic: where it is */
	int nr_mapped;		/* nic: parts of @sg as the device sees them */
	bool synced;		/* nic: the device sees what the processor wrote; set at the first registration */
	atomic_t nr_mrs;	/* for the check at the end only */
};

/* A right to memory. Immutable. */
struct rdf_mr {
	struct rdf_mem *mem;
	struct ib_mr *ib;	/* nic */
	struct rdf_addr to;	/* the region's first byte */
	unsigned int access;	/* RDF_ACCESS_* */
};

struct rdf_chan {
	struct rdf_link *link;
	enum rdf_chan_id which;
	enum rdf_chan_state state;	/* protected by link->lock */
	struct rdma_cm_id *id;		/* set under link->lock, destroyed by the link's work only */
	struct ib_qp *qp;		/* as @id; posting happens in UP under link->lock */
	struct ib_cq *cq;
};

struct rdf_rxbuf {
	struct ib_cqe cqe;
	struct rdf_rx rx;
	u64 dma;
};

struct rdf_tx {
	struct ib_cqe cqe;
	struct list_head node;		/* in link->tx_wait; protected by link->lock */
	struct rdf_link *link;
	u64 dma;
	u32 len;
	bool urgent;			/* fixed */
	u8 data[RDL_MSG_MAX] __aligned(8);
};

struct rdf_link {
	struct kref ref;
	struct rdf_dom *dom;		/* not touched once DEAD */
	const struct rdf_link_ops *ops;	/* immutable once the link can have events */
	void *ctx;
	struct rdf_hello hello;
	struct sockaddr_storage dst;
	struct rdf_listener *listener;	/* passive: who accepted; compared, never followed */
	bool active;
	bool loop;
	enum rdl_backend backend;	/* active: set when the MSG channel is accepted; protected by @lock until UP */
	spinlock_t lock;
	struct list_head node;		/* in dom->links */
	struct work_struct work;	/* everything that sleeps, one at a time */
	struct delayed_work timer;	/* bound of the handshake, then of a peer that was refused */
	struct completion dead;

	enum rdf_link_state state;	/* protected by @lock; written by rdf_link_event() only */
	int err;			/* first cause; protected by @lock */
	bool flushed;			/* @err is only that requests were flushed; protected by @lock */
	bool published;			/* the work may act on it; protected by @lock */
	bool want_start;		/* work: begin the channel @start; protected by @lock */
	bool want_up;			/* work: call ->up(); protected by @lock */
	bool want_open;			/* work: hand early messages over; protected by @lock */
	enum rdf_chan_id start;		/* protected by @lock */
	bool was_up;			/* ->up() has returned; protected by @lock */
	unsigned long qp_events;	/* enum rdf_qp_event; atomic bit operations */
	bool refused;			/* the device refused a request of the peer's; protected by @lock */
	struct rdf_chan chan[RDF_NR_CHANS];
	struct ib_qp *loop_peer;	/* the responder of the loopback pair */
	bool loop_connected;		/* there may be something to drain; only its maker and the link's work */
	bool loop_away;			/* the pair cannot be made for long, see rdf_loop_remake(): READ_ONCE */

	/* one-sided operations, all protected by @lock */
	DECLARE_BITMAP(slots, RDF_OP_SLOTS);
	struct list_head deferred;	/* operations that wait for a slot */
	struct list_head held;		/* completed ones that a fault point delays */
	unsigned int posted;		/* operations in the send queue */
	unsigned int stalled;		/* operations that a fault point keeps until the end; in @held */
	unsigned int completed;		/* operations, or parts of them, ever completed; may wrap */
	unsigned int looks;		/* looks of @watch that found operations, and @completed as @seen */
	unsigned int seen;
	struct delayed_work watch;	/* ends a link on which nothing completes */
	struct delayed_work held_work;
	struct page *slot_pages;
	u64 slot_dma;
	u64 mark;			/* of the last atomic, protected by @lock */
	struct rdf_rpc *rpc;		/* NULL: the device does the operations; set before UP */

	/* messages, all protected by @lock */
	struct list_head tx_wait;	/* messages that wait for a credit or a send slot */
	unsigned int tx_waiting;	/* messages in @tx_wait */
	unsigned int tx_posted;		/* messages in the send queue, CREDIT included */
	unsigned int credits;		/* receive buffers that the peer has for us */
	unsigned int owed;		/* receive buffers given back to the queue and not yet told */
	unsigned int bad_msgs;
	struct rdf_tx *credit_tx;	/* the preallocated CREDIT message */
	bool credit_busy;		/* it is in the send queue */
	bool credit_now;		/* send it although little is owed: it tells the peer that we are up */
	struct list_head early;		/* messages that came before ->up() returned, or held by a fault point */
	bool rx_open;			/* messages go straight to ->recv() */
	struct page *rx_pages;
	u64 rx_dma;
	struct rdf_rxbuf *rxbuf;	/* RDF_RX_SLOTS of them */
};

extern struct workqueue_struct *rdf_wq;

static inline void rdf_count(struct rdf_dom *dom, enum rdf_stat stat)
{
	atomic64_inc(&dom->stats[stat]);
}

static inline bool rdf_op_atomic(const struct rdf_op *op)
{
	return op->opcode == RDF_OP_CAS || op->opcode == RDF_OP_FAA;
}

static inline struct ib_device *rdf_ib(struct rdf_link *link)
{
	return link->dom->dev->ib;
}

/* verbs_link.c */
struct rdf_link *rdf_link_alloc(struct rdf_dom *dom, bool loop);
void rdf_link_discard(struct rdf_link *link);
void rdf_link_want_open(struct rdf_link *link);
void rdf_link_made(struct rdf_link *link);
void rdf_link_publish(struct rdf_link *link, u32 timeout_ms);
void rdf_link_fail_locked(struct rdf_link *link, int err);
void rdf_link_data_locked(struct rdf_link *link);

void rdf_link_queue(struct rdf_link *link);
enum rdf_act rdf_link_post_event(struct rdf_link *link, struct rdf_chan *ch, enum rdf_event ev, int err);

/* verbs_cm.c */
int rdf_chan_cq_make(struct rdf_chan *ch, int extra);
void rdf_chan_qp_attr(struct rdf_chan *ch, struct ib_qp_init_attr *attr);
int rdf_chan_qp_make(struct rdf_chan *ch);
bool rdf_chan_adopt(struct rdf_chan *ch, struct rdma_cm_id *id);
int rdf_chan_accept(struct rdf_chan *ch, const struct rdma_conn_param *peer);
void rdf_chan_start(struct rdf_chan *ch);
void rdf_chan_teardown(struct rdf_chan *ch);
int rdf_cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *ev);
void rdf_conn_param(struct rdf_dom *dom, struct rdma_conn_param *param);

/* verbs_loop.c */
int rdf_link_loop_make(struct rdf_link *link);
void rdf_link_loop_destroy(struct rdf_link *link);
int rdf_loop_exec(struct rdf_link *link, struct ib_send_wr *wr);
int rdf_loop_probe(struct rdf_link *link);

/* verbs_wr.c */
int rdf_wr_alloc(struct rdf_link *link);
void rdf_wr_map_free(struct rdf_link *link);
void rdf_wr_free(struct rdf_link *link);
void rdf_wr_fail_waiting(struct rdf_link *link);
void rdf_ops_pump(struct rdf_link *link);
void rdf_op_count_posted(struct rdf_link *link, struct rdf_op *op);
void rdf_op_finish(struct rdf_link *link, struct rdf_op *op, enum ib_wc_status status);
void rdf_held_work(struct work_struct *work);
void rdf_watch_start(struct rdf_link *link);
void rdf_watch_work(struct work_struct *work);
void rdf_link_wc_error_locked(struct rdf_link *link, enum ib_wc_status status);

/* verbs_msg.c */
int rdf_msg_alloc(struct rdf_link *link);
int rdf_msg_post_all(struct rdf_link *link);
void rdf_msg_open(struct rdf_link *link);
void rdf_msg_announce(struct rdf_link *link);
void rdf_msg_drop(struct rdf_link *link);
void rdf_msg_map_free(struct rdf_link *link);
void rdf_msg_free(struct rdf_link *link);

/* fault.c */
#include "fault.h"

void rdf_fault_init(void);
void rdf_fault_exit(void);

#endif /* RDF_VERBS_H */
