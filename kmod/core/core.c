// SPDX-License-Identifier: GPL-2.0
/*
 * The one door into the core: an event is checked against what every kind of lock has in common,
 * then goes to the cell of its kind's table. Names, and the small helpers that append actions, are
 * here too.
 *
 * Context: any. Nothing here sleeps, allocates, loops or calls out; the shell's lock serialises
 * the events of one rdl_lock.
 */
#include "bust.h"
#include "kind.h"

static const char * const state_names[RDL_NR_STATES] = {
#define STATE_NAME(name, meaning) \
	[RDL_ST_##name] = #name,
	RDL_STATES(STATE_NAME)
#undef STATE_NAME
};

static const char * const event_names[RDL_NR_EVENTS] = {
#define EVENT_NAME(name, meaning) \
	[RDL_EV_##name] = #name,
	RDL_EVENTS(EVENT_NAME)
#undef EVENT_NAME
};

static const char * const kind_names[RDL_NR_KINDS] = {
	[RDL_KIND_DEFAULT] = "default",
	[RDL_KIND_SPIN] = "spin",
	[RDL_KIND_FAIR] = "fair",
	[RDL_KIND_TICKET] = "ticket",
	[RDL_KIND_MCS] = "mcs",
};

static const struct rdl_kind_ops * const kinds[RDL_NR_KINDS] = {
	[RDL_KIND_SPIN] = &rdl_spin,
	[RDL_KIND_FAIR] = &rdl_fair,
	[RDL_KIND_TICKET] = &rdl_ticket,
	[RDL_KIND_MCS] = &rdl_mcs,
};

const struct rdl_kind_ops *rdl_kind_ops(unsigned int kind)
{
	return kind < RDL_NR_KINDS ? kinds[kind] : NULL;
}

const char *rdl_state_name(unsigned int st)
{
	return st < RDL_NR_STATES ? state_names[st] : "?";
}

const char *rdl_event_name(unsigned int ev)
{
	return ev < RDL_NR_EVENTS ? event_names[ev] : "?";
}

const char *rdl_kind_name(unsigned int kind)
{
	return kind < RDL_NR_KINDS ? kind_names[kind] : "?";
}

static_assert(RDL_NR_ACTIONS <= 32, "rdl_acts.dropped has a bit for each");

int rdl_ignore(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	return 0;
}

int rdl_impossible(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	return -EPROTO;
}

/*
 * RDL_MAX_ACTIONS suffices. The longest step is a REBUILT that ruins a robust lock of kind fair under a node that
 * waits: FAIL_ALL, TAKE of the value, HINT (the one behind has to be told anew), TIMER, TAKE of the value that a parked
 * GRANT brought, SEND_GRANT to the next, for nobody here may have it, and ROLL, since that GRANT carries the only copy:
 * seven. There is no room in it for others: FAIL_ALL leaves nobody to DELIVER to or to draw for, after a claim neither
 * a slot is due nor an asker waits (rdl_check() says so), and ROLL comes once. Every other step has at most five: one
 * TIMER, one of ROLL, CONSISTENT, TAKE or QUERY each at most, and what rdl_turn_go() adds, three of GRANT, ANSWER,
 * DELIVER and operations.
 */
struct rdl_action *rdl_act(struct rdl_acts *acts, u8 type)
{
	struct rdl_action *a;

	if (rdl_insist(acts, acts->n < RDL_MAX_ACTIONS)) {
		a = &acts->a[acts->n++];
	} else {
		a = &acts->a[RDL_MAX_ACTIONS];
		acts->dropped |= 1u << type;
	}
	memset(a, 0, sizeof(*a));
	a->type = type;
	return a;
}

struct rdl_action *rdl_act_post(struct rdl_lock *l, struct rdl_acts *acts, u8 type, u64 cmp, u64 val)
{
	struct rdl_action *a;

	/* What callers add to it goes where dropped actions go. */
	if (!rdl_insist(acts, !l->io))
		return &acts->a[RDL_MAX_ACTIONS];
	a = rdl_act(acts, type);
	l->io = type;
	a->cmp = cmp;
	a->val = val;
	return a;
}

void rdl_act_fail(struct rdl_lock *l, struct rdl_acts *acts, u8 type, u32 err)
{
	if (!rdl_insist(acts, l->nq))
		return;
	l->nq--;
	rdl_act(acts, type)->arg = err;
}

void rdl_act_timer(struct rdl_lock *l, struct rdl_acts *acts, u64 ns)
{
	l->armed = !!ns;
	rdl_act(acts, RDL_ACT_TIMER)->val = ns;
}

void rdl_act_msg(struct rdl_lock *l, struct rdl_acts *acts, u8 type)
{
	rdl_act(acts, type)->epoch = l->epoch;
}

void rdl_lock_init(struct rdl_lock *l, u8 kind, u16 node, u32 epoch, u16 budget)
{
	memset(l, 0, sizeof(*l));
	l->kind = kind == RDL_KIND_DEFAULT ? RDL_KIND_SPIN : kind;
	l->node = node;
	l->budget = budget;
	rdl_epoch_begins(l, epoch, 0, NULL);
}

/* Is there an operation in flight that @op can be the end of? */
static bool pending(const struct rdl_lock *l, u8 op)
{
	switch (op) {
	case RDL_ACT_POST_READ_SLOTS:
	case RDL_ACT_POST_READ_VALUE:
	case RDL_ACT_POST_READ_WORD:
	case RDL_ACT_POST_READ_AREA:
		return l->q.rd == op;
	case RDL_ACT_POST_WRITE_SLOT:
		return l->q.slot;
	default:
		return l->io && (!op || l->io == op);
	}
}

void rdl_lock_props(struct rdl_lock *l, u8 props, u32 seed)
{
	l->robust = !!(props & RDL_P_ROBUST);
	if (l->kind == RDL_KIND_SPIN)
		return;
	/* Nobody could ask an owner of kind ticket to give an idle lock back. */
	l->q.props = l->kind == RDL_KIND_TICKET ? props & ~RDL_P_STICKY : props;
	l->q.seed = seed;
}

/*
 * What holds for every kind (Documentation/protocol.rst): messages of an epoch that is over are ignored,
 * those of an epoch that cannot have begun are refused. 1: go on to the table.
 */
static int common(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	switch (ev->type) {
	case RDL_EV_OP:
		return pending(l, ev->op) && ev->outcome <= RDL_AMBIGUOUS ? 1 : -EPROTO;
	case RDL_EV_FREEZE:
		if (l->st == RDL_ST_LOST || ev->epoch == l->epoch)
			return 1;
		if (ev->epoch < l->epoch)
			return 0;
		/* The next recovery already, and LINK_UP, which says that there was a REBUILT, is still to come. */
		return l->frz == RDL_FRZ_CLAIMED ? 1 : -EPROTO;
	case RDL_EV_REBUILT:
		if (l->st == RDL_ST_LOST)
			return 1;
		if (ev->epoch <= l->epoch)
			return 0;
		return l->frz == RDL_FRZ_CLAIMED ? 1 : -EPROTO;
	case RDL_EV_LINK_UP:
		/*
		 * Newer, and claimed: the REBUILT went down with the old link. Older: a REBUILT of the new session
		 * overtook what opened it.
		 */
		if (l->st == RDL_ST_LOST || ev->epoch <= l->epoch)
			return 1;
		return l->frz == RDL_FRZ_CLAIMED ? 1 : -EPROTO;
	case RDL_EV_REJOIN:
		return rdl_epoch_gen(ev->epoch) ? 1 : -EPROTO;
	case RDL_EV_GRANT:
	case RDL_EV_HINT:
	case RDL_EV_PROBE:
	case RDL_EV_ANSWER:
		if (ev->peer.node >= RDL_MAX_NODES || ev->peer.ticket >> RDL_TICKET_BITS || !rdl_epoch_gen(ev->epoch))
			return -EPROTO;
		return rdl_kind_ops(l->kind)->message(l, ev, acts);
	default:
		return 1;
	}
}

int rdl_step(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	const struct rdl_kind_ops *ops = rdl_kind_ops(l->kind);
	const struct rdl_cell *cell = ops ? rdl_cell(ops, l->st, ev->type) : NULL;
	int err;

	acts->n = 0;
	acts->broken = false;
	acts->dropped = 0;
	if (!cell)
		return -EPROTO;
	err = common(l, ev, acts);
	if (err <= 0)
		return err;
	if (ev->type == RDL_EV_TIMER)
		l->armed = 0;
	if (l->robust) {
		err = rdl_robust_event(l, ev, acts);
		if (err <= 0)
			return err;
	}
	err = cell->fn(l, ev, acts);
	/* Only a recovery takes a report to the home. */
	if (!err && l->report && (ev->flags & RDL_F_LINK))
		rdl_roll(l, acts);
	return err;
}

bool rdl_ambiguous(const struct rdl_lock *l)
{
	if (l->st == RDL_ST_AMBIG || l->st == RDL_ST_DOUBT)
		return true;
	/* The REBUILT may have been lost with the link, and only the home knows what it said. */
	return l->kind != RDL_KIND_SPIN && l->frz == RDL_FRZ_CLAIMED;
}

void rdl_stat(const struct rdl_lock *l, struct rdl_stat *stat)
{
	*stat = (struct rdl_stat){
		.st = l->st,
		.mode = l->q.mode,
		.ticket = l->ticket,
		.ticket_epoch = l->q.ticket_epoch,
	};
}

/* Will it, sooner or later, give the lock to the next in the queue, whoever that is? */
static bool gives_turn(const struct rdl_stat *stat)
{
	switch (stat->st) {
	case RDL_ST_OWED:
	case RDL_ST_POP:
	case RDL_ST_DUTY:
	case RDL_ST_DOWN:
	case RDL_ST_DDUTY:
	case RDL_ST_WNEXT:
	case RDL_ST_STORE:
		return true;
	case RDL_ST_FETCH:
	case RDL_ST_HELD:
	case RDL_ST_CACHED:
		return stat->mode != RDL_MODE_S || rdl_bust(STAT_ANY_HOLDER);
	default:
		return false;
	}
}

static bool reads(const struct rdl_stat *stat)
{
	return stat->mode == RDL_MODE_S && (stat->st == RDL_ST_HELD || stat->st == RDL_ST_FETCH ||
					    stat->st == RDL_ST_UPG || stat->st == RDL_ST_DOUBT);
}

/*
 * Readers that have the lock give it to the writer behind them, but not to a reader beside them whose grant was lost:
 * it would wait until the next writer is through.
 */
bool rdl_stat_stuck(const struct rdl_stat *waiter, const struct rdl_stat *all, u32 n)
{
	bool reader = false, behind = false;
	u32 i;

	if (waiter->st != RDL_ST_WAIT)
		return false;
	for (i = 0; i < n; i++) {
		if (gives_turn(&all[i]))
			return false;
		reader |= reads(&all[i]);
		behind |= all[i].st == RDL_ST_WAIT && all[i].mode == RDL_MODE_X && all[i].ticket < waiter->ticket;
	}
	if (!reader)
		return true;
	return waiter->mode == RDL_MODE_S && !behind;
}

bool rdl_owns(const struct rdl_lock *l)
{
	const struct rdl_kind_ops *ops = rdl_kind_ops(l->kind);

	return ops && ops->owns >> l->st & 1;
}

/*
 * A frozen lock is not idle even in NONE: a pop that met F is completed by the claim, and a home
 * that misses that claim would take the node for a dead owner. Nor is one whose value went on in a
 * GRANT: a recovery that cuts the GRANT off must find a node that can say what the value was.
 */
bool rdl_idle(const struct rdl_lock *l)
{
	if (l->nq || l->io || l->q.rd || l->q.slot || rdl_only_copy(l))
		return false;
	if (l->st == RDL_ST_LOST)
		return true;
	return l->st == RDL_ST_NONE && l->frz == RDL_FRZ_RUN && !l->is_void;
}
