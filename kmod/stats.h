/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RDLOCK_STATS_H
#define RDLOCK_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

enum rdlock_stat {
#define RDLOCK_STAT(name, meaning) RDLOCK_STAT_##name,
#include "stats_list.h"
#undef RDLOCK_STAT
	RDLOCK_NR_STATS,
};

/* Per CPU, so that counting shares no cache line between CPUs; summed when read. */
struct rdlock_stats {
	u64 v[RDLOCK_NR_STATS];
};

#define rdlock_stat_inc(space, stat)	this_cpu_inc((space)->stats->v[RDLOCK_STAT_##stat])

struct rdlock_space;

u64 rdlock_stat_sum(struct rdlock_space *space, enum rdlock_stat stat);
const char *rdlock_stat_name(enum rdlock_stat stat);

#endif /* RDLOCK_STATS_H */
