// SPDX-License-Identifier: GPL-2.0
/*
 * The nodes of a space as its home sees them: links, hellos, heartbeats, eviction.
 *
 * What a link's end means: at once, its QPs are destroyed (by the fabric, before peer_down()) and its keys to the
 * memory are taken away (dead_work), so that nothing of it can land any more. What the node held stays held until
 * RDLOCK_EVICT_MS after its last heartbeat; if it comes back before, with the same incarnation, it goes on. After that
 * it is evicted: what it held is recovered. A node that says BYE is forgotten as soon as its link is gone.
 */
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/ktime.h>
#include <linux/timekeeping.h>

#include "fabric/fault.h"
#include "home.h"
#include "main.h"
#include "peer.h"
#include "session.h"
#include "space.h"
#include "stats.h"
#include "trace.h"

#define EVICT_NS	((u64)RDLOCK_EVICT_MS * NSEC_PER_MSEC)
#define RIGHTS_BATCH	64
#define STRANGERS_OF_NODE 16	/* 0.5 s apart at first, gone after 4 s without a HELLO */
#define STRANGERS_MORE	64	/* than there may be nodes: links that are being given up, of those that come again */
#define LIVE_NS		(3ull * RDLOCK_HB_MS * NSEC_PER_MSEC)

static void evict_arm(struct rdlock_member *m)
{
	u64 now = ktime_get_boottime_ns(), end;

	spin_lock_bh(&m->home->lock);
	end = m->last_hb + EVICT_NS;
	spin_unlock_bh(&m->home->lock);
	/* + 1: a timer that fires a jiffy early would only have to be armed again */
	mod_delayed_work(m->home->wq, &m->evict_work, end > now ? nsecs_to_jiffies(end - now) + 1 : 0);
}

/* When it is through nothing of it is left here, and a new incarnation may come. */
static void member_remove(struct rdlock_member *m)
{
	struct rdlock_home *home = m->home;

	lockdep_assert_held(&home->mutex);
	/* It waits for an answer to its HELLO, which it would never get. */
	if (m->next)
		rdf_link_kill(m->next->link, -ETIMEDOUT);
	/* While this goes on, who says HELLO is told to try again: a new life begins when the old one is over. */
	if (rdlock_home_forget(home, m->node, &m->forgotten)) {
		mod_delayed_work(home->wq, &m->evict_work, 0);
		return;
	}
	spin_lock_bh(&home->lock);
	home->member[m->node] = NULL;
	spin_unlock_bh(&home->lock);
	WRITE_ONCE(home->nr_members, home->nr_members - 1);
	cancel_delayed_work(&m->evict_work);	/* runs on our ordered queue, so not now */
	kfree(m);
}

static void evict_work(struct work_struct *work)
{
	struct rdlock_member *m = container_of(to_delayed_work(work), struct rdlock_member, evict_work);
	struct rdlock_home *home = m->home;
	struct rdlock_peer *peer;
	bool over, closed;

	mutex_lock(&home->mutex);
	if (home->stopping)
		goto out_unlock;
	spin_lock_bh(&home->lock);
	over = m->leaving || ktime_get_boottime_ns() >= m->last_hb + EVICT_NS;
	/* From here on no heartbeat is acknowledged: what the node believes of its lease ends, too. */
	m->closed |= over;
	closed = m->closed;
	peer = m->peer;
	spin_unlock_bh(&home->lock);
	if (closed && peer) {
		/* Its end (dead_work) goes on with the eviction, when nothing of it can land any more. */
		rdf_link_kill(peer->link, -ETIMEDOUT);
		goto out_unlock;
	}
	/* Also of one that is cut off though it lives: until its lease is over it believes that it has its locks. */
	if (!over) {
		evict_arm(m);
		goto out_unlock;
	}
	if (!m->leaving && !m->evicted) {
		m->evicted = true;
		rdlock_stat_inc(home->space, evict);
		trace_rdlock_evict(home->space, m->node, m->inc);
	}
	member_remove(m);
out_unlock:
	mutex_unlock(&home->mutex);
}

/* ---- hello ---- */

static void welcome(struct rdlock_peer *peer, int err, struct rdlock_member *m, bool resumed)
{
	struct rdlock_home *home = peer->home;
	struct rdlock_space *space = home->space;
	struct {
		struct rdl_msg h;
		struct rdl_msg_welcome p;
	} w = { .h.type = RDL_MSG_WELCOME };

	w.h.src = cpu_to_le16(space->node);
	w.h.src_inc = cpu_to_le32(space->session.inc);
	w.h.dst_inc = cpu_to_le32(peer->inc);
	w.h.arg = cpu_to_le32(-err);
	w.p.instance = cpu_to_le64(space->instance);
	w.p.shards = cpu_to_le16(1);
	w.p.max_nodes = cpu_to_le16(space->max_nodes);
	w.p.lease_ms = cpu_to_le32(RDLOCK_LEASE_MS);
	w.p.margin_ms = cpu_to_le32(RDLOCK_MARGIN_MS);
	w.p.kind = space->kind;
	w.p.backend = space->backend;
	w.p.gen = cpu_to_le16(1);
	w.p.resumed = resumed;
	if (m)
		w.p.session = cpu_to_le64(m->session);
	if (err)
		rdlock_stat_inc(space, refused);
	if (rdf_fault(RDF_FAULT_welcome_lost)) {
		rdf_link_kill(peer->link, -ENOTCONN);
		return;
	}
	if (rdf_send_lossy(peer->link, &w.h, sizeof(w)))
		rdf_link_kill(peer->link, -ENOTCONN);
}

/*
 * @resume: the session that the node wants to go on with. The WELCOME that named the last one may have been lost with
 * its link: then it is the one before, which it had when it began to say HELLO again.
 */
static void member_adopt(struct rdlock_member *m, struct rdlock_peer *peer, u64 resume)
{
	bool resumed = resume && (resume == m->session || resume == m->known);
	struct rdlock_home *home = m->home;

	lockdep_assert_held(&home->mutex);
	if (resumed)
		m->known = resume;

	spin_lock_bh(&home->lock);
	peer->member = m;
	m->peer = peer;
	m->last_hb = ktime_get_boottime_ns();
	m->session = ++home->sessions;
	spin_unlock_bh(&home->lock);
	welcome(peer, 0, m, resumed);
	evict_arm(m);
}

void rdlock_member_hello(struct rdlock_peer *peer, const struct rdl_msg *msg)
{
	const struct rdl_msg_hello *h = rdl_msg_cpayload(msg);
	struct rdlock_home *home = peer->home;
	struct rdlock_space *space = home->space;
	struct rdlock_member *m = home->member[peer->node];
	u64 resume = le64_to_cpu(h->resume);
	bool live;

	lockdep_assert_held(&home->mutex);
	if (peer->said_hello)
		return;		/* one answer a link */
	peer->said_hello = true;
	/* Sessions are counted anew in each instance of the space. */
	if (le64_to_cpu(h->instance) != space->instance)
		resume = 0;
	if (h->name_len != space->name_len || memcmp(h->name, space->name, space->name_len)) {
		welcome(peer, -ENOENT, NULL, false);	/* another space whose name has the same hash */
		return;
	}
	/*
	 * Members are told that the home goes, and what they held is free without a wait for their lease; so nobody may
	 * come in now who was not told.
	 */
	if (home->closing) {
		welcome(peer, -EAGAIN, NULL, false);
		return;
	}
	if (!m) {
		m = kzalloc(sizeof(*m), GFP_KERNEL);
		if (!m) {
			welcome(peer, -ENOMEM, NULL, false);
			return;
		}
		m->node = peer->node;
		m->inc = peer->inc;
		m->home = home;
		INIT_DELAYED_WORK(&m->evict_work, evict_work);
		spin_lock_bh(&home->lock);
		home->member[m->node] = m;
		spin_unlock_bh(&home->lock);
		WRITE_ONCE(home->nr_members, home->nr_members + 1);
		member_adopt(m, peer, 0);
		return;
	}
	spin_lock_bh(&home->lock);
	/* A link whose node is silent may be that of a node that has started anew and lost its good-bye. */
	live = m->peer && rdf_link_is_up(m->peer->link) && !m->closed && !m->leaving &&
	       ktime_get_boottime_ns() < m->last_hb + LIVE_NS;
	spin_unlock_bh(&home->lock);
	if (m->inc != peer->inc) {
		/* Taken by a live node; or by an earlier life of this one, whose time is not over yet. */
		welcome(peer, live ? -EBUSY : -EAGAIN, NULL, false);
		return;
	}
	if (m->closed || m->leaving) {
		welcome(peer, -EAGAIN, NULL, false);
		return;
	}
	if (m->peer) {
		/* Back before we noticed that it was gone: the old link must be dead before the new one is used. */
		if (m->next) {
			welcome(peer, -EAGAIN, NULL, false);
			return;
		}
		m->next = peer;
		m->next_resume = resume;
		rdf_link_kill(m->peer->link, -ECONNRESET);
		return;
	}
	member_adopt(m, peer, resume);
}

void rdlock_member_bye(struct rdlock_peer *peer)
{
	struct rdlock_home *home = peer->home;
	struct rdl_msg m = { .type = RDL_MSG_BYE_ACK };

	lockdep_assert_held(&home->mutex);
	peer->member->leaving = true;
	rdlock_home_send(home, peer->node, &m, sizeof(m));
	/* It closes the link when it has the answer; if it does not, the timer does. */
	mod_delayed_work(home->wq, &peer->member->evict_work, msecs_to_jiffies(RDLOCK_CALL_MS));
}

void rdlock_member_evict(struct rdlock_home *home, u16 node)
{
	struct rdlock_member *m = home->member[node];

	lockdep_assert_held(&home->mutex);
	if (!m || m->closed)
		return;
	spin_lock_bh(&home->lock);
	m->closed = true;
	spin_unlock_bh(&home->lock);
	mod_delayed_work(home->wq, &m->evict_work, 0);
}

/* ---- links ---- */

/* The buffer is given back first, so that the answer brings its credit: the node may have no other. */
static void peer_heartbeat(struct rdlock_peer *peer, struct rdf_rx *rx)
{
	struct rdl_msg ack = { .type = RDL_MSG_HB_ACK, .arg = rx->msg->arg };
	struct rdf_link *link = rdf_link_get(peer->link);
	u32 inc = le32_to_cpu(rx->msg->src_inc);
	struct rdlock_home *home = peer->home;
	bool ok;

	rdf_rx_done(rx);
	spin_lock_bh(&home->lock);
	ok = peer->member && peer->member->peer == peer && !peer->member->closed && inc == peer->inc;
	if (ok)
		peer->member->last_hb = ktime_get_boottime_ns();
	spin_unlock_bh(&home->lock);
	if (ok) {
		ack.src = cpu_to_le16(home->space->node);
		ack.src_inc = cpu_to_le32(home->space->session.inc);
		ack.dst_inc = cpu_to_le32(inc);
		rdf_send_urgent(link, &ack, sizeof(ack));	/* a lost one is a heartbeat missed */
	}
	rdf_link_put(link);
}

static bool peer_recv(struct rdf_link *link, struct rdf_rx *rx)
{
	struct rdlock_peer *peer = rdf_link_ctx(link);
	struct rdlock_home *home = peer->home;

	if (rx->msg->type == RDL_MSG_HB) {
		peer_heartbeat(peer, rx);
		return false;
	}
	if (rdlock_peer_is(rx->msg->type)) {
		rdlock_peer_relay(peer, rx->msg, rx->len);
		return true;
	}
	spin_lock_bh(&home->lock);
	list_add_tail(&rx->node, &home->rx);
	queue_work(home->wq, &home->rx_work);
	spin_unlock_bh(&home->lock);
	return false;
}

/* The node speaks first. While it has not, nothing is sent to it and nobody expects it: its death would not be seen. */
static void peer_up(struct rdf_link *link)
{
	struct rdlock_peer *peer = rdf_link_ctx(link);

	queue_delayed_work(peer->home->wq, &peer->hello_work, msecs_to_jiffies(RDLOCK_LEASE_MS));
}

static void hello_work(struct work_struct *work)
{
	struct rdlock_peer *peer = container_of(to_delayed_work(work), struct rdlock_peer, hello_work);
	bool stranger;

	spin_lock_bh(&peer->home->lock);
	stranger = !peer->member;
	spin_unlock_bh(&peer->home->lock);
	if (stranger)
		rdf_link_kill(peer->link, -ETIMEDOUT);
}

static void peer_down(struct rdf_link *link, int err)
{
	struct rdlock_peer *peer = rdf_link_ctx(link);

	queue_work(peer->home->wq, &peer->dead_work);
}

static const struct rdf_link_ops peer_ops = {
	.up = peer_up,
	.recv = peer_recv,
	.down = peer_down,
};

/* At most @budget. Return: what is left of that; 0: there may be more. */
static unsigned int rights_end(struct xarray *mrs, unsigned int budget)
{
	struct rdf_mr *mr;
	unsigned long no;

	xa_for_each(mrs, no, mr) {
		if (!budget)
			return 0;
		xa_erase(mrs, no);
		rdf_mr_dereg(mr);
		budget--;
	}
	if (budget)
		xa_destroy(mrs);
	return budget;
}

static void dead_work(struct work_struct *work)
{
	struct rdlock_peer *peer = container_of(work, struct rdlock_peer, dead_work);
	struct rdlock_home *home = peer->home;
	struct rdlock_member *m;

	cancel_delayed_work(&peer->hello_work);	/* of our ordered queue, so it does not run now */
	mutex_lock(&home->mutex);
	rdlock_home_rx_end(home, peer->link);
	/* A round trip to the device each, of which there may be thousands: the others get their turn in between. */
	if (!rights_end(&peer->body_mrs, rights_end(&peer->mrs, RIGHTS_BATCH))) {
		mutex_unlock(&home->mutex);
		queue_work(home->wq, &peer->dead_work);
		return;
	}
	spin_lock_bh(&home->lock);
	list_del(&peer->list);
	m = peer->member;
	if (m && m->peer == peer)
		m->peer = NULL;
	spin_unlock_bh(&home->lock);
	m = home->member[peer->node];
	if (m && m->next == peer)
		m->next = NULL;
	if (m && !m->peer && peer->member == m && !home->stopping) {
		if (m->leaving || m->closed) {
			mod_delayed_work(home->wq, &m->evict_work, 0);
		} else if (m->next) {
			struct rdlock_peer *next = m->next;

			m->next = NULL;
			member_adopt(m, next, m->next_resume);
		} else {
			evict_arm(m);
		}
	}
	mutex_unlock(&home->mutex);
	rdf_link_put(peer->link);
	kfree(peer);
	wake_up_all(&home->peers_wq);
}

/*
 * Links of nobody yet, of incarnation @inc, or 0: of all. A node has one at a time and perhaps some that it has given
 * up, but anybody who reaches the port can make more.
 */
static unsigned int strangers(struct rdlock_home *home, u32 inc)
{
	struct rdlock_peer *peer;
	unsigned int n = 0;

	lockdep_assert_held(&home->lock);
	list_for_each_entry(peer, &home->peers, list)
		n += !peer->member && (!inc || peer->inc == inc);
	return n;
}

int rdlock_member_request(void *ctx, const struct rdf_hello *hello, struct rdf_link *link)
{
	struct rdlock_home *home = ctx;
	struct rdlock_member *m;
	struct rdlock_peer *peer;
	u16 node = le16_to_cpu(hello->node);
	bool room;

	if (node >= home->space->max_nodes || !hello->inc)
		return -EINVAL;
	if (node == home->space->node)
		return -EBUSY;
	peer = kzalloc(sizeof(*peer), GFP_KERNEL);
	if (!peer)
		return -ENOMEM;
	peer->home = home;
	peer->node = node;
	peer->inc = le32_to_cpu(hello->inc);
	peer->link = rdf_link_get(link);
	xa_init(&peer->mrs);
	xa_init(&peer->body_mrs);
	INIT_WORK(&peer->dead_work, dead_work);
	INIT_DELAYED_WORK(&peer->hello_work, hello_work);
	spin_lock_bh(&home->lock);
	m = home->member[node];
	/* A member that comes back is known by its incarnation. Others, who do not know it, must not keep it out. */
	room = strangers(home, peer->inc) < STRANGERS_OF_NODE &&
	       ((m && m->inc == peer->inc && !m->closed) ||
		strangers(home, 0) < home->space->max_nodes + STRANGERS_MORE);
	if (room)
		list_add_tail(&peer->list, &home->peers);
	spin_unlock_bh(&home->lock);
	if (!room) {
		rdf_link_put(link);
		kfree(peer);
		return -ENOBUFS;
	}
	rdf_link_set_owner(link, &peer_ops, peer);
	return 0;
}

/* ---- the end ---- */

static bool peers_gone(struct rdlock_home *home)
{
	bool gone;

	spin_lock_bh(&home->lock);
	gone = list_empty(&home->peers);
	spin_unlock_bh(&home->lock);
	return gone;
}

static struct rdf_link *peer_first(struct rdlock_home *home)
{
	struct rdlock_peer *peer;
	struct rdf_link *link = NULL;

	spin_lock_bh(&home->lock);
	peer = list_first_entry_or_null(&home->peers, struct rdlock_peer, list);
	if (peer)
		link = rdf_link_get(peer->link);
	spin_unlock_bh(&home->lock);
	return link;
}

/*
 * No new link can come (the listener is stopped): tell the members, give them a second to go by themselves, end the
 * rest.
 */
void rdlock_members_stop(struct rdlock_home *home)
{
	struct rdlock_member *m;
	struct rdf_link *link;
	unsigned int i;

	mutex_lock(&home->mutex);
	home->closing = true;
	for (i = 0; i < RDL_MAX_NODES; i++) {
		struct rdl_msg bye = { .type = RDL_MSG_BYE };

		if (home->member[i]) {
			home->member[i]->leaving = true;
			rdlock_home_send(home, i, &bye, sizeof(bye));
		}
	}
	mutex_unlock(&home->mutex);
	if (!rdf_dom_gone(home->space->dom))
		wait_event_timeout(home->peers_wq, peers_gone(home), HZ);
	while ((link = peer_first(home))) {
		rdf_link_kill(link, -ESHUTDOWN);
		rdf_link_wait_dead(link);
		rdf_link_put(link);
		flush_workqueue(home->wq);
	}
	mutex_lock(&home->mutex);
	home->stopping = true;
	mutex_unlock(&home->mutex);
	for (i = 0; i < RDL_MAX_NODES; i++) {
		if (!home->member[i])
			continue;
		/* It takes the mutex itself. */
		cancel_delayed_work_sync(&home->member[i]->evict_work);
		mutex_lock(&home->mutex);
		spin_lock_bh(&home->lock);
		m = home->member[i];
		home->member[i] = NULL;
		spin_unlock_bh(&home->lock);
		mutex_unlock(&home->mutex);
		kfree(m);
	}
	WRITE_ONCE(home->nr_members, 0);
}

void rdlock_members_show(struct seq_file *s, struct rdlock_home *home)
{
	u64 now = ktime_get_boottime_ns();
	unsigned int i;

	mutex_lock(&home->mutex);
	for (i = 0; i < RDL_MAX_NODES; i++) {
		struct rdlock_member *m = home->member[i];

		if (!m)
			continue;
		spin_lock_bh(&home->lock);
		seq_printf(s, "node %u inc=%#x session=%llu link=%s last_heartbeat_ms=%llu%s\n", m->node, m->inc,
			   m->session, m->peer ? "up" : "down", div_u64(now - min(now, m->last_hb), NSEC_PER_MSEC),
			   m->leaving ? " leaving" : m->closed ? " evicting" : "");
		spin_unlock_bh(&home->lock);
	}
	mutex_unlock(&home->mutex);
}
