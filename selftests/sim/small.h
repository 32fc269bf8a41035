/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A small world for the kinds with a queue: one lock, a few nodes, a home, no clock. What is possible next is chosen at
 * random, so that every order of landings, ends and messages has its chance; timers run out when nothing else happens.
 */
#ifndef SMALL_H
#define SMALL_H

#include "sim.h"
#include "slot.h"

#define SMALL_NODES	4
#define SMALL_WAITERS	6
#define SMALL_OPS	4
#define SMALL_HOME	24	/* messages between a node and the home */
#define SMALL_PEER	64	/* messages between nodes */

#define SMALL_TORN	(~0ull)

struct small_op {
	u8 type, arg, landed, half;	/* half: of a big value */
	u64 cmp, val, old, ver;
	u32 vflags;
	__le64 slots[SMALL_NODES];
};

struct small_msg {
	u8 type;		/* enum rdl_event_type, or enum rdl_action_type from a node to the home */
	u16 src, dst;
	u32 epoch, arg;
	struct rdl_peer peer;
	struct rdl_claim claim;
	struct rdl_rebuilt rebuilt;
};

struct small_waiter {
	u8 mode, try;
};

struct small_node {
	struct rdl_lock core;
	bool alive, evicted;	/* evicted: and not there again */
	bool link, lease, lost;
	bool armed;
	bool broken;		/* the link broke, the old queue pair may still act */
	bool converting;
	struct small_waiter queue[SMALL_WAITERS];
	int nqueue;
	int users;
	u8 mode;		/* of the users */
	bool notice;		/* they were granted it with word of a death, and none has looked yet */
	u64 copy, parked;	/* versions of the value */
	struct small_op op[SMALL_OPS];
	int nops;
	struct small_op orphan[SMALL_OPS];	/* of the old queue pair, landing late or never */
	int norphans;
	struct small_msg from_home[SMALL_HOME], to_home[SMALL_HOME];
	int nfrom, nto;
};

struct small {
	u64 seed, rng;
	int n;
	u8 kind, props;
	bool stopping, failed;
	char why[200];
	int faults[16];		/* still to come, by enum small_fault */
	int requests;
	struct small_node node[SMALL_NODES];
	struct small_msg peer[SMALL_PEER];
	int npeer;
	/* The home. */
	u64 word, before;	/* and what it was before the last change */
	u64 ver;
	u32 vflags;
	u64 bytes, sum;		/* of a big value: their version (or SMALL_TORN), and that of the sum */
	u64 slot[SMALL_NODES];
	u32 epoch;
	bool recovering, need;
	u8 settled;
	bool died;
	struct rdl_recover rec;
	/* What nobody in it knows. */
	u64 last_x, last;	/* tokens */
	u64 newest;		/* version of the value that was last written */
	bool untold;		/* a writer was cut off, and no user knows it */
	bool quiet;		/* no message was lost, so nobody may need the watchdog */
	int slow;		/* percent of messages between nodes that are put off */
	u64 grants, recoveries, steps, converted, tries_won, runs, handed;
};

enum small_fault {
	SMALL_CRASH,
	SMALL_BREAK,
	SMALL_LOSE,
	SMALL_REPEAT,
	SMALL_DROP,
	SMALL_REFUSE,
	SMALL_ROLL,
	SMALL_LEASE,
	SMALL_CANCEL,
	SMALL_CONVERT,
	SMALL_FAULTS,
};

extern u32 small_seen[RDL_NR_KINDS][RDL_NR_STATES][RDL_NR_EVENTS];
extern u32 small_most_actions;

/* NULL, or what went wrong in the world of @seed. */
const char *small_run(struct small *w, u64 seed, u8 kind, bool tracing);

/* small_node.c */
extern bool small_tracing;
bool small_fault(struct small *w, enum small_fault f);
u32 small_flags(const struct small *w, int i);
void small_cut_off(struct small *w, int i);
void small_wrong(struct small *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void small_feed(struct small *w, int i, struct rdl_event *ev);
u32 small_rnd(struct small *w, u32 n);

/* small_home.c */
void small_land(struct small *w, int i, struct small_op *op);
void small_home_message(struct small *w, int i);
void small_recover(struct small *w);
void small_try_finish(struct small *w);
void small_evict(struct small *w, int i);
void small_to_node(struct small *w, int i, const struct small_msg *m);
void small_query(struct small *w, int i);

#endif /* SMALL_H */
