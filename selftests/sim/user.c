// SPDX-License-Identifier: GPL-2.0
/*
 * The users of a node, as events: they want a lock, wait, have it, perhaps convert it, give it back; and the queue
 * above the core in which they wait.
 */
#include "sim.h"

static void serve_thread(struct world *w, struct event *e);
static void reset(struct world *w, struct event *e);

int fifo_pop(struct world *w, struct agent *a, int at)
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

void thread_idle(struct world *w, int n, int t)
{
	struct thread *th = &w->node[n].thread[t];

	th->st = IDLE;
	th->fed = false;
	th->has = false;
	th->converting = false;
	th->told = false;
	th->notice = false;
	th->saying = false;
	th->gen++;
	thread_event(w, n, t, serve_thread, about(w, w->cfg.think));
}

/* ---- what becomes of them ---- */

void waiter_failed(struct world *w, int n, int lock, int at, u32 err)
{
	struct agent *a = &w->node[n].agent[lock];
	int t = fifo_pop(w, a, at);

	if (t < 0)
		return;
	trace(w, "node %d: lock %d: user %d fails, errno %u", n, lock, t, err);
	if (err == ENOTRECOVERABLE)
		judge_ruin(w, n, lock);
	else if (!w->node[n].thread[t].try || (err != EAGAIN && err != EHOSTUNREACH))
		violation(w, "node %d: lock %d: a waiter failed with errno %u", n, lock, err);
	a->failed++;
	thread_idle(w, n, t);
	if (err == ENOTRECOVERABLE && chance(w, w->cfg.reset_pct))
		sched(w, rnd(w, 10 * w->cfg.latency), reset, n)->lock = lock;
}

void waiters_ruined(struct world *w, int n, int lock, u32 err)
{
	while (w->node[n].agent[lock].nfifo && !w->failed)
		waiter_failed(w, n, lock, 0, err);
}

/* The first @many of the queue; the grant has been judged. */
void users_granted(struct world *w, int n, int lock, u32 many, bool told)
{
	struct agent *a = &w->node[n].agent[lock];
	bool robust = w->home.lock[lock].props & RDL_P_ROBUST;

	while (many--) {
		int t = fifo_pop(w, a, 0);
		struct thread *th;

		if (t < 0)
			return;
		th = &w->node[n].thread[t];
		trace(w, "node %d: lock %d: user %d has it, mode %u", n, lock, t, th->mode);
		if (w->now - th->since > a->worst)
			a->worst = w->now - th->since;
		th->st = HOLDING;
		th->has = true;
		th->told = told && robust;
		th->notice = told && !robust;
		th->gen++;
		a->users++;
		a->mode = th->mode;
		thread_event(w, n, t, serve_thread, th->notice ? rnd(w, 6 * w->cfg.latency) : about(w, w->cfg.hold));
	}
}

void users_cut_off(struct world *w, int n, int lock)
{
	struct agent *a = &w->node[n].agent[lock];
	int t;

	if (!a->users)
		return;
	/* If the node slept through its own eviction, the next owner may have been told already. */
	if (!a->evicted && a->mode == RDL_MODE_X) {
		w->home.lock[lock].death_untold = true;
		w->home.lock[lock].must = true;
		w->home.lock[lock].may = true;
	}
	a->evicted = false;
	a->users = 0;
	w->cov->lost++;
	for (t = 0; t < w->cfg.threads; t++) {
		struct thread *th = &w->node[n].thread[t];

		if (th->lock != lock || !th->has)
			continue;
		/* It finds out when it releases; or now, if it waits for a conversion. */
		th->has = false;
		th->notice = false;
		if (!th->converting && !th->saying)
			continue;
		th->converting = false;
		th->saying = false;
		th->gen++;
		thread_event(w, n, t, serve_thread, about(w, w->cfg.hold));
	}
}

void user_converted(struct world *w, int n, int lock, bool done, u8 mode)
{
	struct agent *a = &w->node[n].agent[lock];
	int t;

	for (t = 0; t < w->cfg.threads; t++) {
		struct thread *th = &w->node[n].thread[t];

		if (th->lock != lock || !th->has || !th->converting)
			continue;
		th->converting = false;
		th->mode = mode;
		th->gen++;
		a->mode = mode;
		w->cov->converted += done;
		thread_event(w, n, t, serve_thread, about(w, w->cfg.hold));
		return;
	}
	violation(w, "lock %d: node %d converts for nobody", lock, n);
}

/* ---- what they do ---- */

/* As kmod/agent.c: nearly always the last. */
static void queue_at_place(struct world *w, int n, int t)
{
	struct thread *thread = w->node[n].thread, *th = &thread[t];
	struct agent *a = &w->node[n].agent[th->lock];
	struct rdl_event ev = { .type = RDL_EV_ACQ, .try = th->try, .mode = th->mode };
	int i;

	th->fed = true;
	for (i = a->nfifo++; i && !thread[a->fifo[i - 1]].try && thread[a->fifo[i - 1]].place > th->place; i--)
		a->fifo[i] = a->fifo[i - 1];
	a->fifo[i] = t;
	feed(w, n, th->lock, &ev, 0);
}

void queue_waiter(struct world *w, int n, int t)
{
	struct thread *th = &w->node[n].thread[t];

	th->place = ++w->node[n].agent[th->lock].places;
	queue_at_place(w, n, t);
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
		ev.try = th->try && i == 0 && !a->core.q.gone &&
			 (a->core.st == RDL_ST_TRY || a->core.st == RDL_ST_PROBE);
		fifo_pop(w, a, i);
		feed(w, e->node, th->lock, &ev, 0);
		/* A signal, and the call begins anew. */
		if (!th->try && a->open == OPEN && !w->failed && chance(w, 50)) {
			th->gen++;
			if (chance(w, w->cfg.cancel_pct))
				thread_event(w, e->node, t, cancel, rnd(w, 5 * w->cfg.latency));
			queue_at_place(w, e->node, t);
			return;
		}
	}
	thread_idle(w, e->node, t);
}

static void want(struct world *w, int n, int t)
{
	struct thread *th = &w->node[n].thread[t];
	struct agent *a;

	th->lock = rnd(w, w->cfg.locks);
	th->try = chance(w, w->cfg.try_pct);
	th->mode = RDL_MODE_X;
	if (w->home.lock[th->lock].kind == RDL_KIND_FAIR && (w->cfg.readers ? n : chance(w, w->cfg.shared_pct)))
		th->mode = RDL_MODE_S;
	th->st = WAITING;
	th->fed = false;
	th->gen++;
	th->since = w->now;
	a = &w->node[n].agent[th->lock];
	a->closing = false;
	trace(w, "node %d: lock %d: user %d %s, mode %u", n, th->lock, t, th->try ? "tries" : "wants it", th->mode);
	/* Of a lock that needs it not: without effect. */
	if (chance(w, w->cfg.reset_pct / 8))
		sched(w, rnd(w, 10 * w->cfg.latency), reset, n)->lock = th->lock;
	if (chance(w, w->cfg.cancel_pct))
		thread_event(w, n, t, cancel, rnd(w, 20 * w->cfg.latency));
	if (a->open == OPEN) {
		queue_waiter(w, n, t);
	} else if (a->open == CLOSED) {
		a->open = OPENING;
		if (w->node[n].ss == SESSION_UP)
			send_open(w, n, th->lock);
	}
}

/* Nobody of this node has it, or wants it. */
static bool unused(const struct world *w, int n, int lock)
{
	const struct node *node = &w->node[n];
	int t;

	for (t = 0; t < w->cfg.threads; t++)
		if (node->thread[t].lock == lock && (node->thread[t].st == WAITING || node->thread[t].has))
			return false;
	return true;
}

/* As soon as it may be, and unless somebody wants it again. */
static void close_idle(struct world *w, struct event *e)
{
	struct node *node = &w->node[e->node];
	struct agent *a = &node->agent[e->lock];

	if (!awake(w, e->node) || a->open != OPEN || !a->closing)
		return;
	if (node->ss != SESSION_UP || !a->link || !rdl_idle(&a->core)) {
		sched(w, 10 * w->cfg.latency, close_idle, e->node)->lock = e->lock;
		return;
	}
	trace(w, "node %d: lock %d is closed", e->node, e->lock);
	a->open = CLOSED;
	a->closing = false;
	a->link = false;
	a->timer_gen++;
	send_plain(w, e->node, RDL_MSG_CLOSE, e->lock, 0, 0);
}

/* What is idle and kept must be given up first. */
static void maybe_close(struct world *w, int n, int lock)
{
	struct agent *a = &w->node[n].agent[lock];

	if (a->open != OPEN || a->closing || !unused(w, n, lock) || !chance(w, w->cfg.close_pct))
		return;
	a->closing = true;
	if (a->core.kind == RDL_KIND_FAIR || a->core.kind == RDL_KIND_MCS)
		feed_type(w, n, lock, RDL_EV_SHED);
	sched(w, chance(w, 50) ? 0 : rnd(w, 20 * w->cfg.latency), close_idle, n)->lock = lock;
}

/* Does the writer leave a new value? It is named by the version that the core gives it: judge_written(). */
static u8 write_value(struct world *w, int n, int lock)
{
	const struct agent *a = &w->node[n].agent[lock];

	return (w->home.lock[lock].props & RDL_P_VALUE) && a->mode == RDL_MODE_X && chance(w, 70);
}

/* Not in the middle of something else, a recovery perhaps. */
static bool convert(struct world *w, int n, int t)
{
	struct thread *th = &w->node[n].thread[t];
	struct agent *a = &w->node[n].agent[th->lock];
	struct home_lock *h = &w->home.lock[th->lock];
	struct rdl_event ev = { .type = th->mode == RDL_MODE_X ? RDL_EV_DOWN : RDL_EV_UP };
	u32 gen;

	if (h->kind != RDL_KIND_FAIR || a->users != 1 || a->core.st != RDL_ST_HELD || !chance(w, w->cfg.convert_pct))
		return false;
	if (ev.type == RDL_EV_DOWN)
		ev.dirty = write_value(w, n, th->lock);
	th->converting = true;
	gen = ++th->gen;
	/* It is a reader from when the operation is posted, and a writer again if it certainly was not done. */
	a->mode = RDL_MODE_S;
	trace(w, "node %d: lock %d: user %d converts from mode %u", n, th->lock, t, th->mode);
	feed(w, n, th->lock, &ev, 0);
	/* Now and then it is killed while it waits for that. */
	if (th->converting && th->gen == gen && chance(w, 10))
		thread_event(w, n, t, serve_thread, rnd(w, 6 * w->cfg.latency));
	return true;
}

/* The user looks at its grant, and finds that an owner died; now and then it leaves without having looked. */
static bool look(struct world *w, int n, int t)
{
	struct thread *th = &w->node[n].thread[t];
	struct rdl_event ev = { .type = RDL_EV_REPORT, .report = RDL_REPORT_CONSISTENT };

	if (chance(w, w->cfg.unseen_pct)) {
		trace(w, "node %d: lock %d: user %d leaves without a look", n, th->lock, t);
		w->cov->unseen++;
		return false;
	}
	trace(w, "node %d: lock %d: user %d is told of a death", n, th->lock, t);
	th->notice = false;
	th->gen++;
	judge_told(w, n, th->lock);
	thread_event(w, n, t, serve_thread, about(w, w->cfg.hold));
	feed(w, n, th->lock, &ev, 0);
	return true;
}

/* ---- robust locks ---- */

static void reset(struct world *w, struct event *e)
{
	struct agent *a = &w->node[e->node].agent[e->lock];
	struct rdl_event ev = { .type = RDL_EV_REPORT, .report = RDL_REPORT_RESET };

	if (!awake(w, e->node) || a->open != OPEN || !a->core.robust)
		return;
	trace(w, "node %d: lock %d is reset", e->node, e->lock);
	feed(w, e->node, e->lock, &ev, 0);
	if (a->core.report == RDL_REPORT_RESET)
		w->home.lock[e->lock].reset = true;
}

/* The home knows what an owner has said. */
void user_said(struct world *w, int n, int lock)
{
	int t;

	for (t = 0; t < w->cfg.threads; t++) {
		struct thread *th = &w->node[n].thread[t];

		if (th->lock != lock || !th->saying || rdl_reports(&w->node[n].agent[lock].core))
			continue;
		judge_whole(w, n, lock);
		th->saying = false;
		th->told = false;
		th->gen++;
		thread_event(w, n, t, serve_thread, about(w, w->cfg.hold));
	}
}

static bool owns(const struct world *w, int n, int t)
{
	const struct thread *th = &w->node[n].thread[t];
	const struct agent *a = &w->node[n].agent[th->lock];

	return a->core.robust && th->has && !th->converting && th->mode == RDL_MODE_X && a->mode == RDL_MODE_X;
}

/* Says that it is whole, and waits for the home to know; now and then it is killed meanwhile. */
static bool say(struct world *w, int n, int t)
{
	struct thread *th = &w->node[n].thread[t];
	struct rdl_event ev = { .type = RDL_EV_REPORT, .report = RDL_REPORT_CONSISTENT };
	u32 gen;

	if (!owns(w, n, t) || !th->told || th->saying || !chance(w, w->cfg.whole_pct))
		return false;
	trace(w, "node %d: lock %d: user %d says that it is whole", n, th->lock, t);
	th->saying = true;
	gen = ++th->gen;
	w->home.lock[th->lock].whole_by = n + 1;
	feed(w, n, th->lock, &ev, 0);
	if (th->saying && th->gen == gen && chance(w, 15))
		thread_event(w, n, t, serve_thread, rnd(w, 6 * w->cfg.latency));
	return true;
}

/* What its release means. Who goes without one dies; that of one that was told of a death changes nothing. */
static u8 last_word(struct world *w, int n, int t)
{
	struct thread *th = &w->node[n].thread[t];
	struct home_lock *h = &w->home.lock[th->lock];

	if (!owns(w, n, t))
		return RDL_REPORT_NONE;
	if (chance(w, w->cfg.die_pct)) {
		trace(w, "node %d: lock %d: user %d dies", n, th->lock, t);
		if (th->told && !th->saying)
			return RDL_REPORT_NONE;
		h->must = true;
		h->may = true;
		h->whole_by = 0;
		return RDL_REPORT_DIED;
	}
	if (!th->told || th->saying)
		return RDL_REPORT_NONE;
	trace(w, "node %d: lock %d: user %d gives up", n, th->lock, t);
	h->gave_up = n + 1;
	return RDL_REPORT_FAILED;
}

static void release(struct world *w, int n, int t)
{
	struct thread *th = &w->node[n].thread[t];
	struct agent *a = &w->node[n].agent[th->lock];
	struct rdl_event ev = { .type = RDL_EV_REL };
	bool spin = w->home.lock[th->lock].kind == RDL_KIND_SPIN;

	if (th->has) {
		ev.report = last_word(w, n, t);
		th->has = false;
		th->saying = false;
		if (!th->converting && !th->notice && ev.report != RDL_REPORT_DIED)
			ev.dirty = write_value(w, n, th->lock);
		th->converting = false;
		if (!--a->users)
			a->evicted = false;
		feed(w, n, th->lock, &ev, 0);
	} else if (spin && a->open == OPEN && a->core.st == RDL_ST_LOST) {
		feed(w, n, th->lock, &ev, 0);
	}
}

static void serve_thread(struct world *w, struct event *e)
{
	int n = e->node, t = e->arg;
	struct thread *th = &w->node[n].thread[t];

	if (!awake(w, n) || th->gen != e->gen)
		return;
	switch (th->st) {
	case IDLE:
		if (!w->stopping)
			want(w, n, t);
		break;
	case HOLDING:
		if (th->notice && look(w, n, t))
			break;
		if (th->has && !th->notice && !th->converting && !th->saying && !w->stopping && convert(w, n, t))
			break;
		if (say(w, n, t))
			break;
		release(w, n, t);
		thread_idle(w, n, t);
		maybe_close(w, n, th->lock);
		break;
	default:
		break;
	}
}
