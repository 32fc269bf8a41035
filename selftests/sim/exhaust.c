// SPDX-License-Identifier: GPL-2.0
/*
 * The exhaustive mode's command. KTAP on standard output.
 *
 *	exhaust [--all] [--json FILE]	the costs of exhaust_counts.c, the worlds of exhaust_list.c, then the mutants
 *	exhaust --queue FILE ...		what no other exhaust with that new FILE has begun
 *	exhaust --counts [--mutant N]				the costs
 *	exhaust --world "kind=spin nodes=2 ..." [--mutant N]	one world
 *	exhaust ... --replay EVENT,EVENT...			one story of it, every step
 */
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "exhaust.h"

/* A mutant must be caught by a world of at most so many states. */
#define MUTANT_LIMIT	1000000

static int number, passed, failed;
static size_t all_states, all_worlds;
static int violations;

static int queue = -1;

/* All that share the queue come to the same pieces of work in the same order: is this one still to be done? */
static bool mine(void)
{
	static unsigned int nr;
	unsigned int next = 0;
	bool is;

	if (queue < 0)
		return true;
	if (flock(queue, LOCK_EX) || pread(queue, &next, sizeof(next), 0) < 0)
		abort();
	is = next <= nr;
	nr++;
	if (is && pwrite(queue, &nr, sizeof(nr), 0) != sizeof(nr))
		abort();
	flock(queue, LOCK_UN);
	return is;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void result(bool ok, const char *name, const char *note)
{
	number++;
	printf("%s %d %s # %s\n", ok ? "ok" : "not ok", number, name, note);
	fflush(stdout);
	if (ok)
		passed++;
	else
		failed++;
}

static void explain(const struct xresult *r)
{
	printf("# %s\n", r->why);
	x_print_path(r);
}

/* The name of a result: letters, digits and underscores. */
static void name_of(char *to, size_t size, const char *text)
{
	size_t i = snprintf(to, size, "exhaustive_%s", text);

	for (i = 0; to[i]; i++)
		if (to[i] == ' ' || to[i] == '=')
			to[i] = '_';
}

static void all_worlds_of(bool all)
{
	char name[256], note[256];
	const struct xlisted *l;
	struct xresult r;
	double start;
	bool ok;

	for (l = x_worlds; l->text; l++) {
		if ((l->slow && !all) || !mine())
			continue;
		start = now();
		if (!x_configure(l->text)) {
			result(false, l->text, "no such world");
			continue;
		}
		x_search(&r);
		ok = !r.failed && !r.limit && r.rests;
		if (r.failed)
			explain(&r);
		violations += r.failed;
		snprintf(note, sizeof(note), "%zu states, %zu edges, depth %u, %.1f s%s", r.states, r.edges, r.depth,
			 now() - start, r.failed || r.rests ? "" : ", no world at rest");
		name_of(name, sizeof(name), l->text);
		result(ok, name, r.failed ? r.why : note);
		all_states += r.states;
		all_worlds++;
		free(r.path);
	}
}

static const struct {
	int nr;
	const char *name, *what;
	const struct xlisted *worlds;
} mutants[] = {
#define MUTANT(nr, name, what) { nr, #name, what, x_mutant_worlds },
	RDL_BUSTS(MUTANT)
#undef MUTANT
#define MUTANT(nr, name, what) { nr, #name, what, x_queue_mutant_worlds },
	RDL_QUEUE_BUSTS(MUTANT)
#undef MUTANT
#define MUTANT(nr, name, what) { nr, #name, what, x_robust_mutant_worlds },
	RDL_ROBUST_BUSTS(MUTANT)
#undef MUTANT
};

static bool killed[ARRAY_SIZE(mutants)];

/*
 * A world of the list that catches it. The one that caught the mutant before is tried first: mutants that are listed
 * beside each other are faults of one sort, and a search that finds nothing is the dear one.
 */
static bool mutant_caught(int nr, const struct xlisted *list, char *note, size_t size)
{
	static const struct xlisted *of;
	static size_t last;
	double start = now();
	struct xresult r;
	bool caught = false;
	size_t n, i;

	for (n = 0; list[n].text; n++)
		;
	if (of != list)
		last = 0;
	of = list;
	for (i = last; i < last + n && !caught; i++) {
		const char *text = list[i % n].text;

		if (!x_configure(text))
			abort();
		x_cfg.limit = MUTANT_LIMIT;
		sim_bust = nr;
		x_search(&r);
		sim_bust = 0;
		caught = r.failed;
		if (caught)
			snprintf(note, size, "caught by '%s' after %u events, %.1f s: %s", text, r.path_n,
				 now() - start, r.why);
		free(r.path);
	}
	if (caught)
		last = (i - 1) % n;
	return caught;
}

static void all_mutants(void)
{
	char name[80], note[512];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(mutants); i++) {
		bool ok;

		if (!mine())
			continue;
		snprintf(note, sizeof(note), "lives: %s", mutants[i].what);
		ok = mutant_caught(mutants[i].nr, mutants[i].worlds, note, sizeof(note));
		killed[i] = ok;
		snprintf(name, sizeof(name), "exhaustive_mutant_%d_%s", mutants[i].nr, mutants[i].name);
		result(ok, name, note);
	}
}

static void all_counts(void)
{
	char name[32], note[512];
	int i;

	for (i = 0; i < x_counts_n(); i++) {
		bool ok = x_counts_run(i, note, sizeof(note));

		snprintf(name, sizeof(name), "counts_%d", i + 1);
		result(ok, name, note);
	}
}

static int only_counts(void)
{
	printf("KTAP version 1\n1..%d\n", x_counts_n());
	all_counts();
	printf("%d passed, %d failed, 0 skipped\n", passed, failed);
	return failed ? 1 : 0;
}

static int one_world(void)
{
	double start = now();
	struct xresult r;

	x_search(&r);
	if (r.failed)
		explain(&r);
	printf("# %s: %zu states, %zu edges, depth %u, %zu at rest, %.1f s%s\n", x_cfg.text, r.states, r.edges, r.depth,
	       r.rests, now() - start, r.limit ? ", stopped at its limit" : "");
	free(r.path);
	return r.failed || r.limit;
}

static void summary(const char *path)
{
	FILE *f = fopen(path, "w");
	const char *comma = "";
	size_t i;

	if (!f) {
		perror(path);
		failed++;
		return;
	}
	fprintf(f, "{\n  \"worlds\": %zu,\n  \"states\": %zu,\n", all_worlds, all_states);
	fprintf(f, "  \"violations\": %d,\n  \"mutants_killed\": [", violations);
	for (i = 0; i < ARRAY_SIZE(mutants); i++) {
		if (!killed[i])
			continue;
		fprintf(f, "%s\"%s\"", comma, mutants[i].name);
		comma = ", ";
	}
	fprintf(f, "]\n}\n");
	fclose(f);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "all", no_argument, NULL, 'a' },
		{ "counts", no_argument, NULL, 'c' },
		{ "json", required_argument, NULL, 'j' },
		{ "queue", required_argument, NULL, 'q' },
		{ "world", required_argument, NULL, 'w' },
		{ "mutant", required_argument, NULL, 'm' },
		{ "replay", required_argument, NULL, 'r' },
		{ },
	};
	const char *world = NULL, *path = NULL, *json = NULL;
	bool all = false, counts = false;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'a':
			all = true;
			break;
		case 'c':
			counts = true;
			break;
		case 'j':
			json = optarg;
			break;
		case 'q':
			queue = open(optarg, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
			if (queue < 0) {
				perror(optarg);
				return 2;
			}
			break;
		case 'w':
			world = optarg;
			break;
		case 'm':
			sim_bust = atoi(optarg);
			break;
		case 'r':
			path = optarg;
			break;
		default:
			return 2;
		}
	}
	if (counts)
		return only_counts();
	if (world) {
		if (!x_configure(world))
			return 2;
		return path ? x_replay(path) : one_world();
	}
	if (path) {
		fprintf(stderr, "exhaust: --replay needs --world\n");
		return 2;
	}
	printf("KTAP version 1\n");
	if (mine())
		all_counts();
	all_worlds_of(all);
	all_mutants();
	if (json)
		summary(json);
	printf("1..%d\n# %zu worlds, %zu states\n", number, all_worlds, all_states);
	printf("%d passed, %d failed, 0 skipped\n", passed, failed);
	return failed ? 1 : 0;
}
