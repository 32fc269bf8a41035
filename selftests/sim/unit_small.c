// SPDX-License-Identifier: GPL-2.0
/* The kinds with a queue in small worlds. */
#include "small.h"
#include "unit.h"

#define SMALL_WORLDS	10000

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

const char *small_fair(u64 seed)
{
	return worlds(seed, RDL_KIND_FAIR);
}

/* A mutant in the world of @seed of each kind: NULL, it lives. */
const char *small_mutant(u64 seed)
{
	static char why[256];
	const char *err = NULL;
	u8 kind;

	first_wrong = NULL;
	if (stat_rounds(seed))
		return first_wrong;
	for (kind = RDL_KIND_FAIR; kind < RDL_ALL_KINDS && !err; kind++) {
		if (!rdl_kind_ops(kind))
			continue;
		err = small_run(&world, seed, kind, false);
		if (err)
			snprintf(why, sizeof(why), "%s: %s", rdl_kind_name(kind), err);
	}
	return err ? why : NULL;
}
