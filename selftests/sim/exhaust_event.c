// SPDX-License-Identifier: GPL-2.0
/* Exhaustive mode: what may happen in a world, and its happening. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>

#include "exhaust.h"

struct xconfig x_cfg;
char x_why[X_WHY];
int x_trace;
static sigjmp_buf trapped;

static const char * const event_names[X_NR_EVENTS] = {
#define FAULT_NAME(name, text, meaning) [XF_##name] = text,
	X_FAULTS(FAULT_NAME)
#undef FAULT_NAME
#define STEP_NAME(name, text) [XS_##name] = text,
	X_STEPS(STEP_NAME)
#undef STEP_NAME
};

const char *x_event_name(unsigned int type)
{
	return type < X_NR_EVENTS && event_names[type] ? event_names[type] : "?";
}

void x_fail(struct xworld *w, const char *fmt, ...)
{
	va_list ap;

	if (w->failed)
		return;
	w->failed = 1;
	va_start(ap, fmt);
	vsnprintf(x_why, sizeof(x_why), fmt, ap);
	va_end(ap);
	x_say("VIOLATION: %s", x_why);
}

void x_say(const char *fmt, ...)
{
	va_list ap;

	if (!x_trace)
		return;
	va_start(ap, fmt);
	printf("#       ");
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
}

/* ---- the first world ---- */

void x_init(struct xworld *w)
{
	int n;

	memset(w, 0, sizeof(*w));
	w->epoch = rdl_epoch(1, 0);
	w->word = rdl_w_pack(0, 0, 0, w->epoch, false, false);
	memcpy(w->budget, x_cfg.budget, sizeof(w->budget));
	for (n = 0; n < x_cfg.nodes; n++) {
		struct xnode *node = &w->node[n];

		node->ops = x_cfg.ops;
		node->session = 1;
		node->registered = 1;
		node->linked = 1;
		rdl_lock_init(&node->core, x_cfg.kind, n, w->epoch, x_cfg.hand);
		w->openers |= 1 << n;
	}
}

/* ---- what may happen ---- */

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

static void users(struct list *l, const struct xnode *node, int n)
{
	int i;

	if (node->ops && node->n_fifo + node->holder < x_cfg.threads) {
		may(l, XS_ACQ, n, 0);
		if (x_cfg.try)
			may(l, XS_TRY, n, 0);
	}
	if (node->holder)
		may(l, XS_REL, n, 0);
	for (i = 0; i < node->n_fifo; i++)
		may_fail(l, XF_CANCEL, n, i);
}

static void operation(struct list *l, const struct xnode *node, int n)
{
	const struct xop *op = &node->op;

	if (op->st == XOP_POSTED || op->st == XOP_LATE)
		may(l, XS_LAND, n, 0);
	if (node->life != X_ALIVE)
		return;
	switch (op->st) {
	case XOP_POSTED:
		if (op->broken) {
			may(l, XS_DONE, n, RDL_FAILED);
			may(l, XS_DONE, n, RDL_AMBIGUOUS);
			break;
		}
		may_fail(l, XF_REFUSE, n, 0);
		may_fail(l, XF_OPERR, n, 0);
		break;
	case XOP_LANDED:
		/* With a link that broke, too: the completion may have been there before. */
		may(l, XS_DONE, n, RDL_OK);
		if (op->broken)
			may(l, XS_DONE, n, RDL_AMBIGUOUS);
		else
			may_fail(l, XF_OPERR, n, 0);
		break;
	case XOP_DROPPED:
		may(l, XS_DONE, n, RDL_FAILED);
		may(l, XS_DONE, n, RDL_AMBIGUOUS);
		break;
	}
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

	if (node->link != X_DOWN || (node->op.st != XOP_NONE && node->op.st != XOP_LATE))
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

static void of_node(struct list *l, int n)
{
	const struct xnode *node = &l->w->node[n];

	operation(l, node, n);
	if (may_evict(node))
		may(l, XS_EVICT, n, 0);
	if (node->life == X_ALIVE) {
		users(l, node, n);
		if (node->core.armed)
			may(l, XS_TIMER, n, 0);
		messages(l, node, n);
		link_and_lease(l, node, n);
		if (forgotten(l->w, n))
			may(l, XS_REMIND, n, 0);
	} else if (node->n_up) {
		may(l, XS_HOME, n, 0);
	}
	if (node->life != X_GONE)
		return;
	if (node->op.st == XOP_POSTED)
		may(l, XS_QPDEAD, n, 0);
	else
		may_fail(l, XF_REBOOT, n, 0);
}

int x_events(const struct xworld *w, struct xev *ev)
{
	struct list l = { .w = w, .ev = ev };
	int n;

	for (n = 0; n < x_cfg.nodes; n++)
		of_node(&l, n);
	if (!w->recovering)
		may_fail(&l, XF_RECOVER, 0, 0);
	may_fail(&l, XF_RESTART, 0, 0);
	return l.n;
}

/* ---- its happening ---- */

static void gone(struct xnode *node, u8 life)
{
	/* The operation may land; nobody waits for its end. */
	if (node->op.st == XOP_LANDED || node->op.st == XOP_DROPPED)
		memset(&node->op, 0, sizeof(node->op));
	else
		node->op.broken = 0;
	node->life = life;
	memset(&node->core, 0, sizeof(node->core));
	memset(node->down, 0, sizeof(node->down));
	node->n_down = 0;
	node->n_fifo = 0;
	node->fifo = 0;
	node->lost = 0;
	node->registered = 0;
	node->linked = 0;
	node->answer = 0;
	node->answer_epoch = 0;
	node->want_lease = 0;
	node->unknown = 0;
	node->local_run = 0;
}

static void crash(struct xworld *w, int n)
{
	struct xnode *node = &w->node[n];
	bool known = !node->session || node->instance != w->instance;

	if (node->holder && node->instance == w->instance) {
		if (!node->evicted)
			w->death_untold = 1;
		node->evicted = 0;
	}
	gone(node, X_DEAD);
	node->link = X_DOWN;
	/* The home has given it up before, or knows nothing of it. */
	if (!known)
		return;
	node->life = X_GONE;
	node->holder = 0;
	memset(&node->op, 0, sizeof(node->op));
}

static void leave(struct xworld *w, int n)
{
	struct xmsg bye = { .type = RDL_MSG_BYE };
	struct xnode *node = &w->node[n];

	x_node_lose(w, n, true);
	x_queue_up(w, n, &bye);
	gone(node, X_LEAVING);
}

static void duplicate(struct xworld *w, struct xnode *node, int at)
{
	if (node->n_down == XQ) {
		x_fail(w, "simulator: more than %d messages on a link", XQ);
		return;
	}
	memmove(&node->down[at + 1], &node->down[at], (node->n_down - at) * sizeof(node->down[0]));
	node->n_down++;
}

static void lose(struct xnode *node, int at)
{
	struct xmsg *q = at < XQ ? node->up : node->down;
	u8 *n = at < XQ ? &node->n_up : &node->n_down;

	at %= XQ;
	memmove(&q[at], &q[at + 1], (*n - at - 1) * sizeof(*q));
	memset(&q[--*n], 0, sizeof(*q));
}

static void of_home(struct xworld *w, struct xnode *node, int n)
{
	struct xmsg m = node->down[0];

	memmove(node->down, node->down + 1, (XQ - 1) * sizeof(m));
	memset(&node->down[XQ - 1], 0, sizeof(m));
	node->n_down--;
	x_node_rx(w, n, &m);
}

static void renew(struct xworld *w, struct xnode *node, int n)
{
	struct rdl_event ev = { .type = RDL_EV_LEASE };
	bool told = node->want_lease && node->registered;

	node->lease = X_LEASE_OK;
	node->want_lease = 0;
	if (told)
		x_feed(w, n, &ev);
}

static void fault(struct xworld *w, const struct xev *e)
{
	struct xnode *node = &w->node[e->node];

	w->budget[e->type]--;
	switch ((enum xfault)e->type) {
	case XF_CRASH:
		crash(w, e->node);
		break;
	case XF_REBOOT:
		x_node_start(w, e->node);
		x_node_open(w, e->node);
		break;
	case XF_BREAK:
		x_node_link_down(w, e->node);
		break;
	case XF_OPERR:
		/* At the home the pair is made again, elsewhere the link is about to go. */
		if (e->node)
			node->link = X_DYING;
		x_node_op_done(w, e->node, RDL_AMBIGUOUS);
		break;
	case XF_REFUSE:
		x_node_op_done(w, e->node, RDL_FAILED);
		break;
	case XF_EXPIRE:
		node->lease = X_LEASE_OVER;
		break;
	case XF_LOW:
		node->lease = X_LEASE_LOW;
		break;
	case XF_CANCEL:
		x_node_cancel(w, e->node, e->arg);
		break;
	case XF_LEAVE:
		leave(w, e->node);
		break;
	case XF_LOSE:
		lose(node, e->arg);
		break;
	case XF_DUP:
		duplicate(w, node, e->arg);
		break;
	case XF_RECOVER:
		x_home_recover(w, false, false);
		break;
	case XF_RESTART:
		x_home_restart(w);
		break;
	case X_NR_FAULTS:
		break;
	}
}

static void step(struct xworld *w, const struct xev *e)
{
	struct xnode *node = &w->node[e->node];
	struct rdl_event ev = { };
	int n = e->node;

	switch ((enum xstep)e->type) {
	case XS_ACQ:
	case XS_TRY:
		x_node_acquire(w, n, e->type == XS_TRY);
		break;
	case XS_REL:
		node->holder = 0;
		ev.type = RDL_EV_REL;
		x_feed(w, n, &ev);
		break;
	case XS_TIMER:
		ev.type = RDL_EV_TIMER;
		x_feed(w, n, &ev);
		break;
	case XS_LAND:
		x_op_land(w, n);
		break;
	case XS_DONE:
		x_node_op_done(w, n, e->arg);
		break;
	case XS_HOME:
		x_home_rx(w, n);
		break;
	case XS_NODE:
		of_home(w, node, n);
		break;
	case XS_OPENED:
		x_node_opened(w, n);
		break;
	case XS_DOWN:
		x_node_link_down(w, n);
		break;
	case XS_CONNECT:
		x_node_connect(w, n);
		break;
	case XS_FORGET:
		x_node_link_down(w, n);
		x_node_lose(w, n, false);
		break;
	case XS_RENEW:
		renew(w, node, n);
		break;
	case XS_EVICT:
		x_home_evict(w, n);
		break;
	case XS_QPDEAD:
		memset(&node->op, 0, sizeof(node->op));
		break;
	case XS_REMIND:
		x_home_remind(w, n);
		break;
	default:
		break;
	}
}

/* An assertion of the core is a trap. */
static void on_trap(int sig)
{
	(void)sig;
	siglongjmp(trapped, 1);
}

void x_apply(struct xworld *w, const struct xev *e)
{
	static bool ready;

	if (!ready) {
		struct sigaction sa = { .sa_handler = on_trap, .sa_flags = SA_NODEFER };

		sigaction(SIGILL, &sa, NULL);
		ready = true;
	}
	if (sigsetjmp(trapped, 0)) {
		x_fail(w, "an assertion of the core failed");
		return;
	}
	if (e->type < X_NR_FAULTS)
		fault(w, e);
	else
		step(w, e);
}

/* Everybody has had what was wanted, nothing is under way, and the word says so. */
bool x_at_rest(const struct xworld *w)
{
	int n;

	for (n = 0; n < x_cfg.nodes; n++) {
		const struct xnode *node = &w->node[n];

		if (node->op.st != XOP_NONE || node->n_up || node->n_down)
			return false;
		if (node->life == X_GONE)
			continue;
		if (node->life != X_ALIVE || node->ops || node->n_fifo || node->holder || !node->registered ||
		    !node->linked || !rdl_idle(&node->core))
			return false;
	}
	return !w->recovering && !w->delayed && !rdl_w_mid(w->word) && !rdl_w_low(w->word) && !rdl_w_frozen(w->word);
}
