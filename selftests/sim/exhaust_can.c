// SPDX-License-Identifier: GPL-2.0
/* Exhaustive mode: what may happen in a world, and whether all that must happen has happened. */
#include "exhaust.h"

struct list {
	const struct xworld *w;
	struct xev *ev;
	int n;
};

static void may(struct list *l, u8 type, int node, u8 arg)
{
	struct xev *e = &l->ev[l->n++];

	*e = (struct xev){ .type = type, .node = node, .arg = arg };
}

static void may_fail(struct list *l, u8 fault, int node, u8 arg)
{
	if (l->w->budget[fault])
		may(l, fault, node, arg);
}

/* Would it be posted at once? Otherwise the user cannot go on, and its value does not count. */
static bool may_post(const struct xnode *node)
{
	const struct rdl_lock *l = &node->core;

	return node->link == X_UP && node->linked && node->lease == X_LEASE_OK && l->frz == RDL_FRZ_RUN &&
	       !l->is_void && !l->landing && !l->q.paused;
}

static bool robust_owner(const struct xnode *node)
{
	return x_cfg.props & RDL_P_ROBUST && node->holder && node->user_mode == RDL_MODE_X && !node->converting;
}

/* A release without a word gives it up. */
static bool ruins(const struct xnode *node)
{
	return robust_owner(node) && node->told == 1;
}

static void users(struct list *l, const struct xnode *node, int n)
{
	/* What a user writes after its lease was over counts for nothing. */
	bool value = x_cfg.props & RDL_P_VALUE && node->user_mode == RDL_MODE_X && node->lease != X_LEASE_OVER;
	int i;

	if (node->ops && node->n_fifo + node->holder < x_cfg.threads) {
		if (!x_cfg.stay || !n)
			may(l, XS_ACQ, n, RDL_MODE_X);
		if (x_cfg.shared || (x_cfg.stay && n))
			may(l, XS_ACQ, n, RDL_MODE_S);
		if (x_cfg.try)
			may(l, XS_TRY, n, RDL_MODE_X);
		if (x_cfg.try && x_cfg.shared)
			may(l, XS_TRY, n, RDL_MODE_S);
	}
	if (node->holder && x_unseen(node)) {
		may(l, XS_LOOK, n, 0);
		may_fail(l, XF_UNSEEN, n, 0);
	} else if (node->holder && !(x_cfg.stay && node->user_mode == RDL_MODE_S)) {
		if (!ruins(node))
			may(l, XS_REL, n, 0);
		if (value && !node->converting && !ruins(node))
			may(l, XS_REL, n, 1);
	}
	if (robust_owner(node)) {
		if (node->told == 1)
			may(l, XS_SAY, n, 0);
		if (node->told == 1)
			may_fail(l, XF_GIVE_UP, n, 0);
		may_fail(l, XF_DIE, n, 0);
	}
	if (node->registered && node->core.dead & RDL_VF_NOTRECOVERABLE && !rdl_reports(&node->core))
		may_fail(l, XF_RESET, n, 0);
	if (node->holder == 1 && !node->converting && node->told != 2 && !x_unseen(node) &&
	    node->core.st == RDL_ST_HELD && node->core.frz != RDL_FRZ_CLAIMED) {
		may_fail(l, XF_CONVERT, n, 0);
		if (value && may_post(node))
			may_fail(l, XF_CONVERT, n, 1);
	}
	for (i = 0; i < node->n_fifo; i++)
		may_fail(l, XF_CANCEL, n, i);
}

static void operation(struct list *l, const struct xnode *node, int n)
{
	int at = x_op_to_end(node);
	const struct xop *op = at < 0 ? NULL : &node->op[at];

	if (x_op_to_land(node) >= 0)
		may(l, XS_LAND, n, 0);
	if (node->life != X_ALIVE || !op)
		return;
	/* With a link that broke, too: the completion may have been there before. */
	if (op->st == XOP_LANDED && op->broken < 2)
		may(l, XS_DONE, n, RDL_OK);
	if (op->broken || op->st == XOP_DROPPED) {
		may(l, XS_DONE, n, RDL_AMBIGUOUS);
		/* Also behind a value that has landed; the last pieces of a big one may never have been sent. */
		if (op->st == XOP_POSTED || op->st == XOP_DROPPED ||
		    (op->st == XOP_HALF && (op->arg & RDL_POST_VALUE || op->type == RDL_ACT_POST_WRITE_VALUE)))
			may(l, XS_DONE, n, RDL_FAILED);
		return;
	}
	may_fail(l, XF_OPERR, n, 0);
	op = &node->op[x_op_last(node)];
	if (op->st == XOP_POSTED || (op->st == XOP_HALF && op->arg & RDL_POST_VALUE))
		may_fail(l, XF_REFUSE, n, 0);
}

static void messages(struct list *l, const struct xnode *node, int n)
{
	int i;

	if (node->n_up)
		may(l, XS_HOME, n, 0);
	for (i = 0; i < node->n_up; i++)
		if (node->up[i].type == RDL_MSG_CLAIM && n)
			may_fail(l, XF_LOSE, n, i);
	for (i = 0; i < node->n_down; i++) {
		if (node->down[i].type == RDL_MSG_OPENED)
			continue;
		may_fail(l, XF_DUP, n, i);
		if (node->down[i].type == RDL_MSG_FREEZE)
			may_fail(l, XF_LOSE, n, XQ + i);
	}
	if (node->n_down)
		may(l, XS_NODE, n, 0);
	if (node->answer)
		may(l, XS_OPENED, n, 0);
}

/* The node has not got the FREEZE, or the home has not got the CLAIM, and neither is under way. */
static bool forgotten(const struct xworld *w, int n)
{
	const struct xnode *node = &w->node[n];
	int i;

	if (!x_home_expects(w, n) || node->life != X_ALIVE || node->link != X_UP)
		return false;
	if (node->registered && node->core.frz == RDL_FRZ_FREEZING)
		return false;
	for (i = 0; i < node->n_down; i++)
		if (node->down[i].type == RDL_MSG_FREEZE)
			return false;
	for (i = 0; i < node->n_up; i++)
		if (node->up[i].type == RDL_MSG_CLAIM && node->up[i].epoch == w->epoch)
			return false;
	return true;
}

static bool may_connect(const struct xworld *w, int n)
{
	const struct xnode *node = &w->node[n];

	if (node->link != X_DOWN || x_op_flying(node))
		return false;
	if (node->instance != w->instance)
		return true;
	/* Resumed; or a new incarnation, once the home has given up the old one. */
	return node->lost ? !node->session : node->session && node->lease != X_LEASE_OVER;
}

static void link_and_lease(struct list *l, const struct xnode *node, int n)
{
	const struct xworld *w = l->w;
	bool joined = !node->lost && node->session && node->lease != X_LEASE_OVER;

	/* Of the home's own agent nothing of this is true. */
	if (!n)
		return;
	if (node->link != X_DOWN)
		may_fail(l, XF_BREAK, n, 0);
	if (node->link == X_DYING)
		may(l, XS_DOWN, n, 0);
	if (may_connect(w, n))
		may(l, XS_CONNECT, n, 0);
	if (joined) {
		may_fail(l, XF_EXPIRE, n, 0);
		if (node->lease == X_LEASE_OK)
			may_fail(l, XF_LOW, n, 0);
		if (node->link == X_UP && (node->lease == X_LEASE_LOW || node->want_lease))
			may(l, XS_RENEW, n, 0);
		if (node->link == X_UP && node->instance == w->instance)
			may_fail(l, XF_LEAVE, n, 0);
	}
	if (node->lease == X_LEASE_OVER && !node->lost)
		may(l, XS_FORGET, n, 0);
	may_fail(l, XF_CRASH, n, 0);
}

static bool may_evict(const struct xnode *node)
{
	switch (node->life) {
	case X_ALIVE:
		return node->session && node->lease == X_LEASE_OVER;
	case X_LEAVING:
		/* The answer to BYE ends the link, and that the membership. */
		return node->session == 2 || node->link == X_DOWN;
	case X_DEAD:
		return true;
	}
	return false;
}

/* Waits for its turn, knows of nothing more to do for it, and has set its watchdog. */
static bool watches(const struct xnode *node)
{
	const struct rdl_lock *l = &node->core;

	return (x_cfg.kind == RDL_KIND_FAIR || x_cfg.kind == RDL_KIND_MCS) && l->st == RDL_ST_WAIT &&
	       l->frz == RDL_FRZ_RUN && !l->q.step && !l->q.paused;
}

/* A QUERY is under way: another would tell the home nothing. */
static bool asks(const struct xnode *node)
{
	int i;

	for (i = 0; i < node->n_up; i++)
		if (node->up[i].type == X_MSG_QUERY)
			return true;
	return false;
}

/* A message of a node that is gone may never come. */
static void peers(struct list *l)
{
	const struct xworld *w = l->w;
	int i;

	for (i = 0; i < w->n_peer; i++) {
		const struct xpeer *p = &w->peer[i];
		const struct xnode *src = &w->node[p->src];

		may(l, XS_PEER, p->dst, i);
		if (src->life != X_ALIVE || src->lost)
			may(l, XS_VANISH, p->dst, i);
		may_fail(l, XF_DROP, p->dst, i);
		may_fail(l, XF_DUP, p->dst, 2 * XQ + i);
	}
}

static void of_node(struct list *l, int n)
{
	const struct xnode *node = &l->w->node[n];

	operation(l, node, n);
	if (may_evict(node))
		may(l, XS_EVICT, n, 0);
	if (node->life == X_ALIVE) {
		users(l, node, n);
		if (node->core.armed && !watches(node))
			may(l, XS_TIMER, n, 0);
		/* What it looks for may be gone for good; it asks the home after many attempts. */
		if (node->core.armed && l->w->lossy && node->core.st == RDL_ST_WAIT &&
		    node->core.frz == RDL_FRZ_RUN && node->core.q.step && !asks(node))
			may(l, XS_TIMER, n, 2);
		messages(l, node, n);
		link_and_lease(l, node, n);
		if (forgotten(l->w, n))
			may(l, XS_REMIND, n, 0);
	} else if (node->n_up) {
		may(l, XS_HOME, n, 0);
	}
	if (node->life != X_GONE)
		return;
	if (node->op[0].st != XOP_NONE)
		may(l, XS_QPDEAD, n, 0);
	else
		may_fail(l, XF_REBOOT, n, 0);
}

/* Nothing else happens but that users may want the lock: then the watchdogs' time comes. */
static void watchdogs(struct list *l)
{
	int i, n;

	for (i = 0; i < l->n; i++)
		if (l->ev[i].type > X_STEP_BEFORE && l->ev[i].type != XS_ACQ && l->ev[i].type != XS_TRY)
			return;
	for (n = 0; n < x_cfg.nodes; n++) {
		const struct xnode *node = &l->w->node[n];

		if (node->life == X_ALIVE && node->core.armed && watches(node))
			may(l, XS_TIMER, n, 1);
	}
}

int x_events(const struct xworld *w, struct xev *ev)
{
	struct list l = { .w = w, .ev = ev };
	int n;

	for (n = 0; n < x_cfg.nodes; n++)
		of_node(&l, n);
	peers(&l);
	watchdogs(&l);
	if (!w->recovering)
		may_fail(&l, XF_RECOVER, 0, 0);
	may_fail(&l, XF_RESTART, 0, 0);
	return l.n;
}

/* ---- the end ---- */

/* All readers are in; or the writer waits for those that are, and others may wait behind it. */
static bool readers_stay(const struct xworld *w)
{
	int n;

	for (n = 1; n < x_cfg.nodes; n++)
		if (w->node[n].ops || (w->node[n].n_fifo && !w->node[0].n_fifo))
			return false;
	return true;
}

/* Nothing is held; or it is kept for nothing, and the word counts or names it. */
static bool node_rests(const struct xnode *node, u32 *kept)
{
	const struct rdl_lock *l = &node->core;

	if (node->ops || node->n_fifo || node->holder || !node->registered || !node->linked)
		return false;
	/* Nobody closes it here, so it does not matter whether it may be. */
	if (l->st == RDL_ST_NONE)
		return l->frz == RDL_FRZ_RUN && !l->is_void && !x_op_flying(node);
	if (l->st != RDL_ST_CACHED)
		return rdl_idle(l);
	*kept += x_cfg.kind == RDL_KIND_MCS ? l->node + 1 : 1 + l->q.debt;
	return l->frz == RDL_FRZ_RUN && !x_op_flying(node);
}

/* Everybody has had what was wanted, nothing is under way, and the word says so. */
bool x_at_rest(const struct xworld *w)
{
	u32 kept = 0;
	int n;

	if (x_cfg.stay)
		return readers_stay(w);
	for (n = 0; n < x_cfg.nodes; n++) {
		const struct xnode *node = &w->node[n];

		if (node->op[0].st != XOP_NONE || node->n_up || node->n_down)
			return false;
		if (node->life != X_GONE && (node->life != X_ALIVE || !node_rests(node, &kept)))
			return false;
	}
	return !w->recovering && !w->delayed && !w->n_peer && rdl_w_mid(w->word) == kept && !rdl_w_low(w->word) &&
	       !rdl_w_frozen(w->word);
}
