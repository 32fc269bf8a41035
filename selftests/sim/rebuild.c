// SPDX-License-Identifier: GPL-2.0
/*
 * The home's recoveries of one lock: freeze the word, ask every opener what it has, rebuild word, value and board from
 * the answers, tell them. And its question round for a waiter that nobody seems to serve.
 */
#include "sim.h"

static void send_lock_msg(struct world *w, int node, int lock, u8 type, u32 epoch)
{
	union buffer b;

	reply_header(w, node, &b.msg, type);
	b.msg.lock = cpu_to_le32(lock);
	b.msg.epoch = cpu_to_le32(epoch);
	send_to_node(w, w->home.sess[node].link, &b.msg);
}

void home_freeze(struct world *w, int node, int lock)
{
	send_lock_msg(w, node, lock, RDL_MSG_FREEZE, w->home.lock[lock].epoch);
}

static u32 next_epoch(u32 epoch)
{
	if (rdl_epoch_rep(epoch) < RDL_REP_MAX)
		return epoch + 1;
	return rdl_epoch(rdl_epoch_gen(epoch) + 1, 0);
}

/* ---- value and board ---- */

static void body_load(struct home_lock *h, int lock)
{
	struct rdl_body *body = (struct rdl_body *)h->body;
	struct rdl_recover *r = &h->rec;

	r->seed = rdl_slot_seed(0, lock);
	r->big = !!(h->props & RDL_P_BIG);
	r->body_bad = body_is_bad(body, r->big ? h->area : NULL);
	r->ver = le64_to_cpu(body->ver);
	r->vflags = body_is_bad(body, NULL) ? 0 : le32_to_cpu(body->vflags) & RDL_VF_ALL;
}

/* The bytes stay where they are; damaged ones stay damaged, or are wiped out. */
static void big_store(struct home_lock *h)
{
	struct rdl_body *body = (struct rdl_body *)h->body;
	struct rdl_recover *r = &h->rec;

	if (r->wipe)
		memset(h->area, 0, sizeof(h->area));
	if (r->body_bad)
		rdl_body_set_big_crc(body, rdl_crc32c(0, h->area, sizeof(h->area)) ^ !r->wipe);
}

/* Which one it is at the home; of damaged bytes none. */
static u64 value_at_home(const struct home_lock *h)
{
	const struct rdl_body *body = (const struct rdl_body *)h->body;

	if (!(h->props & RDL_P_BIG))
		return value_of(body->value);
	return body_is_bad(body, h->area) ? 0 : le64_to_cpu(h->area[0]);
}

/*
 * A holder may have changed it after its claim: then it is where it belongs. Or have died since, which the next
 * recovery says.
 */
static bool newest_held(const struct world *w, int lock)
{
	const struct home_lock *h = &w->home.lock[lock];
	int n;

	for (n = 0; n < w->cfg.nodes; n++) {
		const struct agent *a = &w->node[n].agent[lock];

		if (set_has(h->rec.claimed, n) && h->rec.claim[n].what == RDL_CLAIM_HOLD &&
		    (a->copy == h->newest || !w->node[n].alive || a->open != OPEN || a->core.st == RDL_ST_LOST))
			return true;
	}
	return false;
}

static void body_store(struct world *w, int lock)
{
	struct home_lock *h = &w->home.lock[lock];
	struct rdl_body *body = (struct rdl_body *)h->body;
	struct rdl_recover *r = &h->rec;
	u32 before = le32_to_cpu(body->vflags);
	int n;

	if (r->big)
		big_store(h);
	else if (r->value_from)
		memcpy(body->value, &h->claimed[r->value_from - 1], sizeof(h->claimed[0]));
	else if (r->body_bad)
		memset(body->value, 0, sizeof(body->value));
	body->ver = cpu_to_le64(r->ver);
	body->vflags = cpu_to_le32(r->vflags);
	body->crc = cpu_to_le32(rdl_body_crc(body));
	if ((h->props & RDL_P_VALUE) && value_at_home(h) != h->newest && !(r->vflags & RDL_VF_VALUE_INVALID) &&
	    !newest_held(w, lock))
		violation(w, "lock %d: the value is lost in a recovery, and nobody is told", lock);
	if (r->vflags & ~before & (h->props & RDL_P_ROBUST ? RDL_VF_VALUE_INVALID : RDL_VF_OWNER_DIED))
		h->newest = value_at_home(h);
	for (n = 0; n < w->cfg.nodes; n++)
		h->slot[n] = cpu_to_le64(rdl_recover_slot(r, n));
}

/* ---- recovery ---- */

static void tell(struct world *w, int node, int lock)
{
	struct home_lock *h = &w->home.lock[lock];
	struct rdl_msg_rebuilt *p;
	union buffer b;

	reply_header(w, node, &b.msg, RDL_MSG_REBUILT);
	b.msg.lock = cpu_to_le32(lock);
	b.msg.epoch = cpu_to_le32(h->epoch);
	rdl_msg_put_rebuilt(&b.msg, &h->rec.reply[node]);
	p = rdl_msg_payload(&b.msg);
	if (!(h->props & RDL_P_BIG))
		memcpy(p->value, ((struct rdl_body *)h->body)->value, sizeof(p->value));
	send_to_node(w, w->home.sess[node].link, &b.msg);
	if (chance(w, 5))
		send_to_node(w, w->home.sess[node].link, &b.msg);
}

void home_finish(struct world *w, int lock)
{
	struct home_lock *h = &w->home.lock[lock];
	struct rdl_recover *r = &h->rec;
	struct set delayed = h->delayed;
	int n;

	if (!h->recovering || !rdl_recover_ready(r))
		return;
	if (h->kind != RDL_KIND_SPIN)
		body_load(h, lock);
	r->props = h->props;
	r->dead = h->dead;
	rdl_recover_finish(r);
	judge_rebuilt(w, lock);
	h->dead = r->dead;
	if (!rdl_w_frozen(h->word))
		violation(w, "lock %d: the word thawed by itself", lock);
	if (h->kind != RDL_KIND_SPIN)
		body_store(w, lock);
	h->word = r->word;
	h->epoch = r->epoch_new;
	h->recovering = false;
	memset(&h->delayed, 0, sizeof(h->delayed));
	w->cov->recoveries++;
	h->recoveries++;
	trace(w, "home: lock %d: rebuilt, epoch %x, word %016llx", lock, h->epoch, (unsigned long long)h->word);
	for (n = 0; n < w->cfg.nodes; n++) {
		if (set_has(r->claimed, n))
			tell(w, n, lock);
		if (set_has(delayed.w, n)) {
			set_add(h->openers.w, n);
			home_opened(w, n, lock, h->delayed_req[n]);
		}
	}
}

static void remind(struct world *w, struct event *e);

static void remind_later(struct world *w, int lock)
{
	struct event *e = sched(w, w->cfg.lease / 4, remind, -1);

	e->lock = lock;
	e->arg = w->home.lock[lock].recoveries;
}

/* A node may have had no ear for the first one: it was just opening the lock. */
static void remind(struct world *w, struct event *e)
{
	struct home_lock *h = &w->home.lock[e->lock];
	int n;

	if (!h->recovering || h->recoveries != e->arg)
		return;
	for (n = 0; n < w->cfg.nodes; n++)
		if (set_has(h->rec.expect, n))
			home_freeze(w, n, e->lock);
	remind_later(w, e->lock);
}

void home_recover(struct world *w, int lock, bool died, bool clear, u8 settled)
{
	struct home_lock *h = &w->home.lock[lock];

	if (h->recovering)
		return;
	h->recovering = true;
	h->asked = 0;
	h->word |= RDL_W_F;
	trace(w, "home: lock %d: frozen at %016llx, openers %llx", lock, (unsigned long long)h->word,
	      (unsigned long long)h->openers.w[0]);
	rdl_recover_start(&h->rec, h->kind, h->epoch, next_epoch(h->epoch), h->word & ~RDL_W_F, h->openers.w, died,
			  clear);
	h->rec.settled = settled;
	home_repeat_freeze(w, lock);
	remind_later(w, lock);
	home_finish(w, lock);
}

/* A home may ask again; the same claim must come. */
void home_repeat_freeze(struct world *w, int lock)
{
	struct home_lock *h = &w->home.lock[lock];
	int n;

	if (!h->recovering)
		return;
	for (n = 0; n < w->cfg.nodes; n++)
		if (set_has(h->openers.w, n))
			home_freeze(w, n, lock);
}

void home_claim(struct world *w, int node, int lock, const struct rdl_msg *msg)
{
	const struct rdl_msg_claim *p = rdl_msg_cpayload(msg);
	struct home_lock *h = &w->home.lock[lock];
	struct rdl_claim c;
	bool first;
	int err;

	if (!h->recovering || le32_to_cpu(msg->epoch) != h->rec.epoch)
		return;	/* the answer to a repeated FREEZE */
	rdl_msg_get_claim(msg, &c);
	trace(w, "home: lock %d: node %d claims %d, ticket %u", lock, node, c.what, c.ticket);
	first = set_has(h->rec.expect, node);
	err = rdl_recover_claim(&h->rec, node, le32_to_cpu(msg->epoch), &c);
	if (err)
		violation(w, "lock %d: node %d's claim %d is refused", lock, node, c.what);
	if (first)
		h->claimed[node] = value_of(p->value);
	home_finish(w, lock);
}

/* ---- does anybody still work for who waits? ---- */

#define QUERY_NS	(500 * MS)

void home_query(struct world *w, int node, int lock)
{
	struct home_lock *h = &w->home.lock[lock];
	int n;

	if (h->recovering || (h->asked && w->now < h->asked + QUERY_NS))
		return;
	h->asked = w->now;
	h->asker = node;
	h->answers = 0;
	h->expect = h->openers;
	for (n = 0; n < w->cfg.nodes; n++)
		if (set_has(h->openers.w, n))
			send_lock_msg(w, n, lock, RDL_MSG_ASK, h->epoch);
}

void home_stat(struct world *w, int node, int lock, const struct rdl_msg *msg)
{
	struct home_lock *h = &w->home.lock[lock];
	struct rdl_stat stat;
	u32 i;

	if (!h->asked || le32_to_cpu(msg->epoch) != h->epoch || !set_has(h->expect.w, node))
		return;
	rdl_msg_get_stat(msg, &stat);
	set_del(h->expect.w, node);
	if (node == h->asker)
		h->own = stat;
	h->stat[h->answers++] = stat;
	for (i = 0; i < ARRAY_SIZE(h->expect.w); i++)
		if (h->expect.w[i])
			return;
	h->asked = 0;
	if (rdl_stat_stuck(&h->own, h->stat, h->answers))
		home_recover(w, lock, false, false, 0);
}
