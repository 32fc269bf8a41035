// SPDX-License-Identifier: GPL-2.0
/*
 * Links and operations. On one link operations land in order and complete in order, and messages arrive in order;
 * between the two, and between links, there is no order. When a link breaks, an operation in flight may have
 * landed, may never land, may land as late as the home lets the old queue pair live, or may have landed half.
 */
#include "sim.h"

static u64 latency(struct world *w, const struct link *l)
{
	u64 t = about(w, w->cfg.latency);

	if (l->node == 0)
		t = t / 4 + 1;	/* the home's own agent: a loopback queue pair */
	return w->now < l->slow_until ? t + (l->slow_until - w->now) : t;
}

static u64 in_order(u64 *last, u64 time)
{
	if (time <= *last)
		time = *last + 1;
	*last = time;
	return time;
}

int link_new(struct world *w, int node)
{
	struct link *l;

	if (w->links == MAX_LINKS) {
		violation(w, "simulator: too many links");
		return 0;
	}
	l = &w->link[w->links];
	memset(l, 0, sizeof(*l));
	l->node = node;
	l->up = true;
	l->alive = true;
	l->cut = NEVER;
	return w->links++;
}

void link_destroy_at_home(struct world *w, int node, int except)
{
	int i;

	for (i = 0; i < w->links; i++)
		if (w->link[i].node == node && i != except)
			w->link[i].alive = false;
}

/* ---- operations ---- */

static struct op *op_new(struct world *w)
{
	struct op *op = w->op_free;

	if (op) {
		w->op_free = op->next_free;
	} else if (w->ops < MAX_OPS) {
		op = &w->op[w->ops++];
	} else {
		violation(w, "simulator: too many operations");
		return NULL;
	}
	memset(op, 0, sizeof(*op));
	op->seq = w->op_seq++;
	return op;
}

static void op_seen(struct world *w, struct op *op)
{
	if (--op->events || !op->done)
		return;
	op->next_free = w->op_free;
	w->op_free = op;
}

static void op_ends(struct world *w, struct op *op)
{
	struct link *l = &w->link[op->link];

	if (op->outcome == RDL_OK && op->part < op->parts) {
		/* The home has destroyed the queue pair: an error completion, and the end of the link. */
		if (l->up) {
			node_link_lost(w, op->node);
			return;
		}
		op->outcome = RDL_AMBIGUOUS;
	}
	if (op->outcome == RDL_AMBIGUOUS)
		l->stuck = true;
	op->done = true;
	node_op_ended(w, op);
}

static void op_done_event(struct world *w, struct event *e)
{
	struct op *op = &w->op[e->arg];

	if (!op->done)
		op_ends(w, op);
	op_seen(w, op);
}

static void op_land_event(struct world *w, struct event *e)
{
	struct op *op = &w->op[e->arg];

	if (w->now >= op->late && op->part == e->gen && !op->stopped && w->link[op->link].alive) {
		if (op->done)
			w->cov->late++;
		land(w, op);
	}
	op_seen(w, op);
}

static void land_at(struct world *w, struct op *op, u8 part, u64 time)
{
	struct event *e = sched(w, time - w->now, op_land_event, -1);

	e->arg = op - w->op;
	e->gen = part;
	op->events++;
}

static void done_at(struct world *w, struct op *op, u64 time)
{
	sched(w, time - w->now, op_done_event, op->node)->arg = op - w->op;
	op->events++;
}

static void count(struct world *w, u8 type)
{
	switch (type) {
	case RDL_ACT_POST_CAS:
	case RDL_ACT_POST_FAA:
		w->did.atomics++;
		break;
	case RDL_ACT_POST_WRITE_SLOT:
	case RDL_ACT_POST_WRITE_VALUE:
		w->did.writes++;
		break;
	default:
		w->did.reads++;
	}
}

/* In pieces, and the body before (READ) or behind (WRITE) them. What is read into is no version any more. */
static void fill_big(struct world *w, struct op *op, int lock, const struct rdl_action *a)
{
	struct rdl_body *body = (struct rdl_body *)op->body;
	struct agent *agent = &w->node[op->node].agent[lock];
	int i;

	op->parts += BIG_PIECES;
	if (a->type == RDL_ACT_POST_READ_AREA) {
		agent->copy = 0;
		return;
	}
	op->sort = OP_WORD;
	if (a->peer.ver != agent->copy)
		violation(w, "lock %d: node %d names another version than it writes", lock, op->node);
	for (i = 0; i < BIG_PIECES; i++)
		op->area[i] = cpu_to_le64(agent->copy);
	body->ver = cpu_to_le64(a->peer.ver);
	body->vflags = cpu_to_le32(a->peer.vflags);
	rdl_body_set_big_crc(body, rdl_crc32c(0, op->area, sizeof(op->area)));
	body->crc = cpu_to_le32(rdl_body_crc(body));
}

static void op_fill(struct world *w, struct op *op, int lock, const struct rdl_action *a)
{
	struct rdl_body *body = (struct rdl_body *)op->body;
	__le64 slot = cpu_to_le64(a->val);
	u64 value;
	bool torn = chance(w, w->cfg.tear_pct);

	op->type = a->type;
	op->cmp = a->cmp;
	op->val = a->val;
	op->parts = 1 + torn;
	op->cut = 1 + rnd(w, sizeof(*body) - 1);
	op->sort = OP_READ;
	if (a->type == RDL_ACT_POST_WRITE_SLOT) {
		op->sort = OP_SLOT;
		memcpy(&op->val, &slot, sizeof(slot));
	}
	if (a->type == RDL_ACT_POST_READ_AREA || a->type == RDL_ACT_POST_WRITE_VALUE) {
		fill_big(w, op, lock, a);
		return;
	}
	if (a->type != RDL_ACT_POST_CAS && a->type != RDL_ACT_POST_FAA)
		return;
	op->sort = OP_WORD;
	op->parts = 1;
	if (!(a->arg & RDL_POST_VALUE))
		return;
	op->value = true;
	op->parts = 2 + torn;
	w->did.writes++;
	value = w->node[op->node].agent[lock].copy;
	body->ver = cpu_to_le64(a->peer.ver);
	body->vflags = cpu_to_le32(a->peer.vflags);
	memcpy(body->value, &value, sizeof(value));
	body->crc = cpu_to_le32(rdl_body_crc(body));
}

/* Not taken by the fabric; nor is what comes behind it in the same step, which was for the same queue pair. */
static bool refuse(struct world *w, struct op *op)
{
	if (!w->refused && !chance(w, w->cfg.refuse_pct))
		return false;
	/* The value before the word may have been taken, and is on its way. */
	while (op->value && !w->refused && op->part + 1 < op->parts && chance(w, 50))
		land(w, op);
	w->refused = true;
	op->stopped = true;
	op->outcome = RDL_FAILED;
	done_at(w, op, w->now);
	return true;
}

void post(struct world *w, int node, int lock, const struct rdl_action *a)
{
	struct link *l = &w->link[w->node[node].link];
	struct op *op;
	u64 t;
	u8 part;

	op = op_new(w);
	if (!op)
		return;
	op->node = node;
	op->lock = lock;
	op->link = w->node[node].link;
	op_fill(w, op, lock, a);
	if (w->node[node].agent[lock].op[op->sort])
		violation(w, "lock %d: node %d has two operations of a sort in flight", lock, node);
	w->node[node].agent[lock].op[op->sort] = op;
	count(w, op->type);
	fault_armed(w, node);
	if (refuse(w, op))
		return;
	t = w->now + latency(w, l);
	if (l->failing) {
		op->stopped = true;
		op->outcome = chance(w, 50) ? RDL_FAILED : RDL_AMBIGUOUS;
	} else if (w->op_fails) {
		/* No answer comes, and it lands when it likes. */
		l->failing = true;
		op->outcome = RDL_AMBIGUOUS;
		w->cov->ambiguous++;
		for (part = 0; part < op->parts; part++) {
			t = in_order(&l->last_land, t + rnd(w, chance(w, 50) ? 3 * w->cfg.lease : 100 * US));
			land_at(w, op, part, t);
		}
		t = w->now + latency(w, l);
	} else {
		for (part = 0; part < op->parts; part++) {
			t = in_order(&l->last_land, part ? t + rnd(w, 2 * w->cfg.latency) : t);
			land_at(w, op, part, t);
		}
	}
	w->op_fails = false;
	done_at(w, op, in_order(&l->last_done, t + latency(w, l)));
}

/* ---- the end of a link ---- */

#define MAX_FLYING	(MAX_LOCKS * NR_OP_SORTS)

/* In the order in which they were posted. */
static int flying(struct world *w, int node, struct op **ops)
{
	struct node *n = &w->node[node];
	int i, k, at, count = 0;

	for (i = 0; i < w->cfg.locks; i++) {
		for (k = 0; k < NR_OP_SORTS; k++) {
			struct op *op = n->agent[i].op[k];

			if (!op || op->done || op->link != n->link || op->outcome != RDL_OK)
				continue;
			for (at = count++; at && ops[at - 1]->seq > op->seq; at--)
				ops[at] = ops[at - 1];
			ops[at] = op;
		}
	}
	return count;
}

/*
 * What becomes of operations whose link broke under them: of those that had landed the first ones end well, if their
 * completions were there already. Of those that had not, the first ones still land, when they would have or as late as
 * the old queue pair lives, the others never; where it stops, a part may have landed.
 */
static void orphans(struct world *w, struct op **ops, int n, bool anybody)
{
	int landed, ok, stop, i;
	bool late = chance(w, 60), failed = chance(w, 30);
	u64 land = w->now, done = w->now;
	u8 part;

	for (landed = 0; landed < n && ops[landed]->part == ops[landed]->parts; landed++)
		;
	ok = chance(w, 30) ? landed : (int)rnd(w, landed + 1);
	stop = landed + (int)rnd(w, n - landed + 1);
	for (i = 0; i < n; i++) {
		struct op *op = ops[i];

		if (i >= ok) {
			op->outcome = RDL_AMBIGUOUS;
			w->cov->ambiguous++;
		}
		if (i > stop || (i == stop && (op->part || chance(w, 70))))
			op->stopped = true;
		/* The last pieces of a big value may never have been sent, whatever became of the first. */
		if (i >= stop && op->stopped && failed &&
		    (!op->part || op->value || op->type == RDL_ACT_POST_WRITE_VALUE))
			op->outcome = RDL_FAILED;
		if (i >= landed && !op->stopped && late) {
			land += rnd(w, 3 * w->cfg.lease);
			op->late = land;
			for (part = op->part; part < op->parts && (i < stop || !part); part++)
				land_at(w, op, part, land += 1 + rnd(w, w->cfg.latency));
		}
		done += 1 + rnd(w, 5 * US);
		if (anybody)
			done_at(w, op, done);
	}
}

/* The node's side of the link is gone; with @node dead there is nobody left to tell. */
void link_break(struct world *w, int node)
{
	struct op *ops[MAX_FLYING];
	struct node *n = &w->node[node];
	struct link *l;

	if (n->link < 0)
		return;
	l = &w->link[n->link];
	if (!l->up)
		return;
	trace(w, "node %d: link %d breaks", node, n->link);
	l->up = false;
	l->cut = w->now + rnd(w, 2 * w->cfg.latency + 1);
	orphans(w, ops, flying(w, node, ops), n->alive);
}

/* ---- messages ---- */

static void put(struct world *w, struct event *e, struct rdl_msg *msg)
{
	u32 len = rdl_msg_len(msg->type);

	rdl_msg_seal(msg, 0);
	memcpy(e->bytes, msg, len);
	e->len = len;
	/* Costs two checksums; the receiver checks each of them anyway. */
	if (e->seq % 16 == 0 && rdl_msg_check(&e->msg, len))
		violation(w, "message %s that was sent does not pass the check", rdl_msg_name(msg->type));
}

void send_to_home(struct world *w, int node, struct rdl_msg *msg)
{
	struct link *l = &w->link[w->node[node].link];
	struct event *e;

	if (!l->up)
		return;
	e = sched(w, in_order(&l->last_to_home, w->now + latency(w, l)) - w->now, home_message, -1);
	e->link = w->node[node].link;
	put(w, e, msg);
}

void send_to_node(struct world *w, int link, struct rdl_msg *msg)
{
	struct link *l = &w->link[link];
	struct event *e;

	if (!l->up)
		return;
	e = sched(w, in_order(&l->last_to_node, w->now + latency(w, l)) - w->now, node_message, l->node);
	e->link = link;
	put(w, e, msg);
}

/*
 * Between nodes nothing keeps order, and nothing is promised: a message may come late, twice, or not at all. What goes
 * down with a link may have been delivered before.
 */
void send_to_peer(struct world *w, int node, int to, struct rdl_msg *msg)
{
	struct home_lock *h = &w->home.lock[le32_to_cpu(msg->lock)];
	struct node *from = &w->node[node];
	int copies = 1 + chance(w, w->cfg.twice_pct);

	w->did.sends++;
	if (from->link < 0 || !w->link[from->link].up || !w->home.sess[to].live || !w->node[to].alive ||
	    (!w->stopping && chance(w, w->cfg.drop_pct))) {
		h->lossy = true;
		return;
	}
	if (copies > 1)
		w->cov->repeated++;
	while (copies--) {
		u64 delay = latency(w, &w->link[from->link]) + latency(w, &w->link[from->link]);
		struct event *e;

		if (chance(w, w->cfg.late_pct))
			delay += rnd(w, chance(w, 10) ? w->cfg.lease : 20 * w->cfg.latency);
		e = sched(w, delay, node_peer_message, to);
		e->link = from->link;
		e->lock = w->node[to].link;
		e->gen = w->node[to].inc;
		put(w, e, msg);
	}
}
