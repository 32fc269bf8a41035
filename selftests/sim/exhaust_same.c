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

static u64 hash(u64 h, const void *data, size_t size)
{
	const u64 *p = data;
	size_t i;

	for (i = 0; i < size / sizeof(u64); i++)
		h = mix(h ^ p[i], 0x589965cc75374cc3ull + i);
	return h;
}

static_assert(sizeof(struct xnode) % sizeof(u64) == 0 && offsetof(struct xworld, node) % sizeof(u64) == 0,
	      "worlds are hashed by words");

/* The word of a spin lock has an owner; its number is the only node number outside of bit sets and array indices. */
static u64 owner_is(u64 word, u32 owner)
{
	return (word & ~(RDL_W_CNT_MASK << RDL_W_MID_SHIFT)) | (u64)owner << RDL_W_MID_SHIFT;
}

static u64 faa_of(int n)
{
	return -((u64)(n + 1) << RDL_W_MID_SHIFT);
}

static u64 key(const struct xworld *w, int n)
{
	struct xnode node;
	u64 bits;

	memcpy(&node, &w->node[n], sizeof(node));
	node.core.node = 0;
	if (node.op.type == RDL_ACT_POST_CAS)
		node.op.val = owner_is(node.op.val, 1);
	else if (node.op.val == faa_of(n))
		node.op.val = 1;
	if (rdl_w_mid(node.op.old))
		node.op.old = owner_is(node.op.old, rdl_w_mid(node.op.old) == n + 1u ? 1 : 2);
	bits = (w->openers >> n & 1) | (w->delayed >> n & 1) << 1 | (w->rec.openers >> n & 1) << 2 |
	       (w->rec.claimed >> n & 1) << 3 | (w->rec.gone >> n & 1) << 4 | (w->rec.gone_died >> n & 1) << 5 |
	       (rdl_w_mid(w->word) == n + 1u) << 6 | (rdl_w_mid(w->rec.frozen) == n + 1u) << 7 |
	       (w->delayed_old >> n & 1) << 8 | (u64)w->rec.claim[n].what << 9 | (u64)w->rec.claim[n].ticket << 16;
	return mix(hash(bits, &node, sizeof(node)), bits);
}

/* @now[i]: the node that becomes node i. */
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

	return owner && owner <= (u32)x_cfg.nodes ? owner_is(word, was[owner - 1] + 1) : word;
}

static void rename_nodes(struct xworld *to, const struct xworld *w, const u8 *now)
{
	u8 was[XN] = { 0 };
	int i;

	for (i = 0; i < x_cfg.nodes; i++)
		was[now[i]] = i;
	memcpy(to, w, offsetof(struct xworld, node));
	to->word = renamed_word(w->word, was);
	to->rec.frozen = renamed_word(w->rec.frozen, was);
	to->openers = renamed_set(w->openers, now);
	to->delayed = renamed_set(w->delayed, now);
	to->delayed_old = renamed_set(w->delayed_old, now);
	to->rec.openers = renamed_set(w->rec.openers, now);
	to->rec.claimed = renamed_set(w->rec.claimed, now);
	to->rec.gone = renamed_set(w->rec.gone, now);
	to->rec.gone_died = renamed_set(w->rec.gone_died, now);
	for (i = 0; i < x_cfg.nodes; i++) {
		struct xnode *node = &to->node[i];
		int n = now[i];

		memcpy(node, &w->node[n], sizeof(*node));
		memcpy(&to->rec.claim[i], &w->rec.claim[n], sizeof(to->rec.claim[0]));
		if (node->core.node == n)
			node->core.node = i;
		if (node->op.type == RDL_ACT_POST_CAS)
			node->op.val = renamed_word(node->op.val, was);
		else if (node->op.val == faa_of(n))
			node->op.val = faa_of(i);
		node->op.old = renamed_word(node->op.old, was);
	}
}

u64 x_fingerprint(const struct xworld *w)
{
	u8 now[XN] = { 0, 1, 2, 3 };
	struct xworld to;
	u64 k[XN];
	int i, j;

	if (x_cfg.nodes > 2) {
		for (i = 1; i < x_cfg.nodes; i++)
			k[i] = key(w, i);
		for (i = 2; i < x_cfg.nodes; i++) {
			for (j = i; j > 1 && k[now[j - 1]] > k[now[j]]; j--) {
				u8 t = now[j];

				now[j] = now[j - 1];
				now[j - 1] = t;
			}
		}
		for (i = 1; i < x_cfg.nodes && now[i] == i; i++)
			;
		if (i < x_cfg.nodes) {
			rename_nodes(&to, w, now);
			w = &to;
		}
	}
	return hash(1, w, x_size());
}
