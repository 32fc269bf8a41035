// SPDX-License-Identifier: GPL-2.0
/* The kinds with a queue in small worlds. */
#include "small.h"
#include "unit.h"

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

static int step(struct rdl_lock *l, struct rdl_acts *acts, struct rdl_event ev)
{
	ev.flags = RDL_F_LEASE | RDL_F_LINK;
	return rdl_step(l, &ev, acts);
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
	if (stat_rounds(seed) || next_early(seed))
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
