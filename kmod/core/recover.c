// SPDX-License-Identifier: GPL-2.0
/*
 * The home's side of one recovery, Documentation/protocol.rst: the single door for an evicted owner, an
 * operation of unknown outcome, tickets that run out, and a dead owner's notice that was
 * delivered.
 *
 *   freeze the word (w |= F), FREEZE(E) to every live opener
 *   rdl_recover_claim() for each CLAIM, rdl_recover_gone() for each opener that closed or was evicted meanwhile
 *   rdl_recover_ready(): all have answered
 *   rdl_recover_finish(): the new word and what to tell whom; the shell writes the word, then sends
 *
 * The frozen word of a spin lock names its owner, so nothing has to be guessed: the owner claims
 * HOLD and goes on; it claims NONE and the word becomes free; or it does not claim, then it is
 * dead, and A tells the next owner.
 *
 * Protected by its home's lock, as the shell says.
 */
#include "bust.h"
#include "kind.h"

static bool in_set(const u64 *set, u16 node)
{
	return set[node / 64] >> (node % 64) & 1;
}

static void add_to(u64 *set, u16 node)
{
	set[node / 64] |= 1ull << (node % 64);
}

static void drop_from(u64 *set, u16 node)
{
	set[node / 64] &= ~(1ull << (node % 64));
}

void rdl_recover_start(struct rdl_recover *r, u8 kind, u32 epoch, u32 epoch_new, u64 frozen,
		       const u64 *openers, bool died, bool clear_attention)
{
	memset(r, 0, sizeof(*r));
	r->kind = kind;
	r->opener_died = died;
	r->clear_attention = clear_attention;
	r->epoch = epoch;
	r->epoch_new = epoch_new;
	r->frozen = frozen;
	memcpy(r->expect, openers, sizeof(r->expect));
}

bool rdl_has_claimed(const struct rdl_recover *r, u16 node)
{
	return in_set(r->claimed, node);
}

/* But for a value that the holder has changed since: it is claimed with the next one, or handed on. */
static bool claim_equal(const struct rdl_claim *a, const struct rdl_claim *b)
{
	return a->what == b->what && a->mode == b->mode && a->ticket == b->ticket && a->nx == b->nx &&
	       a->ticket_epoch == b->ticket_epoch && a->handed_epoch == b->handed_epoch &&
	       a->handed_ticket == b->handed_ticket && a->ver <= b->ver && !(b->vflags & ~a->vflags) &&
	       a->report == b->report;
}

int rdl_recover_claim(struct rdl_recover *r, u16 node, u32 epoch, const struct rdl_claim *c)
{
	if (node >= RDL_MAX_NODES || epoch != r->epoch)
		return -EBADMSG;
	if (in_set(r->claimed, node))
		return claim_equal(&r->claim[node], c) ? 0 : -EBADMSG;
	if (!in_set(r->expect, node))
		return -EBADMSG;
	if (!rdl_kind_ops(r->kind)->fits(r, node, c))
		return -EBADMSG;
	r->claim[node] = *c;
	add_to(r->claimed, node);
	drop_from(r->expect, node);
	return 0;
}

void rdl_recover_gone(struct rdl_recover *r, u16 node, bool died)
{
	if (node >= RDL_MAX_NODES)
		return;
	drop_from(r->expect, node);
	if (!rdl_bust(GONE_CLAIM_KEPT)) {
		drop_from(r->claimed, node);
		r->claim[node].what = 0;
	}
	if (died)
		r->opener_died = 1;
}

bool rdl_recover_ready(const struct rdl_recover *r)
{
	unsigned int i;

	for (i = 0; i < RDL_MAX_NODES / 64; i++)
		if (r->expect[i])
			return false;
	return true;
}

void rdl_recover_finish(struct rdl_recover *r)
{
	rdl_kind_ops(r->kind)->finish(r);
}

/* ---- kind spin ---- */

/*
 * A HOLD is true only of the node that the word names, with the ticket before the word's next one. A spin lock's
 * waiters have no place to claim.
 */
bool rdl_spin_fits(const struct rdl_recover *r, u16 node, const struct rdl_claim *c)
{
	if (c->what != RDL_CLAIM_HOLD)
		return c->what == RDL_CLAIM_NONE;
	return c->mode == RDL_MODE_X && rdl_w_mid(r->frozen) == node + 1u &&
	       c->ticket + 1 == rdl_w_ticket(r->frozen);
}

void rdl_spin_finish(struct rdl_recover *r)
{
	u32 owner = rdl_w_mid(r->frozen);
	bool claimed = owner && owner <= RDL_MAX_NODES && in_set(r->claimed, owner - 1);
	bool hold = claimed && r->claim[owner - 1].what == RDL_CLAIM_HOLD;
	/* An owner that cannot answer is dead, whatever brought the home to recover. */
	bool died = owner && !claimed && !rdl_bust(DEATH_UNTOLD);
	bool a = (rdl_w_attention(r->frozen) && !r->clear_attention) || (died && !(r->props & RDL_P_ROBUST));
	u16 node;

	rdl_robust_judge(r, died);
	r->n = hold;
	if (rdl_bust(DEAD_OWNER_KEPT) && owner && !claimed)
		hold = true;
	if (rdl_bust(REBUILT_FREE))
		hold = false;
	r->word = rdl_w_pack(r->n, hold ? owner : 0, 0, r->epoch_new, a, false);
	for (node = 0; node < RDL_MAX_NODES; node++) {
		struct rdl_rebuilt *reply = &r->reply[node];

		if (!in_set(r->claimed, node))
			continue;
		reply->what = r->claim[node].what;
		reply->mode = r->claim[node].mode;
		reply->vflags = (a ? RDL_VF_OWNER_DIED : 0) | r->dead;
	}
}
