// SPDX-License-Identifier: GPL-2.0
/*
 * Exhaustive mode: the home. It does what kmod/home.c, member.c and recovery.c do; the decisions of a recovery are the
 * real ones. Changing the word through the loopback pair is one step: the home loops until its CAS was not overtaken.
 */
#include "exhaust.h"
#include "order.h"
#include "kind.h"
#include "slot.h"

static bool has(u8 set, int n)
{
	return set >> n & 1;
}

static u32 next_epoch(u32 epoch)
{
	if (rdl_epoch_rep(epoch) < RDL_REP_MAX)
		return epoch + 1;
	return rdl_epoch(rdl_epoch_gen(epoch) + 1, 0);
}

static void tell(struct xworld *w, int n, u8 type)
{
	struct xmsg m;

	memset(&m, 0, sizeof(m));
	m.type = type;
	m.epoch = w->epoch;
	if (type == RDL_MSG_OPENED)
		m.vflags = w->dead;
	x_queue_down(w, n, &m);
}

/*
 * The home's own operation of unknown outcome cannot land once the home has used the pair that was made anew, and it
 * uses it here.
 */
static void word_set(struct xworld *w, u64 word)
{
	x_op_late_gone(&w->node[0]);
	x_did[XC_HOME]++;
	w->word = word;
}

static void claim_of(const struct xmsg *m, struct rdl_claim *c)
{
	memset(c, 0, sizeof(*c));
	c->what = m->what;
	c->mode = m->mode;
	c->ticket = m->ticket;
	c->ticket_epoch = m->ticket_epoch;
	c->nx = m->nx;
	c->handed_epoch = m->handed_epoch;
	c->handed_ticket = m->handed_ticket;
	c->ver = m->ver;
	c->vflags = m->vflags;
	c->report = m->report;
}

/* The real recovery, from what it was told so far. Claims of different nodes do not depend on their order. */
static struct rdl_recover *rec_build(struct xworld *w)
{
	static struct rdl_recover rec;
	u64 openers[RDL_MAX_NODES / 64] = { w->rec.openers };
	int n;

	rdl_recover_start(&rec, x_cfg.kind, w->rec.epoch, w->rec.epoch_new, w->rec.frozen, openers, w->rec.died,
			  w->rec.clear);
	for (n = 0; n < x_cfg.nodes; n++) {
		struct rdl_claim c;

		claim_of(&w->rec.claim[n], &c);
		if (has(w->rec.claimed, n) && rdl_recover_claim(&rec, n, w->rec.epoch, &c))
			x_fail(w, "node %d's claim %d is refused", n, c.what);
	}
	for (n = 0; n < x_cfg.nodes; n++)
		if (has(w->rec.gone, n))
			rdl_recover_gone(&rec, n, has(w->rec.gone_died, n));
	rec.seed = rdl_slot_seed(0, 0);
	rec.props = x_cfg.props;
	rec.dead = w->dead;
	rec.settled = w->rec.settled;
	rec.ver = w->ver;
	rec.vflags = w->vflags;
	rec.big = !!(x_cfg.props & RDL_P_BIG);
	rec.body_bad = w->bytes != w->sum;
	return &rec;
}

/*
 * A holder may have changed it after its claim: then it is where it belongs. Or have died since, which the next
 * recovery says.
 */
static bool newest_held(const struct xworld *w, const struct rdl_recover *r)
{
	int n;

	for (n = 0; n < x_cfg.nodes; n++) {
		const struct xnode *node = &w->node[n];

		if (rdl_has_claimed(r, n) && r->claim[n].what == RDL_CLAIM_HOLD &&
		    (node->copy == w->newest || node->life != X_ALIVE || node->lost))
			return true;
	}
	return false;
}

/* Value and board first, then the word. */
static void rebuild_body(struct xworld *w, const struct rdl_recover *r)
{
	u32 before = w->vflags;
	int n;

	w->ver = r->ver;
	w->vflags = r->vflags;
	if (r->wipe) {
		w->bytes = 0;
		w->sum = 0;
	}
	if ((x_cfg.props & RDL_P_VALUE) && w->ver != w->newest && !(w->vflags & RDL_VF_VALUE_INVALID) &&
	    !newest_held(w, r))
		x_fail(w, "the value is lost in a recovery, and nobody is told");
	if (w->vflags & ~before & (x_cfg.props & RDL_P_ROBUST ? RDL_VF_VALUE_INVALID : RDL_VF_OWNER_DIED))
		w->newest = w->ver;
	for (n = 0; n < x_cfg.nodes; n++)
		w->slot[n] = x_slot_strip(rdl_recover_slot(r, n));
}

static bool claims(const struct rdl_recover *r, int node, u8 report)
{
	return node && rdl_has_claimed(r, node - 1) && r->claim[node - 1].report == report;
}

/* What the home makes of what it was told of a robust lock. */
static void rebuild_dead(struct xworld *w, const struct rdl_recover *r)
{
	bool ruined = r->dead & RDL_VF_NOTRECOVERABLE, was = w->dead & RDL_VF_NOTRECOVERABLE;

	w->dead = r->dead;
	if (claims(r, w->whole_by, RDL_REPORT_CONSISTENT)) {
		w->must = 0;
		w->may = r->opener_died;
		w->whole_by = 0;
	}
	if (claims(r, w->gave_up, RDL_REPORT_FAILED)) {
		if (!ruined)
			x_fail(w, "node %d's user has given up, and the home goes on", w->gave_up - 1);
		w->gave_up = 0;
	} else if (ruined && !was) {
		x_fail(w, "nobody has given up, and the home does");
	}
	if (!was || ruined)
		return;
	if (!w->reset)
		x_fail(w, "it is recoverable again, and nobody has reset it");
	w->reset = 0;
	w->must = 0;
	w->may = r->opener_died;
}

static void finish(struct xworld *w, struct rdl_recover *r)
{
	bool died = w->again_died, again = w->again;
	u8 delayed = w->delayed, old = w->delayed_old;
	int n, early, late;

	rdl_recover_finish(r);
	if (!order_kept(r, x_cfg.nodes, &early, &late))
		x_fail(w, "node %d waited behind node %d, and a recovery puts it before", early, late);
	if (!rdl_w_frozen(w->word))
		x_fail(w, "the word thawed by itself");
	if (x_cfg.kind != RDL_KIND_SPIN)
		rebuild_body(w, r);
	rebuild_dead(w, r);
	word_set(w, r->word);
	w->epoch = r->epoch_new;
	w->recovering = 0;
	w->delayed = 0;
	w->delayed_old = 0;
	w->again = 0;
	w->again_died = 0;
	memset(&w->rec, 0, sizeof(w->rec));
	x_say("home: rebuilt, epoch %x, word %016llx", w->epoch, (unsigned long long)w->word);
	for (n = 0; n < x_cfg.nodes; n++) {
		const struct rdl_rebuilt *rep = &r->reply[n];
		struct xmsg m;

		memset(&m, 0, sizeof(m));
		m.type = RDL_MSG_REBUILT;
		m.epoch = w->epoch;
		m.what = rep->what;
		m.mode = rep->mode;
		m.granted = rep->granted;
		m.ticket = rep->ticket;
		m.vflags = rep->vflags;
		m.pred = rep->pred;
		m.succ = rep->succ;
		m.ver = rep->ver;
		if ((r->claimed[0] >> n & 1) && has(w->openers, n))
			x_queue_down(w, n, &m);
	}
	for (n = 0; n < x_cfg.nodes; n++) {
		if (!has(delayed, n))
			continue;
		w->openers |= 1 << n;
		/* The node does not know the number of a request of an old link any more. */
		if (!has(old, n))
			tell(w, n, RDL_MSG_OPENED);
	}
	if (again)
		x_home_recover(w, died, false);
}

static void maybe_finish(struct xworld *w)
{
	struct rdl_recover *r = rec_build(w);

	if (!w->failed && rdl_recover_ready(r))
		finish(w, r);
}

static void recover(struct xworld *w, bool died, bool clear, u8 settled)
{
	int n;

	if (w->recovering) {
		w->again = 1;
		w->again_died |= died;
		return;
	}
	memset(&w->rec, 0, sizeof(w->rec));
	w->recovering = 1;
	w->rec.frozen = w->word;
	w->rec.epoch = w->epoch;
	w->rec.epoch_new = next_epoch(w->epoch);
	w->rec.openers = w->openers;
	w->rec.died = died;
	w->rec.clear = clear;
	w->rec.settled = settled;
	word_set(w, w->word | RDL_W_F);
	x_say("home: frozen at %016llx, openers %x", (unsigned long long)w->word, w->openers);
	for (n = 0; n < x_cfg.nodes; n++)
		if (has(w->openers, n))
			tell(w, n, RDL_MSG_FREEZE);
	maybe_finish(w);
}

void x_home_recover(struct xworld *w, bool died, bool clear)
{
	recover(w, died, clear, 0);
}

bool x_home_expects(const struct xworld *w, int n)
{
	return w->recovering && has(w->rec.openers, n) && !has(w->rec.claimed, n) && !has(w->rec.gone, n);
}

void x_home_remind(struct xworld *w, int n)
{
	tell(w, n, RDL_MSG_FREEZE);
}

static void closed(struct xworld *w, int n, bool died)
{
	if (!has(w->openers, n))
		return;
	w->openers &= ~(1 << n);
	if (w->recovering) {
		w->rec.gone |= 1 << n;
		w->rec.gone_died |= died << n;
		maybe_finish(w);
	} else if (died && (x_cfg.kind == RDL_KIND_SPIN ? rdl_w_mid(w->word) == n + 1u :
			    rdl_w_mid(w->word) || rdl_w_low(w->word))) {
		x_home_recover(w, true, false);
	}
}

void x_home_evict(struct xworld *w, int n)
{
	struct xnode *node = &w->node[n];

	/* First the queue pairs and keys, then the recovery. */
	if (!rdl_bust(FREEZE_BEFORE_QP))
		x_op_unreach(node);
	node->n_up = 0;
	memset(node->up, 0, sizeof(node->up));
	x_node_link_down(w, n);
	node->session = 0;
	if (node->holder && node->user_mode == RDL_MODE_X && node->instance == w->instance) {
		node->evicted = 1;
		w->death_untold = 1;
		w->must = 1;
	}
	w->may = 1;
	if (w->gave_up == n + 1)
		w->gave_up = 0;
	if (w->whole_by == n + 1)
		w->whole_by = 0;
	if (node->life != X_ALIVE) {
		node->life = X_GONE;
		node->holder = 0;
		node->user_mode = 0;
		node->evicted = 0;
	}
	w->delayed &= ~(1 << n);
	w->delayed_old &= ~(1 << n);
	closed(w, n, true);
}

void x_home_restart(struct xworld *w)
{
	int n;

	w->instance++;
	w->epoch = rdl_epoch(1, 0);
	w->word = rdl_w_pack(0, 0, 0, w->epoch, false, false);
	w->openers = 0;
	w->delayed = 0;
	w->delayed_old = 0;
	w->recovering = 0;
	w->again = 0;
	w->again_died = 0;
	w->death_untold = 0;
	w->dead = 0;
	w->must = 0;
	w->may = 0;
	w->reset = 0;
	w->gave_up = 0;
	w->whole_by = 0;
	w->last_token = 0;
	w->last_x = 0;
	w->ver = 0;
	w->vflags = 0;
	w->newest = 0;
	w->bytes = 0;
	w->sum = 0;
	memset(w->slot, 0, sizeof(w->slot));
	/* They are between incarnations that are over. */
	memset(w->peer, 0, sizeof(w->peer));
	w->n_peer = 0;
	memset(&w->rec, 0, sizeof(w->rec));
	for (n = 0; n < x_cfg.nodes; n++) {
		struct xnode *node = &w->node[n];

		/* Its memory is gone, and what was in flight to it. */
		node->n_up = 0;
		memset(node->up, 0, sizeof(node->up));
		node->session = 0;
		x_op_unreach(node);
		x_node_link_down(w, n);
		if (node->life == X_DEAD || node->life == X_LEAVING) {
			node->life = X_GONE;
			node->holder = 0;
			node->user_mode = 0;
		}
	}
	x_node_start(w, 0);
	x_node_open(w, 0);
}

static void opened(struct xworld *w, int n, const struct xmsg *m)
{
	if (w->recovering && !has(w->openers, n)) {
		w->delayed |= 1 << n;
		w->delayed_old &= ~(1 << n);
		return;
	}
	w->openers |= 1 << n;
	tell(w, n, RDL_MSG_OPENED);
	/* In this order: the answer, then what the node is to do about it. */
	if (w->recovering)
		tell(w, n, RDL_MSG_FREEZE);
	else if (m->what & RDL_OPEN_AMBIG)
		x_home_recover(w, false, false);
}

static void claimed(struct xworld *w, int n, const struct xmsg *m)
{
	if (!w->recovering || m->epoch != w->rec.epoch)
		return;
	if (has(w->rec.claimed, n) && !has(w->rec.gone, n)) {
		struct rdl_recover *r = rec_build(w);
		struct rdl_claim c;

		/* The answer to a FREEZE that was repeated. */
		claim_of(m, &c);
		if (rdl_recover_claim(r, n, m->epoch, &c))
			x_fail(w, "node %d's second claim differs from its first", n);
		return;
	}
	/* One that opened the lock since is not asked in this recovery. */
	if (!x_home_expects(w, n))
		x_fail(w, "node %d claims and was not asked", n);
	w->rec.claim[n] = *m;
	w->rec.claimed |= 1 << n;
	maybe_finish(w);
}

/* Does anybody still work for who waits? The openers are asked and answer in one step. */
static void query(struct xworld *w, int n)
{
	struct rdl_stat all[XN], own;
	u32 many = 0;
	int i;

	rdl_stat(&w->node[n].core, &own);
	for (i = 0; i < x_cfg.nodes; i++) {
		const struct xnode *node = &w->node[i];

		if (!has(w->openers, i))
			continue;
		/* It does not answer, and its eviction will do. */
		if (node->life != X_ALIVE || !node->registered)
			return;
		rdl_stat(&node->core, &all[many++]);
	}
	if (rdl_stat_stuck(&own, all, many))
		x_home_recover(w, false, false);
}

void x_home_rx(struct xworld *w, int n)
{
	struct xnode *node = &w->node[n];
	struct xmsg m = node->up[0];

	memmove(node->up, node->up + 1, (XQ - 1) * sizeof(m));
	memset(&node->up[XQ - 1], 0, sizeof(m));
	node->n_up--;
	x_say("home: %s from node %d, epoch %x", m.type == X_MSG_QUERY ? "QUERY" : rdl_msg_name(m.type), n, m.epoch);
	if (!node->session)
		return;
	if (m.type == RDL_MSG_OPEN) {
		opened(w, n, &m);
		return;
	}
	if (m.type == RDL_MSG_BYE) {
		node->session = 2;
		return;
	}
	if (!has(w->openers, n))
		return;
	switch (m.type) {
	case RDL_MSG_CLAIM:
		claimed(w, n, &m);
		break;
	case RDL_MSG_ROLL_REQ:
		if (m.epoch == w->epoch && !w->recovering)
			x_home_recover(w, false, false);
		break;
	case RDL_MSG_CONSISTENT:
		/* Of an epoch that is about to end: a holder that still has the notice says it again. */
		if (m.epoch == w->epoch && !w->recovering)
			recover(w, false, true, m.vflags);
		break;
	case X_MSG_QUERY:
		if (!w->recovering && w->node[n].registered)
			query(w, n);
		break;
	}
}
