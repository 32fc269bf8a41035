// SPDX-License-Identifier: GPL-2.0
/* The home of a small world: memory, recovery, eviction. */
#include "small.h"

/* The value goes before the word: on one queue pair, but not in one moment. */
void small_land(struct small *w, int i, struct small_op *op)
{
	u64 before = w->word;
	int n;

	if (op->type == RDL_ACT_POST_WRITE_VALUE && !op->half) {
		op->half = 1;
		w->bytes = SMALL_TORN;
		return;
	}
	op->landed = 1;
	if ((op->type == RDL_ACT_POST_FAA || op->type == RDL_ACT_POST_CAS) && (op->arg & RDL_POST_VALUE)) {
		w->ver = op->ver;
		w->vflags = op->vflags;
	}
	switch (op->type) {
	case RDL_ACT_POST_FAA:
		op->old = w->word;
		w->word += op->val;
		break;
	case RDL_ACT_POST_CAS:
		op->old = w->word;
		if (w->word == op->cmp)
			w->word = op->val;
		break;
	case RDL_ACT_POST_READ_SLOTS:
		for (n = 0; n < w->n; n++)
			op->slots[n] = cpu_to_le64(w->slot[n]);
		break;
	case RDL_ACT_POST_READ_VALUE:
		op->ver = w->ver;
		op->vflags = w->vflags;
		break;
	case RDL_ACT_POST_READ_WORD:
		/* Its halves may be of two moments. */
		op->old = small_rnd(w, 2) ? w->word : (w->before & 0xffffffff) | (w->word & ~0xffffffffull);
		break;
	case RDL_ACT_POST_WRITE_SLOT:
		w->slot[i] = op->val;
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
		break;
	}
	if (w->word != before)
		w->before = before;
	if (rdl_w_ticket(w->word) >= sim_ticket_hard + 2 * SMALL_NODES + 2)
		small_wrong(w, "tickets run over");
	if (rdl_w_frozen(w->word) || w->kind == RDL_KIND_MCS)
		return;
	if (rdl_w_mid(w->word) > SMALL_NODES + RDL_DEBT_MAX || rdl_w_low(w->word) > SMALL_NODES)
		small_wrong(w, "counts out of range: %016llx", (unsigned long long)w->word);
}

void small_to_node(struct small *w, int i, const struct small_msg *m)
{
	struct small_node *node = &w->node[i];

	if (!node->alive || !node->link || node->evicted)
		return;
	if (node->nfrom == SMALL_HOME) {
		small_wrong(w, "world too small: messages of the home");
		return;
	}
	node->from_home[node->nfrom++] = *m;
}

static void freeze(struct small *w, int i)
{
	struct small_msg m = { .type = RDL_EV_FREEZE, .epoch = w->epoch };

	small_to_node(w, i, &m);
}

void small_recover(struct small *w)
{
	u64 openers[RDL_MAX_NODES / 64] = { 0 };
	int i;

	if (w->recovering)
		return;
	w->need = false;
	w->recovering = true;
	w->recoveries++;
	w->word |= RDL_W_F;
	for (i = 0; i < w->n; i++)
		if (!w->node[i].evicted)
			openers[0] |= 1ull << i;
	rdl_recover_start(&w->rec, w->kind, w->epoch, w->epoch + 1, w->word & ~RDL_W_F, openers, w->died, false);
	w->died = false;
	w->rec.seed = rdl_slot_seed(0, 0);
	w->rec.settled = w->settled;
	for (i = 0; i < w->n; i++)
		freeze(w, i);
	small_try_finish(w);
}

/* A holder may have changed it after its claim: then it is where it belongs. */
static bool newest_held(const struct small *w)
{
	int i;

	for (i = 0; i < w->n; i++)
		if ((w->rec.claimed[0] >> i & 1) && w->rec.claim[i].what == RDL_CLAIM_HOLD && !w->node[i].evicted &&
		    w->node[i].copy == w->newest)
			return true;
	return false;
}

void small_try_finish(struct small *w)
{
	u32 before = w->vflags;
	int i;

	if (!w->recovering || !rdl_recover_ready(&w->rec))
		return;
	w->rec.ver = w->ver;
	w->rec.vflags = w->vflags;
	w->rec.big = !!(w->props & RDL_P_BIG);
	w->rec.body_bad = w->bytes != w->sum;
	rdl_recover_finish(&w->rec);
	if (w->rec.wipe) {
		w->bytes = 0;
		w->sum = 0;
	}
	w->recovering = false;
	w->settled = 0;
	w->epoch++;
	w->ver = w->rec.ver;
	w->vflags = w->rec.vflags;
	if (w->ver != w->newest && !(w->vflags & RDL_VF_VALUE_INVALID) && (w->props & RDL_P_VALUE) && !newest_held(w))
		small_wrong(w, "the value was lost in a recovery, and nobody is told");
	if (w->vflags & ~before & RDL_VF_OWNER_DIED)
		w->newest = w->ver;
	for (i = 0; i < w->n; i++)
		w->slot[i] = rdl_recover_slot(&w->rec, i);
	w->word = w->rec.word;
	for (i = 0; i < w->n; i++) {
		struct small_msg m = { .type = RDL_EV_REBUILT, .epoch = w->epoch, .rebuilt = w->rec.reply[i] };

		if (w->rec.claimed[0] >> i & 1)
			small_to_node(w, i, &m);
	}
}

void small_evict(struct small *w, int i)
{
	struct small_node *node = &w->node[i];

	node->evicted = true;
	node->nops = 0;
	node->norphans = 0;
	node->nto = 0;
	node->nfrom = 0;
	node->users = 0;
	w->died = true;
	if (w->recovering) {
		w->died = false;
		rdl_recover_gone(&w->rec, i, true);
		small_try_finish(w);
	} else if (rdl_w_mid(w->word) || rdl_w_low(w->word)) {
		w->need = true;
	} else {
		w->died = false;
		if (w->untold && !rdl_w_attention(w->word))
			small_wrong(w, "a writer died and its word says that nobody has the lock");
	}
}

/* Does anybody still work for who waits? */
void small_query(struct small *w, int i)
{
	struct rdl_stat all[SMALL_NODES], own;
	u32 n = 0;
	int j;

	rdl_stat(&w->node[i].core, &own);
	for (j = 0; j < w->n; j++) {
		if (w->node[j].evicted)
			continue;
		if (!w->node[j].alive)
			return;	/* its eviction will do */
		rdl_stat(&w->node[j].core, &all[n++]);
	}
	if (rdl_stat_stuck(&own, all, n))
		w->need = true;
}

void small_home_message(struct small *w, int i)
{
	struct small_node *node = &w->node[i];
	struct small_msg m = node->to_home[0];

	memmove(&node->to_home[0], &node->to_home[1], --node->nto * sizeof(m));
	switch (m.type) {
	case RDL_ACT_CLAIM:
		if (!w->recovering || m.epoch != w->rec.epoch)
			return;
		if (rdl_recover_claim(&w->rec, i, m.epoch, &m.claim))
			small_wrong(w, "node %d's claim is refused", i);
		small_try_finish(w);
		break;
	case RDL_ACT_ROLL:
		if (m.epoch == w->epoch)
			w->need = true;
		break;
	case RDL_ACT_CONSISTENT:
		if (m.epoch != w->epoch || w->recovering)
			return;
		w->settled |= m.arg;
		w->need = true;
		break;
	case RDL_ACT_QUERY:
		if (!w->recovering && !w->need)
			small_query(w, i);
		break;
	}
}
