// SPDX-License-Identifier: GPL-2.0
/*
 * Messages of an agent: to the home what the core claims or asks, to other nodes whose turn it is and who comes next. A
 * message between nodes goes through the home (peer.c). The value's bytes go along where the core names a version.
 */
#include <linux/errno.h>

#include "agent.h"
#include "fabric/fault.h"
#include "peer.h"
#include "session.h"
#include "space.h"
#include "stats.h"
#include "trace.h"

/* ---- out ---- */

static void address(const struct rdlock_agent *a, struct rdl_msg *msg, u32 epoch)
{
	msg->table = cpu_to_le32(a->table);
	msg->lock = cpu_to_le32(a->slot);
	msg->epoch = cpu_to_le32(epoch);
}

static int send_claim(struct rdlock_agent *a, const struct rdl_action *act)
{
	struct {
		struct rdl_msg h;
		struct rdl_msg_claim c;
	} m = { .h.type = RDL_MSG_CLAIM };

	rdl_msg_put_claim(&m.h, &act->claim);
	if (act->claim.ver)
		memcpy(m.c.value, a->value, sizeof(m.c.value));
	address(a, &m.h, act->epoch);
	rdlock_stat_inc(a->space, sent_claim);
	return rdlock_session_send(a->space, &m.h, sizeof(m));
}

static int send_plain(struct rdlock_agent *a, u8 type, const struct rdl_action *act)
{
	struct rdl_msg m = { .type = type };

	address(a, &m, act->epoch);
	if (type == RDL_MSG_CONSISTENT)
		m.arg = cpu_to_le32(act->arg);
	else if (type == RDL_MSG_QUERY)
		rdlock_stat_inc(a->space, query);
	return rdlock_session_send(a->space, &m, sizeof(m));
}

static void send_peer(struct rdlock_agent *a, u8 type, u32 epoch, const struct rdl_peer *peer)
{
	struct {
		struct rdl_msg h;
		struct rdl_msg_peer p;
	} m = { .h.type = type };

	rdl_msg_put_peer(&m.h, a->space->node, peer);
	address(a, &m.h, epoch);
	trace_rdlock_send(a, type, epoch, peer);
	rdlock_peer_send(a->space, &m.h, sizeof(m), peer->node);
}

static void send_grant(struct rdlock_agent *a, u32 epoch, const struct rdl_peer *peer)
{
	struct {
		struct rdl_msg h;
		struct rdl_msg_grant g;
	} m = { .h.type = RDL_MSG_GRANT };

	rdl_msg_put_peer(&m.h, a->space->node, peer);
	memcpy(m.g.value, a->value, sizeof(m.g.value));
	address(a, &m.h, epoch);
	rdlock_stat_inc(a->space, sent_grant);
	trace_rdlock_send(a, RDL_MSG_GRANT, epoch, peer);
	rdlock_peer_send(a->space, &m.h, sizeof(m), peer->node);
}

/* A whole run of readers: the ticket of each is in its slot, which has just been read. */
static void send_run(struct rdlock_agent *a, const struct rdl_acts *acts, const struct rdl_action *act,
		     const struct rdl_event *ev)
{
	struct rdl_peer peer = act->peer;
	u16 node;

	for (node = 0; node < ev->nslots && node < RDL_MAX_NODES; node++) {
		if (!(acts->run[node / 64] >> (node % 64) & 1))
			continue;
		peer.node = node;
		peer.ticket = rdl_slot_ticket(le64_to_cpu(ev->slots[node]));
		send_grant(a, act->epoch, &peer);
	}
}

/*
 * What is lost with a link is made good: the next open of the lock in a new session makes the home ask again, or the
 * core say it again; a GRANT or HINT is missed by the waiter's watchdog. What cannot be sent for want of memory on a
 * link that stands is said again after the lock was opened again; a claim is asked for anyway.
 */
void rdlock_agent_send(struct rdlock_agent *a, const struct rdl_acts *acts, const struct rdl_action *act,
		       const struct rdl_event *ev)
{
	int err = 0;

	lockdep_assert_held(&a->lock);
	switch (act->type) {
	case RDL_ACT_CLAIM:
		if (!rdf_fault(RDF_FAULT_claim_lost))
			send_claim(a, act);
		break;
	case RDL_ACT_ROLL:
		err = send_plain(a, RDL_MSG_ROLL_REQ, act);
		break;
	case RDL_ACT_CONSISTENT:
		err = send_plain(a, RDL_MSG_CONSISTENT, act);
		break;
	case RDL_ACT_QUERY:
		send_plain(a, RDL_MSG_QUERY, act);
		break;
	case RDL_ACT_SEND_GRANT:
		send_grant(a, act->epoch, &act->peer);
		break;
	case RDL_ACT_GRANT_RUN:
		send_run(a, acts, act, ev);
		break;
	case RDL_ACT_SEND_HINT:
		rdlock_stat_inc(a->space, sent_hint);
		send_peer(a, RDL_MSG_HINT, act->epoch, &act->peer);
		break;
	case RDL_ACT_SEND_PROBE:
		rdlock_stat_inc(a->space, sent_probe);
		send_peer(a, RDL_MSG_PROBE, act->epoch, &act->peer);
		break;
	case RDL_ACT_SEND_ANSWER:
		send_peer(a, RDL_MSG_ANSWER, act->epoch, &act->peer);
		break;
	}
	if (err == -ENOMEM)
		a->session = 0;		/* the end of the step opens it again */
}

/* ---- in ---- */

void rdlock_agent_freeze(struct rdlock_agent *a, u32 epoch)
{
	struct rdl_event ev = { .type = RDL_EV_FREEZE, .epoch = epoch };

	spin_lock_bh(&a->lock);
	rdlock_agent_event(a, &ev, NULL);
	spin_unlock_bh(&a->lock);
}

void rdlock_agent_rebuilt(struct rdlock_agent *a, const struct rdl_msg *msg)
{
	const struct rdl_msg_rebuilt *m = rdl_msg_cpayload(msg);
	struct rdl_event ev = { .type = RDL_EV_REBUILT, .epoch = le32_to_cpu(msg->epoch) };

	rdl_msg_get_rebuilt(msg, &ev.rebuilt);
	spin_lock_bh(&a->lock);
	rdlock_agent_event(a, &ev, m->value);
	spin_unlock_bh(&a->lock);
}

void rdlock_agent_peer(struct rdlock_agent *a, const struct rdl_msg *msg)
{
	static const u8 event[] = {
		[RDL_MSG_GRANT] = RDL_EV_GRANT,
		[RDL_MSG_HINT] = RDL_EV_HINT,
		[RDL_MSG_PROBE] = RDL_EV_PROBE,
		[RDL_MSG_ANSWER] = RDL_EV_ANSWER,
	};
	const struct rdl_msg_grant *g = rdl_msg_cpayload(msg);
	struct rdl_event ev = { .type = event[msg->type], .epoch = le32_to_cpu(msg->epoch) };
	u16 to;

	rdl_msg_get_peer(msg, &ev.peer, &to);
	spin_lock_bh(&a->lock);
	rdlock_agent_event(a, &ev, msg->type == RDL_MSG_GRANT ? g->value : NULL);
	spin_unlock_bh(&a->lock);
}

void rdlock_agent_tell(struct rdlock_agent *a, u32 epoch)
{
	struct {
		struct rdl_msg h;
		struct rdl_msg_stat s;
	} m = { .h.type = RDL_MSG_STAT };
	struct rdl_stat stat;

	spin_lock_bh(&a->lock);
	/* It knows no better than the home. */
	if (!a->broken) {
		rdl_stat(&a->core, &stat);
		rdl_msg_put_stat(&m.h, &stat);
		address(a, &m.h, epoch);
		rdlock_session_send(a->space, &m.h, sizeof(m));
	}
	spin_unlock_bh(&a->lock);
}
