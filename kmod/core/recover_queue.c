// SPDX-License-Identifier: GPL-2.0
/*
 * The home's side of a recovery of the kinds with a queue. Claims say who holds and who waits; the counts in the frozen
 * word are not believed, but for one thing: exclusive tickets that nobody alive answers for were a dead owner's.
 *
 *   order    holders, then waiters by the epoch and ticket they have; new tickets 0, 1, 2, ...
 *   granted  with no holder: the writer at the front, or the run of readers there; with readers holding, the readers
 *            at the front of the waiters
 *   value    the newest of the body's and all claims'; of a big one, whose bytes are in no claim, the body's, and a
 *            newer one only as long as its holder lives
 */
#include "bust.h"
#include "queue.h"

bool rdl_queue_fits(const struct rdl_recover *r, u16 node, const struct rdl_claim *c)
{
	u16 i;

	if (c->nx > 1 + RDL_DEBT_MAX || c->ticket >> RDL_TICKET_BITS || c->ticket_epoch > r->epoch)
		return false;
	if (c->what == RDL_CLAIM_NONE)
		return c->mode == RDL_MODE_NL;
	if (c->mode != RDL_MODE_X && (c->mode != RDL_MODE_S || r->kind != RDL_KIND_FAIR))
		return false;
	if (c->what != RDL_CLAIM_HOLD)
		return c->what == RDL_CLAIM_WAIT;
	for (i = 0; i < RDL_MAX_NODES; i++)
		if (rdl_has_claimed(r, i) && r->claim[i].what == RDL_CLAIM_HOLD &&
		    (c->mode == RDL_MODE_X || r->claim[i].mode == RDL_MODE_X))
			return false;
	return true;
}

static bool before(const struct rdl_claim *a, const struct rdl_claim *b)
{
	if (a->what != b->what)
		return a->what == RDL_CLAIM_HOLD;
	if (a->what == RDL_CLAIM_HOLD)
		return false;
	if (a->ticket_epoch != b->ticket_epoch)
		return a->ticket_epoch < b->ticket_epoch;
	return rdl_bust(REBUILT_REVERSED) ? a->ticket > b->ticket : a->ticket < b->ticket;
}

static void sort(struct rdl_recover *r)
{
	u16 node, i;

	r->n = 0;
	for (node = 0; node < RDL_MAX_NODES; node++) {
		if (!rdl_has_claimed(r, node) || r->claim[node].what == RDL_CLAIM_NONE)
			continue;
		for (i = r->n; i && before(&r->claim[node], &r->claim[r->order[i - 1]]); i--)
			r->order[i] = r->order[i - 1];
		r->order[i] = node;
		r->n++;
	}
}

/* A GRANT by hand-over may still be on its way, or cut off by this recovery: then its sender says so. */
static bool was_handed(const struct rdl_recover *r, const struct rdl_claim *wait)
{
	u16 node;

	for (node = 0; node < RDL_MAX_NODES; node++)
		if (rdl_has_claimed(r, node) && r->claim[node].handed_epoch == wait->ticket_epoch &&
		    r->claim[node].handed_ticket == wait->ticket)
			return true;
	return false;
}

/* May be said of one who was none; never unsaid of one who was. */
static bool owner_died(const struct rdl_recover *r)
{
	u32 nx = 0;
	u16 node;

	if (!r->opener_died)
		return false;
	for (node = 0; node < RDL_MAX_NODES; node++) {
		const struct rdl_claim *c = &r->claim[node];

		if (!rdl_has_claimed(r, node))
			continue;
		nx += c->nx;
		if (c->what == RDL_CLAIM_HOLD || (c->what == RDL_CLAIM_WAIT && was_handed(r, c)))
			return false;
	}
	/* Kind mcs: not a count, but the last of the queue. */
	return r->kind == RDL_KIND_MCS ? rdl_w_mid(r->frozen) : rdl_w_mid(r->frozen) > nx;
}

/*
 * A holder that claims a newer version than the body has will store it before anybody else gets the lock. Damaged bytes
 * stay so until then: should it die, the next recovery must find them so. Another that claims one has been wronged.
 */
static void newest_big(struct rdl_recover *r)
{
	u64 held = r->ver, others = 0;
	u16 node;

	for (node = 0; node < RDL_MAX_NODES; node++) {
		const struct rdl_claim *c = &r->claim[node];

		if (!rdl_has_claimed(r, node))
			continue;
		if (c->what == RDL_CLAIM_HOLD && c->mode == RDL_MODE_X && c->ver > held)
			held = c->ver;
		else if (c->what != RDL_CLAIM_HOLD && c->ver > others)
			others = c->ver;
	}
	r->wipe = r->body_bad && !held;
	if (r->wipe || others > held)
		r->vflags |= RDL_VF_VALUE_INVALID;
}

static void newest_value(struct rdl_recover *r)
{
	u16 node;

	if (r->body_bad)
		r->ver = 0;
	if (r->big) {
		newest_big(r);
		return;
	}
	for (node = 0; node < RDL_MAX_NODES; node++) {
		const struct rdl_claim *c = &r->claim[node];

		if (!rdl_has_claimed(r, node) || c->ver <= r->ver)
			continue;
		r->ver = c->ver;
		r->value_from = node + 1;
	}
	/* Written anew after it was lost. */
	if (r->value_from)
		r->vflags &= ~RDL_VF_VALUE_INVALID;
	else if (r->body_bad)
		r->vflags |= RDL_VF_VALUE_INVALID;
}

/* Who is granted, and what each is told of its neighbours. */
static void tickets(struct rdl_recover *r)
{
	bool blocked = false;
	u16 t;

	for (t = 0; t < r->n; t++) {
		u16 node = r->order[t];
		const struct rdl_claim *c = &r->claim[node];
		struct rdl_rebuilt *reply = &r->reply[node];
		bool x = c->mode == RDL_MODE_X;

		reply->ticket = t;
		if (c->what == RDL_CLAIM_WAIT)
			reply->granted = !blocked && (!x || t == 0);
		if (x)
			blocked = true;
		if (t && !reply->granted && r->kind != RDL_KIND_TICKET && r->claim[r->order[t - 1]].mode == RDL_MODE_X)
			reply->pred = r->order[t - 1] + 1;
		if (r->kind == RDL_KIND_MCS && t + 1 < r->n && !rdl_bust(NO_SUCCESSOR))
			reply->succ = r->order[t + 1] + 1;
	}
}

static u64 word(const struct rdl_recover *r)
{
	u32 x = 0, s = 0;
	u16 t;

	if (r->kind == RDL_KIND_MCS)
		return rdl_w_pack(r->n, r->n ? r->order[r->n - 1] + 1 : 0, 0, r->epoch_new, r->vflags, false);
	for (t = 0; t < r->n; t++) {
		if (r->claim[r->order[t]].mode == RDL_MODE_X)
			x++;
		else
			s++;
	}
	return rdl_w_pack(r->n, x, s, r->epoch_new, r->vflags, false);
}

/* A robust lock's notice is not the body's; and where it is the only one, there is nothing else to be settled. */
static u8 death_flags(const struct rdl_recover *r)
{
	if (!(r->props & RDL_P_ROBUST))
		return RDL_VF_OWNER_DIED | RDL_VF_VALUE_INVALID;
	return r->props & RDL_P_VALUE ? RDL_VF_VALUE_INVALID : 0;
}

void rdl_queue_finish(struct rdl_recover *r)
{
	bool died = owner_died(r) && !rdl_bust(DEATH_UNTOLD);
	u16 node;

	sort(r);
	r->vflags &= ~r->settled;
	newest_value(r);
	if (died)
		r->vflags |= death_flags(r);
	rdl_robust_judge(r, died);
	tickets(r);
	for (node = 0; node < RDL_MAX_NODES; node++) {
		struct rdl_rebuilt *reply = &r->reply[node];

		if (!rdl_has_claimed(r, node))
			continue;
		reply->what = r->claim[node].what;
		reply->mode = r->claim[node].mode;
		reply->vflags = r->vflags | r->dead;
		reply->ver = r->ver;
	}
	r->word = word(r);
}

/* Waiters and a writer that holds are on the board; the others' slots are empty. */
u64 rdl_recover_slot(const struct rdl_recover *r, u16 node)
{
	const struct rdl_claim *c = &r->claim[node];
	bool x = c->mode == RDL_MODE_X;

	if (!rdl_has_claimed(r, node) || c->what == RDL_CLAIM_NONE || (c->what == RDL_CLAIM_HOLD && !x))
		return 0;
	return rdl_slot(r->seed, node, r->epoch_new, r->reply[node].ticket, x);
}
