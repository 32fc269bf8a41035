// SPDX-License-Identifier: GPL-2.0
/*
 * The verbs fabric as the module has it, in one object, and the tests that need its insides: the state machine alone,
 * CM events that come at the wrong time, messages that are wrong.
 */
#include "../../fabric/verbs_cm.c"
#include "../../fabric/verbs_dev.c"
#include "../../fabric/verbs_link.c"
#include "../../fabric/verbs_listen.c"
#include "../../fabric/verbs_loop.c"
#include "../../fabric/verbs_mem.c"
#include "../../fabric/verbs_msg.c"
#include "../../fabric/verbs_wr.c"
#include "../../fabric/rpc.c"
#include "../../fabric/rpc_serve.c"
#include "../../fabric/fault.c"

#include "test.h"

/* ---- every event in every state ---- */

/* What one step of the state machine may do, whatever the state. Return: what is wrong, NULL if nothing. */
static const char *rdf_test_step_wrong(const struct rdf_link *was, const struct rdf_link *now, enum rdf_chan_id c,
				       enum rdf_event ev, int err, enum rdf_act act)
{
	enum rdf_chan_state other = was->chan[!c].state;
	enum rdf_chan_state chan = was->chan[c].state;
	bool flush = ev == RDF_EV_FLUSHED;
	enum rdf_act want;

	if (now->state < was->state)
		return "went back";
	if (now->state == RDF_DEAD && was->state != RDF_DEAD)
		return "died at once";
	if (was->state >= RDF_DYING && now->state != was->state)
		return "changed on its way down";
	/* Only a request that says why replaces a cause that does not. */
	if (was->state >= RDF_DYING &&
	    now->err != (was->state == RDF_DYING && was->flushed && ev == RDF_EV_FAILED ? -EXFULL : was->err))
		return "the cause";
	if (was->state >= RDF_DYING && (act == RDF_ACT_WORK || act == RDF_ACT_ROUTE || act == RDF_ACT_CONNECT))
		return "acted on its way down";
	want = RDF_ACT_NONE;
	if (was->state == RDF_CONNECTING && ev == RDF_EV_ADDR && chan == RDF_CH_ADDR)
		want = RDF_ACT_ROUTE;
	else if (was->state == RDF_CONNECTING && ev == RDF_EV_ROUTE && chan == RDF_CH_ROUTE)
		want = RDF_ACT_CONNECT;
	if (act != want && (want != RDF_ACT_NONE || act == RDF_ACT_ROUTE || act == RDF_ACT_CONNECT))
		return "a step of connecting left out, or out of turn";
	if (was->state == RDF_CONNECTING && now->state == RDF_UP) {
		bool opened = ev == RDF_EV_OPEN && chan == RDF_CH_WAIT && other == RDF_CH_OPEN;
		bool data = ev == RDF_EV_DATA && !was->active && was->chan[RDF_CHAN_OPS].state >= RDF_CH_WAIT;

		if ((!opened && !data) || !now->want_up || act != RDF_ACT_WORK)
			return "up";
	}
	if (was->state < RDF_DYING && now->state == RDF_DYING) {
		if (ev == RDF_EV_OPEN && (!err || was->state != RDF_CONNECTING || chan != RDF_CH_WAIT))
			return "down by an establishment";
		if (ev != RDF_EV_GONE && ev != RDF_EV_KILL && ev != RDF_EV_REFUSED && ev != RDF_EV_OPEN &&
		    ev != RDF_EV_FAILED && ev != RDF_EV_FLUSHED)
			return "down by a harmless event";
		if (was->state == RDF_CONNECTING && flush)
			return "the cause of a flush is still to come";
		if (now->flushed != flush)
			return "whether there may be a better cause";
		if (ev == RDF_EV_REFUSED &&
		    (was->state != RDF_CONNECTING || chan == RDF_CH_OPEN || chan == RDF_CH_IDLE))
			return "an established channel cannot be refused";
		if (now->err != -EXFULL || act != RDF_ACT_WORK)
			return "down";
	}
	if (was->state < RDF_DYING && (ev == RDF_EV_GONE || ev == RDF_EV_KILL || ev == RDF_EV_FAILED) &&
	    now->state != RDF_DYING)
		return "not down";
	if (was->state == RDF_UP && ev == RDF_EV_FLUSHED && now->state != RDF_DYING)
		return "not down by a flush";
	if (ev == RDF_EV_UNKNOWN && act != RDF_ACT_ODD)
		return "an unknown event is not counted";
	return NULL;
}

/* Takes the next of @n values off the number of a combination. */
static int rdf_test_pick(int *number, int n)
{
	int digit = *number % n;

	*number /= n;
	return digit;
}

#define RDF_TEST_COMBINATIONS \
	(2 * (RDF_DEAD + 1) * (RDF_CH_OPEN + 1) * (RDF_CH_OPEN + 1) * RDF_NR_CHANS * (RDF_EV_UNKNOWN + 1) * 2 * 2)

/* One combination of states, channel and event. Return: 0, 1: the link went up, negative: it went wrong. */
static int rdf_test_matrix_one(struct rdf_link *was, struct rdf_link *now, int number)
{
	int active = rdf_test_pick(&number, 2);
	enum rdf_link_state state = rdf_test_pick(&number, RDF_DEAD + 1);
	enum rdf_chan_state msg = rdf_test_pick(&number, RDF_CH_OPEN + 1);
	enum rdf_chan_state ops = rdf_test_pick(&number, RDF_CH_OPEN + 1);
	enum rdf_chan_id c = rdf_test_pick(&number, RDF_NR_CHANS);
	enum rdf_event ev = rdf_test_pick(&number, RDF_EV_UNKNOWN + 1);
	int err = rdf_test_pick(&number, 2) ? -EXFULL : 0;
	bool flushed = rdf_test_pick(&number, 2);
	const char *wrong;
	enum rdf_act act;

	/* Only an establishment comes with and without an error. */
	if (ev == RDF_EV_REFUSED || ev == RDF_EV_GONE || ev == RDF_EV_KILL || ev == RDF_EV_FAILED ||
	    ev == RDF_EV_FLUSHED)
		err = -EXFULL;
	else if (ev != RDF_EV_OPEN)
		err = 0;

	now->active = active;
	now->state = state;
	now->err = state >= RDF_DYING ? -EBADE : 0;
	now->flushed = state >= RDF_DYING && flushed;
	now->want_up = false;
	now->chan[RDF_CHAN_MSG].state = msg;
	now->chan[RDF_CHAN_OPS].state = ops;
	now->chan[c].which = c;
	memcpy(was, now, sizeof(*was));
	spin_lock_bh(&now->lock);
	act = rdf_link_event(now, &now->chan[c], ev, err);
	spin_unlock_bh(&now->lock);
	wrong = rdf_test_step_wrong(was, now, c, ev, err, act);
	if (!wrong)
		return was->state == RDF_CONNECTING && now->state == RDF_UP;
	pr_err("active %d state %d channels %d %d, event %d of %d: %s\n", active, state, msg, ops, ev, c, wrong);
	return -EPROTO;
}

int rdf_test_matrix(void)
{
	struct rdf_link *was = kzalloc(sizeof(*was), GFP_KERNEL), *now = kzalloc(sizeof(*now), GFP_KERNEL);
	int i, one, ups = 0, err = was && now ? 0 : -ENOMEM;

	if (err)
		goto free;
	spin_lock_init(&now->lock);
	for (i = 0; i < RDF_TEST_COMBINATIONS; i++) {
		one = rdf_test_matrix_one(was, now, i);
		if (one < 0)
			err = one;
		else
			ups += one;
	}
	/*
	 * By OPEN without error: 2 channels, active and passive. By DATA, passive: 5 states of MSG, 2 of OPS, 2
	 * channels, and twice because the error makes no difference. All twice, as nothing was flushed before.
	 */
	if (!err && ups != 2 * (2 * 2 + 2 * 5 * 2 * 2)) {
		pr_err("%d ways up\n", ups);
		err = -EPROTO;
	}
free:
	kfree(was);
	kfree(now);
	return err;
}

/* An event of the CM out of its order, as if for channel @c of @link. The handler must say 0 to each. */
int rdf_test_inject(struct rdf_link *link, int c, int event)
{
	struct rdma_cm_event ev = { .event = event };
	struct rdma_cm_id *id;
	int err;

	if (c < 0 || c >= RDF_NR_CHANS || link->loop)
		return -EINVAL;
	id = kzalloc(sizeof(*id), GFP_KERNEL);
	if (!id)
		return -ENOMEM;
	/* Not the link's own id: that one may be gone, and the handler must not need it. */
	id->context = &link->chan[c];
	id->device = link->dom->dev->ib;
	id->port_num = link->dom->path.port;
	err = rdf_cm_handler(id, &ev);
	kfree(id);
	return err ? -EPROTO : 0;
}

/* As if the device had reported @event of a queue pair. */
int rdf_test_qp_event(struct rdf_link *link, int c, int event)
{
	struct ib_event ev = { .event = event, .device = link->dom->dev->ib };

	if (c < 0 || c >= RDF_NR_CHANS || !rdf_link_is_up(link))
		return -EINVAL;
	ev.element.qp = link->chan[c].qp;
	rdf_qp_event(&ev, &link->chan[c]);
	return 0;
}

/* As if one request had ended with status @first and another at once after it with @second. */
int rdf_test_wc(struct rdf_link *link, int first, int second)
{
	spin_lock_bh(&link->lock);
	rdf_link_wc_error_locked(link, first);
	if (second)
		rdf_link_wc_error_locked(link, second);
	spin_unlock_bh(&link->lock);
	return 0;
}

/* ---- wrong messages ---- */

/* Seals a message, then spoils it in the @how-th way, and sends it. */
int rdf_test_bad_message(struct rdf_link *link, int how)
{
	struct ib_sge sge = { .lkey = link->dom->pd->local_dma_lkey };
	struct ib_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED };
	struct rdl_msg *msg;
	struct rdf_tx *tx;
	int err = -ENOTCONN;

	spin_lock_bh(&link->lock);
	if (link->state != RDF_UP)
		goto unlock;
	err = -ENOMEM;
	tx = rdf_tx_alloc(link, GFP_ATOMIC);
	if (!tx)
		goto unlock;
	msg = rdf_tx_msg(tx);
	msg->type = RDL_MSG_HB;
	tx->len = rdl_msg_len(RDL_MSG_HB);
	rdl_msg_seal(msg, how == 4 ? RDF_RX_SLOTS + 1 : 0);
	switch (how) {
	case 0:
		msg->magic ^= cpu_to_le16(1);
		break;
	case 1:
		msg->crc ^= cpu_to_le32(1);
		break;
	case 2:
		tx->len--;
		break;
	case 3:
		msg->type = RDL_NR_MSGS;
		break;
	}
	tx->cqe.done = rdf_tx_done;
	wr.wr_cqe = &tx->cqe;
	sge.addr = tx->dma;
	sge.length = tx->len;
	ib_dma_sync_single_for_device(rdf_ib(link), tx->dma, RDL_MSG_MAX, DMA_TO_DEVICE);
	err = ib_post_send(link->chan[RDF_CHAN_MSG].qp, &wr, NULL);
	if (err) {
		rdf_tx_free(link, tx);
	} else {
		link->credits--;
		link->tx_posted++;
	}
unlock:
	spin_unlock_bh(&link->lock);
	return err;
}

/*
 * A request that no peer of ours sends, or, from the passive end, an answer that nobody waits for. 0..6: nonsense; 7,
 * 8: refused; 9: an answer.
 */
int rdf_test_bad_rpc(struct rdf_link *link, struct rdf_addr to, int how)
{
	u32 len = sizeof(struct rdf_rpc_msg);
	struct rdf_rpc_msg *m;
	struct rdf_rpc_tx *tx;
	int err = -ENOTCONN;

	spin_lock_bh(&link->lock);
	if (link->state != RDF_UP || !link->rpc)
		goto unlock;
	err = -ENOBUFS;
	tx = rdf_rpc_tx_take(link->rpc);
	if (!tx)
		goto unlock;
	m = rdf_rpc_tx_msg(link->rpc, tx);
	*m = (struct rdf_rpc_msg){
		.magic = cpu_to_le16(RDF_RPC_MAGIC), .what = RDF_RPC_FAA, .slot = cpu_to_le32(tx->no),
		.addr = cpu_to_le64(to.addr), .rkey = cpu_to_le32(to.rkey), .arg = { cpu_to_le64(1) },
	};
	switch (how) {
	case 0:
		m->magic = 0;
		break;
	case 1:
		m->what = 0;
		break;
	case 2:
		len--;
		break;
	case 3:		/* an atomic has no data */
		len++;
		break;
	case 4:		/* more than there is */
		m->what = RDF_RPC_WRITE;
		m->len = cpu_to_le32(8);
		break;
	case 5:		/* more than an answer can have */
		m->what = RDF_RPC_READ;
		m->len = cpu_to_le32(RDF_RPC_DATA + 1);
		break;
	case 6:
		m->what = RDF_RPC_READ;
		break;
	case 7:		/* rdf_faa() would not have taken it */
		m->addr = cpu_to_le64(to.addr + 4);
		break;
	case 8:		/* around the end of all addresses */
		m->what = RDF_RPC_READ;
		m->addr = cpu_to_le64(-8ull);
		m->len = cpu_to_le32(16);
		break;
	case 9:
		m->what = RDF_RPC_DONE;
		break;
	}
	err = rdf_rpc_tx_post(link, tx, len);
unlock:
	spin_unlock_bh(&link->lock);
	return err;
}

/* As if the device still repeated earlier answers: all send buffers of the passive end are taken, or given back. */
int rdf_test_hold_answers(struct rdf_link *link, bool hold)
{
	static DECLARE_BITMAP(held, RDF_RPC_SLOTS);
	struct rdf_rpc_tx *tx;
	int err = -ENOTCONN;

	spin_lock_bh(&link->lock);
	if (link->state != RDF_UP || !rdf_rpc_is_asked(link))
		goto unlock;
	err = 0;
	if (hold) {
		while ((tx = rdf_rpc_tx_take(link->rpc)))
			__set_bit(tx->no, held);
	} else {
		bitmap_andnot(link->rpc->busy, link->rpc->busy, held, RDF_RPC_SLOTS);
		bitmap_zero(held, RDF_RPC_SLOTS);
		rdf_rpc_serve_waiting(link);
	}
unlock:
	spin_unlock_bh(&link->lock);
	return err;
}

/* ---- a stranger's request ---- */

struct rdf_test_raw {
	struct completion done;
	struct ib_pd *pd;
	const void *hello;
	u8 len;
	u8 depth;
	int err;
};

static int rdf_test_raw_handler(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct rdf_test_raw *raw = id->context;
	struct ib_qp_init_attr attr = { .cap = { 1, 1, 1, 1 }, .qp_type = IB_QPT_RC, .sq_sig_type = IB_SIGNAL_REQ_WR };
	struct rdma_conn_param param = { .retry_count = 1 };
	struct ib_cq *cq;
	int err = 0;

	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		err = rdma_resolve_route(id, 2000);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		cq = ib_alloc_cq_any(id->device, NULL, 4, IB_POLL_SOFTIRQ);
		if (IS_ERR(cq)) {
			err = PTR_ERR(cq);
			break;
		}
		attr.send_cq = cq;
		attr.recv_cq = cq;
		err = rdma_create_qp(id, raw->pd, &attr);
		if (err) {
			ib_free_cq(cq);
			break;
		}
		param.responder_resources = raw->depth;
		param.initiator_depth = raw->depth;
		param.private_data = raw->hello;
		param.private_data_len = raw->len;
		err = rdma_connect_locked(id, &param);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		raw->err = 0;
		complete(&raw->done);
		break;
	case RDMA_CM_EVENT_REJECTED:
		err = rdf_refusal(id, ev);
		break;
	default:
		err = -ECONNABORTED;
		break;
	}
	if (err) {
		raw->err = err;
		complete(&raw->done);
	}
	return 0;
}

/*
 * Ask for a link with a hello that is wrong in the @how-th way. Return: the refusal's errno, -EISCONN if it was
 * accepted.
 */
int rdf_test_stranger(struct rdf_dom *dom, const struct sockaddr_storage *dst, int how)
{
	struct rdf_hello hello = {
		.magic = cpu_to_le32(RDF_HELLO_MAGIC),
		.version = cpu_to_le16(RDF_HELLO_VERSION),
		.space_hash = cpu_to_le64(RDF_TEST_HASH),
		.nonce = cpu_to_le64(42),
	};
	struct rdf_test_raw raw = {
		.pd = dom->pd, .hello = &hello, .len = sizeof(hello), .depth = 1, .err = -ETIMEDOUT,
	};
	struct rdma_cm_id *id;
	struct ib_cq *cq;
	int err;

	switch (how) {
	case 0:
		hello.magic = 0;
		break;
	case 1:
		hello.version = cpu_to_le16(RDF_HELLO_VERSION + 1);
		break;
	case 2:
		hello.chan = RDF_NR_CHANS;
		break;
	case 3:
		hello.reserved2 = cpu_to_le16(1);
		break;
	case 4:		/* the second channel of no link */
		hello.chan = RDF_CHAN_OPS;
		break;
	case 5:		/* depths that would leave the atomics waiting for ever */
		raw.depth = 0;
		break;
	}
	init_completion(&raw.done);
	id = rdma_create_id(dom->net, rdf_test_raw_handler, &raw, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	err = rdma_resolve_addr(id, NULL, (struct sockaddr *)dst, 2000);
	if (!err) {
		wait_for_completion_timeout(&raw.done, 5 * HZ);
		err = raw.err ?: -EISCONN;
	}
	rdma_lock_handler(id);
	if (id->qp) {
		cq = id->qp->send_cq;
		rdma_disconnect(id);
		rdma_destroy_qp(id);
		ib_free_cq(cq);
	}
	rdma_unlock_handler(id);
	rdma_destroy_id(id);
	return err;
}
