// SPDX-License-Identifier: GPL-2.0
/*
 * One world: what its seed makes of it, what goes wrong in it and when, and whether it comes to rest.
 */
#include <stdarg.h>
#include <stdlib.h>

#include "sim.h"

u32 sim_ticket_soft, sim_ticket_hard;
u32 sim_debt_max = 2;	/* small, so that it is reached */
int sim_bust, sim_forgive, sim_trace;

void violation(struct world *w, const char *fmt, ...)
{
	va_list ap;

	if (w->failed)
		return;
	w->failed = true;
	va_start(ap, fmt);
	vsnprintf(w->why, sizeof(w->why), fmt, ap);
	va_end(ap);
	trace(w, "VIOLATION: %s", w->why);
}

void trace(struct world *w, const char *fmt, ...)
{
	va_list ap;

	if (!sim_trace)
		return;
	va_start(ap, fmt);
	printf("# %10.3f us  ", w->now / 1000.0);
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
}

/* ---- faults ---- */

enum fault {
	FAULT_BREAK,
	FAULT_CRASH,
	FAULT_CRASH_FOR_GOOD,
	FAULT_PAUSE,
	FAULT_PAUSE_LONG,	/* past the lease */
	FAULT_PARTITION,
	FAULT_PARTITION_LONG,
	FAULT_SLOW,
	FAULT_RECOVER,		/* for no reason */
	FAULT_FREEZE_AGAIN,
	FAULT_GARBAGE,
	FAULT_DIE_CLAIMED,	/* the owner, while the home waits for somebody else's claim */
	FAULT_SHED,		/* memory is short: nothing that is idle is kept */
	FAULT_OP,		/* its end is an error, the link still carries messages for a while */
	NR_FAULTS,
};

static void resume(struct world *w, struct event *e)
{
	trace(w, "node %d wakes", e->node);
}

static void pause(struct world *w, int n, u64 ns)
{
	struct node *node = &w->node[n];

	if (!node->alive || !n)
		return;
	trace(w, "node %d pauses for %llu us", n, (unsigned long long)(ns / US));
	if (w->now + ns > node->paused_until)
		node->paused_until = w->now + ns;
	sched(w, ns, resume, n);
}

static void partition(struct world *w, int n, u64 ns)
{
	if (!n)
		return;
	trace(w, "node %d is cut off for %llu us", n, (unsigned long long)(ns / US));
	if (w->now + ns > w->node[n].blocked_until)
		w->node[n].blocked_until = w->now + ns;
	if (w->node[n].alive)
		node_link_lost(w, n);
}

/* Bits that changed on the way: the check throws the message away before anybody reads it. */
static void garbage(struct world *w, int n)
{
	bool home = chance(w, 50);
	struct event *e;
	u32 i, flips = 1 + rnd(w, 8);

	if (!w->links)
		return;
	e = sched(w, 0, home ? home_message : node_message, home ? -1 : n);
	e->link = rnd(w, w->links);
	memset(&e->msg, 0, sizeof(e->bytes));
	e->msg.type = rnd(w, RDL_NR_MSGS);
	e->msg.epoch = cpu_to_le32(w->home.lock[0].epoch);
	rdl_msg_seal(&e->msg, 0);
	e->len = chance(w, 80) ? rdl_msg_len(e->msg.type) : rnd(w, MAX_MSG);
	for (i = 0; i < flips; i++)
		e->bytes[rnd(w, sizeof(struct rdl_msg))] ^= 1 + rnd(w, 255);
}

static void strike(struct world *w, struct event *e);

static void die_claimed(struct world *w)
{
	int lock = rnd(w, w->cfg.locks), owner = 0, i;
	int other = 1 + rnd(w, w->cfg.nodes - 1);
	struct event *e;

	for (i = 1; i < w->cfg.nodes; i++)
		if (w->node[i].agent[lock].users)
			owner = i;
	if (owner < 1 || other == owner)
		return;
	pause(w, other, w->cfg.lease / 2);
	home_recover(w, lock, false, false, 0);
	e = sched(w, 8 * w->cfg.latency, strike, -1);
	e->arg = FAULT_CRASH;
	e->gen = owner + 1;
}

static void strike(struct world *w, struct event *e)
{
	u64 lease = w->cfg.lease;
	int n = e->gen ? (int)e->gen - 1 : (int)rnd(w, w->cfg.nodes);

	if (w->failed)
		return;
	switch ((enum fault)e->arg) {
	case FAULT_BREAK:
		if (w->node[n].alive)
			node_link_lost(w, n);
		break;
	case FAULT_CRASH:
		if (n)
			node_crash(w, n, chance(w, 50) ? about(w, lease) : rnd(w, lease / 10));
		break;
	case FAULT_CRASH_FOR_GOOD:
		if (n)
			node_crash(w, n, NEVER);
		break;
	case FAULT_PAUSE:
		pause(w, n, about(w, lease / 8));
		break;
	case FAULT_PAUSE_LONG:
		pause(w, n, lease + rnd(w, 2 * lease));
		break;
	case FAULT_PARTITION:
		partition(w, n, about(w, lease / 8));
		break;
	case FAULT_PARTITION_LONG:
		partition(w, n, lease + rnd(w, lease));
		break;
	case FAULT_SLOW:
		if (n && w->node[n].link >= 0)
			w->link[w->node[n].link].slow_until = w->now + about(w, lease / 8);
		break;
	case FAULT_RECOVER:
		home_recover(w, rnd(w, w->cfg.locks), false, false, 0);
		break;
	case FAULT_FREEZE_AGAIN:
		home_repeat_freeze(w, rnd(w, w->cfg.locks));
		break;
	case FAULT_GARBAGE:
		garbage(w, n);
		break;
	case FAULT_DIE_CLAIMED:
		if (w->cfg.nodes > 2)
			die_claimed(w);
		break;
	case FAULT_SHED:
		sched(w, 0, node_shed, n);
		break;
	case FAULT_OP:
	case NR_FAULTS:
		break;
	}
}

/* Not when, but where: during an operation of some node. */
static void arm(struct world *w, struct event *e)
{
	w->armed[rnd(w, w->cfg.nodes)] = e->arg + 1;
}

void fault_armed(struct world *w, int node)
{
	struct event *e;

	if (!w->armed[node] || w->stopping)
		return;
	if (w->armed[node] == FAULT_OP + 1) {
		w->armed[node] = 0;
		w->op_fails = true;
		if (chance(w, 50))
			sched(w, rnd(w, 6 * w->cfg.latency), strike, -1)->arg = FAULT_RECOVER;
		return;
	}
	e = sched(w, rnd(w, 3 * w->cfg.latency), strike, -1);
	e->arg = w->armed[node] - 1;
	e->gen = node + 1;
	w->armed[node] = 0;
}

static void stop(struct world *w, struct event *e)
{
	int n;

	(void)e;
	w->stopping = true;
	trace(w, "no new requests from here");
	for (n = 0; n < w->cfg.nodes && w->cfg.shed; n++)
		if (w->node[n].alive)
			sched(w, 0, node_shed, n);
}

/* ---- one world ---- */

static void limits(struct world *w)
{
	struct config *c = &w->cfg;

	c->soft = 1u << 25;
	c->hard = (1u << RDL_TICKET_BITS) - 1024;
	if (!c->hammer && chance(w, 30)) {
		/* A rebuild gives a ticket to each who waits: there must be more. */
		c->soft = 1 + rnd(w, 8);
		if (c->soft < c->nodes + 1u)
			c->soft = c->nodes + 1;
		c->hard = c->soft + rnd(w, 6);
	}
	sim_ticket_soft = c->soft;
	sim_ticket_hard = c->hard;
	sim_debt_max = c->hammer ? 64 : 2;	/* small, so that it is reached */
}

static void kinds(struct world *w, u8 wanted)
{
	u8 kind = 1 + rnd(w, RDL_NR_KINDS - 1);
	bool mixed = chance(w, 30);
	int i;

	for (i = 0; i < w->cfg.locks; i++) {
		struct home_lock *h = &w->home.lock[i];
		u8 props = rnd(w, 4) | (chance(w, 35) ? RDL_P_ROBUST : 0);

		if ((props & RDL_P_VALUE) && chance(w, 40))
			props |= RDL_P_BIG;

		if (mixed && i)
			kind = 1 + rnd(w, RDL_NR_KINDS - 1);
		h->kind = wanted ? wanted : kind;
		if (h->kind == RDL_KIND_SPIN)
			props &= RDL_P_ROBUST;
		h->props = w->cfg.hammer ? h->kind == RDL_KIND_SPIN ? 0 : RDL_P_STICKY : props;
		if (h->kind == RDL_KIND_TICKET)
			h->props &= ~RDL_P_STICKY;
	}
}

/*
 * Much at a time: what goes wrong only when an owner dies robustly in the middle of a roll-over, while a value is
 * written and a message late. Seldom met otherwise.
 */
static void harsh(struct world *w)
{
	struct config *c = &w->cfg;
	int i;

	for (i = 0; i < c->locks; i++)
		if (chance(w, 85))
			w->home.lock[i].props |= RDL_P_ROBUST;
	if (chance(w, 75)) {
		c->soft = c->nodes + 1 + rnd(w, 3);
		c->hard = c->soft + rnd(w, 4);
		sim_ticket_soft = c->soft;
		sim_ticket_hard = c->hard;
	}
	c->faults = 4 + rnd(w, 40);
	c->die_pct = rnd(w, 40);
	c->whole_pct = 20 + rnd(w, 81);
	c->reset_pct = 20 + rnd(w, 70);
	c->unseen_pct = rnd(w, 60);
	c->convert_pct = rnd(w, 70);
	c->shared_pct = 10 + rnd(w, 80);
	c->late_pct = rnd(w, 80);
	c->twice_pct = rnd(w, 40);
}

/* In the order of what was drawn first, so that a wish changes nothing else before it. */
static void configure(struct world *w, const struct wish *wish)
{
	struct config *c = &w->cfg;

	memset(c, 0, sizeof(*c));
	c->nodes = chance(w, 8) ? 5 + (int)rnd(w, 12) : 2 + (int)rnd(w, 3);
	c->locks = 1 + rnd(w, chance(w, 30) ? MAX_LOCKS - 1 : 1);
	c->threads = 1 + rnd(w, MAX_THREADS);
	c->budget = chance(w, 50) ? rnd(w, 4) : RDL_BUDGET;
	c->latency = chance(w, 30) ? 100 * US : 2 * US + rnd(w, 20 * US);
	c->lease = 5 * MS;
	c->margin = 300 * US + rnd(w, 700 * US);
	c->hold = chance(w, 20) ? 500 * US : 1 * US + rnd(w, 50 * US);
	c->think = chance(w, 20) ? 2 * MS : 1 * US + rnd(w, 100 * US);
	c->stop = 3 * MS + rnd(w, 12 * MS);
	/* A waiter asks after 1, 2 and 4 seconds. */
	c->end = c->stop + 10000 * MS;
	c->faults = chance(w, 15) ? 0 : 1 + rnd(w, chance(w, 30) ? 24 : 8);
	c->fault_mask = chance(w, 50) ? ~0u : (u32)rnd64(w);
	c->try_pct = chance(w, 50) ? rnd(w, 60) : 0;
	c->cancel_pct = chance(w, 50) ? rnd(w, 60) : 0;
	c->close_pct = chance(w, 30) ? rnd(w, 50) : 0;
	c->refuse_pct = chance(w, 15) ? rnd(w, 10) : 0;
	c->shared_pct = chance(w, 70) ? rnd(w, 100) : 0;
	c->convert_pct = chance(w, 40) ? rnd(w, 60) : 0;
	c->tear_pct = chance(w, 40) ? rnd(w, 60) : 0;
	c->late_pct = chance(w, 50) ? rnd(w, 60) : 0;
	c->twice_pct = chance(w, 40) ? rnd(w, 30) : 0;
	c->drop_pct = chance(w, 10) ? rnd(w, 10) : 0;
	c->die_pct = chance(w, 50) ? rnd(w, 30) : 0;
	c->whole_pct = 50 + rnd(w, 51);
	c->reset_pct = rnd(w, 60);
	c->lease_links = chance(w, 50);
	c->slow_open = chance(w, 50);
	c->shed = chance(w, 60);
	c->unseen_pct = chance(w, 50) ? rnd(w, 60) : 0;
	if (wish->nodes)
		c->nodes = wish->nodes;
	if (wish->locks)
		c->locks = wish->locks;
	if (wish->threads)
		c->threads = wish->threads;
	kinds(w, wish->kind);
	limits(w);
	if (chance(w, 15))
		harsh(w);
	if (wish->faults >= 0 && c->faults > wish->faults)
		c->faults = wish->faults;
}

/* Everybody wants it all the time, and nothing goes wrong. */
static void configure_hammer(struct world *w, const struct wish *wish)
{
	struct config *c = &w->cfg;

	memset(c, 0, sizeof(*c));
	c->hammer = true;
	c->readers = wish->readers;
	c->nodes = wish->nodes;
	c->locks = 1;
	c->threads = wish->threads;
	c->budget = RDL_BUDGET;
	c->latency = 2 * US;
	c->lease = 1000 * MS;
	c->margin = 100 * MS;
	c->hold = 2 * US;
	c->think = 1 * US;
	c->stop = wish->hammer * MS;
	c->end = c->stop + 10000 * MS;
	kinds(w, wish->kind);
	limits(w);
}

static void plan_faults(struct world *w)
{
	int i;

	for (i = 0; i < w->cfg.faults; i++) {
		int fault;

		do {
			fault = rnd(w, NR_FAULTS);
		} while (!(w->cfg.fault_mask >> fault & 1) && w->cfg.fault_mask & ((1 << NR_FAULTS) - 1));
		if (w->cfg.fault_mask >> fault & 1)
			sched(w, rnd(w, w->cfg.stop), chance(w, 50) ? strike : arm, -1)->arg = fault;
	}
	sched(w, w->cfg.stop, stop, -1);
}

static void begin(struct world *w, u64 seed, const struct wish *wish)
{
	int i;

	sched_clear(w);
	w->seed = seed;
	w->rng = seed * 0x2545f4914f6cdd1dull + 1;
	w->now = 0;
	w->stopping = false;
	w->links = 0;
	w->ops = 0;
	w->op_free = NULL;
	w->op_seq = 0;
	w->failed = false;
	memset(w->armed, 0, sizeof(w->armed));
	w->op_fails = false;
	memset(&w->did, 0, sizeof(w->did));
	if (!w->op)
		w->op = malloc(MAX_OPS * sizeof(*w->op));
	if (!w->op)
		abort();
	if (wish->hammer)
		configure_hammer(w, wish);
	else
		configure(w, wish);
	home_start(w);
	memset(w->node, 0, w->cfg.nodes * sizeof(w->node[0]));
	for (i = 0; i < w->cfg.nodes; i++)
		node_start(w, i);
	plan_faults(w);
}

bool world_run(struct world *w, u64 seed, const struct wish *wish, struct coverage *cov)
{
	struct event *e;
	u64 look = 0;

	w->cov = cov;
	begin(w, seed, wish);
	while (!w->failed && (e = sched_pop(w))) {
		w->now = e->time;
		if (w->now > w->cfg.end) {
			sched_done(w, e);
			break;
		}
		if (e->node >= 0) {
			struct node *node = &w->node[e->node];

			if (!node->alive || node->boot != e->boot) {
				sched_done(w, e);
				continue;
			}
			if (w->now < node->paused_until) {
				sched_again(w, e, node->paused_until);
				continue;
			}
		}
		e->fn(w, e);
		sched_done(w, e);
		/* Rest must last: late operations and messages may still come. */
		if (w->stopping && w->now >= look) {
			if (look && at_rest(w) && (w->cfg.hammer || w->now > w->cfg.stop + 4 * w->cfg.lease + MS))
				break;
			look = w->now + MS;
		}
	}
	if (!w->failed)
		judge_rest(w);
	cov->worlds++;
	return !w->failed;
}
