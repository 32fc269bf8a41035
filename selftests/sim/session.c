// SPDX-License-Identifier: GPL-2.0
/* A node's session with the home and its lease; how its life begins and ends. */
#include "sim.h"

static void try_connect(struct world *w, struct event *e);
static void lose(struct world *w, int n);

bool node_lease_valid(const struct world *w, int n)
{
	return w->node[n].alive && w->now < w->node[n].lease_end;
}

void send_open(struct world *w, int n, int lock)
{
	struct agent *a = &w->node[n].agent[lock];
	struct rdl_msg_open *p;
	union buffer b;

	header(w, n, &b.msg, RDL_MSG_OPEN, 0, 0);
	p = rdl_msg_payload(&b.msg);
	p->obj = RDL_OBJ_LOCK;
	p->key_len = 1;
	p->key[0] = 'a' + lock;
	if (a->open == OPEN && rdl_ambiguous(&a->core))
		p->flags = RDL_OPEN_AMBIG;
	a->req = ++w->node[n].reqs;
	b.msg.req = cpu_to_le32(a->req);
	send_to_home(w, n, &b.msg);
}

bool awake(struct world *w, int n)
{
	struct node *node = &w->node[n];

	if (w->failed)
		return false;
	if (node->session && w->now >= node->lease_end)
		lose(w, n);
	return true;
}

/* ---- link and lease ---- */

static u64 local_time(const struct node *node, u64 ns)
{
	return ns * node->rate / 1000;
}

static void lease_over(struct world *w, struct event *e)
{
	awake(w, e->node);
}

static void lease_extend(struct world *w, int n, u64 sent)
{
	struct node *node = &w->node[n];
	u64 end = sent + local_time(node, w->cfg.lease - w->cfg.margin);

	if (end <= node->lease_end)
		return;
	node->lease_end = end;
	if (end > w->now)
		sched(w, end - w->now, lease_over, n);
}

static void heartbeat(struct world *w, struct event *e)
{
	struct node *node = &w->node[e->node];
	union buffer b;

	if (!awake(w, e->node))
		return;
	if (node->ss == SESSION_UP) {
		node->hb_at[++node->hb_n % 16] = w->now;
		header(w, e->node, &b.msg, RDL_MSG_HB, 0, 0);
		b.msg.arg = cpu_to_le32(node->hb_n);
		send_to_home(w, e->node, &b.msg);
	}
	sched(w, local_time(node, w->cfg.lease / 4), heartbeat, e->node);
}

static void reconnect(struct world *w, int n, u64 delay)
{
	struct event *e = sched(w, delay, try_connect, n);

	e->gen = ++w->node[n].connect_gen;
}

/* The link is gone, whoever noticed; the session may be resumed. */
void node_link_lost(struct world *w, int n)
{
	struct node *node = &w->node[n];
	int i;

	if (node->link < 0)
		return;
	link_break(w, n);
	node->link = -1;
	node->ss = NO_LINK;
	for (i = 0; i < w->cfg.locks; i++)
		node->agent[i].link = false;
	reconnect(w, n, rnd(w, 10 * w->cfg.latency));
}

/* The lease is over, or the home says so: a new incarnation begins. */
static void lose(struct world *w, int n)
{
	struct node *node = &w->node[n];
	int i;

	trace(w, "node %d loses its session", n);
	node_link_lost(w, n);
	node->session = 0;
	node->lease_end = 0;
	node->inc = rnd64(w) | 1;
	for (i = 0; i < w->cfg.locks; i++) {
		if (node->agent[i].open != OPEN)
			continue;
		feed_type(w, n, i, RDL_EV_LOSE);
		if (chance(w, 10))
			feed_type(w, n, i, RDL_EV_LOSE);
		/* What comes in the next session is told anew. */
		node->agent[i].copy = 0;
		node->agent[i].parked = 0;
		w->home.lock[i].lossy = true;
	}
	reconnect(w, n, rnd(w, 10 * w->cfg.latency));
}

static void hello_timeout(struct world *w, struct event *e)
{
	struct node *node = &w->node[e->node];

	if (node->ss == HELLO_SENT && node->link == e->link)
		node_link_lost(w, e->node);
}

static bool busy(const struct agent *a)
{
	return a->op[OP_WORD] || a->op[OP_READ] || a->op[OP_SLOT];
}

static void try_connect(struct world *w, struct event *e)
{
	struct node *node = &w->node[e->node];
	struct rdl_msg_hello *p;
	union buffer b;
	int i;

	if (!awake(w, e->node) || node->link >= 0 || e->gen != node->connect_gen)
		return;
	for (i = 0; i < w->cfg.locks; i++) {
		if (busy(&node->agent[i]) || w->now < node->blocked_until) {
			reconnect(w, e->node, 10 * w->cfg.latency);
			return;
		}
	}
	node->link = link_new(w, e->node);
	node->ss = HELLO_SENT;
	node->hello_at = w->now;
	header(w, e->node, &b.msg, RDL_MSG_HELLO, 0, 0);
	p = rdl_msg_payload(&b.msg);
	p->resume = cpu_to_le64(node->session);
	p->name_len = 3;
	memcpy(p->name, "sim", 3);
	send_to_home(w, e->node, &b.msg);
	sched(w, w->cfg.lease, hello_timeout, e->node)->link = node->link;
}

static void welcome(struct world *w, int n, const struct rdl_msg *msg)
{
	const struct rdl_msg_welcome *p = rdl_msg_cpayload(msg);
	struct node *node = &w->node[n];
	int i;

	if (msg->arg) {
		lose(w, n);
		return;
	}
	if (!p->resumed && node->session) {
		violation(w, "node %d was not resumed and not told", n);
		return;
	}
	node->session = le64_to_cpu(p->session);
	node->ss = SESSION_UP;
	if (!p->resumed)
		lease_extend(w, n, node->hello_at);
	for (i = 0; i < w->cfg.locks; i++)
		if (node->agent[i].open != CLOSED)
			send_open(w, n, i);
	/* A lease that began in the past may be over already. */
	awake(w, n);
}

static void opened(struct world *w, struct event *e)
{
	int n = e->node, lock = e->lock, t;
	struct agent *a = &w->node[n].agent[lock];
	const struct home_lock *h = &w->home.lock[lock];
	struct rdl_event ev = { .epoch = e->gen, .rebuilt.vflags = e->len };

	if (!awake(w, n) || w->node[n].link != e->link || a->open == CLOSED || a->req != (u32)e->arg)
		return;
	a->link = true;
	if (a->open == OPEN) {
		ev.type = a->core.st == RDL_ST_LOST ? RDL_EV_REJOIN : RDL_EV_LINK_UP;
		feed(w, n, lock, &ev, 0);
		return;
	}
	a->open = OPEN;
	rdl_lock_init(&a->core, h->kind, n, ev.epoch, w->cfg.budget);
	rdl_lock_props(&a->core, h->props, rdl_slot_seed(0, lock));
	a->copy = 0;
	a->parked = 0;
	a->cas_n = 0;
	a->unknown = false;
	/* What the home says of it, as the module tells its core. */
	if (h->props & RDL_P_ROBUST) {
		a->core.st = RDL_ST_LOST;
		ev.type = RDL_EV_REJOIN;
		feed(w, n, lock, &ev, 0);
	}
	for (t = 0; t < w->cfg.threads; t++) {
		struct thread *th = &w->node[n].thread[t];

		if (th->st == WAITING && th->lock == lock && !th->fed)
			queue_waiter(w, n, t);
	}
}

void session_message(struct world *w, struct event *e)
{
	int n = e->node, i;
	struct node *node = &w->node[n];
	struct event *work;
	u64 end;

	switch (e->msg.type) {
	case RDL_MSG_WELCOME:
		welcome(w, n, &e->msg);
		break;
	case RDL_MSG_HB_ACK:
		end = node->lease_end;
		lease_extend(w, n, node->hb_at[le32_to_cpu(e->msg.arg) % 16]);
		for (i = 0; i < w->cfg.locks && node->lease_end > end; i++)
			if (node->agent[i].open == OPEN)
				feed_type(w, n, i, RDL_EV_LEASE);
		break;
	case RDL_MSG_OPENED:
		work = sched(w, w->cfg.slow_open ? rnd(w, 4 * w->cfg.latency) : 0, opened, n);
		work->lock = le32_to_cpu(e->msg.lock);
		work->link = e->link;
		work->gen = le32_to_cpu(e->msg.epoch);
		work->len = ((const struct rdl_msg_opened *)rdl_msg_cpayload(&e->msg))->vflags;
		work->arg = le32_to_cpu(e->msg.req);
		break;
	}
}

/* Nothing that is idle shall be kept. */
void node_shed(struct world *w, struct event *e)
{
	int i;

	if (!awake(w, e->node))
		return;
	for (i = 0; i < w->cfg.locks; i++)
		if (w->node[e->node].agent[i].open == OPEN &&
		    (w->home.lock[i].kind == RDL_KIND_FAIR || w->home.lock[i].kind == RDL_KIND_MCS))
			feed_type(w, e->node, i, RDL_EV_SHED);
}

/* ---- life and death ---- */

void node_start(struct world *w, int n)
{
	struct node *node = &w->node[n];
	u32 boot = node->boot;
	int i;

	memset(node, 0, sizeof(*node));
	node->boot = boot;
	node->alive = true;
	node->inc = rnd64(w) | 1;
	node->link = -1;
	node->rate = 970 + rnd(w, 61);
	reconnect(w, n, rnd(w, 10 * US));
	sched(w, local_time(node, w->cfg.lease / 4), heartbeat, n);
	for (i = 0; i < w->cfg.threads; i++)
		thread_idle(w, n, i);
}

static void reboot(struct world *w, struct event *e)
{
	if (!w->node[e->arg].alive)
		node_start(w, e->arg);
}

void node_crash(struct world *w, int n, u64 reboot_after)
{
	struct node *node = &w->node[n];
	int i;

	if (!node->alive)
		return;
	trace(w, "node %d crashes", n);
	node->alive = false;
	link_break(w, n);
	node->link = -1;
	node->boot++;
	for (i = 0; i < w->cfg.locks; i++) {
		users_cut_off(w, n, i);
		node->agent[i].nfifo = 0;
		node->agent[i].open = CLOSED;
		node->agent[i].closing = false;
		memset(node->agent[i].op, 0, sizeof(node->agent[i].op));
		w->home.lock[i].lossy = true;
	}
	for (i = 0; i < w->cfg.threads; i++) {
		node->thread[i].st = IDLE;
		node->thread[i].has = false;
	}
	if (reboot_after != NEVER)
		sched(w, reboot_after, reboot, -1)->arg = n;
}
