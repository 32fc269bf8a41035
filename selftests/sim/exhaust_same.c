// SPDX-License-Identifier: GPL-2.0
/*
 * Exhaustive mode: the fingerprint of a world. Nodes other than the home are alike, so worlds that differ only in which
 * of them is which get the same one: the nodes are put in an order that does not depend on their numbers, and every
 * number in the world is replaced accordingly. Equal keys leave an order open; that costs states, never correctness.
 */
#include "exhaust.h"

static u64 mix(u64 a, u64 b)
{
	unsigned __int128 p = (unsigned __int128)(a ^ 0x9e3779b97f4a7c15ull) * (b ^ 0xe7037ed1a0b428dbull);

	return (u64)p ^ (u64)(p >> 64);
}

/* Most words are zero. */
static u64 hash(u64 h, const void *data, size_t size)
{
	const u64 *p = data;
	size_t i;

	for (i = 0; i < size / sizeof(u64); i++)
		if (p[i])
			h = mix(h ^ p[i], 0x589965cc75374cc3ull + i);
	return h;
}

static_assert(sizeof(struct xnode) % sizeof(u64) == 0 && offsetof(struct xworld, node) % sizeof(u64) == 0,
	      "worlds are hashed by words");

/*
 * Node numbers outside of bit sets and array indices: the owner in the word of a spin lock, the tail of mcs; in a
 * queue's state who comes next, who asked, and who sent; neighbours in REBUILT, as number + 1; senders and receivers of
 * messages between nodes.
 */
static u64 owner_is(u64 word, u32 owner)
{
	return (word & ~(RDL_W_CNT_MASK << RDL_W_MID_SHIFT)) | (u64)owner << RDL_W_MID_SHIFT;
}

static u64 faa_of(int n)
{
	return -((u64)(n + 1) << RDL_W_MID_SHIFT);
}

static bool words_have_ids(void)
{
	return x_cfg.kind == RDL_KIND_SPIN || x_cfg.kind == RDL_KIND_MCS;
}

static bool owned_by(u64 word, int n)
{
	return words_have_ids() && rdl_w_mid(word) == n + 1u;
}

static u64 neutral(u64 word, int n)
{
	return rdl_w_mid(word) ? owner_is(word, rdl_w_mid(word) == n + 1u ? 1 : 2) : word;
}

static void neutral_op(struct xop *op, int n)
{
	if (op->type == RDL_ACT_POST_CAS) {
		op->cmp = neutral(op->cmp, n);
		op->val = neutral(op->val, n);
	} else if (op->type == RDL_ACT_POST_FAA && op->val == faa_of(n)) {
		op->val = 1;
	}
	op->old = neutral(op->old, n);
}

static u64 of_peers(const struct xworld *w, int n)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < w->n_peer; i++) {
		struct xpeer p = w->peer[i];
		u64 role = (p.src == n) << 1 | (p.dst == n);

		p.src = 0;
		p.dst = 0;
		if (role)
			sum += hash(role, &p, sizeof(p));
	}
	return sum;
}

static u64 key(const struct xworld *w, int n)
{
	struct xnode node;
	u64 bits;
	int i, j;

	memcpy(&node, &w->node[n], sizeof(node));
	node.core.node = 0;
	node.core.q.hint_node = 0;
	node.core.q.asker = !!node.core.q.asker;
	if (x_cfg.kind == RDL_KIND_MCS)
		node.core.q.from = !!node.core.q.from;
	node.core.q.grant.node = 0;
	node.core.q.next.node = 0;
	if (words_have_ids())
		node.core.guess = neutral(node.core.guess, n);
	for (i = 0; i < XO; i++) {
		if (words_have_ids())
			neutral_op(&node.op[i], n);
		for (j = 0; j < x_cfg.nodes; j++)
			if (j != n)
				node.op[i].slots[j] = 0;
		node.op[i].slots[0] ^= node.op[i].slots[n];
		if (n)
			node.op[i].slots[n] = 0;
	}
	for (i = 0; i < node.n_down; i++) {
		node.down[i].pred = !!node.down[i].pred;
		node.down[i].succ = !!node.down[i].succ;
	}
	bits = (w->openers >> n & 1) | (w->delayed >> n & 1) << 1 | (w->rec.openers >> n & 1) << 2 |
	       (w->rec.claimed >> n & 1) << 3 | (w->rec.gone >> n & 1) << 4 | (w->rec.gone_died >> n & 1) << 5 |
	       owned_by(w->word, n) << 6 | owned_by(w->rec.frozen, n) << 7 | (w->delayed_old >> n & 1) << 8 |
	       (w->gave_up == n + 1) << 9 | (w->whole_by == n + 1) << 10;
	bits = hash(bits, &w->rec.claim[n], sizeof(w->rec.claim[n]));
	bits = mix(bits ^ w->slot[n], of_peers(w, n));
	return mix(hash(bits, &node, sizeof(node)), bits);
}

/* @now[i]: the node that becomes node i; @was is its inverse. */
static u8 renamed_set(u8 set, const u8 *now)
{
	u8 to = 0;
	int i;

	for (i = 0; i < x_cfg.nodes; i++)
		to |= (set >> now[i] & 1) << i;
	return to;
}

static u64 renamed_word(u64 word, const u8 *was)
{
	u32 owner = rdl_w_mid(word);

	if (!words_have_ids())
		return word;
	return owner && owner <= (u32)x_cfg.nodes ? owner_is(word, was[owner - 1] + 1) : word;
}

static u16 renamed_next(u16 next, const u8 *was)
{
	return next && next <= x_cfg.nodes ? was[next - 1] + 1 : next;
}

static void rename_slots(u64 *to, const u64 *from, const u8 *now)
{
	int i;

	for (i = 0; i < x_cfg.nodes; i++)
		to[i] = from[now[i]];
}

static void rename_op(struct xop *to, const struct xop *from, int n, int i, const u8 *now, const u8 *was)
{
	if (to->type == RDL_ACT_POST_CAS) {
		to->cmp = renamed_word(to->cmp, was);
		to->val = renamed_word(to->val, was);
	} else if (x_cfg.kind == RDL_KIND_SPIN && to->val == faa_of(n)) {
		to->val = faa_of(i);
	}
	to->old = renamed_word(to->old, was);
	rename_slots(to->slots, from->slots, now);
}

static void rename_node(struct xnode *to, const struct xnode *from, int n, int i, const u8 *now, const u8 *was)
{
	struct rdl_queue *q = &to->core.q;
	int k;

	memcpy(to, from, sizeof(*to));
	if (to->core.node == n)
		to->core.node = i;
	to->core.guess = renamed_word(to->core.guess, was);
	if (q->hint)
		q->hint_node = was[q->hint_node];
	q->asker = renamed_next(q->asker, was);
	if (x_cfg.kind == RDL_KIND_MCS)
		q->from = renamed_next(q->from, was);
	if (q->grant_epoch)
		q->grant.node = was[q->grant.node];
	if (q->hint_epoch)
		q->next.node = was[q->next.node];
	for (k = 0; k < XO; k++)
		rename_op(&to->op[k], &from->op[k], n, i, now, was);
	for (k = 0; k < to->n_down; k++) {
		to->down[k].pred = renamed_next(to->down[k].pred, was);
		to->down[k].succ = renamed_next(to->down[k].succ, was);
	}
}

static void sort_peers(struct xworld *w)
{
	struct xpeer t;
	int i, j;

	for (i = 1; i < w->n_peer; i++) {
		for (j = i; j && memcmp(&w->peer[j - 1], &w->peer[j], sizeof(t)) > 0; j--) {
			memcpy(&t, &w->peer[j], sizeof(t));
			memcpy(&w->peer[j], &w->peer[j - 1], sizeof(t));
			memcpy(&w->peer[j - 1], &t, sizeof(t));
		}
	}
}

static void rename_nodes(struct xworld *to, const struct xworld *w, const u8 *now)
{
	u8 was[XN] = { 0, 1, 2, 3 };
	int i;

	for (i = 0; i < x_cfg.nodes; i++)
		was[now[i]] = i;
	memcpy(to, w, offsetof(struct xworld, node));
	to->word = renamed_word(w->word, was);
	to->rec.frozen = renamed_word(w->rec.frozen, was);
	to->gave_up = renamed_next(w->gave_up, was);
	to->whole_by = renamed_next(w->whole_by, was);
	to->openers = renamed_set(w->openers, now);
	to->delayed = renamed_set(w->delayed, now);
	to->delayed_old = renamed_set(w->delayed_old, now);
	to->rec.openers = renamed_set(w->rec.openers, now);
	to->rec.claimed = renamed_set(w->rec.claimed, now);
	to->rec.gone = renamed_set(w->rec.gone, now);
	to->rec.gone_died = renamed_set(w->rec.gone_died, now);
	rename_slots(to->slot, w->slot, now);
	for (i = 0; i < w->n_peer; i++) {
		to->peer[i].src = was[w->peer[i].src];
		to->peer[i].dst = was[w->peer[i].dst];
	}
	for (i = 0; i < x_cfg.nodes; i++) {
		memcpy(&to->rec.claim[i], &w->rec.claim[now[i]], sizeof(to->rec.claim[0]));
		rename_node(&to->node[i], &w->node[now[i]], now[i], i, now, was);
	}
}

/* @k[1..]: keys. The order of the nodes by them. */
static bool order(u8 *now, const u64 *k)
{
	bool changed = false;
	int i, j;

	for (i = 2; i < x_cfg.nodes; i++) {
		for (j = i; j > 1 && k[now[j - 1]] > k[now[j]]; j--) {
			u8 t = now[j];

			now[j] = now[j - 1];
			now[j - 1] = t;
			changed = true;
		}
	}
	return changed;
}

u64 x_fingerprint(const struct xworld *w)
{
	u8 now[XN] = { 0, 1, 2, 3 };
	struct xworld to;
	u64 k[XN];
	int i;

	for (i = 1; x_cfg.nodes > 2 && i < x_cfg.nodes; i++)
		k[i] = key(w, i);
	if (x_cfg.nodes > 2 && order(now, k)) {
		rename_nodes(&to, w, now);
		w = &to;
	} else if (w->n_peer > 1) {
		memcpy(&to, w, x_size());
		w = &to;
	}
	if (w == &to)
		sort_peers(&to);
	return hash(1, w, x_size());
}
