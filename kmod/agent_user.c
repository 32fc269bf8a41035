// SPDX-License-Identifier: GPL-2.0
/*
 * The handles of an agent as the core's decisions reach them: a grant is delivered, a request fails, a grant is lost or
 * goes to another mode.
 *
 * Locking: agent->lock is held everywhere. A handle is in agent->queue while it waits and in agent->users while it has
 * the lock, never in both.
 */
#include <linux/errno.h>

#include "agent.h"
#include "main.h"
#include "space.h"
#include "stats.h"
#include "wait.h"

void rdlock_agent_wake(struct rdlock *l)
{
	/* Order: the state was stored before; pairs with set_current_state() in the sleeper (prepare_to_wait()). */
	wake_up_all(&l->wq);
	if (l->fn && queue_work(rdlock_fn_wq, &l->work))
		rdlock_agent_get(l->agent);
}

/* The first @act->n waiters have it, with tokens that follow each other. */
void rdlock_agent_deliver(struct rdlock_agent *a, const struct rdl_action *act)
{
	u32 n = act->n ? act->n : 1, flags = act->arg, i;
	struct rdlock *l;

	lockdep_assert_held(&a->lock);
	/* Of a lock without a value nothing can be said of it. */
	if (!(a->core.q.props & RDL_P_VALUE))
		flags &= ~RDLOCK_GRANT_VALUE_INVALID;
	for (i = 0; i < n; i++) {
		l = list_first_entry_or_null(&a->queue, struct rdlock, node);
		if (WARN_ON_ONCE(!l))
			return;
		list_move_tail(&l->node, &a->users);
		l->grant.token = act->val + i;
		l->grant.instance = READ_ONCE(a->space->instance);
		l->grant.flags = flags;
		memcpy(l->value, a->value, sizeof(l->value));
		l->dirty = false;
		rdlock_stat_inc(a->space, grant);
		/* The readers of a run but the first owe nothing to the network either. */
		if (i || (flags & RDLOCK_GRANT_LOCAL)) {
			l->grant.flags |= RDLOCK_GRANT_LOCAL;
			rdlock_stat_inc(a->space, grant_local);
		}
		if (flags & RDLOCK_GRANT_OWNER_DIED)
			rdlock_stat_inc(a->space, owner_died);
		WRITE_ONCE(l->state, RDLOCK_FD_GRANTED);
		rdlock_agent_wake(l);
	}
}

void rdlock_agent_waiter_fail(struct rdlock_agent *a, struct rdlock *l, int err)
{
	lockdep_assert_held(&a->lock);
	list_del_init(&l->node);
	if (err == -EAGAIN)
		rdlock_stat_inc(a->space, busy);
	l->err = err;
	WRITE_ONCE(l->state, RDLOCK_FD_IDLE);
	rdlock_agent_wake(l);
}

void rdlock_agent_fail(struct rdlock_agent *a, const struct rdl_action *act)
{
	struct rdlock *l;

	if (WARN_ON_ONCE(list_empty(&a->queue)))
		return;
	if (act->type == RDL_ACT_FAIL_HEAD)
		l = list_first_entry(&a->queue, struct rdlock, node);
	else
		l = list_last_entry(&a->queue, struct rdlock, node);
	rdlock_agent_waiter_fail(a, l, -(int)act->arg);
}

void rdlock_agent_fail_all(struct rdlock_agent *a, int err)
{
	struct rdlock *l, *n;

	list_for_each_entry_safe(l, n, &a->queue, node)
		rdlock_agent_waiter_fail(a, l, err);
}

void rdlock_agent_said(struct rdlock_agent *a)
{
	struct rdlock *l = list_first_entry_or_null(&a->users, struct rdlock, node);

	lockdep_assert_held(&a->lock);
	if (rdl_reports(&a->core))
		return;
	if (l && l->saying) {
		l->grant.flags &= ~RDLOCK_GRANT_OWNER_DIED;
		WRITE_ONCE(l->saying, false);
		wake_up_all(&l->wq);
	}
	wake_up_all(&a->wq);
}

void rdlock_agent_users_lost(struct rdlock_agent *a)
{
	struct rdlock *l, *n;

	lockdep_assert_held(&a->lock);
	rdlock_stat_inc(a->space, lost);
	list_for_each_entry_safe(l, n, &a->users, node) {
		list_del_init(&l->node);
		l->grant = (struct rdlock_grant){};
		l->converting = false;
		l->saying = false;
		WRITE_ONCE(l->state, RDLOCK_FD_REVOKED);
		rdlock_agent_wake(l);
	}
}

/* A conversion concerns the only user; if that has gone meanwhile, the core does not speak of it any more. */
void rdlock_agent_converted(struct rdlock_agent *a, const struct rdl_action *act)
{
	struct rdlock *l = list_first_entry_or_null(&a->users, struct rdlock, node);

	lockdep_assert_held(&a->lock);
	if (WARN_ON_ONCE(!l || !list_is_singular(&a->users)))
		return;
	if (act->type == RDL_ACT_CONVERTED) {
		l->mode = act->mode;
		l->grant.token = act->val;
		/* What was told with the grant it converts is true of this one. */
		l->grant.flags &= a->core.robust ? RDLOCK_GRANT_OWNER_DIED : 0;
		l->dirty = false;
		rdlock_stat_inc(a->space, convert);
	} else {
		l->err = -(int)act->arg;
	}
	WRITE_ONCE(l->converting, false);
	wake_up_all(&l->wq);
}

/* Only kind fair can tell modes apart. The core takes no more at once than the tokens of one grant allow. */
void rdlock_agent_head(const struct rdlock_agent *a, struct rdl_event *ev)
{
	const struct rdlock *l;

	lockdep_assert_held(&a->lock);
	ev->head = RDL_MODE_NL;
	ev->run = 0;
	/* There may be very many, and who goes when the session is lost is not to be kept waiting by them. */
	if (a->core.kind != RDL_KIND_FAIR || ev->type == RDL_EV_LOSE ||
	    (ev->type == RDL_EV_CANCEL && a->core.st == RDL_ST_LOST))
		return;
	list_for_each_entry(l, &a->queue, node) {
		if (ev->head == RDL_MODE_NL)
			ev->head = l->mode;
		if (l->mode != RDLOCK_MODE_SHARED || ++ev->run > RDL_LOC_MAX)
			break;
	}
}
