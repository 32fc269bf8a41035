// SPDX-License-Identifier: GPL-2.0
/*
 * What an owner does with what it has: goes to another mode, says that a robust lock is consistent again, reads and
 * writes the value block. And how one that is not recoverable is reset.
 *
 * A value that is written stays in the handle until the lock is released or goes down to shared; only then it is the
 * lock's. So an owner that dies, or is cut off, in the middle leaves the value as it was. Of a big one the handle has
 * no copy before: while it holds the lock the node's own does not change.
 */
#include <linux/err.h>
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
	u32 state = rdlock_handle_state(l);

	if (state == RDLOCK_FD_HELD)
		return 0;
	return state == RDLOCK_FD_REVOKED ? -EKEYREVOKED : -EPERM;
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
	if (l->converting || l->saying)
		return -EBUSY;
	if (l->mode == mode)
		return 1;
	/* Two that both wait for the other to leave would do so for ever. */
	if (mode == RDLOCK_EXCLUSIVE && !list_is_singular(&a->users))
		return -EDEADLK;
	l->err = 0;
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
	bool waited;
	int err;

	if (mode != RDLOCK_SHARED && mode != RDLOCK_EXCLUSIVE)
		return -EINVAL;
	spin_lock_bh(&a->lock);
	err = convert_begin(l, mode);
	spin_unlock_bh(&a->lock);
	if (err < 0)
		return err;
	waited = !err;
	/*
	 * It ends within the fabric's bounds, and cannot be taken back: a signal must not leave the mode open, only a
	 * fatal one may.
	 */
	if (waited)
		err = rdlock_sleep_until(&l->wq, converted, l, KTIME_MAX, false);
	if (err < 0)
		return err;
	spin_lock_bh(&a->lock);
	err = held(l);
	/* In another mode without an error: another thread of the owner has changed it since. */
	if (!err && l->mode != mode) {
		err = waited && l->err ? l->err : -EAGAIN;
		l->err = 0;
	}
	if (!err && g)
		*g = l->grant;
	spin_unlock_bh(&a->lock);
	return err;
}

/* ---- robust locks ---- */

/* Only who was told that it may not be consistent, and is alone, can have made it so. */
static int say_consistent(struct rdlock *l)
{
	struct rdlock_agent *a = l->agent;
	int err = held(l);

	if (err)
		return err;
	if (!a->core.robust || l->mode != RDLOCK_EXCLUSIVE || !(l->grant.flags & RDLOCK_GRANT_OWNER_DIED))
		return -EINVAL;
	if (l->converting || l->saying)
		return -EBUSY;
	WRITE_ONCE(l->saying, true);
	rdlock_agent_report(a, RDL_REPORT_CONSISTENT);
	return 0;
}

static bool said(void *arg)
{
	struct rdlock *l = arg;

	return !READ_ONCE(l->saying);
}

/* Until the home knows: whoever has the lock next, on whatever node, shall find it consistent. */
int rdlock_handle_consistent(struct rdlock *l)
{
	struct rdlock_agent *a = l->agent;
	int err;

	spin_lock_bh(&a->lock);
	err = say_consistent(l);
	spin_unlock_bh(&a->lock);
	if (err)
		return err;
	/* It is said, and cannot be taken back; a recovery ends within the fabric's bounds, or the lock is lost. */
	err = rdlock_sleep_until(&l->wq, said, l, KTIME_MAX, false);
	if (err)
		return err;
	spin_lock_bh(&a->lock);
	err = held(l);
	spin_unlock_bh(&a->lock);
	return err;
}

/* Is anything known, and nothing under way? */
static bool reset_settled(void *arg)
{
	const struct rdlock *l = arg;
	const struct rdlock_agent *a = l->agent;

	return READ_ONCE(l->state) == RDLOCK_FD_REVOKED ||
	       (READ_ONCE(a->registered) && READ_ONCE(a->core.frz) == RDL_FRZ_RUN && !READ_ONCE(a->core.report) &&
		!READ_ONCE(a->core.said));
}

/* 1: it is being reset; 0: it need not be. */
static int reset_begin(struct rdlock *l)
{
	struct rdlock_agent *a = l->agent;

	lockdep_assert_held(&a->lock);
	if (l->state == RDLOCK_FD_REVOKED)
		return -EKEYREVOKED;
	if (!a->registered)
		return 1;
	if (!a->core.robust)
		return -EINVAL;
	if (a->core.frz != RDL_FRZ_RUN || rdl_reports(&a->core))
		return 1;
	if (!(a->core.dead & RDL_VF_NOTRECOVERABLE))
		return 0;
	rdlock_agent_report(a, RDL_REPORT_RESET);
	return 1;
}

int rdlock_lock_reset(struct rdlock_space *space, const void *key, u32 len, ktime_t deadline)
{
	static const struct rdlock_props ask = { .flags = RDLOCK_OPEN_EXISTING };
	struct rdlock *l = rdlock_handle_open(space, key, len, &ask, deadline, true);
	struct rdlock_agent *a;
	int err;

	if (IS_ERR(l))
		return PTR_ERR(l);
	a = l->agent;
	for (;;) {
		spin_lock_bh(&a->lock);
		err = reset_begin(l);
		spin_unlock_bh(&a->lock);
		if (err <= 0)
			break;
		/* Each epoch that begins wakes it, and a session that is lost or begins. */
		err = rdlock_sleep_until(&a->wq, reset_settled, l, deadline, true);
		if (err == -ETIMEDOUT)
			err = rdlock_timeout_error(space);
		if (err)
			break;
	}
	rdlock_handle_close(l);
	return err;
}

/* ---- the value block ---- */

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
