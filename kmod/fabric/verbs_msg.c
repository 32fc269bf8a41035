// SPDX-License-Identifier: GPL-2.0
/*
 * Messages of a link and their credits.
 *
 * Each side has RDF_RX_SLOTS receive buffers posted when the link begins, and the peer knows it. A message uses one
 * credit up; a buffer that is posted again is owed to the peer, and told to it in the next message's header, or by a
 * CREDIT message of its own when half of all are owed. The last credit is kept for CREDIT messages, so that two sides
 * that have both sent all they may can still tell each other; the one before it for urgent messages, which overtake and
 * whose buffers the owner gives back at once. A send queue can therefore never meet an empty receive
 * queue.
 */
#include <linux/slab.h>

#include "verbs.h"

#define RDF_RX_BYTES	(RDF_RX_SLOTS * RDL_MSG_MAX)

static struct rdl_msg *rdf_tx_msg(struct rdf_tx *tx)
{
	return (struct rdl_msg *)tx->data;
}

static void rdf_tx_free(struct rdf_link *link, struct rdf_tx *tx)
{
	ib_dma_unmap_single(rdf_ib(link), tx->dma, RDL_MSG_MAX, DMA_TO_DEVICE);
	kfree(tx);
}

static struct rdf_tx *rdf_tx_alloc(struct rdf_link *link, gfp_t gfp)
{
	struct rdf_tx *tx = kzalloc(sizeof(*tx), gfp);

	if (!tx)
		return NULL;
	tx->link = link;
	tx->dma = ib_dma_map_single(rdf_ib(link), tx->data, RDL_MSG_MAX, DMA_TO_DEVICE);
	if (ib_dma_mapping_error(rdf_ib(link), tx->dma)) {
		kfree(tx);
		return NULL;
	}
	return tx;
}

static void rdf_pump_msgs(struct rdf_link *link);

static void rdf_tx_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rdf_tx *tx = container_of(wc->wr_cqe, struct rdf_tx, cqe);
	struct rdf_link *link = tx->link;

	spin_lock_bh(&link->lock);
	if (wc->status != IB_WC_SUCCESS)
		rdf_link_wc_error_locked(link, wc->status);
	if (tx == link->credit_tx) {
		link->credit_busy = false;
	} else {
		link->tx_posted--;
		rdf_tx_free(link, tx);
	}
	rdf_pump_msgs(link);
	spin_unlock_bh(&link->lock);
}

/* Uses one credit up, and pays back all that is owed. */
static int rdf_tx_post(struct rdf_link *link, struct rdf_tx *tx)
{
	struct ib_sge sge = { .addr = tx->dma, .length = tx->len, .lkey = link->dom->pd->local_dma_lkey };
	struct ib_send_wr wr = {
		.wr_cqe = &tx->cqe,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};
	int err;

	lockdep_assert_held(&link->lock);
	tx->cqe.done = rdf_tx_done;
	ib_dma_sync_single_for_cpu(rdf_ib(link), tx->dma, RDL_MSG_MAX, DMA_TO_DEVICE);
	rdl_msg_seal(rdf_tx_msg(tx), link->owed);
	ib_dma_sync_single_for_device(rdf_ib(link), tx->dma, RDL_MSG_MAX, DMA_TO_DEVICE);
	err = ib_post_send(link->chan[RDF_CHAN_MSG].qp, &wr, NULL);
	if (err) {
		rdf_link_fail_locked(link, err);
		return err;
	}
	link->owed = 0;
	link->credits--;
	return 0;
}

/* Order of messages = order of the list = order of posting: all under the link's lock. */
static void rdf_pump_msgs(struct rdf_link *link)
{
	struct rdf_tx *tx;

	lockdep_assert_held(&link->lock);
	while (link->state == RDF_UP && !list_empty(&link->tx_wait) && link->tx_posted < RDF_TX_SLOTS) {
		tx = list_first_entry(&link->tx_wait, struct rdf_tx, node);
		if (link->credits <= RDF_TX_RESERVED + (tx->urgent ? 0 : RDF_TX_URGENT))
			break;
		if (rdf_tx_post(link, tx))
			return;
		list_del(&tx->node);
		link->tx_waiting--;
		link->tx_posted++;
		rdf_count(link->dom, RDF_STAT_send);
	}
	if (link->state == RDF_UP && !link->credit_busy && link->credits &&
	    (link->owed >= RDF_OWED_MAX || link->credit_now)) {
		if (rdf_tx_post(link, link->credit_tx))
			return;
		link->credit_busy = true;
		link->credit_now = false;
		rdf_count(link->dom, RDF_STAT_credit);
	}
}

static int rdf_tx_queue(struct rdf_link *link, struct rdl_msg *msg, u32 len, unsigned int max, bool urgent)
{
	struct rdf_tx *tx;
	int err = -ENOTCONN;
	bool first;

	/* CREDIT is the fabric's own: the peer's would swallow it. */
	if (len < sizeof(*msg) || len > RDL_MSG_MAX || len != rdl_msg_len(msg->type) || msg->type == RDL_MSG_CREDIT)
		return -EINVAL;
	spin_lock_bh(&link->lock);
	/* Not before the state is known: mapping needs the device, which may be gone with the link. */
	if (link->loop || link->state != RDF_UP)
		goto unlock;
	err = -ENOBUFS;
	if (link->tx_waiting >= max)
		goto unlock;
	err = -ENOMEM;
	tx = rdf_tx_alloc(link, GFP_ATOMIC);
	if (!tx)
		goto unlock;
	memcpy(tx->data, msg, len);
	tx->len = len;
	tx->urgent = urgent;
	first = list_empty(&link->tx_wait);
	if (urgent)
		list_add(&tx->node, &link->tx_wait);
	else
		list_add_tail(&tx->node, &link->tx_wait);
	link->tx_waiting++;
	rdf_pump_msgs(link);
	err = urgent && !first;
unlock:
	spin_unlock_bh(&link->lock);
	return err;
}

int rdf_send(struct rdf_link *link, struct rdl_msg *msg, u32 len)
{
	return rdf_tx_queue(link, msg, len, UINT_MAX, false);
}

int rdf_send_lossy(struct rdf_link *link, struct rdl_msg *msg, u32 len)
{
	return rdf_tx_queue(link, msg, len, RDF_TX_BEHIND, false);
}

int rdf_send_urgent(struct rdf_link *link, struct rdl_msg *msg, u32 len)
{
	/* The others alone must not fill the room. */
	return rdf_tx_queue(link, msg, len, RDF_TX_BEHIND + RDF_RX_SLOTS, true);
}

/* ---- receiving ---- */

static void rdf_rx_wc(struct ib_cq *cq, struct ib_wc *wc);

static int rdf_rx_post(struct rdf_link *link, struct rdf_rxbuf *b)
{
	struct ib_sge sge = { .addr = b->dma, .length = RDL_MSG_MAX, .lkey = link->dom->pd->local_dma_lkey };
	struct ib_recv_wr wr = { .wr_cqe = &b->cqe, .sg_list = &sge, .num_sge = 1 };

	ib_dma_sync_single_for_device(rdf_ib(link), b->dma, RDL_MSG_MAX, DMA_FROM_DEVICE);
	return ib_post_recv(link->chan[RDF_CHAN_MSG].qp, &wr, NULL);
}

/* The buffer is free again: post it and owe the peer a credit. */
static void rdf_rx_repost(struct rdf_link *link, struct rdf_rxbuf *b)
{
	int err;

	lockdep_assert_held(&link->lock);
	if (link->state != RDF_CONNECTING && link->state != RDF_UP)
		return;
	err = rdf_rx_post(link, b);
	if (err) {
		rdf_link_fail_locked(link, err);
		return;
	}
	link->owed++;
	rdf_pump_msgs(link);
}

void rdf_rx_done(struct rdf_rx *rx)
{
	struct rdf_link *link = rx->link;

	spin_lock_bh(&link->lock);
	rdf_rx_repost(link, container_of(rx, struct rdf_rxbuf, rx));
	spin_unlock_bh(&link->lock);
	rdf_link_put(link);	/* the buffer's */
}

/*
 * A message came. Return: true if the owner is to see it; then the buffer holds a reference.
 */
static bool rdf_rx_accept(struct rdf_link *link, struct rdf_rxbuf *b, u32 len)
{
	const struct rdl_msg *msg = b->rx.msg;
	u32 given;

	lockdep_assert_held(&link->lock);
	ib_dma_sync_single_for_cpu(rdf_ib(link), b->dma, RDL_MSG_MAX, DMA_FROM_DEVICE);
	if (len > RDL_MSG_MAX || rdl_msg_check(msg, len))
		goto bad;
	given = le16_to_cpu(msg->credits);
	/* More credits than the peer has buffers: it lies, and believing it would overrun its receive queue. */
	if (given > RDF_RX_SLOTS - link->credits)
		goto bad;
	link->credits += given;
	rdf_link_data_locked(link);
	if (msg->type == RDL_MSG_CREDIT) {
		rdf_rx_repost(link, b);
		rdf_pump_msgs(link);
		return false;
	}
	rdf_count(link->dom, RDF_STAT_recv);
	rdf_pump_msgs(link);
	b->rx.len = len;
	rdf_link_get(link);
	return true;

bad:
	rdf_count(link->dom, RDF_STAT_bad_msg);
	if (++link->bad_msgs >= RDF_BAD_MSG_MAX)
		rdf_link_fail_locked(link, -EBADMSG);
	rdf_rx_repost(link, b);
	return false;
}

static void rdf_rx_wc(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rdf_rxbuf *b = container_of(wc->wr_cqe, struct rdf_rxbuf, cqe);
	struct rdf_link *link = b->rx.link;
	bool deliver = false;

	spin_lock_bh(&link->lock);
	if (wc->status != IB_WC_SUCCESS) {
		rdf_link_wc_error_locked(link, wc->status);
	} else if (link->state == RDF_CONNECTING || link->state == RDF_UP) {
		deliver = rdf_rx_accept(link, b, wc->byte_len);
		if (deliver && rdf_fault(RDF_FAULT_recv_hold)) {
			link->rx_open = false;
			queue_delayed_work(rdf_wq, &link->held_work,
					   msecs_to_jiffies(rdf_fault_ms(RDF_FAULT_recv_hold)));
		}
		if (deliver && (!link->rx_open || !list_empty(&link->early))) {
			list_add_tail(&b->rx.node, &link->early);
			deliver = false;
		}
	}
	spin_unlock_bh(&link->lock);
	if (deliver && link->ops->recv(link, &b->rx))
		rdf_rx_done(&b->rx);
}

/*
 * ->up() has returned: hand over what came early, then let messages go straight to the owner. Completions of one queue
 * are handled one after another and this is the only other place that hands over, so the order stays. Context: the
 * link's work.
 */
void rdf_msg_open(struct rdf_link *link)
{
	struct rdf_rx *rx;

	for (;;) {
		spin_lock_bh(&link->lock);
		rx = list_first_entry_or_null(&link->early, struct rdf_rx, node);
		if (!rx || link->state != RDF_UP)
			break;
		list_del_init(&rx->node);
		link->rx_open = false;
		spin_unlock_bh(&link->lock);

		/* ->recv() expects softirq context. What comes meanwhile joins the list's end: not open yet. */
		local_bh_disable();
		if (link->ops->recv(link, rx))
			rdf_rx_done(rx);
		local_bh_enable();
	}
	if (link->state == RDF_UP)
		link->rx_open = true;
	spin_unlock_bh(&link->lock);
}

/* Active side, both channels established: a message tells the peer so, should the CM's own be lost. */
void rdf_msg_announce(struct rdf_link *link)
{
	spin_lock_bh(&link->lock);
	link->credit_now = true;
	rdf_pump_msgs(link);
	spin_unlock_bh(&link->lock);
}

/* The queue pair is destroyed: free what was not sent, forget what was not handed over. */
void rdf_msg_drop(struct rdf_link *link)
{
	struct rdf_tx *tx, *tnext;
	struct rdf_rx *rx, *rnext;
	LIST_HEAD(early);
	LIST_HEAD(wait);

	spin_lock_bh(&link->lock);
	WARN_ON(link->tx_posted || link->credit_busy);
	list_splice_init(&link->tx_wait, &wait);
	link->tx_waiting = 0;
	list_splice_init(&link->early, &early);
	spin_unlock_bh(&link->lock);
	list_for_each_entry_safe(tx, tnext, &wait, node)
		rdf_tx_free(link, tx);
	list_for_each_entry_safe(rx, rnext, &early, node) {
		list_del_init(&rx->node);
		rdf_rx_done(rx);
	}
}

/* ---- memory ---- */

int rdf_msg_alloc(struct rdf_link *link)
{
	struct ib_device *ib = rdf_ib(link);
	u64 dma;
	int i;

	link->rxbuf = kcalloc(RDF_RX_SLOTS, sizeof(*link->rxbuf), GFP_KERNEL);
	link->rx_pages = alloc_pages(GFP_KERNEL | __GFP_ZERO, get_order(RDF_RX_BYTES));
	link->credit_tx = rdf_tx_alloc(link, GFP_KERNEL);
	if (!link->rxbuf || !link->rx_pages || !link->credit_tx)
		return -ENOMEM;
	rdf_tx_msg(link->credit_tx)->type = RDL_MSG_CREDIT;
	link->credit_tx->len = rdl_msg_len(RDL_MSG_CREDIT);
	dma = ib_dma_map_single(ib, page_address(link->rx_pages), RDF_RX_BYTES, DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(ib, dma))
		return -ENOMEM;
	link->rx_dma = dma;
	for (i = 0; i < RDF_RX_SLOTS; i++) {
		struct rdf_rxbuf *b = &link->rxbuf[i];

		b->cqe.done = rdf_rx_wc;
		b->dma = dma + i * RDL_MSG_MAX;
		b->rx.msg = page_address(link->rx_pages) + i * RDL_MSG_MAX;
		b->rx.link = link;
		INIT_LIST_HEAD(&b->rx.node);
	}
	link->credits = RDF_RX_SLOTS;
	return 0;
}

int rdf_msg_post_all(struct rdf_link *link)
{
	int i, err;

	for (i = 0; i < RDF_RX_SLOTS; i++) {
		err = rdf_rx_post(link, &link->rxbuf[i]);
		if (err)
			return err;
	}
	return 0;
}

void rdf_msg_map_free(struct rdf_link *link)
{
	if (link->credit_tx)
		rdf_tx_free(link, link->credit_tx);
	link->credit_tx = NULL;
	if (link->rx_dma)
		ib_dma_unmap_single(rdf_ib(link), link->rx_dma, RDF_RX_BYTES, DMA_FROM_DEVICE);
	link->rx_dma = 0;
}

void rdf_msg_free(struct rdf_link *link)
{
	if (link->rx_pages)
		__free_pages(link->rx_pages, get_order(RDF_RX_BYTES));
	kfree(link->rxbuf);
}
