// SPDX-License-Identifier: GPL-2.0
/* Exhaustive mode: operations on the home's memory, from their posting to their end. */
#include "exhaust.h"
#include "slot.h"

#define SLOT_THERE	1ull

u64 x_slot_strip(u64 slot)
{
	return slot ? (slot & ~RDL_SLOT_CHECK) | SLOT_THERE : 0;
}

u64 x_slot_full(int n, u64 slot)
{
	u64 upper = slot & ~RDL_SLOT_CHECK;

	return slot ? upper | rdl_slot_check(rdl_slot_seed(0, 0), n, upper) : 0;
}

static bool is_late(const struct xop *op)
{
	return op->st == XOP_LATE || op->st == XOP_LATE_HALF;
}

static void drop(struct xnode *node, int i)
{
	memmove(&node->op[i], &node->op[i + 1], (XO - 1 - i) * sizeof(node->op[0]));
	memset(&node->op[XO - 1], 0, sizeof(node->op[0]));
}

void x_op_clear(struct xnode *node)
{
	memset(node->op, 0, sizeof(node->op));
}

void x_op_late_gone(struct xnode *node)
{
	while (is_late(&node->op[0]))
		drop(node, 0);
}

int x_op_flying(const struct xnode *node)
{
	int i, n = 0;

	for (i = 0; i < XO; i++)
		n += node->op[i].st != XOP_NONE && !is_late(&node->op[i]);
	return n;
}

int x_op_to_land(const struct xnode *node)
{
	int i;

	for (i = 0; i < XO && node->op[i].st == XOP_LANDED; i++)
		;
	return i < XO && node->op[i].st != XOP_NONE && node->op[i].st != XOP_DROPPED ? i : -1;
}

int x_op_to_end(const struct xnode *node)
{
	int i;

	for (i = 0; i < XO && is_late(&node->op[i]); i++)
		;
	return i < XO && node->op[i].st != XOP_NONE ? i : -1;
}

int x_op_last(const struct xnode *node)
{
	int i;

	for (i = XO - 1; i >= 0 && node->op[i].st == XOP_NONE; i--)
		;
	return i;
}

static void count(const struct rdl_action *a)
{
	switch (a->type) {
	case RDL_ACT_POST_CAS:
	case RDL_ACT_POST_FAA:
		x_did[XC_ATOMIC]++;
		x_did[XC_WRITE] += !!(a->arg & RDL_POST_VALUE);
		break;
	case RDL_ACT_POST_WRITE_SLOT:
		x_did[XC_WRITE]++;
		break;
	default:
		x_did[XC_READ]++;
	}
}

void x_op_post(struct xworld *w, int n, const struct rdl_action *a)
{
	struct xnode *node = &w->node[n];
	struct xop *op;
	int at;

	/* At the home what may still land goes down with its pair, before a new pair carries this one. */
	if (x_is_local(n))
		x_op_late_gone(node);
	at = x_op_last(node) + 1;
	if (at == XO || (at && is_late(&node->op[0]))) {
		x_fail(w, "node %d has too many operations in flight", n);
		return;
	}
	op = &node->op[at];
	op->st = XOP_POSTED;
	op->type = a->type;
	op->val = a->val;
	count(a);
	switch (a->type) {
	case RDL_ACT_POST_CAS:
		op->cmp = a->cmp;
		node->local_run = 0;
		fallthrough;
	case RDL_ACT_POST_FAA:
		op->arg = a->arg;
		if (a->arg & RDL_POST_VALUE) {
			op->ver = node->copy;
			op->vflags = a->peer.vflags;
		}
		break;
	case RDL_ACT_POST_WRITE_VALUE:
		op->ver = node->copy;
		op->vflags = a->peer.vflags;
		if (a->peer.ver != node->copy)
			x_fail(w, "node %d names another version than it writes", n);
		break;
	case RDL_ACT_POST_READ_AREA:
		node->copy = 0;
		break;
	case RDL_ACT_POST_WRITE_SLOT:
		if (x_slot_full(n, x_slot_strip(a->val)) != a->val)
			x_fail(w, "node %d writes a slot that does not pass the check", n);
		op->val = x_slot_strip(a->val);
		break;
	}
}

/* ---- landing ---- */

static void check_spin(struct xworld *w, int n, const struct xop *op, u64 old)
{
	if (op->type == RDL_ACT_POST_FAA) {
		if (!rdl_w_frozen(old) && rdl_w_mid(old) != n + 1u)
			x_fail(w, "node %d gave back a word of %d", n, (int)rdl_w_mid(old) - 1);
		return;
	}
	if (old != op->cmp)
		return;
	if (rdl_w_frozen(old))
		x_fail(w, "node %d took a frozen word", n);
	if (rdl_w_ticket(op->val) > x_cfg.hard)
		x_fail(w, "node %d took ticket %u, past the limit", n, rdl_w_ticket(old));
	if (rdl_w_mid(old))
		x_fail(w, "node %d took a word that has an owner", n);
}

/* After the limit each node adds at most one ticket and one void one. Void operations garble a frozen word's counts. */
static void check_counts(struct xworld *w, int n)
{
	if (rdl_w_ticket(w->word) > x_cfg.hard + 2 * x_cfg.nodes)
		x_fail(w, "node %d: tickets run over", n);
	if (rdl_w_frozen(w->word))
		return;
	if (rdl_w_mid(w->word) > x_cfg.nodes + sim_debt_max || rdl_w_low(w->word) > (u32)x_cfg.nodes)
		x_fail(w, "node %d: counts out of range, word %016llx", n, (unsigned long long)w->word);
}

static void change_word(struct xworld *w, int n, struct xop *op)
{
	u64 old = w->word;

	if (op->type == RDL_ACT_POST_FAA)
		w->word += op->val;
	else if (old == op->cmp)
		w->word = op->val;
	x_say("home: node %d's %s lands, %016llx -> %016llx", n, op->type == RDL_ACT_POST_CAS ? "CAS" : "FAA",
	      (unsigned long long)old, (unsigned long long)w->word);
	if (x_cfg.kind == RDL_KIND_SPIN)
		check_spin(w, n, op, old);
	else
		check_counts(w, n);
	op->old = old;
	op->cmp = 0;
	op->val = 0;
}

void x_op_land(struct xworld *w, int n)
{
	struct xnode *node = &w->node[n];
	int at = x_op_to_land(node);
	struct xop *op = &node->op[at];
	bool late = is_late(op) || node->life != X_ALIVE;

	/* On one queue pair the value goes before the word, but not in the same moment. */
	if ((op->arg & RDL_POST_VALUE) && (op->st == XOP_POSTED || op->st == XOP_LATE)) {
		w->ver = op->ver;
		w->vflags = op->vflags;
		op->st = op->st == XOP_LATE ? XOP_LATE_HALF : XOP_HALF;
		op->ver = 0;
		op->vflags = 0;
		x_say("home: node %d's value lands, version %llx", n, (unsigned long long)w->ver);
		return;
	}
	/* The pieces of a big value land one by one, the body behind them. */
	if (op->type == RDL_ACT_POST_WRITE_VALUE && (op->st == XOP_POSTED || op->st == XOP_LATE)) {
		w->bytes = X_TORN;
		op->st = op->st == XOP_LATE ? XOP_LATE_HALF : XOP_HALF;
		return;
	}
	/* A READ of the word may tear against atomics: one half of it is read now, the other later. */
	if (op->type == RDL_ACT_POST_READ_WORD && (op->st == XOP_POSTED || op->st == XOP_LATE)) {
		op->old = w->word & 0xffffffffull;
		op->st = op->st == XOP_LATE ? XOP_LATE_HALF : XOP_HALF;
		return;
	}
	switch (op->type) {
	case RDL_ACT_POST_READ_SLOTS:
		memcpy(op->slots, w->slot, sizeof(op->slots));
		break;
	case RDL_ACT_POST_READ_VALUE:
		op->ver = w->ver;
		op->vflags = w->vflags;
		break;
	case RDL_ACT_POST_READ_WORD:
		op->old |= w->word & ~0xffffffffull;
		break;
	case RDL_ACT_POST_READ_AREA:
		op->ver = w->bytes == w->sum ? w->ver : 0;
		op->vflags = w->vflags | (w->bytes == w->sum ? 0 : RDL_VF_VALUE_INVALID);
		break;
	case RDL_ACT_POST_WRITE_VALUE:
		w->bytes = op->ver;
		w->sum = op->ver;
		w->ver = op->ver;
		w->vflags = op->vflags;
		op->ver = 0;
		op->vflags = 0;
		x_say("home: node %d's value lands", n);
		break;
	case RDL_ACT_POST_WRITE_SLOT:
		w->slot[n] = op->val;
		op->val = 0;
		x_say("home: node %d's slot lands", n);
		break;
	default:
		change_word(w, n, op);
	}
	op->arg = 0;
	if (late)
		drop(node, at);
	else
		op->st = XOP_LANDED;
}

/* ---- the end ---- */

static void rest_is_lost(struct xnode *node, u8 outcome)
{
	int i;

	/* The queue pair is in its error state: what comes behind ends without an answer, or was never sent. */
	for (i = x_op_to_end(node); i >= 0 && i < XO; i++) {
		struct xop *op = &node->op[i];

		if (op->st == XOP_NONE)
			break;
		op->broken = 2;
		if (outcome == RDL_FAILED && op->st == XOP_POSTED)
			op->st = XOP_DROPPED;
	}
}

void x_op_done(struct xworld *w, int n, u8 outcome)
{
	struct xnode *node = &w->node[n];
	int at = x_op_to_end(node), i;
	struct xop op = node->op[at];
	struct rdl_event ev = { .type = RDL_EV_OP, .outcome = outcome, .op = op.type };
	__le64 slots[XN];

	if (outcome == RDL_OK) {
		ev.old = op.old;
		ev.peer.ver = op.ver;
		ev.peer.vflags = op.vflags;
		for (i = 0; i < x_cfg.nodes; i++)
			slots[i] = cpu_to_le64(x_slot_full(i, op.slots[i]));
		if (op.type == RDL_ACT_POST_READ_SLOTS) {
			ev.slots = slots;
			ev.nslots = x_cfg.nodes;
		}
	}
	if (outcome == RDL_AMBIGUOUS && (op.st == XOP_POSTED || op.st == XOP_HALF)) {
		node->op[at].st = op.st == XOP_POSTED ? XOP_LATE : XOP_LATE_HALF;
		node->op[at].broken = 0;
	} else {
		drop(node, at);
	}
	if (outcome != RDL_OK)
		rest_is_lost(node, outcome);
	x_feed(w, n, &ev);
}

/* The last one was not taken by the fabric. */
void x_op_refuse(struct xworld *w, int n)
{
	struct xnode *node = &w->node[n];
	int at = x_op_last(node);
	struct rdl_event ev = { .type = RDL_EV_OP, .outcome = RDL_FAILED, .op = node->op[at].type };

	drop(node, at);
	x_feed(w, n, &ev);
}

void x_op_unreach(struct xnode *node)
{
	int i;

	if (node->life != X_ALIVE) {
		x_op_clear(node);
		return;
	}
	x_op_late_gone(node);
	for (i = 0; i < XO; i++)
		if (node->op[i].st == XOP_POSTED || node->op[i].st == XOP_HALF)
			node->op[i].st = XOP_DROPPED;
}
