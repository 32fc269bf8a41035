// SPDX-License-Identifier: GPL-2.0
/*
 * Back-end rpc, the home: rights, and the operations of peers and of its own node.
 *
 * Everything that changes memory of a domain goes through rdf_rpc_exec() under dom->exec_lock, so operations of all
 * nodes exclude each other, and a right that was taken away under that lock is used by nobody afterwards.
 */
#include <linux/random.h>
#include <linux/slab.h>

#include "rpc.h"

/* ---- rights ---- */

/*
 * A key is a number that is not given out again soon, and a random byte, as those of devices are. Context: process.
 */
int rdf_rpc_grant(struct rdf_mr *mr)
{
	struct rdf_dom *dom = mr->mem->dom;
	u32 no;
	int err;

	mr->to.addr = RDF_RPC_BASE;
	err = xa_alloc_cyclic_bh(&dom->rights, &no, NULL, XA_LIMIT(1, U32_MAX >> 8), &dom->next_right, GFP_KERNEL);
	if (err < 0)
		return err;
	mr->to.rkey = no << 8 | (get_random_u32() & 0xff);
	/* Its place is reserved, so this takes no memory. */
	xa_store_bh(&dom->rights, no, mr, GFP_KERNEL);
	return 0;
}

void rdf_rpc_revoke(struct rdf_mr *mr)
{
	struct rdf_dom *dom = mr->mem->dom;

	spin_lock_bh(&dom->exec_lock);
	xa_erase(&dom->rights, mr->to.rkey >> 8);	/* BH is off already */
	spin_unlock_bh(&dom->exec_lock);
}

/* Where @what goes, or NULL if there is no right to it. */
static void *rdf_rpc_place(struct rdf_dom *dom, const struct rdf_rpc_do *what)
{
	bool atomic = what->opcode == RDF_OP_CAS || what->opcode == RDF_OP_FAA;
	u32 len = atomic ? sizeof(u64) : what->len;
	struct rdf_mr *mr;
	u64 off;

	lockdep_assert_held(&dom->exec_lock);
	mr = xa_load(&dom->rights, what->to.rkey >> 8);
	if (!mr || mr->to.rkey != what->to.rkey)
		return NULL;
	/* An address below the base wraps, and is far outside. */
	off = what->to.addr - mr->to.addr;
	if (off > mr->mem->size || len > mr->mem->size - off)
		return NULL;
	if (atomic && (mr->access != RDF_ACCESS_ATOMIC || !IS_ALIGNED(off, sizeof(u64))))
		return NULL;
	if (what->opcode == RDF_OP_WRITE && mr->access != RDF_ACCESS_DATA)
		return NULL;
	return mr->mem->va + off;
}

/*
 * Carry it out. @old: the word from before, of an atomic. Context: any that may take a spinlock with BH off.
 * Return: as a device would: IB_WC_SUCCESS, or IB_WC_REM_ACCESS_ERR and nothing was changed.
 */
enum ib_wc_status rdf_rpc_exec(struct rdf_dom *dom, const struct rdf_rpc_do *what, u64 *old)
{
	void *at;

	*old = 0;
	spin_lock_bh(&dom->exec_lock);
	at = rdf_rpc_place(dom, what);
	if (!at) {
		spin_unlock_bh(&dom->exec_lock);
		return IB_WC_REM_ACCESS_ERR;
	}
	/* Once each: dumps read words without the lock. */
	switch (what->opcode) {
	case RDF_OP_CAS:
		*old = *(u64 *)at;
		if (*old == what->arg[0])
			WRITE_ONCE(*(u64 *)at, what->arg[1]);
		break;
	case RDF_OP_FAA:
		*old = *(u64 *)at;
		WRITE_ONCE(*(u64 *)at, *old + what->arg[0]);
		break;
	case RDF_OP_READ:
		memcpy(what->data, at, what->len);
		break;
	case RDF_OP_WRITE:
		memcpy(at, what->data, what->len);
		break;
	}
	spin_unlock_bh(&dom->exec_lock);
	return IB_WC_SUCCESS;
}

/* ---- requests of a peer ---- */

/* Return: false if no peer of ours says that. */
static bool rdf_rpc_parse(const struct rdf_rpc_msg *m, u32 len, struct rdf_rpc_do *what)
{
	if (len < sizeof(*m) || le16_to_cpu(m->magic) != RDF_RPC_MAGIC || m->reserved)
		return false;
	what->to.addr = le64_to_cpu(m->addr);
	what->to.rkey = le32_to_cpu(m->rkey);
	what->arg[0] = le64_to_cpu(m->arg[0]);
	what->arg[1] = le64_to_cpu(m->arg[1]);
	what->len = le32_to_cpu(m->len);
	len -= sizeof(*m);
	switch (m->what) {
	case RDF_RPC_CAS:
		what->opcode = RDF_OP_CAS;
		return !what->len && !len;
	case RDF_RPC_FAA:
		what->opcode = RDF_OP_FAA;
		return !what->len && !len;
	case RDF_RPC_READ:
		what->opcode = RDF_OP_READ;
		return what->len && what->len <= RDF_RPC_DATA && !len;
	case RDF_RPC_WRITE:
		what->opcode = RDF_OP_WRITE;
		return what->len && what->len <= RDF_RPC_DATA && len == what->len;
	}
	return false;
}

/*
 * Carry out what is in @rx and answer from @tx. The buffer is in the receive queue again before the answer is sent (see
 * rpc.h). A refusal is the link's end, which is left to the peer for a while (rdf_link_work()), so that it learns what
 * was refused.
 */
static void rdf_rpc_serve(struct rdf_link *link, struct rdf_rpc_rx *rx, struct rdf_rpc_tx *tx)
{
	struct rdf_rpc *rpc = link->rpc;
	struct rdf_rpc_msg *m = rdf_rpc_rx_msg(rpc, rx), *r = rdf_rpc_tx_msg(rpc, tx);
	struct rdf_rpc_do what;
	enum ib_wc_status status;
	u32 len = sizeof(*r);
	u64 old;
	int err;

	lockdep_assert_held(&link->lock);
	if (!rdf_rpc_parse(m, rx->len, &what)) {
		rdf_count(link->dom, RDF_STAT_bad_msg);
		__clear_bit(tx->no, rpc->busy);
		rdf_link_fail_locked(link, -EBADMSG);
		return;
	}
	ib_dma_sync_single_for_cpu(rdf_ib(link), rpc->tx_dma + tx->no * RDF_RPC_STRIDE, RDF_RPC_STRIDE, DMA_TO_DEVICE);
	what.data = what.opcode == RDF_OP_READ ? r->data : m->data;
	status = rdf_rpc_exec(link->dom, &what, &old);
	if (status == IB_WC_SUCCESS) {
		rdf_count(link->dom, RDF_STAT_served);
		if (what.opcode == RDF_OP_READ)
			len += what.len;
	} else {
		rpc->closed = true;
		set_bit(RDF_QP_REFUSED, &link->qp_events);
		rdf_link_queue(link);
	}
	if (rdf_fault(RDF_FAULT_reply_lost)) {
		__clear_bit(tx->no, rpc->busy);
		rdf_link_fail_locked(link, -EIO);
		return;
	}
	*r = (struct rdf_rpc_msg){
		.magic = cpu_to_le16(RDF_RPC_MAGIC),
		.what = status == IB_WC_SUCCESS ? RDF_RPC_DONE : RDF_RPC_REFUSED,
		.slot = m->slot,
		.arg[0] = cpu_to_le64(old),
	};
	rdf_rpc_rx_post(link, rx);
	err = rdf_rpc_tx_post(link, tx, len);
	if (err)
		rdf_link_fail_locked(link, err);
}

/* Send buffers are free again. */
void rdf_rpc_serve_waiting(struct rdf_link *link)
{
	struct rdf_rpc *rpc = link->rpc;
	struct rdf_rpc_tx *tx;
	struct rdf_rpc_rx *rx;

	lockdep_assert_held(&link->lock);
	/* The state is why nothing is carried out once the link's end has begun. */
	while (link->state == RDF_UP && !rpc->closed && !list_empty(&rpc->waiting)) {
		tx = rdf_rpc_tx_take(rpc);
		if (!tx)
			return;
		rx = list_first_entry(&rpc->waiting, struct rdf_rpc_rx, node);
		list_del_init(&rx->node);
		rdf_rpc_serve(link, rx, tx);
	}
}

/* A request came. */
void rdf_rpc_request(struct rdf_link *link, struct rdf_rpc_rx *rx)
{
	lockdep_assert_held(&link->lock);
	/* It may overtake the CM's word, as a message may. */
	rdf_link_data_locked(link);
	list_add_tail(&rx->node, &link->rpc->waiting);
	rdf_rpc_serve_waiting(link);
}

/* ---- the home's own ---- */

/*
 * At once, and reported later: who posts holds locks that ->done() takes. What comes behind a refusal is not carried
 * out, as on a queue pair.
 */
void rdf_rpc_loop_post(struct rdf_link *link, struct rdf_op *op)
{
	struct rdf_rpc *rpc = link->rpc;
	struct rdf_rpc_do what = {
		.opcode = op->opcode,
		.to = op->to,
		.arg = { op->arg[0], op->arg[1] },
		.data = op->buf,
		.len = op->len,
	};

	lockdep_assert_held(&link->lock);
	op->undone = op->opcode == RDF_OP_CAS && rdf_fault(RDF_FAULT_cas_lost);
	if (op->undone) {
		what.opcode = RDF_OP_FAA;
		what.arg[0] = 0;
	}
	op->status = rpc->closed ? IB_WC_WR_FLUSH_ERR : rdf_rpc_exec(link->dom, &what, &op->old);
	if (op->status != IB_WC_SUCCESS)
		rpc->closed = true;
	list_move_tail(&op->node, &rpc->flight);
	tasklet_schedule(&rpc->tasklet);
}

/* One at a time, and rdf_rpc_flush() waits for it. */
static void rdf_rpc_loop_report(struct tasklet_struct *t)
{
	struct rdf_rpc *rpc = from_tasklet(rpc, t, tasklet);
	struct rdf_link *link = rpc->link;
	struct rdf_op *op, *next;
	LIST_HEAD(list);

	spin_lock_bh(&link->lock);
	list_splice_init(&rpc->flight, &list);
	spin_unlock_bh(&link->lock);
	list_for_each_entry_safe(op, next, &list, node) {
		list_del_init(&op->node);
		rdf_op_finish(link, op, op->status);
	}
}

void rdf_rpc_loop_init(struct rdf_rpc *rpc)
{
	tasklet_setup(&rpc->tasklet, rdf_rpc_loop_report);
}

/* (Again) ready; nothing of its last life is left. */
int rdf_rpc_loop_make(struct rdf_link *link)
{
	spin_lock_bh(&link->lock);
	link->rpc->closed = false;
	spin_unlock_bh(&link->lock);
	return 0;
}
