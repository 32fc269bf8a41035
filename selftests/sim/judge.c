// SPDX-License-Identifier: GPL-2.0
/*
 * What must be true: of a grant when it is given, of a node after each of its steps, of everything when all has come to
 * rest.
 */
#include "order.h"
#include "sim.h"

/* ---- grants ---- */

/* No other node believes, with a valid lease, that users of it hold the lock in a mode that does not go with @mode. */
void judge_exclusion(struct world *w, int n, int lock, u8 mode)
{
	int i;

	for (i = 0; i < w->cfg.nodes; i++) {
		const struct agent *a = &w->node[i].agent[lock];

		if (i == n || !a->users || (mode == RDL_MODE_S && a->mode == RDL_MODE_S) || !node_lease_valid(w, i))
			continue;
		violation(w, "lock %d: granted on node %d while node %d holds it", lock, n, i);
	}
}

static void judge_token(struct world *w, int n, int lock, u64 token, u8 mode)
{
	struct home_lock *h = &w->home.lock[lock];
	u64 least = mode == RDL_MODE_X ? h->last_token : h->last_x;

	if (token <= least)
		violation(w, "lock %d: node %d: token %llx after %llx", lock, n, (unsigned long long)token,
			  (unsigned long long)least);
	if (mode == RDL_MODE_X)
		h->last_x = token;
	if (token > h->last_token)
		h->last_token = token;
}

static void judge_value(struct world *w, int n, int lock, u32 told)
{
	struct home_lock *h = &w->home.lock[lock];
	const struct agent *a = &w->node[n].agent[lock];

	if (!(h->props & RDL_P_VALUE))
		return;
	if (told & RDL_GRANT_VALUE_INVALID) {
		if (h->written)
			violation(w, "lock %d: node %d is told that a value is lost that was written since", lock, n);
		h->newest = a->copy;
	}
	if (a->copy != h->newest)
		violation(w, "lock %d: node %d gets value %llx, the newest is %llx", lock, n,
			  (unsigned long long)a->copy, (unsigned long long)h->newest);
	if (a->copy != a->core.q.ver)
		violation(w, "lock %d: node %d: core and shell disagree about the value", lock, n);
}

/* The core has taken a value that its user changed; no other value may have that version. */
void judge_written(struct world *w, int n, int lock)
{
	struct home_lock *h = &w->home.lock[lock];
	struct agent *a = &w->node[n].agent[lock];

	a->copy = a->core.q.ver;
	if (a->copy <= h->newest)
		violation(w, "lock %d: node %d: two values have version %llx", lock, n, (unsigned long long)a->copy);
	h->newest = a->copy;
	h->written = true;
}

static void judge_robust(struct world *w, int n, int lock, bool told)
{
	struct home_lock *h = &w->home.lock[lock];

	if (h->must && !told)
		violation(w, "lock %d: node %d is not told that an owner died", lock, n);
	if (!h->may && told)
		violation(w, "lock %d: node %d is told of a death that was none", lock, n);
	if (h->gave_up)
		violation(w, "lock %d: granted on node %d though node %d has given up", lock, n, h->gave_up - 1);
	if (h->dead & RDL_VF_NOTRECOVERABLE)
		violation(w, "lock %d: granted on node %d though it is not recoverable", lock, n);
	w->cov->deaths += told;
}

static void judge_death(struct world *w, int n, int lock, u32 told)
{
	struct home_lock *h = &w->home.lock[lock];

	if (h->props & RDL_P_ROBUST) {
		judge_robust(w, n, lock, told & RDL_GRANT_OWNER_DIED);
		return;
	}
	if (h->death_untold && !(told & (RDL_GRANT_OWNER_DIED | RDL_GRANT_MAYBE_DIED)))
		violation(w, "lock %d: node %d is not told that the owner died", lock, n);
	if ((told & RDL_GRANT_OWNER_DIED) && !h->may)
		violation(w, "lock %d: node %d is told of a death that was none", lock, n);
	if (told & RDL_GRANT_OWNER_DIED)
		w->cov->deaths++;
}

/* A user has looked at a grant that tells of a death. If the home has evicted the node since, that was another one. */
void judge_told(struct world *w, int n, int lock)
{
	struct home_lock *h = &w->home.lock[lock];
	const struct session *s = &w->home.sess[n];

	if (s->live && s->inc == w->node[n].inc && set_has(h->openers.w, n))
		h->death_untold = false;
}

/* A request has failed because the lock is not recoverable. The home may have evicted the node since. */
void judge_ruin(struct world *w, int n, int lock)
{
	const struct home_lock *h = &w->home.lock[lock];

	if (!(h->dead & RDL_VF_NOTRECOVERABLE) && set_has(h->openers.w, n))
		violation(w, "lock %d: node %d gives up a lock that can be had", lock, n);
}

/* An owner is told that the home knows what it has said. */
void judge_whole(struct world *w, int n, int lock)
{
	const struct home_lock *h = &w->home.lock[lock];

	if ((h->dead & RDL_VF_OWNER_DIED) && set_has(h->openers.w, n))
		violation(w, "lock %d: node %d said that it is whole, and the home does not know", lock, n);
	w->cov->whole++;
}

static bool claims(const struct home_lock *h, int node, u8 report)
{
	return node && set_has(h->rec.claimed, node - 1) && h->rec.claim[node - 1].report == report;
}

/* What a recovery notes of deaths and lost values, where the home does not keep it in @dead. */
static void judge_noted(struct world *w, int lock)
{
	struct home_lock *h = &w->home.lock[lock];
	bool noted = rdl_w_attention(h->rec.word) || (h->rec.vflags & RDL_VF_OWNER_DIED);

	if (h->rec.vflags & RDL_VF_VALUE_INVALID)
		h->written = false;
	if (h->props & RDL_P_ROBUST)
		return;
	if (h->rec.opener_died)
		h->may = true;
	else if (!noted)
		h->may = false;
	if (noted && !h->may)
		violation(w, "lock %d: a recovery notes a death that was none", lock);
}

/* What the home has made of what it was told, before it is the lock's. */
void judge_rebuilt(struct world *w, int lock)
{
	struct home_lock *h = &w->home.lock[lock];
	bool ruined = h->rec.dead & RDL_VF_NOTRECOVERABLE, was = h->dead & RDL_VF_NOTRECOVERABLE;
	int early, late;

	if (!order_kept(&h->rec, w->cfg.nodes, &early, &late))
		violation(w, "lock %d: node %d waited behind node %d, and a recovery puts it before", lock, early,
			  late);
	judge_noted(w, lock);
	if (claims(h, h->whole_by, RDL_REPORT_CONSISTENT)) {
		h->must = false;
		h->may = h->rec.opener_died;
		h->whole_by = 0;
	}
	if (claims(h, h->gave_up, RDL_REPORT_FAILED)) {
		if (!ruined)
			violation(w, "lock %d: node %d's owner has given up, and the home goes on", lock,
				  h->gave_up - 1);
		h->gave_up = 0;
		w->cov->ruined++;
	} else if (ruined && !was) {
		violation(w, "lock %d: nobody has given up, and the home does", lock);
	}
	if (!was || ruined)
		return;
	if (!h->reset)
		violation(w, "lock %d: is recoverable again, and nobody has reset it", lock);
	h->reset = false;
	h->must = false;
	h->may = h->rec.opener_died;
	w->cov->reset++;
}

/*
 * FIFO between nodes: once a request has its ticket, another node gives the lock to younger users at most as often as
 * its budget allows. It may do so more often only while it has not heard that somebody waits, for no longer than a HINT
 * takes; when it has, what it gave since the ticket was drawn counts. The core counts from the grant, this from the
 * ticket.
 */
static void judge_overtaking(struct world *w, int n, int lock, u32 more, bool asked)
{
	const struct agent *a = &w->node[n].agent[lock];
	const struct thread *th = &w->node[n].thread[a->fifo[0]];
	int i;

	for (i = 0; i < w->cfg.nodes; i++) {
		const struct agent *b = &w->node[i].agent[lock];

		if (i == n || b->core.st != RDL_ST_WAIT || th->since <= b->drawn)
			continue;
		w->over[i][n] += more;
		if (asked) {
			if (w->over[i][n] > w->did.overtaken)
				w->did.overtaken = w->over[i][n];
			continue;
		}
		if (w->over[i][n] > w->did.unheard)
			w->did.unheard = w->over[i][n];
		if (w->now - b->drawn > w->did.unheard_ns)
			w->did.unheard_ns = w->now - b->drawn;
	}
}

static void judge_budget(struct world *w, int n, int lock, const struct rdl_action *act, u8 mode)
{
	struct agent *a = &w->node[n].agent[lock];
	const struct rdl_queue *q = &a->core.q;
	bool asked;

	if (!(act->arg & RDL_GRANT_LOCAL)) {
		w->did.turns++;
		if (a->core.kind != RDL_KIND_SPIN)
			a->local_run = 0;
		return;
	}
	w->cov->local++;
	/* A node that keeps it until it is asked for it may use it as often as it likes before. */
	asked = mode == RDL_MODE_S || q->hint || (a->core.kind != RDL_KIND_MCS && !(q->props & RDL_P_STICKY));
	/* Counted here, too: the core's own number is a part of what is judged. Of readers, more may be let in. */
	a->local_run += mode == RDL_MODE_X;
	if (a->core.kind == RDL_KIND_SPIN ? a->local_run > w->cfg.budget :
	    asked && (a->core.handovers > w->cfg.budget || (mode == RDL_MODE_X && a->local_run > w->cfg.budget)))
		violation(w, "lock %d: node %d hands over more often than its budget", lock, n);
	if (w->cfg.hammer)
		judge_overtaking(w, n, lock, act->n ? act->n : 1, asked);
}

/* Before the users leave the queue. */
void judge_grant(struct world *w, int n, int lock, const struct rdl_action *act, u32 f)
{
	struct agent *a = &w->node[n].agent[lock];
	u32 many = act->n ? act->n : 1, i;
	u8 mode = act->mode == RDL_MODE_S ? RDL_MODE_S : RDL_MODE_X;

	if (a->nfifo < (int)many) {
		violation(w, "lock %d: node %d grants to nobody", lock, n);
		return;
	}
	if (a->users && (mode == RDL_MODE_X || a->mode == RDL_MODE_X))
		violation(w, "lock %d: node %d grants it twice", lock, n);
	judge_exclusion(w, n, lock, mode);
	if (!node_lease_valid(w, n) || !(f & RDL_F_LEASE))
		violation(w, "lock %d: granted on node %d without a valid lease", lock, n);
	for (i = 0; i < many; i++) {
		if (w->node[n].thread[a->fifo[i]].mode != mode)
			violation(w, "lock %d: node %d: a waiter is given mode %u", lock, n, mode);
		judge_token(w, n, lock, act->val + i, mode);
	}
	if (act->val + many - 1 != a->core.token)
		violation(w, "lock %d: the token delivered is not the token kept", lock);
	judge_death(w, n, lock, act->arg);
	judge_value(w, n, lock, act->arg);
	judge_budget(w, n, lock, act, mode);
	w->cov->grants += many;
	w->cov->readers += mode == RDL_MODE_S ? many : 0;
	a->granted += many;
}

void judge_conversion(struct world *w, int n, int lock, const struct rdl_action *act)
{
	if (w->node[n].agent[lock].users != 1)
		violation(w, "lock %d: node %d converts for nobody", lock, n);
	judge_token(w, n, lock, act->val, act->mode);
	judge_exclusion(w, n, lock, act->mode);
}

/* ---- a node ---- */

/* Documentation/protocol.rst: at most 8 atomics in a wait of 1 ms. */
void judge_draw(struct world *w, int n, int lock)
{
	struct agent *a = &w->node[n].agent[lock];
	u64 *at = &a->cas_at[a->cas_n % 8];

	if (a->cas_n >= 8 && w->now - *at < MS)
		violation(w, "lock %d: node %d posts more than 8 atomics in 1 ms", lock, n);
	*at = w->now;
	a->cas_n++;
}

/* Who looks for a slot that is not there yet looks the rarer the longer it has: at most 32 times in a wait of 1 ms. */
void judge_looks(struct world *w, int n, int lock, u8 type)
{
	struct agent *a = &w->node[n].agent[lock];
	u64 *at = &a->look_at[a->looks % ARRAY_SIZE(a->look_at)];

	if (type == RDL_ACT_POST_CAS || type == RDL_ACT_POST_FAA)
		a->looks = 0;
	if (type != RDL_ACT_POST_READ_SLOTS)
		return;
	if (a->looks >= ARRAY_SIZE(a->look_at) && w->now - *at < MS)
		violation(w, "lock %d: node %d looks at the board more than %zu times in 1 ms", lock, n,
			  ARRAY_SIZE(a->look_at));
	*at = w->now;
	a->looks++;
}

/* After a full second the home is asked only for what was lost; who polls waits for nobody's message. */
void judge_query(struct world *w, int n, int lock)
{
	const struct home_lock *h = &w->home.lock[lock];
	const struct agent *a = &w->node[n].agent[lock];

	w->cov->queries++;
	if (!h->lossy && !a->untimely && h->kind != RDL_KIND_TICKET)
		violation(w, "lock %d: node %d asks the home, and nothing was lost", lock, n);
}

/* It could go on, and has not asked for a timer. */
static bool asleep(const struct world *w, const struct rdl_lock *l, u32 f)
{
	if (!(f & RDL_F_LINK) || l->frz != RDL_FRZ_RUN || l->is_void || l->armed || l->landing)
		return false;
	if (l->st == RDL_ST_STORE)
		return !l->io;
	if (l->kind == RDL_KIND_FAIR || l->kind == RDL_KIND_TICKET)
		return l->st == RDL_ST_OWED || l->st == RDL_ST_WANT;
	/* Past the limit only the rebuild helps, which was asked for. */
	if (l->kind == RDL_KIND_MCS)
		return l->st == RDL_ST_OWED || (l->st == RDL_ST_WANT && rdl_w_ticket(l->guess) < w->cfg.hard);
	return l->st == RDL_ST_OWED || (l->st == RDL_ST_WAIT && rdl_w_ticket(l->guess) < w->cfg.hard);
}

void judge_agent(struct world *w, int n, int lock, u32 f)
{
	struct agent *a = &w->node[n].agent[lock];
	const struct rdl_lock *l = &a->core;
	const char *err = rdl_check(l);

	if (err)
		violation(w, "lock %d: node %d: %s", lock, n, err);
	if ((int)l->nq != a->nfifo)
		violation(w, "lock %d: node %d counts %u waiters, there are %d", lock, n, l->nq, a->nfifo);
	if ((int)l->users != a->users)
		violation(w, "lock %d: node %d and its users disagree who holds", lock, n);
	if (!!l->io != !!a->op[OP_WORD] || !!l->q.rd != !!a->op[OP_READ] || !!l->q.slot != !!a->op[OP_SLOT])
		violation(w, "lock %d: node %d lost track of its operations", lock, n);
	if ((l->dead & RDL_VF_NOTRECOVERABLE) && l->users)
		violation(w, "lock %d: node %d has what is not recoverable", lock, n);
	if (asleep(w, l, f))
		violation(w, "lock %d: node %d: nothing will wake it from state %s", lock, n, rdl_state_name(l->st));
}

/* ---- at rest ---- */

static bool agent_rests(const struct world *w, const struct agent *a)
{
	const struct rdl_lock *l = &a->core;

	if (a->open != OPEN || rdl_idle(l))
		return true;
	/* Not to be closed: it may be kept, or the only copy of its value be here. */
	return !w->cfg.shed && !l->nq && !l->io && (l->st == RDL_ST_CACHED || l->st == RDL_ST_NONE) &&
	       l->frz == RDL_FRZ_RUN && !l->is_void;
}

/* The words must say what the idle owners have, and nothing else. */
static bool word_rests(const struct world *w, int lock)
{
	const struct home_lock *h = &w->home.lock[lock];
	u32 mid = 0;
	int n;

	for (n = 0; n < w->cfg.nodes; n++) {
		const struct agent *a = &w->node[n].agent[lock];

		if (w->node[n].alive && a->open == OPEN && a->core.st == RDL_ST_CACHED)
			mid += h->kind == RDL_KIND_MCS ? n + 1 : 1 + a->core.q.debt;
	}
	return rdl_w_mid(h->word) == mid && !rdl_w_low(h->word) && !rdl_w_frozen(h->word) &&
	       (!rdl_w_attention(h->word) || h->may || (h->props & RDL_P_ROBUST));
}

/* Is anybody still waiting for anything? The heartbeats never end. */
bool at_rest(const struct world *w)
{
	int n, t, i;

	for (n = 0; n < w->cfg.nodes; n++) {
		const struct node *node = &w->node[n];

		if (!node->alive && w->home.sess[n].live)
			return false;
		if (!node->alive)
			continue;
		if (node->ss != SESSION_UP)
			return false;
		for (t = 0; t < w->cfg.threads; t++)
			if (node->thread[t].st != IDLE)
				return false;
		for (i = 0; i < w->cfg.locks; i++)
			if (!agent_rests(w, &node->agent[i]))
				return false;
	}
	for (i = 0; i < w->cfg.locks; i++)
		if (w->home.lock[i].recovering || !word_rests(w, i))
			return false;
	return true;
}

void judge_rest(struct world *w)
{
	int i, n, t;

	for (n = 0; n < w->cfg.nodes; n++) {
		struct node *node = &w->node[n];

		if (!node->alive)
			continue;
		for (t = 0; t < w->cfg.threads; t++)
			if (node->thread[t].st != IDLE)
				violation(w, "lock %d: node %d's user %d is forgotten, waiting since %llu us",
					  node->thread[t].lock, n, t,
					  (unsigned long long)(node->thread[t].since / US));
		for (i = 0; i < w->cfg.locks; i++)
			if (!agent_rests(w, &node->agent[i]))
				violation(w, "lock %d: node %d is left in state %s", i, n,
					  rdl_state_name(node->agent[i].core.st));
	}
	for (i = 0; i < w->cfg.locks; i++) {
		struct home_lock *h = &w->home.lock[i];

		if (h->recovering)
			violation(w, "lock %d: a recovery never ended", i);
		if (!word_rests(w, i))
			violation(w, "lock %d: word %016llx at rest", i, (unsigned long long)h->word);
	}
}
