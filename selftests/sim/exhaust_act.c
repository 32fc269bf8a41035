// SPDX-License-Identifier: GPL-2.0
/* Exhaustive mode: what a core asks for is done, and looked at. */
#include "exhaust.h"
#include "slot.h"

/* ---- messages ---- */

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

	x_did[XC_CLAIM] += m->type == RDL_MSG_CLAIM;
	if (node->link == X_DOWN)
		return;
	push(w, node->up, &node->n_up, m);
}

void x_queue_down(struct xworld *w, int n, const struct xmsg *m)
{
	struct xnode *node = &w->node[n];

	x_did[XC_FREEZE] += m->type == RDL_MSG_FREEZE;
	x_did[XC_REBUILT] += m->type == RDL_MSG_REBUILT;
	if (node->life != X_ALIVE || node->link == X_DOWN)
		return;
	if (x_is_local(n))
		x_node_rx(w, n, m);
	else
		push(w, node->down, &node->n_down, m);
}

static void send(struct xworld *w, int n, u8 type, const struct rdl_action *a)
{
	struct xmsg m;

	memset(&m, 0, sizeof(m));
	m.type = type;
	m.epoch = a->epoch;
	m.vflags = a->arg;
	if (type == RDL_MSG_CLAIM) {
		m.what = a->claim.what;
		m.mode = a->claim.mode;
		m.ticket = a->claim.ticket;
		m.ticket_epoch = a->claim.ticket_epoch;
		m.nx = a->claim.nx;
		m.handed_epoch = a->claim.handed_epoch;
		m.handed_ticket = a->claim.handed_ticket;
		m.ver = a->claim.ver;
		m.vflags = a->claim.vflags;
		m.report = a->claim.report;
		if ((x_cfg.props & RDL_P_VALUE) && m.ver > w->node[n].copy)
			x_fail(w, "node %d claims a value that it has not", n);
	}
	x_queue_up(w, n, &m);
}

void x_peer_remove(struct xworld *w, int at)
{
	memmove(&w->peer[at], &w->peer[at + 1], (w->n_peer - at - 1) * sizeof(w->peer[0]));
	memset(&w->peer[--w->n_peer], 0, sizeof(w->peer[0]));
}

void x_peer_forget(struct xworld *w, int n)
{
	int i;

	for (i = w->n_peer; i--;)
		if (w->peer[i].dst == n)
			x_peer_remove(w, i);
}

/* Two that are the same count as one; that one may come twice is a fault of its own. */
static void send_peer(struct xworld *w, int n, u8 type, const struct rdl_action *a, u32 dst, u32 ticket)
{
	struct xpeer p;
	int i;

	if (dst >= (u32)x_cfg.nodes || dst == (u32)n) {
		x_fail(w, "node %d speaks to node %u", n, dst);
		return;
	}
	x_did[XC_GRANT + (type - RDL_EV_GRANT)]++;
	if (w->node[dst].life != X_ALIVE || !w->node[dst].registered || w->node[dst].instance != w->node[n].instance)
		return;
	memset(&p, 0, sizeof(p));
	p.type = type;
	p.src = n;
	p.dst = dst;
	p.mode = a->peer.mode;
	p.debt = a->peer.debt;
	p.idle = a->peer.idle;
	p.epoch = a->epoch;
	p.ticket = ticket;
	p.vflags = a->peer.vflags;
	/* The bytes are the shell's, the version is the core's. */
	if (type == RDL_EV_GRANT)
		p.ver = w->node[n].copy < a->peer.ver ? w->node[n].copy : a->peer.ver;
	x_say("node %d: %s to node %u, ticket %u", n, rdl_event_name(type), dst, ticket);
	for (i = 0; i < w->n_peer; i++)
		if (!memcmp(&w->peer[i], &p, sizeof(p)))
			return;
	if (w->n_peer == XP) {
		x_fail(w, "simulator: more than %d messages between nodes", XP);
		return;
	}
	w->peer[w->n_peer++] = p;
}

static void grant_run(struct xworld *w, int n, const struct rdl_acts *acts, const struct rdl_action *a,
		      const struct rdl_event *ev)
{
	int i;

	for (i = 0; i < x_cfg.nodes; i++)
		if (acts->run[0] >> i & 1)
			send_peer(w, n, RDL_EV_GRANT, a, i, rdl_slot_ticket(le64_to_cpu(ev->slots[i])));
	if (acts->run[0] >> x_cfg.nodes || !ev->nslots)
		x_fail(w, "node %d grants to nodes that do not exist", n);
}

/* ---- users ---- */

static bool counts(const struct xnode *node, u8 instance)
{
	/* A dead node's user counts until the home has given the node up, one whose lease is over does not. */
	return node->holder && node->instance == instance && node->lease != X_LEASE_OVER;
}

void x_exclusion(struct xworld *w)
{
	int i, j;

	for (i = 0; i < x_cfg.nodes; i++) {
		const struct xnode *a = &w->node[i];

		if (a->holder > 1 && a->user_mode == RDL_MODE_X)
			x_fail(w, "node %d has %u writers", i, a->holder);
		for (j = 0; counts(a, a->instance) && j < i; j++) {
			const struct xnode *b = &w->node[j];

			if (counts(b, a->instance) && (a->user_mode == RDL_MODE_X || b->user_mode == RDL_MODE_X))
				x_fail(w, "nodes %d and %d have it at once", j, i);
		}
	}
}

static void check_token(struct xworld *w, int n, u64 token, u8 mode)
{
	/* An instance that is over goes on only where nobody has noticed; its grants are named by it. */
	if (w->node[n].instance != w->instance)
		return;
	if (mode == RDL_MODE_X ? token <= w->last_token : token <= w->last_x)
		x_fail(w, "node %d: token %llx after %llx", n, (unsigned long long)token,
		       (unsigned long long)(mode == RDL_MODE_X ? w->last_token : w->last_x));
	if (mode == RDL_MODE_X)
		w->last_x = token;
	if (token > w->last_token)
		w->last_token = token;
}

static void check_value(struct xworld *w, int n, u32 flags)
{
	struct xnode *node = &w->node[n];

	if (!(x_cfg.props & RDL_P_VALUE) || node->instance != w->instance)
		return;
	if (flags & RDL_GRANT_VALUE_INVALID)
		w->newest = node->copy;
	if (node->copy != w->newest)
		x_fail(w, "node %d gets value %llx, the newest is %llx", n, (unsigned long long)node->copy,
		       (unsigned long long)w->newest);
	if (node->copy != node->core.q.ver)
		x_fail(w, "node %d: core and shell disagree about the value", n);
}

static void check_budget(struct xworld *w, int n, const struct rdl_action *a, u8 mode)
{
	struct xnode *node = &w->node[n];
	const struct rdl_queue *q = &node->core.q;

	if (!(a->arg & RDL_GRANT_LOCAL))
		return;
	if (x_cfg.kind == RDL_KIND_SPIN ? ++node->local_run > x_cfg.hand :
	    (mode == RDL_MODE_S || q->hint) && node->core.handovers > x_cfg.hand)
		x_fail(w, "node %d hands over more often than its budget", n);
}

/* However often they look: a budget of them, or one, may come in behind the writer's draw. */
static void check_readers(struct xworld *w, int n, const struct rdl_action *a, u8 mode, u32 many)
{
	struct xnode *node = &w->node[n];

	if (mode != RDL_MODE_S || !(a->arg & RDL_GRANT_LOCAL) || !rdl_w_mid(w->word))
		node->joined = 0;
	else
		node->joined += many;
	if (node->joined > (x_cfg.hand ? x_cfg.hand : 1))
		x_fail(w, "readers of node %d keep a writer out", n);
}

static void check_robust(struct xworld *w, int n, bool told)
{
	if (w->must && !told)
		x_fail(w, "node %d is not told that an owner died", n);
	if (!w->may && told)
		x_fail(w, "node %d is told of a death that was none", n);
	if (w->gave_up)
		x_fail(w, "granted on node %d though node %d has given up", n, w->gave_up - 1);
	if (w->dead & RDL_VF_NOTRECOVERABLE)
		x_fail(w, "granted on node %d though it is not recoverable", n);
}

void x_user_said(struct xworld *w, int n)
{
	struct xnode *node = &w->node[n];

	if (node->told != 2 || rdl_reports(&node->core))
		return;
	node->told = 0;
	if (w->dead & RDL_VF_OWNER_DIED && w->openers >> n & 1 && node->instance == w->instance)
		x_fail(w, "node %d said that it is whole, and the home does not know", n);
}

static void deliver(struct xworld *w, int n, const struct rdl_action *a, u8 f)
{
	struct xnode *node = &w->node[n];
	u32 many = a->n ? a->n : 1, i;
	u8 mode = a->mode == RDL_MODE_S ? RDL_MODE_S : RDL_MODE_X;

	if (!(f & RDL_F_LEASE))
		x_fail(w, "granted on node %d without a valid lease", n);
	if (node->n_fifo < many) {
		x_fail(w, "node %d grants to nobody", n);
		return;
	}
	for (i = 0; i < many; i++) {
		if ((node->fifo_s & 1 ? RDL_MODE_S : RDL_MODE_X) != mode)
			x_fail(w, "node %d: a waiter is given mode %u", n, mode);
		check_token(w, n, a->val + i, mode);
		x_drop_waiter(node, 0);
	}
	if (a->val + many - 1 != node->core.token)
		x_fail(w, "the token delivered is not the token kept");
	check_budget(w, n, a, mode);
	check_readers(w, n, a, mode, many);
	node->holder += many;
	node->user_mode = mode;
	x_say("node %d: %u have it, mode %u, token %llx%s", n, many, mode, (unsigned long long)a->val,
	      a->arg & RDL_GRANT_OWNER_DIED ? ", the owner died" : "");
	node->told = !!(a->arg & (RDL_GRANT_OWNER_DIED | RDL_GRANT_MAYBE_DIED));
	if (node->instance == w->instance && x_cfg.props & RDL_P_ROBUST)
		check_robust(w, n, node->told);
	else if (node->instance == w->instance && w->death_untold && !node->told)
		x_fail(w, "node %d is not told that the owner died", n);
	check_value(w, n, a->arg);
	x_exclusion(w);
}

void x_drop_waiter(struct xnode *node, int at)
{
	u8 below = (1 << at) - 1;

	node->fifo = (node->fifo & below) | (node->fifo >> (at + 1) << at);
	node->fifo_s = (node->fifo_s & below) | (node->fifo_s >> (at + 1) << at);
	node->n_fifo--;
}

static void waiter_failed(struct xworld *w, int n, int at, u32 err)
{
	struct xnode *node = &w->node[n];

	if (at < 0 || at >= node->n_fifo) {
		x_fail(w, "node %d fails nobody", n);
		return;
	}
	if (err == ENOTRECOVERABLE) {
		if (!(w->dead & RDL_VF_NOTRECOVERABLE) && w->openers >> n & 1 && node->instance == w->instance)
			x_fail(w, "node %d gives up a lock that can be had", n);
	} else if (!(node->fifo >> at & 1) || (err != EAGAIN && err != EHOSTUNREACH)) {
		x_fail(w, "a waiter of node %d failed with errno %u", n, err);
	}
	if (!at && err == EAGAIN && !node->hindered && x_cfg.kind != RDL_KIND_SPIN)
		x_fail(w, "a try of node %d fails, and nobody has the lock in use or wants it", n);
	x_drop_waiter(node, at);
}

void x_user_cut_off(struct xworld *w, int n)
{
	struct xnode *node = &w->node[n];

	/* If it slept through its own eviction, the next owner may have been told already. */
	if (node->holder && node->user_mode == RDL_MODE_X && !node->evicted && node->instance == w->instance) {
		w->death_untold = 1;
		w->must = 1;
		w->may = 1;
	}
	node->told = 0;
	if (node->holder)
		node->evicted = 0;
	node->holder = 0;
	node->user_mode = 0;
	node->converting = 0;
}

static void converted(struct xworld *w, int n, const struct rdl_action *a)
{
	struct xnode *node = &w->node[n];

	if (!node->converting || node->holder != 1)
		x_fail(w, "node %d converts for nobody", n);
	node->converting = 0;
	node->user_mode = a->mode;
	check_token(w, n, a->val, a->mode);
	x_exclusion(w);
}

static void convert_failed(struct xworld *w, int n)
{
	struct xnode *node = &w->node[n];

	if (!node->converting)
		x_fail(w, "node %d refuses a conversion that nobody asked for", n);
	node->converting = 0;
	node->user_mode = node->core.q.mode;
	x_exclusion(w);
}

/* ---- all of them ---- */

static void post(struct xworld *w, int n, const struct rdl_action *a, u8 f)
{
	struct xnode *node = &w->node[n];

	if (!(f & RDL_F_LINK) || node->core.frz != RDL_FRZ_RUN)
		x_fail(w, "node %d posts when it must not", n);
	if (node->unknown)
		x_fail(w, "node %d posts though an outcome is not known", n);
	x_op_post(w, n, a);
}

static void take(struct xnode *node, const struct rdl_action *a, const struct rdl_event *ev)
{
	if (a->arg)
		node->copy = node->parked;
	else
		node->copy = ev->type == RDL_EV_REBUILT ? ev->rebuilt.ver : ev->peer.ver;
}

static void message(struct xworld *w, int n, const struct rdl_acts *acts, const struct rdl_action *a,
		    const struct rdl_event *ev)
{
	switch (a->type) {
	case RDL_ACT_CLAIM:
		send(w, n, RDL_MSG_CLAIM, a);
		break;
	case RDL_ACT_ROLL:
		send(w, n, RDL_MSG_ROLL_REQ, a);
		break;
	case RDL_ACT_CONSISTENT:
		send(w, n, RDL_MSG_CONSISTENT, a);
		break;
	case RDL_ACT_QUERY:
		send(w, n, X_MSG_QUERY, a);
		break;
	case RDL_ACT_SEND_GRANT:
		send_peer(w, n, RDL_EV_GRANT, a, a->peer.node, a->peer.ticket);
		break;
	case RDL_ACT_GRANT_RUN:
		grant_run(w, n, acts, a, ev);
		break;
	case RDL_ACT_SEND_HINT:
		send_peer(w, n, RDL_EV_HINT, a, a->peer.node, a->peer.ticket);
		break;
	case RDL_ACT_SEND_PROBE:
		send_peer(w, n, RDL_EV_PROBE, a, a->peer.node, a->peer.ticket);
		break;
	case RDL_ACT_SEND_ANSWER:
		send_peer(w, n, RDL_EV_ANSWER, a, a->peer.node, a->peer.ticket);
		break;
	default:
		x_fail(w, "node %d: action %u", n, a->type);
	}
}

void x_perform(struct xworld *w, int n, const struct rdl_acts *acts, const struct rdl_action *a,
	       const struct rdl_event *ev)
{
	struct xnode *node = &w->node[n];

	switch (a->type) {
	case RDL_ACT_POST_CAS:
	case RDL_ACT_POST_FAA:
	case RDL_ACT_POST_READ_SLOTS:
	case RDL_ACT_POST_READ_VALUE:
	case RDL_ACT_POST_READ_WORD:
	case RDL_ACT_POST_WRITE_SLOT:
	case RDL_ACT_POST_READ_AREA:
	case RDL_ACT_POST_WRITE_VALUE:
		post(w, n, a, ev->flags);
		break;
	case RDL_ACT_DELIVER:
		deliver(w, n, a, ev->flags);
		break;
	case RDL_ACT_FAIL_HEAD:
		waiter_failed(w, n, 0, a->arg);
		break;
	case RDL_ACT_FAIL_TAIL:
		waiter_failed(w, n, node->n_fifo - 1, a->arg);
		break;
	case RDL_ACT_FAIL_ALL:
		while (node->n_fifo && !w->failed)
			waiter_failed(w, n, 0, a->arg);
		break;
	case RDL_ACT_TIMER:
		/* Otherwise the bound on atomics in a wait of 1 ms does not hold; see limits.h. */
		if (x_cfg.kind == RDL_KIND_SPIN && a->val && a->val < RDL_SPIN_BASE_NS / 2)
			x_fail(w, "node %d waits for %llu ns only", n, (unsigned long long)a->val);
		break;
	case RDL_ACT_LOST:
		x_say("node %d: its users are told that the grant is gone", n);
		x_user_cut_off(w, n);
		break;
	case RDL_ACT_TAKE:
		take(node, a, ev);
		break;
	case RDL_ACT_PARK:
		node->parked = ev->peer.ver;
		break;
	case RDL_ACT_CONVERTED:
		converted(w, n, a);
		break;
	case RDL_ACT_CONVERT_FAILED:
		convert_failed(w, n);
		break;
	default:
		message(w, n, acts, a, ev);
	}
}
