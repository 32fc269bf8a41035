/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Back-end rpc: CAS, FAA, READ and WRITE as requests to the home's processor, for devices that have no atomics, or do
 * not post them from the kernel. Nothing outside fabric/ includes this.
 *
 * Requests go over the link's OPS channel, which has no other traffic: an operation never waits behind a message that
 * its receiver keeps. The active end asks (rpc.c), the passive end carries out and answers (rpc_serve.c), in softirq,
 * in the order of the requests; the device keeps that order, so answers come in it, too.
 *
 * Why no credits: each end has RDF_RPC_SLOTS receive buffers. The home posts a buffer again before it answers the
 * request that was in it, and the asking end posts one again before it takes the slot of the answer for another
 * request. So with RDF_RPC_SLOTS slots neither end can meet an empty receive queue, and a peer that sends more than
 * that hurts itself: its requests are refused by the device until its retries end. A request whose answer finds no free
 * send buffer (the device still repeats earlier answers) waits in its receive buffer. Memory is bounded from the start,
 * and none is allocated on the way.
 *
 * Why READ and WRITE in pieces of RDF_RPC_DATA bytes, and not by RDMA, which every device can: it would need
 * registrations, and a fence against the processor that stores to the same memory. What most locks read and write is a
 * few hundred bytes; a value of 64 KiB takes 128 requests. As on a device, a piece is read or written in one moment, a
 * longer one is not.
 *
 * There is no checksum: the device's own covers what an atomic of a device would carry.
 */
#ifndef RDF_RPC_H
#define RDF_RPC_H

#include <linux/interrupt.h>

#include "verbs.h"

#define RDF_RPC_MAGIC	0x5052	/* "RP" */
/* Where every region begins: not 0, which is no address, and not what the kernel's memory is called by. */
#define RDF_RPC_BASE	PAGE_SIZE

enum rdf_rpc_what {
	RDF_RPC_CAS = 1,
	RDF_RPC_FAA,
	RDF_RPC_READ,
	RDF_RPC_WRITE,
	RDF_RPC_DONE = 0x81,
	RDF_RPC_REFUSED,	/* not carried out, nor is anything that comes after it on this link */
};

/**
 * struct rdf_rpc_msg - a request or an answer
 * @magic: RDF_RPC_MAGIC
 * @what: enum rdf_rpc_what
 * @slot: the asking end's, given back
 * @addr, @rkey: request
 * @len: READ and WRITE: bytes, 1..RDF_RPC_DATA; else, and in answers, 0
 * @arg: CAS: compare and swap; FAA: the addend; DONE: the value from before
 * @data: WRITE: what; DONE of READ: what was there
 */
struct rdf_rpc_msg {
	__le16 magic;
	u8 what;
	u8 reserved;
	__le32 slot;
	__le64 addr;
	__le32 rkey;
	__le32 len;
	__le64 arg[2];
	u8 data[];
};

/* A line that a device writes shares no bytes with one that the processor writes. */
#define RDF_RPC_STRIDE	ALIGN(sizeof(struct rdf_rpc_msg) + RDF_RPC_DATA, 64)
#define RDF_RPC_BYTES	(RDF_RPC_SLOTS * RDF_RPC_STRIDE)

/* A receive buffer: in the receive queue, in rpc->waiting, or being looked at. */
struct rdf_rpc_rx {
	struct ib_cqe cqe;
	struct rdf_link *link;
	struct list_head node;		/* in rpc->waiting */
	u32 no;
	u32 len;			/* bytes received */
};

/**
 * struct rdf_rpc_tx - a send buffer, taken while its bit in rpc->busy is set
 * @sending: the device may still read it
 * @asked: no answer came yet; it is in rpc->asked
 * @op, @off, @len: what it asks for, and which part of it
 */
struct rdf_rpc_tx {
	struct ib_cqe cqe;
	struct rdf_link *link;
	struct list_head node;
	u32 no;
	bool sending;
	bool asked;
	struct rdf_op *op;
	u32 off;
	u32 len;
};

/**
 * struct rdf_rpc - what a link of this back-end has beside the others; all protected by the link's lock
 * @closed: something was refused: no request is carried out, or sent, any more
 * @flight: operations that were asked for completely, or (loopback) carried out and not yet reported
 * @asked: struct rdf_rpc_tx in the order of posting, which is that of the answers
 * @waiting: struct rdf_rpc_rx: requests that wait for a send buffer
 * @tasklet: loopback: reports what is in @flight
 * @rx_va, @tx_va, @rx_dma, @tx_dma: the buffers; NULL for loopback
 */
struct rdf_rpc {
	struct rdf_link *link;
	bool closed;
	struct list_head flight;
	struct list_head asked;
	struct list_head waiting;
	struct tasklet_struct tasklet;
	DECLARE_BITMAP(busy, RDF_RPC_SLOTS);
	void *rx_va;
	void *tx_va;
	u64 rx_dma;
	u64 tx_dma;
	struct rdf_rpc_rx rx[RDF_RPC_SLOTS];
	struct rdf_rpc_tx tx[RDF_RPC_SLOTS];
};

/* What is to be carried out. */
struct rdf_rpc_do {
	enum rdf_opcode opcode;
	struct rdf_addr to;
	u64 arg[2];
	void *data;
	u32 len;
};

/* The end that is asked may not ask: nobody there has memory for it. */
static inline bool rdf_rpc_is_asked(const struct rdf_link *link)
{
	return link->rpc && !link->active && !link->loop;
}

static inline struct rdf_rpc_msg *rdf_rpc_rx_msg(struct rdf_rpc *rpc, const struct rdf_rpc_rx *rx)
{
	return rpc->rx_va + rx->no * RDF_RPC_STRIDE;
}

static inline struct rdf_rpc_msg *rdf_rpc_tx_msg(struct rdf_rpc *rpc, const struct rdf_rpc_tx *tx)
{
	return rpc->tx_va + tx->no * RDF_RPC_STRIDE;
}

/* rpc.c */
int rdf_rpc_alloc(struct rdf_link *link);
int rdf_rpc_post_all(struct rdf_link *link);
void rdf_rpc_map_free(struct rdf_link *link);
void rdf_rpc_free(struct rdf_link *link);
void rdf_rpc_pump(struct rdf_link *link);
void rdf_rpc_flush(struct rdf_link *link);
void rdf_rpc_rx_post(struct rdf_link *link, struct rdf_rpc_rx *rx);
struct rdf_rpc_tx *rdf_rpc_tx_take(struct rdf_rpc *rpc);
int rdf_rpc_tx_post(struct rdf_link *link, struct rdf_rpc_tx *tx, u32 len);

/* rpc_serve.c */
int rdf_rpc_grant(struct rdf_mr *mr);
void rdf_rpc_revoke(struct rdf_mr *mr);
enum ib_wc_status rdf_rpc_exec(struct rdf_dom *dom, const struct rdf_rpc_do *what, u64 *old);
void rdf_rpc_request(struct rdf_link *link, struct rdf_rpc_rx *rx);
void rdf_rpc_serve_waiting(struct rdf_link *link);
int rdf_rpc_loop_make(struct rdf_link *link);
void rdf_rpc_loop_post(struct rdf_link *link, struct rdf_op *op);
void rdf_rpc_loop_init(struct rdf_rpc *rpc);

#endif /* RDF_RPC_H */
