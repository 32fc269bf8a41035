/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of core/ share among themselves: the state table of a kind, and the helpers that
 * append actions.
 */
#ifndef RDL_SPIN_H
#define RDL_SPIN_H

#include "core.h"

#ifndef RDL_ASSERT	/* the simulator's plat_user.h stops there; the module relies on the simulator having run */
#define RDL_ASSERT(cond) do { } while (0)
#endif

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
	u16 next;
};

extern const struct rdl_cell rdl_spin_table[RDL_NR_STATES][RDL_NR_EVENTS];

int rdl_ignore(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
int rdl_impossible(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);

/* The exponent of the longest back-off: BASE << KMAX is CAP. */
#define RDL_SPIN_KMAX	4

struct rdl_action *rdl_act(struct rdl_acts *acts, u8 type);
void rdl_act_post(struct rdl_lock *l, struct rdl_acts *acts, u8 type, u64 cmp, u64 val);
void rdl_act_fail(struct rdl_lock *l, struct rdl_acts *acts, u8 type, u32 err);
void rdl_act_timer(struct rdl_lock *l, struct rdl_acts *acts, u64 ns);
void rdl_act_msg(struct rdl_lock *l, struct rdl_acts *acts, u8 type);
void rdl_act_claim(struct rdl_lock *l, struct rdl_acts *acts, u8 what);

/* No lock held by anybody, in epoch @epoch with next ticket @ticket. */
static inline u64 rdl_w_free(u32 epoch, u32 ticket, bool a)
{
	return rdl_w_pack(ticket, 0, 0, epoch, a, false);
}

#endif /* RDL_SPIN_H */
