/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Mutants: faults built in on purpose with -DRDL_BUST=n. The simulator must catch each of them; a
 * checker that lets one live checks nothing. Never set in a module that is used: Kbuild does not
 * know the name.
 */
#ifndef RDL_BUST_H
#define RDL_BUST_H

/* X(number, NAME, what is wrong) */
#define RDL_BUSTS(X) \
	X(1,  FROZEN_IGNORED,	"an operation that met F counts as done") \
	X(2,  NO_DRAIN,		"claims before the operation in flight has ended") \
	X(3,  HOLD_FORGOTTEN,	"a holder claims NONE") \
	X(4,  TICKET_KEPT,	"a CAS does not advance the ticket") \
	X(5,  BUDGET_IGNORED,	"local hand-overs without end") \
	X(6,  DEAD_OWNER_KEPT,	"the rebuilt word keeps a dead owner") \
	X(7,  AMBIG_RETRIED,	"an operation whose outcome is not known is taken as not done") \
	X(8,  LEASE_IGNORED,	"a grant is delivered without a valid lease") \
	X(9,  VOID_POP_AGAIN,	"a pop that met F is posted again after the rebuild") \
	X(10, CANCEL_KEEPS,	"a word taken for nobody is kept") \
	X(11, DEATH_UNTOLD,	"the rebuild does not set A for a dead owner") \
	X(12, HARD_IGNORED,	"tickets past the limit are taken") \
	X(13, NO_BACKOFF,	"a failed CAS is repeated at once") \
	X(14, REBUILT_NO_DRAW,	"waiters are not restarted after a rebuild") \
	X(15, GONE_CLAIM_KEPT,	"the claim of a node that was evicted meanwhile still counts") \
	X(16, LOST_KEEPS_USER,	"a lost lease is not told to the user") \
	X(17, FREEZE_BEFORE_QP,	"simulator's home: freezes before the dead node's QP is destroyed") \
	X(18, BUSY_TAKEN,	"a CAS that found an owner counts as taken") \
	X(19, REBUILT_FREE,	"the rebuild forgets the holder whose claim it took") \
	X(20, AMBIG_CLAIMED,	"an unknown outcome is claimed while the old QP may still act") \
	X(21, LEASE_LOW,	"what was not posted while the lease ran low is never posted") \
	X(49, NOTICE_EARLY,	"the notice of a dead owner counts as told before its user has it")

/* Faults of the kinds with a queue: worlds of those kinds must catch them. */
#define RDL_QUEUE_BUSTS(X) \
	X(22, DIRECT_TO_S,	"a writer hands on to a reader without giving back") \
	X(23, POP_NO_DEBT,	"tickets that were handed on are not given back") \
	X(24, GRANT_NO_DEBT,	"a grant does not pass the debt on") \
	X(25, OLD_EPOCH_TAKEN,	"messages of an epoch that is over are taken") \
	X(26, STICKY_NO_SLOT,	"a holder that keeps the lock idle is not on the board") \
	X(27, NO_REHINT,	"after a rebuild waiters do not say again where they wait") \
	X(28, DOWN_KEEPS_DEBT,	"a downgrade leaves the debt in the word") \
	X(29, DIRECT_NO_VALUE,	"a hand-over brings an old value") \
	X(30, TAKEN_AFTER_CLAIM, "a message is taken after the claim") \
	X(31, S_NO_REREAD,	"a reader that leaves looks at the board once only") \
	X(32, NOT_PARKED,	"messages of an epoch that has not begun are dropped") \
	X(33, S_ANY_X,		"a reader that leaves concludes from any writer that it was not the last") \
	X(34, CLAIM_NO_VALUE,	"a claim does not bring the value") \
	X(35, PIECEMEAL,	"readers of a run are granted one by one") \
	X(36, UPGRADE_PAST_HARD, "an upgrade takes a ticket past the limit") \
	X(37, AMBIG_NX,		"an operation of unknown outcome counts as a ticket that was taken") \
	X(38, POP_IF_DIRTY,	"a value that was handed on is not written back unless changed here") \
	X(39, STAT_ANY_HOLDER,	"a lost grant of a reader is not missed while another reader has the lock") \
	X(40, NEXT_DROPPED,	"mcs: who comes next is forgotten if it speaks before the own draw has ended") \
	X(41, NEXT_ANY,		"mcs: and then the last to speak is believed, not the one with the highest ticket") \
	X(42, NO_SUCCESSOR,	"mcs: a rebuild does not tell who comes next") \
	X(43, NO_CONFIRM,	"ticket: what a READ of the word showed is believed") \
	X(45, VALUE_NOT_READ,	"who finds the lock free does not read its value") \
	X(47, VERSION_AGAIN,	"a value that is changed after a failed downgrade has the version of the one before") \
	X(48, PROBE_DEAF,	"who keeps a lock for nothing does not give it up for a try") \
	X(70, GRANT_UNSTORED,	"big value: the lock is handed on before the value is at the home") \
	X(71, STORE_ONCE,	"big value: what may have been written counts as written") \
	X(72, OLD_COPY,		"big value: any copy that is here is taken for the newest") \
	X(73, CLAIM_UNSTORED,	"big value: a claim gives the lock up before the value is at the home") \
	X(74, REBUILT_STORED,	"big value: after a rebuild it counts as written") \
	X(75, DOWN_UNSTORED,	"big value: readers are let in before the value is at the home") \
	X(76, BIG_UNREAD,	"big value: who is given the lock by a message does not read it")

/*
 * Faults that only random worlds and unit tests show: the exhaustive search neither closes a lock, nor tears a slot,
 * nor ruins a lock twice.
 */
#define RDL_WORLD_BUSTS(X) \
	X(44, CLOSE_FORGETS,	"a lock is closed by the only node that knows its value") \
	X(46, TORN_TAKEN,	"a slot that was read while it was written is believed") \
	X(67, RESET_KEPT,	"robust: a reset that was asked for after the claim is claimed of the next epoch") \
	X(77, READERS_NO_LOOK,	"readers that have used up the budget let no other in, though no writer waits") \
	X(78, LOOK_IGNORED,	"readers go on joining though a writer waits") \
	X(79, BUDGET_RENEWED,	"each recovery gives the node that has the lock a new budget") \
	X(84, HINT_RENEWS,	"the budget begins anew when the next node is heard of") \
	X(86, SEEK_EAGER,	"who does not find a slot looks again and again") \
	X(87, GRANT_UNLINKED,	"the lock is handed on though there is no link") \
	X(88, INVALID_STAYS,	"a value is said to be lost after it was written anew") \
	X(85, REBUILT_REVERSED,	"a rebuild turns the order of who waits around") \
	X(80, LAZY_STAYS,	"a writer that gave up keeps readers out until other readers leave") \
	X(81, SPENT_STAYS,	"readers keep others out whose grant has no token left for them") \
	X(83, TRY_ONCE,		"a reader's try fails for readers that come and go") \
	X(82, LAZY_SILENT,	"a ticket whose writer gave up is not heard of again, should its HINT have been lost")

/* Faults of robust locks: worlds of those must catch them. */
#define RDL_ROBUST_BUSTS(X) \
	X(60, TOLD_ONCE,	"robust: a dead owner is told of to one user of a node only") \
	X(61, REPORT_LOST,	"robust: the claim does not bring what the owner said") \
	X(62, NOT_HELD_BACK,	"robust: the lock is given on before the home knows what its owner said") \
	X(63, RUIN_FORGOTTEN,	"robust: a rebuild makes a lock recoverable again") \
	X(64, REPORT_AGAIN,	"robust: a report that the home has taken is claimed again") \
	X(65, RUIN_GRANTED,	"robust: who waits for a lock that is not recoverable goes on waiting") \
	X(66, NOTICE_FORGOTTEN,	"robust: a rebuild forgets that an owner died")

enum rdl_bust {
#define RDL_BUST_ENUM(n, name, what) RDL_BUST_##name = n,
	RDL_BUSTS(RDL_BUST_ENUM)
	RDL_QUEUE_BUSTS(RDL_BUST_ENUM)
	RDL_WORLD_BUSTS(RDL_BUST_ENUM)
	RDL_ROBUST_BUSTS(RDL_BUST_ENUM)
#undef RDL_BUST_ENUM
};

/* A number, or in the simulator a variable: one binary then holds all mutants. */
#ifndef RDL_BUST
#define RDL_BUST 0
#endif

#define rdl_bust(name)	((int)(RDL_BUST) == RDL_BUST_##name)

#endif /* RDL_BUST_H */
