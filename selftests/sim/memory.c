// SPDX-License-Identifier: GPL-2.0
/*
 * The home's memory: what an operation does when a part of it arrives, and what may not be true of the word then.
 */
#include "sim.h"

/* ---- the word ---- */

static void judge_spin(struct world *w, const struct op *op, u64 old)
{
	if (op->type == RDL_ACT_POST_FAA) {
		if (!rdl_w_frozen(old) && rdl_w_mid(old) != op->node + 1u)
			violation(w, "lock %d: node %d gave back a word owned by %d", op->lock, op->node,
				  (int)rdl_w_mid(old) - 1);
		return;
	}
	if (old != op->cmp)
		return;
	if (rdl_w_frozen(old))
		violation(w, "lock %d: node %d took a frozen word", op->lock, op->node);
	if (rdl_w_ticket(op->val) > w->cfg.hard)
		violation(w, "lock %d: ticket %u past the limit", op->lock, rdl_w_ticket(op->val));
	if (rdl_w_mid(old))
		violation(w, "lock %d: node %d took an owned word", op->lock, op->node);
}

/* After the limit each node adds at most one ticket and one void one. Void operations garble a frozen word's counts. */
static void judge_counts(struct world *w, const struct op *op)
{
	struct home_lock *h = &w->home.lock[op->lock];
	u32 most = w->cfg.nodes + (h->kind == RDL_KIND_MCS ? 0 : sim_debt_max);

	if (rdl_w_ticket(h->word) > w->cfg.hard + 2 * w->cfg.nodes)
		violation(w, "lock %d: tickets run over", op->lock);
	if (rdl_w_frozen(h->word))
		return;
	if (rdl_w_mid(h->word) > most || rdl_w_low(h->word) > (u32)w->cfg.nodes)
		violation(w, "lock %d: counts out of range, word %016llx", op->lock, (unsigned long long)h->word);
}

static void land_word(struct world *w, struct op *op)
{
	struct home_lock *h = &w->home.lock[op->lock];
	u64 old = h->word;

	op->old = old;
	if (op->type == RDL_ACT_POST_FAA)
		h->word += op->val;
	else if (old == op->cmp)
		h->word = op->val;
	trace(w, "home: lock %d: node %d's %s lands, %016llx -> %016llx", op->lock, op->node,
	      op->type == RDL_ACT_POST_CAS ? "CAS" : "FAA", (unsigned long long)old, (unsigned long long)h->word);
	if (w->cfg.numbers)
		return;
	if (h->kind == RDL_KIND_SPIN)
		judge_spin(w, op, old);
	else
		judge_counts(w, op);
	if (!w->cfg.hammer || rdl_w_ticket(h->word) == rdl_w_ticket(old))
		return;
	/* From here on its place in the queue is fixed. */
	w->node[op->node].agent[op->lock].drawn = w->now;
	memset(w->over[op->node], 0, w->cfg.nodes * sizeof(w->over[0][0]));
}

/* ---- the rest ---- */

/* Bytes of an operation that is read or written as bytes, and where they are at the home. */
static void *place(struct world *w, const struct op *op, u32 *len)
{
	struct home_lock *h = &w->home.lock[op->lock];

	switch (op->type) {
	case RDL_ACT_POST_READ_SLOTS:
		*len = w->cfg.nodes * sizeof(h->slot[0]);
		return h->slot;
	case RDL_ACT_POST_WRITE_SLOT:
		*len = sizeof(h->slot[0]);
		return &h->slot[op->node];
	case RDL_ACT_POST_READ_WORD:
		*len = sizeof(h->word);
		return &h->word;
	default:
		*len = sizeof(h->body);
		return h->body;
	}
}

/* A piece of a big value: true. The body is left to the caller, as part 0 or 1. */
static bool land_piece(struct world *w, struct op *op, u8 *part, u8 *pieces)
{
	struct agent *a = &w->node[op->node].agent[op->lock];
	struct home_lock *h = &w->home.lock[op->lock];
	u8 of_body = op->parts - BIG_PIECES;

	*pieces = of_body;
	if (op->type == RDL_ACT_POST_READ_AREA) {
		if (*part < of_body)
			return false;
		if (a->op[OP_READ] == op)
			a->area[*part - of_body] = h->area[*part - of_body];
		return true;
	}
	if (*part >= BIG_PIECES) {
		*part -= BIG_PIECES;
		return false;
	}
	h->area[*part] = op->area[*part];
	return true;
}

void land(struct world *w, struct op *op)
{
	struct agent *a = &w->node[op->node].agent[op->lock];
	bool word = op->type == RDL_ACT_POST_CAS || op->type == RDL_ACT_POST_FAA;
	u8 pieces = op->parts - (word ? 1 : 0), part = op->part++;
	u32 len, from, to;
	u8 *home;

	if (word && op->part == op->parts) {
		land_word(w, op);
		return;
	}
	if ((op->type == RDL_ACT_POST_READ_AREA || op->type == RDL_ACT_POST_WRITE_VALUE) &&
	    land_piece(w, op, &part, &pieces))
		return;
	home = place(w, op, &len);
	if (op->cut >= len)
		op->cut = 1 + op->cut % (len - 1);
	from = part ? op->cut : 0;
	to = pieces > 1 && !part ? op->cut : len;
	if (pieces > 1 && part)
		w->cov->torn++;
	switch (op->type) {
	case RDL_ACT_POST_WRITE_SLOT:
		memcpy(home + from, (u8 *)&op->val + from, to - from);
		break;
	case RDL_ACT_POST_READ_SLOTS:
	case RDL_ACT_POST_READ_VALUE:
	case RDL_ACT_POST_READ_WORD:
	case RDL_ACT_POST_READ_AREA:
		/* One of an old link reads for nobody. */
		if (a->op[OP_READ] == op)
			memcpy(a->in + from, home + from, to - from);
		break;
	default:
		memcpy(home + from, op->body + from, to - from);
	}
}
