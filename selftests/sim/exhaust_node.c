// SPDX-License-Identifier: GPL-2.0
/*
 * Exhaustive mode: a node. The core is the real one; around it is what kmod/agent.c, session.c and lease.c do. Every
 * event goes through x_feed(), where the checks of one step are.
 */
#include <stdio.h>

#include "exhaust.h"
#include "kind.h"

/* The home's own agent: its home's messages are function calls, its lease never ends, its link is the loopback pair. */
static bool is_local(int n)
{
	return n == 0;
}

static void push(struct xworld *w, struct xmsg *q, u8 *n, const struct xmsg *m)
{
	if (*n == XQ) {
		x_fail(w, "simulator: more than %d messages on a link", XQ);
		return;
	}
	q[(*n)++] = *m;
}

void x_queue_up(struct xworld *w, int n, const struct xmsg *m)
{
	struct xnode *node = &w->node[n];

	if (node->link == X_DOWN)
		return;
	push(w, node->up, &node->n_up, m);
}

void x_queue_down(struct xworld *w, int n, const struct xmsg *m)
{
	struct xnode *node = &w->node[n];

	if (node->life != X_ALIVE || node->link == X_DOWN)
		return;
	if (is_local(n))
		x_node_rx(w, n, m);
	else
		push(w, node->down, &node->n_down, m);
}

static void send(struct xworld *w, int n, u8 type, const struct rdl_action *a)
{
	struct xmsg m = {
		.type = type,
		.epoch = a->epoch,
		.what = a->claim.what,
		.mode = a->claim.mode,
		.ticket = a->claim.ticket,
	};

	x_queue_up(w, n, &m);
}

/* Ask the home to open the lock; what is not known of the last operations must be recovered. */
void x_node_open(struct xworld *w, int n)
{
	struct xnode *node = &w->node[n];
	struct xmsg m = { .type = RDL_MSG_OPEN };

	if (node->registered && rdl_ambiguous(&node->core))
		m.what = RDL_OPEN_AMBIG;
	node->linked = 0;
	node->answer = 0;
	node->answer_epoch = 0;
	x_queue_up(w, n, &m);
}

static u8 flags(const struct xnode *node)
{
	u8 f = 0;

	if (node->lease == X_LEASE_OK && !node->lost)
		f |= RDL_F_LEASE;
	if (f && node->link == X_UP && node->linked)
		f |= RDL_F_LINK;
	return f;
}

/* ---- actions ---- */

static void post(struct xworld *w, int n, const struct rdl_action *a, u8 f)
{
	struct xnode *node = &w->node[n];

	/* At the home one that may still land goes down with its pair, before a new pair carries this one. */
	if (!(f & RDL_F_LINK) || node->core.frz != RDL_FRZ_RUN || (node->op.st != XOP_NONE && node->op.st != XOP_LATE))
		x_fail(w, "node %d posts when it must not", n);
	if (node->unknown)
		x_fail(w, "node %d posts though an outcome is not known", n);
	memset(&node->op, 0, sizeof(node->op));
	node->op.st = XOP_POSTED;
	node->op.type = a->type;
	node->op.cmp = a->cmp;
	node->op.val = a->val;
	if (a->type == RDL_ACT_POST_CAS)
		node->local_run = 0;
}

static void deliver(struct xworld *w, int n, const struct rdl_action *a, u8 f)
{
	struct xnode *node = &w->node[n];
	int i;

	for (i = 0; i < x_cfg.nodes; i++) {
		const struct xnode *o = &w->node[i];

		/* A dead node's user counts until the home has given the node up, one whose lease is over does not. */
		if (o->holder && o->instance == node->instance && (i == n || o->lease != X_LEASE_OVER))
			x_fail(w, "granted on node %d while node %d has it", n, i);
	}
	if (!(f & RDL_F_LEASE))
		x_fail(w, "granted on node %d without a valid lease", n);
	/* An instance that is over goes on only where nobody has noticed; its grants are named by it. */
	if (node->instance == w->instance) {
		if (a->val <= w->last_token)
			x_fail(w, "token %llx after %llx", (unsigned long long)a->val,
			       (unsigned long long)w->last_token);
		w->last_token = a->val;
		if (w->death_untold && !(a->arg & RDL_GRANT_OWNER_DIED))
			x_fail(w, "node %d is not told that the owner died", n);
		w->death_untold = 0;
	}
	if (a->val != node->core.token)
		x_fail(w, "the token delivered is not the token kept");
	if ((a->arg & RDL_GRANT_LOCAL) && ++node->local_run > x_cfg.hand)
		x_fail(w, "node %d hands over more often than its budget", n);
	if (!node->n_fifo) {
		x_fail(w, "node %d grants to nobody", n);
		return;
	}
	node->n_fifo--;
	node->fifo >>= 1;
	node->holder = 1;
	x_say("node %d: has it, token %llx%s", n, (unsigned long long)a->val,
	      a->arg & RDL_GRANT_OWNER_DIED ? ", the owner died" : "");
}

static void drop_waiter(struct xnode *node, int at)
{
	node->fifo = (node->fifo & ((1 << at) - 1)) | (node->fifo >> (at + 1) << at);
	node->n_fifo--;
}

static void waiter_failed(struct xworld *w, int n, int at, u32 err)
{
	struct xnode *node = &w->node[n];

	if (at < 0 || at >= node->n_fifo) {
		x_fail(w, "node %d fails nobody", n);
		return;
	}
	if (!(node->fifo >> at & 1) || (err != EAGAIN && err != EHOSTUNREACH))
		x_fail(w, "a waiter of node %d failed with errno %u", n, err);
	drop_waiter(node, at);
}

static void user_cut_off(struct xworld *w, int n)
{
	struct xnode *node = &w->node[n];

	if (!node->holder)
		return;
	/* If it slept through its own eviction, the next owner may have been told already. */
	if (!node->evicted && node->instance == w->instance)
		w->death_untold = 1;
	node->evicted = 0;
	node->holder = 0;
}

static void perform(struct xworld *w, int n, const struct rdl_action *a, u8 f)
{
	struct xnode *node = &w->node[n];

	switch (a->type) {
	case RDL_ACT_POST_CAS:
	case RDL_ACT_POST_FAA:
		post(w, n, a, f);
		break;
	case RDL_ACT_DELIVER:
		deliver(w, n, a, f);
		break;
	case RDL_ACT_FAIL_HEAD:
		waiter_failed(w, n, 0, a->arg);
		break;
	case RDL_ACT_FAIL_TAIL:
		waiter_failed(w, n, node->n_fifo - 1, a->arg);
		break;
	case RDL_ACT_TIMER:
		/* Otherwise the bound on atomics in a wait of 1 ms does not hold; see limits.h. */
		if (a->val && a->val < RDL_SPIN_BASE_NS / 2)
			x_fail(w, "node %d waits for %llu ns only", n, (unsigned long long)a->val);
		break;
	case RDL_ACT_CLAIM:
		send(w, n, RDL_MSG_CLAIM, a);
		break;
	case RDL_ACT_ROLL:
		send(w, n, RDL_MSG_ROLL_REQ, a);
		break;
	case RDL_ACT_CONSISTENT:
		send(w, n, RDL_MSG_CONSISTENT, a);
		break;
	case RDL_ACT_LOST:
		x_say("node %d: its user is told that the grant is gone", n);
		user_cut_off(w, n);
		break;
	default:
		x_fail(w, "node %d: action %u", n, a->type);
	}
}

/* ---- the core's door ---- */

/* It could go on, and has not asked for a timer. */
static bool asleep(const struct rdl_lock *l, u8 f)
{
	if (!(f & RDL_F_LINK) || l->frz != RDL_FRZ_RUN || l->is_void || l->armed)
		return false;
	return l->st == RDL_ST_OWED || (l->st == RDL_ST_WAIT && rdl_w_ticket(l->guess) < x_cfg.hard);
}

static void check_step(struct xworld *w, int n, const struct rdl_acts *acts, u8 f)
{
	struct xnode *node = &w->node[n];
	const char *err = rdl_check(&node->core);

	if (err)
		x_fail(w, "node %d: %s", n, err);
	if (acts->n > RDL_MAX_ACTIONS)
		x_fail(w, "node %d: %u actions", n, acts->n);
	if (node->core.nq != node->n_fifo)
		x_fail(w, "node %d counts %u waiters, there are %u", n, node->core.nq, node->n_fifo);
	if (node->core.users != node->holder)
		x_fail(w, "node %d and its user disagree who has the lock", n);
	if (asleep(&node->core, f))
		x_fail(w, "node %d: nothing will wake it from state %s", n, rdl_state_name(node->core.st));
}

/*
 * What a state does not use is given the worst value that it could have, so that worlds that differ in nothing else are
 * one, and a core that uses it after all is caught.
 */
static void spoil(struct xnode *node)
{
	struct rdl_lock *l = &node->core;

	switch (l->st) {
	case RDL_ST_LOST:
		/* It is made anew when the lock is opened again. */
		l->epoch = rdl_epoch(1, 0);
		l->guess = rdl_w_pack(0, 0, 0, l->epoch, false, false);
		l->retried = 0;
		l->rolled = 0;
		fallthrough;
	case RDL_ST_NONE:
	case RDL_ST_WAIT:
	case RDL_ST_DRAW:
	case RDL_ST_TRY:
	case RDL_ST_AMBIG:
		l->ticket = x_cfg.hard + 1;
		l->loc = RDL_LOC_MAX;
		l->handovers = x_cfg.hand;
		node->local_run = 0;
		break;
	}
}

static bool op_matches(const struct xnode *node)
{
	bool flying = node->op.st != XOP_NONE && node->op.st != XOP_LATE;

	return !!node->core.io == flying;
}

void x_feed(struct xworld *w, int n, struct rdl_event *ev)
{
	struct xnode *node = &w->node[n];
	struct rdl_lock was = node->core;
	struct rdl_acts acts;
	unsigned int i;
	int err;

	if (w->failed)
		return;
	ev->flags = flags(node);
	ev->rnd = 0;
	err = rdl_step(&node->core, ev, &acts);
	/* The length of waits is time, which is not here. */
	node->core.k = 0;
	x_say("node %d: %s + %s -> %s%s, %u actions", n, rdl_state_name(was.st), rdl_event_name(ev->type),
	      rdl_state_name(node->core.st), err ? " refused" : "", acts.n);
	if (err) {
		x_fail(w, "node %d: event %s refused in state %s", n, rdl_event_name(ev->type),
		       rdl_state_name(was.st));
		return;
	}
	if (!(rdl_cell(rdl_kind_ops(was.kind), was.st, ev->type)->next >> node->core.st & 1))
		x_fail(w, "%s + %s -> %s is not in the table", rdl_state_name(was.st), rdl_event_name(ev->type),
		       rdl_state_name(node->core.st));
	if (ev->type == RDL_EV_OP && ev->outcome == RDL_AMBIGUOUS && !was.stale_io)
		node->unknown = 1;
	if (node->core.epoch != was.epoch || ev->type == RDL_EV_REJOIN)
		node->unknown = 0;
	for (i = 0; i < acts.n && i < RDL_MAX_ACTIONS; i++)
		perform(w, n, &acts.a[i], ev->flags);
	check_step(w, n, &acts, ev->flags);
	if (x_cfg.kind == RDL_KIND_SPIN)
		spoil(node);
	if (!op_matches(node))
		x_fail(w, "node %d: the core lost track of its operation", n);
	if (!(ev->flags & RDL_F_LEASE) && !node->holder && (node->core.nq || rdl_owns(&node->core)))
		node->want_lease = 1;
	/* Nothing else would bring the home to recover the lock: at the home itself no new link ever comes. */
	if (node->core.st == RDL_ST_AMBIG && was.st != RDL_ST_AMBIG && (!node->core.landing || is_local(n)))
		x_node_open(w, n);
}

static void feed_type(struct xworld *w, int n, u8 type)
{
	struct rdl_event ev = { .type = type };

	x_feed(w, n, &ev);
}

/* ---- users ---- */

void x_node_acquire(struct xworld *w, int n, bool try)
{
	struct xnode *node = &w->node[n];
	struct rdl_event ev = { .type = RDL_EV_ACQ, .try = try };

	node->ops--;
	node->fifo |= try << node->n_fifo;
	node->n_fifo++;
	x_feed(w, n, &ev);
}

void x_node_cancel(struct xworld *w, int n, int at)
{
	struct xnode *node = &w->node[n];
	struct rdl_event ev = { .type = RDL_EV_CANCEL };

	ev.try = (node->fifo >> at & 1) && !at && node->core.st == RDL_ST_TRY;
	drop_waiter(node, at);
	x_feed(w, n, &ev);
}

/* ---- messages of the home ---- */

void x_node_rx(struct xworld *w, int n, const struct xmsg *m)
{
	struct xnode *node = &w->node[n];
	struct rdl_event ev = { .epoch = m->epoch };

	x_say("node %d: %s, epoch %x", n, rdl_msg_name(m->type), m->epoch);
	if (m->type == RDL_MSG_OPENED) {
		node->answer = 1;
		node->answer_epoch = m->epoch;
		return;
	}
	/* While the lock is being opened the home asks in vain, and again later. */
	if (!node->registered)
		return;
	if (m->type == RDL_MSG_FREEZE) {
		ev.type = RDL_EV_FREEZE;
	} else {
		ev.type = RDL_EV_REBUILT;
		ev.rebuilt.what = m->what;
		ev.rebuilt.mode = m->mode;
		ev.rebuilt.granted = m->granted;
		ev.rebuilt.ticket = m->ticket;
		ev.rebuilt.vflags = m->vflags;
	}
	x_feed(w, n, &ev);
}

void x_node_opened(struct xworld *w, int n)
{
	struct xnode *node = &w->node[n];
	struct rdl_event ev = { .type = RDL_EV_LINK_UP, .epoch = node->answer_epoch };

	node->answer = 0;
	node->answer_epoch = 0;
	node->linked = 1;
	if (!node->registered) {
		rdl_lock_init(&node->core, x_cfg.kind, n, ev.epoch, x_cfg.hand);
		node->core.st = RDL_ST_LOST;
		node->core.nq = node->n_fifo;
		node->registered = 1;
		ev.type = RDL_EV_REJOIN;
	}
	x_feed(w, n, &ev);
}

/* ---- link and lease ---- */

void x_node_link_down(struct xworld *w, int n)
{
	struct xnode *node = &w->node[n];

	node->link = X_DOWN;
	node->linked = 0;
	node->answer = 0;
	node->answer_epoch = 0;
	node->n_down = 0;
	memset(node->down, 0, sizeof(node->down));
	if (node->op.st == XOP_POSTED || node->op.st == XOP_LANDED)
		node->op.broken = 1;
}

void x_node_connect(struct xworld *w, int n)
{
	struct xnode *node = &w->node[n];

	w->delayed_old |= w->delayed & 1 << n;
	/* The home destroys what is left of the old link first. */
	node->n_up = 0;
	memset(node->up, 0, sizeof(node->up));
	memset(&node->op, 0, sizeof(node->op));
	if (node->instance != w->instance) {
		/* Another instance of the space: everything is revoked before a lock is opened in it. */
		x_node_lose(w, n, true);
		node->instance = w->instance;
	}
	node->link = X_UP;
	node->session = 1;
	node->lost = 0;
	node->lease = X_LEASE_OK;
	node->evicted = 0;
	x_node_open(w, n);
}

void x_node_lose(struct xworld *w, int n, bool all)
{
	struct xnode *node = &w->node[n];
	int i;

	if (node->registered) {
		node->registered = 0;
		feed_type(w, n, RDL_EV_LOSE);
	}
	for (i = 0; i < node->n_fifo && !w->failed;) {
		if (!all && !(node->fifo >> i & 1)) {
			i++;
			continue;
		}
		drop_waiter(node, i);
		feed_type(w, n, RDL_EV_CANCEL);
	}
	node->lost = 1;
	node->want_lease = 0;
}

void x_node_op_done(struct xworld *w, int n, u8 outcome)
{
	struct xnode *node = &w->node[n];
	struct rdl_event ev = { .type = RDL_EV_OP, .outcome = outcome };

	if (outcome == RDL_OK)
		ev.old = node->op.old;
	if (outcome == RDL_AMBIGUOUS && node->op.st == XOP_POSTED) {
		node->op.st = XOP_LATE;
		node->op.broken = 0;
		node->op.old = 0;
	} else {
		memset(&node->op, 0, sizeof(node->op));
	}
	x_feed(w, n, &ev);
}

/* ---- life ---- */

/* Nothing is left of what it was but its users' plans. */
void x_node_start(struct xworld *w, int n)
{
	struct xnode *node = &w->node[n];
	u8 ops = node->ops;

	memset(node, 0, sizeof(*node));
	node->ops = ops;
	node->session = 1;
	node->instance = w->instance;
	rdl_lock_init(&node->core, x_cfg.kind, n, rdl_epoch(1, 0), x_cfg.hand);
	node->core.st = RDL_ST_LOST;
}

/* ---- operations ---- */

void x_op_unreach(struct xnode *node)
{
	if (node->op.st == XOP_POSTED && node->life == X_ALIVE)
		node->op.st = XOP_DROPPED;
	else if (node->op.st == XOP_LATE || node->life != X_ALIVE)
		memset(&node->op, 0, sizeof(node->op));
}

void x_op_land(struct xworld *w, int n)
{
	struct xnode *node = &w->node[n];
	struct xop *op = &node->op;
	u64 old = w->word;

	if (op->type == RDL_ACT_POST_FAA) {
		w->word += op->val;
		if (!rdl_w_frozen(old) && rdl_w_mid(old) != n + 1u)
			x_fail(w, "node %d gave back a word of %d", n, (int)rdl_w_mid(old) - 1);
	} else if (old == op->cmp) {
		w->word = op->val;
		if (rdl_w_frozen(old))
			x_fail(w, "node %d took a frozen word", n);
		if (rdl_w_ticket(op->val) > x_cfg.hard)
			x_fail(w, "node %d took ticket %u, past the limit", n, rdl_w_ticket(old));
		if (rdl_w_mid(old))
			x_fail(w, "node %d took a word that has an owner", n);
	}
	x_say("home: node %d's %s lands, %016llx -> %016llx", n, op->type == RDL_ACT_POST_CAS ? "CAS" : "FAA",
	      (unsigned long long)old, (unsigned long long)w->word);
	if (op->st == XOP_LATE || node->life != X_ALIVE) {
		memset(op, 0, sizeof(*op));
		return;
	}
	op->st = XOP_LANDED;
	op->old = old;
	op->cmp = 0;
	op->val = 0;
}
