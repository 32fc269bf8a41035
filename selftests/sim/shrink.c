// SPDX-License-Identifier: GPL-2.0
/*
 * A world that went wrong is looked for among smaller ones: fewer faults, locks, users, nodes. A smaller world has
 * another history, so each size is tried with some seeds from the one that failed on.
 */
#include <time.h>

#include "sim.h"

#define SEEDS	2000	/* of each size */
#define SECONDS	20	/* altogether */

static bool fails(struct world *w, u64 *seed, const struct wish *wish, struct coverage *cov, time_t end)
{
	u64 s;

	for (s = *seed; s < *seed + SEEDS && time(NULL) < end; s++) {
		if (world_run(w, s, wish, cov))
			continue;
		*seed = s;
		return true;
	}
	return false;
}

/* The @n-th way to make it smaller; false: it is as small as that already. */
static bool smaller(struct wish *wish, int n)
{
	switch (n) {
	case 0:
		if (!wish->faults)
			return false;
		wish->faults = 0;
		return true;
	case 1:
		if (wish->faults < 2)
			return false;
		wish->faults /= 2;
		return true;
	case 2:
		return wish->locks-- > 1;
	case 3:
		if (wish->nodes < 4)
			return false;
		wish->nodes = 3;
		return true;
	case 4:
		return wish->nodes-- > 2;
	case 5:
		return wish->threads-- > 1;
	case 6:
		return wish->faults-- > 0;
	default:
		return false;
	}
}

#define WAYS	7

void shrink(struct world *w, u64 *seed, struct wish *wish, struct coverage *cov)
{
	time_t end = time(NULL) + SECONDS;
	bool again = true;
	int n, i;

	wish->nodes = w->cfg.nodes;
	wish->threads = w->cfg.threads;
	wish->locks = w->cfg.locks;
	wish->faults = w->cfg.faults;
	wish->kind = w->home.lock[0].kind;
	for (i = 1; i < w->cfg.locks; i++)
		if (w->home.lock[i].kind != wish->kind)
			wish->kind = 0;
	while (again) {
		again = false;
		for (n = 0; n < WAYS; n++) {
			struct wish try = *wish;

			if (!smaller(&try, n) || !fails(w, seed, &try, cov, end))
				continue;
			*wish = try;
			again = true;
		}
	}
	/* What it ends with is what is told. */
	world_run(w, *seed, wish, cov);
}
