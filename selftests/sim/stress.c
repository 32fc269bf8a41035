// SPDX-License-Identifier: GPL-2.0
/*
 * Worlds in which everybody wants the same lock all the time and nothing goes wrong: who gets it how often, how long
 * one waits, and what a hand-over costs when nodes are few or many.
 *
 * Jain's index of x[1..n] is (sum x)^2 / (n * sum x^2): 1 if all are the same, 1/n if one has everything.
 */
#include "sim.h"

#define FAIR_INDEX	0.99
#define SCALES		3
#define SEEDS		3	/* worlds of each that is judged; told are the worst overtaking, else the last one */

static struct world *world;	/* lent by the caller */

static struct hammered {
	const char *name;
	u8 kind;
	int ms, nodes, threads;
	bool readers;
	/* What came of it. */
	u64 grants, least, most, turns;
	double index, atomics, reads, writes, sends, worst_us, writer_us;
	u32 overtaken, unheard;
	double unheard_us;
} hammered[] = {
	{ .name = "fair", .ms = 120, .kind = RDL_KIND_FAIR, .nodes = 64, .threads = 2 },
	{ .name = "fair_4_users", .ms = 60, .kind = RDL_KIND_FAIR, .nodes = 64, .threads = 4 },
	{ .name = "mcs", .ms = 60, .kind = RDL_KIND_MCS, .nodes = 64, .threads = 2 },
	{ .name = "ticket", .ms = 30, .kind = RDL_KIND_TICKET, .nodes = 64, .threads = 2 },
	{ .name = "spin", .ms = 60, .kind = RDL_KIND_SPIN, .nodes = 64, .threads = 2 },
	{ .name = "writer_among_readers", .ms = 40, .kind = RDL_KIND_FAIR, .nodes = 64, .threads = 1, .readers = true },
	/* In this order: SCALES of them. */
	{ .name = "fair_3_nodes", .ms = 30, .kind = RDL_KIND_FAIR, .nodes = 3, .threads = 1 },
	{ .name = "fair_64_nodes", .ms = 50, .kind = RDL_KIND_FAIR, .nodes = 64, .threads = 1 },
	{ .name = "fair_256_nodes", .ms = 100, .kind = RDL_KIND_FAIR, .nodes = 256, .threads = 1 },
};

static void hammer(struct hammered *h, u64 seed, struct coverage *cov, char *why, size_t size)
{
	struct wish wish = { .nodes = h->nodes, .threads = h->threads, .kind = h->kind, .faults = 0, .hammer = h->ms,
			     .readers = h->readers };
	double sum = 0, squares = 0;
	int n;

	if (!world_run(world, seed, &wish, cov)) {
		snprintf(why, size, "%s", world->why);
		return;
	}
	h->least = NEVER;
	h->most = 0;
	h->worst_us = 0;
	for (n = 0; n < h->nodes; n++) {
		const struct agent *a = &world->node[n].agent[0];

		sum += a->granted;
		squares += (double)a->granted * a->granted;
		if (a->granted < h->least)
			h->least = a->granted;
		if (a->granted > h->most)
			h->most = a->granted;
		if (a->worst / 1e3 > h->worst_us)
			h->worst_us = a->worst / 1e3;
	}
	h->grants = sum;
	h->turns = world->did.turns;
	h->index = sum * sum / (h->nodes * squares);
	h->writer_us = world->node[0].agent[0].worst / 1e3;
	if (world->did.overtaken > h->overtaken)
		h->overtaken = world->did.overtaken;
	if (world->did.unheard > h->unheard)
		h->unheard = world->did.unheard;
	if (world->did.unheard_ns / 1e3 > h->unheard_us)
		h->unheard_us = world->did.unheard_ns / 1e3;
	h->atomics = (double)world->did.atomics / h->turns;
	h->reads = (double)world->did.reads / h->turns;
	h->writes = (double)world->did.writes / h->turns;
	h->sends = (double)world->did.sends / h->turns;
}

static double operations(const struct hammered *h)
{
	return h->atomics + h->reads + h->writes + h->sends;
}

/* What must hold; the others are only told. */
static void judge(const struct hammered *h, char *why, size_t size)
{
	const struct hammered *few = &hammered[ARRAY_SIZE(hammered) - SCALES];

	if (h->kind != RDL_KIND_SPIN && h->overtaken > RDL_BUDGET)
		snprintf(why, size, "%u younger requests of one node came before an older one of another",
			 h->overtaken);
	/* The owner of a sticky lock does not know of who has not found out yet whom to ask for it. */
	if (h->kind != RDL_KIND_SPIN && h->unheard_us > STRESS_UNHEARD_US)
		snprintf(why, size, "it took a node %.0f us to be heard", h->unheard_us);
	if (h->kind != RDL_KIND_FAIR)
		return;
	if (h->readers) {
		/* Before it are at most a turn of each other node, in two groups of readers with the writer between. */
		if (h->writer_us > STRESS_WRITER_US)
			snprintf(why, size, "the writer waited for %.0f us", h->writer_us);
		return;
	}
	if (h->nodes >= 64 && h->index < FAIR_INDEX)
		snprintf(why, size, "Jain's index of the nodes' grants is %.4f", h->index);
	if (h > few && operations(h) > 1.05 * operations(few))
		snprintf(why, size, "%.2f operations a hand-over, with %d nodes it is %.2f", operations(h), few->nodes,
			 operations(few));
}

int stress_n(void)
{
	return ARRAY_SIZE(hammered);
}

bool stress_run(int i, struct world *w, u64 seed, struct coverage *cov, char *name, char *note, size_t size)
{
	struct hammered *h = &hammered[i];
	char why[sizeof(w->why)] = "";
	int n;

	world = w;
	snprintf(name, size, "hammered_%s", h->name);
	for (n = 0; n < (h->kind == RDL_KIND_SPIN ? 1 : SEEDS) && !*why; n++) {
		hammer(h, seed + n, cov, why, sizeof(why));
		if (!*why)
			judge(h, why, sizeof(why));
	}
	snprintf(note, size, "%llu grants, Jain %.4f, %llu to %llu a node, worst wait %.0f us, overtaken %u, "
		 "unheard for %.0f us by %u; "
		 "a turn: %.2f atomics %.2f reads %.2f writes %.2f sends%s%s", (unsigned long long)h->grants, h->index,
		 (unsigned long long)h->least, (unsigned long long)h->most, h->readers ? h->writer_us : h->worst_us,
		 h->overtaken, h->unheard_us, h->unheard, h->atomics, h->reads, h->writes, h->sends,
		 *why ? "; " : "", why);
	return !*why;
}

void stress_json(FILE *f)
{
	size_t i;

	fprintf(f, "  \"hammered\": {\n");
	for (i = 0; i < ARRAY_SIZE(hammered); i++) {
		const struct hammered *h = &hammered[i];

		fprintf(f, "    \"%s\": {\"nodes\": %d, \"users\": %d, \"grants\": %llu, ", h->name, h->nodes,
			h->nodes * h->threads, (unsigned long long)h->grants);
		fprintf(f, "\"least\": %llu, \"most\": %llu, \"jain\": %.4f, \"overtaken\": %u, ",
			(unsigned long long)h->least, (unsigned long long)h->most, h->index, h->overtaken);
		fprintf(f, "\"unheard\": %u, \"unheard_us\": %.1f, ", h->unheard, h->unheard_us);
		fprintf(f, "\"worst_wait_us\": %.1f,\n", h->worst_us);
		if (h->readers)
			fprintf(f, "      \"writer_worst_wait_us\": %.1f,\n", h->writer_us);
		fprintf(f, "      \"turns\": %llu, \"atomics\": %.3f, \"reads\": %.3f, ",
			(unsigned long long)h->turns, h->atomics, h->reads);
		fprintf(f, "\"writes\": %.3f, \"sends\": %.3f}%s\n", h->writes, h->sends,
			i + 1 < ARRAY_SIZE(hammered) ? "," : "");
	}
	fprintf(f, "  },\n");
}
