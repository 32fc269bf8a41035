// SPDX-License-Identifier: GPL-2.0
/*
 * The board: one slot a node, in which it says what ticket it waits with (or, sticky, holds). A slot changes only after
 * its ticket is over, because a node has one request at a time: every slot that matters here is stable. What is torn or
 * old does not pass the check and counts as absent.
 */
#include "bust.h"
#include "queue.h"

/* The slot of @node if it was written in this epoch, else 0. The ticket is compared first, it costs less. */
static bool slot_in(const struct rdl_lock *l, const struct rdl_event *ev, u16 node, u32 from, u32 to, u64 *slot)
{
	u32 t;

	/* This node looks for others. Its own last slot may still be there. */
	if (node == l->node)
		return false;
	*slot = le64_to_cpu(ev->slots[node]);
	t = rdl_slot_ticket(*slot);
	if (t < from || t >= to)
		return false;
	if (rdl_bust(TORN_TAKEN))
		return ((*slot >> RDL_SLOT_EP_SHIFT) & RDL_W_EP_MASK) == rdl_ep18(l->epoch);
	return rdl_slot_valid(l->q.seed, node, l->epoch, *slot);
}

static u32 nodes(const struct rdl_event *ev)
{
	return ev->nslots < RDL_MAX_NODES ? ev->nslots : RDL_MAX_NODES;
}

int rdl_board_find(const struct rdl_lock *l, const struct rdl_event *ev, u32 ticket, bool *x)
{
	u16 node;
	u64 slot;

	for (node = 0; node < nodes(ev); node++) {
		if (slot_in(l, ev, node, ticket, ticket + 1, &slot)) {
			*x = rdl_slot_is_x(slot);
			return node;
		}
	}
	return -1;
}

/*
 * A run of shared tickets is known only when all of it is: granted one by one it could end, and the exclusive one
 * behind it take its turn and write a new slot, before its end was seen.
 */
void rdl_board_run(const struct rdl_lock *l, const struct rdl_event *ev, u32 from, u32 to, u64 *run,
		   struct rdl_found *found)
{
	u32 end = to;
	u16 node, x_node = 0;
	u64 slot;

	*found = (struct rdl_found){ .what = RDL_MODE_NL };
	memset(run, 0, RDL_MAX_NODES / 8);
	for (node = 0; node < nodes(ev); node++) {
		if (slot_in(l, ev, node, from, end, &slot) && rdl_slot_is_x(slot)) {
			end = rdl_slot_ticket(slot);
			x_node = node;
		}
	}
	if (end == from && from < to) {
		found->what = RDL_MODE_X;
		found->node = x_node;
		return;
	}
	for (node = 0; node < nodes(ev); node++) {
		if (slot_in(l, ev, node, from, end, &slot)) {
			run[node / 64] |= 1ull << (node % 64);
			found->n++;
		}
	}
	if (found->n == end - from || (rdl_bust(PIECEMEAL) && found->n))
		found->what = RDL_MODE_S;
}

u32 rdl_board_count_x(const struct rdl_lock *l, const struct rdl_event *ev, u32 from, u32 to)
{
	u32 n = 0;
	u16 node;
	u64 slot;

	for (node = 0; node < nodes(ev); node++)
		n += slot_in(l, ev, node, from, to, &slot) && rdl_slot_is_x(slot);
	return n;
}
