// SPDX-License-Identifier: GPL-2.0
/*
 * Listening: one CM listener an address, shared by the spaces on it, and the requests that come to it.
 */
#include <linux/delay.h>
#include <linux/inet.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>

#include "verbs.h"

struct rdf_port {
	struct list_head node;		/* in rdf_ports */
	struct net *net;
	struct sockaddr_storage addr;
	struct rdma_cm_id *id;
	struct mutex mutex;
	struct list_head listeners;	/* protected by @mutex; changed with rdf_port_mutex held as well */
};

struct rdf_listener {
	struct list_head node;
	struct rdf_port *port;
	struct rdf_dom *dom;
	u64 hash;
	rdf_request_fn request;
	void *ctx;
};

static DEFINE_MUTEX(rdf_port_mutex);
static LIST_HEAD(rdf_ports);		/* protected by rdf_port_mutex */

/* ---- requests ---- */

static int rdf_hello_check(const struct rdf_hello *hello, u8 len)
{
	if (len < sizeof(*hello) || le32_to_cpu(hello->magic) != RDF_HELLO_MAGIC)
		return -EBADMSG;
	if (le16_to_cpu(hello->version) != RDF_HELLO_VERSION)
		return -EPROTONOSUPPORT;
	if (hello->chan >= RDF_NR_CHANS || hello->reserved || hello->reserved2)
		return -EBADMSG;
	return 0;
}

static struct rdf_listener *rdf_port_find(struct rdf_port *port, u64 hash)
{
	struct rdf_listener *l;

	lockdep_assert_held(&port->mutex);
	list_for_each_entry(l, &port->listeners, node)
		if (l->hash == hash)
			return l;
	return NULL;
}

/* Handshakes under way at a listener. Those of other spaces do not count: one space must not shut out another. */
static unsigned int rdf_listener_pending(struct rdf_listener *l)
{
	struct rdf_link *link;
	unsigned int n = 0;

	spin_lock_bh(&l->dom->lock);
	list_for_each_entry(link, &l->dom->links, node)
		if (link->listener == l && READ_ONCE(link->state) == RDF_CONNECTING)
			n++;
	spin_unlock_bh(&l->dom->lock);
	return n;
}

/* The half-made link whose MSG channel came with the same words. Return: it with a reference, or NULL. */
static struct rdf_link *rdf_listener_match(struct rdf_listener *l, const struct rdf_hello *hello)
{
	struct rdf_link *link, *found = NULL;

	spin_lock_bh(&l->dom->lock);
	list_for_each_entry(link, &l->dom->links, node) {
		if (link->listener != l || READ_ONCE(link->state) != RDF_CONNECTING)
			continue;
		if (link->hello.nonce == hello->nonce && link->hello.inc == hello->inc &&
		    link->hello.node == hello->node) {
			found = rdf_link_get(link);
			break;
		}
	}
	spin_unlock_bh(&l->dom->lock);
	return found;
}

/*
 * Make @ch of @link on @id and accept. On error nothing of the channel is left and the CM destroys @id.
 * After a successful rdf_chan_adopt() the link's work destroys it, so from there on errors end the link and the answer
 * is 0.
 */
static int rdf_accept_ops(struct rdf_listener *l, struct rdma_cm_id *id, const struct rdf_hello *hello,
			  const struct rdma_conn_param *peer)
{
	struct rdf_link *link = rdf_listener_match(l, hello);
	struct rdf_chan *ch;
	int err;

	if (!link)
		return -ESTALE;
	ch = &link->chan[RDF_CHAN_OPS];
	err = -EALREADY;
	if (!rdf_chan_adopt(ch, id))
		goto put;
	id->context = ch;
	id->event_handler = rdf_cm_handler;
	err = rdf_chan_qp_make(ch);
	if (!err)
		err = rdf_chan_accept(ch, peer);
	if (err)
		rdf_link_kill(link, err);
	err = 0;
put:
	rdf_link_put(link);
	return err;
}

static int rdf_accept_msg(struct rdf_listener *l, struct rdma_cm_id *id, const struct rdf_hello *hello,
			  const struct rdma_conn_param *peer)
{
	struct rdf_link *link, *twin;
	struct rdf_chan *ch;
	int err;

	twin = rdf_listener_match(l, hello);
	if (twin) {
		rdf_link_put(twin);
		return -EALREADY;
	}
	/* Not -EBUSY, which is the owner's word for a node that is there already: this one passes. */
	if (rdf_listener_pending(l) >= RDF_MAX_PENDING)
		return -ENOBUFS;
	link = rdf_link_alloc(l->dom, false);
	if (!link)
		return -ENOMEM;
	link->listener = l;
	link->hello = *hello;
	ch = &link->chan[RDF_CHAN_MSG];
	ch->id = id;
	err = rdf_chan_qp_make(ch);
	if (!err)
		err = l->request(l->ctx, hello, link);
	if (err) {
		if (ch->qp)
			rdma_destroy_qp(id);
		ch->qp = NULL;
		ch->id = NULL;
		rdf_link_discard(link);
		return err;
	}
	id->context = ch;
	id->event_handler = rdf_cm_handler;
	rdf_count(l->dom, RDF_STAT_accept);
	rdf_link_get(link);
	rdf_link_publish(link, RDF_CONNECT_MS);
	err = rdf_chan_accept(ch, peer);
	if (!err && rdf_dom_gone(l->dom))
		err = -ENODEV;
	if (err)
		rdf_link_kill(link, err);
	rdf_link_put(link);
	return 0;
}

static void rdf_refuse(struct rdma_cm_id *id, int err)
{
	struct rdf_reject rej = {
		.magic = cpu_to_le32(RDF_HELLO_MAGIC),
		.error = cpu_to_le32(-err),
	};

	rdma_reject(id, &rej, sizeof(rej), IB_CM_REJ_CONSUMER_DEFINED);
}

/* Return: 0, or an error: refused, and the CM destroys @id. */
static int rdf_port_request(struct rdf_port *port, struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	const struct rdma_conn_param *peer = &ev->param.conn;
	struct rdf_hello hello;
	struct rdf_listener *l;
	int err;

	err = rdf_hello_check(peer->private_data, peer->private_data_len);
	if (err)
		goto refuse;
	hello = *(const struct rdf_hello *)peer->private_data;
	if (rdf_fault(RDF_FAULT_accept_hold))
		msleep(rdf_fault_ms(RDF_FAULT_accept_hold));

	/* An owner that stops listening waits for us on this mutex. */
	mutex_lock(&port->mutex);
	l = rdf_port_find(port, le64_to_cpu(hello.space_hash));
	if (!l)
		err = -ENOENT;
	else if (rdf_dom_gone(l->dom) || id->device != l->dom->dev->ib)
		err = -ENODEV;
	else if (l->dom->backend == RDL_BACKEND_NIC && (!peer->responder_resources || !peer->initiator_depth))
		err = -EPROTO;		/* atomics of such a peer would wait for ever */
	else
		err = rdma_set_ack_timeout(id, RDF_ACK_TIMEOUT);
	if (!err)
		err = hello.chan == RDF_CHAN_MSG ? rdf_accept_msg(l, id, &hello, peer) :
						   rdf_accept_ops(l, id, &hello, peer);
	if (err && l)
		rdf_count(l->dom, RDF_STAT_reject);
	mutex_unlock(&port->mutex);
	if (!err)
		return 0;
refuse:
	pr_debug("request refused: %d\n", err);
	rdf_refuse(id, err);
	return err;
}

static int rdf_listen_handler(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct rdf_port *port = id->context;

	switch (ev->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return rdf_port_request(port, id, ev);
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		/* Its owners were told before the CM and stop listening; whoever is late still destroys the id. */
		return 0;
	default:
		return 0;
	}
}

/* ---- listeners ---- */

static bool rdf_addr_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_port == b4->sin_port && a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return a6->sin6_port == b6->sin6_port && ipv6_addr_equal(&a6->sin6_addr, &b6->sin6_addr) &&
	       a6->sin6_scope_id == b6->sin6_scope_id;
}

static struct rdf_port *rdf_port_make(struct net *net, const struct sockaddr_storage *addr)
{
	struct rdf_port *port = kzalloc(sizeof(*port), GFP_KERNEL);
	int err;

	lockdep_assert_held(&rdf_port_mutex);
	if (!port)
		return ERR_PTR(-ENOMEM);
	port->net = net;
	port->addr = *addr;
	mutex_init(&port->mutex);
	INIT_LIST_HEAD(&port->listeners);
	port->id = rdma_create_id(net, rdf_listen_handler, port, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(port->id)) {
		err = PTR_ERR(port->id);
		goto free;
	}
	err = rdma_bind_addr(port->id, (struct sockaddr *)&port->addr);
	if (!err)
		err = rdma_listen(port->id, RDF_MAX_PENDING);
	if (err)
		goto destroy_id;
	list_add_tail(&port->node, &rdf_ports);
	return port;

destroy_id:
	rdma_destroy_id(port->id);
free:
	kfree(port);
	return ERR_PTR(err);
}

static void rdf_port_drop_if_idle(struct rdf_port *port)
{
	lockdep_assert_held(&rdf_port_mutex);
	if (!list_empty(&port->listeners))
		return;
	list_del(&port->node);
	rdma_destroy_id(port->id);	/* waits for a running request */
	kfree(port);
}

static struct rdf_port *rdf_port_get(struct net *net, const struct sockaddr_storage *addr)
{
	struct rdf_port *port;

	lockdep_assert_held(&rdf_port_mutex);
	list_for_each_entry(port, &rdf_ports, node)
		if (net_eq(port->net, net) && rdf_addr_same(&port->addr, addr))
			return port;
	return rdf_port_make(net, addr);
}

struct rdf_listener *rdf_listen(struct rdf_dom *dom, const struct sockaddr_storage *addr, u64 space_hash,
				rdf_request_fn request, void *ctx)
{
	struct rdf_listener *l;
	struct rdf_port *port;
	int err;

	if (addr->ss_family != AF_INET && addr->ss_family != AF_INET6)
		return ERR_PTR(-EAFNOSUPPORT);
	l = kzalloc(sizeof(*l), GFP_KERNEL);
	if (!l)
		return ERR_PTR(-ENOMEM);
	l->dom = dom;
	l->hash = space_hash;
	l->request = request;
	l->ctx = ctx;

	mutex_lock(&rdf_port_mutex);
	port = rdf_port_get(dom->net, addr);
	if (IS_ERR(port)) {
		err = PTR_ERR(port);
		goto unlock;
	}
	l->port = port;
	mutex_lock(&port->mutex);
	err = rdf_port_find(port, space_hash) ? -EEXIST : 0;
	/* The address has moved to another device: nobody would reach us, and the old one could not be removed. */
	if (!err && port->id->device && port->id->device != dom->dev->ib)
		err = -EADDRINUSE;
	if (!err)
		list_add_tail(&l->node, &port->listeners);
	mutex_unlock(&port->mutex);
	if (err)
		rdf_port_drop_if_idle(port);
unlock:
	mutex_unlock(&rdf_port_mutex);
	if (err) {
		kfree(l);
		return ERR_PTR(err);
	}
	return l;
}

void rdf_listener_stop(struct rdf_listener *l)
{
	struct rdf_port *port = l->port;
	struct rdf_link *link;

	mutex_lock(&rdf_port_mutex);
	mutex_lock(&port->mutex);
	list_del(&l->node);
	mutex_unlock(&port->mutex);
	rdf_port_drop_if_idle(port);
	mutex_unlock(&rdf_port_mutex);

	spin_lock_bh(&l->dom->lock);
	list_for_each_entry(link, &l->dom->links, node)
		if (link->listener == l && READ_ONCE(link->state) == RDF_CONNECTING)
			rdf_link_kill(link, -ESHUTDOWN);
	spin_unlock_bh(&l->dom->lock);
	kfree(l);
}
