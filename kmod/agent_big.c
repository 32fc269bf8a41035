// SPDX-License-Identifier: GPL-2.0
/*
 * Big values of an agent: between the node's copy and the home. One transfer at a time, several operations on the
 * link's one queue pair, one event when all of them have ended.
 *
 *   READ    the body, then the pieces; nobody writes meanwhile, who reads has the lock
 *   WRITE   the pieces, then the body with the sum of all: before it the old body is there, and its sum does not fit
 *
 * A transfer in flight has one reference to its agent. Its operations end without agent->lock; the last to end is the
 * one that takes it.
 */
#include <linux/errno.h>
#include <linux/slab.h>

#include "agent.h"
#include "block.h"
#include "space.h"
#include "stats.h"

/* The body's operation is the last in the array, wherever it comes in the order of posting. */
static struct rdf_op *body_op(struct rdlock_agent_big *big)
{
	return &big->op[big->value->nr];
}

/* What is known of all of them: the worst. */
static u8 outcome_of_all(struct rdlock_agent *a, const struct rdlock_agent_big *big)
{
	u8 outcome = big->cut ? RDL_FAILED : RDL_OK;
	u32 i;

	for (i = 0; i <= big->value->nr; i++) {
		const struct rdf_op *op = &big->op[i];

		if (!big->posted[i])
			continue;
		if (op->outcome == RDF_AMBIGUOUS) {
			rdlock_stat_inc(a->space, ambiguous);
			return RDL_AMBIGUOUS;
		}
		if (op->outcome == RDF_FAILED)
			outcome = RDL_FAILED;
	}
	return outcome;
}

/* Version 0: damaged. The flags of a sound body hold even if the bytes do not. */
static const u8 *take_big(struct rdlock_agent *a, struct rdl_event *ev)
{
	struct rdlock_agent_big *big = a->big;
	const struct rdl_body *body = a->in;

	if (rdl_body_crc(body) != le32_to_cpu(body->crc)) {
		ev->peer.vflags = RDL_VF_VALUE_INVALID;
		return NULL;
	}
	ev->peer.vflags = le32_to_cpu(body->vflags) & RDL_VF_ALL;
	if (rdl_body_big_crc(body) != big->value->crc) {
		ev->peer.vflags |= RDL_VF_VALUE_INVALID;
		return NULL;
	}
	ev->peer.ver = le64_to_cpu(body->ver);
	return body->value;
}

static void transfer_ended(struct rdlock_agent *a)
{
	struct rdlock_agent_big *big = a->big;
	struct rdl_event ev = { .type = RDL_EV_OP, .op = big->type, .outcome = outcome_of_all(a, big) };
	bool read = big->type == RDL_ACT_POST_READ_AREA && ev.outcome == RDL_OK;
	const u8 *value = NULL;

	/* Tens of microseconds: not under the lock, and nobody else looks at it before the event. */
	if (read)
		big->value->crc = rdlock_block_crc(big->value);
	spin_lock_bh(&a->lock);
	big->type = 0;
	if (read)
		value = take_big(a, &ev);
	rdlock_agent_event(a, &ev, value);
	spin_unlock_bh(&a->lock);
	rdlock_agent_put(a);
}

static void piece_done(struct rdf_op *op)
{
	/* The array is what the operation is in; which of them it is says where the array begins. */
	struct rdlock_agent_big *big = container_of(op - op->index, struct rdlock_agent_big, op[0]);

	if (atomic_dec_and_test(&big->left))
		transfer_ended(big->agent);
}

struct rdlock_agent_big *rdlock_agent_big_alloc(struct rdlock_agent *a, u32 size)
{
	struct rdlock_block *value = rdlock_block_alloc(size);
	struct rdlock_agent_big *big;
	u32 i;

	if (!value)
		return NULL;
	big = kzalloc(struct_size(big, op, value->nr + 1), GFP_KERNEL_ACCOUNT);
	if (!big) {
		rdlock_block_free(value);
		return NULL;
	}
	big->agent = a;
	big->value = value;
	for (i = 0; i <= value->nr; i++) {
		rdf_op_init(&big->op[i], piece_done);
		big->op[i].index = i;
	}
	return big;
}

void rdlock_agent_big_free(struct rdlock_agent_big *big)
{
	if (!big)
		return;
	rdlock_block_free(big->value);
	kfree(big);
}

static int post_piece(struct rdlock_agent *a, struct rdf_link *link, u32 i)
{
	struct rdlock_agent_big *big = a->big;
	struct rdf_addr at = a->body;
	int err;

	/* Before: the end of it may be looked at before we are back. */
	big->posted[i] = true;
	at.addr += sizeof(struct rdl_body) + a->slots * sizeof(__le64) + (u64)i * RDLOCK_PIECE;
	if (big->type == RDL_ACT_POST_READ_AREA)
		err = rdf_read(link, &big->op[i], at, big->value->piece[i], rdlock_piece_len(big->value->size, i));
	else
		err = rdf_write(link, &big->op[i], at, big->value->piece[i], rdlock_piece_len(big->value->size, i));
	if (err)
		big->posted[i] = false;
	return err;
}

static int post_big_body(struct rdlock_agent *a, struct rdf_link *link, const struct rdl_action *act)
{
	struct rdlock_agent_big *big = a->big;
	struct rdl_body *body = &a->out->body;
	int err;

	big->posted[big->value->nr] = true;
	if (big->type == RDL_ACT_POST_READ_AREA) {
		err = rdf_read(link, body_op(big), a->body, a->in, sizeof(*body));
	} else {
		body->ver = cpu_to_le64(act->peer.ver);
		body->vflags = cpu_to_le32(act->peer.vflags);
		rdl_body_set_big_crc(body, big->value->crc);
		body->crc = cpu_to_le32(rdl_body_crc(body));
		err = rdf_write(link, body_op(big), a->body, body, sizeof(*body));
	}
	if (err)
		big->posted[big->value->nr] = false;
	return err;
}

int rdlock_agent_post_big(struct rdlock_agent *a, struct rdf_link *link, const struct rdl_action *act)
{
	struct rdlock_agent_big *big = a->big;
	bool read = act->type == RDL_ACT_POST_READ_AREA;
	u32 n, i;
	int err = 0;

	lockdep_assert_held(&a->lock);
	if (WARN_ON_ONCE(!big || big->type))
		return -EINVAL;
	n = big->value->nr + 1;
	big->type = act->type;
	big->cut = false;
	memset(big->posted, 0, sizeof(big->posted));
	atomic_set(&big->left, n);
	for (i = 0; i < n && !err; i++) {
		if (read)
			err = i ? post_piece(a, link, i - 1) : post_big_body(a, link, act);
		else
			err = i < n - 1 ? post_piece(a, link, i) : post_big_body(a, link, act);
	}
	if (!err) {
		if (read)
			rdlock_stat_inc(a->space, big_read);
		else
			rdlock_stat_inc(a->space, big_write);
		return 0;
	}
	/* The link went meanwhile. What was posted ends, and the last of it says that not all was. */
	big->cut = true;
	n -= i - 1;
	if (!atomic_sub_and_test(n, &big->left))
		return 0;
	big->type = 0;
	return err;
}
