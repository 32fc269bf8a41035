/* SPDX-License-Identifier: GPL-2.0 */
/* The cells of the kinds with a queue; those of every kind are rdl_turn_*. */
#ifndef RDL_FAIR_H
#define RDL_FAIR_H

#include "queue.h"

/* What the operation in flight of DUTY, TRY and UPG, or the READ of WAIT, is for. */
enum rdl_step_for {
	RDL_STEP_NONE,
	RDL_STEP_SEEK,		/* WAIT: the predecessor is to be found. TRY: the owner */
	RDL_STEP_AGAIN,		/* WAIT: as SEEK, but a HINT was sent long ago */
	RDL_STEP_PROVE,		/* DUTY, WAIT (ticket): has the head moved on? */
	RDL_STEP_LOOK,		/* TRY, UPG: what is the word? WAIT: is a ticket that nobody waits for in the way? */
	RDL_STEP_SWAP,		/* TRY, UPG: change it */
	RDL_STEP_SHARE,		/* STORE: then the user goes to shared */
};

/* The end of every step: answers a FREEZE, serves users, posts what is due. */
int rdl_turn_go(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
int rdl_turn_unknown(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
void rdl_granted_at_once(struct rdl_lock *l, struct rdl_acts *acts, u64 old);
void rdl_fetch(struct rdl_lock *l, u64 old);
void rdl_store(struct rdl_lock *l, struct rdl_acts *acts);
bool rdl_draw_failed(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
bool rdl_pop_failed(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
int rdl_pop_unknown(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
void rdl_duty_over(struct rdl_lock *l, struct rdl_acts *acts);
void rdl_begin_try(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
void rdl_look(struct rdl_lock *l, struct rdl_acts *acts);
bool rdl_word_free(const struct rdl_lock *l, u64 word, u8 mode);
void rdl_pop(struct rdl_lock *l, struct rdl_acts *acts);
void rdl_value_along(struct rdl_lock *l, struct rdl_action *a);

#define RDL_CELL_OF(kind, name) \
	int rdl_##kind##_##name(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
#define RDL_TURN_CELL(name)	RDL_CELL_OF(turn, name)
#define RDL_FAIR_CELL(name)	RDL_CELL_OF(fair, name)

/* turn.c */
RDL_TURN_CELL(acquire);
RDL_TURN_CELL(join);
RDL_TURN_CELL(release);
RDL_TURN_CELL(cancel);
RDL_TURN_CELL(cancel_try);
RDL_TURN_CELL(wake);

/* try.c */
RDL_TURN_CELL(op_idle);
RDL_TURN_CELL(op_fetch);
RDL_TURN_CELL(op_store);
RDL_TURN_CELL(op_try);
RDL_TURN_CELL(wake_probe);

/* turn_home.c */
RDL_TURN_CELL(new_link);
RDL_TURN_CELL(rebuilt_none);
RDL_TURN_CELL(rebuilt_wait);
RDL_TURN_CELL(rebuilt_held);
RDL_TURN_CELL(rejoin);
RDL_TURN_CELL(grant);
RDL_TURN_CELL(hint);
RDL_TURN_CELL(probe);
RDL_TURN_CELL(probe_busy);
RDL_TURN_CELL(answer);

/* fair.c */
void rdl_fair_post(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
u64 rdl_fair_drawn(const struct rdl_lock *l, u64 word);
void rdl_fair_down(struct rdl_lock *l, struct rdl_acts *acts);
u32 rdl_fair_joins(const struct rdl_lock *l);
bool rdl_fair_look(const struct rdl_lock *l);
bool rdl_fair_spent(const struct rdl_lock *l);
bool rdl_fair_lazy(const struct rdl_lock *l, const struct rdl_event *ev);
void rdl_fair_left(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
RDL_FAIR_CELL(downgrade);
RDL_FAIR_CELL(upgrade);
RDL_FAIR_CELL(op_held);
RDL_FAIR_CELL(wake_wait);
RDL_FAIR_CELL(wake_held);
RDL_FAIR_CELL(wake_duty);

/* ticket.c */
void rdl_ticket_wait(struct rdl_lock *l, struct rdl_acts *acts);

/* fair_op.c; kind ticket has the first two as well */
RDL_FAIR_CELL(op_draw);
RDL_FAIR_CELL(op_pop);
RDL_FAIR_CELL(op_wait);
RDL_FAIR_CELL(op_duty);
RDL_FAIR_CELL(op_down);
RDL_FAIR_CELL(op_readers);
RDL_FAIR_CELL(op_upgrade);

const char *rdl_queue_check(const struct rdl_lock *l);

#endif /* RDL_FAIR_H */
