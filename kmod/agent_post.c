// SPDX-License-Identifier: GPL-2.0
/*
 * Operations of an agent: on the lock's word, and of the kinds with a queue also READs of word, value or board and
 * WRITEs of the own slot and of the value. All of one lock go through one queue pair, so they take place, and end, in
 * the order in which they are posted; the core relies on it.
 *
 * Each operation in flight has a reference to its agent.
 */
#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/minmax.h>

#include "agent.h"
#include "session.h"
#include "space.h"
#include "stats.h"

/* ---- ends ---- */

static u8 outcome_of(struct rdlock_agent *a, const struct rdf_op *op)
{
	switch (op->outcome) {
	case RDF_OK:
		return RDL_OK;
	case RDF_FAILED:
		return RDL_FAILED;
	case RDF_AMBIGUOUS:
		break;
	}
	rdlock_stat_inc(a->space, ambiguous);
	return RDL_AMBIGUOUS;
}

/*
 * How long a round trip takes, for who waits busily. A moving average over eight; what took long for a reason of its
 * own, a lost packet say, counts as a millisecond. Agents of a space may overwrite each other's: it is a hint.
 */
static void measure(struct rdlock_agent *a)
{
	s64 rtt = READ_ONCE(a->space->rtt), ns = ktime_to_ns(ktime_sub(ktime_get(), a->posted));

	ns = clamp_t(s64, ns, 1, NSEC_PER_MSEC);
	WRITE_ONCE(a->space->rtt, rtt ? rtt + (ns - rtt) / 8 : ns);
}

static void op_done(struct rdf_op *op)
{
	struct rdlock_agent *a = container_of(op, struct rdlock_agent, op);
	struct rdl_event ev = { .type = RDL_EV_OP, .outcome = outcome_of(a, op), .old = op->old };

	spin_lock_bh(&a->lock);
	if (ev.outcome == RDL_OK)
		measure(a);
	rdlock_agent_event(a, &ev, NULL);
	spin_unlock_bh(&a->lock);
	rdlock_agent_put(a);
}

/* Version and flags as the core wants them: version 0 says that the body is damaged. */
static const u8 *take_body(struct rdlock_agent *a, struct rdl_event *ev)
{
	const struct rdl_body *body = a->in;

	if (rdl_body_crc(body) != le32_to_cpu(body->crc)) {
		ev->peer.vflags = RDL_VF_VALUE_INVALID;
		return NULL;
	}
	ev->peer.ver = le64_to_cpu(body->ver);
	ev->peer.vflags = le32_to_cpu(body->vflags) & RDL_VF_ALL;
	return body->value;
}

static void read_done(struct rdf_op *op)
{
	struct rdlock_agent *a = container_of(op, struct rdlock_agent, read);
	struct rdl_event ev = { .type = RDL_EV_OP, .outcome = outcome_of(a, op) };
	const u8 *value = NULL;

	spin_lock_bh(&a->lock);
	ev.op = a->core.q.rd;
	if (ev.outcome == RDL_OK) {
		switch (ev.op) {
		case RDL_ACT_POST_READ_SLOTS:
			ev.slots = a->in;
			ev.nslots = a->slots;
			break;
		case RDL_ACT_POST_READ_VALUE:
			value = take_body(a, &ev);
			break;
		case RDL_ACT_POST_READ_WORD:
			/* As the atomics have it: the host's byte order. */
			ev.old = *(u64 *)a->in;
			break;
		}
	}
	rdlock_agent_event(a, &ev, value);
	spin_unlock_bh(&a->lock);
	rdlock_agent_put(a);
}

static void write_slot_done(struct rdf_op *op)
{
	struct rdlock_agent *a = container_of(op, struct rdlock_agent, write_slot);
	struct rdl_event ev = { .type = RDL_EV_OP, .op = RDL_ACT_POST_WRITE_SLOT, .outcome = outcome_of(a, op) };

	spin_lock_bh(&a->lock);
	rdlock_agent_event(a, &ev, NULL);
	spin_unlock_bh(&a->lock);
	rdlock_agent_put(a);
}

/* The operation that gives the grant back follows it on the queue pair, and its end says what became of both. */
static void write_body_done(struct rdf_op *op)
{
	struct rdlock_agent *a = container_of(op, struct rdlock_agent, write_body);

	spin_lock_bh(&a->lock);
	a->body_busy = false;
	spin_unlock_bh(&a->lock);
	rdlock_agent_put(a);
}

void rdlock_agent_post_init(struct rdlock_agent *a)
{
	rdf_op_init(&a->op, op_done);
	rdf_op_init(&a->read, read_done);
	rdf_op_init(&a->write_slot, write_slot_done);
	rdf_op_init(&a->write_body, write_body_done);
}

/* ---- posts ---- */

/* @act gives an exclusive grant back: the value that nobody has seen yet goes before it. */
static int post_body(struct rdlock_agent *a, struct rdf_link *link, const struct rdl_action *act)
{
	struct rdl_body *body = &a->out->body;
	int err;

	lockdep_assert_held(&a->lock);
	if (a->body_busy)
		return -EBUSY;
	body->ver = cpu_to_le64(act->peer.ver);
	body->vflags = cpu_to_le32(act->peer.vflags);
	memcpy(body->value, a->value, sizeof(body->value));
	body->crc = cpu_to_le32(rdl_body_crc(body));
	rdlock_agent_get(a);
	a->body_busy = true;
	err = rdf_write(link, &a->write_body, a->body, body, sizeof(*body));
	if (err) {
		a->body_busy = false;
		rdlock_agent_put(a);
	} else {
		rdlock_stat_inc(a->space, lock_write);
	}
	return err;
}

static int post_word(struct rdlock_agent *a, struct rdf_link *link, const struct rdl_action *act)
{
	int err = 0;

	if (act->arg & RDL_POST_VALUE)
		err = post_body(a, link, act);
	if (err)
		return err;
	a->posted = ktime_get();
	if (act->type == RDL_ACT_POST_CAS)
		err = rdf_cas(link, &a->op, a->addr, act->cmp, act->val);
	else
		err = rdf_faa(link, &a->op, a->addr, act->val);
	if (!err && act->type == RDL_ACT_POST_CAS)
		rdlock_stat_inc(a->space, lock_cas);
	else if (!err)
		rdlock_stat_inc(a->space, lock_faa);
	return err;
}

static int post_read(struct rdlock_agent *a, struct rdf_link *link, u8 type)
{
	struct rdf_addr from = a->body;
	u32 len = sizeof(struct rdl_body);
	int err;

	if (type == RDL_ACT_POST_READ_SLOTS) {
		from.addr += offsetof(struct rdl_body, slot);
		len = a->slots * sizeof(__le64);
	} else if (type == RDL_ACT_POST_READ_WORD) {
		from = a->addr;
		len = sizeof(u64);
	}
	if (WARN_ON_ONCE(len > a->in_size))
		return -EINVAL;
	err = rdf_read(link, &a->read, from, a->in, len);
	if (!err)
		rdlock_stat_inc(a->space, lock_read);
	return err;
}

static int post_slot(struct rdlock_agent *a, struct rdf_link *link, u64 slot)
{
	struct rdf_addr to = a->body;
	int err;

	if (WARN_ON_ONCE(a->space->node >= a->slots))
		return -EINVAL;
	to.addr += offsetof(struct rdl_body, slot) + a->space->node * sizeof(__le64);
	a->out->slot = cpu_to_le64(slot);
	err = rdf_write(link, &a->write_slot, to, &a->out->slot, sizeof(a->out->slot));
	if (!err)
		rdlock_stat_inc(a->space, lock_write);
	return err;
}

bool rdlock_agent_post(struct rdlock_agent *a, const struct rdl_action *act)
{
	struct rdf_link *link;
	int err;

	lockdep_assert_held(&a->lock);
	/* RDL_F_LINK may have gone since the core looked: the fabric or the flags say no, and nothing was sent. */
	if (!(rdlock_session_flags(a->space, a->session, &link) & RDL_F_LINK))
		return false;
	rdlock_agent_get(a);
	switch (act->type) {
	case RDL_ACT_POST_CAS:
	case RDL_ACT_POST_FAA:
		err = post_word(a, link, act);
		break;
	case RDL_ACT_POST_WRITE_SLOT:
		err = post_slot(a, link, act->val);
		break;
	case RDL_ACT_POST_READ_AREA:
	case RDL_ACT_POST_WRITE_VALUE:
		err = rdlock_agent_post_big(a, link, act);
		break;
	default:
		err = post_read(a, link, act->type);
		break;
	}
	rdf_link_put(link);
	if (err)
		rdlock_agent_put(a);
	return !err;
}
