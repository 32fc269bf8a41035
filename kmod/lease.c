// SPDX-License-Identifier: GPL-2.0
/*
 * Heartbeats and the lease, Documentation/protocol.rst.
 *
 * The lease runs from the *sending* of the last heartbeat that was acknowledged; the home counts from its *receipt*,
 * which is later, and waits longer (RDLOCK_EVICT_MS against RDLOCK_LEASE_MS). So this node knows that it lost
 * everything before the home lets anybody else have it, as long as both clocks run within the difference. The clock is
 * boottime: suspend counts.
 */
#include <linux/ktime.h>
#include <linux/timekeeping.h>

#include "agent.h"
#include "lease.h"
#include "main.h"
#include "session.h"
#include "space.h"
#include "stats.h"

/* The next heartbeat's number and time. @over: it may overtake others. */
static u32 heartbeat(struct rdlock_session *s, struct rdl_msg *msg, bool over)
{
	u32 hb = ++s->hb % RDLOCK_NR_HB;

	BUILD_BUG_ON(RDLOCK_NR_HB > BITS_PER_LONG);
	s->hb_sent[hb] = ktime_get_boottime_ns();
	__assign_bit(hb, &s->hb_over, over);
	*msg = (struct rdl_msg){ .type = RDL_MSG_HB, .arg = cpu_to_le32(s->hb) };
	return hb;
}

void rdlock_lease_hb_work(struct work_struct *work)
{
	struct rdlock_session *s = container_of(to_delayed_work(work), struct rdlock_session, hb_work);
	struct rdlock_space *space = container_of(s, struct rdlock_space, session);
	struct rdl_msg m;
	int overtook;
	u32 hb;

	spin_lock_bh(&space->lock);
	if (!s->up || s->stopped) {
		spin_unlock_bh(&space->lock);
		return;
	}
	hb = heartbeat(s, &m, true);	/* until it is known better */
	queue_delayed_work(rdlock_lease_wq, &s->hb_work, msecs_to_jiffies(RDLOCK_HB_MS));
	spin_unlock_bh(&space->lock);
	/* It waits for nothing: who has much to say must not lose its lease. A failure shows as one not renewed. */
	overtook = rdlock_session_send_urgent(space, &m, sizeof(m));
	if (overtook < 0)
		return;
	spin_lock_bh(&space->lock);
	if (overtook)
		heartbeat(s, &m, false);
	else
		__clear_bit(hb, &s->hb_over);
	spin_unlock_bh(&space->lock);
	/*
	 * Where messages always wait, each would overtake some, and what was closed would be kept for ever. This one
	 * stands behind them; if it is lost, the next does as well.
	 */
	if (overtook)
		rdlock_session_send(space, &m, sizeof(m));
}

static void agent_lease(struct rdlock_agent *a, void *arg)
{
	rdlock_agent_lease(a);
}

void rdlock_lease_renew(struct rdlock_space *space, u32 hb)
{
	struct rdlock_session *s = &space->session;
	u64 end;

	spin_lock_bh(&space->lock);
	/*
	 * Only what was sent in this session and is still remembered counts; the numbers wrap, the difference does not.
	 * A session that was given up (lease_end 0) has no lease any more.
	 */
	if (s->up && s->lease_end && s->hb - hb < RDLOCK_NR_HB) {
		if ((s32)(hb - s->hb_acked) > 0 && !test_bit(hb % RDLOCK_NR_HB, &s->hb_over))
			s->hb_acked = hb;
		end = s->hb_sent[hb % RDLOCK_NR_HB] + (u64)RDLOCK_LEASE_MS * NSEC_PER_MSEC;
		if (end > s->lease_end) {
			s->lease_end = end;
			rdlock_stat_inc(space, heartbeat);
		}
		if (s->lease_low)
			mod_delayed_work(rdlock_lease_wq, &s->lease_work, 0);
	}
	spin_unlock_bh(&space->lock);
}

void rdlock_lease_work(struct work_struct *work)
{
	struct rdlock_session *s = container_of(to_delayed_work(work), struct rdlock_session, lease_work);
	struct rdlock_space *space = container_of(s, struct rdlock_space, session);
	bool low, over, armed, waits;
	u64 now, left;
	int err;

	spin_lock_bh(&space->lock);
	now = ktime_get_boottime_ns();
	/* An agent sets it without this lock: never clear what was not seen, and so is not followed by a look. */
	low = READ_ONCE(s->lease_low);
	if (low)
		WRITE_ONCE(s->lease_low, false);
	over = now >= s->lease_end;
	armed = s->id && !s->stopped;
	err = s->last_err ? s->last_err : -ETIMEDOUT;
	/*
	 * A home that dies with our HELLO leaves a link on which nothing is sent, and so nothing fails; so may one that
	 * ends the link before the CM there has heard that it stands. Another attempt must still find a lease.
	 */
	waits = s->link && !s->up && s->hello_sent && !s->stopped;
	if (waits && now >= s->hello_sent + (u64)RDLOCK_CALL_MS * NSEC_PER_MSEC) {
		rdf_link_kill(s->link, -ETIMEDOUT);
		waits = false;
	}
	if (armed ? !over : waits) {
		/* The clock of timers stops in suspend; waking up early costs little and late would be unsafe. */
		left = NSEC_PER_SEC / 4;
		if (armed)
			left = min_t(u64, s->lease_end - now, left);
		queue_delayed_work(rdlock_lease_wq, &s->lease_work, nsecs_to_jiffies(left) + 1);
	}
	spin_unlock_bh(&space->lock);
	if (armed && over)
		rdlock_session_lose(space, err);
	else if (low)
		rdlock_agents_each(space, agent_lease, NULL);
}
