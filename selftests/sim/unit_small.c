// SPDX-License-Identifier: GPL-2.0
/* The kinds with a queue in small worlds. */
#include "small.h"
#include "unit.h"
#include "fair.h"
#include "queue.h"
#include "unit_queue.h"

#define SMALL_WORLDS	4000

static struct small world;

static const char *worlds(u64 seed, u8 kind)
{
	static char why[256];
	u64 i;

	for (i = 0; i < SMALL_WORLDS; i++) {
		const char *err = small_run(&world, seed + i, kind, false);

		if (!err)
			continue;
		snprintf(why, sizeof(why), "small world %llu: %s", (unsigned long long)(seed + i), err);
		return why;
	}
	return NULL;
}

/* A reader whose grant was lost is not helped by the other readers. */
const char *stat_rounds(u64 seed)
{
	struct rdl_stat reader = { RDL_ST_WAIT, RDL_MODE_S, 5, 1 }, writer = { RDL_ST_WAIT, RDL_MODE_X, 5, 1 };
	struct rdl_stat all[3] = { reader, { RDL_ST_HELD, RDL_MODE_S, 3, 1 }, { RDL_ST_NONE, RDL_MODE_NL, 0, 0 } };

	(void)seed;
	wrong(!rdl_stat_stuck(&reader, all, 3), "a reader beside readers is not missed");
	wrong(rdl_stat_stuck(&all[1], all, 3), "a reader that has it is stuck");
	all[2] = (struct rdl_stat){ RDL_ST_WAIT, RDL_MODE_X, 4, 1 };
	wrong(rdl_stat_stuck(&reader, all, 3), "a writer comes before");
	all[0] = writer;
	wrong(rdl_stat_stuck(&writer, all, 3), "readers give it to the writer behind them");
	all[1].st = RDL_ST_NONE;
	wrong(!rdl_stat_stuck(&writer, all, 3), "nobody has it");
	all[1] = (struct rdl_stat){ RDL_ST_CACHED, RDL_MODE_X, 3, 1 };
	wrong(rdl_stat_stuck(&writer, all, 3), "an owner has it");
	all[1].st = RDL_ST_DUTY;
	wrong(rdl_stat_stuck(&reader, all, 3), "somebody looks for who comes next");
	return first_wrong;
}

/* Kind mcs: the one behind speaks before the own CAS has ended; then an old message of another comes. */
const char *next_early(u64 seed)
{
	struct rdl_event right = { .type = RDL_EV_HINT, .epoch = rdl_epoch(1, 0) }, old = right;
	struct rdl_acts acts;
	struct rdl_lock l;

	(void)seed;
	right.peer = (struct rdl_peer){ .node = 2, .ticket = 1, .mode = RDL_MODE_X };
	old.peer = (struct rdl_peer){ .node = 3, .ticket = 0, .mode = RDL_MODE_X };
	sim_ticket_soft = 1u << 25;
	sim_ticket_hard = (1u << RDL_TICKET_BITS) - 1024;
	rdl_lock_init(&l, RDL_KIND_MCS, 0, rdl_epoch(1, 0), 2);
	rdl_lock_props(&l, RDL_P_STICKY, 7);
	wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_ACQ }) || l.st != RDL_ST_DRAW, "no draw");
	wrong(step(&l, &acts, right) || step(&l, &acts, old), "a message is refused");
	wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_OP, .old = l.guess }) || l.st != RDL_ST_HELD,
	      "not granted");
	wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_REL }), "not released");
	wrong(acts.n != 1 || acts.a[0].type != RDL_ACT_SEND_GRANT || acts.a[0].peer.node != 2 ||
	      acts.a[0].peer.ticket != 1, "not handed to the one behind");
	return first_wrong;
}

/* Node 1 of a lock of kind fair has it exclusively. */
static void own(struct rdl_lock *l, struct rdl_acts *acts, u8 props)
{
	sim_ticket_soft = 1u << 25;
	sim_ticket_hard = (1u << RDL_TICKET_BITS) - 1024;
	sim_debt_max = 64;
	rdl_lock_init(l, RDL_KIND_FAIR, 1, rdl_epoch(1, 0), 2);
	rdl_lock_props(l, props, 7);
	wrong(step(l, acts, (struct rdl_event){ .type = RDL_EV_ACQ }), "no draw");
	wrong(step(l, acts, ended(0, RDL_OK)), "not drawn");
	if (props & RDL_P_VALUE)
		wrong(step(l, acts, ended(RDL_ACT_POST_READ_VALUE, RDL_OK)), "not read");
	if (props & RDL_P_STICKY)
		wrong(step(l, acts, ended(RDL_ACT_POST_WRITE_SLOT, RDL_OK)), "no slot");
	wrong(l->st != RDL_ST_HELD || l->users != 1, "not granted");
}

/* The user goes down with a changed value; it lands, the word certainly does not. Its version, or 0: not begun. */
static u64 down_fails(struct rdl_lock *l, struct rdl_acts *acts)
{
	const struct rdl_action *a;
	u64 ver;

	wrong(step(l, acts, (struct rdl_event){ .type = RDL_EV_DOWN, .dirty = 1 }), "no downgrade");
	if (l->st == RDL_ST_HELD)
		return 0;
	a = find(acts, RDL_ACT_POST_FAA);
	ver = a->peer.ver;
	wrong(!(a->arg & RDL_POST_VALUE), "the value does not go along");
	wrong(step(l, acts, ended(0, RDL_FAILED)) || l->st != RDL_ST_HELD || l->q.mode != RDL_MODE_X, "not back");
	wrong(step(l, acts, (struct rdl_event){ .type = RDL_EV_TIMER }), "no pause");
	return ver;
}

/* A downgrade fails, its value is in the body; then the user changes it again, and a recovery finds both. */
const char *down_failed(u64 seed)
{
	static struct rdl_recover rec;
	u64 openers[RDL_MAX_NODES / 64] = { 2 };
	struct rdl_acts acts;
	struct rdl_lock l;

	(void)seed;
	own(&l, &acts, RDL_P_VALUE);
	rdl_recover_start(&rec, RDL_KIND_FAIR, l.epoch, l.epoch + 1, l.guess | RDL_W_F, openers, false, false);
	rec.ver = down_fails(&l, &acts);
	wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_FREEZE, .epoch = l.epoch }), "not frozen");
	wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_REL, .dirty = 1 }), "not released");
	wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_FREEZE, .epoch = l.epoch }), "not frozen again");
	wrong(rdl_recover_claim(&rec, 1, l.epoch, &find(&acts, RDL_ACT_CLAIM)->claim), "not claimed");
	rdl_recover_finish(&rec);
	wrong(rec.value_from != 2, "the value that was left last is lost in a recovery");
	return first_wrong;
}

/* However often that happens, versions grow, and stay below those of the next ticket. */
const char *down_fails_often(u64 seed)
{
	u64 ver, last = 0;
	struct rdl_acts acts;
	struct rdl_lock l;
	int i;

	(void)seed;
	own(&l, &acts, RDL_P_VALUE);
	for (i = 0; i < 2000 && (ver = down_fails(&l, &acts)); i++) {
		wrong(ver <= last, "a version comes again");
		last = ver;
	}
	wrong(i == 2000, "versions without end");
	wrong(find(&acts, RDL_ACT_CONVERT_FAILED)->arg != EAGAIN || l.q.ver != last, "refused, and begun");
	wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_REL, .dirty = 1 }), "not released");
	wrong(l.q.ver <= last, "no version is left for the release");
	wrong(l.q.ver >= rdl_token(l.epoch, 1, 0), "a version of the next ticket");
	return first_wrong;
}

/* Who keeps a lock for nothing gives it back for a try of another node, and says so. */
const char *probe_idle(u64 seed)
{
	struct rdl_event probe = { .type = RDL_EV_PROBE, .epoch = rdl_epoch(1, 0), .peer = { .node = 2 } };
	struct rdl_event end = ended(0, RDL_OK);
	const struct rdl_action *a;
	struct rdl_acts acts;
	struct rdl_lock l;

	(void)seed;
	own(&l, &acts, RDL_P_STICKY);
	wrong(step(&l, &acts, probe) || find(&acts, RDL_ACT_SEND_ANSWER)->peer.idle, "given up in use");
	wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_REL }) || l.st != RDL_ST_CACHED, "not kept");
	end.old = l.guess;
	wrong(step(&l, &acts, probe) || l.st != RDL_ST_POP, "an idle owner does not give it up");
	wrong(step(&l, &acts, end) || l.st != RDL_ST_NONE, "not given up");
	a = find(&acts, RDL_ACT_SEND_ANSWER);
	wrong(a->peer.node != 2 || !a->peer.idle, "the one that asked is not told");
	return first_wrong;
}

/* The READ of the word that is in flight ends, and finds so many exclusive tickets drawn. */
static void looked(struct rdl_lock *l, struct rdl_acts *acts, u32 writers)
{
	struct rdl_event end = ended(RDL_ACT_POST_READ_WORD, RDL_OK);

	end.old = rdl_w_pack(1 + writers, writers, 1, l->epoch, false, false);
	end.head = l->nq ? RDL_MODE_S : RDL_MODE_NL;
	end.run = l->nq;
	wrong(step(l, acts, end), "no READ of the word was in flight");
}

/*
 * Readers of one node join without end while no writer waits, with one look for each half of the budget, also where the
 * budget is 0, and whether a look ends before or after the next reader comes. They are let in no more when one waits.
 */
static void readers_look_of(u16 budget)
{
	u32 i, left = budget, gain = budget ? budget - budget / 2 : 1, users = 1;
	struct rdl_event rebuilt = { .type = RDL_EV_REBUILT };
	struct rdl_event end = ended(0, RDL_OK);
	struct rdl_acts acts;
	struct rdl_lock l;

	rdl_lock_init(&l, RDL_KIND_FAIR, 1, rdl_epoch(1, 0), budget);
	rdl_lock_props(&l, 0, 7);
	wrong(step(&l, &acts, reader()), "no draw");
	end.head = RDL_MODE_S;
	end.run = 1;
	wrong(step(&l, &acts, end) || l.users != 1, "not granted");
	for (i = 0; i < 50 && (i < 40 || l.q.rd != RDL_ACT_POST_READ_WORD); i++) {
		bool due = left <= budget / 2;

		wrong(budget && due != (l.q.rd == RDL_ACT_POST_READ_WORD), "a look too many, or none");
		if (budget && due && i % 3 == 0) {
			looked(&l, &acts, 0);
			left += gain;
		}
		wrong(step(&l, &acts, reader()), "a reader is refused");
		wrong(!l.nq != !!left, "it joins, or waits, when it should not");
		if (l.nq) {
			looked(&l, &acts, 0);
			left += gain;
		}
		left -= !!left;
		wrong(l.users != ++users || l.nq, "a reader waits for nobody");
	}
	if (!budget)
		wrong(step(&l, &acts, reader()), "a reader is refused");
	looked(&l, &acts, 1);
	for (; left; left--)
		wrong(step(&l, &acts, reader()) || l.users != ++users, "no join within the budget");
	wrong(step(&l, &acts, reader()) || l.nq != 1 + !budget, "a reader passes a writer that waits");
	wrong(l.q.rd || l.q.rd_due, "and looks again");
	/* The writer may have died, and been recovered from. */
	wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_FREEZE, .epoch = l.epoch }), "not frozen");
	rebuilt.epoch = l.epoch + 1;
	rebuilt.rebuilt.what = RDL_CLAIM_HOLD;
	rebuilt.rebuilt.mode = RDL_MODE_S;
	rebuilt.rebuilt.granted = 1;
	rebuilt.head = RDL_MODE_S;
	rebuilt.run = l.nq;
	wrong(step(&l, &acts, rebuilt) || l.st != RDL_ST_HELD, "not rebuilt");
	wrong(l.nq && l.q.rd != RDL_ACT_POST_READ_WORD, "after a recovery nobody looks again");
}

const char *readers_look(u64 seed)
{
	(void)seed;
	sim_ticket_soft = 1u << 25;
	sim_ticket_hard = (1u << RDL_TICKET_BITS) - 1024;
	sim_debt_max = 64;
	readers_look_of(4);
	readers_look_of(3);
	readers_look_of(1);
	readers_look_of(0);
	return first_wrong;
}

/* The home recovers the lock, which this node has; whoever waits elsewhere is told of, or says so itself. */
/* @again: who waits speaks again before the owner releases it. */
static void recovered(struct rdl_lock *l, struct rdl_acts *acts, bool again)
{
	struct rdl_event freeze = { .type = RDL_EV_FREEZE, .epoch = l->epoch };
	struct rdl_event rebuilt = { .type = RDL_EV_REBUILT, .epoch = l->epoch + 1 };
	struct rdl_event hint = { .type = RDL_EV_HINT };

	freeze.head = l->nq ? RDL_MODE_X : RDL_MODE_NL;
	freeze.run = 0;
	wrong(step(l, acts, freeze), "not frozen");
	rebuilt.head = freeze.head;
	rebuilt.rebuilt.what = RDL_CLAIM_HOLD;
	rebuilt.rebuilt.mode = RDL_MODE_X;
	rebuilt.rebuilt.granted = 1;
	if (l->kind == RDL_KIND_MCS && again)
		rebuilt.rebuilt.succ = 3;
	wrong(step(l, acts, rebuilt) || l->st != RDL_ST_HELD, "not rebuilt");
	hint.peer.mode = RDL_MODE_X;
	hint.peer.node = 2;
	hint.peer.ticket = l->ticket + 1;
	hint.epoch = l->epoch;
	hint.head = rebuilt.head;
	if (!again) {
		wrong(l->q.hint, "it has not forgotten who waits");
		return;
	}
	if (l->kind == RDL_KIND_FAIR)
		wrong(step(l, acts, hint), "no hint");
	wrong(l->kind != RDL_KIND_TICKET && !l->q.hint, "it knows of nobody");
}

/* A recovery between each two owners of a node that go on taking it: another node gets it after a budget of them. */
/* Of a sticky lock, after another node was heard of; the recovery forgets which one, and it does not speak again. */
static void budget_recovered_of(u8 kind, u8 props)
{
	struct rdl_event hint = { .type = RDL_EV_HINT, .epoch = rdl_epoch(1, 0), .flags = RDL_F_LINK | RDL_F_LEASE };
	struct rdl_event acq = { .type = RDL_EV_ACQ, .mode = RDL_MODE_X, .head = RDL_MODE_X };
	struct rdl_event rel = { .type = RDL_EV_REL, .head = RDL_MODE_X, .flags = RDL_F_LINK | RDL_F_LEASE };
	struct rdl_event end = ended(0, RDL_OK);
	u32 i, local = 0;
	struct rdl_acts acts;
	struct rdl_lock l;

	rdl_lock_init(&l, kind, 1, rdl_epoch(1, 0), 3);
	rdl_lock_props(&l, props, 7);
	wrong(step(&l, &acts, acq), "no draw");
	end.head = RDL_MODE_X;
	wrong(step(&l, &acts, end) || l.users != 1, "not granted");
	hint.peer = (struct rdl_peer){ .node = 2, .mode = RDL_MODE_X, .ticket = l.ticket + 1 };
	if (props & RDL_P_STICKY)
		wrong(step(&l, &acts, hint) || !l.q.hint, "not heard");
	if (l.q.slot)
		wrong(step(&l, &acts, ended(RDL_ACT_POST_WRITE_SLOT, RDL_OK)), "not on the board");
	for (i = 0; i < 10 && l.st == RDL_ST_HELD; i++) {
		recovered(&l, &acts, !(props & RDL_P_STICKY));
		wrong(step(&l, &acts, acq) || l.nq != 1, "it does not wait");
		wrong(step(&l, &acts, rel), "not released");
		local += l.st == RDL_ST_HELD;
	}
	wrong(local != 3, "not a budget of them");
}

const char *budget_recovered(u64 seed)
{
	(void)seed;
	sim_ticket_soft = 1u << 25;
	sim_ticket_hard = (1u << RDL_TICKET_BITS) - 1024;
	sim_debt_max = 64;
	budget_recovered_of(RDL_KIND_FAIR, 0);
	budget_recovered_of(RDL_KIND_TICKET, 0);
	budget_recovered_of(RDL_KIND_MCS, 0);
	budget_recovered_of(RDL_KIND_FAIR, RDL_P_STICKY);
	budget_recovered_of(RDL_KIND_MCS, RDL_P_STICKY);
	return first_wrong;
}

static void reset_of(u8 kind, bool late)
{
	struct rdl_event reset = { .type = RDL_EV_REPORT, .report = RDL_REPORT_RESET };
	struct rdl_event freeze = { .type = RDL_EV_FREEZE, .epoch = rdl_epoch(1, 0) };
	struct rdl_event rebuilt = { .type = RDL_EV_REBUILT };
	struct rdl_acts acts;
	struct rdl_lock l;
	u8 said;

	rebuilt.rebuilt.what = RDL_CLAIM_NONE;
	rebuilt.rebuilt.vflags = RDL_VF_NOTRECOVERABLE;
	rdl_lock_init(&l, kind, 1, rdl_epoch(1, 0), 2);
	rdl_lock_props(&l, RDL_P_ROBUST, 7);
	wrong(step(&l, &acts, freeze), "not frozen");
	freeze.epoch++;
	rebuilt.epoch = freeze.epoch;
	wrong(step(&l, &acts, rebuilt), "not ruined");
	wrong(!late && step(&l, &acts, reset), "not reset");
	if (!late)
		find(&acts, RDL_ACT_ROLL);
	wrong(step(&l, &acts, freeze), "not frozen");
	said = find(&acts, RDL_ACT_CLAIM)->claim.report;
	wrong(said != (late ? RDL_REPORT_NONE : RDL_REPORT_RESET), "a reset is not claimed, or one that is none");
	if (!late)
		return;
	wrong(step(&l, &acts, reset), "not asked");
	/* REBUILT is lost: the lock was recoverable, and is ruined again. */
	freeze.epoch++;
	wrong(step(&l, &acts, freeze), "not frozen again");
	wrong(find(&acts, RDL_ACT_CLAIM)->claim.report, "a reset of an epoch that is over is claimed");
}

/* A reset is of the ruin that was there when it was asked for, not of a later one. */
const char *reset_late(u64 seed)
{
	u8 kind;

	(void)seed;
	sim_ticket_soft = 1u << 25;
	sim_ticket_hard = (1u << RDL_TICKET_BITS) - 1024;
	for (kind = RDL_KIND_SPIN; kind < RDL_NR_KINDS; kind++) {
		reset_of(kind, false);
		reset_of(kind, true);
	}
	return first_wrong;
}

static bool told(const struct rdl_acts *acts)
{
	return find(acts, RDL_ACT_DELIVER)->arg & RDL_GRANT_OWNER_DIED;
}

/* Two want the lock of an owner that died; the first has it. */
static void inherit(struct rdl_lock *l, struct rdl_acts *acts, u8 kind)
{
	struct rdl_event end = ended(0, RDL_OK), read = ended(RDL_ACT_POST_READ_VALUE, RDL_OK);

	read.peer.vflags = RDL_VF_OWNER_DIED | RDL_VF_VALUE_INVALID;
	rdl_lock_init(l, kind, 1, rdl_epoch(1, 0), 2);
	rdl_lock_props(l, 0, 7);
	l->guess |= RDL_W_A;
	wrong(step(l, acts, (struct rdl_event){ .type = RDL_EV_ACQ }) ||
	      step(l, acts, (struct rdl_event){ .type = RDL_EV_ACQ }), "no draw");
	end.old |= RDL_W_A;
	wrong(step(l, acts, end), "not drawn");
	if (kind != RDL_KIND_SPIN)
		wrong(step(l, acts, read), "the notice is not read");
	wrong(l->st != RDL_ST_HELD || l->users != 1 || !told(acts), "not told");
	wrong(did(acts, RDL_ACT_CONSISTENT), "settled before the user has looked");
}

static void unseen_of(u8 kind)
{
	struct rdl_event seen = { .type = RDL_EV_REPORT, .report = RDL_REPORT_CONSISTENT };
	struct rdl_event hint = { .type = RDL_EV_HINT, .epoch = rdl_epoch(1, 0),
				  .peer = { .node = 2, .ticket = 1, .mode = RDL_MODE_X } };
	struct rdl_event rebuilt = { .type = RDL_EV_REBUILT, .epoch = rdl_epoch(1, 1) };
	struct rdl_acts acts;
	struct rdl_lock l;

	rebuilt.rebuilt.what = RDL_CLAIM_HOLD;
	rebuilt.rebuilt.mode = RDL_MODE_X;
	rebuilt.rebuilt.vflags = RDL_VF_OWNER_DIED;
	/* The first leaves without a look, the second looks. */
	inherit(&l, &acts, kind);
	wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_REL }) || !told(&acts), "the next user is not told");
	wrong(did(&acts, RDL_ACT_CONSISTENT), "settled, and nobody has looked");
	wrong(step(&l, &acts, seen) || acts.n != 1 || !did(&acts, RDL_ACT_CONSISTENT), "not settled");
	wrong(step(&l, &acts, seen) || acts.n, "settled twice");
	wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_ACQ }) ||
	      step(&l, &acts, (struct rdl_event){ .type = RDL_EV_REL }) || told(&acts), "told once more");
	wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_LOSE }) || step(&l, &acts, seen) || acts.n,
	      "a look after the session was lost");
	/* It looks while the home recovers the lock, and the notice may be gone then. */
	inherit(&l, &acts, kind);
	wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_FREEZE, .epoch = l.epoch }), "not frozen");
	wrong(step(&l, &acts, seen) || acts.n, "settled in a recovery");
	wrong(step(&l, &acts, rebuilt), "not rebuilt");
	wrong(!did(&acts, RDL_ACT_CONSISTENT), "not settled after a recovery");
	if (kind != RDL_KIND_FAIR && kind != RDL_KIND_MCS)
		return;
	/* Both leave, and the lock goes to another node. */
	inherit(&l, &acts, kind);
	wrong(step(&l, &acts, hint) || step(&l, &acts, (struct rdl_event){ .type = RDL_EV_REL }) ||
	      step(&l, &acts, (struct rdl_event){ .type = RDL_EV_REL }), "not released");
	wrong(!(find(&acts, RDL_ACT_SEND_GRANT)->peer.vflags & RDL_VF_OWNER_DIED), "another node is not told");
}

/* Who leaves without having looked at its grant was not told of a death: the next one is, wherever it is. */
const char *notice_unseen(u64 seed)
{
	struct rdl_event seen = { .type = RDL_EV_REPORT, .report = RDL_REPORT_CONSISTENT };
	struct rdl_acts acts;
	struct rdl_lock l;
	u8 kind;

	(void)seed;
	sim_ticket_soft = 1u << 25;
	sim_ticket_hard = (1u << RDL_TICKET_BITS) - 1024;
	sim_debt_max = 64;
	for (kind = RDL_KIND_SPIN; kind < RDL_NR_KINDS; kind++)
		unseen_of(kind);
	/* A damaged body of a lock without a value: nobody is told anything, so nobody will answer. */
	rdl_lock_init(&l, RDL_KIND_FAIR, 1, rdl_epoch(1, 0), 2);
	rdl_lock_props(&l, 0, 7);
	l.q.vflags = RDL_VF_VALUE_INVALID;
	l.st = RDL_ST_HELD;
	l.q.mode = RDL_MODE_X;
	l.q.ticket_epoch = l.epoch;
	l.q.fresh = 1;
	wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_ACQ }) || told(&acts), "told of no death");
	wrong(find(&acts, RDL_ACT_CONSISTENT)->arg != RDL_VF_VALUE_INVALID, "not settled at once");
	wrong(step(&l, &acts, seen) || acts.n, "settled twice");
	return first_wrong;
}

/* A reader of this node that becomes the writer does not overtake those who wait on this node, either. */
const char *upgrade_waits(u64 seed)
{
	struct rdl_event acq = { .type = RDL_EV_ACQ, .mode = RDL_MODE_S, .head = RDL_MODE_S, .run = 1 };
	struct rdl_event writer = { .type = RDL_EV_ACQ, .mode = RDL_MODE_X, .head = RDL_MODE_X };
	struct rdl_acts acts;
	struct rdl_lock l;

	(void)seed;
	sim_ticket_soft = 1u << 25;
	sim_ticket_hard = (1u << RDL_TICKET_BITS) - 1024;
	rdl_lock_init(&l, RDL_KIND_FAIR, 1, rdl_epoch(1, 0), 2);
	rdl_lock_props(&l, 0, 7);
	wrong(step(&l, &acts, acq), "no draw");
	acq = ended(0, RDL_OK);
	acq.head = RDL_MODE_S;
	acq.run = 1;
	wrong(step(&l, &acts, acq) || l.st != RDL_ST_HELD || l.q.mode != RDL_MODE_S, "not a reader");
	wrong(step(&l, &acts, writer) || l.nq != 1, "nobody waits");
	wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_UP }) || l.st != RDL_ST_HELD ||
	      find(&acts, RDL_ACT_CONVERT_FAILED)->arg != EDEADLK, "a waiter of the same node is overtaken");
	wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_CANCEL }), "no cancel");
	wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_UP }) || l.st != RDL_ST_UPG, "no upgrade");
	return first_wrong;
}

/* What the module sees of a core that contradicts itself: it says so, and counts nothing wrong. */
const char *broken(u64 seed)
{
	struct rdl_acts acts = {};
	struct rdl_lock l;
	unsigned int i;

	(void)seed;
	rdl_lock_init(&l, RDL_KIND_SPIN, 1, rdl_epoch(1, 0), 2);
	sim_forgive = 1;
	for (i = 0; i < RDL_MAX_ACTIONS; i++)
		rdl_act(&acts, RDL_ACT_TIMER);
	wrong(acts.broken || acts.dropped, "no room for what there is room for");
	rdl_act_post(&l, &acts, RDL_ACT_POST_CAS, 1, 2);
	rdl_act_msg(&l, &acts, RDL_ACT_ROLL);
	wrong(!acts.broken || acts.n != RDL_MAX_ACTIONS, "an action too many goes unnoticed");
	wrong(acts.dropped != (1u << RDL_ACT_POST_CAS | 1u << RDL_ACT_ROLL), "it is not known what was dropped");
	for (i = 0; i < acts.n; i++)
		wrong(acts.a[i].type != RDL_ACT_TIMER, "an action was replaced");
	acts = (struct rdl_acts){};
	rdl_act_post(&l, &acts, RDL_ACT_POST_FAA, 0, 1);
	wrong(!acts.broken || acts.n || l.io != RDL_ACT_POST_CAS, "two operations on the word at once");
	/* Those who add to what they have posted. */
	acts = (struct rdl_acts){};
	rdl_store(&l, &acts);
	wrong(!acts.broken || acts.n, "a value is written beside an operation on the word");
	rdl_lock_props(&l, RDL_P_VALUE, 7);
	l.q.dirty = 1;
	l.q.mode = RDL_MODE_X;
	acts = (struct rdl_acts){};
	rdl_pop(&l, &acts);
	wrong(!acts.broken || acts.n, "a grant is given back beside an operation on the word");
	rdl_lock_init(&l, RDL_KIND_SPIN, 1, rdl_epoch(1, 0), 2);
	acts = (struct rdl_acts){};
	rdl_act_fail(&l, &acts, RDL_ACT_FAIL_HEAD, EAGAIN);
	wrong(!acts.broken || acts.n || l.nq, "nobody waits, and fails");
	acts = (struct rdl_acts){};
	rdl_deliver(&l, &(struct rdl_event){}, &acts, 0);
	wrong(!acts.broken || acts.n || l.nq || l.users || l.st != RDL_ST_NONE, "nobody waits, and is granted");
	acts = (struct rdl_acts){};
	rdl_deliver_run(&l, &(struct rdl_event){}, &acts, 1);
	wrong(!acts.broken || acts.n || l.nq || l.users, "nobody waits, and some are granted");
	sim_forgive = 0;
	acts.broken = true;
	acts.dropped = 1;
	wrong(rdl_step(&l, &(struct rdl_event){ .type = RDL_EV_TIMER }, &acts) || acts.broken || acts.dropped,
	      "the next step is broken, too");
	return first_wrong;
}

const char *small_fair(u64 seed)
{
	return worlds(seed, RDL_KIND_FAIR);
}

const char *small_ticket(u64 seed)
{
	return worlds(seed, RDL_KIND_TICKET);
}

const char *small_mcs(u64 seed)
{
	return worlds(seed, RDL_KIND_MCS);
}

/* A mutant in the world of @seed of each kind: NULL, it lives. */
const char *small_mutant(u64 seed)
{
	static char why[256];
	const char *err = NULL;
	u8 kind;

	first_wrong = NULL;
	if (stat_rounds(seed) || next_early(seed) || (rdl_bust(PROBE_DEAF) && probe_idle(seed)))
		return first_wrong;
	for (kind = RDL_KIND_FAIR; kind < RDL_NR_KINDS && !err; kind++) {
		if (!rdl_kind_ops(kind))
			continue;
		err = small_run(&world, seed, kind, false);
		if (err)
			snprintf(why, sizeof(why), "%s: %s", rdl_kind_name(kind), err);
	}
	return err ? why : NULL;
}
