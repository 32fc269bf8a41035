/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The simulator: one home, a few nodes, or some hundreds, their links, one virtual clock, one seed that decides
 * everything. Locks of every kind.
 *
 * The core under test is compiled from kmod/core unchanged. What the module's shell does around it is done here: on a
 * node by node.c (agent*.c in the module), user.c (wait.c) and session.c; at the home by home.c and rebuild.c; the
 * device and its memory are fabric.c and memory.c. After each step the checkers (judge.c) compare what the nodes
 * believe with what only the simulator knows.
 */
#ifndef SIM_H
#define SIM_H

#include <stdio.h>

#include "core.h"
#include "kind.h"
#include "bust.h"
#include "slot.h"

#define MAX_NODES	RDL_MAX_NODES
#define MAX_LOCKS	4
#define MAX_THREADS	4	/* local users of a node */
#define MAX_LINKS	1024
#define MAX_OPS		(1 << 16)
#define MAX_MSG		(sizeof(struct rdl_msg) + sizeof(struct rdl_msg_claim))	/* and REBUILT, the longest */

/* A big value: so many words, each says who wrote it. */
#define BIG_PIECES	3
#define BIG_SIZE	(RDL_VALUE_MAX + 1)	/* what the messages say */

#define US		1000ull
#define MS		1000000ull
#define NEVER		(~0ull)

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* A set of nodes, as the core has them. */
struct set {
	u64 w[MAX_NODES / 64];
};

static inline bool set_has(const u64 *w, int n)
{
	return w[n / 64] >> (n % 64) & 1;
}

static inline void set_add(u64 *w, int n)
{
	w[n / 64] |= 1ull << (n % 64);
}

static inline void set_del(u64 *w, int n)
{
	w[n / 64] &= ~(1ull << (n % 64));
}

/* ---- sched.c ---- */

struct world;
struct event;
typedef void (*event_fn)(struct world *w, struct event *e);

/**
 * struct event - something that will happen
 * @node: whose event it is, -1: the home's or the world's. A node that is paused gets it afterwards; a dead one never.
 * @boot: of the node when the event was scheduled
 */
struct event {
	u64 time;
	u64 seq;
	event_fn fn;
	int node;
	u32 boot;
	int lock;
	u32 gen;
	u64 arg;
	int link;
	u32 len;
	union {
		struct rdl_msg msg;
		u8 bytes[MAX_MSG];
	};
};

struct heap {
	struct event **at;
	size_t n, max;
	struct event *free;	/* chained through @arg */
	u64 seq;
};

struct event *sched(struct world *w, u64 delay, event_fn fn, int node);
struct event *sched_pop(struct world *w);
void sched_again(struct world *w, struct event *e, u64 time);
void sched_done(struct world *w, struct event *e);
void sched_clear(struct world *w);

/* ---- fabric.c ---- */

struct link {
	int node;
	bool up;		/* the node may receive */
	bool failing;		/* an operation on it got no answer: what is posted behind it is not done */
	bool stuck;		/* and the node has seen that: it posts no more */
	bool alive;		/* the queue pair at the home exists: operations can land */
	u64 cut;		/* messages to the home that arrive later than this are lost */
	u64 slow_until;		/* latency spike */
	u64 last_land, last_done, last_to_home, last_to_node;
};

/* A node has one operation of each sort in flight for a lock. */
enum op_sort {
	OP_WORD,
	OP_READ,
	OP_SLOT,
	NR_OP_SORTS,
};

/*
 * An operation lands in parts, each in a moment of its own: a value before the word that is posted with it; and what is
 * not an atomic may tear, between any two bytes. The parts of an operation are in order, and before those of the next.
 */
struct op {
	int node, lock, link;
	u8 type, sort;		/* RDL_ACT_POST_*, enum op_sort */
	bool value;		/* a value goes before the word */
	bool done, stopped;	/* stopped: no part of it lands any more */
	u8 parts, part;		/* how many, and how many have landed */
	u8 outcome;
	u64 seq;		/* in the order of posting */
	u32 events;		/* that will look at it; with none left, and done, it is used again */
	struct op *next_free;
	u64 late;		/* does not land before */
	u32 cut;		/* where a part ends and the next begins, bytes */
	u64 cmp, val, old;
	u8 body[sizeof(struct rdl_body)];
	__le64 area[BIG_PIECES];
};

int link_new(struct world *w, int node);
void link_break(struct world *w, int node);
void link_destroy_at_home(struct world *w, int node, int except);
void post(struct world *w, int node, int lock, const struct rdl_action *a);
void send_to_home(struct world *w, int node, struct rdl_msg *msg);
void send_to_node(struct world *w, int link, struct rdl_msg *msg);
void send_to_peer(struct world *w, int node, int to, struct rdl_msg *msg);

/* ---- memory.c ---- */

void land(struct world *w, struct op *op);

/* ---- node.c ---- */

enum open_state {
	CLOSED,
	OPENING,
	OPEN,
};

enum thread_state {
	IDLE,
	WAITING,
	HOLDING,
};

struct thread {
	enum thread_state st;
	bool try;
	u8 mode;		/* enum rdl_mode, wanted or held */
	bool fed;		/* counted by the core */
	bool has;		/* and its grant stands */
	bool converting;
	bool told;		/* robust: that an owner died */
	bool notice;		/* not robust: its grant says so, and it has not looked yet */
	bool saying;		/* robust: and says that it is whole; waits for the home to know */
	u32 place;		/* in the order of those who came */
	int lock;
	u32 gen;		/* of the wait or hold: late cancels and releases do not match */
	u64 since;
};

struct agent {
	enum open_state open;
	bool link;		/* OPENED came in this session */
	bool closing;		/* as soon as it is idle */
	struct rdl_lock core;
	int fifo[MAX_THREADS];
	int nfifo;
	u32 places;		/* so many have come */
	int users;		/* threads that have it */
	u8 mode;		/* theirs */
	u32 timer_gen;
	bool untimely;		/* the TIMER that is being handled was replaced by another one, or was no watchdog */
	struct op *op[NR_OP_SORTS];	/* in flight */
	bool unknown;		/* an operation's outcome is not known and no rebuild came since */
	bool evicted;		/* with a writer that has not been told yet */
	u32 req;		/* of the last OPEN */
	u64 look_at[32];	/* looks at the board since the last atomic */
	u32 looks;
	u8 was;			/* state before the present event */
	u32 local_run;		/* local exclusive grants in a row */
	u64 cas_at[8];		/* times of the last draws of this wait */
	u32 cas_n;
	u64 copy, parked;	/* the value: who wrote it last; 0: nobody */
	u64 drawn;		/* when its ticket was taken */
	u64 granted, failed, worst;	/* worst: longest wait */
	u8 in[sizeof(struct rdl_body) + 8 * MAX_NODES];	/* what is being read */
	__le64 area[BIG_PIECES];
};

enum session_state {
	NO_LINK,
	HELLO_SENT,
	SESSION_UP,
};

struct node {
	bool alive;
	u32 boot;
	u32 inc;
	u64 session;
	enum session_state ss;
	int link;
	u64 paused_until;
	u64 blocked_until;	/* no connection before */
	u64 lease_end;
	u64 hello_at;
	u64 hb_at[16];
	u32 hb_n;
	u64 rate;		/* length of its second in thousandths of a true one */
	u32 connect_gen;
	u32 reqs;
	struct agent agent[MAX_LOCKS];
	struct thread thread[MAX_THREADS];
};

union buffer {
	struct rdl_msg msg;
	u8 bytes[MAX_MSG];
};

void node_op_ended(struct world *w, struct op *op);
void node_peer_message(struct world *w, struct event *e);
void node_message(struct world *w, struct event *e);
void feed(struct world *w, int n, int lock, struct rdl_event *ev, u64 value);
void feed_type(struct world *w, int n, int lock, u8 type);
void header(struct world *w, int n, struct rdl_msg *msg, u8 type, int lock, u32 epoch);
void send_plain(struct world *w, int n, u8 type, int lock, u32 epoch, u32 arg);
u64 value_of(const u8 *bytes);
bool body_is_bad(const struct rdl_body *body, const __le64 *area);	/* @area: NULL, or of a big value */

/* ---- user.c ---- */

int fifo_pop(struct world *w, struct agent *a, int at);
void queue_waiter(struct world *w, int n, int t);
void thread_idle(struct world *w, int n, int t);
void users_granted(struct world *w, int n, int lock, u32 many, bool told);
void waiter_failed(struct world *w, int n, int lock, int at, u32 err);
void waiters_ruined(struct world *w, int n, int lock, u32 err);
void user_said(struct world *w, int n, int lock);
void users_cut_off(struct world *w, int n, int lock);
void user_converted(struct world *w, int n, int lock, bool done, u8 mode);

/* ---- session.c ---- */

void node_start(struct world *w, int n);
void node_crash(struct world *w, int n, u64 reboot_after);
void node_link_lost(struct world *w, int n);
void node_shed(struct world *w, struct event *e);
bool node_lease_valid(const struct world *w, int n);
void session_message(struct world *w, struct event *e);
void send_open(struct world *w, int n, int lock);
/* First thing a node does when it wakes: has its lease run out meanwhile? */
bool awake(struct world *w, int n);

/* ---- judge.c ---- */

void judge_grant(struct world *w, int n, int lock, const struct rdl_action *act, u32 f);
void judge_written(struct world *w, int n, int lock);
void judge_conversion(struct world *w, int n, int lock, const struct rdl_action *act);
void judge_ruin(struct world *w, int n, int lock);
void judge_told(struct world *w, int n, int lock);
void judge_whole(struct world *w, int n, int lock);
void judge_rebuilt(struct world *w, int lock);
void judge_exclusion(struct world *w, int n, int lock, u8 mode);
void judge_agent(struct world *w, int n, int lock, u32 f);
void judge_query(struct world *w, int n, int lock);
void judge_draw(struct world *w, int n, int lock);
void judge_looks(struct world *w, int n, int lock, u8 type);
void judge_rest(struct world *w);
bool at_rest(const struct world *w);

/* ---- home.c ---- */

struct session {
	bool live;
	u32 inc;
	u64 id;
	int link;
	u64 last_hb;
};

struct home_lock {
	u8 kind, props;
	u8 dead;
	u64 word;
	u32 epoch;
	struct set openers;
	struct set delayed;	/* OPENs that wait for the end of a recovery */
	u32 delayed_req[MAX_NODES];
	bool recovering;
	u64 recoveries;
	u64 claimed[MAX_NODES];	/* the values that came with the claims */
	u8 body[sizeof(struct rdl_body)];
	__le64 area[BIG_PIECES];
	__le64 slot[MAX_NODES];
	/* A round of questions; 0: none. */
	u64 asked;
	int asker, answers;
	struct set expect;
	struct rdl_stat own, stat[MAX_NODES];
	/* What only the simulator knows. */
	u64 last_token, last_x;	/* of all grants, of the exclusive ones */
	/* Robust: @must: an owner died, so every grant says so; until it is said to be whole. @may: one may have. */
	bool must, may;
	bool written;		/* a value, since a recovery has noted that the last one was lost */
	bool reset;		/* somebody resets it */
	int gave_up;		/* node + 1 that left it without a word, which the home does not know yet */
	int whole_by;		/* node + 1 whose owner has said so, and the home does not know yet */
	u64 newest;		/* value */
	bool death_untold;	/* a writer was cut off, no user knows it; see @must for robust locks */
	bool lossy;		/* a message between nodes was lost, or with a node what it knew */
	struct rdl_recover rec;	/* not cleared when a world begins */
};

struct home {
	struct session sess[MAX_NODES];
	struct home_lock lock[MAX_LOCKS];
	u64 sessions;
};

void home_start(struct world *w);
void home_message(struct world *w, struct event *e);

/* ---- rebuild.c ---- */

void home_recover(struct world *w, int lock, bool died, bool clear, u8 settled);
void home_repeat_freeze(struct world *w, int lock);
void home_freeze(struct world *w, int node, int lock);
void home_finish(struct world *w, int lock);
void home_claim(struct world *w, int node, int lock, const struct rdl_msg *msg);
void home_query(struct world *w, int node, int lock);
void home_stat(struct world *w, int node, int lock, const struct rdl_msg *msg);
void home_opened(struct world *w, int node, int lock, u32 req);
void reply_header(struct world *w, int node, struct rdl_msg *msg, u8 type);

/* ---- world.c ---- */

/* What of a world is not left to its seed; 0, or for @faults negative: it is. */
struct wish {
	int nodes, threads, locks, faults;
	u8 kind;
	/* For so many ms everybody wants the same lock, without faults; if @readers, all nodes but one read. */
	int hammer;
	bool readers;
};

struct config {
	int nodes, locks, threads;
	u32 budget;
	u64 latency;		/* mean of one way */
	u64 lease, margin;
	u64 hold, think;	/* means */
	u64 stop;		/* no new requests or faults after */
	u64 end;		/* everything must have come to rest */
	int faults;
	u32 fault_mask;
	u32 try_pct, cancel_pct, close_pct, refuse_pct, shared_pct, convert_pct, tear_pct;
	u32 late_pct, twice_pct, drop_pct;	/* of messages between nodes */
	u32 unseen_pct;		/* of users that leave without having looked at a grant that tells of a death */
	u32 die_pct, whole_pct, reset_pct;	/* of what owners of robust locks do, and who finds one ruined */
	u32 soft, hard;
	bool lease_links;	/* no RDL_F_LINK while the lease runs low */
	bool slow_open;		/* OPENED is handled by a work: messages overtake it */
	bool shed;		/* at the end nobody keeps what is idle */
	bool hammer, readers;
	bool numbers;		/* words are not locks': nothing is true of them (contract.c) */
};

struct coverage {
	u32 next[RDL_NR_KINDS][RDL_NR_STATES][RDL_NR_EVENTS];
	u64 count[RDL_NR_KINDS][RDL_NR_STATES][RDL_NR_EVENTS];
	u64 steps, worlds, grants, local, recoveries, deaths, ambiguous, late, lost, rolls;
	u64 readers, converted, handed, torn, repeated, queries, whole, ruined, reset, unseen;
	u32 most_actions;
};

struct world {
	u64 seed;
	u64 rng;
	u64 now;
	bool stopping;
	struct config cfg;
	struct heap heap;
	struct node node[MAX_NODES];
	struct home home;
	struct link link[MAX_LINKS];
	int links;
	struct op *op, *op_free;
	int ops;
	u64 op_seq;
	int armed[MAX_NODES];	/* fault + 1 that strikes during the next operation */
	bool op_fails;		/* the operation being posted */
	bool refused;		/* one of this step was not taken: those behind it are not, either */
	/* Of this world alone: what was done, and how often a local grant came before an older request. */
	struct {
		u64 atomics, reads, writes, sends, turns;
		u32 overtaken;		/* by a node that had heard that it waits; @unheard: by one that had not */
		u32 unheard;
		u64 unheard_ns;		/* longest that it took */
	} did;
	u16 over[MAX_NODES][MAX_NODES];
	struct coverage *cov;
	bool failed;
	char why[256];
};

extern int sim_bust;
extern u32 sim_ticket_soft, sim_ticket_hard, sim_debt_max;
extern int sim_trace;

/* The node posts an operation: a fault that waited for that comes now. */
void fault_armed(struct world *w, int node);
/* Runs the world of @seed; false: a checker spoke, @w->why says what. */
bool world_run(struct world *w, u64 seed, const struct wish *wish, struct coverage *cov);
void violation(struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void trace(struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static inline u64 rnd64(struct world *w)
{
	u64 z = (w->rng += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* 0..n-1 */
static inline u64 rnd(struct world *w, u64 n)
{
	return n ? rnd64(w) % n : 0;
}

static inline bool chance(struct world *w, u32 percent)
{
	return rnd(w, 100) < percent;
}

/* A length with the given mean, now and then ten times as long. */
static inline u64 about(struct world *w, u64 mean)
{
	u64 x = mean / 4 + rnd(w, mean * 3 / 2 + 1);

	return chance(w, 3) ? x * 10 : x;
}

/* ---- stress.c ---- */

/* The longest that a writer among 63 readers may wait, who each stay for 2 us on average and at most for 35. */
#define STRESS_WRITER_US	500
#define STRESS_UNHEARD_US	500	/* a few pauses between two looks for a slot: RDL_SEEK_NS */

int stress_n(void);
bool stress_run(int i, struct world *w, u64 seed, struct coverage *cov, char *name, char *note, size_t size);
void stress_json(FILE *f);

/* ---- shrink.c ---- */

/* The world of @seed has just failed: a smaller one that fails, too, in @seed and @wish. */
void shrink(struct world *w, u64 *seed, struct wish *wish, struct coverage *cov);

/* ---- unit.c, table.c ---- */

struct unit_test {
	const char *name;
	const char *(*run)(u64 seed);	/* NULL or what is wrong */
};

extern const struct unit_test unit_tests[];
extern const int unit_tests_n;
const char *unit_run(int test, u64 seed);
const char *small_mutant(u64 seed);
void table_rst(void);
void table_dot(void);

#endif /* SIM_H */
