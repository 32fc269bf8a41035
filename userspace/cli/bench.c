// SPDX-License-Identifier: GPL-2.0
/*
 * rdlock bench kinds: the kinds of locks side by side, on one node or on several at the same time.
 *
 * The nodes meet, and leave what they measured, in the cells of a counter of the space: so each of them knows it all,
 * and prints the same. A run's place in the cells follows from how many have come before, so the cells of one name
 * serve one run after another.
 *
 * Who wants a lock alone takes it so many times. Where all want the same one they do so for the same time, not as many
 * times: else the first to be done would leave the rest of it to the others, uncontended, and every kind would look
 * fair. They do not begin at the same moment, so the first and the last part of that time do not count.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "out.h"

#define MAX_NODES	4
#define MAX_THREADS	32
#define MAX_GRANTS	1000000
#define MAX_SECONDS	60
#define EDGE		5		/* the first and the last fifth of the time do not count */
#define MEET_SECONDS	120
#define LEN(a)		(sizeof(a) / sizeof(*(a)))

enum { CELL_COME, CELL_MEET, CELL_RESULTS };

enum value { GRANTS, NS, P50, P99, LOCAL, NR_VALUES };

static const unsigned int kinds[] = {
	RDLOCK_KIND_SPIN, RDLOCK_KIND_FAIR, RDLOCK_KIND_TICKET, RDLOCK_KIND_MCS,
};

/* The order of the table. @all: every node at the same time, else one after another. */
static const struct bench_case {
	const char *name;
	bool all;
	bool crowd;
	bool sticky;
} loads[] = {
	{ .name = "alone" },
	{ .name = "cached", .sticky = true },
	{ .name = "handover", .all = true },
	{ .name = "crowd", .all = true, .crowd = true },
};

#define NR_KINDS	LEN(kinds)
#define NR_CASES	LEN(loads)
#define NR_CELLS	(CELL_RESULTS + MAX_NODES * NR_KINDS * NR_CASES * NR_VALUES)

struct bench {
	struct target t;
	int space;
	int cells;			/* counter fd */
	struct rdlock_space_stat stat;
	uint64_t nodes, threads, grants, seconds;
	uint64_t run, me;		/* number of this run of all nodes, and of this node in it */
	uint64_t met;			/* how often all have met */
};

struct worker {
	pthread_t thread;
	pthread_barrier_t *start;
	int lock;
	uint64_t max;			/* grants, if @ns is 0; else how many @took has room for */
	uint64_t ns;			/* how long */
	uint64_t grants, local;		/* of those that count */
	uint64_t nr_took;
	uint32_t *took;			/* nanoseconds of each acquire that was begun when they count */
	int err;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static unsigned int result_cell(uint64_t node, unsigned int kind, unsigned int c, enum value v)
{
	return CELL_RESULTS + ((node * NR_KINDS + kind) * NR_CASES + c) * NR_VALUES + v;
}

/* ---- the nodes meet ---- */

/* Until all are here; 0 or a negative errno. */
static int meet(struct bench *b)
{
	uint64_t deadline = rdlock_deadline_in(MEET_SECONDS), seen;
	/* One node after another, or all: as often in every run. */
	uint64_t per_run = NR_KINDS * NR_CASES * b->nodes + 2;
	uint64_t want = (b->run * per_run + ++b->met) * b->nodes;
	int err;

	err = rdlock_counter_add(b->cells, CELL_MEET, 1, deadline, &seen);
	while (!err) {
		err = rdlock_counter_read(b->cells, CELL_MEET, deadline, &seen);
		if (err || seen >= want)
			break;
		if (now_ns() >= deadline)
			return -ETIMEDOUT;
		usleep(10000);
	}
	return err;
}

static int come(struct bench *b)
{
	uint64_t before;
	int err = rdlock_counter_add(b->cells, CELL_COME, 1, rdlock_deadline_in(10), &before);

	if (err)
		return err;
	b->run = before / b->nodes;
	b->me = before % b->nodes;
	return meet(b);
}

/* Cells are set by adding what is missing: nobody else writes ours. */
static int leave_result(struct bench *b, unsigned int cell, uint64_t value)
{
	uint64_t old;
	int err = rdlock_counter_read(b->cells, cell, rdlock_deadline_in(10), &old);

	return err ? err : rdlock_counter_add(b->cells, cell, value - old, rdlock_deadline_in(10), NULL);
}

/* ---- measuring ---- */

static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t begin, from = 0, to = UINT64_MAX, stop = UINT64_MAX, before, now, i;
	struct rdlock_grant g;

	pthread_barrier_wait(w->start);
	begin = now_ns();
	if (w->ns) {
		from = begin + w->ns / EDGE;
		to = begin + w->ns - w->ns / EDGE;
		stop = begin + w->ns;
	}
	for (i = 0, now = begin; w->ns ? now < stop : i < w->max; i++) {
		before = now_ns();
		w->err = rdlock_acquire(w->lock, RDLOCK_MODE_EXCLUSIVE, RDLOCK_NO_DEADLINE, &g);
		if (w->err)
			break;
		now = now_ns();
		if (before >= from && before < to && w->nr_took < w->max)
			w->took[w->nr_took++] = now - before < UINT32_MAX ? now - before : UINT32_MAX;
		if (now >= from && now < to) {
			w->grants++;
			w->local += g.flags & RDLOCK_GRANT_LOCAL ? 1 : 0;
		}
		w->err = rdlock_release(w->lock);
		if (w->err)
			break;
	}
	return NULL;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static int run_workers(struct worker *w, unsigned int threads, uint64_t *ns)
{
	pthread_barrier_t start;
	unsigned int i;
	int err = 0;

	pthread_barrier_init(&start, NULL, threads + 1);
	for (i = 0; i < threads; i++) {
		w[i].start = &start;
		/* Who cannot start one cannot go on: the others wait for it. */
		if (pthread_create(&w[i].thread, NULL, work, &w[i])) {
			fputs("rdlock: no more threads\n", stderr);
			exit(EXIT_ERROR);
		}
	}
	pthread_barrier_wait(&start);
	*ns = now_ns();
	for (i = 0; i < threads; i++)
		pthread_join(w[i].thread, NULL);
	*ns = now_ns() - *ns;
	pthread_barrier_destroy(&start);
	for (i = 0; i < threads && !err; i++)
		err = w[i].err;
	return err;
}

/* Of what the threads did one sum, left for all to read. */
static int leave_results(struct bench *b, unsigned int kind, unsigned int c, struct worker *w, unsigned int threads,
			 uint64_t ns)
{
	uint64_t value[NR_VALUES] = { [NS] = ns }, n = 0;
	uint32_t *took = w[0].took;
	unsigned int i, v;
	int err = 0;

	for (i = 0; i < threads; i++) {
		value[GRANTS] += w[i].grants;
		value[LOCAL] += w[i].local;
		memmove(took + n, w[i].took, w[i].nr_took * sizeof(*took));
		n += w[i].nr_took;
	}
	if (n) {
		qsort(took, n, sizeof(*took), compare);
		value[P50] = took[n / 2];
		value[P99] = took[n - 1 - n / 100];
	}
	for (v = 0; v < NR_VALUES && !err; v++)
		err = leave_result(b, result_cell(b->me, kind, c, v), value[v]);
	return err;
}

static int measure(struct bench *b, unsigned int kind, unsigned int c)
{
	unsigned int threads = loads[c].crowd ? b->threads : 1, i;
	struct rdlock_lock_opts opts = { .kind = kinds[kind] };
	uint64_t max = loads[c].all ? MAX_GRANTS : b->grants, ns = 0;
	uint32_t *took = calloc(threads * max, sizeof(*took));
	struct worker w[MAX_THREADS] = {};
	unsigned int flags = 0;
	char key[64];
	int err = 0;

	if (!took)
		return -ENOMEM;
	if (kinds[kind] == RDLOCK_KIND_FAIR || kinds[kind] == RDLOCK_KIND_MCS)
		flags = loads[c].sticky ? RDLOCK_OPEN_STICKY : RDLOCK_OPEN_NOT_STICKY;
	/* Alone means alone: each node has a lock of its own, too. */
	snprintf(key, sizeof(key), "bench/%s/%s/%llu/%llu", kind_word(kinds[kind]), loads[c].name,
		 (unsigned long long)b->run, (unsigned long long)(loads[c].all ? b->nodes : b->me));
	for (i = 0; i < threads; i++) {
		w[i].max = max;
		w[i].ns = loads[c].all ? b->seconds * 1000000000ull : 0;
		w[i].took = took + i * max;
		w[i].lock = rdlock_lock_open_as(b->space, key, strlen(key), &opts, flags, rdlock_deadline_in(10));
		if (w[i].lock < 0 && !err)
			err = w[i].lock;
	}
	/* All have it open before the first one takes it. */
	if (!err && loads[c].all)
		err = meet(b);
	if (!err)
		err = run_workers(w, threads, &ns);
	if (!err && loads[c].all)
		ns = w[0].ns - 2 * (w[0].ns / EDGE);
	for (i = 0; i < threads; i++)
		if (w[i].lock >= 0)
			close(w[i].lock);
	if (!err)
		err = leave_results(b, kind, c, w, threads, ns);
	free(took);
	return err;
}

/* Does the kind have such a case? */
static bool has(unsigned int kind, unsigned int c)
{
	return !loads[c].sticky || kinds[kind] == RDLOCK_KIND_FAIR || kinds[kind] == RDLOCK_KIND_MCS;
}

/* As many meetings whatever the case, see meet(). */
static int one_case(struct bench *b, unsigned int kind, unsigned int c)
{
	uint64_t turn;
	int err = 0;

	if (loads[c].all)
		err = measure(b, kind, c);
	for (turn = loads[c].all; turn < b->nodes && !err; turn++) {
		if (!loads[c].all && turn == b->me && has(kind, c))
			err = measure(b, kind, c);
		if (!err)
			err = meet(b);
	}
	return err;
}

/* ---- printing ---- */

/* What all nodes together did. */
struct sum {
	double rate;			/* grants a second, of all nodes */
	double fairness;		/* Jain's index of the nodes' rates */
	uint64_t value[NR_VALUES];	/* summed up; of times the worst */
};

static int sum_up(struct bench *b, unsigned int kind, unsigned int c, struct sum *s)
{
	double squares = 0, rate;
	uint64_t node, v[NR_VALUES];
	unsigned int i;

	*s = (struct sum){};
	for (node = 0; node < b->nodes; node++) {
		for (i = 0; i < NR_VALUES; i++) {
			int err = rdlock_counter_read(b->cells, result_cell(node, kind, c, i), rdlock_deadline_in(10),
						      &v[i]);
			if (err)
				return err;
			if (i == GRANTS || i == LOCAL)
				s->value[i] += v[i];
			else if (v[i] > s->value[i])
				s->value[i] = v[i];
		}
		rate = v[NS] ? v[GRANTS] * 1e9 / v[NS] : 0;
		s->rate += rate;
		squares += rate * rate;
	}
	s->fairness = squares > 0 ? s->rate * s->rate / (b->nodes * squares) : 0;
	/* One after another: what the slowest of them can do. */
	if (!loads[c].all)
		s->rate = s->value[NS] ? s->value[GRANTS] * 1e9 / b->nodes / s->value[NS] : 0;
	return 0;
}

static void put_line(unsigned int kind, unsigned int c, unsigned int threads, const struct sum *s, double spin)
{
	char text[32];

	out_open(NULL, '{');
	out_str("kind", "%-8s", kind_word(kinds[kind]));
	out_str("case", "%-10s", loads[c].name);
	out_u64("threads", "%7s", threads);
	out_u64("grants", "%9s", s->value[GRANTS]);
	out_u64("per_second", "%11s", s->rate);
	snprintf(text, sizeof(text), "%.2f", spin > 0 ? s->rate / spin : 0.0);
	out_str("of_spin", "%8s", spin > 0 ? text : "-");
	out_u64("p50_ns", "%12s", s->value[P50]);
	out_u64("p99_ns", "%12s", s->value[P99]);
	out_u64("local", "%9s", s->value[LOCAL]);
	snprintf(text, sizeof(text), "%.3f", s->fairness);
	out_str("fairness", loads[c].all ? "%10s\n" : "         -\n", text);
	out_close();
}

static uint64_t budget(void)
{
	FILE *f = fopen("/sys/module/rdlock/parameters/budget", "re");
	unsigned long long n = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%llu", &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

static int put_results(struct bench *b)
{
	double spin[NR_CASES] = {};
	unsigned int kind, c;
	struct sum s;
	int err;

	/* Again: now there is a round trip. */
	err = rdlock_get_space_stat(b->space, &b->stat, sizeof(b->stat));
	if (err)
		return err;
	out_open(NULL, '{');
	out_str("space", "%s:", b->t.space_text);
	out_u64("nodes", " %s nodes", b->nodes);
	out_str("atomics", ", atomics by %s", b->stat.out_backend == 1 ? "device" : "cpu");
	out_str("waiting", ", waiting %s", wait_word(b->stat.out_wait));
	out_u64("budget", ", %s local hand-overs", budget());
	out_u64("rtt_ns", ", round trip %s ns\n", b->stat.out_rtt);
	out_text("KIND    CASE      THREADS   GRANTS  PER SECOND OF SPIN      p50 ns      p99 ns    LOCAL  FAIRNESS\n");
	out_open("results", '[');
	for (c = 0; c < NR_CASES; c++) {
		for (kind = 0; kind < NR_KINDS; kind++) {
			if (!has(kind, c))
				continue;
			err = sum_up(b, kind, c, &s);
			if (err)
				return err;
			if (kinds[kind] == RDLOCK_KIND_SPIN)
				spin[c] = s.rate;
			put_line(kind, c, loads[c].crowd ? b->threads : 1, &s, spin[c]);
		}
	}
	out_close();
	out_close();
	return 0;
}

/* ---- the command ---- */

static int parse(const struct args *a, struct bench *b)
{
	const char *nodes = opt_val(a, "nodes"), *threads = opt_val(a, "threads"), *grants = opt_val(a, "grants");
	const char *seconds = opt_val(a, "seconds");
	int err;

	*b = (struct bench){ .nodes = 1, .threads = 4, .grants = 200, .seconds = 1 };
	err = parse_space(a, a->pos[0], &b->t);
	if (!err && nodes)
		err = parse_u64(a, "--nodes", nodes, MAX_NODES, &b->nodes);
	if (!err && threads)
		err = parse_u64(a, "--threads", threads, MAX_THREADS, &b->threads);
	if (!err && grants)
		err = parse_u64(a, "--grants", grants, MAX_GRANTS, &b->grants);
	if (!err && seconds)
		err = parse_u64(a, "--seconds", seconds, MAX_SECONDS, &b->seconds);
	if (!err && (!b->nodes || !b->threads || !b->grants || !b->seconds))
		err = usage_error(a, "--nodes, --threads, --grants and --seconds are at least 1");
	return err;
}

int cmd_bench_kinds(const struct args *a)
{
	const char *name = opt_val(a, "run");
	unsigned int kind, c;
	char key[RDLOCK_NAME_MAX];
	struct bench b;
	int err, len;

	err = parse(a, &b);
	if (err)
		return err;
	len = snprintf(key, sizeof(key), "bench/%s/%u", name ? name : "kinds", (unsigned int)b.nodes);
	if (len >= (int)sizeof(key))
		return usage_error(a, "--run is at most %u letters", RDLOCK_NAME_MAX - 10);
	memcpy(b.t.key, key, len);
	b.t.key_len = len;
	snprintf(b.t.key_text, sizeof(b.t.key_text), "%s", key);
	b.space = open_space(&b.t);
	if (b.space < 0)
		return -b.space;
	b.cells = rdlock_counter_open(b.space, key, len, NR_CELLS, rdlock_deadline_in(10));
	if (b.cells < 0)
		return fail(RDLOCK_CMD_COUNTER_OPEN, b.cells, &b.t);
	if (b.nodes > 1)
		fprintf(stderr, "rdlock: waits for %u nodes that run the same\n", (unsigned int)b.nodes);
	err = come(&b);
	for (c = 0; c < NR_CASES && !err; c++)
		for (kind = 0; kind < NR_KINDS && !err; kind++)
			err = one_case(&b, kind, c);
	if (!err)
		err = put_results(&b);
	/* Nobody starts the next run over cells that somebody still reads. */
	if (!err)
		err = meet(&b);
	close(b.cells);
	close(b.space);
	if (err == -ETIMEDOUT) {
		/* No lock's: they are waited for without end. */
		fprintf(stderr, "rdlock: the other nodes did not %s; or an earlier run was broken off\n"
			"        start it on %u nodes, and use another --run\n", b.met > 1 ? "go on" : "come",
			(unsigned int)b.nodes);
		return EXIT_TIMEOUT;
	}
	return err ? fail(RDLOCK_CMD_ACQUIRE, err, &b.t) : out_done();
}
