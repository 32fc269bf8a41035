/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The protocol core: decides, never acts.
 *
 *	struct rdl_lock	 a node's side of one lock; at most one operation on its word in flight
 *	rdl_step()	 one event in, at most RDL_MAX_ACTIONS actions out
 *	struct rdl_recover	 the home's side of one recovery: claims in, the new word out
 *
 * Contract between the core and the shell (agent.c in the module, node.c in the simulator):
 *  - The shell serialises the events of one lock and performs the actions in order before it feeds the next event.
 *  - The shell owns the FIFO of local waiters. The core knows only their number: a waiter is counted by ACQ and leaves
 *    by DELIVER (head), FAIL (head or tail, as the action says) or CANCEL.
 *  - At most one POST_* is outstanding. It is answered by exactly one OP event: done, certainly not done, or not known.
 *    A post that the fabric refuses at once is answered by an OP event with RDL_FAILED.
 *  - An operation that ends RDL_AMBIGUOUS has ended its link: that event and all later ones come without RDL_F_LINK
 *    until LINK_UP, and LINK_UP or REJOIN come only when every operation of the old link has ended. If rdl_ambiguous()
 *    is true after an OP event that was RDL_OK (a word that cannot be), the shell breaks the link, so that the re-OPEN
 *    asks for the recovery.
 *  - The home repeats FREEZE on a new session to every opener whose claim it has not got. A REBUILT may be repeated, or
 *    left out if LINK_UP brings the new epoch.
 *  - Each TIMER action replaces an earlier one that has not fired; a TIMER event that comes late is harmless.
 *  - Time, randomness, and the validity of lease and link come in with the event. Nothing here reads a clock.
 */
#ifndef RDL_CORE_H
#define RDL_CORE_H

#include "limits.h"
#include "msg.h"
#include "plat.h"
#include "word.h"

enum rdl_kind {
	RDL_KIND_DEFAULT,
	RDL_KIND_SPIN,
	RDL_NR_KINDS,
};

enum rdl_mode {
	RDL_MODE_NL,
	RDL_MODE_S,
	RDL_MODE_X,
};

/*
 * States of a node's side of a lock. X(NAME, meaning) feeds the names for tracepoints and dumps and the diagram in
 * Documentation/protocol.rst.
 */
#define RDL_STATES(X) \
	X(NONE,  "no claim to the lock") \
	X(DRAW,  "CAS in flight to take it") \
	X(TRY,   "CAS in flight for a try") \
	X(WAIT,  "taken by another node or unreachable; next attempt by timer, link or rebuild") \
	X(HELD,  "this node owns the word; a local user has it, or the grant waits for a valid lease") \
	X(POP,   "FAA in flight to give it back") \
	X(OWED,  "must be given back, but the link is down") \
	X(AMBIG, "outcome of an operation not known; the home recovers the lock") \
	X(LOST,  "no session with the home; nothing is held")

enum rdl_state {
#define RDL_STATE_ENUM(name, meaning) RDL_ST_##name,
	RDL_STATES(RDL_STATE_ENUM)
#undef RDL_STATE_ENUM
	RDL_NR_STATES,
};

#define RDL_EVENTS(X) \
	X(ACQ,     "a local waiter was queued at the tail (try: only if it can be had at once)") \
	X(REL,     "the local user gave it up") \
	X(CANCEL,  "a queued waiter left") \
	X(OP,      "the outstanding operation ended") \
	X(TIMER,   "the wait that was asked for is over") \
	X(FREEZE,  "the home recovers the lock: claim") \
	X(REBUILT, "the home has rebuilt it") \
	X(LINK_UP, "the session with the home stands again (same incarnation), address and key are new") \
	X(LEASE,   "the lease was renewed") \
	X(LOSE,    "the lease ran out or the home evicted this node") \
	X(REJOIN,  "a new session of a new incarnation stands; the lock was opened in it")

enum rdl_event_type {
#define RDL_EVENT_ENUM(name, meaning) RDL_EV_##name,
	RDL_EVENTS(RDL_EVENT_ENUM)
#undef RDL_EVENT_ENUM
	RDL_NR_EVENTS,
};

/* While the home recovers the lock. */
enum rdl_frz {
	RDL_FRZ_RUN,		/* no recovery */
	RDL_FRZ_FREEZING,	/* FREEZE seen, an operation is still in flight; nothing new is posted */
	RDL_FRZ_CLAIMED,	/* claimed; nothing is posted or sent until REBUILT */
};

/* A dead owner's notice under this node grant. */
enum rdl_attention {
	RDL_ATT_NONE,
	RDL_ATT_UNTOLD,		/* the next local user is to be told */
	RDL_ATT_TOLD,		/* told; CONSISTENT was sent, the home has not rebuilt the word without A yet */
};

enum rdl_outcome {
	RDL_OK,
	RDL_FAILED,
	RDL_AMBIGUOUS,
};

/**
 * struct rdl_lock - a node's side of one lock
 *
 * Protected by its owner's lock (struct rdlock_agent.lock in the module).
 */
struct rdl_lock {
	u8 kind;		/* enum rdl_kind, fixed */
	u8 st;			/* enum rdl_state */
	u8 frz;			/* enum rdl_frz */
	u8 io;			/* 0, or RDL_ACT_POST_* in flight */
	u8 users;		/* local users that hold the grant */
	u8 relf;		/* released while CLAIMED: give it back after REBUILT */
	u8 is_void;		/* the last operation met F: wait for REBUILT */
	u8 k;			/* back-off exponent */
	u8 retried;		/* the immediate retry after a stale guess was used */
	u8 rolled;		/* ROLL_REQ was sent in this epoch */
	u8 attention;		/* enum rdl_attention: A was set when the word was taken */
	u8 stale_io;		/* the operation in flight belongs to a lost session: ignore its end */
	u8 landing;		/* AMBIG: the operation may still land, no new link has replaced its own */
	u8 armed;		/* a TIMER was asked for and has not come */
	u16 node;		/* own id, fixed for a session */
	u16 loc;		/* local sequence under this node grant */
	u16 budget;		/* local hand-overs allowed per node grant; 0: none */
	u16 handovers;		/* done under this one */
	u32 nq;			/* local waiters queued */
	u32 epoch;		/* E */
	u32 ticket;		/* of the node grant */
	u64 guess;		/* last value seen of the word */
	u64 token;		/* of the current user's grant, 0: none; survives a rebuild */
};

/* vflags of claims and rebuilds, Documentation/protocol.rst. */
#define RDL_VF_VALUE_INVALID	0x1
#define RDL_VF_OWNER_DIED	0x2
#define RDL_VF_NOTRECOVERABLE	0x4
#define RDL_VF_MAYBE_DIED	0x8
#define RDL_VF_ALL		0xf

/* Flags of every event. */
#define RDL_F_LEASE	0x1	/* the lease is valid and leaves the margin: grants may be delivered */
#define RDL_F_LINK	0x2	/* the session stands, the key of the word belongs to it: posts are possible */

struct rdl_event {
	u8 type;		/* enum rdl_event_type */
	u8 flags;		/* RDL_F_* */
	u8 try;			/* ACQ: do not wait. CANCEL: the one that left was the head of state TRY */
	u8 outcome;		/* OP: enum rdl_outcome */
	u32 rnd;		/* fresh random bits */
	u32 epoch;		/* FREEZE, REBUILT, LINK_UP, REJOIN: E */
	u64 old;		/* OP: the word before the operation */
	struct rdl_rebuilt {	/* REBUILT */
		u8 what;	/* enum rdl_claim_what, the claim echoed */
		u8 mode;
		u8 granted;
		u32 ticket;
		u32 pred;
		u32 vflags;
	} rebuilt;
};

enum rdl_action_type {
	RDL_ACT_POST_CAS = 1,	/* cmp, val */
	RDL_ACT_POST_FAA,	/* val: addend, two's complement */
	RDL_ACT_DELIVER,	/* the head waiter has the lock: val = token, arg = RDL_GRANT_* */
	RDL_ACT_FAIL_HEAD,	/* the head waiter fails: arg = positive errno */
	RDL_ACT_FAIL_TAIL,	/* the waiter just queued fails: arg = positive errno */
	RDL_ACT_TIMER,		/* val: nanoseconds from now; 0 stops it */
	RDL_ACT_CLAIM,		/* send @claim, epoch = the one that ends */
	RDL_ACT_ROLL,		/* send ROLL_REQ */
	RDL_ACT_CONSISTENT,	/* send CONSISTENT */
	RDL_ACT_LOST,		/* the user's grant is gone: its handle says -EKEYREVOKED from now on */
	RDL_NR_ACTIONS,
};

#define RDL_GRANT_OWNER_DIED	0x1	/* the previous owner's node died holding the lock */
#define RDL_GRANT_LOCAL		0x2	/* handed over within the node, no network operation */

struct rdl_claim {
	u8 what;		/* enum rdl_claim_what */
	u8 mode;
	u32 ticket;
	u32 nx;
	u32 handed_epoch;
	u32 handed_ticket;
	u64 ver;
	u32 vflags;
};

struct rdl_action {
	u8 type;		/* enum rdl_action_type */
	u32 arg;
	u32 epoch;
	u64 cmp;
	u64 val;
	struct rdl_claim claim;
};

struct rdl_acts {
	unsigned int n;
	struct rdl_action a[RDL_MAX_ACTIONS];
};

/* ---- a node's side ---- */

void rdl_lock_init(struct rdl_lock *l, u8 kind, u16 node, u32 epoch, u16 budget);
/**
 * rdl_step - one event
 * Return: 0, or -EPROTO for an event that cannot come in this state (a bug or a liar: nothing changed, no action).
 * Context: any; bounded; calls nothing.
 */
int rdl_step(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
/* After a broken link: must the re-OPEN ask for a recovery? */
bool rdl_ambiguous(const struct rdl_lock *l);
/* Has the lock, so that a planned leave must wait or the lease matters. */
bool rdl_owns(const struct rdl_lock *l);
/* Nothing held, wanted or in flight: may be closed. */
bool rdl_idle(const struct rdl_lock *l);
const char *rdl_state_name(unsigned int st);
const char *rdl_event_name(unsigned int ev);
const char *rdl_kind_name(unsigned int kind);
/* 0 or the first broken invariant as text; debug builds and the simulator call it after each step. */
const char *rdl_check(const struct rdl_lock *l);

/* Payload and header fields of CLAIM and REBUILT; the reader wants a message that rdl_msg_check() passed. */
void rdl_msg_put_claim(struct rdl_msg *msg, const struct rdl_claim *c);
void rdl_msg_get_claim(const struct rdl_msg *msg, struct rdl_claim *c);
void rdl_msg_put_rebuilt(struct rdl_msg *msg, const struct rdl_rebuilt *r);
void rdl_msg_get_rebuilt(const struct rdl_msg *msg, struct rdl_rebuilt *r);

/* ---- the home's side: recover.c, Documentation/protocol.rst ---- */

/**
 * struct rdl_recover - one recovery of one lock at its home
 *
 * The shell allocates it, freezes the word (a loopback CAS loop w -> w|F), sends FREEZE to every live opener, feeds
 * claims and departures, and when rdl_recover_ready() writes rdl_recover_word() by a loopback CAS loop, then sends each
 * claimer its rdl_recover_reply().
 */
struct rdl_recover {
	u8 kind;
	u8 opener_died;		/* a node that had the lock open was evicted */
	u8 clear_attention;	/* this recovery was asked for by CONSISTENT */
	u32 epoch;		/* that ends */
	u32 epoch_new;
	u64 frozen;		/* the word as it was frozen */
	u64 word;		/* the new word */
	u64 expect[RDL_MAX_NODES / 64];	/* openers whose claim has not come */
	u64 claimed[RDL_MAX_NODES / 64];
	u16 n;			/* tickets given out */
	struct rdl_claim claim[RDL_MAX_NODES];
	struct rdl_rebuilt reply[RDL_MAX_NODES];
};

/*
 * @openers: live openers that will claim; @died: at least one opener was evicted; @epoch_new: E + 1, or the home's next
 * gen.
 */
void rdl_recover_start(struct rdl_recover *r, u8 kind, u32 epoch, u32 epoch_new, u64 frozen, const u64 *openers,
		       bool died, bool clear_attention);
/*
 * 0; -EBADMSG: not asked, asked twice with another content, wrong epoch, or a claim that contradicts another (two X
 * holders).
 */
int rdl_recover_claim(struct rdl_recover *r, u16 node, u32 epoch, const struct rdl_claim *c);
/* An opener will not claim any more: closed it (@died false) or was evicted. */
void rdl_recover_gone(struct rdl_recover *r, u16 node, bool died);
bool rdl_recover_ready(const struct rdl_recover *r);
/* Decide: fills word and reply[]. Call once, when ready. */
void rdl_recover_finish(struct rdl_recover *r);

#endif /* RDL_CORE_H */
