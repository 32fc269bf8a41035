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
 *  - At most one operation on the word (POST_CAS, POST_FAA) is outstanding; of the kinds with a queue also at most one
 *    POST_READ_* and one POST_WRITE_SLOT. Each is answered by exactly one OP event: done, certainly not done, or not
 *    known; the event's @op says which, 0 is the one on the word. A post that the fabric refuses at once is answered by
 *    an OP event with RDL_FAILED. All operations of one lock go through one queue pair: they take place, and end, in
 *    the order in which they were posted.
 *  - An operation that ends RDL_AMBIGUOUS has ended its link: that event and all later ones come without RDL_F_LINK
 *    until LINK_UP, and LINK_UP or REJOIN come only when every operation of the old link has ended. If rdl_ambiguous()
 *    is true after an OP event that was RDL_OK (a word that cannot be), the shell breaks the link, so that the re-OPEN
 *    asks for the recovery.
 *  - The home repeats FREEZE on a new session to every opener whose claim it has not got. A REBUILT may be repeated, or
 *    left out if LINK_UP brings the new epoch.
 *  - Each TIMER action replaces an earlier one that has not fired; a TIMER event that comes late is harmless.
 *  - Messages between nodes (GRANT, HINT, PROBE, ANSWER) may be late, out of order, repeated. One that is lost is found
 *    by QUERY: the home asks the openers for rdl_stat() and recovers the lock if nobody can give the waiter its turn.
 *  - A value block's bytes are the shell's. The core knows the version of its own copy (@ver, which goes into GRANT,
 *    CLAIM and the body) and says when a copy changes hands: RDL_ACT_TAKE.
 *  - The bytes of a big value (RDL_P_BIG) are in no message. They are at the home, whole, whenever the lock changes
 *    hands: POST_WRITE_VALUE is awaited before (state STORE), POST_READ_AREA after (FETCH). Both may take place in
 *    pieces; the end of the one event is that of all of them. POST_WRITE_VALUE counts as the operation on the word, but
 *    is repeated whatever became of it.
 *  - Of an event with local waiters the shell says who is at the head of the queue (@head, @run), as the queue is when
 *    the waiter of ACQ has been put into it, or the one of CANCEL taken out.
 *  - That an owner died comes with DELIVER, but counts as told only from when the shell says that a user knows it:
 *    REPORT with RDL_REPORT_CONSISTENT, of a lock that is not robust. Until then every user is told, of any node. One
 *    that comes too late is harmless.
 *  - A lock of a kind with a queue that was claimed when its link broke may miss its REBUILT: rdl_ambiguous() is true,
 *    so the re-OPEN makes the home recover it again; the second claim says of which epoch the ticket is.
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
	RDL_KIND_FAIR,
	RDL_KIND_TICKET,
	RDL_KIND_MCS,
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
	X(DRAW,  "operation in flight to take it, or to take a ticket") \
	X(TRY,   "operation in flight for a try") \
	X(WAIT,  "spin: taken by another node or unreachable, next attempt by timer, link or rebuild; " \
		 "others: has a ticket and waits for its turn") \
	X(HELD,  "this node owns the lock; a local user has it, or the grant waits for a valid lease") \
	X(POP,   "operation in flight to give it back") \
	X(OWED,  "must be given back, but nothing can be posted") \
	X(AMBIG, "outcome of an operation not known; the home recovers the lock") \
	X(LOST,  "no session with the home; nothing is held") \
	X(WANT,  "wanted here, no ticket yet: nothing can be posted now") \
	X(FETCH, "owned; the value is read before a user gets it") \
	X(CACHED, "owned exclusively and idle, until another node asks") \
	X(DUTY,  "given back; must find out whose turn it is, and say so") \
	X(DOWN,  "goes from exclusive to shared") \
	X(DDUTY, "shared; must find out which readers come next, and say so") \
	X(UPG,   "operation in flight to go from shared to exclusive") \
	X(DOUBT, "held shared; outcome of a conversion not known, the home recovers the lock") \
	X(PROBE, "a try has asked an idle owner to give it up") \
	X(WNEXT, "mcs: given back, waits to learn who comes next") \
	X(STORE, "owned; a big value goes to the home before the lock does anywhere")

enum rdl_state {
#define RDL_STATE_ENUM(name, meaning) RDL_ST_##name,
	RDL_STATES(RDL_STATE_ENUM)
#undef RDL_STATE_ENUM
	RDL_NR_STATES,
};

#define RDL_EVENTS(X) \
	X(ACQ,     "a local waiter was queued, a try at the tail (and only if it can be had at once)") \
	X(REL,     "the local user gave it up") \
	X(CANCEL,  "a queued waiter left") \
	X(OP,      "the outstanding operation ended") \
	X(TIMER,   "the wait that was asked for is over") \
	X(FREEZE,  "the home recovers the lock: claim") \
	X(REBUILT, "the home has rebuilt it") \
	X(LINK_UP, "the session with the home stands again (same incarnation), address and key are new") \
	X(LEASE,   "the lease was renewed") \
	X(LOSE,    "the lease ran out or the home evicted this node") \
	X(REJOIN,  "a new session of a new incarnation stands; the lock was opened in it") \
	X(GRANT,   "message of a node: it is this one's turn") \
	X(HINT,    "message of a node: it comes next") \
	X(PROBE,   "message of a node: it asks whether an idle owner gives the lock up") \
	X(ANSWER,  "message of a node: what became of the probe") \
	X(DOWN,    "the only local user goes from exclusive to shared; from now on it only reads") \
	X(UP,      "the only local user wants to go from shared to exclusive") \
	X(SHED,    "nothing that is idle shall be kept") \
	X(REPORT,  "of a robust lock: its owner, or who resets it, says what has become of it; " \
		   "of others: a user has been told that an owner died")

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
	RDL_ATT_UNTOLD,		/* every local user is to be told, until one has it */
	RDL_ATT_TOLD,		/* one has; CONSISTENT was sent, the home has not rebuilt the word without A yet */
};

enum rdl_outcome {
	RDL_OK,
	RDL_FAILED,
	RDL_AMBIGUOUS,
};

/* Properties of a lock, fixed by its first opener; every opener gets the same. */
#define RDL_P_STICKY	0x1	/* an idle exclusive grant is kept until another node asks */
#define RDL_P_VALUE	0x2	/* has a value block */
#define RDL_P_ROBUST	0x4	/* a dead owner is told of until an owner says that all is whole again */
#define RDL_P_BIG	0x8	/* and one of more than RDL_VALUE_MAX bytes: only with RDL_P_VALUE */
#define RDL_P_ALL	0xf

/* What is said of a robust lock, and goes to the home with the claim of the next recovery; see robust.c. */
enum rdl_report {
	RDL_REPORT_NONE,
	RDL_REPORT_CONSISTENT,	/* the exclusive owner: it is whole again; not robust: a user knows of a death */
	RDL_REPORT_FAILED,	/* the exclusive owner, which was told of a death, leaves without having said so */
	RDL_REPORT_DIED,	/* the exclusive owner went without a release */
	RDL_REPORT_RESET,	/* an administrator: what is not recoverable shall be usable again */
	RDL_NR_REPORTS,
};

/* What goes from node to node: GRANT, HINT, PROBE, ANSWER. The epoch is the event's or the action's. */
struct rdl_peer {
	u16 node;		/* who sent it; who shall get it */
	u8 mode;		/* of the ticket (GRANT), of the sender (HINT) */
	u8 debt;		/* GRANT: tickets before this one that were handed on without giving them back */
	u8 idle;		/* ANSWER: 1: given up, 0: busy */
	u32 ticket;		/* GRANT: receiver's; HINT: sender's; PROBE, ANSWER: owner's */
	u32 vflags;		/* GRANT */
	u64 ver;		/* GRANT */
};

/* FETCH: what is to be read. */
enum rdl_need {
	RDL_NEED_BODY,		/* version and flags, and the value unless it is the one that is here */
	RDL_NEED_BYTES,		/* big values: the rest was in a message */
};

#define RDL_STALE_READ	0x1
#define RDL_STALE_WRITE	0x2

/**
 * struct rdl_queue - what the kinds with a queue (fair, ticket, mcs) need beyond struct rdl_lock
 *
 * Protected as struct rdl_lock.
 */
struct rdl_queue {
	u8 props;		/* RDL_P_*, fixed */
	u8 mode;		/* enum rdl_mode, of the ticket or grant; RDL_MODE_NL: neither */
	u8 debt;		/* tickets before this one that were handed on, to be given back with it */
	u8 vflags;		/* RDL_VF_* as they came with the value */
	u8 dirty;		/* the copy of the value is newer than the body */
	u8 rd;			/* 0, or RDL_ACT_POST_READ_* in flight */
	u8 rd_old;		/* its answer comes too late for what it was posted for */
	u8 rd_due;		/* the state needs a READ */
	u8 slot;		/* 1: POST_WRITE_SLOT in flight */
	u8 slot_due;		/* the slot on the board is to be written */
	u8 stale;		/* RDL_STALE_*: belongs to a lost session */
	u8 paused;		/* something was refused: nothing is posted before the timer or a new link */
	u8 hint;		/* mode of the node that comes next, RDL_MODE_NL: not known */
	u8 step;		/* WAIT, DUTY, TRY, UPG, STORE: what the operation in flight is for, enum in the kind */
	u8 need;		/* FETCH: enum rdl_need */
	u8 gone;		/* TRY, PROBE: the waiter has left */
	u8 fresh;		/* nobody here has had this ticket yet, so its first token is not used */
	u8 had;			/* but somebody has had the grant, before a recovery gave it another ticket */
	u8 noted;		/* RDL_VF_* that a user knows of and are reported settled */
	u8 heard;		/* of another node that waits for this grant, though a recovery has forgotten @hint */
	u8 writer;		/* shared: a look at the word has seen that a writer waits */
	u16 hint_node;
	u16 extra;		/* shared: so many more may join than the budget, looks have seen no writer */
	u16 asker;		/* node + 1 that gets an ANSWER when the lock is given up, 0: none */
	u16 nx;			/* exclusive tickets to claim: they count in the frozen word */
	u16 count;		/* DUTY: exclusive tickets in the word */
	u16 tries;		/* READs without success, for back-off and watchdog; in HELD see rdl_fair_spent() */
	u32 from, to;		/* DUTY, DDUTY: tickets that are looked for, [from, to) */
	u32 ticket_epoch;	/* in which the ticket was taken or rebuilt; older than @epoch: a REBUILT was lost */
	u32 handed_epoch, handed_ticket;	/* last hand-over by message: evidence for a recovery */
	u32 seed;		/* of the slots' checksum: which lock it is, fixed */
	u64 ver;		/* version of the shell's copy of the value; 0: never written, or not whole */
	u32 grant_epoch;	/* of @grant, 0: none is parked */
	u32 hint_epoch;		/* of @next, 0: none is parked */
	struct rdl_peer grant;	/* GRANT of an epoch that has not begun here */
	struct rdl_peer next;	/* HINT of one */
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
	u8 io;			/* 0, or RDL_ACT_POST_CAS, _FAA, _WRITE_VALUE in flight */
	u8 relf;		/* released while CLAIMED: give it back after REBUILT */
	u8 is_void;		/* the last operation met F: wait for REBUILT */
	u8 k;			/* back-off exponent */
	u8 retried;		/* immediate retries after a stale guess */
	u8 rolled;		/* ROLL_REQ was sent in this epoch */
	u8 attention;		/* enum rdl_attention: A was set when the word was taken */
	u8 stale_io;		/* the operation in flight belongs to a lost session: ignore its end */
	u8 landing;		/* an operation may still land, no new link has replaced its own */
	u8 armed;		/* a TIMER was asked for and has not come */
	u8 robust;		/* fixed */
	u8 dead;		/* robust: RDL_VF_DEAD as the home said at the beginning of this epoch */
	u8 report;		/* robust: enum rdl_report, to be claimed in the next recovery */
	u8 said;		/* robust: the one in the claim; the home has taken it when the word is rebuilt */
	u16 node;		/* own id, fixed for a session */
	u16 loc;		/* local sequence under this node grant */
	u16 budget;		/* local hand-overs allowed per node grant; 0: none */
	u16 handovers;		/* done under this one */
	u32 nq;			/* local waiters queued */
	u32 users;		/* local users that hold the grant; readers join, and after a rebuild again */
	u32 epoch;		/* E */
	u32 ticket;		/* of the node grant */
	u64 guess;		/* last value seen of the word */
	u64 token;		/* of the current user's grant, 0: none; survives a rebuild */
	struct rdl_queue q;	/* not of kind spin */
};

/* vflags of claims and rebuilds, Documentation/protocol.rst. */
#define RDL_VF_VALUE_INVALID	0x1
#define RDL_VF_OWNER_DIED	0x2
#define RDL_VF_NOTRECOVERABLE	0x4
#define RDL_VF_MAYBE_DIED	0x8
#define RDL_VF_ALL		0xf
/* Those of a robust lock that the home keeps, and says at the beginning of each epoch. */
#define RDL_VF_DEAD		(RDL_VF_OWNER_DIED | RDL_VF_NOTRECOVERABLE)

/* Flags of every event. */
#define RDL_F_LEASE	0x1	/* the lease is valid and leaves the margin: grants may be delivered */
#define RDL_F_LINK	0x2	/* the session stands, the key of the word belongs to it: posts are possible */
#define RDL_F_SHED	0x4	/* nothing that is idle shall be kept: no opener is left, or memory is short */

struct rdl_event {
	u8 type;		/* enum rdl_event_type */
	u8 flags;		/* RDL_F_* */
	u8 try;			/* ACQ: do not wait. CANCEL: the one that left was the head of state TRY (or PROBE) */
	u8 outcome;		/* OP: enum rdl_outcome */
	u32 rnd;		/* fresh random bits */
	u32 epoch;		/* FREEZE, REBUILT, LINK_UP, REJOIN, messages of nodes: E */
	u64 old;		/* OP on the word, POST_READ_WORD: the word before the operation */
	struct rdl_rebuilt {	/* REBUILT */
		u8 what;	/* enum rdl_claim_what, the claim echoed */
		u8 mode;
		u8 granted;
		u32 ticket;
		u32 pred;	/* node id + 1 of the exclusive ticket before, if a HINT is to be sent to it; 0: none */
		u32 succ;	/* mcs: node id + 1 of the ticket behind, 0: none */
		u32 vflags;	/* LINK_UP, REJOIN: RDL_VF_DEAD */
		u64 ver;	/* of the value that came with it */
	} rebuilt;
	u8 report;		/* REL, REPORT: enum rdl_report */
	/* The rest only for kinds with a queue. */
	u8 op;			/* OP: RDL_ACT_POST_* that ended, 0: the one on the word */
	u8 mode;		/* ACQ: enum rdl_mode wanted; RDL_MODE_NL means X */
	u8 head;		/* mode the head waiter wants, RDL_MODE_NL: none, or X */
	u8 dirty;		/* REL, DOWN: the user changed the value */
	u16 run;		/* waiters in a row at the head that want S */
	u16 nslots;		/* OP, POST_READ_SLOTS */
	const __le64 *slots;	/* of the board, as read; index: node id */
	/* GRANT, HINT, PROBE, ANSWER; OP, POST_READ_VALUE and _AREA: ver (0: damaged, or never written) and vflags */
	struct rdl_peer peer;
};

enum rdl_action_type {
	RDL_ACT_POST_CAS = 1,	/* cmp, val */
	RDL_ACT_POST_FAA,	/* val: addend, two's complement; RDL_POST_VALUE in arg */
	RDL_ACT_DELIVER,	/* the head waiter has the lock: val = token, arg = RDL_GRANT_*; see @n, @mode */
	RDL_ACT_FAIL_HEAD,	/* the head waiter fails: arg = positive errno */
	RDL_ACT_FAIL_TAIL,	/* the one just queued, a try or without others, fails: arg = positive errno */
	RDL_ACT_TIMER,		/* val: nanoseconds from now; 0 stops it */
	RDL_ACT_CLAIM,		/* send @claim, epoch = the one that ends; the copy of the value goes along */
	RDL_ACT_ROLL,		/* send ROLL_REQ */
	RDL_ACT_CONSISTENT,	/* send CONSISTENT; arg = RDL_VF_* that are settled (spin: 0, all) */
	RDL_ACT_LOST,		/* the users' grants are gone: their handles say -EKEYREVOKED from now on */
	RDL_ACT_POST_READ_SLOTS,	/* of the whole board */
	RDL_ACT_POST_READ_VALUE,	/* of the body, without the board */
	RDL_ACT_POST_READ_WORD,	/* may tear against atomics: never more than advice */
	RDL_ACT_POST_WRITE_SLOT,	/* val: what the node's own slot shall be, host order */
	RDL_ACT_SEND_GRANT,	/* @peer; the copy of the value goes along */
	RDL_ACT_GRANT_RUN,	/* GRANT of mode S to each node in acts->run, with the ticket in its slot (@slots) */
	RDL_ACT_SEND_HINT,	/* @peer */
	RDL_ACT_SEND_PROBE,	/* @peer */
	RDL_ACT_SEND_ANSWER,	/* @peer */
	RDL_ACT_QUERY,		/* ask the home who has the lock: the wait is long */
	RDL_ACT_TAKE,		/* the value that came with the event, or (arg = 1) that was parked, is the copy now */
	RDL_ACT_PARK,		/* keep the value that came with the event for a TAKE to come; one per lock */
	RDL_ACT_CONVERTED,	/* DOWN or UP done: val = token, mode = the new one */
	RDL_ACT_CONVERT_FAILED,	/* nothing changed for the user: arg = positive errno; DOWN: a writer again */
	RDL_ACT_FAIL_ALL,	/* every waiter fails: arg = positive errno */
	RDL_ACT_POST_READ_AREA,	/* big values: the body, and the bytes into the copy, which is no version until then */
	RDL_ACT_POST_WRITE_VALUE,	/* big values: the copy's bytes, then the body with @peer.ver, @peer.vflags */
	RDL_NR_ACTIONS,
};

/* POST_FAA: on the same queue pair, before it, the copy of the value is written into the body, with @ver and vflags. */
#define RDL_POST_VALUE	0x1

#define RDL_GRANT_OWNER_DIED	0x1	/* the previous owner's node died holding the lock; robust: an owner died */
#define RDL_GRANT_LOCAL		0x2	/* handed over within the node, no network operation */
#define RDL_GRANT_VALUE_INVALID	0x4	/* the value may be older than the last owner left it */
#define RDL_GRANT_MAYBE_DIED	0x8	/* nobody can say whether a node that left held the lock */

struct rdl_claim {
	u8 what;		/* enum rdl_claim_what */
	u8 mode;
	u32 ticket;
	u32 ticket_epoch;	/* in which it was taken; 0: the one that ends */
	u32 nx;			/* exclusive tickets of the sender that count in the frozen word */
	u32 handed_epoch;
	u32 handed_ticket;
	u64 ver;
	u32 vflags;
	u8 report;		/* enum rdl_report */
};

struct rdl_action {
	u8 type;		/* enum rdl_action_type */
	u8 mode;		/* DELIVER: of the grant, RDL_MODE_NL means X; CONVERTED */
	u16 n;			/* DELIVER: so many waiters from the head, tokens counting up from val; 0 means 1 */
	u32 arg;
	u32 epoch;
	u64 cmp;		/* POST_FAA with RDL_POST_VALUE: ver */
	u64 val;
	union {
		struct rdl_claim claim;
		struct rdl_peer peer;
	};
};

/**
 * struct rdl_acts - what a step asks for
 * @n: actions in @a
 * @broken: the core found that it contradicts itself. Nothing that it says of this lock may be relied on: the shell
 *   does none of this, and ends the session as if the node had died. Stops the simulator.
 * @dropped: bit for each type of an action that was one too many
 * @a: in this order; the last only takes what is dropped
 * @run: GRANT_RUN
 */
struct rdl_acts {
	unsigned int n;
	bool broken;
	u32 dropped;
	struct rdl_action a[RDL_MAX_ACTIONS + 1];
	u64 run[RDL_MAX_NODES / 64];
};

/* The answer to the home's STAT. */
struct rdl_stat {
	u8 st;
	u8 mode;
	u32 ticket;
	u32 ticket_epoch;
};

/* ---- a node's side ---- */

void rdl_lock_init(struct rdl_lock *l, u8 kind, u16 node, u32 epoch, u16 budget);
/* After rdl_lock_init(): @props RDL_P_*, @seed of rdl_slot_seed(). */
void rdl_lock_props(struct rdl_lock *l, u8 props, u32 seed);
/**
 * rdl_step - one event
 * Return: 0, or -EPROTO for an event that cannot come in this state (a bug or a liar: nothing changed, no action).
 * Context: any; bounded; calls nothing.
 */
int rdl_step(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts);
/* After a broken link: must the re-OPEN ask for a recovery? */
bool rdl_ambiguous(const struct rdl_lock *l);
void rdl_stat(const struct rdl_lock *l, struct rdl_stat *stat);
/* The answers of all openers to a QUERY of @waiter: will nobody give it its turn, so that the home must recover? */
bool rdl_stat_stuck(const struct rdl_stat *waiter, const struct rdl_stat *all, u32 n);
/* Has the lock, so that a planned leave must wait or the lease matters. */
bool rdl_owns(const struct rdl_lock *l);
/*
 * An operation of this node is in flight that decides what a try in @mode would find: it gives the lock back, changes
 * its mode, or shows whether a reader gets it, or may join those that have it. An exclusive try is early only if a
 * shared one is.
 */
bool rdl_try_is_early(const struct rdl_lock *l, u8 mode);
/* Is there a report that the home has not taken yet? */
bool rdl_reports(const struct rdl_lock *l);
/* Nothing held, wanted or in flight: may be closed. */
bool rdl_idle(const struct rdl_lock *l);
const char *rdl_state_name(unsigned int st);
const char *rdl_event_name(unsigned int ev);
const char *rdl_kind_name(unsigned int kind);
/* 0 or the first broken invariant as text; debug builds and the simulator call it after each step. */
const char *rdl_check(const struct rdl_lock *l);

/*
 * Payload and header fields of CLAIM, REBUILT, STAT and the messages between nodes, but for the value's bytes, which
 * are the shell's; the reader wants a message that rdl_msg_check() passed.
 */
void rdl_msg_put_claim(struct rdl_msg *msg, const struct rdl_claim *c);
void rdl_msg_get_claim(const struct rdl_msg *msg, struct rdl_claim *c);
void rdl_msg_put_rebuilt(struct rdl_msg *msg, const struct rdl_rebuilt *r);
void rdl_msg_get_rebuilt(const struct rdl_msg *msg, struct rdl_rebuilt *r);
/* GRANT, HINT, PROBE, ANSWER of @from; @p->node is who shall get it. The reader learns who sent it and who is meant. */
void rdl_msg_put_peer(struct rdl_msg *msg, u16 from, const struct rdl_peer *p);
void rdl_msg_get_peer(const struct rdl_msg *msg, struct rdl_peer *p, u16 *to);
void rdl_msg_put_stat(struct rdl_msg *msg, const struct rdl_stat *stat);
void rdl_msg_get_stat(const struct rdl_msg *msg, struct rdl_stat *stat);

/* ---- the home's side: recover.c, Documentation/protocol.rst ---- */

/**
 * struct rdl_recover - one recovery of one lock at its home
 *
 * The shell allocates it, freezes the word (a loopback CAS loop w -> w|F), sends FREEZE to every live opener, feeds
 * claims and departures, and when rdl_recover_ready() calls rdl_recover_finish(), writes @word by a loopback CAS loop,
 * then sends each claimer its @reply. Before rdl_recover_finish() it fills in props and dead, for kinds with a queue
 * also seed, ver, vflags, body_bad, big and settled; of those it writes body and slots before the word.
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
	u8 props;		/* in: RDL_P_* */
	u8 dead;		/* in, out: robust: RDL_VF_DEAD */
	/* Kinds with a queue. */
	u8 settled;		/* RDL_VF_* that CONSISTENT named */
	u8 vflags;		/* in: of the body; out: of the new body */
	u8 body_bad;		/* in: its checksum is wrong */
	u8 big;			/* in: RDL_P_BIG: the bytes stay where they are, whoever claims what */
	u8 wipe;		/* out, big: they are nobody's any more, and to be zero; else damaged ones stay so */
	u16 value_from;		/* out: node id + 1 whose claim brought the newest value, 0: the body has it */
	u32 seed;		/* in: rdl_slot_seed() */
	u64 ver;		/* in: of the body; out: of the new body */
	u16 order[RDL_MAX_NODES];	/* node of each new ticket */
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
/* Decide: fills word and reply[]; kinds with a queue: value_from, ver, vflags. Call once, when ready. */
void rdl_recover_finish(struct rdl_recover *r);
/* Kinds with a queue, after rdl_recover_finish(): what @node's slot of the board must be, host order. */
u64 rdl_recover_slot(const struct rdl_recover *r, u16 node);

#endif /* RDL_CORE_H */
