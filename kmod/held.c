// SPDX-License-Identifier: GPL-2.0
/*
 * What an owner does with what it has: goes to another mode, reads and writes the value block.
 *
 * A value that is written stays in the handle until the lock is released or goes down to shared; only then it is the
 * lock's. So an owner that dies, or is cut off, in the middle leaves the value as it was. Of a big one the handle has
 * no copy before: while it holds the lock the node's own does not change.
 */
#include <linux/errno.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "agent.h"
#include "block.h"
#include "compat.h"
#include "space.h"
#include "wait.h"

static int held(const struct rdlock *l)
{
	lockdep_assert_held(&l->agent->lock);
	if (l->state == RDLOCK_FD_HELD)
		return 0;
	return l->state == RDLOCK_FD_REVOKED ? -EKEYREVOKED : -EPERM;
}

/* 0: there is something to wait for; 1: it is in that mode. */
static int convert_begin(struct rdlock *l, u32 mode)
{
	struct rdlock_agent *a = l->agent;
	int err = held(l);

	if (err)
		return err;
	if (a->core.kind != RDL_KIND_FAIR)
		return -EOPNOTSUPP;
	if (l->converting)
		return -EBUSY;
	if (l->mode == mode)
		return 1;
	/* Two that both wait for the other to leave would do so for ever. */
	if (mode == RDLOCK_EXCLUSIVE && !list_is_singular(&a->users))
		return -EDEADLK;
	return rdlock_agent_convert(a, l, mode, l->dirty);
}

static bool converted(void *arg)
{
	struct rdlock *l = arg;

	return !READ_ONCE(l->converting);
}

int rdlock_handle_convert(struct rdlock *l, u32 mode, struct rdlock_grant *g)
{
	struct rdlock_agent *a = l->agent;
	int err;

	if (mode != RDLOCK_SHARED && mode != RDLOCK_EXCLUSIVE)
		return -EINVAL;
	spin_lock_bh(&a->lock);
	err = convert_begin(l, mode);
	spin_unlock_bh(&a->lock);
	if (err < 0)
		return err;
	/*
	 * It ends within the fabric's bounds, and cannot be taken back: a signal must not leave the mode open, only a
	 * fatal one may.
	 */
	if (!err)
		err = rdlock_sleep_until(&l->wq, converted, l, KTIME_MAX, false);
	if (err < 0)
		return err;
	spin_lock_bh(&a->lock);
	err = held(l);
	if (!err) {
		err = l->err;
		l->err = 0;
	}
	if (!err && g)
		*g = l->grant;
	spin_unlock_bh(&a->lock);
	return err;
}

int rdlock_handle_value_get(struct rdlock *l, void *value, u32 size)
{
	struct rdlock_agent *a = l->agent;
	int err;

	spin_lock_bh(&a->lock);
	err = held(l);
	if (!err && !a->ask.value_size)
		err = -EOPNOTSUPP;
	if (!err) {
		if (l->staged)
			rdlock_block_get(l->dirty ? l->staged : a->big->value, value, size);
		else
			memcpy(value, l->value, min(size, a->ask.value_size));
		err = a->ask.value_size;
	}
	spin_unlock_bh(&a->lock);
	return err;
}

int rdlock_handle_value_set(struct rdlock *l, const void *value, u32 size)
{
	/* Of 64 KiB it takes a while: before the lock. */
	u32 crc = l->staged ? rdl_crc32c(0, value, size) : 0;
	struct rdlock_agent *a = l->agent;
	int err;

	spin_lock_bh(&a->lock);
	err = held(l);
	if (!err && !a->ask.value_size)
		err = -EOPNOTSUPP;
	if (!err && (l->mode != RDLOCK_EXCLUSIVE || l->converting))
		err = -EPERM;
	if (!err && size != a->ask.value_size)
		err = -EINVAL;
	if (!err) {
		if (l->staged)
			rdlock_block_put(l->staged, value, crc);
		else
			memcpy(l->value, value, size);
		l->dirty = true;
	}
	spin_unlock_bh(&a->lock);
	return err;
}
