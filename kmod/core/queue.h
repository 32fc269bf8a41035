/* SPDX-License-Identifier: GPL-2.0 */
/* What the kinds with a queue of tickets share: queue.c, board.c, peer.c. */
#ifndef RDL_QUEUE_H
#define RDL_QUEUE_H

#include "kind.h"
#include "slot.h"

/* How an operation on the word ended. */
enum rdl_word_end {
	RDL_END_OK,
	RDL_END_FAILED,
	RDL_END_VOID,		/* it met F */
	RDL_END_UNKNOWN,	/* or a word that cannot be */
};

enum rdl_word_end rdl_word_end(struct rdl_lock *l, const struct rdl_event *ev);

/* ---- queue.c ---- */

bool rdl_may_post(const struct rdl_lock *l, const struct rdl_event *ev);
bool rdl_needs_slot(const struct rdl_lock *l);
void rdl_want_read(struct rdl_lock *l);
void rdl_drop_read(struct rdl_lock *l);
void rdl_pause(struct rdl_lock *l, struct rdl_acts *acts);
void rdl_post_side(struct rdl_lock *l, struct rdl_acts *acts);
bool rdl_side_ended(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
void rdl_grant_over(struct rdl_lock *l);
void rdl_granted(struct rdl_lock *l);
void rdl_fetch_bytes(struct rdl_lock *l, u64 ver);
void rdl_took_ticket(struct rdl_lock *l, struct rdl_acts *acts, u32 ticket);
void rdl_watch(struct rdl_lock *l, struct rdl_acts *acts);

u8 rdl_head(const struct rdl_lock *l, const struct rdl_event *ev);
void rdl_deliver_run(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts, u32 n);
void rdl_tell_settled(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
bool rdl_version_left(const struct rdl_lock *l);
void rdl_user_changed(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);

void rdl_queue_begin(struct rdl_lock *l, bool a);
void rdl_queue_claim(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_claim *c, struct rdl_acts *acts);
void rdl_queue_missed(struct rdl_lock *l, u32 epoch);
void rdl_queue_told(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
void rdl_queue_forget(struct rdl_lock *l, struct rdl_acts *acts);
int rdl_queue_stale_ended(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);

/* ---- peer.c: messages between nodes ---- */

int rdl_peer_filter(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
bool rdl_take_grant(struct rdl_lock *l, const struct rdl_peer *p, struct rdl_acts *acts, u32 parked);
void rdl_hinted(struct rdl_lock *l, u8 mode, u16 node);
bool rdl_take_hint(struct rdl_lock *l, const struct rdl_peer *p);
void rdl_early_hint(struct rdl_lock *l);
void rdl_forget_early(struct rdl_lock *l);
void rdl_replay(struct rdl_lock *l, struct rdl_acts *acts);
void rdl_take_rebuilt(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
struct rdl_peer *rdl_act_peer(struct rdl_lock *l, struct rdl_acts *acts, u8 type, u16 node, u32 ticket);
void rdl_send_grant(struct rdl_lock *l, struct rdl_acts *acts, u16 node, u32 ticket, u8 mode, u8 debt);
void rdl_answer(struct rdl_lock *l, struct rdl_acts *acts, bool idle);

/* ---- board.c: looking for tickets in what was read ---- */

/**
 * struct rdl_found - who comes first
 * @what: RDL_MODE_X: the first ticket is exclusive and is @node's; RDL_MODE_S: the first @n are shared, of the nodes in
 *	the bitmap; RDL_MODE_NL: some slot is not there yet
 */
struct rdl_found {
	u8 what;
	u16 node;
	u32 n;
};

/* The node whose slot shows @ticket, or -1. @x: is it exclusive? */
int rdl_board_find(const struct rdl_lock *l, const struct rdl_event *ev, u32 ticket, bool *x);
void rdl_board_run(const struct rdl_lock *l, const struct rdl_event *ev, u32 from, u32 to, u64 *run,
		   struct rdl_found *found);
/* How many exclusive tickets of [from, to) are there? */
u32 rdl_board_count_x(const struct rdl_lock *l, const struct rdl_event *ev, u32 from, u32 to);

/* The turn for which the node got the lock: it counts to no budget. */
static inline bool rdl_first_turn(const struct rdl_lock *l)
{
	return l->q.fresh && !l->q.had;
}

#endif /* RDL_QUEUE_H */
