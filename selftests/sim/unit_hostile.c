// SPDX-License-Identifier: GPL-2.0
/*
 * The kinds with a queue under any event at any time, from a shell that tells the truth about its own users, and a home
 * and peers that need not. What cannot be is refused and changes nothing; what can be keeps to the table and the
 * invariants.
 */
#include <stdlib.h>

#include "kind.h"
#include "slot.h"
#include "unit.h"

#define RUNS	12000	/* of each kind */
#define EVENTS	400
#define SEED	1234	/* of the slots' checksum */
#define USERS	20

u8 hostile_seen[RDL_NR_KINDS][RDL_NR_STATES][RDL_NR_EVENTS];

static struct rdl_lock lock;
static u8 last_type, last_st;

static struct {
	u8 mode[USERS + 1];
	unsigned int n;
} fifo;

static bool one_of(u32 n)
{
	return !rnd(&dice, n);
}

static u32 near_ticket(void)
{
	u32 t = lock.ticket + rnd(&dice, 4) - one_of(3);

	return t >> 26 ? 0 : t;
}

static u64 any_word(void)
{
	switch (rnd(&dice, 6)) {
	case 0:
		return lock.guess;
	case 1:
		return rdl_w_pack(near_ticket(), 0, 0, lock.epoch, one_of(8), false);
	case 2:
		return rdl_w_pack(near_ticket(), rnd(&dice, 4), rnd(&dice, 3), lock.epoch, one_of(8), one_of(6));
	case 3:
		return rdl_w_pack(near_ticket(), 1 + lock.q.debt, 0, lock.epoch, false, false);
	case 4:
		return rdl_w_pack(lock.ticket + 1, rnd(&dice, 5), rnd(&dice, 3), lock.epoch + one_of(10), false, false);
	default:
		return rdl_w_pack(rnd(&dice, 12), bits(9), bits(9), lock.epoch, bits(1), one_of(4));
	}
}

static void any_op(struct rdl_event *ev)
{
	static __le64 board[8];
	u8 ops[3];
	u32 n = 0, i, t;

	if (lock.io)
		ops[n++] = 0;
	if (lock.q.rd)
		ops[n++] = lock.q.rd;
	if (lock.q.slot)
		ops[n++] = RDL_ACT_POST_WRITE_SLOT;
	ev->type = RDL_EV_OP;
	/* Also one that was not posted. */
	ev->op = n ? ops[rnd(&dice, n)] : rnd(&dice, RDL_NR_ACTIONS);
	ev->outcome = one_of(5) ? rnd(&dice, 3) : RDL_OK;
	ev->old = any_word();
	for (i = 0; i < ARRAY_SIZE(board); i++) {
		t = near_ticket();
		board[i] = bits(1) ? cpu_to_le64(rdl_slot(SEED, i, lock.epoch, t, bits(1))) : 0;
	}
	ev->slots = board;
	ev->nslots = ARRAY_SIZE(board);
	ev->peer.ver = bits(1) ? lock.q.ver : bits(32);
	ev->peer.vflags = one_of(3) ? bits(4) : 0;
}

static void any_rebuilt(struct rdl_event *ev)
{
	u8 claimed = lock.st == RDL_ST_HELD ? RDL_CLAIM_HOLD : lock.st == RDL_ST_WAIT ? RDL_CLAIM_WAIT : RDL_CLAIM_NONE;

	ev->type = RDL_EV_REBUILT;
	ev->epoch = lock.epoch + (one_of(8) ? bits(1) : 1);
	ev->rebuilt = (struct rdl_rebuilt){
		.what = one_of(6) ? rnd(&dice, 3) : claimed,
		.mode = one_of(6) ? rnd(&dice, 3) : lock.q.mode,
		.granted = bits(1),
		.ticket = rnd(&dice, 7),
		.pred = rnd(&dice, 6),
		.succ = rnd(&dice, 6),
		.vflags = one_of(3) ? bits(4) : 0,
		.ver = bits(1) ? lock.q.ver : bits(32),
	};
}

static void any_peer(struct rdl_event *ev)
{
	ev->type = RDL_EV_GRANT + rnd(&dice, 4);
	ev->peer = (struct rdl_peer){
		.node = rnd(&dice, 5),
		.mode = RDL_MODE_S + bits(1),
		.idle = bits(1),
		.ticket = near_ticket(),
		.ver = bits(1) ? lock.q.ver : bits(32),
		.vflags = one_of(3) ? bits(4) : 0,
	};
	if (ev->peer.mode == RDL_MODE_X)
		ev->peer.debt = rnd(&dice, 4);
}

/* What the shell says of its own users is true. */
static bool can_convert(u8 type)
{
	return lock.kind == RDL_KIND_FAIR && lock.st == RDL_ST_HELD && lock.users == 1 &&
	       lock.frz != RDL_FRZ_CLAIMED && lock.q.mode == (type == RDL_EV_DOWN ? RDL_MODE_X : RDL_MODE_S);
}

/* False: not now. @leaves: the waiter that goes, counted from the front. */
static bool user_event(struct rdl_event *ev, int *leaves)
{
	switch (rnd(&dice, 4)) {
	case 0:
		ev->type = RDL_EV_ACQ;
		ev->try = one_of(4);
		return fifo.n < USERS;
	case 1:
		ev->type = RDL_EV_REL;
		ev->dirty = bits(1);
		ev->report = lock.robust && one_of(5) ? bits(2) : 0;
		return lock.users || lock.st == RDL_ST_LOST;
	case 2:
		ev->type = RDL_EV_CANCEL;
		if (!fifo.n)
			return false;
		*leaves = rnd(&dice, fifo.n);
		ev->try = (lock.st == RDL_ST_TRY || lock.st == RDL_ST_PROBE) && !lock.q.gone && !*leaves;
		return true;
	default:
		ev->type = bits(1) ? RDL_EV_DOWN : RDL_EV_UP;
		ev->dirty = ev->type == RDL_EV_DOWN && bits(1);
		return can_convert(ev->type);
	}
}

static bool any_event(struct rdl_event *ev, int *leaves)
{
	bool busy = lock.io || lock.q.rd || lock.q.slot;

	/* Rare: who comes to a lock that is kept for nobody waits only while it is being frozen; and leaves again. */
	if (lock.st == RDL_ST_CACHED && (busy || fifo.n) && bits(1)) {
		if (!fifo.n) {
			ev->type = lock.frz == RDL_FRZ_RUN ? RDL_EV_FREEZE : RDL_EV_ACQ;
			return true;
		}
		ev->type = RDL_EV_CANCEL;
		*leaves = rnd(&dice, fifo.n);
		return true;
	}
	switch (rnd(&dice, 14)) {
	case 0:
	case 1:
	case 2:
	case 3:
		if (!busy && !one_of(8))
			return false;
		any_op(ev);
		return true;
	case 4:
		ev->type = RDL_EV_TIMER;
		return true;
	case 5:
		ev->type = RDL_EV_FREEZE;
		return true;
	case 6:
		any_rebuilt(ev);
		return lock.frz == RDL_FRZ_CLAIMED || one_of(20);
	case 7:
		/* A link comes when nothing can land any more over the old one. */
		ev->type = lock.st == RDL_ST_LOST ? RDL_EV_REJOIN : RDL_EV_LINK_UP;
		if (ev->type == RDL_EV_REJOIN)
			ev->epoch = lock.epoch + bits(1);
		return !busy;
	case 8:
		ev->type = one_of(10) ? RDL_EV_LOSE : RDL_EV_LEASE;
		return true;
	case 9:
		any_peer(ev);
		return true;
	case 10:
		ev->type = RDL_EV_SHED;
		ev->flags |= RDL_F_SHED;
		return true;
	default:
		return user_event(ev, leaves);
	}
}

/* NULL, or what is wrong with what the core wants done to the users. */
static const char *tell_users(const struct rdl_acts *acts)
{
	u32 i, n;

	if (acts->n > RDL_MAX_ACTIONS)
		return "too many actions";
	for (i = 0; i < acts->n; i++) {
		const struct rdl_action *a = &acts->a[i];

		switch (a->type) {
		case RDL_ACT_DELIVER:
			n = a->n ? a->n : 1;
			if (n > fifo.n)
				return "a grant for nobody";
			memmove(fifo.mode, fifo.mode + n, fifo.n - n);
			fifo.n -= n;
			break;
		case RDL_ACT_FAIL_HEAD:
			memmove(fifo.mode, fifo.mode + 1, fifo.n - 1);
			fifo.n--;
			break;
		case RDL_ACT_FAIL_TAIL:
			fifo.n--;
			break;
		case RDL_ACT_FAIL_ALL:
			fifo.n = 0;
			break;
		}
	}
	return NULL;
}

static const char *hostile_step(void)
{
	struct rdl_event ev = { .flags = one_of(8) ? bits(2) : RDL_F_LEASE | RDL_F_LINK, .rnd = bits(32) };
	struct rdl_lock was = lock;
	const struct rdl_cell *cell;
	struct rdl_acts acts;
	const char *bad;
	unsigned int n = fifo.n;
	int leaves = -1, err;
	bool over;
	u8 old[sizeof(fifo.mode)];

	if (!(ev.flags & RDL_F_LEASE))
		ev.flags &= ~RDL_F_LINK;
	ev.epoch = lock.epoch + (one_of(8) ? rnd(&dice, 3) - 1 : 0);
	ev.mode = lock.kind == RDL_KIND_FAIR && bits(1) ? RDL_MODE_S : RDL_MODE_X;
	if (!any_event(&ev, &leaves))
		return NULL;
	memcpy(old, fifo.mode, sizeof(old));
	if (ev.type == RDL_EV_ACQ)
		fifo.mode[fifo.n++] = ev.mode;
	if (leaves >= 0) {
		memmove(fifo.mode + leaves, fifo.mode + leaves + 1, fifo.n - leaves - 1);
		fifo.n--;
	}
	ev.head = fifo.n ? fifo.mode[0] : RDL_MODE_NL;
	while (ev.run < fifo.n && fifo.mode[ev.run] == RDL_MODE_S)
		ev.run++;
	last_type = ev.type;
	last_st = was.st;
	err = rdl_step(&lock, &ev, &acts);
	if (err) {
		memcpy(fifo.mode, old, sizeof(old));
		fifo.n = n;
		return memcmp(&was, &lock, sizeof(lock)) || acts.n ? "a refused event left a trace" : NULL;
	}
	bad = tell_users(&acts);
	if (bad)
		return bad;
	bad = rdl_check(&lock);
	if (bad)
		return bad;
	if (fifo.n != lock.nq)
		return "the core counts other waiters than there are";
	cell = rdl_cell(rdl_kind_ops(lock.kind), was.st, ev.type);
	/* Messages of an epoch that is over leave nothing; those of one that has not begun are kept, in any state. */
	over = ev.type == RDL_EV_REBUILT ? ev.epoch <= was.epoch : ev.epoch < was.epoch;
	if (over && !acts.n && !memcmp(&was, &lock, sizeof(lock)))
		return NULL;
	if (!cell || cell->fn == rdl_impossible)
		return ev.epoch <= was.epoch || lock.st != was.st ? "accepted, though impossible" : NULL;
	if (was.st != RDL_ST_LOST && !(cell->next >> lock.st & 1))
		return "not in the table";
	hostile_seen[lock.kind][was.st][ev.type] = 1;
	return NULL;
}

const char *queue_hostile(u64 seed)
{
	static char why[160];
	const char *bad = NULL;
	int run, i;
	u8 kind, props;

	dice.rng = seed;
	sim_ticket_soft = 6;
	sim_ticket_hard = 9;
	for (run = 0; run < RUNS * (RDL_NR_KINDS - RDL_KIND_FAIR); run++) {
		kind = RDL_KIND_FAIR + run % (RDL_NR_KINDS - RDL_KIND_FAIR);
		props = bits(2) | (one_of(3) ? RDL_P_ROBUST : 0);
		if (props & RDL_P_VALUE && bits(1))
			props |= RDL_P_BIG;
		fifo.n = 0;
		rdl_lock_init(&lock, kind, 2, rdl_epoch(1, 0), bits(2));
		rdl_lock_props(&lock, props, SEED);
		for (i = 0; i < EVENTS && !bad; i++)
			bad = hostile_step();
		if (bad) {
			snprintf(why, sizeof(why), "%s, run %d, event %d: %s + %s -> %s: %s", rdl_kind_name(kind), run,
				 i, rdl_state_name(last_st), rdl_event_name(last_type), rdl_state_name(lock.st), bad);
			return why;
		}
	}
	return first_wrong;
}
