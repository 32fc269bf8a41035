// SPDX-License-Identifier: GPL-2.0
/*
 * The loopback pair: two queue pairs of one domain connected with each other. Through it the home's own agent reaches
 * the words in its memory (a CPU's atomics and the device's do not exclude each other), and registrations and
 * invalidations are posted on it. It is also what the device's atomics are probed on.
 *
 * With back-end rpc there are no queue pairs: what is posted is carried out at once, as that of a peer is, and reported
 * later. All else of the link is the same: an error ends it and it is made again.
 */
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "rpc.h"
#include "verbs.h"

static int rdf_loop_modify(struct rdf_link *link, struct ib_qp *qp, u32 dest)
{
	struct rdf_dom *dom = link->dom;
	struct ib_device *ib = dom->dev->ib;
	const struct rdf_path *path = &dom->path;
	const struct ib_gid_attr *gid;
	struct rdma_conn_param param;
	struct ib_port_attr port;
	struct ib_qp_attr attr = { };
	u16 gid_index;
	int err;

	err = ib_query_port(ib, path->port, &port);
	if (err)
		return err;
	gid = rdma_find_gid_by_port(ib, &path->gid, path->gid_type, path->port, NULL);
	if (IS_ERR(gid))
		return PTR_ERR(gid);
	gid_index = gid->index;
	rdma_put_gid_attr(gid);
	rdf_conn_param(dom, &param);

	attr.qp_state = IB_QPS_INIT;
	attr.port_num = path->port;
	attr.pkey_index = path->pkey_index;
	attr.qp_access_flags = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC;
	err = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS);
	if (err)
		return err;

	attr.qp_state = IB_QPS_RTR;
	attr.path_mtu = port.active_mtu;
	attr.dest_qp_num = dest;
	attr.max_dest_rd_atomic = param.responder_resources;
	attr.min_rnr_timer = 12;	/* 0.64 ms; nothing is sent that could meet an empty receive queue */
	attr.ah_attr.type = rdma_ah_find_type(ib, path->port);
	rdma_ah_set_port_num(&attr.ah_attr, path->port);
	rdma_ah_set_grh(&attr.ah_attr, (union ib_gid *)&path->gid, 0, gid_index, 64, 0);
	if (attr.ah_attr.type == RDMA_AH_ATTR_TYPE_ROCE)
		ether_addr_copy(attr.ah_attr.roce.dmac, path->dmac);
	else
		rdma_ah_set_dlid(&attr.ah_attr, port.lid);
	err = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
			   IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
	if (err)
		return err;

	attr.qp_state = IB_QPS_RTS;
	attr.timeout = RDF_ACK_TIMEOUT;
	attr.retry_cnt = RDF_RETRY_COUNT;
	attr.rnr_retry = RDF_RNR_RETRY;
	attr.max_rd_atomic = param.initiator_depth;
	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
			    IB_QP_MAX_QP_RD_ATOMIC);
}

/* Two queue pairs connected with each other, without the CM. On error nothing is left. */
static int rdf_loop_connect(struct rdf_link *link)
{
	struct rdf_chan *ch = &link->chan[RDF_CHAN_OPS];
	struct ib_qp_init_attr attr;
	struct ib_qp *qp;
	int err;

	err = rdf_chan_cq_make(ch, 2);
	if (err)
		return err;
	rdf_chan_qp_attr(ch, &attr);
	qp = ib_create_qp(link->dom->pd, &attr);
	if (IS_ERR(qp)) {
		err = PTR_ERR(qp);
		goto destroy;
	}
	ch->qp = qp;
	attr.cap.max_send_wr = 1;
	qp = ib_create_qp(link->dom->pd, &attr);
	if (IS_ERR(qp)) {
		err = PTR_ERR(qp);
		goto destroy;
	}
	link->loop_peer = qp;

	err = rdf_loop_modify(link, link->loop_peer, ch->qp->qp_num);
	if (!err)
		err = rdf_loop_modify(link, ch->qp, link->loop_peer->qp_num);
	link->loop_connected = !err;
	if (!err)
		return 0;

destroy:
	rdf_link_loop_destroy(link);
	return err;
}

/* Context: process. */
int rdf_link_loop_make(struct rdf_link *link)
{
	int err = link->rpc ? rdf_rpc_loop_make(link) : rdf_loop_connect(link);

	if (err)
		return err;
	WRITE_ONCE(link->loop_away, false);
	link->published = true;
	rdf_link_made(link);
	rdf_watch_start(link);
	return 0;
}

void rdf_link_loop_destroy(struct rdf_link *link)
{
	struct rdf_chan *ch = &link->chan[RDF_CHAN_OPS];
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	if (ch->qp) {
		/*
		 * A pair that was never connected has nothing to drain. For another, that its state cannot be changed
		 * is no reason not to: a device that has failed (mlx4) refuses it, and only its own drain gives back
		 * what was posted.
		 */
		ib_modify_qp(ch->qp, &attr, IB_QP_STATE);
		if (link->loop_connected)
			ib_drain_qp(ch->qp);
		link->loop_connected = false;
		ib_destroy_qp(ch->qp);
		ch->qp = NULL;
	}
	if (link->loop_peer) {
		ib_destroy_qp(link->loop_peer);
		link->loop_peer = NULL;
	}
	if (ch->cq) {
		ib_free_cq(ch->cq);
		ch->cq = NULL;
	}
}

/* ---- registrations ---- */

struct rdf_exec {
	struct ib_cqe cqe;
	struct completion done;
	enum ib_wc_status status;
	bool hide;		/* a fault point: not seen in time */
};

static void rdf_exec_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rdf_exec *exec = container_of(wc->wr_cqe, struct rdf_exec, cqe);

	exec->status = wc->status;
	complete(&exec->done);
}

/*
 * The request is ours until it completes, so a pair that has stopped (see rdf_watch_work()) is ended, which flushes it.
 * A watch of our own: the link's sees operations only.
 */
static void rdf_exec_wait(struct rdf_link *link, struct rdf_exec *exec)
{
	if (!exec->hide && wait_for_completion_timeout(&exec->done, msecs_to_jiffies(RDF_STALL_MS)))
		return;
	if (exec->hide)
		msleep(RDF_STALL_MS);
	rdf_count(link->dom, RDF_STAT_stalled);
	rdf_link_kill(link, -ETIMEDOUT);
	wait_for_completion(&exec->done);
	if (exec->hide)
		exec->status = IB_WC_WR_FLUSH_ERR;
}

/*
 * Post a local request (registration, invalidation) on the pair and wait for it. One at a time: the send queue has one
 * place for it. Context: process, sleeps, bounded as draining is. Return: 0; -ENOTCONN: the pair is away, or ended with
 * it; -EIO: the device refused it.
 */
int rdf_loop_exec(struct rdf_link *link, struct ib_send_wr *wr)
{
	struct rdf_exec exec = { .cqe.done = rdf_exec_done };
	int tries, err = -ENOTCONN;

	lockdep_assert_held(&link->dom->reg_mutex);
	init_completion(&exec.done);
	wr->wr_cqe = &exec.cqe;
	wr->send_flags = IB_SEND_SIGNALED;

	/* The pair may be being made again just now. */
	for (tries = 0; tries < 100; tries++) {
		spin_lock_bh(&link->lock);
		if (link->state == RDF_UP)
			err = ib_post_send(link->chan[RDF_CHAN_OPS].qp, wr, NULL);
		spin_unlock_bh(&link->lock);
		if (err != -ENOTCONN || READ_ONCE(link->state) == RDF_DEAD || READ_ONCE(link->loop_away))
			break;
		msleep(20);
	}
	if (err)
		return err;
	exec.hide = rdf_fault(RDF_FAULT_exec_stall);
	rdf_exec_wait(link, &exec);
	if (exec.status == IB_WC_SUCCESS)
		return 0;
	rdf_link_kill(link, -EIO);
	return exec.status == IB_WC_WR_FLUSH_ERR ? -ENOTCONN : -EIO;
}

/* ---- probe ---- */

#define RDF_PROBE_WORD	0x0102030405060708ull

struct rdf_probe {
	struct rdf_op op;
	struct completion done;
	struct rdf_addr to;
	u64 buf;
};

static void rdf_probe_done(struct rdf_op *op)
{
	complete(&container_of(op, struct rdf_probe, op)->done);
}

static int rdf_probe_wait(struct rdf_link *link, struct rdf_probe *p, int err)
{
	if (!err) {
		wait_for_completion(&p->done);
		reinit_completion(&p->done);
		if (p->op.outcome != RDF_OK)
			err = -EIO;
	}
	/* A device that cannot post them says so here, or completes them with an error. */
	if (rdf_fault(RDF_FAULT_probe_eopnotsupp))
		err = -EOPNOTSUPP;
	if (err)
		return err;
	if (rdf_fault(RDF_FAULT_probe_swap))
		p->op.old = swab64(p->op.old);
	return 0;
}

/* One atomic must return @old, and leave @now in memory as an RDMA READ sees it. */
static int rdf_probe_step(struct rdf_link *link, struct rdf_probe *p, bool cas, u64 a, u64 b, u64 old, u64 now)
{
	int err;

	err = rdf_probe_wait(link, p, cas ? rdf_cas(link, &p->op, p->to, a, b) : rdf_faa(link, &p->op, p->to, a));
	if (err)
		return err;
	if (p->op.old != old) {
		pr_err("%s: an atomic returned %016llx instead of %016llx\n", rdf_dom_dev_name(link->dom),
		       p->op.old, old);
		return -EOPNOTSUPP;
	}
	err = rdf_read(link, &p->op, p->to, &p->buf, sizeof(p->buf));
	if (!err) {
		wait_for_completion(&p->done);
		reinit_completion(&p->done);
		err = p->op.outcome == RDF_OK ? 0 : -EIO;
	}
	if (!err && p->buf != now) {
		pr_err("%s: an atomic left %016llx instead of %016llx\n", rdf_dom_dev_name(link->dom), p->buf, now);
		err = -EOPNOTSUPP;
	}
	return err;
}

/*
 * Believe no attribute: post what the locks will post and look at what comes back and at what is stored. The word is
 * asymmetric in its bytes, so swapped answers show; a CAS that must fail shows swapped operands.
 * Return: 0, -EOPNOTSUPP: the device cannot be used for atomics; other errors say nothing about the device.
 */
int rdf_loop_probe(struct rdf_link *link)
{
	const u64 w = RDF_PROBE_WORD, x = 0x1112131415161718ull, y = 0x2122232425262728ull;
	struct rdf_probe *p;
	struct rdf_mem *mem;
	struct rdf_mr *mr;
	int err;

	p = kzalloc(sizeof(*p), GFP_KERNEL);
	if (!p)
		return -ENOMEM;
	mem = rdf_mem_alloc(link->dom, PAGE_SIZE);
	if (IS_ERR(mem)) {
		err = PTR_ERR(mem);
		goto free;
	}
	*(u64 *)rdf_mem_va(mem) = w;
	mr = rdf_fault(RDF_FAULT_probe_reg) ? ERR_PTR(-EINVAL) : rdf_mr_reg(mem, RDF_ACCESS_ATOMIC);
	if (IS_ERR(mr)) {
		err = PTR_ERR(mr);
		/*
		 * A device that takes everything but this right has no use for it: some refuse it when the request is
		 * posted (mlx5: -EINVAL), others when it is carried out. That the pair went away says nothing.
		 */
		if (err == -EINVAL || err == -EIO)
			err = -EOPNOTSUPP;
		else if (err == -ENOTCONN)
			err = -EIO;
		goto free_mem;
	}
	p->to = rdf_mr_addr(mr);
	init_completion(&p->done);
	rdf_op_init(&p->op, rdf_probe_done);

	err = rdf_probe_step(link, p, false, 1, 0, w, w + 1);
	if (!err)
		err = rdf_probe_step(link, p, true, w + 1, x, w + 1, x);
	/* must fail: neither operand is stored, x comes back */
	if (!err)
		err = rdf_probe_step(link, p, true, y, x, x, x);
	if (!err)
		err = rdf_probe_step(link, p, true, w, y, x, x);
	/* an addend that is negative, as the protocol gives tickets back */
	if (!err)
		err = rdf_probe_step(link, p, false, -1ull << 32, 0, x, x - (1ull << 32));

	/* The pair died of the first atomic: that, too, is a device without atomics. */
	if (err == -EIO || err == -ENOTCONN)
		err = -EOPNOTSUPP;
	rdf_mr_dereg(mr);
free_mem:
	rdf_mem_free(mem);
free:
	kfree(p);
	return err;
}
