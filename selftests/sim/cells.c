// SPDX-License-Identifier: GPL-2.0
/* Which cells of the state tables the worlds of a run have reached. */
#include "main.h"
#include "unit.h"

/*
 * Cells that only a message reaches that a session should not have let through, or one that overtakes the answer to an
 * OPEN. The unit test table_hostile reaches them.
 */
static bool cell_needs_liar(unsigned int s, unsigned int e)
{
	return s == RDL_ST_LOST && (e == RDL_EV_FREEZE || e == RDL_EV_REBUILT || e == RDL_EV_LINK_UP);
}

/* How often it happened in the worlds of this run; in the small worlds once counts as once. */
static u64 cell_count(u8 kind, unsigned int s, unsigned int e)
{
	return cov.count[kind][s][e] + !!small_seen[kind][s][e];
}

/* All of them, in the worlds or by the events of unit_hostile.c, which a world may not bring about in its time. */
static bool judge_cells_of(u8 kind, char *note, size_t size)
{
	const struct rdl_kind_ops *ops = rdl_kind_ops(kind);
	unsigned int s, e, cells = 0, reached = 0, hostile = 0, missed = 0, rare_s = 0, rare_e = 0;
	u64 least = NEVER;

	for (s = 0; s < RDL_NR_STATES; s++) {
		for (e = 0; e < RDL_NR_EVENTS; e++) {
			const struct rdl_cell *c = rdl_cell(ops, s, e);
			u64 n = cell_count(kind, s, e);

			if (!c || c->fn == rdl_impossible || cell_needs_liar(s, e))
				continue;
			cells++;
			reached += !!n;
			hostile += !n && hostile_seen[kind][s][e];
			if (!n && !hostile_seen[kind][s][e]) {
				printf("# %s: %s + %s never happened\n", rdl_kind_name(kind), rdl_state_name(s),
				       rdl_event_name(e));
				missed++;
			}
			if (n >= least || !n)
				continue;
			least = n;
			rare_s = s;
			rare_e = e;
		}
	}
	snprintf(note, size, "%u of %u cells, %u more by hostile events; rarest: %s + %s happened %llu times",
		 reached, cells, hostile, rdl_state_name(rare_s), rdl_event_name(rare_e), (unsigned long long)least);
	return !missed;
}

void cells_judge(void)
{
	char name[64], note[200] = "";
	u8 kind;

	for (kind = RDL_KIND_SPIN; kind < RDL_NR_KINDS; kind++) {
		snprintf(name, sizeof(name), "cells_reached_%s", rdl_kind_name(kind));
		if (cov.worlds >= ENOUGH_WORLDS && !wish.kind && (!wish.nodes || wish.nodes > 2)) {
			bool ok = judge_cells_of(kind, note, sizeof(note));

			result(ok, name, note);
			continue;
		}
		snprintf(note, sizeof(note), "needs %d worlds of all sorts, that is SECONDS=%d or more", ENOUGH_WORLDS,
			 FULL_SECONDS);
		skipped(name, note);
	}
}
