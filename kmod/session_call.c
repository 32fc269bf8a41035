// SPDX-License-Identifier: GPL-2.0
/* What a node says to its home: messages, and requests that wait for their answer. */
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/string.h>
#include <linux/xarray.h>

#include "core/msg.h"
#include "fabric/fabric.h"
#include "home.h"
#include "session.h"
#include "space.h"

#define SESSION_CALL_ROUNDS	3	/* so often RDLOCK_CALL_MS, of a home that lives */

/*
 * A request that waits for its answer. On the caller's stack; found by number in session->calls, whose lock protects
 * it.
 */
struct session_call {
	struct completion done;
	int err;
	void *reply;
	u32 reply_len;
};

enum session_how { SESSION_LOSSY, SESSION_URGENT, SESSION_SURE };

static int session_send(struct rdlock_space *space, struct rdl_msg *msg, u32 len, enum session_how how)
{
	struct rdlock_session *s = &space->session;
	struct rdf_link *link = NULL;
	int err = -ENOTCONN;

	msg->src = cpu_to_le16(space->node);
	spin_lock_bh(&space->lock);
	msg->src_inc = cpu_to_le32(s->inc);
	msg->dst_inc = cpu_to_le32(s->home_inc);
	/* A new instance hears of no lock before all is revoked that was opened in the old one: see up_work(). */
	if (s->up && s->link && (how != SESSION_LOSSY || !s->other_instance))
		link = rdf_link_get(s->link);
	spin_unlock_bh(&space->lock);
	if (s->local)
		err = link ? rdlock_home_local(space, msg, len) : -ENOTCONN;
	else if (link && how == SESSION_URGENT)
		err = rdf_send_urgent(link, msg, len);
	else if (link && how == SESSION_SURE)
		err = rdf_send(link, msg, len);
	else if (link)
		err = rdf_send_lossy(link, msg, len);
	if (link)
		rdf_link_put(link);
	return err == -ENOBUFS ? -ENOMEM : err;
}

int rdlock_session_send(struct rdlock_space *space, struct rdl_msg *msg, u32 len)
{
	return session_send(space, msg, len, SESSION_LOSSY);
}

int rdlock_session_send_urgent(struct rdlock_space *space, struct rdl_msg *msg, u32 len)
{
	return session_send(space, msg, len, SESSION_URGENT);
}

/* Changes with every sign of life of the home. */
static u64 lease_of(struct rdlock_space *space)
{
	u64 end;

	spin_lock_bh(&space->lock);
	end = space->session.lease_end;
	spin_unlock_bh(&space->lock);
	return end;
}

/*
 * A home that answers heartbeats, and has much to do (thousands of locks closed at once stand before this request), is
 * given more time by whoever has it. Not for ever: its heartbeats are answered by somebody else than its requests.
 * Return: false: not even a heartbeat was answered.
 */
static bool answer_wait(struct rdlock_space *space, struct completion *done)
{
	unsigned int rounds = SESSION_CALL_ROUNDS;
	u64 lease = lease_of(space), before;

	for (; rounds && !wait_for_completion_timeout(done, msecs_to_jiffies(RDLOCK_CALL_MS)); rounds--) {
		before = lease;
		lease = lease_of(space);
		if (lease == before)
			return false;
	}
	return true;
}

/*
 * One who has a deadline, or can be killed, waits no longer than that. What it means for the home that there was no
 * answer is judged only after a time in which a living one would have given a sign. Return: -ERESTARTSYS or 0.
 */
static int caller_wait(struct rdlock_space *space, struct completion *done, const struct rdlock_caller *caller,
		       bool *lives)
{
	u64 lease = lease_of(space);
	s64 ns = (s64)RDLOCK_CALL_MS * NSEC_PER_MSEC, left;
	bool whole = true;
	long ret;

	if (caller->deadline != KTIME_MAX) {
		left = max_t(s64, ktime_to_ns(ktime_sub(caller->deadline, ktime_get())), 0);
		whole = left >= ns;
		ns = min(left, ns);
	}
	if (caller->interruptible)
		ret = wait_for_completion_interruptible_timeout(done, nsecs_to_jiffies(ns) + 1);
	else
		ret = wait_for_completion_killable_timeout(done, nsecs_to_jiffies(ns) + 1);
	if (ret < 0)
		return ret;
	*lives = ret || !whole || lease_of(space) != lease;
	return 0;
}

int rdlock_session_call(struct rdlock_space *space, struct rdl_msg *msg, u32 len, void *reply, u32 reply_len,
			const struct rdlock_caller *caller, u32 *no)
{
	struct rdlock_session *s = &space->session;
	struct session_call call = { .reply = reply, .reply_len = reply_len, .err = -ETIMEDOUT };
	bool lives = true;
	int killed = 0;
	u32 req;
	int err;

	init_completion(&call.done);
	*no = READ_ONCE(s->no);
	err = xa_alloc_cyclic_bh(&s->calls, &req, &call, xa_limit_31b, &s->req, GFP_KERNEL);
	if (err < 0)
		return err;
	msg->req = cpu_to_le32(req);
	err = rdlock_session_send(space, msg, len);
	if (!err && caller)
		killed = caller_wait(space, &call.done, caller, &lives);
	else if (!err)
		lives = answer_wait(space, &call.done);
	xa_erase_bh(&s->calls, req);	/* after it nobody writes to call or reply */
	if (err) {
		if (err == -ENOTCONN)
			*no = 0;
		return err;
	}
	if (call.err != -ETIMEDOUT)
		return call.err;	/* an answer that came with the signal is one */
	if (killed)
		return killed;
	if (!s->local && (!caller || !lives)) {
		/*
		 * A home that answers nothing for so long is as good as gone: let the link be made anew. That a caller
		 * does not want to wait longer says nothing of it.
		 */
		spin_lock_bh(&space->lock);
		if (s->up && s->no == *no)
			rdf_link_kill(s->link, -ETIMEDOUT);
		spin_unlock_bh(&space->lock);
	}
	return -ETIMEDOUT;
}

void rdlock_session_answer(struct rdlock_space *space, const struct rdl_msg *msg, u32 len)
{
	struct rdlock_session *s = &space->session;
	struct session_call *call;

	xa_lock_bh(&s->calls);
	call = xa_load(&s->calls, le32_to_cpu(msg->req));
	if (call) {
		call->err = -(int)le32_to_cpu(msg->arg);
		memcpy(call->reply, msg, min(len, call->reply_len));
		complete(&call->done);
	}
	xa_unlock_bh(&s->calls);
}

void rdlock_session_calls_fail(struct rdlock_space *space, int err)
{
	struct session_call *call;
	unsigned long i;

	xa_lock_bh(&space->session.calls);
	xa_for_each(&space->session.calls, i, call) {
		call->err = err;
		complete(&call->done);
	}
	xa_unlock_bh(&space->session.calls);
}

void rdlock_session_bye(struct rdlock_space *space)
{
	struct rdl_msg bye = { .type = RDL_MSG_BYE };

	/* Behind all that was closed, however much. */
	if (!session_send(space, &bye, sizeof(bye), SESSION_SURE))
		answer_wait(space, &space->session.bye);
}
