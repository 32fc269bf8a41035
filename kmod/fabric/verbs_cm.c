// SPDX-License-Identifier: GPL-2.0
/*
 * Channels: queue pairs on ids of the CM, and the CM's events. What an event does is decided by the link's state
 * machine (verbs_link.c); what has to be done inside the CM's handler is done here.
 */
#include <linux/delay.h>
#include <rdma/ib_cm.h>

#include "rpc.h"
#include "verbs.h"

static void rdf_qp_event(struct ib_event *event, void *context)
{
	struct rdf_chan *ch = context;

	switch (event->event) {
	case IB_EVENT_COMM_EST:
		if (ch->id)
			rdma_notify(ch->id, event->event);
		break;
	/* May come in hard interrupt context, where the link's lock must not be taken. */
	case IB_EVENT_QP_FATAL:
		set_bit(RDF_QP_BROKEN, &ch->link->qp_events);
		rdf_link_queue(ch->link);
		break;
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		set_bit(RDF_QP_REFUSED, &ch->link->qp_events);
		rdf_link_queue(ch->link);
		break;
	default:
		break;
	}
}

void rdf_chan_qp_attr(struct rdf_chan *ch, struct ib_qp_init_attr *attr)
{
	bool ops = ch->which == RDF_CHAN_OPS;
	bool rpc = ops && ch->link->backend == RDL_BACKEND_RPC;

	*attr = (struct ib_qp_init_attr) {
		.event_handler = rdf_qp_event,
		.qp_context = ch,
		.send_cq = ch->cq,
		.recv_cq = ch->cq,
		.cap.max_send_wr = rpc ? RDF_RPC_SQ : ops ? RDF_OPS_SQ : RDF_MSG_SQ,
		.cap.max_recv_wr = rpc ? RDF_RPC_SLOTS + 1 : ops ? 1 : RDF_RX_SLOTS + 1,
		.cap.max_send_sge = 1,
		.cap.max_recv_sge = 1,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
}

int rdf_chan_cq_make(struct rdf_chan *ch, int extra)
{
	struct ib_device *ib = rdf_ib(ch->link);
	struct ib_cq *cq;
	int n;

	if (ch->which == RDF_CHAN_MSG)
		n = RDF_MSG_SQ + RDF_RX_SLOTS + 1;
	else if (ch->link->backend == RDL_BACKEND_RPC)
		n = RDF_RPC_SQ + RDF_RPC_SLOTS + 1;
	else
		n = RDF_OPS_SQ + 1;
	cq = ib_alloc_cq_any(ib, ch, n + extra, IB_POLL_SOFTIRQ);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	ch->cq = cq;
	return 0;
}

/* The channel's id has a device. On error the caller kills or frees the link, which frees what was made. */
int rdf_chan_qp_make(struct rdf_chan *ch)
{
	bool rpc = ch->which == RDF_CHAN_OPS && ch->link->backend == RDL_BACKEND_RPC;
	struct ib_qp_init_attr attr;
	int err;

	err = rpc ? rdf_rpc_alloc(ch->link) : 0;
	if (err)
		return err;
	err = rdf_chan_cq_make(ch, 0);
	if (err)
		return err;
	rdf_chan_qp_attr(ch, &attr);
	err = rdma_create_qp(ch->id, ch->link->dom->pd, &attr);
	if (err)
		return err;
	ch->qp = ch->id->qp;
	if (rpc)
		return rdf_rpc_post_all(ch->link);
	return ch->which == RDF_CHAN_MSG ? rdf_msg_post_all(ch->link) : 0;
}

/* Both depths as deep as the device can, within our bound; 0 would switch atomics off without a word. */
void rdf_conn_param(struct rdf_dom *dom, struct rdma_conn_param *param)
{
	const struct ib_device_attr *attrs = &dom->dev->ib->attrs;

	*param = (struct rdma_conn_param) {
		.responder_resources = min_t(u32, RDF_RD_ATOMIC, attrs->max_qp_rd_atom),
		.initiator_depth = min_t(u32, RDF_RD_ATOMIC, attrs->max_qp_init_rd_atom),
		.retry_count = RDF_RETRY_COUNT,
		.rnr_retry_count = RDF_RNR_RETRY,
	};
}

static int rdf_chan_connect(struct rdf_chan *ch)
{
	struct rdf_link *link = ch->link;
	struct rdf_hello hello = link->hello;
	struct rdma_conn_param param;
	int err;

	if (ch->id->device != rdf_ib(link))
		return -ENODEV;
	if (rdf_fault(RDF_FAULT_connect_hold))
		msleep(rdf_fault_ms(RDF_FAULT_connect_hold));
	err = rdf_chan_qp_make(ch);
	if (err)
		return err;
	hello.chan = ch->which;
	rdf_conn_param(link->dom, &param);
	param.private_data = &hello;
	param.private_data_len = sizeof(hello);
	return rdma_connect_locked(ch->id, &param);
}

/* Takes over @id for @ch unless the link is on its way down. On success the link's work destroys @id. */
bool rdf_chan_adopt(struct rdf_chan *ch, struct rdma_cm_id *id)
{
	struct rdf_link *link = ch->link;
	bool ok;

	spin_lock_bh(&link->lock);
	ok = link->state == RDF_CONNECTING && !ch->id;
	if (ok)
		ch->id = id;
	spin_unlock_bh(&link->lock);
	return ok;
}

/*
 * Passive side, inside the CM handler of the channel's id; @peer: what the request asked for, from our point of view.
 */
int rdf_chan_accept(struct rdf_chan *ch, const struct rdma_conn_param *peer)
{
	struct rdf_link *link = ch->link;
	struct rdf_accept accept = {
		.magic = cpu_to_le32(RDF_HELLO_MAGIC),
		.backend = link->backend,
	};
	struct rdma_conn_param param;

	rdf_conn_param(link->dom, &param);
	param.private_data = &accept;
	param.private_data_len = sizeof(accept);
	param.responder_resources = min(param.responder_resources, peer->responder_resources);
	param.initiator_depth = min(param.initiator_depth, peer->initiator_depth);

	spin_lock_bh(&link->lock);
	if (link->state == RDF_CONNECTING)
		ch->state = RDF_CH_WAIT;
	spin_unlock_bh(&link->lock);
	return rdma_accept(ch->id, &param);
}

static int rdf_refusal(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	const struct rdf_reject *rej;
	u8 len = 0;

	rej = rdma_consumer_reject_data(id, ev, &len);
	if (rej && len >= sizeof(*rej) && le32_to_cpu(rej->magic) == RDF_HELLO_MAGIC) {
		u32 error = le32_to_cpu(rej->error);

		return error && error <= MAX_ERRNO ? -(int)error : -EPROTO;
	}
	/* Nobody listens. Any other reason is a moment's: the peer's memory, a half of a link that timed out there. */
	return ev->status == IB_CM_REJ_INVALID_SERVICE_ID || ev->status == -ECONNREFUSED ? -ECONNREFUSED : -ECONNRESET;
}

/*
 * The peer accepted: can we do with what it says? The depths may leave no room for our atomics; then they would wait
 * for ever. How it carries operations out must be known before the second channel is made.
 */
static int rdf_chan_accepted(struct rdf_chan *ch, const struct rdma_conn_param *param)
{
	const struct rdf_accept *accept = param->private_data;
	struct rdf_link *link = ch->link;
	int err = 0;

	if (!accept || param->private_data_len < sizeof(*accept) || le32_to_cpu(accept->magic) != RDF_HELLO_MAGIC ||
	    accept->backend < RDL_BACKEND_NIC || accept->backend > RDL_BACKEND_RPC)
		return -EPROTO;
	if (accept->backend == RDL_BACKEND_NIC && link->dom->backend != RDL_BACKEND_NIC)
		return -EOPNOTSUPP;
	if (accept->backend == RDL_BACKEND_NIC && (!param->responder_resources || !param->initiator_depth))
		return -EPROTO;
	spin_lock_bh(&link->lock);
	if (link->state == RDF_CONNECTING && ch->which == RDF_CHAN_MSG)
		link->backend = accept->backend;
	else if (link->backend != accept->backend)
		err = -EPROTO;
	spin_unlock_bh(&link->lock);
	return err;
}

/* What an event of the CM means; @err: the cause, if it ends the link. */
static enum rdf_event rdf_cm_classify(struct rdf_chan *ch, struct rdma_cm_id *id, struct rdma_cm_event *ev, int *err)
{
	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return RDF_EV_ADDR;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return RDF_EV_ROUTE;
	case RDMA_CM_EVENT_ESTABLISHED:
		/* On the passive side the event carries no answer: there rdf_port_request() has looked. */
		if (ch->link->active)
			*err = rdf_chan_accepted(ch, &ev->param.conn);
		return RDF_EV_OPEN;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		*err = -EHOSTUNREACH;
		return RDF_EV_REFUSED;
	case RDMA_CM_EVENT_CONNECT_ERROR:
		*err = -ECONNABORTED;
		return RDF_EV_REFUSED;
	case RDMA_CM_EVENT_REJECTED:
		*err = rdf_refusal(id, ev);
		return RDF_EV_REFUSED;
	case RDMA_CM_EVENT_DISCONNECTED:
		*err = -ECONNRESET;
		return RDF_EV_GONE;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		*err = -ENETRESET;
		return RDF_EV_GONE;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		*err = -ENODEV;
		return RDF_EV_GONE;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return RDF_EV_NOISE;
	default:
		/* CONNECT_RESPONSE, multicast, and whatever a newer kernel has: not for an id with a queue pair */
		return RDF_EV_UNKNOWN;
	}
}

/* Events of a channel's id. Always 0: the link's work destroys the id. */
int rdf_cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct rdf_chan *ch = id->context;
	struct rdf_link *link = ch->link;
	int err = 0;
	enum rdf_event what = rdf_cm_classify(ch, id, ev, &err);

	switch (rdf_link_post_event(link, ch, what, err)) {
	case RDF_ACT_ROUTE:
		err = rdma_resolve_route(id, RDF_CONNECT_MS);
		if (err)
			rdf_link_kill(link, err);
		break;
	case RDF_ACT_CONNECT:
		err = rdf_chan_connect(ch);
		if (err)
			rdf_link_kill(link, err);
		break;
	case RDF_ACT_ODD:
		rdf_count(link->dom, RDF_STAT_bad_event);
		pr_debug("%s in channel state %d ignored\n", rdma_event_msg(ev->event), ch->state);
		break;
	case RDF_ACT_NONE:
	case RDF_ACT_WORK:
		break;
	}
	return 0;
}

/* Link's work, active side: begin to connect one channel. */
void rdf_chan_start(struct rdf_chan *ch)
{
	struct rdf_link *link = ch->link;
	struct rdma_cm_id *id;
	int err;

	id = rdma_create_id(link->dom->net, rdf_cm_handler, ch, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id)) {
		rdf_link_kill(link, PTR_ERR(id));
		return;
	}
	if (!rdf_chan_adopt(ch, id)) {
		rdma_destroy_id(id);
		return;
	}
	spin_lock_bh(&link->lock);
	ch->state = RDF_CH_ADDR;
	spin_unlock_bh(&link->lock);

	err = rdma_set_ack_timeout(id, RDF_ACK_TIMEOUT);
	if (!err)
		err = rdma_resolve_addr(id, NULL, (struct sockaddr *)&link->dst, RDF_CONNECT_MS);
	if (err)
		rdf_link_kill(link, err);
}

/*
 * Link's work: nothing of the channel is left afterwards, at the device and in the CM.
 *
 * The CM of InfiniBand and RoCE gives back its reference of the id before it calls the handler of a message that could
 * not be sent (cm_process_send_error() of ib_cm). If the handler has to wait for its lock then, rdma_destroy_id() frees
 * that lock under it. So the lock is not held for long here, who waits for it is let in, and no message is sent that
 * has such a handler: not rdma_disconnect(), whose request fails at once on a port that is down. That of
 * rdma_destroy_id() is one that nobody waits for.
 */
void rdf_chan_teardown(struct rdf_chan *ch)
{
	struct ib_qp_attr error = { .qp_state = IB_QPS_ERR };
	struct rdma_cm_id *id = ch->id;

	if (id) {
		/*
		 * A handler that makes a queue pair, or accepts, has done so; the link is DYING, none begins to. Nor
		 * does one change the state of a pair that is in error; that of a broken device may refuse to be.
		 */
		rdma_lock_handler(id);
		if (ch->qp && !rdma_protocol_iwarp(id->device, id->port_num))
			ib_modify_qp(ch->qp, &error, IB_QP_STATE);
		rdma_unlock_handler(id);
		if (ch->qp) {
			/*
			 * That of iWARP holds the queue pair until it is disconnected. Without the handler's lock: it
			 * waits here until a connection that is being made is decided, and tells the handler first.
			 */
			if (rdma_protocol_iwarp(id->device, id->port_num))
				rdma_disconnect(id);
			/* Of a pair in error, so it is bounded even with a dead peer. */
			ib_drain_qp(ch->qp);
			rdma_destroy_qp(id);
			ch->qp = NULL;
			msleep(RDF_HANDLER_MS);
		}
		/* Waits for a running handler; none comes after. */
		rdma_destroy_id(id);
		ch->id = NULL;
	}
	if (ch->cq) {
		/* Waits for a running completion handler. */
		ib_free_cq(ch->cq);
		ch->cq = NULL;
	}
}
