// SPDX-License-Identifier: GPL-2.0
/*
 * A node: its local users, the FIFO above the core, the session with the home and the lease. Every event goes
 * through feed(), where the checkers sit.
 */
#include "sim.h"

static void try_connect(struct world *w, struct event *e);
static void serve_thread(struct world *w, struct event *e);
static void lose(struct world *w, int n);

bool node_lease_valid(const struct world *w, int n)
{
	return w->node[n].alive && w->now < w->node[n].lease_end;
}

static u32 flags(const struct world *w, int n, int lock)
{
	const struct node *node = &w->node[n];
	u32 f = 0;

	if (node->ss == SESSION_UP && w->now + w->cfg.margin < node->lease_end)
		f |= RDL_F_LEASE;
	if (node->ss == SESSION_UP && node->agent[lock].link && (f || !w->cfg.lease_links))
		f |= RDL_F_LINK;
	return f;
}

/* ---- messages ---- */

union buffer {
	struct rdl_msg msg;
	u8 bytes[MAX_MSG];
};

static void header(struct world *w, int n, struct rdl_msg *msg, u8 type, int lock, u32 epoch)
{
	memset(msg, 0, MAX_MSG);
	msg->type = type;
	msg->src = cpu_to_le16(n);
	msg->src_inc = cpu_to_le32(w->node[n].inc);
	msg->dst_inc = cpu_to_le32(type == RDL_MSG_HELLO ? 0 : 1);
	msg->lock = cpu_to_le32(lock);
	msg->epoch = cpu_to_le32(epoch);
}

static void send_plain(struct world *w, int n, u8 type, int lock, u32 epoch)
{
	union buffer b;

	if (w->node[n].link < 0)
		return;
	header(w, n, &b.msg, type, lock, epoch);
	send_to_home(w, n, &b.msg);
}

static void send_claim(struct world *w, int n, int lock, const struct rdl_action *a)
{
	union buffer b;

	if (w->node[n].link < 0)
		return;
	header(w, n, &b.msg, RDL_MSG_CLAIM, lock, a->epoch);
	rdl_msg_put_claim(&b.msg, &a->claim);
	send_to_home(w, n, &b.msg);
}

static void send_open(struct world *w, int n, int lock)
{
	struct agent *a = &w->node[n].agent[lock];
	struct rdl_msg_open *p;
	union buffer b;

	header(w, n, &b.msg, RDL_MSG_OPEN, 0, 0);
	p = rdl_msg_payload(&b.msg);
	p->obj = RDL_OBJ_LOCK;
	p->key_len = 1;
	p->key[0] = 'a' + lock;
	if (a->open == OPEN && rdl_ambiguous(&a->core))
		p->flags = RDL_OPEN_AMBIG;
	a->req = ++w->node[n].reqs;
	b.msg.req = cpu_to_le32(a->req);
	send_to_home(w, n, &b.msg);
}

/* ---- local users ---- */

static int fifo_pop(struct world *w, struct agent *a, int at)
{
	int t;

	if (at < 0 || at >= a->nfifo) {
		violation(w, "a waiter is named that does not exist");
		return -1;
	}
	t = a->fifo[at];
	memmove(&a->fifo[at], &a->fifo[at + 1], (a->nfifo - at - 1) * sizeof(a->fifo[0]));
	a->nfifo--;
	return t;
}

static struct event *thread_event(struct world *w, int n, int t, event_fn fn, u64 delay)
{
	struct event *e = sched(w, delay, fn, n);

	e->arg = t;
	e->gen = w->node[n].thread[t].gen;
	return e;
}

static void thread_idle(struct world *w, int n, int t)
{
	struct thread *th = &w->node[n].thread[t];

	th->st = IDLE;
	th->fed = false;
	th->gen++;
	thread_event(w, n, t, serve_thread, about(w, w->cfg.think));
}

static void waiter_failed(struct world *w, int n, int lock, int at, u32 err)
{
	struct agent *a = &w->node[n].agent[lock];
	int t = fifo_pop(w, a, at);

	if (t < 0)
		return;
	trace(w, "node %d: lock %d: user %d fails, errno %u", n, lock, t, err);
	if (!w->node[n].thread[t].try || (err != EAGAIN && err != EHOSTUNREACH))
		violation(w, "node %d: lock %d: a waiter failed with errno %u", n, lock, err);
	a->failed++;
	thread_idle(w, n, t);
}

/* Another node that believes, with a valid lease, that a user of it holds the lock. */
static int rival(struct world *w, int n, int lock)
{
	int i;

	for (i = 0; i < w->cfg.nodes; i++)
		if (w->node[i].agent[lock].holder >= 0 && (i == n || node_lease_valid(w, i)))
			return i;
	return -1;
}

static void hand_out(struct world *w, int n, int lock, const struct rdl_action *act, u32 f)
{
	struct agent *a = &w->node[n].agent[lock];
	struct home_lock *h = &w->home.lock[lock];
	int t, other = rival(w, n, lock);
	struct thread *th;

	if (other >= 0)
		violation(w, "lock %d: granted on node %d while node %d holds it", lock, n, other);
	if (!node_lease_valid(w, n) || !(f & RDL_F_LEASE))
		violation(w, "lock %d: granted on node %d without a valid lease", lock, n);
	if (act->val <= h->last_token)
		violation(w, "lock %d: token %llx after %llx", lock, (unsigned long long)act->val,
			  (unsigned long long)h->last_token);
	if (act->val != a->core.token)
		violation(w, "lock %d: the token delivered is not the token kept", lock);
	h->last_token = act->val;
	if (h->death_untold && !(act->arg & RDL_GRANT_OWNER_DIED))
		violation(w, "lock %d: node %d is not told that the owner died", lock, n);
	if (act->arg & RDL_GRANT_OWNER_DIED)
		w->cov->deaths++;
	h->death_untold = false;
	if (act->arg & RDL_GRANT_LOCAL) {
		w->cov->local++;
		if (++a->local_run > w->cfg.budget)
			violation(w, "lock %d: node %d hands over more often than its budget", lock, n);
	}
	w->cov->grants++;
	a->granted++;
	t = fifo_pop(w, a, 0);
	if (t < 0)
		return;
	trace(w, "node %d: lock %d: user %d has it, token %llx%s", n, lock, t, (unsigned long long)act->val,
	      act->arg & RDL_GRANT_OWNER_DIED ? ", the owner died" : "");
	a->holder = t;
	th = &w->node[n].thread[t];
	th->st = HOLDING;
	th->gen++;
	thread_event(w, n, t, serve_thread, about(w, w->cfg.hold));
}

static void user_cut_off(struct world *w, int n, int lock)
{
	struct agent *a = &w->node[n].agent[lock];

	if (a->holder < 0)
		return;
	/* If the node slept through its own eviction, the next owner may have been told already. */
	if (!a->evicted)
		w->home.lock[lock].death_untold = true;
	a->evicted = false;
	w->cov->lost++;
	a->holder = -1;	/* its thread finds out when it releases */
}

/* ---- the core's door ---- */

static void timer(struct world *w, struct event *e);

/* Documentation/protocol.rst: at most 8 atomics in a wait of 1 ms. */
static void draw_posted(struct world *w, int n, int lock)
{
	struct agent *a = &w->node[n].agent[lock];
	u64 *at = &a->cas_at[a->cas_n % 8];

	if (a->cas_n >= 8 && w->now - *at < MS)
		violation(w, "lock %d: node %d posts more than 8 atomics in 1 ms", lock, n);
	*at = w->now;
	a->cas_n++;
}

static void perform(struct world *w, int n, int lock, const struct rdl_action *act, u32 f)
{
	struct agent *a = &w->node[n].agent[lock];
	struct event *e;

	switch (act->type) {
	case RDL_ACT_POST_CAS:
	case RDL_ACT_POST_FAA:
		if (!(f & RDL_F_LINK) || a->core.frz != RDL_FRZ_RUN || a->op)
			violation(w, "lock %d: node %d posts when it must not", lock, n);
		if (a->unknown)
			violation(w, "lock %d: node %d posts though an outcome is not known", lock, n);
		if (act->type == RDL_ACT_POST_CAS) {
			a->local_run = 0;
			if (a->core.st == RDL_ST_DRAW)
				draw_posted(w, n, lock);
		}
		if (w->node[n].link >= 0)
			post(w, n, lock, act);
		break;
	case RDL_ACT_DELIVER:
		hand_out(w, n, lock, act, f);
		break;
	case RDL_ACT_FAIL_HEAD:
		waiter_failed(w, n, lock, 0, act->arg);
		break;
	case RDL_ACT_FAIL_TAIL:
		waiter_failed(w, n, lock, a->nfifo - 1, act->arg);
		break;
	case RDL_ACT_TIMER:
		a->timer_gen++;
		if (!act->val)
			break;
		e = sched(w, act->val, timer, n);
		e->lock = lock;
		e->gen = a->timer_gen;
		break;
	case RDL_ACT_CLAIM:
		send_claim(w, n, lock, act);
		break;
	case RDL_ACT_ROLL:
		send_plain(w, n, RDL_MSG_ROLL_REQ, lock, act->epoch);
		break;
	case RDL_ACT_CONSISTENT:
		send_plain(w, n, RDL_MSG_CONSISTENT, lock, act->epoch);
		break;
	case RDL_ACT_LOST:
		trace(w, "node %d: lock %d: user %d is told that its grant is gone", n, lock, a->holder);
		user_cut_off(w, n, lock);
		break;
	default:
		violation(w, "lock %d: node %d: action %u", lock, n, act->type);
	}
}

static void check_agent(struct world *w, int n, int lock)
{
	struct agent *a = &w->node[n].agent[lock];
	const char *err = rdl_check(&a->core);
	bool holds = a->holder >= 0;

	if (err)
		violation(w, "lock %d: node %d: %s", lock, n, err);
	if ((int)a->core.nq != a->nfifo)
		violation(w, "lock %d: node %d counts %u waiters, there are %d", lock, n, a->core.nq, a->nfifo);
	if (!!a->core.users != holds)
		violation(w, "lock %d: node %d and its user disagree who holds", lock, n);
}

/* It could go on, and has not asked for a timer. */
static bool asleep(const struct world *w, const struct rdl_lock *l, u32 f)
{
	if (!(f & RDL_F_LINK) || l->frz != RDL_FRZ_RUN || l->is_void || l->armed)
		return false;
	return l->st == RDL_ST_OWED || (l->st == RDL_ST_WAIT && rdl_w_ticket(l->guess) < w->cfg.hard);
}

static void feed(struct world *w, int n, int lock, struct rdl_event *ev)
{
	struct agent *a = &w->node[n].agent[lock];
	struct rdl_lock was = a->core;
	struct rdl_acts acts;
	unsigned int i;
	int err;

	if (w->failed)
		return;
	ev->flags = flags(w, n, lock);
	ev->rnd = rnd64(w);
	err = rdl_step(&a->core, ev, &acts);
	w->cov->steps++;
	trace(w, "node %d: lock %d: %s + %s -> %s%s, %u actions", n, lock, rdl_state_name(was.st),
	      rdl_event_name(ev->type), rdl_state_name(a->core.st), err ? " refused" : "", acts.n);
	if (err) {
		violation(w, "lock %d: node %d: event %s refused in state %s", lock, n, rdl_event_name(ev->type),
			  rdl_state_name(was.st));
		return;
	}
	w->cov->next[was.st][ev->type] |= 1u << a->core.st;
	w->cov->count[was.st][ev->type]++;
	if (acts.n > w->cov->most_actions)
		w->cov->most_actions = acts.n;
	if (!(rdl_spin.table[was.st][ev->type].next >> a->core.st & 1))
		violation(w, "%s + %s -> %s is not in the table", rdl_state_name(was.st), rdl_event_name(ev->type),
			  rdl_state_name(a->core.st));
	if (ev->type == RDL_EV_OP && ev->outcome == RDL_AMBIGUOUS && !was.stale_io)
		a->unknown = true;
	if (a->core.epoch != was.epoch || ev->type == RDL_EV_REJOIN)
		a->unknown = false;
	if (a->core.st != RDL_ST_DRAW && a->core.st != RDL_ST_WAIT && a->core.st != RDL_ST_AMBIG)
		a->cas_n = 0;
	for (i = 0; i < acts.n; i++)
		perform(w, n, lock, &acts.a[i], ev->flags);
	check_agent(w, n, lock);
	if (asleep(w, &a->core, ev->flags))
		violation(w, "lock %d: node %d: nothing will wake it from state %s", lock, n,
			  rdl_state_name(a->core.st));
}

static void feed_type(struct world *w, int n, int lock, u8 type)
{
	struct rdl_event ev = { .type = type };

	feed(w, n, lock, &ev);
}

/* First thing a node does when it wakes: has its lease run out meanwhile? */
static bool awake(struct world *w, int n)
{
	struct node *node = &w->node[n];

	if (w->failed)
		return false;
	if (node->session && w->now >= node->lease_end)
		lose(w, n);
	return true;
}

static void timer(struct world *w, struct event *e)
{
	struct agent *a = &w->node[e->node].agent[e->lock];

	if (!awake(w, e->node) || a->open != OPEN)
		return;
	/* One that was replaced may fire late; half of them come through, where they cannot harm the bound. */
	if (e->gen != a->timer_gen && (a->core.st == RDL_ST_WAIT || chance(w, 50)))
		return;
	feed_type(w, e->node, e->lock, RDL_EV_TIMER);
}

static void link_noticed(struct world *w, struct event *e)
{
	if (awake(w, e->node) && w->node[e->node].link == e->link)
		node_link_lost(w, e->node);
}

void node_op_ended(struct world *w, struct op *op)
{
	struct node *node = &w->node[op->node];
	struct agent *a = &node->agent[op->lock];
	struct rdl_event ev = { .type = RDL_EV_OP, .outcome = op->outcome, .old = op->old };
	struct event *e;

	if (!awake(w, op->node) || a->op != op)
		return;
	a->op = NULL;
	/* The end of the link, which may be noticed a little later; until then messages still come. */
	if (op->outcome == RDL_AMBIGUOUS && node->link == op->link) {
		e = sched(w, rnd(w, 10 * w->cfg.latency), link_noticed, op->node);
		e->link = op->link;
	}
	feed(w, op->node, op->lock, &ev);
	if (!rdl_ambiguous(&a->core))
		return;
	sched(w, rnd(w, 4 * w->cfg.latency), timer, op->node)->lock = op->lock;
	if (op->outcome == RDL_OK)
		node_link_lost(w, op->node);
}

/* ---- local users, as events ---- */

static void queue_waiter(struct world *w, int n, int t)
{
	struct thread *th = &w->node[n].thread[t];
	struct agent *a = &w->node[n].agent[th->lock];
	struct rdl_event ev = { .type = RDL_EV_ACQ, .try = th->try };

	th->fed = true;
	a->fifo[a->nfifo++] = t;
	feed(w, n, th->lock, &ev);
}

static void cancel(struct world *w, struct event *e)
{
	struct node *node = &w->node[e->node];
	int t = e->arg, i;
	struct thread *th = &node->thread[t];
	struct agent *a = &node->agent[th->lock];
	struct rdl_event ev = { .type = RDL_EV_CANCEL };

	if (!awake(w, e->node) || th->gen != e->gen || th->st != WAITING)
		return;
	trace(w, "node %d: lock %d: user %d gives up waiting", e->node, th->lock, t);
	if (th->fed) {
		for (i = 0; i < a->nfifo && a->fifo[i] != t; i++)
			;
		ev.try = th->try && i == 0 && a->core.st == RDL_ST_TRY;
		fifo_pop(w, a, i);
		feed(w, e->node, th->lock, &ev);
	}
	thread_idle(w, e->node, t);
}

static void open_agent(struct world *w, int n, int lock)
{
	struct agent *a = &w->node[n].agent[lock];

	a->open = OPENING;
	if (w->node[n].ss == SESSION_UP)
		send_open(w, n, lock);
}

static void want(struct world *w, int n, int t)
{
	struct thread *th = &w->node[n].thread[t];
	struct agent *a;

	th->lock = rnd(w, w->cfg.locks);
	th->try = chance(w, w->cfg.try_pct);
	th->st = WAITING;
	th->fed = false;
	th->gen++;
	th->since = w->now;
	a = &w->node[n].agent[th->lock];
	trace(w, "node %d: lock %d: user %d %s", n, th->lock, t, th->try ? "tries" : "wants it");
	if (chance(w, w->cfg.cancel_pct))
		thread_event(w, n, t, cancel, rnd(w, 20 * w->cfg.latency));
	if (a->open == OPEN)
		queue_waiter(w, n, t);
	else if (a->open == CLOSED)
		open_agent(w, n, th->lock);
}

static void maybe_close(struct world *w, int n, int lock)
{
	struct node *node = &w->node[n];
	struct agent *a = &node->agent[lock];

	if (a->open != OPEN || node->ss != SESSION_UP || !a->link || !rdl_idle(&a->core) ||
	    !chance(w, w->cfg.close_pct))
		return;
	trace(w, "node %d: lock %d is closed", n, lock);
	a->open = CLOSED;
	a->link = false;
	a->timer_gen++;
	send_plain(w, n, RDL_MSG_CLOSE, lock, 0);
}

static void serve_thread(struct world *w, struct event *e)
{
	int n = e->node, t = e->arg;
	struct thread *th = &w->node[n].thread[t];
	struct agent *a = &w->node[n].agent[th->lock];

	if (!awake(w, n) || th->gen != e->gen)
		return;
	switch (th->st) {
	case IDLE:
		if (!w->stopping)
			want(w, n, t);
		break;
	case HOLDING:
		if (a->holder == t) {
			a->holder = -1;
			feed_type(w, n, th->lock, RDL_EV_REL);
		} else if (a->open == OPEN && a->core.st == RDL_ST_LOST) {
			feed_type(w, n, th->lock, RDL_EV_REL);
		}
		thread_idle(w, n, t);
		maybe_close(w, n, th->lock);
		break;
	default:
		break;
	}
}

/* ---- session and lease ---- */

static u64 local_time(const struct node *node, u64 ns)
{
	return ns * node->rate / 1000;
}

static void lease_over(struct world *w, struct event *e)
{
	awake(w, e->node);
}

static void lease_extend(struct world *w, int n, u64 sent)
{
	struct node *node = &w->node[n];
	u64 end = sent + local_time(node, w->cfg.lease - w->cfg.margin);

	if (end <= node->lease_end)
		return;
	node->lease_end = end;
	if (end > w->now)
		sched(w, end - w->now, lease_over, n);
}

static void heartbeat(struct world *w, struct event *e)
{
	struct node *node = &w->node[e->node];
	union buffer b;

	if (!awake(w, e->node))
		return;
	if (node->ss == SESSION_UP) {
		node->hb_at[++node->hb_n % 16] = w->now;
		header(w, e->node, &b.msg, RDL_MSG_HB, 0, 0);
		b.msg.arg = cpu_to_le32(node->hb_n);
		send_to_home(w, e->node, &b.msg);
	}
	sched(w, local_time(node, w->cfg.lease / 4), heartbeat, e->node);
}

static void reconnect(struct world *w, int n, u64 delay)
{
	struct event *e = sched(w, delay, try_connect, n);

	e->gen = ++w->node[n].connect_gen;
}

/* The link is gone, whoever noticed; the session may be resumed. */
void node_link_lost(struct world *w, int n)
{
	struct node *node = &w->node[n];
	int i;

	if (node->link < 0)
		return;
	link_break(w, n);
	node->link = -1;
	node->ss = NO_LINK;
	for (i = 0; i < w->cfg.locks; i++)
		node->agent[i].link = false;
	reconnect(w, n, rnd(w, 10 * w->cfg.latency));
}

/* The lease is over, or the home says so: a new incarnation begins. */
static void lose(struct world *w, int n)
{
	struct node *node = &w->node[n];
	int i;

	trace(w, "node %d loses its session", n);
	node_link_lost(w, n);
	node->session = 0;
	node->lease_end = 0;
	node->inc = rnd64(w) | 1;
	for (i = 0; i < w->cfg.locks; i++) {
		if (node->agent[i].open != OPEN)
			continue;
		feed_type(w, n, i, RDL_EV_LOSE);
		if (chance(w, 10))
			feed_type(w, n, i, RDL_EV_LOSE);
	}
	reconnect(w, n, rnd(w, 10 * w->cfg.latency));
}

static void hello_timeout(struct world *w, struct event *e)
{
	struct node *node = &w->node[e->node];

	if (node->ss == HELLO_SENT && node->link == e->link)
		node_link_lost(w, e->node);
}

static void try_connect(struct world *w, struct event *e)
{
	struct node *node = &w->node[e->node];
	struct rdl_msg_hello *p;
	union buffer b;
	int i;

	if (!awake(w, e->node) || node->link >= 0 || e->gen != node->connect_gen)
		return;
	for (i = 0; i < w->cfg.locks; i++) {
		if (node->agent[i].op || w->now < node->blocked_until) {
			reconnect(w, e->node, 10 * w->cfg.latency);
			return;
		}
	}
	node->link = link_new(w, e->node);
	node->ss = HELLO_SENT;
	node->hello_at = w->now;
	header(w, e->node, &b.msg, RDL_MSG_HELLO, 0, 0);
	p = rdl_msg_payload(&b.msg);
	p->resume = cpu_to_le64(node->session);
	p->name_len = 3;
	memcpy(p->name, "sim", 3);
	send_to_home(w, e->node, &b.msg);
	sched(w, w->cfg.lease, hello_timeout, e->node)->link = node->link;
}

static void welcome(struct world *w, int n, const struct rdl_msg *msg)
{
	const struct rdl_msg_welcome *p = rdl_msg_cpayload(msg);
	struct node *node = &w->node[n];
	int i;

	if (msg->arg) {
		lose(w, n);
		return;
	}
	if (!p->resumed && node->session) {
		violation(w, "node %d was not resumed and not told", n);
		return;
	}
	node->session = le64_to_cpu(p->session);
	node->ss = SESSION_UP;
	if (!p->resumed)
		lease_extend(w, n, node->hello_at);
	for (i = 0; i < w->cfg.locks; i++)
		if (node->agent[i].open != CLOSED)
			send_open(w, n, i);
	/* A lease that began in the past may be over already. */
	awake(w, n);
}

static void opened(struct world *w, struct event *e)
{
	int n = e->node, lock = e->lock, t;
	struct agent *a = &w->node[n].agent[lock];
	struct rdl_event ev = { .epoch = e->gen };

	if (!awake(w, n) || w->node[n].link != e->link || a->open == CLOSED || a->req != (u32)e->arg)
		return;
	a->link = true;
	if (a->open == OPEN) {
		ev.type = a->core.st == RDL_ST_LOST ? RDL_EV_REJOIN : RDL_EV_LINK_UP;
		feed(w, n, lock, &ev);
		return;
	}
	a->open = OPEN;
	rdl_lock_init(&a->core, RDL_KIND_SPIN, n, ev.epoch, w->cfg.budget);
	a->cas_n = 0;
	a->unknown = false;
	for (t = 0; t < w->cfg.threads; t++) {
		struct thread *th = &w->node[n].thread[t];

		if (th->st == WAITING && th->lock == lock && !th->fed)
			queue_waiter(w, n, t);
	}
}

void node_message(struct world *w, struct event *e)
{
	int n = e->node, lock = le32_to_cpu(e->msg.lock), i;
	struct node *node = &w->node[n];
	struct rdl_event ev = { .epoch = le32_to_cpu(e->msg.epoch) };
	struct event *work;
	u64 end;

	if (!awake(w, n) || node->link != e->link || rdl_msg_check(&e->msg, e->len))
		return;
	if (le32_to_cpu(e->msg.dst_inc) != node->inc || lock >= w->cfg.locks)
		return;
	trace(w, "node %d: %s, lock %d, epoch %x", n, rdl_msg_name(e->msg.type), lock, ev.epoch);
	switch (e->msg.type) {
	case RDL_MSG_WELCOME:
		welcome(w, n, &e->msg);
		break;
	case RDL_MSG_HB_ACK:
		end = node->lease_end;
		lease_extend(w, n, node->hb_at[le32_to_cpu(e->msg.arg) % 16]);
		for (i = 0; i < w->cfg.locks && node->lease_end > end; i++)
			if (node->agent[i].open == OPEN)
				feed_type(w, n, i, RDL_EV_LEASE);
		break;
	case RDL_MSG_OPENED:
		work = sched(w, w->cfg.slow_open ? rnd(w, 4 * w->cfg.latency) : 0, opened, n);
		work->lock = lock;
		work->link = e->link;
		work->gen = ev.epoch;
		work->arg = le32_to_cpu(e->msg.req);
		break;
	case RDL_MSG_FREEZE:
		/* A CLOSE that was lost with a link leaves the home waiting for this node. */
		if (node->agent[lock].open == CLOSED)
			send_plain(w, n, RDL_MSG_CLOSE, lock, 0);
		/* While it is being opened the home asks in vain, and again later. */
		if (node->agent[lock].open != OPEN)
			break;
		ev.type = RDL_EV_FREEZE;
		feed(w, n, lock, &ev);
		break;
	case RDL_MSG_REBUILT:
		if (node->agent[lock].open != OPEN)
			break;
		ev.type = RDL_EV_REBUILT;
		rdl_msg_get_rebuilt(&e->msg, &ev.rebuilt);
		feed(w, n, lock, &ev);
		break;
	}
}

/* ---- life and death ---- */

void node_start(struct world *w, int n)
{
	struct node *node = &w->node[n];
	u32 boot = node->boot;
	int i;

	memset(node, 0, sizeof(*node));
	node->boot = boot;
	node->alive = true;
	node->inc = rnd64(w) | 1;
	node->link = -1;
	node->rate = 970 + rnd(w, 61);
	for (i = 0; i < w->cfg.locks; i++)
		node->agent[i].holder = -1;
	reconnect(w, n, rnd(w, 10 * US));
	sched(w, local_time(node, w->cfg.lease / 4), heartbeat, n);
	for (i = 0; i < w->cfg.threads; i++)
		thread_idle(w, n, i);
}

static void reboot(struct world *w, struct event *e)
{
	if (!w->node[e->arg].alive)
		node_start(w, e->arg);
}

void node_crash(struct world *w, int n, u64 reboot_after)
{
	struct node *node = &w->node[n];
	int i;

	if (!node->alive)
		return;
	trace(w, "node %d crashes", n);
	node->alive = false;
	link_break(w, n);
	node->link = -1;
	node->boot++;
	for (i = 0; i < w->cfg.locks; i++) {
		user_cut_off(w, n, i);
		node->agent[i].nfifo = 0;
		node->agent[i].open = CLOSED;
		node->agent[i].op = NULL;
	}
	for (i = 0; i < w->cfg.threads; i++)
		node->thread[i].st = IDLE;
	if (reboot_after != NEVER)
		sched(w, reboot_after, reboot, -1)->arg = n;
}
