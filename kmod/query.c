// SPDX-License-Identifier: GPL-2.0
/*
 * A waiter asks (QUERY) whether anybody can still give it its turn: a hand-over may have been lost with a link. The
 * home asks every opener for its state (ASK, STAT), and if nobody holds the lock, or works on passing it on, it
 * recovers it. The states are not of one moment, so a recovery may be for nothing; that is harmless.
 *
 * One round a lock at a time. An opener that does not answer is given up by its lease; the waiter asks again.
 */
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "home.h"
#include "space.h"
#include "stats.h"

/* A round that was not answered by then is over, and another may begin; less than a waiter's first patience. */
#define QUERY_NS	(500ull * NSEC_PER_MSEC)

/**
 * struct rdlock_query - a round; protected by home->mutex
 * @waiter: who asked
 * @since: when, boottime
 * @expect: openers that have not answered
 * @own: what @waiter answered
 * @n: answers
 * @all: they
 */
struct rdlock_query {
	u16 waiter;
	u64 since;
	u64 expect[RDL_MAX_NODES / 64];
	struct rdl_stat own;
	u32 n;
	struct rdl_stat all[];
};

void rdlock_query_end(struct rdlock_key *key)
{
	kfree(key->query);
	key->query = NULL;
}

void rdlock_query(struct rdlock_home *home, struct rdlock_key *key, u16 node)
{
	struct rdl_msg m = { .type = RDL_MSG_ASK };
	u64 now = ktime_get_boottime_ns();
	struct rdlock_query *q;
	u32 i;

	lockdep_assert_held(&home->mutex);
	if (key->rec || key->kind == RDL_KIND_SPIN || (key->query && now < key->query->since + QUERY_NS))
		return;
	rdlock_query_end(key);
	q = kzalloc(struct_size(q, all, home->space->max_nodes), GFP_KERNEL);
	if (!q)
		return;		/* it asks again */
	q->waiter = node;
	q->since = now;
	memcpy(q->expect, key->openers, sizeof(q->expect));
	key->query = q;
	m.table = cpu_to_le32(key->chunk->no);
	m.lock = cpu_to_le32(key->index);
	m.epoch = cpu_to_le32(key->epoch);
	/* Nobody's answer is handled before the last is asked: we are on the queue that handles them. */
	for (i = 0; i < RDL_MAX_NODES; i++)
		if (rdlock_key_open_by(key, i))
			rdlock_home_send(home, i, &m, sizeof(m));
}

static bool answered(const struct rdlock_query *q)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(q->expect); i++)
		if (q->expect[i])
			return false;
	return true;
}

void rdlock_query_stat(struct rdlock_home *home, struct rdlock_key *key, u16 node, const struct rdl_msg *msg)
{
	struct rdlock_query *q = key->query;
	struct rdl_stat stat;
	bool stuck;

	lockdep_assert_held(&home->mutex);
	if (!q || le32_to_cpu(msg->epoch) != key->epoch || !(q->expect[node / 64] >> (node % 64) & 1))
		return;
	rdl_msg_get_stat(msg, &stat);
	q->expect[node / 64] &= ~(1ull << (node % 64));
	if (node == q->waiter)
		q->own = stat;
	q->all[q->n++] = stat;
	if (!answered(q))
		return;
	stuck = rdl_stat_stuck(&q->own, q->all, q->n);
	rdlock_query_end(key);
	if (stuck)
		rdlock_recover(home, key, false, false, 0);
}
