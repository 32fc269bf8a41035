// SPDX-License-Identifier: GPL-2.0
/*
 * Back-end rpc, the end that asks, and the buffers of both ends.
 *
 * An operation that was taken is always in exactly one place: link->deferred (not, or not completely, asked for),
 * rpc->flight, link->held, or with its owner again. The answers that are still to come are rpc->asked.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "rpc.h"

/* ---- buffers ---- */

static int rdf_rpc_rx_queue(struct rdf_link *link, struct rdf_rpc_rx *rx)
{
	struct ib_sge sge = {
		.addr = link->rpc->rx_dma + rx->no * RDF_RPC_STRIDE,
		.length = RDF_RPC_STRIDE,
		.lkey = link->dom->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = { .wr_cqe = &rx->cqe, .sg_list = &sge, .num_sge = 1 };

	ib_dma_sync_single_for_device(rdf_ib(link), sge.addr, sge.length, DMA_FROM_DEVICE);
	return ib_post_recv(link->chan[RDF_CHAN_OPS].qp, &wr, NULL);
}

/* The buffer was looked at. */
void rdf_rpc_rx_post(struct rdf_link *link, struct rdf_rpc_rx *rx)
{
	int err;

	lockdep_assert_held(&link->lock);
	if (link->state != RDF_UP)
		return;
	err = rdf_rpc_rx_queue(link, rx);
	if (err)
		rdf_link_fail_locked(link, err);
}

/* Before the queue pair is connected. */
int rdf_rpc_post_all(struct rdf_link *link)
{
	int i, err;

	for (i = 0; i < RDF_RPC_SLOTS; i++) {
		err = rdf_rpc_rx_queue(link, &link->rpc->rx[i]);
		if (err)
			return err;
	}
	return 0;
}

struct rdf_rpc_tx *rdf_rpc_tx_take(struct rdf_rpc *rpc)
{
	unsigned int no = find_first_zero_bit(rpc->busy, RDF_RPC_SLOTS);

	lockdep_assert_held(&rpc->link->lock);
	if (no >= RDF_RPC_SLOTS)
		return NULL;
	__set_bit(no, rpc->busy);
	return &rpc->tx[no];
}

/* Send the first @len bytes of the buffer. On an error it is free again. */
int rdf_rpc_tx_post(struct rdf_link *link, struct rdf_rpc_tx *tx, u32 len)
{
	struct rdf_rpc *rpc = link->rpc;
	struct ib_sge sge = {
		.addr = rpc->tx_dma + tx->no * RDF_RPC_STRIDE,
		.length = len,
		.lkey = link->dom->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.wr_cqe = &tx->cqe,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};
	int err;

	lockdep_assert_held(&link->lock);
	ib_dma_sync_single_for_device(rdf_ib(link), sge.addr, sge.length, DMA_TO_DEVICE);
	err = ib_post_send(link->chan[RDF_CHAN_OPS].qp, &wr, NULL);
	if (err)
		__clear_bit(tx->no, rpc->busy);
	else
		tx->sending = true;
	return err;
}

static void rdf_rpc_tx_wc(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rdf_rpc_tx *tx = container_of(wc->wr_cqe, struct rdf_rpc_tx, cqe);
	struct rdf_link *link = tx->link;

	spin_lock_bh(&link->lock);
	tx->sending = false;
	if (!tx->asked)
		__clear_bit(tx->no, link->rpc->busy);
	if (wc->status != IB_WC_SUCCESS)
		rdf_link_wc_error_locked(link, wc->status);
	else if (link->active)
		rdf_ops_pump(link);
	else
		rdf_rpc_serve_waiting(link);
	spin_unlock_bh(&link->lock);
}

/* ---- asking ---- */

/* Fill @tx with what @op has not asked for yet. Return: the message's length. */
static u32 rdf_rpc_fill(struct rdf_rpc *rpc, struct rdf_rpc_tx *tx, struct rdf_op *op)
{
	struct rdf_rpc_msg *m = rdf_rpc_tx_msg(rpc, tx);

	tx->op = op;
	tx->off = op->asked;
	tx->len = rdf_op_atomic(op) ? 0 : min_t(u32, op->len - op->asked, RDF_RPC_DATA);
	*m = (struct rdf_rpc_msg){
		.magic = cpu_to_le16(RDF_RPC_MAGIC),
		.slot = cpu_to_le32(tx->no),
		.addr = cpu_to_le64(op->to.addr + tx->off),
		.rkey = cpu_to_le32(op->to.rkey),
		.len = cpu_to_le32(tx->len),
	};
	switch (op->opcode) {
	case RDF_OP_CAS:
		op->undone = rdf_fault(RDF_FAULT_cas_lost);
		m->what = op->undone ? RDF_RPC_FAA : RDF_RPC_CAS;
		m->arg[0] = cpu_to_le64(op->undone ? 0 : op->arg[0]);
		m->arg[1] = cpu_to_le64(op->undone ? 0 : op->arg[1]);
		break;
	case RDF_OP_FAA:
		m->what = RDF_RPC_FAA;
		m->arg[0] = cpu_to_le64(op->arg[0]);
		break;
	case RDF_OP_READ:
		m->what = RDF_RPC_READ;
		break;
	case RDF_OP_WRITE:
		m->what = RDF_RPC_WRITE;
		memcpy(m->data, op->buf + tx->off, tx->len);
		return sizeof(*m) + tx->len;
	}
	return sizeof(*m);
}

static int rdf_rpc_ask(struct rdf_link *link, struct rdf_rpc_tx *tx, struct rdf_op *op)
{
	struct rdf_rpc *rpc = link->rpc;
	u32 len;
	int err;

	lockdep_assert_held(&link->lock);
	if (rdf_fault(RDF_FAULT_post_fail)) {
		__clear_bit(tx->no, rpc->busy);
		return -EIO;
	}
	ib_dma_sync_single_for_cpu(rdf_ib(link), rpc->tx_dma + tx->no * RDF_RPC_STRIDE, RDF_RPC_STRIDE, DMA_TO_DEVICE);
	len = rdf_rpc_fill(rpc, tx, op);
	err = rdf_rpc_tx_post(link, tx, len);
	if (err)
		return err;
	tx->asked = true;
	list_add_tail(&tx->node, &rpc->asked);
	op->asked += tx->len;
	return 0;
}

/* Ask for what is in the list, in order, while there are slots. See rdf_ops_pump(). */
void rdf_rpc_pump(struct rdf_link *link)
{
	struct rdf_rpc *rpc = link->rpc;
	struct rdf_rpc_tx *tx;
	struct rdf_op *op;
	int err;

	lockdep_assert_held(&link->lock);
	while (link->state == RDF_UP && !list_empty(&link->deferred)) {
		op = list_first_entry(&link->deferred, struct rdf_op, node);
		if (link->loop) {
			if (link->posted >= RDF_OP_SLOTS)
				return;
			if (rdf_fault(RDF_FAULT_post_fail)) {
				rdf_link_fail_locked(link, -EIO);
				return;
			}
			rdf_op_count_posted(link, op);
			rdf_rpc_loop_post(link, op);
			continue;
		}
		tx = rpc->closed ? NULL : rdf_rpc_tx_take(rpc);
		if (!tx)
			return;
		err = rdf_rpc_ask(link, tx, op);
		if (err) {
			rdf_link_fail_locked(link, err);
			return;
		}
		if (!op->posted)
			rdf_op_count_posted(link, op);
		if (rdf_op_atomic(op) || op->asked == op->len)
			list_move_tail(&op->node, &rpc->flight);
	}
}

/* ---- answers ---- */

static bool rdf_rpc_answer_ok(const struct rdf_rpc_msg *m, const struct rdf_rpc_tx *tx, u32 len)
{
	u32 data = 0;

	if (!tx || len < sizeof(*m) || le16_to_cpu(m->magic) != RDF_RPC_MAGIC || le32_to_cpu(m->slot) != tx->no)
		return false;
	if (m->what == RDF_RPC_DONE && tx->op->opcode == RDF_OP_READ)
		data = tx->len;
	return (m->what == RDF_RPC_DONE || m->what == RDF_RPC_REFUSED) && len == sizeof(*m) + data;
}

/* Return: the operation that ended with this answer, or NULL. */
static struct rdf_op *rdf_rpc_answer(struct rdf_link *link, struct rdf_rpc_rx *rx, enum ib_wc_status *status)
{
	struct rdf_rpc *rpc = link->rpc;
	struct rdf_rpc_tx *tx = list_first_entry_or_null(&rpc->asked, struct rdf_rpc_tx, node);
	const struct rdf_rpc_msg *m = rdf_rpc_rx_msg(rpc, rx);
	struct rdf_op *op;
	bool last;

	lockdep_assert_held(&link->lock);
	/* After a refusal what was asked for behind it is not known, as on a queue pair; rdf_rpc_flush() says so. */
	if (rpc->closed)
		return NULL;
	if (!rdf_rpc_answer_ok(m, tx, rx->len)) {
		rdf_count(link->dom, RDF_STAT_bad_msg);
		rdf_link_fail_locked(link, -EBADMSG);
		return NULL;
	}
	op = tx->op;
	last = rdf_op_atomic(op) || tx->off + tx->len == op->len;
	if (m->what == RDF_RPC_REFUSED) {
		*status = IB_WC_REM_ACCESS_ERR;
		rpc->closed = true;
		last = true;
	} else {
		*status = IB_WC_SUCCESS;
		if (rdf_op_atomic(op))
			op->old = le64_to_cpu(m->arg[0]);
		else if (op->opcode == RDF_OP_READ)
			memcpy(op->buf + tx->off, m->data, tx->len);
	}
	rdf_rpc_rx_post(link, rx);
	list_del_init(&tx->node);
	tx->asked = false;
	if (!tx->sending)
		__clear_bit(tx->no, rpc->busy);
	if (!last) {
		/* For rdf_watch_work(), and for what waits for the slot. */
		link->completed++;
		rdf_rpc_pump(link);
		return NULL;
	}
	list_del_init(&op->node);
	return op;
}

static void rdf_rpc_rx_wc(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rdf_rpc_rx *rx = container_of(wc->wr_cqe, struct rdf_rpc_rx, cqe);
	enum ib_wc_status status = IB_WC_SUCCESS;
	struct rdf_link *link = rx->link;
	struct rdf_op *op = NULL;

	spin_lock_bh(&link->lock);
	if (wc->status != IB_WC_SUCCESS) {
		rdf_link_wc_error_locked(link, wc->status);
	} else {
		ib_dma_sync_single_for_cpu(rdf_ib(link), link->rpc->rx_dma + rx->no * RDF_RPC_STRIDE, RDF_RPC_STRIDE,
					   DMA_FROM_DEVICE);
		rx->len = wc->byte_len;
		if (link->active)
			op = rdf_rpc_answer(link, rx, &status);
		else
			rdf_rpc_request(link, rx);
	}
	spin_unlock_bh(&link->lock);
	if (op)
		rdf_op_finish(link, op, status);
}

/* ---- the end ---- */

/*
 * The queue pairs are destroyed, or there were none: no answer comes any more, and nothing of this link is carried out.
 * What was asked for may have been done; what the loopback link did is known. Context: process.
 */
void rdf_rpc_flush(struct rdf_link *link)
{
	struct rdf_rpc *rpc = link->rpc;
	struct rdf_op *op, *next;
	LIST_HEAD(list);

	if (!rpc)
		return;
	tasklet_kill(&rpc->tasklet);
	spin_lock_bh(&link->lock);
	list_splice_init(&rpc->flight, &list);
	op = list_first_entry_or_null(&link->deferred, struct rdf_op, node);
	if (op && op->posted)
		list_move_tail(&op->node, &list);
	INIT_LIST_HEAD(&rpc->asked);
	INIT_LIST_HEAD(&rpc->waiting);
	spin_unlock_bh(&link->lock);
	list_for_each_entry_safe(op, next, &list, node) {
		list_del_init(&op->node);
		rdf_op_finish(link, op, link->loop ? op->status : IB_WC_WR_FLUSH_ERR);
	}
}

/* ---- memory ---- */

static void *rdf_rpc_map(struct ib_device *ib, enum dma_data_direction dir, u64 *dma)
{
	void *va = alloc_pages_exact(RDF_RPC_BYTES, GFP_KERNEL | __GFP_ZERO);

	if (!va)
		return NULL;
	*dma = ib_dma_map_single(ib, va, RDF_RPC_BYTES, dir);
	if (!ib_dma_mapping_error(ib, *dma))
		return va;
	free_pages_exact(va, RDF_RPC_BYTES);
	return NULL;
}

/* On an error what there is goes with the link. Context: process. */
int rdf_rpc_alloc(struct rdf_link *link)
{
	struct ib_device *ib = rdf_ib(link);
	struct rdf_rpc *rpc;
	int i;

	rpc = kzalloc(sizeof(*rpc), GFP_KERNEL);
	if (!rpc)
		return -ENOMEM;
	rpc->link = link;
	INIT_LIST_HEAD(&rpc->flight);
	INIT_LIST_HEAD(&rpc->asked);
	INIT_LIST_HEAD(&rpc->waiting);
	rdf_rpc_loop_init(rpc);
	link->rpc = rpc;
	if (link->loop)
		return 0;
	for (i = 0; i < RDF_RPC_SLOTS; i++) {
		rpc->rx[i].link = link;
		rpc->rx[i].no = i;
		rpc->rx[i].cqe.done = rdf_rpc_rx_wc;
		rpc->tx[i].link = link;
		rpc->tx[i].no = i;
		rpc->tx[i].cqe.done = rdf_rpc_tx_wc;
	}
	rpc->rx_va = rdf_rpc_map(ib, DMA_FROM_DEVICE, &rpc->rx_dma);
	rpc->tx_va = rdf_rpc_map(ib, DMA_TO_DEVICE, &rpc->tx_dma);
	return rpc->rx_va && rpc->tx_va ? 0 : -ENOMEM;
}

static void rdf_rpc_unmap(struct ib_device *ib, void **va, u64 dma, enum dma_data_direction dir)
{
	if (!*va)
		return;
	ib_dma_unmap_single(ib, dma, RDF_RPC_BYTES, dir);
	free_pages_exact(*va, RDF_RPC_BYTES);
	*va = NULL;
}

/* While the device is there. */
void rdf_rpc_map_free(struct rdf_link *link)
{
	if (!link->rpc)
		return;
	rdf_rpc_unmap(rdf_ib(link), &link->rpc->rx_va, link->rpc->rx_dma, DMA_FROM_DEVICE);
	rdf_rpc_unmap(rdf_ib(link), &link->rpc->tx_va, link->rpc->tx_dma, DMA_TO_DEVICE);
}

void rdf_rpc_free(struct rdf_link *link)
{
	kfree(link->rpc);
}
