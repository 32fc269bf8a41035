/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The exhaustive mode: small worlds of the same core, every order of events, every fault that a world's budget has.
 *
 *	struct xworld	all there is at one moment, as plain bytes: two worlds of equal bytes have the same future
 *	struct xev	one thing that may happen in a world; x_events() lists them, x_apply() does one
 *	x_search()	breadth first through all that can be reached: the first violation has the shortest story
 *
 * Time is left out: a timer that was asked for may fire at any moment, a lease may end at any moment, but the home
 * evicts a node only after that. What the module's shell does is done here as kmod/agent.c, member.c, home.c and
 * recovery.c do it, down to the order of its steps; what they do in one piece under one lock is one event.
 */
#ifndef EXHAUST_H
#define EXHAUST_H

#include "core.h"
#include "bust.h"

#define XN		4	/* nodes */
#define XQ		6	/* messages of one direction of a link */
#define XT		3	/* local users of a node that wait */
#define XO		4	/* operations of a node */
#define XP		12	/* messages between nodes */
#define X_MAX_EVENTS	128
#define X_WHY		160

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* What a world may suffer, each as often as its budget says: X(NAME, name in a world's description, meaning). */
#define X_FAULTS(X) \
	X(CRASH,   "crash",   "a node dies; its operation may land and its messages may arrive until it is evicted") \
	X(REBOOT,  "reboot",  "a node that was evicted comes back") \
	X(BREAK,   "break",   "a link breaks; an operation in flight did land, did not, or does so later") \
	X(OPERR,   "operr",   "an operation ends with an unknown outcome while the link still carries messages") \
	X(REFUSE,  "refuse",  "an operation certainly does not happen") \
	X(EXPIRE,  "expire",  "the lease of a node that lives ends") \
	X(LOW,     "low",     "the lease runs low and is renewed later") \
	X(CANCEL,  "cancel",  "a waiter leaves") \
	X(LEAVE,   "leave",   "a node says BYE, whatever it holds") \
	X(LOSE,    "lose",    "a FREEZE or a CLAIM is lost on a link that goes on") \
	X(DUP,     "dup",     "a FREEZE, a REBUILT, or a message between nodes comes twice") \
	X(DROP,    "drop",    "a message between nodes is lost") \
	X(CONVERT, "convert", "a user goes from exclusive to shared or the other way") \
	X(RECOVER, "recover", "the home recovers the lock for no reason") \
	X(RESTART, "restart", "the home starts anew: another instance of the space") \
	X(DIE,     "die",     "a writer of a robust lock goes without a release") \
	X(GIVE_UP, "giveup",  "one that was told of a death releases it as it is") \
	X(RESET,   "reset",   "a robust lock that is not recoverable is reset") \
	X(UNSEEN,  "unseen",  "a user leaves without a look at a grant that tells of a death; else it looks at once")

enum xfault {
#define X_FAULT_ENUM(name, text, meaning) XF_##name,
	X_FAULTS(X_FAULT_ENUM)
#undef X_FAULT_ENUM
	X_NR_FAULTS,
};

/* X(NAME, name in a replay): what happens without anybody's fault. */
#define X_STEPS(X) \
	X(ACQ,     "acq")	/* a user wants the lock */ \
	X(TRY,     "try")	/* a user tries */ \
	X(REL,     "rel")	/* the user gives it up */ \
	X(SAY,     "say")	/* it says that the robust lock is whole */ \
	X(LOOK,    "look")	/* it looks at a grant that tells of a death: with UNSEEN a step of its own */ \
	X(TIMER,   "timer")	/* the wait that was asked for is over */ \
	X(LAND,    "land")	/* the operation arrives at the home's memory */ \
	X(DONE,    "done")	/* its completion arrives: arg is the outcome */ \
	X(HOME,    "home")	/* the home handles the oldest message of the node */ \
	X(NODE,    "node")	/* the node handles the oldest message of the home */ \
	X(OPENED,  "opened")	/* the node's work handles the answer to its OPEN */ \
	X(DOWN,    "down")	/* the node notices that its link is broken */ \
	X(CONNECT, "connect")	/* the node is back; the home has destroyed the old queue pair */ \
	X(FORGET,  "forget")	/* the node acts on the end of its lease */ \
	X(RENEW,   "renew")	/* the lease that ran low is renewed */ \
	X(EVICT,   "evict")	/* the home gives the node up */ \
	X(PEER,    "peer")	/* a message of another node arrives: arg is its place */ \
	X(VANISH,  "vanish")	/* it does not, because its sender is gone */ \
	X(QPDEAD,  "qpdead")	/* mutant FREEZE_BEFORE_QP: only now is the evicted node's queue pair destroyed */ \
	X(REMIND,  "remind")	/* the home asks again for a claim */

enum xstep {
	X_STEP_0 = X_NR_FAULTS,
	X_STEP_BEFORE = X_STEP_0 - 1,
#define X_STEP_ENUM(name, text) XS_##name,
	X_STEPS(X_STEP_ENUM)
#undef X_STEP_ENUM
	X_NR_EVENTS,
};

struct xev {
	u8 type;	/* enum xfault or enum xstep */
	u8 node;
	u8 arg;
	u8 zero;
};

struct xmsg {
	u8 type;	/* enum rdl_msg_type, or X_MSG_QUERY */
	u8 what;	/* claim, rebuilt; OPEN: RDL_OPEN_* */
	u8 mode;
	u8 granted;
	u32 epoch;
	u32 ticket;
	u32 vflags;
	u32 ticket_epoch;
	u32 nx;
	u32 handed_epoch, handed_ticket;
	u16 pred, succ;
	u32 report;
	u64 ver;
};

#define X_MSG_QUERY	0xff
#define X_TORN		(~0ull)

/* Between nodes; in no order. */
struct xpeer {
	u8 type;	/* RDL_EV_GRANT, _HINT, _PROBE, _ANSWER */
	u8 src, dst;
	u8 mode, debt, idle;
	u32 epoch, ticket, vflags;
	u64 ver;
};

enum xop_state {
	XOP_NONE,
	XOP_POSTED,	/* may land */
	XOP_HALF,	/* the value has landed, the FAA behind it has not; half of the word is read; of a big value */
	XOP_LANDED,	/* completion to come */
	XOP_DROPPED,	/* never lands, completion to come */
	XOP_LATE,	/* completed as ambiguous, may still land */
	XOP_LATE_HALF,
};

/*
 * A node's operations in the order of their queue pair, in which they land and end. Slots of the board are kept without
 * their check, which depends on the node's number, and with bit 0 set: 0 is an empty slot.
 */
struct xop {
	u8 st;		/* enum xop_state */
	u8 type;	/* RDL_ACT_POST_* */
	u8 broken;	/* 1: the link broke under it; 2: and one before it ended as ambiguous */
	u8 arg;		/* RDL_POST_VALUE */
	u32 vflags;
	u64 cmp, val, old, ver;
	u64 slots[XN];
};

enum xlife {
	X_ALIVE,
	X_DEAD,		/* crashed, the home does not know */
	X_LEAVING,	/* said BYE */
	X_GONE,		/* evicted */
};

enum xlink {
	X_UP,
	X_DYING,	/* an operation failed, messages still pass */
	X_DOWN,
};

enum xlease {
	X_LEASE_OK,
	X_LEASE_LOW,
	X_LEASE_OVER,
};

/**
 * struct xnode - one node, and what the home knows of it
 * @up, @down: messages to the home and from it, in order
 * @lease: as the clock says; the node acts on its end later (@lost)
 * @lost: no session; a new incarnation waits until the home has evicted the old one
 * @registered: the home's answer to OPEN was handled in this incarnation
 * @linked: and on this link: posts are possible
 * @answer: an OPENED came that the work has not handled, @answer_epoch what it says
 * @want_lease: something was held back for the lease, so its renewal will be told
 * @fifo: bit i: waiter i is a try; @fifo_s: it wants to share
 * @holder: users that have the lock, in @user_mode; @converting: one asked for the other mode
 * @copy, @parked: versions of the value
 * @ops: requests that its users still have
 * @evicted: the home gave it up while its user, who has not been told, held the lock
 * @unknown: an operation's outcome is not known and no rebuild came since
 * @instance: of the space that it joined
 * @hindered: a try is under way, and there is a reason why it may fail
 */
struct xnode {
	struct rdl_lock core;
	struct xop op[XO];
	u64 copy, parked;
	struct xmsg up[XQ], down[XQ];
	u32 answer_epoch;
	u8 n_up, n_down;
	u8 life;
	u8 link;
	u8 lease;
	u8 lost;
	u8 registered;
	u8 linked;
	u8 answer;
	u8 want_lease;
	u8 n_fifo, fifo, fifo_s;
	u8 holder, user_mode;
	u8 converting;
	u8 ops;
	u8 session;	/* home: 0, 1, or 2: said BYE */
	u8 evicted;
	u8 unknown;
	u8 instance;
	u8 local_run;	/* local grants in a row */
	u8 joined;	/* readers that came in though a writer has its ticket */
	u8 hindered;
	u8 told;	/* its users' grant tells of a death; robust, 2: and one has said that it is whole */
	u8 answer_dead;	/* with @answer_epoch */
};

/* A recovery, as what was fed to the real struct rdl_recover, which is 16 KiB long: x_rec() builds that from this. */
struct xrec {
	u64 frozen;
	u32 epoch, epoch_new;
	u8 openers;	/* at its start */
	u8 claimed;	/* also those that are gone since */
	u8 gone, gone_died;
	u8 died, clear, settled;
	struct xmsg claim[XN];
};

struct xworld {
	u64 word;
	u64 last_token, last_x;	/* greatest one given, greatest exclusive one */
	u64 ver, newest;	/* of the value in the body; of the value that was last written */
	u64 bytes, sum;		/* of a big value: of which version they are (or X_TORN), and for which the sum is */
	u64 slot[XN];		/* as in struct xop */
	struct xpeer peer[XP];
	u32 vflags;
	u8 n_peer;
	u8 lossy;		/* a message may have been lost: somebody may need the watchdog */
	u32 epoch;
	u8 openers;
	u8 delayed, delayed_old;	/* OPENs that wait for a recovery; on a link that is gone */
	u8 recovering;
	u8 again, again_died;
	u8 death_untold;	/* a user was cut off, no other knows it */
	u8 instance;
	u8 failed;
	/* Robust locks, as in struct home_lock of sim.h. */
	u8 dead;
	u8 must, may;
	u8 reset;
	u8 gave_up, whole_by;
	u8 budget[X_NR_FAULTS];
	struct xrec rec;
	struct xnode node[XN];	/* last: a world has as many as its configuration says */
};

/* Fixed for one search. */
struct xconfig {
	char text[200];
	int kind;
	int nodes, ops, threads, try;
	int shared;		/* requests may be for mode S */
	int stay;		/* node 0 wants X, the others S, and readers stay: nobody may wait for one to leave */
	u8 props;		/* RDL_P_* */
	int hand;		/* local hand-overs: the core's budget */
	u32 soft, hard;
	u8 budget[X_NR_FAULTS];
	size_t limit;
};

extern struct xconfig x_cfg;
extern char x_why[X_WHY];	/* of the last violation */
extern int x_trace;
extern int sim_bust;
extern u32 sim_ticket_soft, sim_ticket_hard, sim_debt_max;

/* exhaust_home.c */
void x_home_rx(struct xworld *w, int n);
void x_home_evict(struct xworld *w, int n);
void x_home_recover(struct xworld *w, bool died, bool clear);
void x_home_remind(struct xworld *w, int n);
bool x_home_expects(const struct xworld *w, int n);
void x_home_restart(struct xworld *w);

/* exhaust_node.c */
void x_feed(struct xworld *w, int n, struct rdl_event *ev);
void x_node_rx(struct xworld *w, int n, const struct xmsg *m);
void x_node_peer(struct xworld *w, int at, bool again);
void x_node_acquire(struct xworld *w, int n, bool try, u8 mode);
void x_node_release(struct xworld *w, int n, bool dirty, u8 report);
void x_node_report(struct xworld *w, int n, u8 report);
void x_node_look(struct xworld *w, int n);
/* Not robust: is there a notice that no user has looked at? */
static inline bool x_unseen(const struct xnode *node)
{
	return !(x_cfg.props & RDL_P_ROBUST) && node->told;
}

void x_node_convert(struct xworld *w, int n, bool dirty);
void x_node_cancel(struct xworld *w, int n, int at);
void x_node_opened(struct xworld *w, int n);
void x_node_connect(struct xworld *w, int n);
void x_node_link_down(struct xworld *w, int n);
/* @all: also the waiters that have a deadline of their own */
void x_node_lose(struct xworld *w, int n, bool all);
void x_node_start(struct xworld *w, int n);
/* After each event: what has come in the way of tries. */
void x_node_tries(struct xworld *w);
void x_node_open(struct xworld *w, int n);
static inline bool x_is_local(int n)
{
	/* The home's own agent: messages are function calls, the lease never ends, the link is the loopback pair. */
	return n == 0;
}

/* exhaust_act.c */
void x_queue_up(struct xworld *w, int n, const struct xmsg *m);
void x_queue_down(struct xworld *w, int n, const struct xmsg *m);
void x_perform(struct xworld *w, int n, const struct rdl_acts *acts, const struct rdl_action *a,
	       const struct rdl_event *ev);
void x_user_cut_off(struct xworld *w, int n);
/* Has the home taken what node @n's user has said? */
void x_user_said(struct xworld *w, int n);
void x_drop_waiter(struct xnode *node, int at);
void x_exclusion(struct xworld *w);
void x_peer_remove(struct xworld *w, int at);
/* No message for it is under way any more. */
void x_peer_forget(struct xworld *w, int n);

/* exhaust_op.c */
void x_op_post(struct xworld *w, int n, const struct rdl_action *a);
int x_op_flying(const struct xnode *node);
int x_op_to_land(const struct xnode *node);
int x_op_to_end(const struct xnode *node);
int x_op_last(const struct xnode *node);
void x_op_land(struct xworld *w, int n);
void x_op_done(struct xworld *w, int n, u8 outcome);
void x_op_refuse(struct xworld *w, int n);
/* Its queue pair, or the memory, is gone: what has not landed never does. */
void x_op_unreach(struct xnode *node);
void x_op_late_gone(struct xnode *node);
void x_op_clear(struct xnode *node);
/* Without the check, and with it. */
u64 x_slot_strip(u64 slot);
u64 x_slot_full(int n, u64 slot);

/* exhaust_can.c */
int x_events(const struct xworld *w, struct xev *ev);
bool x_at_rest(const struct xworld *w);

/* exhaust_event.c */
void x_init(struct xworld *w);
void x_apply(struct xworld *w, const struct xev *ev);
const char *x_event_name(unsigned int type);
static inline size_t x_size(void)
{
	return offsetof(struct xworld, node) + x_cfg.nodes * sizeof(struct xnode);
}

/* exhaust_same.c */
u64 x_fingerprint(const struct xworld *w);

/* exhaust_search.c */
struct xresult {
	size_t states, edges, rests;
	u32 depth;
	bool limit;
	bool failed;
	char why[X_WHY];
	u32 *path;	/* events of the story, x_ev_pack(); to be freed */
	u32 path_n;
};

void x_search(struct xresult *r);

/* exhaust_story.c */
bool x_configure(const char *text);
void x_print_path(const struct xresult *r);
/* 0: no violation, 1: a violation, 2: the story is not one of this world. */
int x_replay(const char *path);

/* exhaust_counts.c */
enum xcost {
	XC_ATOMIC,
	XC_READ,
	XC_WRITE,
	XC_GRANT,
	XC_HINT,
	XC_PROBE,
	XC_ANSWER,
	XC_FREEZE,
	XC_CLAIM,
	XC_REBUILT,
	XC_HOME,	/* the home changes the word */
	X_NR_COSTS,
};

extern u32 x_did[X_NR_COSTS];
int x_counts_n(void);
/* The row's story costs what the row says? */
bool x_counts_run(int i, char *note, size_t size);

/* exhaust_list.c */
struct xlisted {
	const char *text;	/* NULL: end of the list */
	bool slow;		/* only with --all */
};

extern const struct xlisted x_worlds[], x_mutant_worlds[], x_queue_mutant_worlds[], x_robust_mutant_worlds[];

static inline u32 x_ev_pack(const struct xev *e)
{
	return e->type | e->node << 8 | e->arg << 16;
}

static inline struct xev x_ev_unpack(u32 p)
{
	return (struct xev){ .type = p, .node = p >> 8, .arg = p >> 16 };
}

void x_fail(struct xworld *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void x_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif /* EXHAUST_H */
