// SPDX-License-Identifier: GPL-2.0
/*
 * Messages between nodes. Any of them may be late, repeated, or out of order; each names the epoch and the ticket that
 * it is about, and counts only for these:
 *
 *   of an epoch that is over     ignored: the recovery has told everybody anew
 *   of the present one           taken if the ticket fits and this node has not claimed
 *   of one that has not begun    parked: REBUILT is on its way. Dropped it would be lost for good, its sender will not
 *                                repeat it.
 */
#include "bust.h"
#include "queue.h"

/* Messages bring the bytes of a value, unless it is a big one. */
static bool comes_along(const struct rdl_queue *q)
{
	return (q->props & (RDL_P_VALUE | RDL_P_BIG)) == RDL_P_VALUE;
}

static void park(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	struct rdl_queue *q = &l->q;

	if (rdl_bust(NOT_PARKED))
		return;
	if (ev->type == RDL_EV_GRANT && ev->epoch >= q->grant_epoch) {
		q->grant = ev->peer;
		q->grant_epoch = ev->epoch;
		if (comes_along(q))
			rdl_act(acts, RDL_ACT_PARK);
	}
	if (ev->type == RDL_EV_HINT && ev->epoch >= q->hint_epoch) {
		q->next = ev->peer;
		q->hint_epoch = ev->epoch;
	}
}

/* 1: the message is for this epoch; 0: it was ignored or parked. */
int rdl_peer_filter(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	if (l->st == RDL_ST_LOST)
		return 1;
	if (ev->epoch > l->epoch) {
		park(l, ev, acts);
		return 0;
	}
	if (ev->epoch < l->epoch)
		return rdl_bust(OLD_EPOCH_TAKEN);
	return l->frz != RDL_FRZ_CLAIMED || rdl_bust(TAKEN_AFTER_CLAIM);
}

struct rdl_peer *rdl_act_peer(struct rdl_lock *l, struct rdl_acts *acts, u8 type, u16 node, u32 ticket)
{
	struct rdl_action *a = rdl_act(acts, type);

	a->epoch = l->epoch;
	a->peer.node = node;
	a->peer.ticket = ticket;
	return &a->peer;
}

/* Every GRANT carries the granter's own copy of the value, or its version: the newest, whoever had the lock before. */
void rdl_send_grant(struct rdl_lock *l, struct rdl_acts *acts, u16 node, u32 ticket, u8 mode, u8 debt)
{
	struct rdl_peer *p = rdl_act_peer(l, acts, RDL_ACT_SEND_GRANT, node, ticket);

	p->mode = mode;
	p->debt = rdl_bust(GRANT_NO_DEBT) ? 0 : debt;
	p->ver = rdl_bust(DIRECT_NO_VALUE) && l->q.dirty ? 0 : l->q.ver;
	p->vflags = l->q.vflags & ~l->q.noted;
}

void rdl_answer(struct rdl_lock *l, struct rdl_acts *acts, bool idle)
{
	if (!l->q.asker)
		return;
	rdl_act_peer(l, acts, RDL_ACT_SEND_ANSWER, l->q.asker - 1, l->ticket)->idle = idle;
	l->q.asker = 0;
}

/* It is this node's turn: true if it waits for just that. */
bool rdl_take_grant(struct rdl_lock *l, const struct rdl_peer *p, struct rdl_acts *acts, u32 parked)
{
	struct rdl_queue *q = &l->q;

	if (l->st != RDL_ST_WAIT || p->ticket != l->ticket || p->mode != q->mode || p->debt > RDL_DEBT_MAX)
		return false;
	if (q->ticket_epoch != l->epoch || (l->ticket >= RDL_TICKET_HARD && !rdl_bust(HARD_IGNORED)))
		return false;
	if (comes_along(q))
		rdl_act(acts, RDL_ACT_TAKE)->arg = parked;
	if (!(q->props & RDL_P_BIG))
		q->ver = p->ver;
	q->vflags = p->vflags & RDL_VF_ALL;
	q->dirty = 0;
	q->debt = p->debt;
	rdl_granted(l);
	if (rdl_bust(BIG_UNREAD))
		q->ver = p->ver;
	rdl_fetch_bytes(l, p->ver);
	return true;
}

void rdl_hinted(struct rdl_lock *l, u8 mode, u16 node)
{
	struct rdl_queue *q = &l->q;

	q->hint = mode;
	q->hint_node = node;
	q->heard = 1;
	if (rdl_bust(HINT_RENEWS))
		l->handovers = 0;
}

/* Who comes behind a ticket that this node has: true if it is news. */
bool rdl_take_hint(struct rdl_lock *l, const struct rdl_peer *p)
{
	struct rdl_queue *q = &l->q;

	/* A downgrade in flight may fail: then the ticket is exclusive again, and who comes behind has spoken. */
	if (q->mode != RDL_MODE_X && l->st != RDL_ST_DOWN)
		return false;
	if (q->ticket_epoch != l->epoch || p->ticket != l->ticket + 1 || p->node == l->node || q->hint)
		return false;
	if (p->mode != RDL_MODE_S && p->mode != RDL_MODE_X)
		return false;
	rdl_hinted(l, p->mode, p->node);
	return true;
}

/* Kind mcs: who comes next may have spoken before this node knew of its own ticket. */
void rdl_early_hint(struct rdl_lock *l)
{
	struct rdl_queue *q = &l->q;

	if (l->kind != RDL_KIND_MCS || q->hint_epoch != l->epoch)
		return;
	rdl_take_hint(l, &q->next);
	rdl_forget_early(l);
}

void rdl_forget_early(struct rdl_lock *l)
{
	struct rdl_queue *q = &l->q;

	if (l->kind != RDL_KIND_MCS || q->hint_epoch != l->epoch)
		return;
	q->hint_epoch = 0;
	memset(&q->next, 0, sizeof(q->next));
}

/* An epoch has begun: what was parked for it. The home's own word on who has the lock came with REBUILT, before. */
void rdl_replay(struct rdl_lock *l, struct rdl_acts *acts)
{
	struct rdl_queue *q = &l->q;

	if (q->hint_epoch == l->epoch)
		rdl_take_hint(l, &q->next);
	if (q->grant_epoch == l->epoch)
		rdl_take_grant(l, &q->grant, acts, 1);
	if (q->hint_epoch <= l->epoch) {
		q->hint_epoch = 0;
		memset(&q->next, 0, sizeof(q->next));
	}
	if (q->grant_epoch <= l->epoch) {
		q->grant_epoch = 0;
		memset(&q->grant, 0, sizeof(q->grant));
	}
}

/*
 * The value that the home made out of the body and all claims. A holder may have a newer one: it was released after its
 * claim. A big one is in no claim: what was not stored before is not stored now.
 */
void rdl_take_rebuilt(struct rdl_lock *l, const struct rdl_event *ev, struct rdl_acts *acts)
{
	struct rdl_queue *q = &l->q;

	if (ev->rebuilt.ver > q->ver && !(q->props & RDL_P_BIG)) {
		if (q->props & RDL_P_VALUE)
			rdl_act(acts, RDL_ACT_TAKE);
		q->ver = ev->rebuilt.ver;
	}
	if (q->props & RDL_P_BIG ? rdl_bust(REBUILT_STORED) : ev->rebuilt.ver == q->ver)
		q->dirty = 0;
	q->vflags = ev->rebuilt.vflags & RDL_VF_ALL & ~l->dead;
	q->noted &= q->vflags;
}
