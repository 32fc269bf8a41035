// SPDX-License-Identifier: GPL-2.0
/*
 * Messages between the nodes of a space. Members have links with the home only, so a message from one member to another
 * goes through the home, which hands it on in softirq, without a look at the lock; to and from the home itself it is
 * one message.
 *
 * Nothing here is acknowledged or repeated. A message that goes down with a link, or for which there is no memory, or
 * that goes to a node which is far behind, is lost; the waiter that misses it asks the home after a second, and again
 * (QUERY, query.c).
 *
 * What a node says of itself is checked where it comes in: the sender in the message must be the node of the link.
 */
#include <linux/errno.h>

#include "agent.h"
#include "home.h"
#include "peer.h"
#include "session.h"
#include "space.h"
#include "stats.h"

/* The home's link with @node, with a reference; NULL: it has none. @inc: the node's incarnation. */
static struct rdf_link *link_of(struct rdlock_home *home, u16 node, u32 *inc)
{
	struct rdf_link *link = NULL;
	struct rdlock_member *m;

	if (WARN_ON_ONCE(node >= RDL_MAX_NODES))
		return NULL;
	spin_lock_bh(&home->lock);
	m = home->member[node];
	if (m && m->peer && !m->closed) {
		link = rdf_link_get(m->peer->link);
		*inc = m->inc;
	}
	spin_unlock_bh(&home->lock);
	return link;
}

static int home_send(struct rdlock_home *home, struct rdl_msg *msg, u32 len, u16 to)
{
	struct rdlock_space *space = home->space;
	struct rdf_link *link;
	int err;
	u32 inc;

	link = link_of(home, to, &inc);
	if (!link)
		return -ENOTCONN;
	msg->src = cpu_to_le16(space->node);
	msg->src_inc = cpu_to_le32(space->session.inc);
	msg->dst_inc = cpu_to_le32(inc);
	err = rdf_send_lossy(link, msg, len);
	rdf_link_put(link);
	return err;
}

void rdlock_peer_send(struct rdlock_space *space, struct rdl_msg *msg, u32 len, u16 to)
{
	/* Pairs with smp_store_release() in rdlock_home_start(). */
	struct rdlock_home *home = READ_ONCE(space->home);
	int err;

	err = home ? home_send(home, msg, len, to) : rdlock_session_send(space, msg, len);
	if (err)
		rdlock_stat_inc(space, unsent);
}

void rdlock_peer_relay(struct rdlock_peer *peer, const struct rdl_msg *msg, u32 len)
{
	struct rdlock_home *home = peer->home;
	struct rdlock_space *space = home->space;
	const struct rdl_msg_peer *p = rdl_msg_cpayload(msg);
	u16 to = le16_to_cpu(p->to);
	struct {
		struct rdl_msg h;
		struct rdl_msg_grant g;
	} m;
	bool ok;

	spin_lock_bh(&home->lock);
	ok = peer->member && peer->member->peer == peer && !peer->member->closed;
	spin_unlock_bh(&home->lock);
	if (!ok || le16_to_cpu(p->from) != peer->node || le16_to_cpu(msg->src) != peer->node ||
	    le32_to_cpu(msg->src_inc) != peer->inc || le32_to_cpu(msg->dst_inc) != space->session.inc ||
	    to >= space->max_nodes || len > sizeof(m)) {
		rdlock_stat_inc(space, bad_msg);
		return;
	}
	if (to == space->node) {
		rdlock_peer_recv(space, msg);
		return;
	}
	memcpy(&m, msg, len);
	rdlock_stat_inc(space, relay);
	if (home_send(home, &m.h, len, to))
		rdlock_stat_inc(space, unsent);
}

void rdlock_peer_recv(struct rdlock_space *space, const struct rdl_msg *msg)
{
	const struct rdl_msg_peer *p = rdl_msg_cpayload(msg);
	struct rdlock_agent *a;

	if (le16_to_cpu(p->to) != space->node) {
		rdlock_stat_inc(space, bad_msg);
		return;
	}
	/* Whoever is not there any more has nothing to wait for, and nothing to give. */
	a = rdlock_agent_by_slot(space, le32_to_cpu(msg->table), le32_to_cpu(msg->lock));
	if (!a)
		return;
	rdlock_agent_peer(a, msg);
	rdlock_agent_put(a);
}
