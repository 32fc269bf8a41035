// SPDX-License-Identifier: GPL-2.0
/* Exhaustive mode: the first world, and what happens. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>

#include "exhaust.h"
#include "slot.h"

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
	/* Who waits for readers that stay may ask the home as often as it likes. */
	w->lossy = !!x_cfg.stay;
	for (n = 0; n < x_cfg.nodes; n++) {
		struct xnode *node = &w->node[n];

		node->ops = x_cfg.ops;
		node->session = 1;
		node->registered = 1;
		node->linked = 1;
		rdl_lock_init(&node->core, x_cfg.kind, n, w->epoch, x_cfg.hand);
		rdl_lock_props(&node->core, x_cfg.props, rdl_slot_seed(0, 0));
		w->openers |= 1 << n;
	}
}

/* ---- its happening ---- */

static void gone(struct xnode *node, u8 life)
{
	int i;

	/* What is in flight may land; nobody waits for its end. */
	while (node->op[0].st == XOP_LANDED || node->op[0].st == XOP_DROPPED) {
		memmove(&node->op[0], &node->op[1], (XO - 1) * sizeof(node->op[0]));
		memset(&node->op[XO - 1], 0, sizeof(node->op[0]));
	}
	for (i = 0; i < XO; i++)
		node->op[i].broken = 0;
	node->copy = 0;
	node->parked = 0;
	node->converting = 0;
	node->life = life;
	memset(&node->core, 0, sizeof(node->core));
	memset(node->down, 0, sizeof(node->down));
	node->n_down = 0;
	node->n_fifo = 0;
	node->fifo = 0;
	node->fifo_s = 0;
	node->lost = 0;
	node->registered = 0;
	node->linked = 0;
	node->answer = 0;
	node->answer_epoch = 0;
	node->answer_dead = 0;
	node->told = 0;
	node->want_lease = 0;
	node->unknown = 0;
	node->local_run = 0;
	node->hindered = 0;
}

static void crash(struct xworld *w, int n)
{
	struct xnode *node = &w->node[n];
	bool known = !node->session || node->instance != w->instance;

	if (node->holder && node->user_mode == RDL_MODE_X && node->instance == w->instance) {
		if (!node->evicted) {
			w->death_untold = 1;
			w->must = 1;
			w->may = 1;
		}
		node->evicted = 0;
	}
	gone(node, X_DEAD);
	x_peer_forget(w, n);
	node->link = X_DOWN;
	/* The home has given it up before, or knows nothing of it. */
	if (!known)
		return;
	node->life = X_GONE;
	node->holder = 0;
	node->user_mode = 0;
	x_op_clear(node);
}

static void leave(struct xworld *w, int n)
{
	struct xnode *node = &w->node[n];
	struct xmsg bye;

	memset(&bye, 0, sizeof(bye));
	bye.type = RDL_MSG_BYE;
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
	if (e->type == XF_CRASH || e->type == XF_EXPIRE || e->type == XF_LEAVE || e->type == XF_DROP ||
	    e->type == XF_RESTART)
		w->lossy = x_cfg.kind != RDL_KIND_SPIN;
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
		x_op_done(w, e->node, RDL_AMBIGUOUS);
		break;
	case XF_REFUSE:
		x_op_refuse(w, e->node);
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
		if (e->arg < 2 * XQ)
			duplicate(w, node, e->arg);
		else
			x_node_peer(w, e->arg - 2 * XQ, true);
		break;
	case XF_DROP:
		x_peer_remove(w, e->arg);
		break;
	case XF_CONVERT:
		x_node_convert(w, e->node, e->arg);
		break;
	case XF_RECOVER:
		x_home_recover(w, false, false);
		break;
	case XF_RESTART:
		x_home_restart(w);
		break;
	case XF_DIE:
		x_node_release(w, e->node, false, RDL_REPORT_DIED);
		break;
	case XF_GIVE_UP:
		x_node_release(w, e->node, false, RDL_REPORT_FAILED);
		break;
	case XF_UNSEEN:
		x_node_release(w, e->node, false, RDL_REPORT_NONE);
		break;
	case XF_RESET:
		w->reset = 1;
		x_node_report(w, e->node, RDL_REPORT_RESET);
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
		x_node_acquire(w, n, e->type == XS_TRY, e->arg);
		break;
	case XS_REL:
		x_node_release(w, n, e->arg, RDL_REPORT_NONE);
		break;
	case XS_SAY:
		x_node_report(w, n, RDL_REPORT_CONSISTENT);
		break;
	case XS_LOOK:
		x_node_look(w, n);
		break;
	case XS_TIMER:
		/* The time of a try that has asked may be over. */
		node->hindered |= node->core.st == RDL_ST_PROBE;
		if (e->arg == 2)
			node->core.q.tries = RDL_SEEKS_QUERY - 1;
		if (e->arg == 1 && !w->lossy)
			x_fail(w, "node %d waits for its watchdog, and nothing was lost", n);
		ev.type = RDL_EV_TIMER;
		x_feed(w, n, &ev);
		break;
	case XS_LAND:
		x_op_land(w, n);
		break;
	case XS_DONE:
		x_op_done(w, n, e->arg);
		break;
	case XS_PEER:
		x_node_peer(w, e->arg, false);
		break;
	case XS_VANISH:
		x_peer_remove(w, e->arg);
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
		x_op_clear(node);
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
	x_node_tries(w);
}
