/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every bound of the protocol, with the arithmetic behind it.
 */
#ifndef RDL_LIMITS_H
#define RDL_LIMITS_H

#define RDL_MAX_NODES	256	/* ids 0..255: the owner field of a spin word holds id + 1 in 9 bits */
#define RDL_KEY_MAX	64	/* bytes of a key or of a space's name */
#define RDL_VALUE_MAX	64	/* bytes of a value block that travels with its lock */
#define RDL_BIG_MAX	65536	/* and of one that stays at the home */
#define RDL_MAX_ACTIONS	8	/* actions of one step; the count is at rdl_act() */

/*
 * Tickets. A draw that returns SOFT or more asks the home for a roll-over; a ticket of HARD or more is never granted.
 * After HARD each node can add at most one ticket and one void draw: 2 * 256 = 512 < 1024, so the 26-bit field cannot
 * overflow.
 */
#ifndef RDL_TICKET_BITS
#define RDL_TICKET_BITS	26
#endif
#ifndef RDL_TICKET_SOFT
#define RDL_TICKET_SOFT	0x2000000u	/* 2^25 */
#endif
#ifndef RDL_TICKET_HARD
#define RDL_TICKET_HARD	((1u << RDL_TICKET_BITS) - 1024)
#endif

/* Local grants under one node grant: 10 bits of the token, 1023 is kept for a downgrade. */
#define RDL_LOC_MAX	1022
#define RDL_BUDGET	16	/* default number of local hand-overs before the node gives the lock up */

/* Epoch: generation of the shard's homes (16 bits, at least 1) and number of the lock's rebuilds in it (12 bits). */
#define RDL_REP_BITS	12
#define RDL_REP_MAX	((1u << RDL_REP_BITS) - 1)

/*
 * Spin back-off: the k-th wait lies in [w/2, w], w = min(BASE << k, CAP). The first retry after a stale guess comes at
 * once, so the ninth atomic of a wait comes no sooner than 0 + 16 + 32 + 64 + 128 + 256 + 256 + 256 = 1008 us after the
 * first: at most eight atomics in a wait of 1 ms, whatever the round trip.
 */
#define RDL_SPIN_BASE_NS	32000u
#define RDL_SPIN_CAP_NS		512000u

/*
 * Kinds with a queue. So many tickets are handed on before one node gives them all back: the word's count of exclusive
 * tickets is at most one a node and this debt, 256 + 64 < 512, so the 9-bit field cannot overflow. At least 1: kind mcs
 * says with each hand-over that one is owed.
 */
#ifndef RDL_DEBT_MAX
#define RDL_DEBT_MAX	64
#endif

/* Looking for a slot that is not there yet: the n-th READ comes BASE << min(n, KMAX) after the one before. */
#define RDL_SEEK_NS	5000u		/* of the node before, to 1.3 ms */
#define RDL_SEEK_KMAX	8
#define RDL_SEEKS_QUERY	1024		/* so many of them without success: ask the home, as below */
#define RDL_DUTY_NS	2000u		/* of who is granted next, to 128 us: its write is in flight */
#define RDL_DUTY_KMAX	6
#define RDL_TRIES_MAX	0xfff0

/*
 * A node that waits asks the home after 1 s, 2 s, 4 s, ... 64 s whether anybody still can give it its turn; but while
 * no writer waits for a writer's ticket every 4 s at most, for it may be in the way of readers.
 */
#define RDL_WATCH_NS	1000000000ull
#define RDL_WATCH_MAX	6
#define RDL_LAZY_MAX	2

/* Readers that share a grant whose tokens are used up may have left by themselves after so long. */
#define RDL_SPENT_NS	1000000000ull

/* Kind ticket: a waiter looks again after so long for each ticket before it; the estimate grows up to 1 ms. */
#define RDL_POLL_NS	1000u
#define RDL_POLL_KMAX	10
#define RDL_POLL_CAP_NS	1000000u

/* So often a reader's try is repeated at once when the word has changed, and is free. */
#define RDL_TRY_SWAPS	16

/* A try that has probed an idle owner gives up after 5 ms. */
#define RDL_PROBE_NS	5000000u

#endif /* RDL_LIMITS_H */
