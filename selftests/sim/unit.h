/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of unit tests share. */
#ifndef UNIT_H
#define UNIT_H

#include "sim.h"

/* The first thing that is wrong in the test that runs. */
extern const char *first_wrong;
extern struct world dice;	/* its random numbers only */

static inline void wrong(bool is, const char *what)
{
	if (is && !first_wrong)
		first_wrong = what;
}

static inline u32 bits(int n)
{
	return rnd64(&dice) >> (64 - n);
}

/* unit_table.c */
const char *table_complete(u64 seed);
const char *table_hostile(u64 seed);

/* unit_hostile.c */
extern u8 hostile_seen[RDL_NR_KINDS][RDL_NR_STATES][RDL_NR_EVENTS];	/* reached there */
const char *queue_hostile(u64 seed);

/* unit_small.c */
const char *small_fair(u64 seed);
const char *small_ticket(u64 seed);
const char *small_mcs(u64 seed);
const char *stat_rounds(u64 seed);
const char *next_early(u64 seed);
const char *down_failed(u64 seed);
const char *down_fails_often(u64 seed);
const char *probe_idle(u64 seed);
const char *readers_look(u64 seed);
const char *budget_recovered(u64 seed);
const char *reset_late(u64 seed);
const char *notice_unseen(u64 seed);
const char *upgrade_waits(u64 seed);
const char *broken(u64 seed);

/* unit_lazy.c */
const char *writer_left(u64 seed);
const char *readers_spent(u64 seed);
const char *hint_lost(u64 seed);
const char *spent_upgrade(u64 seed);
const char *seek_left(u64 seed);
const char *try_shared(u64 seed);

#endif /* UNIT_H */
