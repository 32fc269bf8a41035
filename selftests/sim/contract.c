// SPDX-License-Identifier: GPL-2.0
/*
 * The contract of a fabric (kmod/test/fabric/cases.h), kept by the one that is pretended here. Only fabric.c, memory.c
 * and sched.c are looked at: in place of nodes and home is what posts operations and counts their ends. KTAP on
 * standard output.
 *
 * A node has one operation of a sort in flight for a lock, so many operations in flight are many nodes, with a link
 * each. Locks are the words.
 */
#include <stdarg.h>
#include <stdlib.h>

#include "sim.h"
#include "../../kmod/test/fabric/cases.h"

#define WORKERS		16
#define SEEDS		200	/* of each case: the fabric's whims */

int sim_bust, sim_forgive, sim_trace;
u32 sim_ticket_soft, sim_ticket_hard, sim_debt_max;

static struct world w;
static struct coverage cov;
static char why[300];

/* What the nodes have in flight, and a run of FAAs. */
static struct {
	int ended[MAX_NODES];	/* operations that have ended since they were posted */
	u8 outcome[MAX_NODES];
	u64 old[MAX_NODES];
	u32 left, posted;
	int word;
	bool running;
	struct rdf_case_ends *ends;
} run;

void violation(struct world *world, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (!world->failed)
		vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	world->failed = true;
}

void trace(struct world *world, const char *fmt, ...)
{
	(void)world;
	(void)fmt;
}

/* ---- in place of the nodes and the home ---- */

void fault_armed(struct world *world, int node)
{
	(void)world;
	(void)node;
}

/* The node sees its link end; what was posted on it ends. */
void node_link_lost(struct world *world, int n)
{
	link_break(world, n);
}

static void next_of_run(int n);

void node_op_ended(struct world *world, struct op *op)
{
	int n = op->node;

	if (world->node[n].agent[op->lock].op[op->sort] != op) {
		if (run.ends)
			run.ends->twice++;
		violation(world, "an operation of node %d ends twice", n);
		return;
	}
	world->node[n].agent[op->lock].op[op->sort] = NULL;
	run.ended[n]++;
	run.outcome[n] = op->outcome;
	run.old[n] = op->old;
	if (!run.running)
		return;
	if (op->outcome == RDL_OK)
		run.ends->ok++;
	else if (op->outcome == RDL_FAILED)
		run.ends->failed++;
	else
		run.ends->ambiguous++;
	if (op->outcome == RDL_AMBIGUOUS && world->link[op->link].up)
		node_link_lost(world, n);
	next_of_run(n);
}

static u32 messages, next_message;
static bool disordered;

void home_message(struct world *world, struct event *e)
{
	u32 n = le32_to_cpu(e->msg.arg);

	(void)world;
	disordered |= n != next_message;
	next_message = n + 1;
	messages++;
}

void node_message(struct world *world, struct event *e)
{
	(void)e;
	violation(world, "a message that nobody sent");
}

void node_peer_message(struct world *world, struct event *e)
{
	node_message(world, e);
}

/* ---- time ---- */

static bool one_event(void)
{
	struct event *e = sched_pop(&w);

	if (!e)
		return false;
	w.now = e->time;
	e->fn(&w, e);
	sched_done(&w, e);
	return true;
}

static void all_events(void)
{
	while (one_event())
		;
}

static int result_of(int n)
{
	if (run.outcome[n] == RDL_OK)
		return 0;
	return run.outcome[n] == RDL_FAILED ? -ECANCELED : -EREMOTEIO;
}

static void post_one(int n, int lock, const struct rdl_action *a)
{
	run.ended[n] = 0;
	post(&w, n, lock, a);
}

static int wait_one(int n)
{
	while (!run.ended[n])
		if (!one_event())
			return -ETIME;
	return result_of(n);
}

/* ---- what a case has in its hands ---- */

static int do_cas(struct rdf_case *c, unsigned int word, u64 compare, u64 swap, u64 *old)
{
	struct rdl_action a = { .type = RDL_ACT_POST_CAS, .cmp = compare, .val = swap };
	int err;

	(void)c;
	post_one(1, word, &a);
	err = wait_one(1);
	*old = run.old[1];
	return err;
}

static int do_faa(struct rdf_case *c, unsigned int word, u64 addend, u64 *old)
{
	struct rdl_action a = { .type = RDL_ACT_POST_FAA, .val = addend };
	int err;

	(void)c;
	post_one(1, word, &a);
	err = wait_one(1);
	*old = run.old[1];
	return err;
}

static int do_read(struct rdf_case *c, unsigned int word, u64 *value)
{
	struct rdl_action a = { .type = RDL_ACT_POST_READ_WORD };
	int err;

	(void)c;
	post_one(1, word, &a);
	err = wait_one(1);
	memcpy(value, w.node[1].agent[word].in, sizeof(*value));
	return err;
}

static void next_of_run(int n)
{
	struct rdl_action a = { .type = RDL_ACT_POST_FAA, .val = 1 };

	/* Who has no link posts nothing. */
	if (!run.left || !w.link[w.node[n].link].up)
		return;
	run.left--;
	post_one(n, run.word, &a);
}

static int do_many(struct rdf_case *c, unsigned int word, u32 total, bool breaks, struct rdf_case_ends *ends)
{
	u32 at = breaks ? 1 + rnd(&w, total / 2) : 0;
	int n;

	(void)c;
	memset(ends, 0, sizeof(*ends));
	run.ends = ends;
	run.left = total;
	run.word = word;
	run.running = true;
	for (n = 1; n <= WORKERS; n++)
		next_of_run(n);
	while (one_event()) {
		if (!breaks || ends->ok < at)
			continue;
		breaks = false;
		/* One gets no answer, the others see their links end. */
		for (n = 1; n <= WORKERS; n++) {
			if (n == WORKERS && run.left) {
				w.op_fails = true;
				continue;
			}
			link_break(&w, n);
		}
		/* Long before what may still land has landed. */
		break;
	}
	while (ends->ok + ends->failed + ends->ambiguous < total - run.left && one_event())
		;
	ends->refused = run.left;
	run.running = false;
	run.ends = NULL;
	return 0;
}

/* The home destroys the old pairs before it takes new ones. */
static int do_back(struct rdf_case *c)
{
	int n;

	(void)c;
	w.op_fails = false;
	for (n = 0; n <= WORKERS; n++) {
		link_destroy_at_home(&w, n, -1);
		link_break(&w, n);
		w.node[n].link = link_new(&w, n);
	}
	return 0;
}

static void wrong(const char *where, int line, const char *what)
{
	violation(&w, "%s:%d: not so: %s", where, line, what);
}

static struct rdf_case here = {
	.cas = do_cas, .faa = do_faa, .read = do_read, .many = do_many, .back = do_back, .wrong = wrong,
};

#define EXPECT(cond) do { \
	if (!(cond)) { \
		wrong(__func__, __LINE__, #cond); \
		return -EPROTO; \
	} \
} while (0)

/* ---- cases ---- */

static int case_cas(void)
{
	return rdf_case_cas(&here);
}

static int case_faa(void)
{
	return rdf_case_faa(&here);
}

static int case_many(void)
{
	return rdf_case_many(&here);
}

static struct rdf_case_ends all;

static int case_killed(void)
{
	struct rdf_case_ends ends;
	u64 now = 0, later;
	int err = rdf_case_killed(&here, &ends);

	if (err)
		return err;
	all.failed += ends.failed;
	all.ambiguous += ends.ambiguous;
	/* Also when all the time of the old links has passed. */
	EXPECT(!do_faa(&here, 0, 0, &now));
	all_events();
	EXPECT(!do_faa(&here, 0, 0, &later) && later == now);
	return 0;
}

static int case_values(void)
{
	return rdf_case_values(&here, 2);
}

/* A slot of the board, and a value that is posted with an operation on the word. */
static int case_rw(void)
{
	struct rdl_action slot = { .type = RDL_ACT_POST_WRITE_SLOT, .val = rnd64(&w) };
	struct rdl_action faa = { .type = RDL_ACT_POST_FAA, .arg = RDL_POST_VALUE };
	struct rdl_action slots = { .type = RDL_ACT_POST_READ_SLOTS }, value = { .type = RDL_ACT_POST_READ_VALUE };
	struct agent *a = &w.node[1].agent[1];
	const struct rdl_body *body = (const void *)a->in;
	__le64 one;
	u64 copy;

	faa.peer.ver = rnd64(&w);
	a->copy = rnd64(&w);
	post_one(1, 1, &slot);
	EXPECT(!wait_one(1));
	post_one(1, 1, &slots);
	EXPECT(!wait_one(1));
	memcpy(&one, a->in + sizeof(one), sizeof(one));
	EXPECT(le64_to_cpu(one) == slot.val);
	post_one(1, 1, &faa);
	EXPECT(!wait_one(1));
	post_one(1, 1, &value);
	EXPECT(!wait_one(1));
	memcpy(&copy, body->value, sizeof(copy));
	EXPECT(rdl_body_crc(body) == le32_to_cpu(body->crc));
	EXPECT(le64_to_cpu(body->ver) == faa.peer.ver && copy == a->copy);
	return 0;
}

/* A slot, a READ of the board, an FAA with a value, and messages: posted before the first is done. */
static int case_order(void)
{
	struct agent *a = &w.node[1].agent[2];
	struct rdl_action slot = { .type = RDL_ACT_POST_WRITE_SLOT, .val = rnd64(&w) };
	struct rdl_action slots = { .type = RDL_ACT_POST_READ_SLOTS }, faa = { .type = RDL_ACT_POST_FAA, .val = 1 };
	static const enum op_sort ends[] = { OP_SLOT, OP_READ, OP_WORD };
	struct rdl_msg hb = { .type = RDL_MSG_HB };
	__le64 one;
	u32 i;

	messages = 0;
	next_message = 0;
	disordered = false;
	for (i = 0; i < 20; i++) {
		hb.arg = cpu_to_le32(i);
		send_to_home(&w, 1, &hb);
	}
	run.ended[1] = 0;
	post(&w, 1, 2, &slot);
	post(&w, 1, 2, &slots);
	post(&w, 1, 2, &faa);
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		EXPECT(a->op[ends[i]]);
		while (run.ended[1] < (int)i + 1 && one_event())
			;
		EXPECT(run.ended[1] == (int)i + 1 && !result_of(1) && !a->op[ends[i]]);
	}
	memcpy(&one, a->in + sizeof(one), sizeof(one));
	EXPECT(le64_to_cpu(one) == slot.val);
	all_events();
	/* On a link that stands none is lost. */
	EXPECT(messages == 20 && !disordered);
	return 0;
}

/* Posted on a link whose pair the home has destroyed: nothing is changed, and it does not end well. */
static int case_stale(void)
{
	struct rdl_action a = { .type = RDL_ACT_POST_FAA, .val = 1 };
	u64 was, now;

	EXPECT(!do_read(&here, 1, &was));
	link_destroy_at_home(&w, 1, -1);
	post_one(1, 1, &a);
	EXPECT(wait_one(1) != 0);
	EXPECT(!do_back(&here));
	all_events();
	EXPECT(!do_faa(&here, 1, 0, &now) && now == was);
	return 0;
}

/* ---- the list ---- */

static const struct {
	const char *name, *what, *not_here;
	int (*run)(void);
} cases[] = {
#define HERE(name, what) { #name, what, NULL, case_##name },
#define NOT_HERE(name, what, why) { #name, what, why, NULL },
	RDF_CASES(HERE, NOT_HERE)
};

static void begin(u64 seed)
{
	struct op *ops = w.op;
	struct heap heap = w.heap;
	int n;

	memset(&w, 0, sizeof(w));
	memset(&run, 0, sizeof(run));
	w.op = ops;
	w.heap = heap;
	sched_clear(&w);
	w.rng = seed;
	w.cov = &cov;
	w.cfg.nodes = WORKERS + 1;
	w.cfg.locks = MAX_LOCKS;
	w.cfg.latency = 5 * US;
	w.cfg.lease = 50 * MS;
	w.cfg.numbers = true;
	for (n = 0; n <= WORKERS; n++) {
		w.node[n].alive = true;
		w.node[n].link = link_new(&w, n);
	}
}

static int number, failed;

static void result(bool ok, const char *name, const char *note)
{
	failed += !ok;
	printf("%s %d contract_%s # %s\n", ok ? "ok" : "not ok", ++number, name, note);
}

static void run_case(int i)
{
	char note[400];
	u64 seed;

	for (seed = 1; seed <= SEEDS; seed++) {
		int err;

		begin(seed);
		err = cases[i].run();
		if (!err && !w.failed)
			continue;
		snprintf(note, sizeof(note), "seed %llu: %s", (unsigned long long)seed, why);
		result(false, cases[i].name, note);
		return;
	}
	result(true, cases[i].name, cases[i].what);
}

/* As in rdf_test: of what was under way when links ended, some certainly failed, and of some nobody knows. */
static void run_outcomes(void)
{
	char note[100];

	snprintf(note, sizeof(note), "%llu certainly failed, of %llu nobody knows", (unsigned long long)all.failed,
		 (unsigned long long)all.ambiguous);
	result(all.failed && all.ambiguous, "outcomes", note);
}

int main(void)
{
	int i, here_n = 0;

	w.op = calloc(MAX_OPS, sizeof(*w.op));
	if (!w.op)
		return 1;
	for (i = 0; i < (int)ARRAY_SIZE(cases); i++)
		here_n += !cases[i].not_here;
	printf("KTAP version 1\n1..%d\n", here_n + 1);
	for (i = 0; i < (int)ARRAY_SIZE(cases); i++) {
		if (cases[i].not_here)
			printf("# contract_%s does not arise: %s\n", cases[i].name, cases[i].not_here);
		else
			run_case(i);
	}
	run_outcomes();
	printf("%d passed, %d failed, 0 skipped\n", number - failed, failed);
	return failed ? 1 : 0;
}
