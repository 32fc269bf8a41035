// SPDX-License-Identifier: GPL-2.0
/* A small world: what may happen next, and what must be when nothing can. */
#include "small.h"

static bool percent(struct small *w, u32 p)
{
	return small_rnd(w, 100) < p;
}

/* ---- what may happen next ---- */

static void feed_only(struct small *w, int i, u8 type)
{
	struct rdl_event ev = { .type = type };

	small_feed(w, i, &ev);
}

static void op_ends(struct small *w, int i, u8 outcome)
{
	struct small_node *node = &w->node[i];
	struct small_op op = node->op[0];
	struct rdl_event ev = { .type = RDL_EV_OP, .op = op.type, .outcome = outcome };

	memmove(&node->op[0], &node->op[1], --node->nops * sizeof(op));
	if (outcome == RDL_OK) {
		ev.old = op.old;
		ev.slots = op.slots;
		ev.nslots = w->n;
		ev.peer.ver = op.ver;
		ev.peer.vflags = op.vflags;
	}
	if (op.type == RDL_ACT_POST_CAS || op.type == RDL_ACT_POST_FAA)
		memset(&ev.peer, 0, sizeof(ev.peer));
	small_feed(w, i, &ev);
}

/* The queue pair goes into its error state: all that is in flight ends without an answer, and may land or not. */
static void link_breaks(struct small *w, int i)
{
	struct small_node *node = &w->node[i];
	int k;

	node->link = false;
	node->broken = true;
	node->nfrom = 0;
	if (percent(w, 50))
		node->nto = 0;
	node->norphans = 0;
	for (k = 0; k < node->nops; k++) {
		if (!node->op[k].landed)
			node->orphan[node->norphans++] = node->op[k];
	}
	while (node->nops && !w->failed)
		op_ends(w, i, RDL_AMBIGUOUS);
}

static void link_stands(struct small *w, int i)
{
	struct small_node *node = &w->node[i];
	struct rdl_event ev = { .type = RDL_EV_LINK_UP, .epoch = w->epoch };
	bool ask = rdl_ambiguous(&node->core);

	node->norphans = 0;
	node->nto = 0;
	node->broken = false;
	node->link = true;
	if (node->lost) {
		node->lost = false;
		node->lease = true;
		ev.type = RDL_EV_REJOIN;
		node->evicted = false;
		node->copy = 0;
	}
	small_feed(w, i, &ev);
	if (ev.type == RDL_EV_REJOIN)
		return;
	if (w->recovering) {
		struct small_msg m = { .type = RDL_EV_FREEZE, .epoch = w->epoch };

		if (w->rec.expect[0] >> i & 1)
			small_to_node(w, i, &m);
	} else if (ask) {
		w->need = true;
	}
}

static void crashes(struct small *w, int i)
{
	struct small_node *node = &w->node[i];
	int k;

	small_cut_off(w, i);
	node->alive = false;
	node->nfrom = 0;
	node->nqueue = 0;
	for (k = 0; k < w->npeer; k++)
		if (w->peer[k].dst == i)
			w->peer[k--] = w->peer[--w->npeer];
}

/* The lease runs out before the home evicts: the node has fenced itself by then. */
static void loses(struct small *w, int i)
{
	struct small_node *node = &w->node[i];

	small_cut_off(w, i);
	node->lease = false;
	node->link = false;
	node->lost = true;
	node->norphans = 0;
	if (node->nops) {
		int k;

		for (k = 0; k < node->nops; k++)
			if (!node->op[k].landed)
				node->orphan[node->norphans++] = node->op[k];
	}
	/* Their ends come after the loss, as ends of a lost session. */
	{
		struct small_op ops[SMALL_OPS];
		int n = node->nops;

		memcpy(ops, node->op, sizeof(ops));
		feed_only(w, i, RDL_EV_LOSE);
		memcpy(node->op, ops, sizeof(ops));
		node->nops = n;
		while (node->nops && !w->failed)
			op_ends(w, i, RDL_AMBIGUOUS);
	}
	node->broken = true;
}

static void wants(struct small *w, int i)
{
	struct small_node *node = &w->node[i];
	struct rdl_event ev = { .type = RDL_EV_ACQ };
	struct small_waiter waiter = { .mode = RDL_MODE_X };

	w->requests--;
	if (w->kind == RDL_KIND_FAIR && percent(w, 45))
		waiter.mode = RDL_MODE_S;
	waiter.try = percent(w, 20);
	ev.mode = waiter.mode;
	ev.try = waiter.try;
	node->queue[node->nqueue++] = waiter;
	small_feed(w, i, &ev);
}

static void leaves(struct small *w, int i)
{
	struct small_node *node = &w->node[i];
	struct rdl_event ev = { .type = RDL_EV_CANCEL };
	int k = small_rnd(w, node->nqueue);
	bool trying = node->core.st == RDL_ST_TRY || node->core.st == RDL_ST_PROBE;

	ev.try = node->queue[k].try && k == 0 && trying && !node->core.q.gone;
	node->nqueue--;
	memmove(&node->queue[k], &node->queue[k + 1], (node->nqueue - k) * sizeof(node->queue[0]));
	small_feed(w, i, &ev);
}

/* Would it be posted at once? Otherwise a conversion is not begun, and the value is not taken. */
static bool may_post(const struct small *w, int i)
{
	const struct rdl_lock *l = &w->node[i].core;

	return (small_flags(w, i) & RDL_F_LINK) && l->frz == RDL_FRZ_RUN && !l->q.paused && !l->is_void && !l->landing;
}

static void user_acts(struct small *w, int i)
{
	struct small_node *node = &w->node[i];
	struct rdl_event ev = { .type = RDL_EV_REL };
	bool unseen = node->notice && percent(w, 20);

	if (node->notice && !unseen) {
		ev.type = RDL_EV_REPORT;
		ev.report = RDL_REPORT_CONSISTENT;
		node->notice = false;
		w->untold = false;
	} else if (unseen) {
		/* It leaves without having looked at what it was granted. */
		node->notice = node->users > 1;
	} else if (node->converting) {
		/* It waits for the conversion; now and then it is killed. */
		if (percent(w, 90))
			return;
		node->converting = false;
	} else if (w->kind == RDL_KIND_FAIR && node->users == 1 && node->core.st == RDL_ST_HELD &&
		   node->core.frz != RDL_FRZ_CLAIMED && small_fault(w, SMALL_CONVERT)) {
		ev.type = node->mode == RDL_MODE_X ? RDL_EV_DOWN : RDL_EV_UP;
		node->converting = true;
	}
	ev.dirty = !unseen && ev.type != RDL_EV_REPORT && node->mode == RDL_MODE_X && (w->props & RDL_P_VALUE) &&
		   percent(w, 70) && (ev.type == RDL_EV_REL || may_post(w, i));
	if (ev.type == RDL_EV_REL)
		node->users--;
	/* The user is a reader from when the operation is posted, and a writer again if it certainly was not done. */
	if (ev.type == RDL_EV_DOWN)
		node->mode = RDL_MODE_S;
	small_feed(w, i, &ev);
}

static void peer_arrives(struct small *w)
{
	int k = small_rnd(w, w->npeer);
	struct small_msg m = w->peer[k];
	struct small_node *node = &w->node[m.dst];
	struct rdl_event ev = { .type = m.type, .epoch = m.epoch, .peer = m.peer };
	bool sender = w->node[m.src].alive && !w->node[m.src].lost;

	if (!small_fault(w, SMALL_REPEAT))
		w->peer[k] = w->peer[--w->npeer];
	if (!node->alive)
		return;
	if (!sender && percent(w, 50))
		return;
	if ((m.type == RDL_EV_GRANT || m.type == RDL_EV_HINT) && small_fault(w, SMALL_DROP))
		return;
	small_feed(w, m.dst, &ev);
}

static void home_speaks(struct small *w, int i)
{
	struct small_node *node = &w->node[i];
	struct small_msg m = node->from_home[0];
	struct rdl_event ev = { .type = m.type, .epoch = m.epoch, .rebuilt = m.rebuilt };

	memmove(&node->from_home[0], &node->from_home[1], --node->nfrom * sizeof(m));
	small_feed(w, i, &ev);
}

static void orphan_lands(struct small *w, int i)
{
	struct small_node *node = &w->node[i];
	struct small_op op = node->orphan[0];

	memmove(&node->orphan[0], &node->orphan[1], --node->norphans * sizeof(op));
	if (percent(w, 70)) {
		small_land(w, i, &op);
		/* There is more of it, which may land, too. */
		if (!op.landed) {
			memmove(&node->orphan[1], &node->orphan[0], node->norphans++ * sizeof(op));
			node->orphan[0] = op;
		}
	} else {
		node->norphans = 0;	/* a queue pair that stops, stops for good */
	}
}

static int first_unlanded(const struct small_node *node)
{
	int k;

	for (k = 0; k < node->nops; k++)
		if (!node->op[k].landed)
			return k;
	return -1;
}

/*
 * One of the things that node @i or the home could do now; false: there is none of the chosen sort. @calm: other things
 * may come first.
 */
static bool one_step(struct small *w, int i, int what, int calm)
{
	struct small_node *node = &w->node[i];
	bool there = node->alive && !node->lost;
	int k = first_unlanded(node);

	switch (what) {
	case 0:
		if (!node->alive || w->stopping || w->requests <= 0 || node->nqueue == SMALL_WAITERS - 1)
			return false;
		wants(w, i);
		return true;
	case 1:
		if (!there || !node->users)
			return false;
		user_acts(w, i);
		return true;
	case 2:
	case 3:
		if (node->evicted || k < 0)
			return false;
		small_land(w, i, &node->op[k]);
		return true;
	case 4:
	case 5:
		if (!there || !node->nops || !node->op[0].landed)
			return false;
		op_ends(w, i, RDL_OK);
		if (rdl_ambiguous(&node->core) && node->core.frz != RDL_FRZ_CLAIMED && node->link)
			link_breaks(w, i);
		return true;
	case 6:
	case 7:
		if (!w->npeer || (calm > 0 && percent(w, w->slow)))
			return false;
		peer_arrives(w);
		return true;
	case 8:
		if (!there || !node->nfrom || !node->link)
			return false;
		home_speaks(w, i);
		return true;
	case 9:
		if (!node->nto || node->evicted)
			return false;
		small_home_message(w, i);
		return true;
	case 10:
		if (!w->need || w->recovering)
			return false;
		small_recover(w);
		return true;
	case 11:
		/* A node that is back must have been evicted before; and a dead one does not come back. */
		if (!node->alive || node->link || (node->lost && !node->evicted) || (node->evicted && w->recovering) ||
		    (node->evicted && w->need))
			return false;
		link_stands(w, i);
		return true;
	case 12:
		if ((node->alive && !node->lost) || node->evicted)
			return false;
		small_evict(w, i);
		return true;
	case 13:
		if (!node->norphans || node->evicted)
			return false;
		orphan_lands(w, i);
		return true;
	case 14:
		if (!there || node->lease || node->broken)
			return false;
		node->lease = true;
		feed_only(w, i, RDL_EV_LEASE);
		return true;
	case 15:
		if (!there || !node->nqueue || !small_fault(w, SMALL_CANCEL))
			return false;
		leaves(w, i);
		return true;
	case 16:
		if (!there || !node->lease || !small_fault(w, SMALL_LEASE))
			return false;
		node->lease = false;
		return true;
	case 17:
		if (!there || !node->link || !small_fault(w, SMALL_BREAK))
			return false;
		link_breaks(w, i);
		return true;
	case 18:
		if (!node->alive || !small_fault(w, SMALL_CRASH))
			return false;
		crashes(w, i);
		return true;
	case 19:
		if (!there || !small_fault(w, SMALL_LOSE))
			return false;
		loses(w, i);
		return true;
	case 20:
		if (w->recovering || !small_fault(w, SMALL_ROLL))
			return false;
		w->need = true;
		return true;
	default:
		return false;
	}
}

/* Waits for its turn, and knows of nothing more to do for it. */
static bool only_watches(const struct small_node *node)
{
	return node->core.st == RDL_ST_WAIT && node->core.frz == RDL_FRZ_RUN && !node->core.q.step &&
	       !node->core.q.paused;
}

/* Nothing else can happen: time passes. The watchdog's second comes after all other times. */
static bool time_passes(struct small *w)
{
	int i, pass, start = small_rnd(w, w->n);
	bool any = false;

	for (pass = 0; pass < 2 && !any; pass++) {
		for (i = 0; i < w->n; i++) {
			int n = (start + i) % w->n;
			struct small_node *node = &w->node[n];

			if (!node->alive || node->lost || !node->armed || (!pass && only_watches(node)))
				continue;
			if (pass && w->quiet && w->kind != RDL_KIND_TICKET)
				small_wrong(w, "node %d waits for its watchdog, and nothing was lost", n);
			node->armed = false;
			feed_only(w, n, RDL_EV_TIMER);
			any = true;
		}
	}
	return any;
}

static bool anything(struct small *w)
{
	int tries, i, what;

	for (tries = 0; tries < 60; tries++)
		if (one_step(w, small_rnd(w, w->n), small_rnd(w, 21), 1))
			return true;
	for (what = 0; what < 21; what++)
		for (i = 0; i < w->n; i++)
			if (one_step(w, i, what, 0))
				return true;
	return false;
}

static void must_rest(struct small *w)
{
	u32 x = 0, s = 0;
	int i;

	for (i = 0; i < w->n; i++) {
		struct small_node *node = &w->node[i];

		if (!node->alive)
			continue;
		if (node->nqueue || node->users)
			small_wrong(w, "node %d is forgotten in state %s, frz %u", i, rdl_state_name(node->core.st),
				    node->core.frz);
		if (node->core.st == RDL_ST_CACHED)
			x += 1 + node->core.q.debt;
		else if (node->core.st != RDL_ST_NONE && node->core.st != RDL_ST_LOST)
			small_wrong(w, "node %d rests in state %s", i, rdl_state_name(node->core.st));
	}
	if (w->kind == RDL_KIND_MCS)
		x = x ? rdl_w_mid(w->word) : 0;
	if (rdl_w_frozen(w->word) || rdl_w_mid(w->word) != x || rdl_w_low(w->word) != s)
		small_wrong(w, "the word rests as %016llx", (unsigned long long)w->word);
}

static void choose(struct small *w)
{
	static const u8 often[SMALL_FAULTS] = { 25, 35, 25, 50, 25, 30, 15, 30, 50, 60 };
	int f;

	w->n = 2 + small_rnd(w, SMALL_NODES - 1);
	w->requests = 4 + small_rnd(w, 20);
	w->props = small_rnd(w, 4);
	if ((w->props & RDL_P_VALUE) && percent(w, 40))
		w->props |= RDL_P_BIG;
	w->quiet = true;
	w->slow = percent(w, 30) ? 95 : percent(w, 50) ? 50 : 0;
	for (f = 0; f < SMALL_FAULTS; f++)
		if (percent(w, often[f]))
			w->faults[f] = 1 + small_rnd(w, f == SMALL_CRASH ? w->n - 1 : f == SMALL_REPEAT ? 12 : 3);
	/* Room for the debt and the limits to matter. */
	sim_ticket_soft = percent(w, 50) ? 2 + small_rnd(w, 8) : 1000;
	if (sim_ticket_soft < w->n + 1u)
		sim_ticket_soft = w->n + 1;
	sim_ticket_hard = sim_ticket_soft + small_rnd(w, 4);
	sim_debt_max = 2;
}

const char *small_run(struct small *w, u64 seed, u8 kind, bool trace)
{
	u32 idle = 0, limit;
	int i;

	memset(w, 0, sizeof(*w));
	small_tracing = trace;
	w->seed = seed;
	w->rng = seed * 0x2545f4914f6cdd1dull + kind;
	w->kind = kind;
	choose(w);
	w->epoch = rdl_epoch(1, 0);
	w->word = rdl_w_pack(0, 0, 0, w->epoch, false, false);
	for (i = 0; i < w->n; i++) {
		struct small_node *node = &w->node[i];

		node->alive = true;
		node->link = true;
		node->lease = true;
		rdl_lock_init(&node->core, kind, i, w->epoch, small_rnd(w, 4));
		rdl_lock_props(&node->core, w->props, rdl_slot_seed(0, 0));
	}
	for (limit = 0; limit < 20000 && !w->failed; limit++) {
		if (w->requests <= 0 && !w->stopping && percent(w, 2))
			w->stopping = true;
		if (anything(w)) {
			idle = 0;
			continue;
		}
		w->stopping = true;
		/* Enough for the watchdog to have run, and what it set going to have ended. */
		if (!time_passes(w) || ++idle > 40)
			break;
	}
	if (!w->failed && limit == 20000)
		small_wrong(w, "no end");
	if (!w->failed)
		must_rest(w);
	return w->failed ? w->why : NULL;
}
