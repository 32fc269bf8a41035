// SPDX-License-Identifier: GPL-2.0
/*
 * The home: sessions, leases, the words in its memory, and recoveries; what the module's home side does.
 */
#include "sim.h"

static void reply_header(struct world *w, int node, struct rdl_msg *msg, u8 type)
{
	memset(msg, 0, MAX_MSG);
	msg->type = type;
	msg->src = cpu_to_le16(0);
	msg->src_inc = cpu_to_le32(1);
	msg->dst_inc = cpu_to_le32(w->home.sess[node].inc);
}

union buffer {
	struct rdl_msg msg;
	u8 bytes[MAX_MSG];
};

static void send_lock_msg(struct world *w, int node, int lock, u8 type, u32 epoch)
{
	union buffer b;

	reply_header(w, node, &b.msg, type);
	b.msg.lock = cpu_to_le32(lock);
	b.msg.epoch = cpu_to_le32(epoch);
	send_to_node(w, w->home.sess[node].link, &b.msg);
}

/* ---- words ---- */

/* An operation of a node arrives at the memory. */
void home_land(struct world *w, struct op *op)
{
	struct home_lock *h = &w->home.lock[op->lock];
	u64 old = h->word;

	op->old = old;
	if (op->type == RDL_ACT_POST_CAS) {
		if (old == op->cmp) {
			h->word = op->val;
			if (rdl_w_frozen(old))
				violation(w, "lock %d: node %d took a frozen word", op->lock, op->node);
			if (rdl_w_ticket(op->val) > w->cfg.hard)
				violation(w, "lock %d: ticket %u past the limit", op->lock, rdl_w_ticket(op->val));
			if (rdl_w_mid(old))
				violation(w, "lock %d: node %d took an owned word", op->lock, op->node);
		}
	} else {
		h->word += op->val;
		if (!rdl_w_frozen(old) && rdl_w_mid(old) != op->node + 1u)
			violation(w, "lock %d: node %d gave back a word owned by %d", op->lock, op->node,
				  (int)rdl_w_mid(old) - 1);
	}
	trace(w, "home: lock %d: node %d's %s lands, %016llx -> %016llx", op->lock, op->node,
	      op->type == RDL_ACT_POST_CAS ? "CAS" : "FAA", (unsigned long long)old, (unsigned long long)h->word);
}

/* ---- recovery ---- */

static void opened(struct world *w, int node, int lock, u32 req)
{
	struct home_lock *h = &w->home.lock[lock];
	struct rdl_msg_opened *p;
	union buffer b;

	reply_header(w, node, &b.msg, RDL_MSG_OPENED);
	b.msg.req = cpu_to_le32(req);
	b.msg.lock = cpu_to_le32(lock);
	b.msg.epoch = cpu_to_le32(h->epoch);
	p = rdl_msg_payload(&b.msg);
	p->addr = cpu_to_le64(0x1000 + 8 * lock);
	p->rkey = cpu_to_le32(1);
	p->kind = RDL_KIND_SPIN;
	send_to_node(w, w->home.sess[node].link, &b.msg);
}

static u32 next_epoch(u32 epoch)
{
	if (rdl_epoch_rep(epoch) < RDL_REP_MAX)
		return epoch + 1;
	return rdl_epoch(rdl_epoch_gen(epoch) + 1, 0);
}

static void finish(struct world *w, int lock)
{
	struct home_lock *h = &w->home.lock[lock];
	struct rdl_recover *r = &h->rec;
	u64 delayed = h->delayed;
	int n;

	if (!h->recovering || !rdl_recover_ready(r))
		return;
	rdl_recover_finish(r);
	if (!rdl_w_frozen(h->word))
		violation(w, "lock %d: the word thawed by itself", lock);
	h->word = r->word;
	h->epoch = r->epoch_new;
	h->recovering = false;
	h->delayed = 0;
	w->cov->recoveries++;
	h->recoveries++;
	trace(w, "home: lock %d: rebuilt, epoch %x, word %016llx", lock, h->epoch, (unsigned long long)h->word);
	for (n = 0; n < w->cfg.nodes; n++) {
		if (r->claimed[0] >> n & 1) {
			union buffer b;

			reply_header(w, n, &b.msg, RDL_MSG_REBUILT);
			b.msg.lock = cpu_to_le32(lock);
			b.msg.epoch = cpu_to_le32(h->epoch);
			rdl_msg_put_rebuilt(&b.msg, &r->reply[n]);
			send_to_node(w, w->home.sess[n].link, &b.msg);
			if (chance(w, 5))
				send_to_node(w, w->home.sess[n].link, &b.msg);
		}
		if (delayed >> n & 1) {
			h->openers |= 1ull << n;
			opened(w, n, lock, h->delayed_req[n]);
		}
	}
}

static void remind(struct world *w, struct event *e);

static void remind_later(struct world *w, int lock)
{
	struct event *e = sched(w, w->cfg.lease / 4, remind, -1);

	e->lock = lock;
	e->arg = w->home.lock[lock].recoveries;
}

/* A node may have had no ear for the first one: it was just opening the lock. */
static void remind(struct world *w, struct event *e)
{
	struct home_lock *h = &w->home.lock[e->lock];
	int n;

	if (!h->recovering || h->recoveries != e->arg)
		return;
	for (n = 0; n < w->cfg.nodes; n++)
		if (h->rec.expect[0] >> n & 1)
			send_lock_msg(w, n, e->lock, RDL_MSG_FREEZE, h->epoch);
	remind_later(w, e->lock);
}

void home_recover(struct world *w, int lock, bool died, bool clear)
{
	struct home_lock *h = &w->home.lock[lock];
	u64 openers[RDL_MAX_NODES / 64] = { h->openers };
	int n;

	if (h->recovering)
		return;
	h->recovering = true;
	h->word |= RDL_W_F;
	trace(w, "home: lock %d: frozen at %016llx, openers %llx", lock, (unsigned long long)h->word,
	      (unsigned long long)h->openers);
	rdl_recover_start(&h->rec, RDL_KIND_SPIN, h->epoch, next_epoch(h->epoch), h->word & ~RDL_W_F, openers, died,
			  clear);
	for (n = 0; n < w->cfg.nodes; n++)
		if (h->openers >> n & 1)
			send_lock_msg(w, n, lock, RDL_MSG_FREEZE, h->epoch);
	remind_later(w, lock);
	finish(w, lock);
}

/* A home may ask again; the same claim must come. */
void home_repeat_freeze(struct world *w, int lock)
{
	struct home_lock *h = &w->home.lock[lock];
	int n;

	if (!h->recovering)
		return;
	for (n = 0; n < w->cfg.nodes; n++)
		if (h->openers >> n & 1)
			send_lock_msg(w, n, lock, RDL_MSG_FREEZE, h->epoch);
}

/* ---- sessions ---- */

static void destroy_late(struct world *w, struct event *e)
{
	int i;

	for (i = 0; i <= e->link; i++)
		if (w->link[i].node == (int)e->arg)
			w->link[i].alive = false;
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
	for (i = 0; i < w->cfg.locks; i++) {
		struct home_lock *h = &w->home.lock[i];

		if (w->node[node].agent[i].holder >= 0) {
			w->node[node].agent[i].evicted = true;
			h->death_untold = true;
		}
		h->delayed &= ~(1ull << node);
		if (!(h->openers >> node & 1))
			continue;
		h->openers &= ~(1ull << node);
		if (h->recovering) {
			rdl_recover_gone(&h->rec, node, true);
			finish(w, i);
		} else if (rdl_w_mid(h->word) == node + 1u) {
			home_recover(w, i, true, false);
		}
	}
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

		if (h->recovering && (h->rec.expect[0] >> node & 1))
			send_lock_msg(w, node, i, RDL_MSG_FREEZE, h->epoch);
	}
}

static void open_lock(struct world *w, int node, const struct rdl_msg *msg)
{
	const struct rdl_msg_open *p = rdl_msg_cpayload(msg);
	int lock = p->key[0] - 'a';
	struct home_lock *h = &w->home.lock[lock];

	if (!(h->openers >> node & 1)) {
		if (h->recovering) {
			h->delayed |= 1ull << node;
			h->delayed_req[node] = le32_to_cpu(msg->req);
			return;
		}
		h->openers |= 1ull << node;
		opened(w, node, lock, le32_to_cpu(msg->req));
		return;
	}
	/* The session was resumed: never delayed, the recovery waits for this node's claim. */
	opened(w, node, lock, le32_to_cpu(msg->req));
	if (h->recovering) {
		if (h->rec.expect[0] >> node & 1)
			send_lock_msg(w, node, lock, RDL_MSG_FREEZE, h->epoch);
	} else if (p->flags & RDL_OPEN_AMBIG) {
		home_recover(w, lock, false, false);
	}
}

static void take_claim(struct world *w, int node, int lock, const struct rdl_msg *msg)
{
	struct home_lock *h = &w->home.lock[lock];
	struct rdl_claim c;
	int err;

	if (!h->recovering || le32_to_cpu(msg->epoch) != h->rec.epoch)
		return;	/* the answer to a repeated FREEZE */
	rdl_msg_get_claim(msg, &c);
	trace(w, "home: lock %d: node %d claims %d, ticket %u", lock, node, c.what, c.ticket);
	err = rdl_recover_claim(&h->rec, node, le32_to_cpu(msg->epoch), &c);
	if (err)
		violation(w, "lock %d: node %d's claim %d is refused", lock, node, c.what);
	finish(w, lock);
}

static void close_lock(struct world *w, int node, int lock)
{
	struct home_lock *h = &w->home.lock[lock];

	h->openers &= ~(1ull << node);
	if (!h->recovering)
		return;
	rdl_recover_gone(&h->rec, node, false);
	finish(w, lock);
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
		take_claim(w, node, lock, msg);
		break;
	case RDL_MSG_ROLL_REQ:
		if (le32_to_cpu(msg->epoch) == h->epoch && !h->recovering) {
			w->cov->rolls++;
			home_recover(w, lock, false, false);
		}
		break;
	case RDL_MSG_CONSISTENT:
		if (le32_to_cpu(msg->epoch) == h->epoch && rdl_w_attention(h->word) &&
		    rdl_w_mid(h->word) == node + 1u)
			home_recover(w, lock, false, true);
		break;
	}
}

void home_start(struct world *w)
{
	int i;

	memset(&w->home, 0, sizeof(w->home));
	for (i = 0; i < w->cfg.locks; i++) {
		struct home_lock *h = &w->home.lock[i];

		/* Near the places where the epoch's fields carry. */
		h->epoch = rdl_epoch(chance(w, 30) ? 62 + rnd(w, 4) : 1 + rnd(w, 3),
				     chance(w, 20) ? RDL_REP_MAX - rnd(w, 3) : 0);
		h->word = rdl_w_pack(0, 0, 0, h->epoch, false, false);
	}
}
