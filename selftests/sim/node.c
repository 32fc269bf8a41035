// SPDX-License-Identifier: GPL-2.0
/*
 * A node's side of the locks: the door of the core, and what the core asks for. Every event goes through feed(), where
 * the checkers sit.
 */
#include "sim.h"

static u32 flags(const struct world *w, int n, int lock)
{
	const struct node *node = &w->node[n];
	u32 f = (w->stopping && w->cfg.shed) || node->agent[lock].closing ? RDL_F_SHED : 0;
	bool lease = node->ss == SESSION_UP && w->now + w->cfg.margin < node->lease_end;

	if (lease)
		f |= RDL_F_LEASE;
	if (node->ss == SESSION_UP && node->agent[lock].link && !w->link[node->link].stuck &&
	    (lease || !w->cfg.lease_links))
		f |= RDL_F_LINK;
	return f;
}

/* ---- messages ---- */

u64 value_of(const u8 *bytes)
{
	u64 value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

bool body_is_bad(const struct rdl_body *body, const __le64 *area)
{
	if (rdl_body_crc(body) != le32_to_cpu(body->crc))
		return true;
	return area && rdl_crc32c(0, area, BIG_PIECES * sizeof(*area)) != rdl_body_big_crc(body);
}

void header(struct world *w, int n, struct rdl_msg *msg, u8 type, int lock, u32 epoch)
{
	memset(msg, 0, MAX_MSG);
	msg->type = type;
	msg->src = cpu_to_le16(n);
	msg->src_inc = cpu_to_le32(w->node[n].inc);
	msg->dst_inc = cpu_to_le32(type == RDL_MSG_HELLO ? 0 : 1);
	msg->lock = cpu_to_le32(lock);
	msg->epoch = cpu_to_le32(epoch);
}

void send_plain(struct world *w, int n, u8 type, int lock, u32 epoch, u32 arg)
{
	union buffer b;

	if (w->node[n].link < 0)
		return;
	header(w, n, &b.msg, type, lock, epoch);
	b.msg.arg = cpu_to_le32(arg);
	send_to_home(w, n, &b.msg);
}

static void send_claim(struct world *w, int n, int lock, const struct rdl_action *a)
{
	struct agent *agent = &w->node[n].agent[lock];
	struct rdl_msg_claim *p;
	union buffer b;

	if (w->node[n].link < 0)
		return;
	header(w, n, &b.msg, RDL_MSG_CLAIM, lock, a->epoch);
	rdl_msg_put_claim(&b.msg, &a->claim);
	p = rdl_msg_payload(&b.msg);
	if (a->claim.ver && !(agent->core.q.props & RDL_P_BIG))
		memcpy(p->value, &agent->copy, sizeof(agent->copy));
	send_to_home(w, n, &b.msg);
}

static void send_stat(struct world *w, int n, int lock, u32 epoch)
{
	struct rdl_stat stat;
	union buffer b;

	if (w->node[n].link < 0)
		return;
	rdl_stat(&w->node[n].agent[lock].core, &stat);
	header(w, n, &b.msg, RDL_MSG_STAT, lock, epoch);
	rdl_msg_put_stat(&b.msg, &stat);
	send_to_home(w, n, &b.msg);
}

static void send_peer(struct world *w, int n, int lock, u8 type, const struct rdl_action *a, u16 to, u32 ticket)
{
	struct agent *agent = &w->node[n].agent[lock];
	struct rdl_peer peer = a->peer;
	struct rdl_msg_grant *p;
	union buffer b;

	if (to >= w->cfg.nodes || to == n) {
		violation(w, "lock %d: node %d speaks to node %u", lock, n, to);
		return;
	}
	peer.node = to;
	peer.ticket = ticket;
	header(w, n, &b.msg, type, lock, a->epoch);
	rdl_msg_put_peer(&b.msg, n, &peer);
	p = rdl_msg_payload(&b.msg);
	if (type == RDL_MSG_GRANT && !(agent->core.q.props & RDL_P_BIG))
		memcpy(p->value, &agent->copy, sizeof(agent->copy));
	trace(w, "node %d: lock %d: %s to node %u, ticket %u", n, lock, rdl_msg_name(type), to, ticket);
	send_to_peer(w, n, to, &b.msg);
}

static void send_run(struct world *w, int n, int lock, const struct rdl_acts *acts, const struct rdl_action *a,
		     const struct rdl_event *ev)
{
	int i;

	for (i = 0; i < MAX_NODES; i++) {
		if (!set_has(acts->run, i))
			continue;
		if (i >= ev->nslots) {
			violation(w, "lock %d: node %d grants to nodes that do not exist", lock, n);
			return;
		}
		send_peer(w, n, lock, RDL_MSG_GRANT, a, i, rdl_slot_ticket(le64_to_cpu(ev->slots[i])));
	}
}

/* ---- the core's door ---- */

#define TIMER_LEAST	RDL_POLL_NS	/* the shortest pause of any kind */

static void timer(struct world *w, struct event *e);

static void do_post(struct world *w, int n, int lock, const struct rdl_action *act, u32 f)
{
	struct agent *a = &w->node[n].agent[lock];

	if (!(f & RDL_F_LINK) || a->core.frz != RDL_FRZ_RUN)
		violation(w, "lock %d: node %d posts when it must not", lock, n);
	if (a->unknown)
		violation(w, "lock %d: node %d posts though an outcome is not known", lock, n);
	judge_looks(w, n, lock, act->type);
	if (act->type == RDL_ACT_POST_CAS) {
		a->local_run = 0;
		if (a->core.kind == RDL_KIND_SPIN && a->core.st == RDL_ST_DRAW)
			judge_draw(w, n, lock);
	}
	if (w->node[n].link >= 0)
		post(w, n, lock, act);
}

static void set_timer(struct world *w, int n, int lock, u64 ns)
{
	struct agent *a = &w->node[n].agent[lock];
	struct event *e;

	a->timer_gen++;
	if (!ns)
		return;
	/* Whatever it waits for, it is not there sooner. */
	if (ns < TIMER_LEAST)
		violation(w, "lock %d: node %d looks again after %llu ns", lock, n, (unsigned long long)ns);
	e = sched(w, ns, timer, n);
	e->lock = lock;
	e->gen = a->timer_gen;
	e->arg = ns;
}

static void message(struct world *w, int n, int lock, const struct rdl_acts *acts, const struct rdl_action *act,
		    const struct rdl_event *ev)
{
	const struct agent *a = &w->node[n].agent[lock];

	switch (act->type) {
	case RDL_ACT_CLAIM:
		send_claim(w, n, lock, act);
		break;
	case RDL_ACT_ROLL:
		send_plain(w, n, RDL_MSG_ROLL_REQ, lock, act->epoch, 0);
		break;
	case RDL_ACT_CONSISTENT:
		send_plain(w, n, RDL_MSG_CONSISTENT, lock, act->epoch, act->arg);
		break;
	case RDL_ACT_QUERY:
		judge_query(w, n, lock);
		send_plain(w, n, RDL_MSG_QUERY, lock, act->epoch, 0);
		break;
	case RDL_ACT_SEND_GRANT:
		/* It would be lost, and missed for a second. Who has looked whose turn it is may be too late. */
		if (!(ev->flags & RDL_F_LINK) && a->was != RDL_ST_DUTY && a->was != RDL_ST_DDUTY)
			violation(w, "lock %d: node %d hands on, and has no link", lock, n);
		w->cov->handed++;
		send_peer(w, n, lock, RDL_MSG_GRANT, act, act->peer.node, act->peer.ticket);
		break;
	case RDL_ACT_GRANT_RUN:
		send_run(w, n, lock, acts, act, ev);
		break;
	case RDL_ACT_SEND_HINT:
		send_peer(w, n, lock, RDL_MSG_HINT, act, act->peer.node, act->peer.ticket);
		break;
	case RDL_ACT_SEND_PROBE:
		send_peer(w, n, lock, RDL_MSG_PROBE, act, act->peer.node, act->peer.ticket);
		break;
	case RDL_ACT_SEND_ANSWER:
		send_peer(w, n, lock, RDL_MSG_ANSWER, act, act->peer.node, act->peer.ticket);
		break;
	default:
		violation(w, "lock %d: node %d: action %u", lock, n, act->type);
	}
}

static void perform(struct world *w, int n, int lock, const struct rdl_acts *acts, const struct rdl_action *act,
		    const struct rdl_event *ev, u64 value)
{
	struct agent *a = &w->node[n].agent[lock];

	switch (act->type) {
	case RDL_ACT_POST_CAS:
	case RDL_ACT_POST_FAA:
	case RDL_ACT_POST_READ_SLOTS:
	case RDL_ACT_POST_READ_VALUE:
	case RDL_ACT_POST_READ_WORD:
	case RDL_ACT_POST_WRITE_SLOT:
	case RDL_ACT_POST_READ_AREA:
	case RDL_ACT_POST_WRITE_VALUE:
		do_post(w, n, lock, act, ev->flags);
		break;
	case RDL_ACT_DELIVER:
		judge_grant(w, n, lock, act, ev->flags);
		users_granted(w, n, lock, act->n ? act->n : 1,
			      act->arg & (RDL_GRANT_OWNER_DIED | RDL_GRANT_MAYBE_DIED));
		break;
	case RDL_ACT_FAIL_HEAD:
		waiter_failed(w, n, lock, 0, act->arg);
		break;
	case RDL_ACT_FAIL_TAIL:
		waiter_failed(w, n, lock, a->nfifo - 1, act->arg);
		break;
	case RDL_ACT_FAIL_ALL:
		waiters_ruined(w, n, lock, act->arg);
		break;
	case RDL_ACT_TIMER:
		set_timer(w, n, lock, act->val);
		break;
	case RDL_ACT_LOST:
		trace(w, "node %d: lock %d: its users are told that the grant is gone", n, lock);
		users_cut_off(w, n, lock);
		break;
	case RDL_ACT_TAKE:
		a->copy = act->arg ? a->parked : value;
		break;
	case RDL_ACT_PARK:
		a->parked = value;
		break;
	case RDL_ACT_CONVERTED:
		judge_conversion(w, n, lock, act);
		user_converted(w, n, lock, true, act->mode);
		break;
	case RDL_ACT_CONVERT_FAILED:
		user_converted(w, n, lock, false, a->core.q.mode);
		judge_exclusion(w, n, lock, a->mode);
		break;
	default:
		message(w, n, lock, acts, act, ev);
	}
}

/* Of the queue as it is now. */
static void head(const struct world *w, int n, int lock, struct rdl_event *ev)
{
	const struct agent *a = &w->node[n].agent[lock];
	int i;

	ev->head = a->nfifo ? w->node[n].thread[a->fifo[0]].mode : RDL_MODE_NL;
	ev->run = 0;
	for (i = 0; i < a->nfifo && w->node[n].thread[a->fifo[i]].mode == RDL_MODE_S; i++)
		ev->run++;
}

/* A conversion that was not posted has not taken its user's value. */
static bool not_begun(const struct rdl_acts *acts)
{
	unsigned int i;

	for (i = 0; i < acts->n; i++)
		if (acts->a[i].type == RDL_ACT_CONVERT_FAILED)
			return true;
	return false;
}

/* @value: that came with the event. */
void feed(struct world *w, int n, int lock, struct rdl_event *ev, u64 value)
{
	struct agent *a = &w->node[n].agent[lock];
	struct rdl_lock was = a->core;
	const struct rdl_cell *cell;
	struct rdl_acts acts;
	unsigned int i;
	int err;

	if (w->failed)
		return;
	a->was = was.st;
	ev->flags = flags(w, n, lock);
	ev->rnd = rnd64(w);
	head(w, n, lock, ev);
	err = rdl_step(&a->core, ev, &acts);
	w->cov->steps++;
	trace(w, "node %d: lock %d: %s + %s -> %s%s, %u actions", n, lock, rdl_state_name(was.st),
	      rdl_event_name(ev->type), rdl_state_name(a->core.st), err ? " refused" : "", acts.n);
	if (err) {
		violation(w, "lock %d: node %d: event %s refused in state %s", lock, n, rdl_event_name(ev->type),
			  rdl_state_name(was.st));
		return;
	}
	w->cov->next[was.kind][was.st][ev->type] |= 1u << a->core.st;
	w->cov->count[was.kind][was.st][ev->type]++;
	if (acts.n > w->cov->most_actions)
		w->cov->most_actions = acts.n;
	cell = rdl_cell(rdl_kind_ops(was.kind), was.st, ev->type);
	if (!(cell->next >> a->core.st & 1))
		violation(w, "%s + %s -> %s is not in the table", rdl_state_name(was.st), rdl_event_name(ev->type),
			  rdl_state_name(a->core.st));
	if (ev->type == RDL_EV_OP && ev->outcome == RDL_AMBIGUOUS && !was.stale_io && was.kind == RDL_KIND_SPIN)
		a->unknown = true;
	if (a->core.epoch != was.epoch || ev->type == RDL_EV_REJOIN)
		a->unknown = false;
	if (a->core.st != RDL_ST_DRAW && a->core.st != RDL_ST_WAIT && a->core.st != RDL_ST_AMBIG)
		a->cas_n = 0;
	if (ev->dirty && !not_begun(&acts))
		judge_written(w, n, lock);
	w->refused = false;
	for (i = 0; i < acts.n; i++)
		perform(w, n, lock, &acts, &acts.a[i], ev, value);
	w->refused = false;
	user_said(w, n, lock);
	judge_agent(w, n, lock, ev->flags);
}

void feed_type(struct world *w, int n, int lock, u8 type)
{
	struct rdl_event ev = { .type = type };

	feed(w, n, lock, &ev, 0);
}

/* ---- events from outside the node ---- */

static void timer(struct world *w, struct event *e)
{
	struct agent *a = &w->node[e->node].agent[e->lock];

	if (!awake(w, e->node) || a->open != OPEN)
		return;
	/* One that was replaced may fire late; half of them come through, where they cannot harm the bound. */
	if (e->gen != a->timer_gen &&
	    ((a->core.st == RDL_ST_WAIT && a->core.kind == RDL_KIND_SPIN) || w->cfg.hammer || chance(w, 50)))
		return;
	a->untimely = e->gen != a->timer_gen || e->arg < RDL_WATCH_NS;
	feed_type(w, e->node, e->lock, RDL_EV_TIMER);
	a->untimely = false;
}

static void link_noticed(struct world *w, struct event *e)
{
	if (awake(w, e->node) && w->node[e->node].link == e->link)
		node_link_lost(w, e->node);
}

/* What a READ brought; the value's bytes. Version 0 says that the body is damaged. */
static u64 was_read(struct world *w, const struct op *op, struct rdl_event *ev)
{
	struct agent *a = &w->node[op->node].agent[op->lock];
	const struct rdl_body *body = (const struct rdl_body *)a->in;

	switch (op->type) {
	case RDL_ACT_POST_READ_SLOTS:
		ev->slots = (const __le64 *)a->in;
		ev->nslots = w->cfg.nodes;
		break;
	case RDL_ACT_POST_READ_WORD:
		memcpy(&ev->old, a->in, sizeof(ev->old));
		break;
	case RDL_ACT_POST_READ_VALUE:
		if (rdl_body_crc(body) != le32_to_cpu(body->crc)) {
			ev->peer.vflags = RDL_VF_VALUE_INVALID;
			break;
		}
		ev->peer.ver = le64_to_cpu(body->ver);
		ev->peer.vflags = le32_to_cpu(body->vflags) & RDL_VF_ALL;
		return value_of(body->value);
	case RDL_ACT_POST_READ_AREA:
		if (!body_is_bad(body, NULL))
			ev->peer.vflags = le32_to_cpu(body->vflags) & RDL_VF_ALL;
		if (body_is_bad(body, a->area)) {
			ev->peer.vflags |= RDL_VF_VALUE_INVALID;
			break;
		}
		ev->peer.ver = le64_to_cpu(body->ver);
		return le64_to_cpu(a->area[0]);
	}
	return 0;
}

void node_op_ended(struct world *w, struct op *op)
{
	struct node *node = &w->node[op->node];
	struct agent *a = &node->agent[op->lock];
	struct rdl_event ev = { .type = RDL_EV_OP, .outcome = op->outcome, .old = op->old };
	struct event *e;
	u64 value = 0;

	if (!awake(w, op->node) || a->op[op->sort] != op)
		return;
	if (op->sort != OP_WORD)
		ev.op = op->type;
	if (op->outcome == RDL_OK)
		value = was_read(w, op, &ev);
	a->op[op->sort] = NULL;
	/* The end of the link, which may be noticed a little later; until then messages still come. */
	if (op->outcome == RDL_AMBIGUOUS && node->link == op->link) {
		e = sched(w, rnd(w, 10 * w->cfg.latency), link_noticed, op->node);
		e->link = op->link;
	}
	feed(w, op->node, op->lock, &ev, value);
	if (!rdl_ambiguous(&a->core))
		return;
	if (a->core.kind == RDL_KIND_SPIN)
		sched(w, rnd(w, 4 * w->cfg.latency), timer, op->node)->lock = op->lock;
	if (op->outcome == RDL_OK && a->core.frz != RDL_FRZ_CLAIMED)
		node_link_lost(w, op->node);
}

/* It went down with a link, or was there just before. */
static bool went_down(struct world *w, const struct event *e)
{
	bool stands = w->node[e->node].link == e->lock && w->link[e->link].up;

	return !stands && chance(w, 50);
}

void node_peer_message(struct world *w, struct event *e)
{
	static const u8 event[] = {
		[RDL_MSG_GRANT] = RDL_EV_GRANT,
		[RDL_MSG_HINT] = RDL_EV_HINT,
		[RDL_MSG_PROBE] = RDL_EV_PROBE,
		[RDL_MSG_ANSWER] = RDL_EV_ANSWER,
	};
	int n = e->node, lock = le32_to_cpu(e->msg.lock);
	const struct rdl_msg_grant *g = rdl_msg_cpayload(&e->msg);
	struct rdl_event ev = { .type = event[e->msg.type], .epoch = le32_to_cpu(e->msg.epoch) };
	struct agent *a = &w->node[n].agent[lock];
	u16 to;

	if (!awake(w, n) || rdl_msg_check(&e->msg, e->len))
		return;
	/* For an incarnation that is over; or while there is nobody to wait or to give. */
	if (w->node[n].inc != e->gen || a->open != OPEN || a->core.st == RDL_ST_LOST || went_down(w, e)) {
		w->home.lock[lock].lossy = true;
		return;
	}
	rdl_msg_get_peer(&e->msg, &ev.peer, &to);
	trace(w, "node %d: %s, lock %d, epoch %x, ticket %u", n, rdl_msg_name(e->msg.type), lock, ev.epoch,
	      ev.peer.ticket);
	feed(w, n, lock, &ev, e->msg.type == RDL_MSG_GRANT ? value_of(g->value) : 0);
}

void node_message(struct world *w, struct event *e)
{
	int n = e->node, lock = le32_to_cpu(e->msg.lock);
	const struct rdl_msg_rebuilt *p = rdl_msg_cpayload(&e->msg);
	struct node *node = &w->node[n];
	struct rdl_event ev = { .epoch = le32_to_cpu(e->msg.epoch) };

	if (!awake(w, n) || node->link != e->link || rdl_msg_check(&e->msg, e->len))
		return;
	if (le32_to_cpu(e->msg.dst_inc) != node->inc || lock >= w->cfg.locks)
		return;
	trace(w, "node %d: %s, lock %d, epoch %x", n, rdl_msg_name(e->msg.type), lock, ev.epoch);
	switch (e->msg.type) {
	case RDL_MSG_FREEZE:
		/* A CLOSE that was lost with a link leaves the home waiting for this node. */
		if (node->agent[lock].open == CLOSED)
			send_plain(w, n, RDL_MSG_CLOSE, lock, 0, 0);
		/* While it is being opened the home asks in vain, and again later. */
		if (node->agent[lock].open != OPEN)
			break;
		ev.type = RDL_EV_FREEZE;
		feed(w, n, lock, &ev, 0);
		break;
	case RDL_MSG_REBUILT:
		if (node->agent[lock].open != OPEN)
			break;
		ev.type = RDL_EV_REBUILT;
		rdl_msg_get_rebuilt(&e->msg, &ev.rebuilt);
		feed(w, n, lock, &ev, value_of(p->value));
		break;
	case RDL_MSG_ASK:
		if (node->agent[lock].open == OPEN)
			send_stat(w, n, lock, ev.epoch);
		break;
	default:
		session_message(w, e);
	}
}
