// SPDX-License-Identifier: GPL-2.0
/*
 * The home: sessions, leases, who has which lock open; what the module's home side does. Recoveries are in rebuild.c.
 */
#include "sim.h"

void reply_header(struct world *w, int node, struct rdl_msg *msg, u8 type)
{
	memset(msg, 0, MAX_MSG);
	msg->type = type;
	msg->src = cpu_to_le16(0);
	msg->src_inc = cpu_to_le32(1);
	msg->dst_inc = cpu_to_le32(w->home.sess[node].inc);
}

void home_opened(struct world *w, int node, int lock, u32 req)
{
	struct home_lock *h = &w->home.lock[lock];
	bool queue = h->kind != RDL_KIND_SPIN;
	struct rdl_msg_opened *p;
	union buffer b;

	reply_header(w, node, &b.msg, RDL_MSG_OPENED);
	b.msg.req = cpu_to_le32(req);
	b.msg.lock = cpu_to_le32(lock);
	b.msg.epoch = cpu_to_le32(h->epoch);
	p = rdl_msg_payload(&b.msg);
	p->addr = cpu_to_le64(0x1000 + 8 * lock);
	p->rkey = cpu_to_le32(1);
	p->kind = h->kind;
	p->props = h->props;
	p->vflags = h->dead;
	p->body = cpu_to_le64(queue ? 0x100000 + 0x10000 * lock : 0);
	p->body_rkey = cpu_to_le32(queue);
	p->slots = cpu_to_le16(h->kind == RDL_KIND_FAIR ? w->cfg.nodes : 0);
	p->value_size = cpu_to_le32(h->props & RDL_P_BIG ? BIG_SIZE : h->props & RDL_P_VALUE ? 8 : 0);
	send_to_node(w, w->home.sess[node].link, &b.msg);
}

/* ---- sessions ---- */

static void destroy_late(struct world *w, struct event *e)
{
	int i;

	for (i = 0; i <= e->link; i++)
		if (w->link[i].node == (int)e->arg)
			w->link[i].alive = false;
}

static void evict_from(struct world *w, int node, int lock)
{
	struct agent *a = &w->node[node].agent[lock];
	struct home_lock *h = &w->home.lock[lock];

	if (a->users && a->mode == RDL_MODE_X) {
		a->evicted = true;
		h->death_untold = true;
		h->must = true;
	}
	h->lossy = true;
	h->may = true;
	if (h->gave_up == node + 1)
		h->gave_up = 0;
	if (h->whole_by == node + 1)
		h->whole_by = 0;
	set_del(h->delayed.w, node);
	if (!set_has(h->openers.w, node))
		return;
	set_del(h->openers.w, node);
	if (h->recovering) {
		rdl_recover_gone(&h->rec, node, true);
		home_finish(w, lock);
	} else if (h->kind == RDL_KIND_SPIN ? rdl_w_mid(h->word) == node + 1u :
		   rdl_w_mid(h->word) || rdl_w_low(h->word)) {
		home_recover(w, lock, true, false, 0);
	} else if (a->evicted && !rdl_w_attention(h->word) && !(h->dead & RDL_VF_OWNER_DIED)) {
		violation(w, "lock %d: a writer was cut off, and the word says that nobody has it", lock);
	}
}

/* Documentation/protocol.rst: first the queue pairs, then the recoveries. */
static void evict(struct world *w, int node)
{
	struct session *s = &w->home.sess[node];
	int i;

	trace(w, "home: node %d is evicted", node);
	if (rdl_bust(FREEZE_BEFORE_QP)) {
		struct event *e = sched(w, 2 * w->cfg.lease, destroy_late, -1);

		e->arg = node;
		e->link = w->links - 1;
	} else {
		link_destroy_at_home(w, node, -1);
	}
	s->live = false;
	for (i = 0; i < w->cfg.locks; i++)
		evict_from(w, node, i);
}

static void lease_check(struct world *w, struct event *e)
{
	struct session *s = &w->home.sess[e->arg];

	if (s->live && w->now >= s->last_hb + w->cfg.lease + w->cfg.margin)
		evict(w, e->arg);
}

static void heard(struct world *w, int node)
{
	w->home.sess[node].last_hb = w->now;
	sched(w, w->cfg.lease + w->cfg.margin, lease_check, -1)->arg = node;
}

static void hello(struct world *w, int node, int link, const struct rdl_msg *msg)
{
	const struct rdl_msg_hello *p = rdl_msg_cpayload(msg);
	struct session *s = &w->home.sess[node];
	u64 resume = le64_to_cpu(p->resume);
	u32 inc = le32_to_cpu(msg->src_inc);
	struct rdl_msg_welcome *q;
	bool resumed = false;
	union buffer b;
	int i;

	if (s->live && resume && s->inc == inc && s->id == resume) {
		resumed = true;
	} else if (s->live && s->inc != inc) {
		/* A new incarnation says that the old one is gone. */
		evict(w, node);
	}
	link_destroy_at_home(w, node, link);
	w->link[link].alive = true;
	s->link = link;
	s->inc = inc;
	reply_header(w, node, &b.msg, RDL_MSG_WELCOME);
	if (resume && !resumed) {
		b.msg.arg = cpu_to_le32(EKEYREVOKED);
		send_to_node(w, link, &b.msg);
		return;
	}
	if (!resumed) {
		s->live = true;
		s->id = ++w->home.sessions;
		heard(w, node);
	}
	q = rdl_msg_payload(&b.msg);
	q->instance = cpu_to_le64(w->seed | 1);
	q->session = cpu_to_le64(s->id);
	q->shards = cpu_to_le16(1);
	q->max_nodes = cpu_to_le16(16);
	q->lease_ms = cpu_to_le32(5);
	q->kind = RDL_KIND_SPIN;
	q->backend = RDL_BACKEND_NIC;
	q->gen = cpu_to_le16(1);
	q->resumed = resumed;
	send_to_node(w, link, &b.msg);
	/* Locks that the node will not open again: the CLOSE may have been lost. */
	for (i = 0; resumed && i < w->cfg.locks; i++) {
		struct home_lock *h = &w->home.lock[i];

		if (h->recovering && set_has(h->rec.expect, node))
			home_freeze(w, node, i);
	}
}

static void open_lock(struct world *w, int node, const struct rdl_msg *msg)
{
	const struct rdl_msg_open *p = rdl_msg_cpayload(msg);
	int lock = p->key[0] - 'a';
	struct home_lock *h = &w->home.lock[lock];

	if (!set_has(h->openers.w, node)) {
		if (h->recovering) {
			set_add(h->delayed.w, node);
			h->delayed_req[node] = le32_to_cpu(msg->req);
			return;
		}
		set_add(h->openers.w, node);
		home_opened(w, node, lock, le32_to_cpu(msg->req));
		return;
	}
	/* The session was resumed: never delayed, the recovery waits for this node's claim. */
	home_opened(w, node, lock, le32_to_cpu(msg->req));
	if (h->recovering) {
		if (set_has(h->rec.expect, node))
			home_freeze(w, node, lock);
	} else if (p->flags & RDL_OPEN_AMBIG) {
		home_recover(w, lock, false, false, 0);
	}
}

static void close_lock(struct world *w, int node, int lock)
{
	struct home_lock *h = &w->home.lock[lock];

	set_del(h->openers.w, node);
	if (!h->recovering)
		return;
	rdl_recover_gone(&h->rec, node, false);
	home_finish(w, lock);
}

void home_message(struct world *w, struct event *e)
{
	struct link *l = &w->link[e->link];
	const struct rdl_msg *msg = &e->msg;
	int node = l->node, lock = le32_to_cpu(msg->lock);
	struct session *s = &w->home.sess[node];
	struct home_lock *h;
	union buffer b;

	if (w->now > l->cut || !l->alive || rdl_msg_check(msg, e->len))
		return;
	trace(w, "home: %s from node %d, lock %d, epoch %x", rdl_msg_name(msg->type), node, lock,
	      le32_to_cpu(msg->epoch));
	if (msg->type == RDL_MSG_HELLO) {
		hello(w, node, e->link, msg);
		return;
	}
	if (!s->live || s->link != e->link || s->inc != le32_to_cpu(msg->src_inc))
		return;
	if (lock >= w->cfg.locks)
		return;
	h = &w->home.lock[lock];
	switch (msg->type) {
	case RDL_MSG_HB:
		heard(w, node);
		reply_header(w, node, &b.msg, RDL_MSG_HB_ACK);
		b.msg.arg = msg->arg;
		send_to_node(w, e->link, &b.msg);
		break;
	case RDL_MSG_OPEN:
		open_lock(w, node, msg);
		break;
	case RDL_MSG_CLOSE:
		close_lock(w, node, lock);
		break;
	case RDL_MSG_CLAIM:
		home_claim(w, node, lock, msg);
		break;
	case RDL_MSG_ROLL_REQ:
		if (le32_to_cpu(msg->epoch) == h->epoch && !h->recovering) {
			w->cov->rolls++;
			home_recover(w, lock, false, false, 0);
		}
		break;
	case RDL_MSG_CONSISTENT:
		/* Of an epoch that is about to end: a holder that still has the notice says it again. */
		if (le32_to_cpu(msg->epoch) == h->epoch && !h->recovering &&
		    (h->kind != RDL_KIND_SPIN || (rdl_w_attention(h->word) && rdl_w_mid(h->word) == node + 1u)))
			home_recover(w, lock, false, true, le32_to_cpu(msg->arg));
		break;
	case RDL_MSG_QUERY:
		if (h->kind != RDL_KIND_SPIN && le32_to_cpu(msg->epoch) == h->epoch)
			home_query(w, node, lock);
		break;
	case RDL_MSG_STAT:
		home_stat(w, node, lock, msg);
		break;
	}
}

void home_start(struct world *w)
{
	int i;

	memset(w->home.sess, 0, sizeof(w->home.sess));
	w->home.sessions = 0;
	for (i = 0; i < w->cfg.locks; i++) {
		struct home_lock *h = &w->home.lock[i];
		u8 kind = h->kind, props = h->props;
		u32 ticket = 0;

		memset(h, 0, offsetof(struct home_lock, rec));
		h->kind = kind;
		h->props = props;
		/* Near the places where the epoch's fields carry, and the tickets' limits. */
		h->epoch = rdl_epoch(chance(w, 30) ? 62 + rnd(w, 4) : 1 + rnd(w, 3),
				     chance(w, 20) ? RDL_REP_MAX - rnd(w, 3) : 0);
		if (chance(w, 10))
			ticket = chance(w, 50) ? w->cfg.hard : w->cfg.soft;
		ticket -= ticket > 4 ? rnd(w, 4) : 0;
		h->word = rdl_w_pack(ticket, 0, 0, h->epoch, false, false);
	}
}
