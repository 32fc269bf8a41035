// SPDX-License-Identifier: GPL-2.0
/*
 * A recovery keeps the order of who waits: the checkers' own opinion, for the random worlds and the exhaustive search.
 */
#include "order.h"
#include "queue.h"

static bool waits(const struct rdl_recover *r, int node)
{
	return rdl_has_claimed(r, node) && r->claim[node].what == RDL_CLAIM_WAIT;
}

/* May @a, which claimed a later ticket than @b of the same epoch, not be behind it? */
static bool passes(const struct rdl_recover *r, int a, int b)
{
	const struct rdl_rebuilt *ra = &r->reply[a], *rb = &r->reply[b];

	if (ra->ticket <= rb->ticket)
		return true;
	/* Readers may be granted together, but nobody alone before those that have waited longer. */
	return ra->granted && !rb->granted;
}

bool order_kept(const struct rdl_recover *r, int nodes, int *early, int *late)
{
	int a, b;

	if (r->kind == RDL_KIND_SPIN)
		return true;
	for (a = 0; a < nodes; a++) {
		for (b = 0; b < nodes; b++) {
			if (a == b || !waits(r, a) || !waits(r, b))
				continue;
			/* One that missed a rebuild comes with the ticket of an older epoch. */
			if (r->claim[a].ticket_epoch != r->claim[b].ticket_epoch ||
			    r->claim[a].ticket <= r->claim[b].ticket || !passes(r, a, b))
				continue;
			*early = a;
			*late = b;
			return false;
		}
	}
	return true;
}
