// SPDX-License-Identifier: GPL-2.0
/*
 * One-sided operations: from the caller to the send queue and back, by the device or (rpc.c) by request and answer.
 *
 * An operation that was taken is always in exactly one place: link->deferred (not posted yet), the send queue,
 * link->held (a fault point delays its report), or with its owner again. A completion is known by its wr_cqe and its
 * status; the other fields of an error completion are garbage on some devices.
 */
#include <linux/random.h>
#include <linux/slab.h>

#include "rpc.h"
#include "verbs.h"

#define RDF_MARK_STEP	0x9e3779b97f4a7c15ull	/* odd: 2^64 steps until a mark comes again */

static enum dma_data_direction rdf_op_dir(const struct rdf_op *op)
{
	return op->opcode == RDF_OP_READ ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
}

static void rdf_op_unmap(struct rdf_link *link, struct rdf_op *op)
{
	if (!rdf_op_atomic(op) && !link->rpc)
		ib_dma_unmap_single(rdf_ib(link), op->dma, op->len, rdf_op_dir(op));
}

/*
 * What an error status says about the word. Only the responder's refusal of the request itself proves that it was not
 * carried out; an exhausted retry or a flush may hide an operation whose answer was lost.
 */
static enum rdf_outcome rdf_op_outcome(const struct rdf_op *op, enum ib_wc_status status)
{
	if (status == IB_WC_SUCCESS)
		return RDF_OK;
	if (op->opcode == RDF_OP_READ)
		return RDF_FAILED;
	if (status != IB_WC_REM_ACCESS_ERR && status != IB_WC_REM_INV_REQ_ERR)
		return RDF_AMBIGUOUS;
	/* A long WRITE may be refused when its first packets have been written. */
	return op->opcode == RDF_OP_WRITE && op->len > RDF_ONE_PACKET ? RDF_AMBIGUOUS : RDF_FAILED;
}

/*
 * The word's old value, from the slot. Before the post the slot got a mark of its own: rxe can complete an atomic
 * without having stored its result. A SEND or WRITE before it comes twice, the responder acknowledges once more what it
 * did last, the atomic, in a packet that has no old value, and the requester (check_ack()) takes that for its end:
 *
 *   requester                        responder
 *   WRITE n, atomic n+1
 *                                    does both; the answer to n+1 is lost
 *                                    WRITE n again: plain ACK of n+1
 *   atomic n+1 is complete
 *
 * What the last operation in this slot found would be believed then, and could make two owners. It was done, but what
 * it found nobody knows.
 */
static enum ib_wc_status rdf_op_result(struct rdf_link *link, struct rdf_op *op)
{
	u64 off = (u64)op->slot * RDF_SLOT_STRIDE;
	u64 *slot = page_address(link->slot_pages) + off;

	ib_dma_sync_single_for_cpu(rdf_ib(link), link->slot_dma + off, sizeof(u64), DMA_BIDIRECTIONAL);
	if (rdf_fault(RDF_FAULT_no_result))
		*slot = op->mark;
	op->old = READ_ONCE(*slot);
	if (op->old != op->mark)
		return IB_WC_SUCCESS;
	op->old = 0;
	rdf_count(link->dom, RDF_STAT_no_result);
	return IB_WC_RETRY_EXC_ERR;
}

static void rdf_op_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rdf_op *op = container_of(wc->wr_cqe, struct rdf_op, cqe);
	struct rdf_link *link = op->link;
	enum ib_wc_status status = wc->status;

	if (rdf_op_atomic(op) && status == IB_WC_SUCCESS)
		status = rdf_op_result(link, op);
	rdf_op_unmap(link, op);
	rdf_op_finish(link, op, status);
}

/* The operation, which is in no list any more, ended with @status: its outcome, and what that means for its link. */
void rdf_op_finish(struct rdf_link *link, struct rdf_op *op, enum ib_wc_status status)
{
	if (status == IB_WC_SUCCESS && (op->undone || rdf_fault(RDF_FAULT_op_ambig)))
		status = IB_WC_RETRY_EXC_ERR;
	op->status = status;
	op->outcome = rdf_op_outcome(op, status);

	spin_lock_bh(&link->lock);
	if (!link->rpc)
		__clear_bit(op->slot, link->slots);
	link->posted--;
	if (status == IB_WC_SUCCESS && rdf_fault(RDF_FAULT_op_stall)) {
		op->status = IB_WC_RETRY_EXC_ERR;
		op->outcome = rdf_op_outcome(op, op->status);
		list_add_tail(&op->node, &link->held);
		link->stalled++;
		spin_unlock_bh(&link->lock);
		return;
	}
	link->completed++;
	if (op->outcome == RDF_FAILED)
		rdf_count(link->dom, RDF_STAT_failed);
	else if (op->outcome == RDF_AMBIGUOUS)
		rdf_count(link->dom, RDF_STAT_ambiguous);
	if (status != IB_WC_SUCCESS)
		rdf_link_wc_error_locked(link, status);
	rdf_ops_pump(link);
	if (rdf_fault(RDF_FAULT_op_delay)) {
		list_add_tail(&op->node, &link->held);
		queue_delayed_work(rdf_wq, &link->held_work, msecs_to_jiffies(rdf_fault_ms(RDF_FAULT_op_delay)));
		spin_unlock_bh(&link->lock);
		return;
	}
	spin_unlock_bh(&link->lock);
	op->done(op);
}

/* The first time that something of @op is sent. */
void rdf_op_count_posted(struct rdf_link *link, struct rdf_op *op)
{
	static const enum rdf_stat stat[] = {
		[RDF_OP_CAS] = RDF_STAT_cas,
		[RDF_OP_FAA] = RDF_STAT_faa,
		[RDF_OP_READ] = RDF_STAT_read,
		[RDF_OP_WRITE] = RDF_STAT_write,
	};

	lockdep_assert_held(&link->lock);
	op->posted = true;
	link->posted++;
	rdf_count(link->dom, stat[op->opcode]);
}

static int rdf_op_post(struct rdf_link *link, struct rdf_op *op, unsigned int slot)
{
	struct ib_atomic_wr awr = { };
	struct ib_rdma_wr rwr = { };
	struct ib_send_wr *wr;
	struct ib_sge sge = { .lkey = link->dom->pd->local_dma_lkey };

	lockdep_assert_held(&link->lock);
	if (rdf_fault(RDF_FAULT_post_fail))
		return -EIO;
	op->slot = slot;
	op->cqe.done = rdf_op_done;
	if (rdf_op_atomic(op)) {
		bool cas = op->opcode == RDF_OP_CAS;

		op->undone = cas && rdf_fault(RDF_FAULT_cas_lost);
		cas = cas && !op->undone;
		wr = &awr.wr;
		wr->opcode = cas ? IB_WR_ATOMIC_CMP_AND_SWP : IB_WR_ATOMIC_FETCH_AND_ADD;
		awr.remote_addr = op->to.addr;
		awr.rkey = op->to.rkey;
		awr.compare_add = op->undone ? 0 : op->arg[0];
		awr.swap = cas ? op->arg[1] : 0;
		sge.addr = link->slot_dma + (u64)slot * RDF_SLOT_STRIDE;
		sge.length = sizeof(u64);
		/* No two marks of a link are alike; that a word is one has a chance of 2^-64. */
		link->mark += RDF_MARK_STEP;
		op->mark = link->mark;
		*(u64 *)(page_address(link->slot_pages) + (u64)slot * RDF_SLOT_STRIDE) = op->mark;
		ib_dma_sync_single_for_device(rdf_ib(link), sge.addr, sge.length, DMA_BIDIRECTIONAL);
	} else {
		wr = &rwr.wr;
		wr->opcode = op->opcode == RDF_OP_READ ? IB_WR_RDMA_READ : IB_WR_RDMA_WRITE;
		rwr.remote_addr = op->to.addr;
		rwr.rkey = op->to.rkey;
		sge.addr = op->dma;
		sge.length = op->len;
	}
	wr->wr_cqe = &op->cqe;
	wr->sg_list = &sge;
	wr->num_sge = 1;
	wr->send_flags = IB_SEND_SIGNALED;
	return ib_post_send(link->chan[RDF_CHAN_OPS].qp, wr, NULL);
}

/*
 * Post from the list, in order, while there are slots. What could not be posted stays there and fails when the link
 * ends.
 */
void rdf_ops_pump(struct rdf_link *link)
{
	struct rdf_op *op;
	unsigned int slot;
	int err;

	lockdep_assert_held(&link->lock);
	if (link->rpc) {
		rdf_rpc_pump(link);
		return;
	}
	while (link->state == RDF_UP && !list_empty(&link->deferred)) {
		slot = find_first_zero_bit(link->slots, RDF_OP_SLOTS);
		if (slot >= RDF_OP_SLOTS)
			return;
		op = list_first_entry(&link->deferred, struct rdf_op, node);
		list_del_init(&op->node);
		err = rdf_op_post(link, op, slot);
		if (err) {
			list_add(&op->node, &link->deferred);
			rdf_link_fail_locked(link, err);
			return;
		}
		__set_bit(slot, link->slots);
		rdf_op_count_posted(link, op);
	}
}

static int rdf_op_submit(struct rdf_link *link, struct rdf_op *op)
{
	lockdep_assert_held(&link->lock);
	if (link->state != RDF_UP)
		return -ENOTCONN;
	op->link = link;
	op->posted = false;
	op->undone = false;
	op->asked = 0;
	op->old = 0;
	list_add_tail(&op->node, &link->deferred);
	rdf_ops_pump(link);
	if (!op->posted)
		rdf_count(link->dom, RDF_STAT_deferred);
	return 0;
}

static int rdf_atomic(struct rdf_link *link, struct rdf_op *op, enum rdf_opcode opcode, struct rdf_addr to,
		      u64 a, u64 b)
{
	int err;

	if (!IS_ALIGNED(to.addr, sizeof(u64)))
		return -EINVAL;
	spin_lock_bh(&link->lock);
	if (rdf_rpc_is_asked(link)) {
		err = -EINVAL;
		goto unlock;
	}
	op->opcode = opcode;
	op->to = to;
	op->arg[0] = a;
	op->arg[1] = b;
	err = rdf_op_submit(link, op);
unlock:
	spin_unlock_bh(&link->lock);
	return err;
}

int rdf_cas(struct rdf_link *link, struct rdf_op *op, struct rdf_addr to, u64 compare, u64 swap)
{
	return rdf_atomic(link, op, RDF_OP_CAS, to, compare, swap);
}

int rdf_faa(struct rdf_link *link, struct rdf_op *op, struct rdf_addr to, u64 addend)
{
	return rdf_atomic(link, op, RDF_OP_FAA, to, addend, 0);
}

static int rdf_rw(struct rdf_link *link, struct rdf_op *op, enum rdf_opcode opcode, struct rdf_addr to,
		  void *buf, u32 len)
{
	int err = -ENOTCONN;

	if (!len || len > RDF_RW_MAX)
		return -EINVAL;
	spin_lock_bh(&link->lock);
	/* The domain, and so the device, may be gone with the link. */
	if (link->state != RDF_UP)
		goto unlock;
	err = -EINVAL;
	if (rdf_rpc_is_asked(link))
		goto unlock;
	op->opcode = opcode;
	op->to = to;
	op->buf = buf;
	op->len = len;
	if (link->rpc) {
		err = rdf_op_submit(link, op);
		goto unlock;
	}
	op->dma = ib_dma_map_single(rdf_ib(link), buf, len, rdf_op_dir(op));
	err = -ENOMEM;
	if (ib_dma_mapping_error(rdf_ib(link), op->dma))
		goto unlock;
	err = rdf_op_submit(link, op);
unlock:
	spin_unlock_bh(&link->lock);
	return err;
}

int rdf_read(struct rdf_link *link, struct rdf_op *op, struct rdf_addr to, void *buf, u32 len)
{
	return rdf_rw(link, op, RDF_OP_READ, to, buf, len);
}

int rdf_write(struct rdf_link *link, struct rdf_op *op, struct rdf_addr to, const void *buf, u32 len)
{
	return rdf_rw(link, op, RDF_OP_WRITE, to, (void *)buf, len);
}

/* ---- a device that has stopped ---- */

/*
 * A reliable queue pair ends every request by itself, done or given up. Some do not: on rxe of 6.1 a requester that
 * fails (its network device is down) while the completer asks it for a retry leaves both waiting for each other, and
 * no timer runs any more. Whoever waits for an operation would wait for ever, and so would rmmod. Ending the link
 * flushes what is in the queue: the queue pair's own road to the error state does not depend on what is stuck.
 *
 * Looks are counted, not time: where the processor is what has no time, this work is late as well.
 */
void rdf_watch_start(struct rdf_link *link)
{
	rdf_link_get(link);
	if (!queue_delayed_work(rdf_wq, &link->watch, round_jiffies_relative(HZ)))
		rdf_link_put(link);
}

void rdf_watch_work(struct work_struct *work)
{
	struct rdf_link *link = container_of(to_delayed_work(work), struct rdf_link, watch);
	bool up;

	spin_lock_bh(&link->lock);
	up = link->state == RDF_UP;
	if (link->posted + link->stalled == 0 || link->completed != link->seen)
		link->looks = 0;
	else
		link->looks++;
	link->seen = link->completed;
	if (up && link->looks >= RDF_STALL_LOOKS) {
		rdf_count(link->dom, RDF_STAT_stalled);
		rdf_link_fail_locked(link, -ETIMEDOUT);
		up = false;
	}
	spin_unlock_bh(&link->lock);
	if (up)
		rdf_watch_start(link);
	rdf_link_put(link);
}

/* ---- the end, and what a fault point delayed ---- */

static void rdf_wr_report_held(struct rdf_link *link)
{
	struct rdf_op *op, *next;
	LIST_HEAD(list);

	spin_lock_bh(&link->lock);
	list_splice_init(&link->held, &list);
	spin_unlock_bh(&link->lock);
	list_for_each_entry_safe(op, next, &list, node) {
		list_del_init(&op->node);
		op->done(op);
	}
}

void rdf_held_work(struct work_struct *work)
{
	struct rdf_link *link = container_of(to_delayed_work(work), struct rdf_link, held_work);

	rdf_wr_report_held(link);
	rdf_link_want_open(link);
}

/* The queue pairs are destroyed: what was never posted has certainly not happened. Context: process. */
void rdf_wr_fail_waiting(struct rdf_link *link)
{
	struct rdf_op *op, *next;
	LIST_HEAD(list);

	rdf_wr_report_held(link);
	spin_lock_bh(&link->lock);
	WARN_ON(link->state != RDF_DYING);
	WARN_ON(link->posted);
	link->stalled = 0;
	list_splice_init(&link->deferred, &list);
	spin_unlock_bh(&link->lock);
	list_for_each_entry_safe(op, next, &list, node) {
		list_del_init(&op->node);
		rdf_op_unmap(link, op);
		op->status = IB_WC_WR_FLUSH_ERR;
		op->outcome = RDF_FAILED;
		rdf_count(link->dom, RDF_STAT_failed);
		op->done(op);
	}
	rdf_msg_drop(link);
}

/* ---- memory of a link ---- */

int rdf_wr_alloc(struct rdf_link *link)
{
	struct ib_device *ib = rdf_ib(link);
	u64 dma;

	if (link->loop && link->backend == RDL_BACKEND_RPC)
		return rdf_rpc_alloc(link);
	link->slot_pages = alloc_pages(GFP_KERNEL | __GFP_ZERO, get_order(RDF_SLOT_BYTES));
	if (!link->slot_pages)
		return -ENOMEM;
	/* Both ways: where the device has a bounce buffer the marks are to reach it. */
	dma = ib_dma_map_single(ib, page_address(link->slot_pages), RDF_SLOT_BYTES, DMA_BIDIRECTIONAL);
	if (ib_dma_mapping_error(ib, dma))
		return -ENOMEM;
	link->slot_dma = dma;
	link->mark = get_random_u64();
	return link->loop ? 0 : rdf_msg_alloc(link);
}

/* While the device is there. Buffers that owners keep stay readable. */
void rdf_wr_map_free(struct rdf_link *link)
{
	if (link->slot_dma)
		ib_dma_unmap_single(rdf_ib(link), link->slot_dma, RDF_SLOT_BYTES, DMA_BIDIRECTIONAL);
	link->slot_dma = 0;
	rdf_rpc_map_free(link);
	rdf_msg_map_free(link);
}

void rdf_wr_free(struct rdf_link *link)
{
	if (link->slot_pages)
		__free_pages(link->slot_pages, get_order(RDF_SLOT_BYTES));
	rdf_rpc_free(link);
	rdf_msg_free(link);
}
