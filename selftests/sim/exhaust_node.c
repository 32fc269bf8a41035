// SPDX-License-Identifier: GPL-2.0
/*
 * Exhaustive mode: a node. The core is the real one; around it is what kmod/agent.c, session.c and lease.c do. Every
 * event goes through x_feed(), where the checks of one step are.
 */
#include "exhaust.h"
#include "kind.h"
#include "slot.h"

/* Ask the home to open the lock; what is not known of the last operations must be recovered. */
void x_node_open(struct xworld *w, int n)
{
	struct xnode *node = &w->node[n];
	struct xmsg m;

	memset(&m, 0, sizeof(m));
	m.type = RDL_MSG_OPEN;
	if (node->registered && rdl_ambiguous(&node->core))
		m.what = RDL_OPEN_AMBIG;
	node->linked = 0;
	node->answer = 0;
	node->answer_epoch = 0;
	node->answer_dead = 0;
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

/* ---- the core's door ---- */

/* It could go on, and has not asked for a timer. */
static bool asleep(const struct rdl_lock *l, u8 f)
{
	if (!(f & RDL_F_LINK) || l->frz != RDL_FRZ_RUN || l->is_void || l->armed || l->landing)
		return false;
	if (l->st == RDL_ST_STORE)
		return !l->io;
	if (x_cfg.kind == RDL_KIND_FAIR || x_cfg.kind == RDL_KIND_TICKET)
		return l->st == RDL_ST_OWED || l->st == RDL_ST_WANT;
	/* Past the limit only the rebuild helps, which was asked for. */
	if (x_cfg.kind == RDL_KIND_MCS)
		return l->st == RDL_ST_OWED || (l->st == RDL_ST_WANT && rdl_w_ticket(l->guess) < x_cfg.hard);
	return l->st == RDL_ST_OWED || (l->st == RDL_ST_WAIT && rdl_w_ticket(l->guess) < x_cfg.hard);
}

static void check_step(struct xworld *w, int n, const struct rdl_acts *acts, u8 f)
{
	struct xnode *node = &w->node[n];
	const struct rdl_lock *l = &node->core;
	const char *err = rdl_check(l);

	if (err)
		x_fail(w, "node %d: %s", n, err);
	if (acts->n > RDL_MAX_ACTIONS)
		x_fail(w, "node %d: %u actions", n, acts->n);
	if (l->nq != node->n_fifo)
		x_fail(w, "node %d counts %u waiters, there are %u", n, l->nq, node->n_fifo);
	if (l->users != node->holder)
		x_fail(w, "node %d and its users disagree who has the lock", n);
	if (!!l->io + !!l->q.rd + !!l->q.slot != x_op_flying(node))
		x_fail(w, "node %d: the core lost track of its operations", n);
	if (asleep(l, f))
		x_fail(w, "node %d: nothing will wake it from state %s", n, rdl_state_name(l->st));
}

/*
 * What a state does not use is given the worst value that it could have, so that worlds that differ in nothing else are
 * one, and a core that uses it after all is caught.
 */
static void spoil_spin(struct xnode *node)
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

/* The number of attempts is time, but for a try's; the word that was seen last is for tries and conversions only. */
static void spoil_queue(struct xnode *node)
{
	struct rdl_lock *l = &node->core;

	if (l->st == RDL_ST_WAIT || l->st == RDL_ST_DUTY || l->st == RDL_ST_DDUTY)
		l->q.tries = 0;
	/* Where the queue was the last time it was looked at: for the length of the next wait. */
	if (x_cfg.kind == RDL_KIND_TICKET && l->st == RDL_ST_WAIT)
		l->q.from = 0;
	if (x_cfg.kind != RDL_KIND_MCS && !x_cfg.try && l->st != RDL_ST_UPG)
		l->guess = rdl_w_pack(x_cfg.hard, 0, 0, l->epoch, false, false);
	node->local_run = 0;
}

/* Of the queue as it is now. */
static void head(const struct xnode *node, struct rdl_event *ev)
{
	int i;

	if (node->n_fifo)
		ev->head = node->fifo_s & 1 ? RDL_MODE_S : RDL_MODE_X;
	for (i = 0; i < node->n_fifo && (node->fifo_s >> i & 1); i++)
		ev->run++;
}

static bool tries(const struct rdl_lock *l)
{
	return l->st == RDL_ST_TRY || l->st == RDL_ST_PROBE;
}

static void after(struct xworld *w, int n, const struct rdl_lock *was, const struct rdl_event *ev)
{
	struct xnode *node = &w->node[n];
	struct rdl_lock *l = &node->core;
	bool doubt = l->st == RDL_ST_AMBIG || l->st == RDL_ST_DOUBT;
	bool was_doubt = was->st == RDL_ST_AMBIG || was->st == RDL_ST_DOUBT;

	/* The length of waits is time, which is not here. */
	l->k = 0;
	if (!tries(l))
		node->hindered = 0;
	if (x_cfg.kind == RDL_KIND_SPIN)
		spoil_spin(node);
	else
		spoil_queue(node);
	/* A grant or a post is held back for the lease: its renewal must be told. */
	if (!(ev->flags & RDL_F_LEASE) &&
	    (x_cfg.kind == RDL_KIND_SPIN ? !l->users && (l->nq || rdl_owns(l)) :
	     l->st != RDL_ST_NONE || x_op_flying(node)))
		node->want_lease = 1;
	if (!(ev->flags & RDL_F_LEASE) && rdl_reports(l))
		node->want_lease = 1;
	x_user_said(w, n);
	/* Nothing else would bring the home to recover the lock; and at the home itself no new link ever comes. */
	if ((doubt && !was_doubt && !l->landing) ||
	    (x_is_local(n) && l->landing && node->linked && !x_op_flying(node)))
		x_node_open(w, n);
}

/* The core has taken a value that its user changed; no other value may have that version. */
static void written(struct xworld *w, struct xnode *node, int n)
{
	node->copy = node->core.q.ver;
	if (node->instance != w->instance)
		return;
	if (node->copy <= w->newest)
		x_fail(w, "node %d: two values have version %llx", n, (unsigned long long)node->copy);
	w->newest = node->copy;
}

void x_feed(struct xworld *w, int n, struct rdl_event *ev)
{
	struct xnode *node = &w->node[n];
	struct rdl_lock was = node->core;
	const struct rdl_cell *cell;
	struct rdl_acts acts;
	unsigned int i;
	int err;

	if (w->failed)
		return;
	ev->flags = flags(node);
	ev->rnd = 0;
	head(node, ev);
	err = rdl_step(&node->core, ev, &acts);
	x_say("node %d: %s + %s -> %s%s, %u actions", n, rdl_state_name(was.st), rdl_event_name(ev->type),
	      rdl_state_name(node->core.st), err ? " refused" : "", acts.n);
	if (err) {
		x_fail(w, "node %d: event %s refused in state %s", n, rdl_event_name(ev->type),
		       rdl_state_name(was.st));
		return;
	}
	if (ev->dirty)
		written(w, node, n);
	cell = rdl_cell(rdl_kind_ops(was.kind), was.st, ev->type);
	if (!(cell->next >> node->core.st & 1))
		x_fail(w, "%s + %s -> %s is not in the table", rdl_state_name(was.st), rdl_event_name(ev->type),
		       rdl_state_name(node->core.st));
	if (ev->type == RDL_EV_OP && ev->outcome == RDL_AMBIGUOUS && was.st != RDL_ST_LOST &&
	    x_cfg.kind == RDL_KIND_SPIN)
		node->unknown = 1;
	if (node->core.epoch != was.epoch || ev->type == RDL_EV_REJOIN)
		node->unknown = 0;
	for (i = 0; i < acts.n && i < RDL_MAX_ACTIONS; i++)
		x_perform(w, n, &acts, &acts.a[i], ev);
	check_step(w, n, &acts, ev->flags);
	x_exclusion(w);
	after(w, n, &was, ev);
	if (x_unseen(node) && !w->budget[XF_UNSEEN])
		x_node_look(w, n);
}

static void feed_type(struct xworld *w, int n, u8 type)
{
	struct rdl_event ev = { .type = type };

	x_feed(w, n, &ev);
}

/* ---- users ---- */

/* Does anybody else have the lock or want it, or is he in the middle of something? But not if he gives it up for @n. */
static bool in_the_way(const struct xworld *w, int n)
{
	int i;

	for (i = 0; i < x_cfg.nodes; i++) {
		const struct xnode *node = &w->node[i];

		if (i == n)
			continue;
		if (node->n_fifo || node->holder || (x_op_flying(node) && node->core.q.asker != n + 1))
			return true;
	}
	return w->recovering || rdl_w_ticket(w->word) >= x_cfg.soft ||
	       memcmp(w->budget, x_cfg.budget, sizeof(w->budget));
}

/* The answer to a try that is over may be taken for that to the next one, of the same ticket. */
static bool answer_to_come(const struct xworld *w, int n)
{
	int i;

	for (i = 0; i < w->n_peer; i++)
		if (w->peer[i].type == RDL_EV_ANSWER ? w->peer[i].dst == n :
		    w->peer[i].type == RDL_EV_PROBE && w->peer[i].src == n)
			return true;
	for (i = 0; i < x_cfg.nodes; i++)
		if (w->node[i].core.q.asker == n + 1)
			return true;
	return false;
}

void x_node_tries(struct xworld *w)
{
	int n;

	for (n = 0; n < x_cfg.nodes; n++)
		if (tries(&w->node[n].core))
			w->node[n].hindered |= in_the_way(w, n);
}

void x_node_acquire(struct xworld *w, int n, bool try, u8 mode)
{
	struct xnode *node = &w->node[n];
	struct rdl_event ev = { .type = RDL_EV_ACQ, .try = try, .mode = mode };

	if (!node->n_fifo)
		node->hindered = !try || node->core.st != RDL_ST_NONE || x_op_flying(node) || in_the_way(w, n) ||
				 answer_to_come(w, n);
	node->ops--;
	node->fifo |= try << node->n_fifo;
	node->fifo_s |= (mode == RDL_MODE_S) << node->n_fifo;
	node->n_fifo++;
	x_feed(w, n, &ev);
}

void x_node_report(struct xworld *w, int n, u8 report)
{
	struct rdl_event ev = { .type = RDL_EV_REPORT, .report = report };

	if (report == RDL_REPORT_CONSISTENT) {
		w->node[n].told = 2;
		w->whole_by = n + 1;
	}
	x_feed(w, n, &ev);
}

/* If its lease is over, the death that nobody knows of may be another one: its own. */
void x_node_look(struct xworld *w, int n)
{
	struct xnode *node = &w->node[n];
	struct rdl_event ev = { .type = RDL_EV_REPORT, .report = RDL_REPORT_CONSISTENT };

	node->told = 0;
	if (node->instance == w->instance && node->lease != X_LEASE_OVER)
		w->death_untold = 0;
	x_feed(w, n, &ev);
}

/* The death of one that was told of another changes nothing. */
static u8 last_word(struct xworld *w, const struct xnode *node, int n, u8 report)
{
	if (report == RDL_REPORT_FAILED)
		w->gave_up = n + 1;
	if (report != RDL_REPORT_DIED)
		return report;
	if (node->told == 1)
		return RDL_REPORT_NONE;
	w->must = 1;
	w->may = 1;
	w->whole_by = 0;
	return report;
}

void x_node_release(struct xworld *w, int n, bool dirty, u8 report)
{
	struct xnode *node = &w->node[n];
	struct rdl_event ev = { .type = RDL_EV_REL, .dirty = dirty };

	ev.report = last_word(w, node, n, report);
	node->holder--;
	if (!node->holder)
		node->told = 0;
	node->converting = 0;
	if (!node->holder) {
		node->user_mode = 0;
		node->evicted = 0;
	}
	x_feed(w, n, &ev);
}

void x_node_convert(struct xworld *w, int n, bool dirty)
{
	struct xnode *node = &w->node[n];
	struct rdl_event ev = { .type = node->user_mode == RDL_MODE_X ? RDL_EV_DOWN : RDL_EV_UP, .dirty = dirty };

	/* It is a reader from when the operation is posted, and a writer again if it certainly was not done. */
	node->user_mode = RDL_MODE_S;
	node->converting = 1;
	x_feed(w, n, &ev);
}

void x_node_cancel(struct xworld *w, int n, int at)
{
	struct xnode *node = &w->node[n];
	struct rdl_event ev = { .type = RDL_EV_CANCEL };
	bool trying = node->core.st == RDL_ST_TRY || node->core.st == RDL_ST_PROBE;

	ev.try = (node->fifo >> at & 1) && !at && trying && !node->core.q.gone;
	x_drop_waiter(node, at);
	x_feed(w, n, &ev);
}

/* ---- messages ---- */

void x_node_rx(struct xworld *w, int n, const struct xmsg *m)
{
	struct xnode *node = &w->node[n];
	struct rdl_event ev = { .epoch = m->epoch };

	x_say("node %d: %s, epoch %x", n, rdl_msg_name(m->type), m->epoch);
	if (m->type == RDL_MSG_OPENED) {
		node->answer = 1;
		node->answer_epoch = m->epoch;
		node->answer_dead = m->vflags;
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
		ev.rebuilt.pred = m->pred;
		ev.rebuilt.succ = m->succ;
		ev.rebuilt.ver = m->ver;
	}
	x_feed(w, n, &ev);
}

void x_node_peer(struct xworld *w, int at, bool again)
{
	struct xpeer p = w->peer[at];
	struct rdl_event ev = { .type = p.type, .epoch = p.epoch };

	if (!again)
		x_peer_remove(w, at);
	ev.peer.node = p.src;
	ev.peer.mode = p.mode;
	ev.peer.debt = p.debt;
	ev.peer.idle = p.idle;
	ev.peer.ticket = p.ticket;
	ev.peer.vflags = p.vflags;
	ev.peer.ver = p.ver;
	x_say("node %d: %s from node %u, epoch %x, ticket %u", p.dst, rdl_event_name(p.type), p.src, p.epoch, p.ticket);
	x_feed(w, p.dst, &ev);
}

void x_node_opened(struct xworld *w, int n)
{
	struct xnode *node = &w->node[n];
	struct rdl_event ev = { .type = RDL_EV_LINK_UP, .epoch = node->answer_epoch,
				.rebuilt.vflags = node->answer_dead };

	node->answer = 0;
	node->answer_epoch = 0;
	node->answer_dead = 0;
	node->linked = 1;
	if (!node->registered) {
		rdl_lock_init(&node->core, x_cfg.kind, n, ev.epoch, x_cfg.hand);
		rdl_lock_props(&node->core, x_cfg.props, rdl_slot_seed(0, 0));
		node->core.st = RDL_ST_LOST;
		node->core.nq = node->n_fifo;
		node->registered = 1;
		node->copy = 0;
		node->parked = 0;
		ev.type = RDL_EV_REJOIN;
	}
	x_feed(w, n, &ev);
}

/* ---- link and lease ---- */

void x_node_link_down(struct xworld *w, int n)
{
	struct xnode *node = &w->node[n];
	int i;

	node->link = X_DOWN;
	node->linked = 0;
	node->answer = 0;
	node->answer_epoch = 0;
	node->answer_dead = 0;
	node->n_down = 0;
	memset(node->down, 0, sizeof(node->down));
	for (i = 0; i < XO; i++)
		if (node->op[i].st == XOP_POSTED || node->op[i].st == XOP_HALF || node->op[i].st == XOP_LANDED)
			if (!node->op[i].broken)
				node->op[i].broken = 1;
}

void x_node_connect(struct xworld *w, int n)
{
	struct xnode *node = &w->node[n];

	w->delayed_old |= w->delayed & 1 << n;
	/* The home destroys what is left of the old link first. */
	node->n_up = 0;
	memset(node->up, 0, sizeof(node->up));
	x_op_clear(node);
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
	node->told = 0;
	for (i = 0; i < node->n_fifo && !w->failed;) {
		if (!all && !(node->fifo >> i & 1)) {
			i++;
			continue;
		}
		x_drop_waiter(node, i);
		feed_type(w, n, RDL_EV_CANCEL);
	}
	/* The incarnation that they are for is over. */
	x_peer_forget(w, n);
	node->lost = 1;
	node->want_lease = 0;
	node->copy = 0;
	node->parked = 0;
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
	x_peer_forget(w, n);
}
