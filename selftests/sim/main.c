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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "small.h"

#define MUTANT_WORLDS	60000
#define ENOUGH_WORLDS	15000	/* after which every cell must have been reached */
#define ENOUGH_CELLS	85	/* percent; the others need a liar, or what a kind never has in flight (unit_table.c) */
#define FULL_SECONDS	10	/* a run of that length goes on until it has enough, however slow the machine */

static struct world world;
static struct coverage cov;
static int passed, failed, skipped, number;
static int violations;
static struct wish wish = { .faults = -1 };
static struct wish running;
static u64 opt_worlds;	/* at most so many */

/* A mutant that lives is not caught by worlds of its sort. */
static bool spin_world(u64 seed, const char **why);
static bool queue_world(u64 seed, const char **why);
static bool shared_world(u64 seed, const char **why);
static bool fair_world(u64 seed, const char **why);

static const struct mutant {
	int nr;
	const char *name, *what;
	bool (*lives)(u64 seed, const char **why);
} mutants[] = {
#define MUTANT(nr, name, what) { nr, #name, what, spin_world },
	RDL_BUSTS(MUTANT)
#undef MUTANT
#define MUTANT(nr, name, what) { nr, #name, what, queue_world },
	RDL_QUEUE_BUSTS(MUTANT)
#undef MUTANT
#define MUTANT(nr, name, what) { nr, #name, what, fair_world },
	RDL_WORLD_BUSTS(MUTANT)
#undef MUTANT
	/* Rules that every kind has code of its own for; here the kinds with a queue break them. */
#define SHARED(name) { RDL_BUST_##name, #name "_queue", "of a kind with a queue", shared_world }
	SHARED(FROZEN_IGNORED),
	SHARED(NO_DRAIN),
	SHARED(HOLD_FORGOTTEN),
	SHARED(BUDGET_IGNORED),
	SHARED(AMBIG_RETRIED),
	SHARED(LEASE_IGNORED),
	SHARED(DEATH_UNTOLD),
	SHARED(HARD_IGNORED),
	SHARED(GONE_CLAIM_KEPT),
	SHARED(LOST_KEEPS_USER),
	SHARED(FREEZE_BEFORE_QP),
	SHARED(BUSY_TAKEN),
	SHARED(AMBIG_CLAIMED),
#undef SHARED
};

#define N_MUTANTS ((int)ARRAY_SIZE(mutants))

static bool killed[N_MUTANTS];

static u64 clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void result(bool ok, const char *name, const char *note)
{
	number++;
	printf("%s %d %s%s%s\n", ok ? "ok" : "not ok", number, name, note && *note ? " # " : "", note ? note : "");
	if (ok)
		passed++;
	else
		failed++;
	fflush(stdout);
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

	violations++;
	memcpy(why, world.why, sizeof(why));
	printf("# world %llu: %s\n", (unsigned long long)seed, why);
	replay_line(seed, &running);
	shrink(&world, &seed, &running, &unused);
	printf("# smaller, world %llu: %s\n", (unsigned long long)seed, world.why);
	replay_line(seed, &running);
	memcpy(world.why, why, sizeof(why));
}

static void stress(void)
{
	static struct coverage unused;
	char name[600], note[600];
	int i;

	for (i = 0; i < stress_n(); i++) {
		bool ok = stress_run(i, &world, &unused, name, note, sizeof(note));

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

/* Of every hundred cells so many must have been reached; of kind spin all, and of state STORE all that do something. */
static bool judge_cells_of(u8 kind, char *note, size_t size)
{
	const struct rdl_kind_ops *ops = rdl_kind_ops(kind);
	unsigned int s, e, cells = 0, reached = 0, missed = 0, rare_s = 0, rare_e = 0;
	u64 least = NEVER;

	for (s = 0; s < RDL_NR_STATES; s++) {
		for (e = 0; e < RDL_NR_EVENTS; e++) {
			const struct rdl_cell *c = rdl_cell(ops, s, e);
			u64 n = cell_count(kind, s, e);

			if (!c || c->fn == rdl_impossible || cell_needs_liar(s, e))
				continue;
			cells++;
			reached += !!n;
			/* A message that is ignored there may not come in so few worlds. */
			if (!n && (kind == RDL_KIND_SPIN || (s == RDL_ST_STORE && c->fn != rdl_ignore))) {
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
	snprintf(note, size, "%u of %u cells; rarest: %s + %s happened %llu times", reached, cells,
		 rdl_state_name(rare_s), rdl_event_name(rare_e), (unsigned long long)least);
	return !missed && 100 * reached >= ENOUGH_CELLS * cells;
}

static void judge_cells(void)
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
		number++;
		skipped++;
		printf("ok %d %s # SKIP needs %d worlds of all sorts, that is SECONDS=%d or more\n", number, name,
		       ENOUGH_WORLDS, FULL_SECONDS);
	}
}

static bool spin_world(u64 seed, const char **why)
{
	static const struct wish spin = { .kind = RDL_KIND_SPIN, .faults = -1 };

	*why = world.why;
	return world_run(&world, seed, &spin, &cov);
}

static bool queue_world(u64 seed, const char **why)
{
	*why = small_mutant(seed);
	return !*why && shared_world(seed, why);
}

static bool world_of(u8 kind, u64 seed, const char **why)
{
	static char note[sizeof(world.why) + 16];
	struct wish queue = { .kind = kind, .faults = -1 };

	if (world_run(&world, seed, &queue, &cov))
		return true;
	snprintf(note, sizeof(note), "%s: %s", rdl_kind_name(kind), world.why);
	*why = note;
	return false;
}

/* One of the kinds with a queue, in turn. */
static bool shared_world(u64 seed, const char **why)
{
	return world_of(RDL_KIND_FAIR + seed % (RDL_NR_KINDS - RDL_KIND_FAIR), seed, why);
}

static bool fair_world(u64 seed, const char **why)
{
	return world_of(RDL_KIND_FAIR, seed, why);
}

/* A mutant lives in a child: the core's assertions may end it. The seed that caught it, or 0. */
static u64 mutant_caught(const struct mutant *m, u64 first, char *why, size_t size)
{
	const char *reason;
	u64 seed, caught = 0;
	int fd[2], status;
	ssize_t n;
	pid_t pid;

	fflush(stdout);
	if (pipe(fd))
		abort();
	pid = fork();
	if (pid < 0)
		abort();
	if (!pid) {
		close(fd[0]);
		signal(SIGILL, SIG_DFL);
		sim_bust = m->nr;
		for (seed = first; seed < first + MUTANT_WORLDS; seed++) {
			if (write(fd[1], &seed, sizeof(seed)) != sizeof(seed))
				_exit(3);
			if (m->lives(seed, &reason))
				continue;
			seed = 0;	/* end of the seeds: the reason follows */
			if (write(fd[1], &seed, sizeof(seed)) != sizeof(seed) ||
			    write(fd[1], reason, strlen(reason)) < 0)
				_exit(3);
			_exit(1);
		}
		_exit(0);
	}
	close(fd[1]);
	snprintf(why, size, "an assertion of the core");
	while (read(fd[0], &seed, sizeof(seed)) == sizeof(seed)) {
		if (seed) {
			caught = seed;
			continue;
		}
		n = read(fd[0], why, size - 1);
		why[n > 0 ? n : 0] = 0;
		break;
	}
	close(fd[0]);
	if (waitpid(pid, &status, 0) != pid)
		abort();
	if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
		return caught;
	return WIFSIGNALED(status) ? caught : 0;
}

static void all_mutants(void)
{
	char name[64], note[512], why[256];
	int i;

	for (i = 0; i < N_MUTANTS; i++) {
		u64 seed = mutant_caught(&mutants[i], 1, why, sizeof(why));

		snprintf(name, sizeof(name), "mutant_%d_%s", mutants[i].nr, mutants[i].name);
		if (seed)
			snprintf(note, sizeof(note), "caught by seed %llu: %s", (unsigned long long)seed, why);
		else
			snprintf(note, sizeof(note), "lives: %s", mutants[i].what);
		killed[i] = seed;
		result(seed, name, note);
	}
}

static void summary(const char *path, u64 first, u64 next, u64 started)
{
	FILE *f = fopen(path, "w");
	const char *comma = "";
	int i;

	if (!f) {
		perror(path);
		failed++;
		return;
	}
	fprintf(f, "{\n  \"seeds\": %llu,\n  \"events\": %llu,\n", (unsigned long long)(next - first),
		(unsigned long long)cov.steps);
	fprintf(f, "  \"violations\": %d,\n", violations);
	fprintf(f, "  \"first_seed\": %llu,\n  \"next_seed\": %llu,\n", (unsigned long long)first,
		(unsigned long long)next);
#define FIELD(name) fprintf(f, "  \"%s\": %llu,\n", #name, (unsigned long long)cov.name)
	FIELD(grants);
	FIELD(local);
	FIELD(recoveries);
	FIELD(deaths);
	FIELD(ambiguous);
	FIELD(late);
	FIELD(lost);
	FIELD(rolls);
#undef FIELD
	stress_json(f);
	fprintf(f, "  \"mutants\": %d,\n  \"mutants_killed\": [", N_MUTANTS);
	for (i = 0; i < N_MUTANTS; i++) {
		if (!killed[i])
			continue;
		fprintf(f, "%s\"%s\"", comma, mutants[i].name);
		comma = ", ";
	}
	fprintf(f, "],\n  \"most_actions\": %u,\n  \"seconds\": %.1f\n}\n", cov.most_actions,
		(clock_ns() - started) / 1e9);
	fclose(f);
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
	       (with_mutants ? N_MUTANTS : 0) + (with_stress ? stress_n() : 0));
	units(seed);
	run_worlds(seed, seconds, &next);
	judge_cells();
	if (with_stress)
		stress();
	if (with_mutants)
		all_mutants();
	if (json)
		summary(json, seed, next, started);
	printf("# first seed %llu, last %llu\n", (unsigned long long)seed, (unsigned long long)next - 1);
	printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
	return failed ? 1 : 0;
}
