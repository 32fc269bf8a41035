// SPDX-License-Identifier: GPL-2.0
/*
 * The simulator's command: unit tests, random worlds for some seconds or as many as said, then, if asked for, the
 * hammered worlds and the mutants. KTAP on standard output.
 *
 *	sim [--seed N] [WISH...] [--seconds N | --worlds N] [--stress] [--mutants] [--json FILE]
 *	sim --trace --seed N [WISH...] [--mutant N]	one world, every step of it
 *	sim --small NUMBER --seed N [--mutant N]	one small world, by the number of its kind
 *	sim --table | --dot				the state table
 *
 * WISH: --kind spin|fair|ticket|mcs, --nodes N, --threads N, --locks N, --faults N (at most).
 */
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "main.h"

struct world world;
struct coverage cov;
struct totals totals;
struct wish wish = { .faults = -1 };
static int number;
static struct wish running;
static u64 opt_worlds;	/* at most so many */

u64 clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

void result(bool ok, const char *name, const char *note)
{
	number++;
	printf("%s %d %s%s%s\n", ok ? "ok" : "not ok", number, name, note && *note ? " # " : "", note ? note : "");
	if (ok)
		totals.passed++;
	else
		totals.failed++;
	fflush(stdout);
}

void skipped(const char *name, const char *why)
{
	printf("ok %d %s # SKIP %s\n", ++number, name, why);
	totals.skipped++;
}

static void replay_line(u64 seed, const struct wish *wish)
{
	printf("# replay: make sim SEED=%llu", (unsigned long long)seed);
	if (wish->kind)
		printf(" KIND=%s", rdl_kind_name(wish->kind));
	if (wish->nodes)
		printf(" NODES=%d", wish->nodes);
	if (wish->threads)
		printf(" THREADS=%d", wish->threads);
	if (wish->locks)
		printf(" LOCKS=%d", wish->locks);
	if (wish->faults >= 0)
		printf(" FAULTS=%d", wish->faults);
	if (sim_bust)
		printf(" MUTANT=%d", sim_bust);
	printf(" TRACE=1\n");
	fflush(stdout);
}

/* An assertion of the core is a trap. */
static void trapped(int sig)
{
	(void)sig;
	printf("# an assertion of the core failed in world %llu\n", (unsigned long long)world.seed);
	replay_line(world.seed, &running);
	_exit(1);
}

static void units(u64 seed)
{
	int i;

	for (i = 0; i < unit_tests_n; i++) {
		const char *err = unit_run(i, seed);

		result(!err, unit_tests[i].name, err);
	}
}

/* The first finding, and the smallest world that shows one. */
static void explain(u64 seed)
{
	static struct coverage unused;
	static char why[sizeof(world.why)];

	totals.violations++;
	memcpy(why, world.why, sizeof(why));
	printf("# world %llu: %s\n", (unsigned long long)seed, why);
	replay_line(seed, &running);
	shrink(&world, &seed, &running, &unused);
	printf("# smaller, world %llu: %s\n", (unsigned long long)seed, world.why);
	replay_line(seed, &running);
	memcpy(world.why, why, sizeof(why));
}

static void stress(u64 seed)
{
	static struct coverage unused;
	char name[600], note[600];
	int i;

	for (i = 0; i < stress_n(); i++) {
		bool ok = stress_run(i, &world, seed, &unused, name, note, sizeof(note));

		result(ok, name, note);
	}
}

static bool more(u64 seconds, u64 end)
{
	if (opt_worlds)
		return cov.worlds < opt_worlds;
	return clock_ns() < end || (seconds >= FULL_SECONDS && cov.worlds < ENOUGH_WORLDS);
}

/* True if none failed. */
static bool run_worlds(u64 seed, u64 seconds, u64 *next)
{
	u64 end = clock_ns() + seconds * 1000000000ull;
	char note[200];
	bool ok = true;

	running = wish;
	do {
		ok = world_run(&world, seed, &wish, &cov);
		if (!ok)
			explain(seed);
		seed++;
	} while (ok && more(seconds, end));
	*next = seed;
	snprintf(note, sizeof(note), "%llu worlds, %llu steps, %llu grants, %llu recoveries",
		 (unsigned long long)cov.worlds, (unsigned long long)cov.steps, (unsigned long long)cov.grants,
		 (unsigned long long)cov.recoveries);
	result(ok, "worlds", ok ? note : world.why);
	return ok;
}

static int one_world(u64 seed)
{
	sim_trace = 1;
	if (world_run(&world, seed, &wish, &cov)) {
		printf("# world %llu: no violation\n", (unsigned long long)seed);
		return 0;
	}
	printf("# world %llu: %s\n", (unsigned long long)seed, world.why);
	return 1;
}

static int small_world(u64 seed, int kind)
{
	static struct small w;
	const char *err;

	if (!rdl_kind_ops(kind) || kind == RDL_KIND_SPIN) {
		fprintf(stderr, "sim: --small: the number of a kind with a queue\n");
		return 2;
	}
	err = small_run(&w, seed, kind, true);
	printf("# small world %llu: %s\n", (unsigned long long)seed, err ? err : "no violation");
	return err ? 1 : 0;
}

static u8 kind_of(const char *name)
{
	u8 kind;

	for (kind = RDL_KIND_SPIN; kind < RDL_NR_KINDS; kind++)
		if (!strcmp(name, rdl_kind_name(kind)))
			return kind;
	return RDL_NR_KINDS;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "nodes", required_argument, NULL, 'n' },
		{ "kind", required_argument, NULL, 'k' },
		{ "threads", required_argument, NULL, 'u' },
		{ "locks", required_argument, NULL, 'l' },
		{ "faults", required_argument, NULL, 'f' },
		{ "seconds", required_argument, NULL, 't' },
		{ "json", required_argument, NULL, 'j' },
		{ "worlds", required_argument, NULL, 'w' },
		{ "mutants", no_argument, NULL, 'M' },
		{ "stress", no_argument, NULL, 'h' },
		{ "mutant", required_argument, NULL, 'm' },
		{ "small", required_argument, NULL, 'S' },
		{ "trace", no_argument, NULL, 'T' },
		{ "table", no_argument, NULL, 'r' },
		{ "dot", no_argument, NULL, 'd' },
		{ },
	};
	u64 seed = 0, seconds = 20, next, started = clock_ns();
	const char *json = NULL;
	bool tracing = false, with_mutants = false, with_stress = false;
	int c, small = 0;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			wish.nodes = atoi(optarg);
			break;
		case 'k':
			wish.kind = kind_of(optarg);
			break;
		case 'u':
			wish.threads = atoi(optarg);
			break;
		case 'l':
			wish.locks = atoi(optarg);
			break;
		case 'f':
			wish.faults = atoi(optarg);
			break;
		case 't':
			seconds = strtoull(optarg, NULL, 0);
			break;
		case 'j':
			json = optarg;
			break;
		case 'w':
			opt_worlds = strtoull(optarg, NULL, 0);
			break;
		case 'M':
			with_mutants = true;
			break;
		case 'h':
			with_stress = true;
			break;
		case 'm':
			sim_bust = atoi(optarg);
			break;
		case 'S':
			small = atoi(optarg);
			break;
		case 'T':
			tracing = true;
			break;
		case 'r':
			table_rst();
			return 0;
		case 'd':
			table_dot();
			return 0;
		default:
			return 2;
		}
	}
	if (wish.nodes < 0 || wish.nodes > MAX_NODES || wish.threads < 0 || wish.threads > MAX_THREADS ||
	    wish.locks < 0 || wish.locks > MAX_LOCKS || wish.kind >= RDL_NR_KINDS) {
		fprintf(stderr, "sim: at most %d nodes, %d threads, %d locks; kinds are spin, fair, ticket, mcs\n",
			MAX_NODES, MAX_THREADS, MAX_LOCKS);
		return 2;
	}
	if (!seed)
		seed = (u64)time(NULL) << 16;
	signal(SIGILL, trapped);
	if (small)
		return small_world(seed, small);
	if (tracing)
		return one_world(seed);
	printf("KTAP version 1\n# first seed %llu\n1..%d\n", (unsigned long long)seed, unit_tests_n + RDL_NR_KINDS +
	       (with_mutants ? mutants_n : 0) + (with_stress ? stress_n() : 0));
	units(seed);
	run_worlds(seed, seconds, &next);
	cells_judge();
	if (with_stress)
		stress(seed);
	if (with_mutants)
		mutants_run();
	if (json)
		summary_write(json, seed, next, started);
	printf("# first seed %llu, last %llu\n", (unsigned long long)seed, (unsigned long long)next - 1);
	printf("%d passed, %d failed, %d skipped\n", totals.passed, totals.failed, totals.skipped);
	return totals.failed ? 1 : 0;
}
