// SPDX-License-Identifier: GPL-2.0
/*
 * Links: their states, the CM's events, and the end.
 *
 * rdf_link_event() alone decides: it looks at the link's and the channel's state, changes them, and says what to do.
 * What may sleep is then done by the link's own work item, one thing at a time, so that starting, ->up(), and taking
 * down never run against each other. What must happen inside a CM handler (the request to connect) is done there, under
 * the handler mutex of that id, which taking down also takes.
 */
#include <linux/delay.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "rpc.h"
#include "verbs.h"

static enum rdf_act rdf_link_dying(struct rdf_link *link, int err)
{
	lockdep_assert_held(&link->lock);
	link->state = RDF_DYING;
	link->err = err;
	link->flushed = false;
	return RDF_ACT_WORK;
}

static enum rdf_act rdf_link_rise(struct rdf_link *link)
{
	lockdep_assert_held(&link->lock);
	link->state = RDF_UP;
	link->want_up = true;
	return RDF_ACT_WORK;
}

/*
 * The state machine: every event in every state. @ch is the channel that the event is about, NULL if it is about the
 * link.
 */
static enum rdf_act rdf_link_event(struct rdf_link *link, struct rdf_chan *ch, enum rdf_event ev, int err)
{
	bool making;

	lockdep_assert_held(&link->lock);
	making = link->state == RDF_CONNECTING;

	switch (ev) {
	case RDF_EV_ADDR:
		if (!making || ch->state != RDF_CH_ADDR)
			return RDF_ACT_ODD;
		ch->state = RDF_CH_ROUTE;
		return RDF_ACT_ROUTE;

	case RDF_EV_ROUTE:
		if (!making || ch->state != RDF_CH_ROUTE)
			return RDF_ACT_ODD;
		ch->state = RDF_CH_WAIT;
		return RDF_ACT_CONNECT;

	case RDF_EV_OPEN:
		/* After data came first, or while we take it down already: late, not wrong. */
		if (link->state == RDF_UP || link->state == RDF_DYING)
			return RDF_ACT_NONE;
		if (!making || ch->state != RDF_CH_WAIT)
			return RDF_ACT_ODD;
		if (err)
			return rdf_link_dying(link, err);
		ch->state = RDF_CH_OPEN;
		if (link->chan[RDF_CHAN_MSG].state == RDF_CH_OPEN && link->chan[RDF_CHAN_OPS].state == RDF_CH_OPEN)
			return rdf_link_rise(link);
		/* The peer knows a link by its MSG channel, so the other one follows only now. */
		if (link->active && ch->which == RDF_CHAN_MSG) {
			link->want_start = true;
			link->start = RDF_CHAN_OPS;
			return RDF_ACT_WORK;
		}
		return RDF_ACT_NONE;

	case RDF_EV_DATA:
		/*
		 * The active side sends only when both its channels are established, so both of ours are connected too,
		 * even if the CM's last message for them is late or lost.
		 */
		if (!making)
			return RDF_ACT_NONE;
		if (link->active || link->chan[RDF_CHAN_OPS].state < RDF_CH_WAIT)
			return RDF_ACT_ODD;
		link->chan[RDF_CHAN_MSG].state = RDF_CH_OPEN;
		link->chan[RDF_CHAN_OPS].state = RDF_CH_OPEN;
		return rdf_link_rise(link);

	case RDF_EV_REFUSED:
		/*
		 * An established channel does not end by an error of making it; if it is broken, its operations will
		 * tell.
		 */
		if (!making || ch->state == RDF_CH_OPEN || ch->state == RDF_CH_IDLE)
			return RDF_ACT_ODD;
		return rdf_link_dying(link, err);

	case RDF_EV_GONE:
	case RDF_EV_KILL:
		if (making || link->state == RDF_UP)
			return rdf_link_dying(link, err);
		return RDF_ACT_NONE;

	case RDF_EV_FLUSHED:
		/*
		 * The queue pair is in error, which does not say why. The CM breaks a pair that is refused before it
		 * tells of the refusal; its event ends the link then, or the bound of the handshake does.
		 */
		if ((making && link->loop) || link->state == RDF_UP) {
			rdf_link_dying(link, err);
			link->flushed = true;
			return RDF_ACT_WORK;
		}
		return RDF_ACT_NONE;

	case RDF_EV_FAILED:
		if (making || link->state == RDF_UP)
			return rdf_link_dying(link, err);
		/* The flush of another request overtook it. */
		if (link->state == RDF_DYING && link->flushed) {
			link->err = err;
			link->flushed = false;
		}
		return RDF_ACT_NONE;

	case RDF_EV_MADE:
		WARN_ON(!link->loop || link->state == RDF_UP);
		link->state = RDF_UP;
		link->err = 0;
		link->refused = false;
		return RDF_ACT_NONE;

	case RDF_EV_DEAD:
		WARN_ON(link->state != RDF_DYING);
		link->state = RDF_DEAD;
		return RDF_ACT_NONE;

	case RDF_EV_NOISE:
		return RDF_ACT_NONE;

	case RDF_EV_UNKNOWN:
		break;
	}
	return RDF_ACT_ODD;
}

/* The work holds a reference from here until it has run. Context: any. */
void rdf_link_queue(struct rdf_link *link)
{
	rdf_link_get(link);
	if (!queue_work(rdf_wq, &link->work))
		rdf_link_put(link);
}

enum rdf_act rdf_link_post_event(struct rdf_link *link, struct rdf_chan *ch, enum rdf_event ev, int err)
{
	enum rdf_act act;

	spin_lock_bh(&link->lock);
	act = rdf_link_event(link, ch, ev, err);
	spin_unlock_bh(&link->lock);
	if (act == RDF_ACT_WORK)
		rdf_link_queue(link);
	return act;
}

static int rdf_status_errno(enum ib_wc_status status)
{
	switch (status) {
	case IB_WC_RETRY_EXC_ERR:
	case IB_WC_RNR_RETRY_EXC_ERR:
		return -ETIMEDOUT;
	case IB_WC_REM_ACCESS_ERR:
	case IB_WC_REM_INV_REQ_ERR:
		return -EACCES;
	case IB_WC_WR_FLUSH_ERR:
		/* Flushed though we did not ask for it: the queue pair broke by itself. */
		return -ECONNRESET;
	default:
		return -EIO;
	}
}

/* A request of this link failed; @status of any of its completions. */
void rdf_link_wc_error_locked(struct rdf_link *link, enum ib_wc_status status)
{
	enum rdf_event ev = status == IB_WC_WR_FLUSH_ERR ? RDF_EV_FLUSHED : RDF_EV_FAILED;

	if (rdf_link_event(link, NULL, ev, rdf_status_errno(status)) == RDF_ACT_WORK)
		rdf_link_queue(link);
}

void rdf_link_fail_locked(struct rdf_link *link, int err)
{
	if (rdf_link_event(link, NULL, RDF_EV_KILL, err) == RDF_ACT_WORK)
		rdf_link_queue(link);
}

/* A valid message was received. */
void rdf_link_data_locked(struct rdf_link *link)
{
	enum rdf_act act = rdf_link_event(link, NULL, RDF_EV_DATA, 0);

	if (act == RDF_ACT_WORK)
		rdf_link_queue(link);
	else if (act == RDF_ACT_ODD)
		rdf_count(link->dom, RDF_STAT_bad_event);
}

/* Have the work hand over the messages that were held back. Context: any. */
void rdf_link_want_open(struct rdf_link *link)
{
	spin_lock_bh(&link->lock);
	link->want_open = link->was_up;
	spin_unlock_bh(&link->lock);
	rdf_link_queue(link);
}

/* The loopback pair is (again) connected. */
void rdf_link_made(struct rdf_link *link)
{
	rdf_link_post_event(link, NULL, RDF_EV_MADE, 0);
}

void rdf_link_kill(struct rdf_link *link, int err)
{
	rdf_link_post_event(link, NULL, RDF_EV_KILL, err);
}

/* ---- the end ---- */

static void rdf_link_bury(struct rdf_link *link)
{
	struct rdf_dom *dom = link->dom;
	int err;

	rdf_wr_fail_waiting(link);
	rdf_wr_map_free(link);
	spin_lock_bh(&link->lock);
	rdf_link_event(link, NULL, RDF_EV_DEAD, 0);
	err = link->err;
	spin_unlock_bh(&link->lock);

	if (!link->loop) {
		rdf_count(dom, RDF_STAT_link_down);
		link->ops->down(link, err);
		if (link->active)
			put_net(dom->net);
		spin_lock_bh(&dom->lock);
		list_del_init(&link->node);
		if (!--dom->nr_links)
			wake_up(&dom->idle);
		spin_unlock_bh(&dom->lock);
	}
	complete_all(&link->dead);
	rdf_link_put(link);		/* the life's own */
}

static bool rdf_loop_wanted(struct rdf_link *link)
{
	return !rdf_dom_gone(link->dom) && !READ_ONCE(link->dom->closing);
}

/*
 * An error on the loopback pair must not cost the home its own memory: make a new pair. Not as fast as it can, because
 * while the network device is down each new one breaks at its first operation; and as long as it takes, because it
 * takes memory, and the address, which may be away for a while. A home that cannot wait gives up by itself (chunk.c).
 */
static bool rdf_loop_remake(struct rdf_link *link)
{
	unsigned int pause_ms = RDF_LOOP_PAUSE_MS;
	int tries, err;

	for (tries = 1; rdf_loop_wanted(link); tries++) {
		msleep(pause_ms);
		if (!rdf_loop_wanted(link))
			break;
		err = rdf_link_loop_make(link);
		if (!err)
			return true;
		if (tries == RDF_LOOP_TRIES) {
			pr_warn("%s: the loopback pair cannot be made again (%d); trying on\n",
				rdf_dom_dev_name(link->dom), err);
			pause_ms = RDF_LOOP_LATER_MS;
			/* Nobody waits for it any more; the end of a home has many registrations to take back. */
			WRITE_ONCE(link->loop_away, true);
		}
	}
	return false;
}

static void rdf_link_teardown(struct rdf_link *link)
{
	cancel_delayed_work_sync(&link->timer);
	if (cancel_delayed_work_sync(&link->watch))
		rdf_link_put(link);
	if (link->loop)
		rdf_link_loop_destroy(link);
	rdf_chan_teardown(&link->chan[RDF_CHAN_MSG]);
	rdf_chan_teardown(&link->chan[RDF_CHAN_OPS]);
	rdf_rpc_flush(link);
	/* Destroyed queue pairs report nothing more; what they did is no news about a pair that is made anew. */
	clear_bit(RDF_QP_BROKEN, &link->qp_events);
	clear_bit(RDF_QP_REFUSED, &link->qp_events);
	cancel_delayed_work_sync(&link->held_work);

	if (link->loop && rdf_loop_wanted(link)) {
		rdf_wr_fail_waiting(link);
		if (rdf_loop_remake(link)) {
			/* Who said so after the last check found the link dying and did nothing; it is our turn. */
			if (!rdf_loop_wanted(link))
				rdf_link_kill(link, -ESHUTDOWN);
			return;
		}
	}
	rdf_link_bury(link);
}

static void rdf_link_work(struct work_struct *work)
{
	struct rdf_link *link = container_of(work, struct rdf_link, work);
	bool start, up, open, refused;
	enum rdf_chan_id which;

	if (test_and_clear_bit(RDF_QP_BROKEN, &link->qp_events))
		rdf_link_kill(link, -EIO);

	spin_lock_bh(&link->lock);
	if (!link->published) {
		/* Killed while its owner still thinks about it; rdf_link_publish() comes back to this. */
		spin_unlock_bh(&link->lock);
		goto out;
	}
	if (link->state == RDF_DYING) {
		spin_unlock_bh(&link->lock);
		rdf_link_teardown(link);
		goto out;
	}
	if (link->state == RDF_DEAD) {
		spin_unlock_bh(&link->lock);
		goto out;
	}
	if (test_and_clear_bit(RDF_QP_REFUSED, &link->qp_events))
		link->refused = true;
	refused = link->refused && link->state == RDF_UP;
	start = link->want_start;
	which = link->start;
	up = link->want_up;
	open = link->want_open;
	link->want_start = false;
	link->want_up = false;
	link->want_open = false;
	spin_unlock_bh(&link->lock);

	if (start)
		rdf_chan_start(&link->chan[which]);
	if (up) {
		cancel_delayed_work(&link->timer);
		rdf_watch_start(link);
		if (link->active) {
			rdf_msg_announce(link);
		} else {
			/* Where data came before the CM's last message: let the CM know; harmless otherwise. */
			rdma_notify(link->chan[RDF_CHAN_MSG].id, IB_EVENT_COMM_EST);
			rdma_notify(link->chan[RDF_CHAN_OPS].id, IB_EVENT_COMM_EST);
		}
		link->ops->up(link);
		spin_lock_bh(&link->lock);
		link->was_up = true;
		spin_unlock_bh(&link->lock);
	}
	if (up || open)
		rdf_msg_open(link);
	/*
	 * Some devices report this before their refusal has reached the peer. If we ended the link at once, the peer's
	 * request would be flushed, and it could not know that it was not carried out. So the peer ends the link, which
	 * it does when it is told; we do, when it does not.
	 */
	if (refused)
		queue_delayed_work(rdf_wq, &link->timer, msecs_to_jiffies(RDF_REFUSED_MS));
out:
	rdf_link_put(link);
}

static void rdf_link_timeout(struct work_struct *work)
{
	struct rdf_link *link = container_of(to_delayed_work(work), struct rdf_link, timer);

	spin_lock_bh(&link->lock);
	if (link->state == RDF_CONNECTING)
		rdf_link_fail_locked(link, -ETIMEDOUT);
	else if (link->state == RDF_UP && link->refused)
		rdf_link_fail_locked(link, -ECONNRESET);
	spin_unlock_bh(&link->lock);
}

/* ---- the object ---- */

struct rdf_link *rdf_link_alloc(struct rdf_dom *dom, bool loop)
{
	struct rdf_link *link = kzalloc(sizeof(*link), GFP_KERNEL);
	int i;

	if (!link)
		return NULL;
	kref_init(&link->ref);
	link->dom = dom;
	link->loop = loop;
	link->backend = dom->backend;
	spin_lock_init(&link->lock);
	INIT_LIST_HEAD(&link->node);
	INIT_WORK(&link->work, rdf_link_work);
	INIT_DELAYED_WORK(&link->timer, rdf_link_timeout);
	INIT_DELAYED_WORK(&link->held_work, rdf_held_work);
	INIT_DELAYED_WORK(&link->watch, rdf_watch_work);
	init_completion(&link->dead);
	INIT_LIST_HEAD(&link->deferred);
	INIT_LIST_HEAD(&link->held);
	INIT_LIST_HEAD(&link->tx_wait);
	INIT_LIST_HEAD(&link->early);
	for (i = 0; i < RDF_NR_CHANS; i++) {
		link->chan[i].link = link;
		link->chan[i].which = i;
	}
	if (rdf_wr_alloc(link)) {
		rdf_link_discard(link);
		return NULL;
	}
	return link;
}

/* For a link that no event can reach any more: it has no id, or its id has not been adopted. */
void rdf_link_discard(struct rdf_link *link)
{
	int i;

	for (i = 0; i < RDF_NR_CHANS; i++)
		if (link->chan[i].cq)
			ib_free_cq(link->chan[i].cq);
	rdf_wr_map_free(link);
	rdf_link_put(link);
}

/*
 * From here on the link lives its own life: its end is ->down(). Takes over the reference that rdf_link_alloc() made.
 */
void rdf_link_publish(struct rdf_link *link, u32 timeout_ms)
{
	struct rdf_dom *dom = link->dom;

	spin_lock_bh(&dom->lock);
	list_add_tail(&link->node, &dom->links);
	dom->nr_links++;
	spin_unlock_bh(&dom->lock);
	queue_delayed_work(rdf_wq, &link->timer, msecs_to_jiffies(timeout_ms));
	spin_lock_bh(&link->lock);
	link->published = true;
	spin_unlock_bh(&link->lock);
	rdf_link_queue(link);
}

struct rdf_link *rdf_link_connect(struct rdf_dom *dom, const struct sockaddr_storage *dst,
				  const struct rdf_hello *hello, u32 timeout_ms,
				  const struct rdf_link_ops *ops, void *ctx)
{
	struct rdf_link *link;

	if (rdf_dom_gone(dom))
		return ERR_PTR(-ENODEV);
	link = rdf_link_alloc(dom, false);
	if (!link)
		return ERR_PTR(-ENOMEM);
	link->active = true;
	link->ops = ops;
	link->ctx = ctx;
	link->dst = *dst;
	link->hello = *hello;
	link->hello.magic = cpu_to_le32(RDF_HELLO_MAGIC);
	link->hello.version = cpu_to_le16(RDF_HELLO_VERSION);
	link->hello.nonce = cpu_to_le64(get_random_u64());
	link->hello.reserved = 0;
	link->hello.reserved2 = 0;
	link->want_start = true;
	link->start = RDF_CHAN_MSG;
	rdf_count(dom, RDF_STAT_connect);
	get_net(dom->net);		/* for ids that are made later; until rdf_link_bury() */

	rdf_link_get(link);		/* the caller's */
	rdf_link_get(link);		/* ours: ->down() may come, and give the caller's back, before we return */
	rdf_link_publish(link, timeout_ms);
	/*
	 * The device may have gone between the check and the list; whoever killed the list's links did not see this
	 * one.
	 */
	if (rdf_dom_gone(dom))
		rdf_link_kill(link, -ENODEV);
	rdf_link_put(link);
	return link;
}

void rdf_link_set_owner(struct rdf_link *link, const struct rdf_link_ops *ops, void *ctx)
{
	link->ops = ops;
	link->ctx = ctx;
}

void *rdf_link_ctx(struct rdf_link *link)
{
	return link->ctx;
}

struct rdf_link *rdf_link_get(struct rdf_link *link)
{
	kref_get(&link->ref);
	return link;
}

static void rdf_link_free(struct kref *ref)
{
	struct rdf_link *link = container_of(ref, struct rdf_link, ref);

	rdf_wr_free(link);
	kfree(link);
}

void rdf_link_put(struct rdf_link *link)
{
	kref_put(&link->ref, rdf_link_free);
}

bool rdf_link_is_up(struct rdf_link *link)
{
	return READ_ONCE(link->state) == RDF_UP;
}

enum rdl_backend rdf_link_backend(struct rdf_link *link)
{
	return link->backend;
}

/*
 * The queue pairs are put into error before anything is waited for, so the bound holds as long as the device completes
 * what it was given. A device that does not is reported, and then waited for still: to go on would free memory that it
 * may write to.
 */
void rdf_link_wait_dead(struct rdf_link *link)
{
	while (!wait_for_completion_timeout(&link->dead, msecs_to_jiffies(RDF_TEARDOWN_MS)))
		pr_err("a link is not down after %u ms\n", RDF_TEARDOWN_MS);
}
