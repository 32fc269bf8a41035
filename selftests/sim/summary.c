// SPDX-License-Identifier: GPL-2.0
/* What came of a run, for selftests/sim/summary. */
#include "main.h"

void summary_write(const char *path, u64 first, u64 next, u64 started)
{
	FILE *f = fopen(path, "w");

	if (!f) {
		perror(path);
		totals.failed++;
		return;
	}
	fprintf(f, "{\n  \"seeds\": %llu,\n  \"events\": %llu,\n", (unsigned long long)(next - first),
		(unsigned long long)cov.steps);
	/* A unit, a hammered world or a mutant that lives is one, too. */
	fprintf(f, "  \"violations\": %d,\n",
		totals.failed > totals.violations ? totals.failed : totals.violations);
	fprintf(f, "  \"first_seed\": %llu,\n  \"next_seed\": %llu,\n", (unsigned long long)first,
		(unsigned long long)next);
#define FIELD(name) fprintf(f, "  \"%s\": %llu,\n", #name, (unsigned long long)cov.name)
	FIELD(grants);
	FIELD(local);
	FIELD(recoveries);
	FIELD(deaths);
	FIELD(unseen);
	FIELD(ambiguous);
	FIELD(late);
	FIELD(lost);
	FIELD(rolls);
	FIELD(whole);
	FIELD(ruined);
	FIELD(reset);
#undef FIELD
	stress_json(f);
	fprintf(f, "  \"mutants\": %d,\n  \"mutants_killed\": ", mutants_n);
	mutants_json(f);
	fprintf(f, ",\n  \"most_actions\": %u,\n  \"seconds\": %.1f\n}\n", cov.most_actions,
		(clock_ns() - started) / 1e9);
	fclose(f);
}
