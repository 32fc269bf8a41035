// SPDX-License-Identifier: GPL-2.0
/*
 * Sums of the per-CPU counters.
 */
#include <linux/cpumask.h>

#include "space.h"
#include "stats.h"

static const char * const names[] = {
#define RDLOCK_STAT(name, meaning) #name,
#include "stats_list.h"
#undef RDLOCK_STAT
};

u64 rdlock_stat_sum(struct rdlock_space *space, enum rdlock_stat stat)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(space->stats, cpu)->v[stat]);
	return sum;
}

const char *rdlock_stat_name(enum rdlock_stat stat)
{
	return names[stat];
}
