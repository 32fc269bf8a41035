/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the simulator's command share. */
#ifndef MAIN_H
#define MAIN_H

#include "small.h"

/* After so many worlds every cell must have been reached. */
#define ENOUGH_WORLDS	15000
#define FULL_SECONDS	10	/* a run of that length goes on until it has enough, however slow the machine */

struct totals {
	int passed, failed, skipped;
	int violations;
};

extern struct world world;	/* the one that runs, or ran last */
extern struct coverage cov;
extern struct totals totals;
extern struct wish wish;

/* main.c */
u64 clock_ns(void);
void result(bool ok, const char *name, const char *note);
void skipped(const char *name, const char *why);

/* mutants.c */
extern const int mutants_n;
void mutants_run(void);
/* The names of those that were caught, as a list in JSON. */
void mutants_json(FILE *f);

/* cells.c */
void cells_judge(void);

/* summary.c */
void summary_write(const char *path, u64 first, u64 next, u64 started);

#endif /* MAIN_H */
