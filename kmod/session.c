// SPDX-License-Identifier: GPL-2.0
/*
 * The session with the home: connect, HELLO and WELCOME, requests and answers, and what happens when the link goes.
 *
 * Who runs where: the fabric's callbacks (recv in softirq, up and down in process context) only store and kick;
 * connect_work and up_work run on the space's ordered queue; heartbeats and the lease have works of their own in
 * lease.c, because they must not wait behind a connect.
 */
#include <linux/errno.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/ktime.h>
#include <linux/timekeeping.h>

#include "agent.h"
#include "home.h"
#include "lease.h"
#include "main.h"
#include "peer.h"
#include "session.h"
#include "space.h"
#include "stats.h"
#include "wait.h"
#include "compat.h"

#define SESSION_BACKOFF_MIN_MS	50
#define SESSION_BACKOFF_MAX_MS	1000

/*
 * The CM sends a lost connection request again only after more than four seconds, longer than what is left of a lease.
 * So the first attempts after a break are short, each starts with a request of its own, and they grow towards
 * RDF_CONNECT_MS for the sake of slow networks.
 */
#define SESSION_CONNECT_MIN_MS	500
#define SESSION_TRIES_MAX	4
#define SESSION_RESETS_MAX	4

static u32 new_inc(void)
{
	u32 inc;

	do {
		inc = get_random_u32();
	} while (!inc);
	return inc;
}

/* Errors that waiting does not cure. */
static bool session_refused(int err)
{
	switch (err) {
	case -ECONNREFUSED:
	case -EPROTO:
	case -EBUSY:
	case -EINVAL:
	case -ENODEV:
	case -EADDRNOTAVAIL:
	case -EOPNOTSUPP:
		return true;
	}
	return false;
}

/* Why there is no session, or none any more; also for whoever looks at the space while it waits for the next one. */
static void session_explain(struct rdlock_space *space, int err)
{
	lockdep_assert_held(&space->lock);
	space->session.last_err = err;
	if (!space->session.up && space->state != RDLOCK_SPACE_READY)
		rdlock_space_set_state_locked(space, space->state, -err);
}

static void session_event(struct rdlock_space *space)
{
	wake_up_all(&space->session.wq);
}

/* ---- messages in ---- */

static void welcome(struct rdlock_space *space, const struct rdl_msg *msg, const struct rdl_msg_welcome *w)
{
	struct rdlock_session *s = &space->session;
	u64 instance = le64_to_cpu(w->instance);
	int err = -(int)le32_to_cpu(msg->arg);

	spin_lock_bh(&space->lock);
	/* The incarnation again, under the lock: the lease may just have run out, and this answers the old one. */
	if (s->up || !s->link || le32_to_cpu(msg->dst_inc) != s->inc)
		goto out_unlock;
	if (!err && (le16_to_cpu(w->max_nodes) > RDL_MAX_NODES || w->backend != rdf_link_backend(s->link) ||
		     !instance || !w->kind || w->kind >= RDL_NR_KINDS))
		err = -EPROTO;
	if (err) {
		s->last_err = err == -ENOENT ? -ECONNREFUSED : err;
		rdf_link_kill(s->link, s->last_err);
		goto out_unlock;
	}
	if (s->id && (!w->resumed || !s->lease_end)) {
		/*
		 * Back too late: the home evicted us, or we have given the session up ourselves. What we held is gone
		 * before anything of the new session is used.
		 */
		s->last_err = -EKEYREVOKED;
		s->lease_end = 0;
		rdf_link_kill(s->link, -EKEYREVOKED);
		mod_delayed_work(rdlock_lease_wq, &s->lease_work, 0);
		goto out_unlock;
	}
	s->other_instance = space->instance && space->instance != instance;
	space->instance = instance;
	space->max_nodes = le16_to_cpu(w->max_nodes);
	space->kind = w->kind;
	space->backend = w->backend;
	s->home_inc = le32_to_cpu(msg->src_inc);
	s->home_node = le16_to_cpu(msg->src);
	s->id = le64_to_cpu(w->session);
	s->lease_end = s->hello_sent + (u64)RDLOCK_LEASE_MS * NSEC_PER_MSEC;
	s->no++;
	s->up = true;
	s->lost = false;
	s->last_err = 0;
	s->tries = 0;
	s->backoff_ms = SESSION_BACKOFF_MIN_MS;
	rdlock_space_set_state_locked(space, RDLOCK_SPACE_READY, 0);
	rdlock_stat_inc(space, session);
	queue_work(space->wq, &s->up_work);
	mod_delayed_work(rdlock_lease_wq, &s->hb_work, 0);
	/* The lease runs from the HELLO, which may be a while ago: the work says itself when it comes again. */
	mod_delayed_work(rdlock_lease_wq, &s->lease_work, 0);
out_unlock:
	spin_unlock_bh(&space->lock);
	session_event(space);
}

/*
 * The home speaks of a lock that nobody here knows: its CLOSE was lost with a link. Say it again, or a recovery would
 * wait for us for ever. Not while any lock is being opened: it might be this one, and a CLOSE behind its OPEN would
 * take it away. Under open_lock the CLOSE goes out before any later OPEN.
 */
static void lock_unknown(struct rdlock_space *space, const struct rdl_msg *msg)
{
	struct rdlock_session *s = &space->session;
	struct rdl_msg m = { .type = RDL_MSG_CLOSE, .table = msg->table, .lock = msg->lock, .epoch = msg->epoch };
	struct rdlock_agent *a;

	spin_lock_bh(&s->open_lock);
	if (!s->opening) {
		a = rdlock_agent_by_slot(space, le32_to_cpu(msg->table), le32_to_cpu(msg->lock));
		if (a)
			rdlock_agent_put(a);
		else
			rdlock_session_send(space, &m, sizeof(m));
	}
	spin_unlock_bh(&s->open_lock);
}

static void lock_message(struct rdlock_space *space, const struct rdl_msg *msg)
{
	struct rdlock_agent *a = rdlock_agent_by_slot(space, le32_to_cpu(msg->table), le32_to_cpu(msg->lock));

	if (!a) {
		lock_unknown(space, msg);
		return;
	}
	if (msg->type == RDL_MSG_FREEZE)
		rdlock_agent_freeze(a, le32_to_cpu(msg->epoch));
	else if (msg->type == RDL_MSG_ASK)
		rdlock_agent_tell(a, le32_to_cpu(msg->epoch));
	else
		rdlock_agent_rebuilt(a, msg);
	rdlock_agent_put(a);
}

void rdlock_session_opening(struct rdlock_space *space, int n)
{
	struct rdlock_session *s = &space->session;

	spin_lock_bh(&s->open_lock);
	s->opening += n;
	spin_unlock_bh(&s->open_lock);
}

void rdlock_session_doubt(struct rdlock_space *space)
{
	struct rdlock_session *s = &space->session;

	if (s->local) {
		rdlock_space_give_up(space, -EPROTO);
		return;
	}
	spin_lock_bh(&space->lock);
	s->last_err = -EPROTO;
	s->lease_end = 0;
	if (s->link)
		rdf_link_kill(s->link, -EPROTO);
	if (!s->stopped)
		mod_delayed_work(rdlock_lease_wq, &s->lease_work, 0);
	spin_unlock_bh(&space->lock);
}

void rdlock_session_recv(struct rdlock_space *space, const struct rdl_msg *msg, u32 len)
{
	struct rdlock_session *s = &space->session;

	switch (msg->type) {
	case RDL_MSG_WELCOME:
		welcome(space, msg, rdl_msg_cpayload(msg));
		break;
	case RDL_MSG_HB_ACK:
		rdlock_lease_renew(space, le32_to_cpu(msg->arg));
		break;
	case RDL_MSG_OPENED:
		rdlock_session_answer(space, msg, len);
		break;
	case RDL_MSG_FREEZE:
	case RDL_MSG_REBUILT:
	case RDL_MSG_ASK:
		lock_message(space, msg);
		break;
	case RDL_MSG_GRANT:
	case RDL_MSG_HINT:
	case RDL_MSG_PROBE:
	case RDL_MSG_ANSWER:
		rdlock_peer_recv(space, msg);
		break;
	case RDL_MSG_BYE:
		/* The home goes: nothing it held for us has a meaning any more. */
		spin_lock_bh(&space->lock);
		s->last_err = -ESHUTDOWN;
		s->lease_end = 0;
		if (s->link)
			rdf_link_kill(s->link, -ESHUTDOWN);
		mod_delayed_work(rdlock_lease_wq, &s->lease_work, 0);
		spin_unlock_bh(&space->lock);
		break;
	case RDL_MSG_BYE_ACK:
		complete_all(&s->bye);
		break;
	default:
		rdlock_stat_inc(space, bad_msg);
		break;
	}
}

static bool session_recv(struct rdf_link *link, struct rdf_rx *rx)
{
	struct rdlock_space *space = rdf_link_ctx(link);
	struct rdlock_session *s = &space->session;
	const struct rdl_msg *msg = rx->msg;
	bool ok;

	spin_lock_bh(&space->lock);
	ok = s->link == link && le32_to_cpu(msg->dst_inc) == s->inc &&
	     (msg->type == RDL_MSG_WELCOME || (s->up && le32_to_cpu(msg->src_inc) == s->home_inc));
	spin_unlock_bh(&space->lock);
	if (ok)
		rdlock_session_recv(space, msg, rx->len);
	else
		rdlock_stat_inc(space, bad_msg);
	return true;
}

/* ---- the link ---- */

/*
 * The callbacks may come before rdf_link_connect() has returned: whoever is first tells the session which link it has.
 * Once it is down again, connecting is false and the pointer, perhaps stale, is not looked at.
 */
static void session_adopt(struct rdlock_space *space, struct rdf_link *link)
{
	struct rdlock_session *s = &space->session;

	spin_lock_bh(&space->lock);
	if (s->connecting) {
		s->connecting = false;
		s->link = link;
		if (s->stopped)
			rdf_link_kill(link, -ESHUTDOWN);
	}
	spin_unlock_bh(&space->lock);
}

static void session_up(struct rdf_link *link)
{
	struct rdlock_space *space = rdf_link_ctx(link);
	struct rdlock_session *s = &space->session;
	struct {
		struct rdl_msg h;
		struct rdl_msg_hello p;
	} m = { .h.type = RDL_MSG_HELLO };

	session_adopt(space, link);
	spin_lock_bh(&space->lock);
	m.h.src = cpu_to_le16(space->node);
	m.h.src_inc = cpu_to_le32(s->inc);
	m.p.instance = cpu_to_le64(space->instance);
	m.p.resume = cpu_to_le64(s->id);
	m.p.name_len = space->name_len;
	memcpy(m.p.name, space->name, sizeof(m.p.name));
	s->hello_sent = ktime_get_boottime_ns();
	/* From now on it looks every quarter of a second. */
	if (!s->stopped)
		mod_delayed_work(rdlock_lease_wq, &s->lease_work, 0);
	spin_unlock_bh(&space->lock);
	if (rdf_send(link, &m.h, sizeof(m)))
		rdf_link_kill(link, -ENOTCONN);
}

static void session_down(struct rdf_link *link, int err)
{
	struct rdlock_space *space = rdf_link_ctx(link);
	struct rdlock_session *s = &space->session;

	session_adopt(space, link);
	spin_lock_bh(&space->lock);
	if (WARN_ON_ONCE(s->link != link)) {
		spin_unlock_bh(&space->lock);
		return;
	}
	s->link = NULL;
	s->hello_sent = 0;
	/* The errno that the user interface names for it. */
	if (err == -ENOENT)
		err = -ECONNREFUSED;
	else if (err == -EPROTONOSUPPORT)
		err = -EPROTO;
	/* A moment's weakness of the home, or, each time, an address of its host at which nobody listens. */
	s->resets = err == -ECONNRESET && !s->up ? s->resets + 1 : 0;
	if (s->resets >= SESSION_RESETS_MAX)
		err = -ECONNREFUSED;
	if (s->up) {
		s->up = false;
		s->backoff_ms = SESSION_BACKOFF_MIN_MS;
		rdlock_space_set_state_locked(space, RDLOCK_SPACE_SUSPECT, 0);
	} else {
		s->backoff_ms = min_t(u32, s->backoff_ms * 2, SESSION_BACKOFF_MAX_MS);
	}
	session_explain(space, err ? err : -ENOTCONN);
	rdlock_session_calls_fail(space, -ENOTCONN);
	/* Under the lock: whoever sets stopped and cancels the work must not be overtaken. */
	if (!s->stopped)
		queue_delayed_work(space->wq, &s->connect_work, msecs_to_jiffies(s->backoff_ms));
	spin_unlock_bh(&space->lock);
	session_event(space);
	rdf_link_put(link);
}

static const struct rdf_link_ops session_link_ops = {
	.up = session_up,
	.recv = session_recv,
	.down = session_down,
};

static void session_device_gone(struct rdf_dom *dom)
{
	struct rdlock_space *space = rdf_dom_ctx(dom);

	/* The fabric kills the link; connect_work then lets go of the domain, which the removal waits for. */
	mod_delayed_work(space->wq, &space->session.connect_work, 0);
}

static const struct rdf_dom_ops session_dom_ops = { .device_gone = session_device_gone };

static void session_drop_dom(struct rdlock_space *space)
{
	struct rdf_dom *dom;

	spin_lock_bh(&space->lock);
	dom = space->dom;
	space->dom = NULL;
	spin_unlock_bh(&space->lock);
	if (dom)
		rdf_dom_destroy(dom);
}

static void connect_work(struct work_struct *work)
{
	struct rdlock_session *s = container_of(to_delayed_work(work), struct rdlock_session, connect_work);
	struct rdlock_space *space = container_of(s, struct rdlock_space, session);
	struct rdf_hello hello = {};
	struct rdf_link *link;
	struct rdf_dom *dom;
	bool busy, stopped;
	u32 timeout_ms;
	bool gone;
	int err;

	spin_lock_bh(&space->lock);
	timeout_ms = min_t(u32, SESSION_CONNECT_MIN_MS << s->tries, RDF_CONNECT_MS);
	busy = s->link || s->connecting;
	stopped = s->stopped;
	dom = space->dom;
	/* Under the lock: whoever destroys it takes it out first. -ENODEV: another device leads to the home now. */
	gone = dom && (rdf_dom_gone(dom) || s->last_err == -ENODEV);
	hello.space_hash = cpu_to_le64(space->hash);
	hello.inc = cpu_to_le32(s->inc);
	hello.node = cpu_to_le16(space->node);
	spin_unlock_bh(&space->lock);
	if (busy)
		return;		/* its end queues this work again */
	if (gone) {
		session_drop_dom(space);
		dom = NULL;
	}
	if (stopped)
		return;
	/* Between two attempts nothing of ours keeps the namespace; when it is going, its end stops us in a moment. */
	if (!maybe_get_net(space->net))
		return;
	if (!dom) {
		dom = rdf_dom_create(space->net, &space->addr, 0, RDLOCK_CALL_MS, &session_dom_ops, space);
		if (IS_ERR(dom)) {
			err = PTR_ERR(dom);
			goto out_retry;
		}
		spin_lock_bh(&space->lock);
		space->dom = dom;
		spin_unlock_bh(&space->lock);
	}
	spin_lock_bh(&space->lock);
	s->connecting = true;
	s->tries = min_t(u32, s->tries + 1, SESSION_TRIES_MAX);
	spin_unlock_bh(&space->lock);
	link = rdf_link_connect(dom, &space->addr, &hello, timeout_ms, &session_link_ops, space);
	if (!IS_ERR(link)) {
		session_adopt(space, link);
		put_net(space->net);
		return;
	}
	err = PTR_ERR(link);
	spin_lock_bh(&space->lock);
	s->connecting = false;
	spin_unlock_bh(&space->lock);

out_retry:
	put_net(space->net);
	spin_lock_bh(&space->lock);
	session_explain(space, err);
	s->backoff_ms = min_t(u32, s->backoff_ms * 2, SESSION_BACKOFF_MAX_MS);
	if (!s->stopped)
		queue_delayed_work(space->wq, &s->connect_work, msecs_to_jiffies(s->backoff_ms));
	spin_unlock_bh(&space->lock);
	session_event(space);
}

/* ---- after WELCOME ---- */

static void agent_revoke(struct rdlock_agent *a, void *arg)
{
	rdlock_agent_lose(a, -EKEYREVOKED, true);
}

/* @arg: only those of whose last operation the outcome is not known, or all: it may change in between */
static void agent_again(struct rdlock_agent *a, void *arg)
{
	bool unknown;

	spin_lock_bh(&a->lock);
	unknown = a->core.landing || rdl_ambiguous(&a->core);
	spin_unlock_bh(&a->lock);
	if (unknown || !*(bool *)arg)
		rdlock_agent_kick(a);
}

static void up_work(struct work_struct *work)
{
	struct rdlock_session *s = container_of(work, struct rdlock_session, up_work);
	struct rdlock_space *space = container_of(s, struct rdlock_space, session);
	bool other, unknown = true;
	int code = -EKEYREVOKED;

	spin_lock_bh(&space->lock);
	other = s->other_instance;
	spin_unlock_bh(&space->lock);
	if (other) {
		/* Until it is over no agent opens its lock in the new instance. */
		rdlock_agents_each(space, rdlock_agent_lose_grants, &code);
		rdlock_agents_each(space, agent_revoke, NULL);
		spin_lock_bh(&space->lock);
		s->other_instance = false;
		spin_unlock_bh(&space->lock);
	}
	/* The home may be asking for their claims already, and does not ask for ever. */
	rdlock_agents_each(space, agent_again, &unknown);
	unknown = false;
	rdlock_agents_each(space, agent_again, &unknown);
}

static void agent_lost(struct rdlock_agent *a, void *arg)
{
	rdlock_agent_lose(a, *(int *)arg, false);
}

void rdlock_session_lose(struct rdlock_space *space, int err)
{
	struct rdlock_session *s = &space->session;
	int code = -EKEYREVOKED;

	spin_lock_bh(&space->lock);
	if (s->stopped || s->local) {
		spin_unlock_bh(&space->lock);
		return;
	}
	s->up = false;
	s->lost = true;
	s->losing++;
	s->last_err = err;
	s->id = 0;
	s->inc = new_inc();	/* messages of the old one are not ours any more */
	s->no++;		/* and its keys are void */
	s->lease_end = 0;
	if (s->link)
		rdf_link_kill(s->link, err);
	rdlock_space_set_state_locked(space, RDLOCK_SPACE_LOST, -err);
	/* Now, not after the agents: by then there may be a new session, whose requests nobody would make again. */
	rdlock_session_calls_fail(space, -ENOTCONN);
	spin_unlock_bh(&space->lock);
	/* Who holds a lock hears of it first: the home will soon give it to others, however many wait here. */
	rdlock_agents_each(space, rdlock_agent_lose_grants, &code);
	rdlock_agents_each(space, agent_lost, &code);
	spin_lock_bh(&space->lock);
	s->losing--;
	/* A session that began meanwhile: what was opened in it before we came to it is to be opened again. */
	if (s->up && !s->stopped)
		queue_work(space->wq, &s->up_work);
	spin_unlock_bh(&space->lock);
	session_event(space);
}

/* ---- for agents and callers ---- */

/*
 * Until every agent knows that what it had is gone, the lease of a session that has begun meanwhile is not for what is
 * held: a grant of the old one would look valid again, and might be handed on.
 */
static bool session_is_clean(const struct rdlock_space *space)
{
	lockdep_assert_held(&space->lock);
	return !space->session.losing && !space->session.other_instance;
}

u8 rdlock_session_flags(struct rdlock_space *space, u32 no, struct rdf_link **link)
{
	struct rdlock_session *s = &space->session;
	u8 flags = 0;

	spin_lock_bh(&space->lock);
	if (s->local || (session_is_clean(space) &&
			 ktime_get_boottime_ns() + (u64)RDLOCK_MARGIN_MS * NSEC_PER_MSEC < s->lease_end))
		flags |= RDL_F_LEASE;
	/*
	 * A link that dies is told of later. The loopback pair comes back without a word: there a refusal ends in a
	 * pause.
	 */
	if (s->up && s->link && s->no == no && (flags & RDL_F_LEASE) && (s->local || rdf_link_is_up(s->link))) {
		flags |= RDL_F_LINK;
		if (link)
			*link = rdf_link_get(s->link);
	}
	spin_unlock_bh(&space->lock);
	return flags;
}

bool rdlock_session_lease_ok(struct rdlock_space *space)
{
	struct rdlock_session *s = &space->session;
	bool over, ok;

	spin_lock_bh(&space->lock);
	over = ktime_get_boottime_ns() >= s->lease_end;
	ok = s->local ? s->up : session_is_clean(space) && !over;
	if (!s->local && s->id && s->lease_end && over && !s->stopped) {
		/* Who was told so must not find it renewed, by the answer to a heartbeat that comes only now. */
		s->lease_end = 0;
		mod_delayed_work(rdlock_lease_wq, &s->lease_work, 0);
	}
	spin_unlock_bh(&space->lock);
	return ok;
}

static bool session_settled(void *arg)
{
	struct rdlock_session *s = arg;

	return READ_ONCE(s->up) || READ_ONCE(s->stopped) || session_refused(READ_ONCE(s->last_err));
}

static bool session_is_up(void *arg)
{
	struct rdlock_session *s = arg;

	return READ_ONCE(s->up) || READ_ONCE(s->stopped);
}

int rdlock_session_wait_up(struct rdlock_space *space, ktime_t deadline, bool interruptible)
{
	struct rdlock_session *s = &space->session;
	int err;

	err = rdlock_sleep_until(&s->wq, session_is_up, s, deadline, interruptible);
	if (READ_ONCE(s->stopped))
		return READ_ONCE(space->state) == RDLOCK_SPACE_DEAD ? -ENODEV : -ESHUTDOWN;
	return err == -ETIMEDOUT ? -EHOSTUNREACH : err;
}

int rdlock_session_wait_joined(struct rdlock_space *space, ktime_t deadline)
{
	struct rdlock_session *s = &space->session;
	int err, last;

	/* A link that came and went again settles nothing. */
	do {
		err = rdlock_sleep_until(&s->wq, session_settled, s, deadline, true);
		if (READ_ONCE(s->up))
			return 0;
		if (READ_ONCE(s->stopped))
			return -ESHUTDOWN;
		last = READ_ONCE(s->last_err);
	} while (!err && !session_refused(last));
	if (err == -ETIMEDOUT)
		/* The home still counts down for an earlier life of this node: the id is taken. */
		return last == -EAGAIN ? -EBUSY : -EHOSTUNREACH;
	/* An own address that no RDMA device has, say: to a caller the same as one that no device leads to. */
	if (!err && last == -EADDRNOTAVAIL)
		return -ENODEV;
	return err ? err : last;
}

/* ---- begin and end ---- */

void rdlock_session_init(struct rdlock_space *space, bool local)
{
	struct rdlock_session *s = &space->session;

	s->local = local;
	s->inc = new_inc();
	s->no = 1;
	s->backoff_ms = SESSION_BACKOFF_MIN_MS;
	xa_init_flags(&s->calls, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_BH);
	init_waitqueue_head(&s->wq);
	spin_lock_init(&s->open_lock);
	init_completion(&s->bye);
	INIT_DELAYED_WORK(&s->connect_work, connect_work);
	INIT_DELAYED_WORK(&s->hb_work, rdlock_lease_hb_work);
	INIT_DELAYED_WORK(&s->lease_work, rdlock_lease_work);
	INIT_WORK(&s->up_work, up_work);
}

void rdlock_session_start_local(struct rdlock_space *space)
{
	struct rdlock_session *s = &space->session;

	spin_lock_bh(&space->lock);
	s->link = rdf_link_get(rdf_dom_loop(space->dom));
	s->home_node = space->node;
	s->home_inc = s->inc;
	s->lease_end = U64_MAX;
	s->up = true;
	rdlock_space_set_state_locked(space, RDLOCK_SPACE_READY, 0);
	spin_unlock_bh(&space->lock);
}

void rdlock_session_start(struct rdlock_space *space)
{
	queue_delayed_work(space->wq, &space->session.connect_work, 0);
}

void rdlock_session_stop(struct rdlock_space *space, bool polite)
{
	struct rdlock_session *s = &space->session;
	struct rdf_link *link;

	if (polite && !s->local)
		rdlock_session_bye(space);
	spin_lock_bh(&space->lock);
	s->stopped = true;
	s->up = false;
	link = s->link;
	if (s->local)
		s->link = NULL;
	else if (link)
		rdf_link_get(link);
	spin_unlock_bh(&space->lock);
	session_event(space);
	rdlock_session_calls_fail(space, -ENOTCONN);
	cancel_delayed_work_sync(&s->connect_work);
	if (!s->local) {
		/* A connect that was running may have made a link since. */
		if (!link) {
			spin_lock_bh(&space->lock);
			link = s->link ? rdf_link_get(s->link) : NULL;
			spin_unlock_bh(&space->lock);
		}
		if (link) {
			rdf_link_kill(link, -ESHUTDOWN);
			rdf_link_wait_dead(link);
		}
	}
	if (link)
		rdf_link_put(link);
	cancel_delayed_work_sync(&s->connect_work);
	cancel_delayed_work_sync(&s->hb_work);
	cancel_delayed_work_sync(&s->lease_work);
	cancel_work_sync(&s->up_work);
	if (!s->local)
		session_drop_dom(space);
}
