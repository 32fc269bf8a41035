/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The cells of kind fair: fair.c (users and waiters), fair_op.c (ends of operations), fair_home.c (messages,
 * recovery).
 */
#ifndef RDL_FAIR_H
#define RDL_FAIR_H

#include "queue.h"

/* What the operation in flight of DUTY, TRY and UPG, or the READ of WAIT, is for. */
enum rdl_fair_step {
	RDL_STEP_NONE,
	RDL_STEP_SEEK,		/* WAIT: the predecessor is to be found. TRY: the owner */
	RDL_STEP_AGAIN,		/* WAIT: as SEEK, but a HINT was sent long ago */
	RDL_STEP_PROVE,		/* DUTY: has the head moved on? */
	RDL_STEP_LOOK,		/* TRY, UPG: what is the word? */
	RDL_STEP_SWAP,		/* TRY, UPG: change it */
};

/* The end of every step: answers a FREEZE, serves users, posts what is due. */
int rdl_fair_go(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
void rdl_fair_look(struct rdl_lock *l, struct rdl_acts *acts);
void rdl_fair_down(struct rdl_lock *l, struct rdl_acts *acts);
bool rdl_fair_free(const struct rdl_lock *l, u64 word, u8 mode);

#define RDL_FAIR_CELL(name) \
	int rdl_fair_##name(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)

/* fair.c */
RDL_FAIR_CELL(acquire);
RDL_FAIR_CELL(join);
RDL_FAIR_CELL(release);
RDL_FAIR_CELL(cancel);
RDL_FAIR_CELL(cancel_try);
RDL_FAIR_CELL(downgrade);
RDL_FAIR_CELL(upgrade);
RDL_FAIR_CELL(wake);
RDL_FAIR_CELL(wake_wait);
RDL_FAIR_CELL(wake_duty);
RDL_FAIR_CELL(wake_probe);

/* fair_op.c */
RDL_FAIR_CELL(op_idle);
RDL_FAIR_CELL(op_draw);
RDL_FAIR_CELL(op_wait);
RDL_FAIR_CELL(op_fetch);
RDL_FAIR_CELL(op_pop);
RDL_FAIR_CELL(op_duty);
RDL_FAIR_CELL(op_down);
RDL_FAIR_CELL(op_readers);
RDL_FAIR_CELL(op_upgrade);
RDL_FAIR_CELL(op_try);

/* fair_home.c */
RDL_FAIR_CELL(new_link);
RDL_FAIR_CELL(rebuilt_none);
RDL_FAIR_CELL(rebuilt_wait);
RDL_FAIR_CELL(rebuilt_held);
RDL_FAIR_CELL(rejoin);
RDL_FAIR_CELL(grant);
RDL_FAIR_CELL(hint);
RDL_FAIR_CELL(probe);
RDL_FAIR_CELL(probe_busy);
RDL_FAIR_CELL(answer);

const char *rdl_fair_check(const struct rdl_lock *l);

#endif /* RDL_FAIR_H */
