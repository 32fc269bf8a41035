// SPDX-License-Identifier: GPL-2.0
/*
 * Links and operations. On one link operations land in order and complete in order, and messages arrive in order;
 * between the two, and between links, there is no order. When a link breaks, an operation in flight may have
 * landed, may never land, or may land as late as the home lets the old queue pair live.
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
	l->used = true;
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

static void op_done_event(struct world *w, struct event *e)
{
	struct op *op = &w->op[e->arg];

	if (op->done)
		return;
	if (op->outcome == RDL_OK && !op->landed) {
		/* The home has destroyed the queue pair: an error completion, and the end of the link. */
		if (w->link[op->link].up) {
			node_link_lost(w, op->node);
			return;
		}
		op->outcome = RDL_AMBIGUOUS;
	}
	op->done = true;
	node_op_ended(w, op);
}

static void op_land_event(struct world *w, struct event *e)
{
	struct op *op = &w->op[e->arg];

	if (w->now < op->late)
		return;
	if (op->dropped || op->landed || !w->link[op->link].alive)
		return;
	if (op->done)
		w->cov->late++;
	op->landed = true;
	home_land(w, op);
}

void post(struct world *w, int node, int lock, const struct rdl_action *a)
{
	struct link *l = &w->link[w->node[node].link];
	struct event *e;
	struct op *op;
	u64 t;

	if (w->ops == MAX_OPS) {
		violation(w, "simulator: too many operations");
		return;
	}
	op = &w->op[w->ops];
	memset(op, 0, sizeof(*op));
	op->node = node;
	op->lock = lock;
	op->link = w->node[node].link;
	op->boot = w->node[node].boot;
	op->type = a->type;
	op->cmp = a->cmp;
	op->val = a->val;
	w->node[node].agent[lock].op = op;
	fault_armed(w, node);
	if (chance(w, w->cfg.refuse_pct)) {
		op->dropped = true;
		op->outcome = RDL_FAILED;
		e = sched(w, 0, op_done_event, node);
		e->arg = w->ops++;
		return;
	}
	if (w->op_fails) {
		w->op_fails = false;
		op->outcome = RDL_AMBIGUOUS;
		w->cov->ambiguous++;
		sched(w, latency(w, l), op_done_event, node)->arg = w->ops;
		sched(w, rnd(w, chance(w, 50) ? 3 * w->cfg.lease : 100 * US), op_land_event, -1)->arg = w->ops++;
		return;
	}
	t = in_order(&l->last_land, w->now + latency(w, l));
	e = sched(w, t - w->now, op_land_event, -1);
	e->arg = w->ops;
	t = in_order(&l->last_done, t + latency(w, l));
	e = sched(w, t - w->now, op_done_event, node);
	e->arg = w->ops++;
}

/* What becomes of an operation whose link broke under it. */
static void op_orphan(struct world *w, struct op *op)
{
	struct event *e;
	u64 id = op - w->op;

	/* Its completion may have been there already. */
	if (op->landed && chance(w, 30))
		return;
	op->outcome = RDL_AMBIGUOUS;
	w->cov->ambiguous++;
	if (op->landed)
		return;
	switch (rnd(w, 6)) {
	case 0:
		op->dropped = true;
		op->outcome = RDL_FAILED;
		break;
	case 1:
		op->dropped = true;
		break;
	case 2:
		break;	/* lands when it would have */
	default:
		/* Later than it would have, as long as the old queue pair lives. */
		op->late = w->now + rnd(w, 3 * w->cfg.lease);
		e = sched(w, op->late - w->now, op_land_event, -1);
		e->arg = id;
		break;
	}
}

/* The node's side of the link is gone; with @node dead there is nobody left to tell. */
void link_break(struct world *w, int node)
{
	struct node *n = &w->node[node];
	struct link *l;
	int i;

	if (n->link < 0)
		return;
	l = &w->link[n->link];
	if (!l->up)
		return;
	trace(w, "node %d: link %d breaks", node, n->link);
	l->up = false;
	l->cut = w->now + rnd(w, 2 * w->cfg.latency + 1);
	for (i = 0; i < w->cfg.locks; i++) {
		struct op *op = n->agent[i].op;

		if (!op || op->done || op->link != n->link || op->outcome != RDL_OK)
			continue;
		op_orphan(w, op);
		if (n->alive)
			sched(w, rnd(w, 20 * US), op_done_event, node)->arg = op - w->op;
	}
}

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
