/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The simulator: one home, a few nodes, their links, one virtual clock, one seed that decides everything.
 *
 * The core under test is compiled from kmod/core unchanged. What the module's shell does around it (agent.c,
 * home.c, lease.c) is done here by node.c and home.c; the device by fabric.c. After each step the checkers compare
 * what the nodes believe with what only the simulator knows.
 */
#ifndef SIM_H
#define SIM_H

#include <stdio.h>

#include "core.h"
#include "kind.h"
#include "bust.h"

#define MAX_NODES	8
#define MAX_LOCKS	4
#define MAX_THREADS	4	/* local users of a node */
#define MAX_LINKS	256
#define MAX_OPS		65536
#define MAX_MSG		(sizeof(struct rdl_msg) + sizeof(struct rdl_msg_claim))	/* and REBUILT, the longest */

#define US		1000ull
#define MS		1000000ull
#define NEVER		(~0ull)

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

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
	bool used;
	bool up;		/* the node may post and receive */
	bool alive;		/* the queue pair at the home exists: operations can land */
	u64 cut;		/* messages to the home that arrive later than this are lost */
	u64 slow_until;		/* latency spike */
	u64 last_land, last_done, last_to_home, last_to_node;
};

struct op {
	int node, lock, link;
	u32 boot;
	u8 type;
	bool landed, done, dropped;
	u8 outcome;
	u64 late;		/* does not land before */
	u64 cmp, val, old;
};

int link_new(struct world *w, int node);
void link_break(struct world *w, int node);
void link_destroy_at_home(struct world *w, int node, int except);
void post(struct world *w, int node, int lock, const struct rdl_action *a);
void send_to_home(struct world *w, int node, struct rdl_msg *msg);
void send_to_node(struct world *w, int link, struct rdl_msg *msg);

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
	bool fed;		/* counted by the core */
	int lock;
	u32 gen;		/* of the wait or hold: late cancels and releases do not match */
	u64 since;
};

struct agent {
	enum open_state open;
	bool link;		/* OPENED came in this session */
	struct rdl_lock core;
	int fifo[MAX_THREADS];
	int nfifo;
	int holder;		/* thread, -1 */
	u32 timer_gen;
	struct op *op;		/* in flight */
	bool unknown;		/* an operation's outcome is not known and no rebuild came since */
	bool evicted;		/* with a user that has not been told yet */
	u32 req;		/* of the last OPEN */
	u32 local_run;		/* local grants in a row */
	u64 cas_at[8];		/* times of the last draws of this wait */
	u32 cas_n;
	u64 granted, failed;
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

void node_start(struct world *w, int n);
void node_crash(struct world *w, int n, u64 reboot_after);
void node_message(struct world *w, struct event *e);
void node_op_ended(struct world *w, struct op *op);
void node_link_lost(struct world *w, int n);
bool node_lease_valid(const struct world *w, int n);
void node_stop(struct world *w);

/* ---- home.c ---- */

struct session {
	bool live;
	u32 inc;
	u64 id;
	int link;
	u64 last_hb;
};

struct home_lock {
	u64 word;
	u32 epoch;
	u64 openers;
	u64 delayed;		/* OPENs that wait for the end of a recovery */
	u32 delayed_req[MAX_NODES];
	bool recovering;
	bool again;
	struct rdl_recover rec;
	/* What only the simulator knows. */
	u64 last_token;
	bool death_untold;	/* a user was cut off, no grant has said so */
	u64 recoveries;
};

struct home {
	struct session sess[MAX_NODES];
	struct home_lock lock[MAX_LOCKS];
	u64 sessions;
};

void home_start(struct world *w);
void home_message(struct world *w, struct event *e);
void home_recover(struct world *w, int lock, bool died, bool clear);
void home_repeat_freeze(struct world *w, int lock);
void home_land(struct world *w, struct op *op);

/* ---- world.c ---- */

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
	u32 try_pct, cancel_pct, close_pct, refuse_pct;
	u32 soft, hard;
	bool lease_links;	/* no RDL_F_LINK while the lease runs low */
	bool slow_open;		/* OPENED is handled by a work: messages overtake it */
};

struct coverage {
	u32 next[RDL_NR_STATES][RDL_NR_EVENTS];
	u64 count[RDL_NR_STATES][RDL_NR_EVENTS];
	u64 steps, worlds, grants, local, recoveries, deaths, ambiguous, late, lost, rolls;
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
	struct op *op;
	int ops;
	int armed[MAX_NODES];	/* fault + 1 that strikes during the next operation */
	bool op_fails;		/* the operation being posted */
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
bool world_run(struct world *w, u64 seed, int nodes, struct coverage *cov);
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
