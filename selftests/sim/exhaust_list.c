// SPDX-License-Identifier: GPL-2.0
/*
 * Exhaustive mode: which worlds are searched. Each fault by itself at three nodes with two requests each, pairs of
 * faults in worlds that are smaller; node 0 is always the home, with users of its own. The slow ones take some minutes
 * and some hundred megabytes.
 */
#include "exhaust.h"

#define FAST(text)	{ text, false }
#define SLOW(text)	{ text, true }

const struct xlisted x_worlds[] = {
	FAST("kind=spin nodes=3 ops=2"),
	FAST("kind=spin nodes=3 ops=2 try=1"),
	FAST("kind=spin nodes=3 ops=2 refuse=1"),
	FAST("kind=spin nodes=3 ops=2 cancel=1"),
	FAST("kind=spin nodes=3 ops=2 low=1"),
	FAST("kind=spin nodes=3 ops=2 crash=1"),
	FAST("kind=spin nodes=3 ops=2 leave=1"),
	SLOW("kind=spin nodes=3 ops=2 restart=1"),
	SLOW("kind=spin nodes=3 ops=2 break=1"),
	SLOW("kind=spin nodes=3 ops=2 operr=1"),
	SLOW("kind=spin nodes=3 ops=2 recover=1"),
	SLOW("kind=spin nodes=3 ops=2 soft=1 hard=3"),
	FAST("kind=spin nodes=3 ops=1 break=1"),
	FAST("kind=spin nodes=3 ops=1 operr=1"),
	FAST("kind=spin nodes=3 ops=1 recover=1 lose=1"),
	FAST("kind=spin nodes=3 ops=1 recover=1 dup=1"),
	FAST("kind=spin nodes=3 ops=1 soft=1 hard=2"),
	FAST("kind=spin nodes=3 ops=1 expire=1"),
	FAST("kind=spin nodes=3 ops=1 restart=1"),
	FAST("kind=spin nodes=4 ops=1"),
	/* Local users: hand-over within the node, a budget that ends, waiters that leave from the middle. */
	FAST("kind=spin nodes=2 ops=3 threads=3 hand=1 try=1"),
	FAST("kind=spin nodes=2 ops=3 threads=2 hand=1 cancel=1 recover=1"),
	FAST("kind=spin nodes=2 ops=2 threads=2 hand=1 low=1 break=1"),
	FAST("kind=spin nodes=2 ops=2 threads=2 hand=1 cancel=2 expire=1"),
	/* Pairs. */
	FAST("kind=spin nodes=2 ops=2 crash=1 reboot=1 break=1"),
	FAST("kind=spin nodes=2 ops=2 crash=1 recover=1"),
	FAST("kind=spin nodes=2 ops=2 crash=1 operr=1"),
	FAST("kind=spin nodes=2 ops=2 crash=1 soft=1 hard=2"),
	FAST("kind=spin nodes=2 ops=2 crash=2 reboot=1 recover=1"),
	FAST("kind=spin nodes=2 ops=2 break=2"),
	FAST("kind=spin nodes=2 ops=2 break=1 operr=1"),
	FAST("kind=spin nodes=2 ops=2 break=1 recover=1"),
	FAST("kind=spin nodes=2 ops=2 break=1 soft=1 hard=2"),
	FAST("kind=spin nodes=2 ops=2 break=1 try=1 cancel=1"),
	FAST("kind=spin nodes=2 ops=2 operr=1 recover=1"),
	FAST("kind=spin nodes=2 ops=2 expire=1"),
	FAST("kind=spin nodes=2 ops=1 expire=1 recover=1"),
	FAST("kind=spin nodes=2 ops=1 expire=1 break=1"),
	FAST("kind=spin nodes=2 ops=2 leave=1 reboot=1"),
	FAST("kind=spin nodes=2 ops=1 restart=1 break=1"),
	FAST("kind=spin nodes=2 ops=1 restart=1 recover=1"),
	FAST("kind=spin nodes=2 ops=1 restart=1 expire=1"),
	FAST("kind=spin nodes=3 ops=1 crash=2 recover=1"),
	SLOW("kind=spin nodes=3 ops=1 crash=1 break=1"),
	SLOW("kind=spin nodes=3 ops=1 crash=1 reboot=1 operr=1"),
	SLOW("kind=spin nodes=3 ops=1 expire=1 recover=1"),
	SLOW("kind=spin nodes=4 ops=1 crash=1"),
	{ },
};

const struct xlisted x_mutant_worlds[] = {
	FAST("kind=spin nodes=2 ops=2"),
	FAST("kind=spin nodes=2 ops=1 crash=1"),
	FAST("kind=spin nodes=2 ops=2 recover=1"),
	FAST("kind=spin nodes=2 ops=2 soft=1 hard=3"),
	FAST("kind=spin nodes=2 ops=2 operr=1"),
	FAST("kind=spin nodes=2 ops=2 cancel=1"),
	FAST("kind=spin nodes=2 ops=1 threads=2 low=1"),
	FAST("kind=spin nodes=2 ops=1 expire=1"),
	FAST("kind=spin nodes=2 ops=1 crash=1 recover=1"),
	FAST("kind=spin nodes=2 ops=1 recover=1 operr=1"),
	FAST("kind=spin nodes=2 ops=2 break=1"),
	{ },
};
