/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of core/ share among themselves: what a kind of lock consists of, what every kind has in common
 * (door.c, local.c), and the helpers that append actions (core.c).
 */
#ifndef RDL_KIND_H
#define RDL_KIND_H

#include "core.h"

#ifndef RDL_ASSERT	/* the simulator's plat_user.h stops there */
#define RDL_ASSERT(cond) do { } while (0)
#endif

/* What must be true of a step. Return: whether it is; the caller then leaves undone what would make it worse. */
static inline bool rdl_insist(struct rdl_acts *acts, bool cond)
{
	RDL_ASSERT(cond);
	if (!cond)
		acts->broken = true;
	return cond;
}

typedef int (*rdl_cell_fn)(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);

/**
 * struct rdl_cell - what one event does in one state
 * @fn: performs it; rdl_ignore and rdl_impossible for the cells in which nothing happens or nothing may come
 * @name: of @fn, for the diagram
 * @next: bit for each state the lock may be in afterwards; the simulator checks it after every step
 */
struct rdl_cell {
	rdl_cell_fn fn;
	const char *name;
	u32 next;
};

/**
 * struct rdl_kind_ops - a kind of lock
 * @states: bit for each state it has; @events: for each event it knows. Where both are set the table has a cell.
 * @owns: for each state in which the lease matters and a planned leave must wait
 * @table: its cells
 * @begin: an epoch begins under a lock of which nothing is held here; @a: attention
 * @claim: nothing is in flight any more, the home asks: give up what nobody here uses, and say what remains
 * @missed: another recovery begins, and the REBUILT of the one before was lost: what is known without it
 * @lost: the session is gone, and with it whatever the kind remembers of it
 * @told: a user knows what its grant said of a dead owner, so nobody else needs to be told
 * @post: at the end of a step in which something may be posted: an operation on the word that is due
 * @wait: a ticket whose turn has not come: the timer
 * @drawn: what the word is after this node took a ticket of it
 * @message: of another node: 1 to go on to the table, 0 if it was ignored or parked
 * @check: NULL or the first of its invariants that is broken
 * @fits: the home's side: can a claim be true of the frozen word, and of the claims before it?
 * @finish: the home's side: all have claimed
 */
struct rdl_kind_ops {
	u32 states;
	u32 events;
	u32 owns;
	const struct rdl_cell (*table)[RDL_NR_EVENTS];
	void (*begin)(struct rdl_lock *l, bool a);
	void (*claim)(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_claim *c, struct rdl_acts *acts);
	void (*missed)(struct rdl_lock *l, u32 epoch);
	void (*lost)(struct rdl_lock *l, struct rdl_acts *acts);
	void (*told)(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
	void (*post)(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
	void (*wait)(struct rdl_lock *l, struct rdl_acts *acts);
	u64 (*drawn)(const struct rdl_lock *l, u64 word);
	int (*message)(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
	const char *(*check)(const struct rdl_lock *l);
	bool (*fits)(const struct rdl_recover *r, u16 node, const struct rdl_claim *c);
	void (*finish)(struct rdl_recover *r);
};

extern const struct rdl_kind_ops rdl_spin, rdl_fair, rdl_ticket, rdl_mcs;

extern const struct rdl_cell rdl_report_cells[RDL_NR_STATES];

const char *rdl_spin_check(const struct rdl_lock *l);

/* NULL: the kind has no such state, or knows no such event. */
static inline const struct rdl_cell *rdl_cell(const struct rdl_kind_ops *ops, unsigned int st, unsigned int ev)
{
	/* The same in every state of every kind. */
	if (ev == RDL_EV_REPORT && st < RDL_NR_STATES && (ops->states >> st & 1))
		return &rdl_report_cells[st];
	if (st >= RDL_NR_STATES || ev >= RDL_NR_EVENTS || !(ops->states >> st & 1) || !(ops->events >> ev & 1))
		return NULL;
	return &ops->table[st][ev];
}

/* ---- core.c ---- */

/* NULL: no such kind. */
const struct rdl_kind_ops *rdl_kind_ops(unsigned int kind);

int rdl_ignore(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
int rdl_impossible(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);

struct rdl_action *rdl_act(struct rdl_acts *acts, u8 type);
struct rdl_action *rdl_act_post(struct rdl_lock *l, struct rdl_acts *acts, u8 type, u64 cmp, u64 val);
void rdl_act_fail(struct rdl_lock *l, struct rdl_acts *acts, u8 type, u32 err);
void rdl_act_timer(struct rdl_lock *l, struct rdl_acts *acts, u64 ns);
void rdl_act_msg(struct rdl_lock *l, struct rdl_acts *acts, u8 type);

/* ---- door.c: recovery and loss ---- */

/* @vflags: of the rebuilt lock; @acts: NULL: nobody can be told now that it is not recoverable */
void rdl_epoch_begins(struct rdl_lock *l, u32 epoch, u32 vflags, struct rdl_acts *acts);
void rdl_drained(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
void rdl_doubt(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
void rdl_roll(struct rdl_lock *l, struct rdl_acts *acts);
/* Cells. */
int rdl_freeze(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
int rdl_new_link_ambig(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
int rdl_lose(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
int rdl_stale_ended(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);

/* ---- robust.c ---- */

/* 1: go on to the table; 0: that was all. */
int rdl_robust_event(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
/* The flags that are the word's and the value's; the others are kept. */
u32 rdl_robust_begins(struct rdl_lock *l, u32 vflags, struct rdl_acts *acts);
/* Must the grant stay where it is until the home has taken what its owner said? */
bool rdl_holds_back(const struct rdl_lock *l);
/* What every grant of this epoch tells: RDL_GRANT_*. */
u32 rdl_robust_tells(struct rdl_lock *l);
const char *rdl_robust_check(const struct rdl_lock *l);
/* The home's side: @died: an exclusive owner is dead. */
void rdl_robust_judge(struct rdl_recover *r, bool died);

/* ---- recover.c ---- */

bool rdl_has_claimed(const struct rdl_recover *r, u16 node);
bool rdl_spin_fits(const struct rdl_recover *r, u16 node, const struct rdl_claim *c);
void rdl_spin_finish(struct rdl_recover *r);
/* recover_queue.c */
bool rdl_queue_fits(const struct rdl_recover *r, u16 node, const struct rdl_claim *c);
void rdl_queue_finish(struct rdl_recover *r);

/* queue.c */
bool rdl_only_copy(const struct rdl_lock *l);
bool rdl_must_store(const struct rdl_lock *l);

/* ---- local.c: users and waiters of this node ---- */

bool rdl_lease_ok(const struct rdl_event *ev);
void rdl_deliver(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts, u32 flags);
bool rdl_hand_over(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
/* Cells. */
int rdl_queue(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
int rdl_queue_lost(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
int rdl_cancel(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);

/* No lock held by anybody, in epoch @epoch with next ticket @ticket. */
static inline u64 rdl_w_free(u32 epoch, u32 ticket, bool a)
{
	return rdl_w_pack(ticket, 0, 0, epoch, a, false);
}

/* The exponent of the longest back-off of kind spin: BASE << KMAX is CAP. */
#define RDL_SPIN_KMAX	4

#endif /* RDL_KIND_H */
