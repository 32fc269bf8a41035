// SPDX-License-Identifier: GPL-2.0
/*
 * Makes what the home knows of a lock match what is open here: opens it, opens it again in a new session, closes it.
 * All of it sleeps, and runs in agent->work; only the end of an agent that the home need not be asked about is also
 * done by who closes the last handle.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "agent.h"
#include "block.h"
#include "main.h"
#include "session.h"
#include "space.h"
#include "stats.h"

/*
 * Pause before the home is asked again to open a lock. Longer than the home takes to repeat a FREEZE: while we ask for
 * any lock, those of locks that are unknown here stay without answer, see lock_unknown().
 */
#define AGENT_AGAIN_MS	600

enum agent_next {
	AGENT_DONE,	/* whatever changes kicks the work */
	AGENT_NOW,	/* something else may be to do */
	AGENT_LATER,	/* the same again, after AGENT_AGAIN_MS */
};

/*
 * What we asked may have been done, and only asking again, and then closing it, makes sure that it is not for ever. Not
 * if the session is lost: then all that we asked in it is void, and rdlock_agent_lose() may have been here already.
 */
static void agent_is_unsure(struct rdlock_agent *a)
{
	struct rdlock_session *s = &a->space->session;

	spin_lock_bh(&a->lock);
	spin_lock_bh(&a->space->lock);
	if (!a->registered && !s->lost) {
		a->unsure = true;
		a->session = 0;
	}
	spin_unlock_bh(&a->space->lock);
	spin_unlock_bh(&a->lock);
}

/* Properties as the message has them. */
static void put_ask(struct rdl_msg_open *o, const struct rdlock_props *ask, bool exact)
{
	o->kind = ask->kind;
	o->value_size = cpu_to_le32(ask->value_size);
	if (ask->flags & RDLOCK_OPEN_STICKY)
		o->flags |= RDL_OPEN_STICKY;
	if (ask->flags & RDLOCK_OPEN_NOT_STICKY)
		o->flags |= RDL_OPEN_NOT_STICKY;
	if (ask->flags & RDLOCK_OPEN_ROBUST)
		o->flags |= RDL_OPEN_ROBUST;
	if (ask->flags & RDLOCK_OPEN_EXISTING)
		o->flags |= RDL_OPEN_EXISTING;
	if (exact)
		o->flags |= RDL_OPEN_EXACT;
}

/* What the lock is from now on, whatever is made of its key. */
static void got_props(struct rdlock_agent *a, const struct rdl_msg_opened *o)
{
	lockdep_assert_held(&a->lock);
	a->ask = (struct rdlock_props){
		.kind = o->kind,
		.flags = (o->props & RDL_P_STICKY ? RDLOCK_OPEN_STICKY : RDLOCK_OPEN_NOT_STICKY) |
			 (o->props & RDL_P_ROBUST ? RDLOCK_OPEN_ROBUST : 0),
		.value_size = le32_to_cpu(o->value_size),
	};
	a->exact = true;
}

/* For the largest READ. */
static u32 buffer_size(const struct rdl_msg_opened *o)
{
	return o->body ? max_t(u32, sizeof(struct rdl_body), le16_to_cpu(o->slots) * sizeof(__le64)) : 0;
}

/* 0: it has no big value. */
static u32 big_size(const struct rdl_msg_opened *o)
{
	return o->props & RDL_P_BIG ? le32_to_cpu(o->value_size) : 0;
}

static bool has_buffers(const struct rdlock_agent *a, const struct rdl_msg_opened *o)
{
	u32 big = big_size(o);

	return buffer_size(o) <= a->in_size && (!big || (a->big && a->big->value->size == big));
}

/*
 * Buffers for what the kind does beside the word. They are replaced only when the space came back with another size,
 * and then nothing is in flight. Only the work does this, so nobody else makes them meanwhile.
 */
static int make_buffers(struct rdlock_agent *a, const struct rdl_msg_opened *o)
{
	u32 size = max(buffer_size(o), a->in_size);
	struct rdlock_agent_big *big = NULL;
	struct rdlock_agent_out *out;
	void *in;

	if (has_buffers(a, o) || READ_ONCE(a->registered))
		return 0;
	in = kzalloc(size, GFP_KERNEL_ACCOUNT);
	out = kzalloc(sizeof(*out), GFP_KERNEL_ACCOUNT);
	if (big_size(o))
		big = rdlock_agent_big_alloc(a, big_size(o));
	if (!in || !out || (big_size(o) && !big)) {
		kfree(in);
		kfree(out);
		rdlock_agent_big_free(big);
		return -ENOMEM;
	}
	spin_lock_bh(&a->lock);
	swap(a->in, in);
	swap(a->out, out);
	swap(a->big, big);
	a->in_size = size;
	spin_unlock_bh(&a->lock);
	kfree(in);
	kfree(out);
	rdlock_agent_big_free(big);
	return 0;
}

/* Who is still without an answer. */
static struct rdlock_opener *agent_opener(const struct rdlock_agent *a)
{
	struct rdlock_opener *o;

	lockdep_assert_held(&a->lock);
	list_for_each_entry(o, &a->openers, list)
		if (!o->err)
			return o;
	return NULL;
}

/* Does anybody wait for the lock to be open in session @no, or need it to be? */
static bool agent_is_wanted(struct rdlock_agent *a, u32 no)
{
	bool wanted;

	spin_lock_bh(&a->lock);
	if (a->registered)
		wanted = a->session != no;
	else
		wanted = agent_opener(a) || rdlock_agent_has_live(a);
	spin_unlock_bh(&a->lock);
	return wanted;
}

/*
 * The home refused @ask: an answer to all who asked for just that; @exact: to all, since it was asked for the sake of
 * all. Another's wish is asked for next. Handles of before the session was lost wait for the lock to be opened again,
 * so only what will not change is said to them.
 */
static enum agent_next agent_refused(struct rdlock_agent *a, const struct rdlock_props *ask, bool exact, int err)
{
	bool other = err == -EINVAL || err == -EOPNOTSUPP;
	enum agent_next next = AGENT_DONE;
	struct rdlock_opener *o;

	lockdep_assert_held(&a->lock);
	/*
	 * Of a home that has no such key: we are not among its openers. One that has another than is wanted now may
	 * have it for us, of an OPEN or CLOSE before.
	 */
	if (err == -ENOSPC || err == -EOPNOTSUPP || err == -ENOENT)
		a->unsure = false;
	/* No opener hears of it when a lock that is open is opened again: go on until it succeeds. */
	if (a->registered)
		return AGENT_LATER;
	list_for_each_entry(o, &a->openers, list)
		if (exact ? !other : !memcmp(&o->ask, ask, sizeof(*ask)))
			WRITE_ONCE(o->err, err);
	if (other) {
		/*
		 * Nobody here can have it as it was, and whoever opens it now may want it as it is. So does who asks
		 * only in order to close it.
		 */
		rdlock_agent_revoke(a, -EKEYREVOKED);
	} else if (rdlock_agent_has_live(a)) {
		/* The home's memory is short, say: that may change any time. */
		next = AGENT_LATER;
	}
	return agent_opener(a) ? AGENT_NOW : next;
}

/* One round of asking the home to open the lock. */
static enum agent_next agent_register(struct rdlock_agent *a)
{
	struct {
		struct rdl_msg h;
		struct rdl_msg_open o;
	} req = { .h.type = RDL_MSG_OPEN };
	struct {
		struct rdl_msg h;
		struct rdl_msg_opened o;
	} rep;
	bool exact, probe, had = false, moved = false, stale;
	struct rdlock_space *space = a->space;
	struct rdlock_opener *opener;
	struct rdlock_props ask;
	struct rdl_event ev = {};
	u32 no, old_table = 0, old_slot = 0;
	enum agent_next next;
	int err, rep_err;

	req.o.obj = RDL_OBJ_LOCK;
	req.o.key_len = a->key.len;
	memcpy(req.o.key, a->key.key, sizeof(req.o.key));
	spin_lock_bh(&a->lock);
	opener = agent_opener(a);
	exact = a->exact;
	/*
	 * An OPEN or CLOSE of an earlier session may have been lost. If the home still has us for what the key was
	 * then, it would refuse anything else: that goes first.
	 */
	probe = a->unsure && a->session != READ_ONCE(space->session.no) && list_empty(&a->handles);
	if (!exact && opener && !probe)
		a->ask = opener->ask;
	else if (!exact)
		/* Only to close it, or see it: as it is there, robust or not. */
		a->ask = (struct rdlock_props){ .flags = RDLOCK_OPEN_EXISTING };
	ask = a->ask;
	put_ask(&req.o, &ask, exact);
	if (a->registered && rdlock_agent_busy(a)) {
		/* Opened again on a link that stands: the end of its operations brings us back. */
		a->session = 0;
		spin_unlock_bh(&a->lock);
		return AGENT_DONE;
	}
	if (a->registered) {
		/* The same incarnation in a new session: what is not known of the last operations must be recovered. */
		if (rdl_ambiguous(&a->core))
			req.o.flags |= RDL_OPEN_AMBIG;
		had = true;
		old_table = a->table;
		old_slot = a->slot;
	}
	spin_unlock_bh(&a->lock);

	rdlock_session_opening(space, 1);
	err = rdlock_session_call(space, &req.h, sizeof(req), &rep, sizeof(rep), NULL, &no);
	if (err == -EAGAIN || err == -ENOTCONN || err == -ETIMEDOUT) {
		rdlock_session_opening(space, -1);
		if (err != -EAGAIN && no)
			agent_is_unsure(a);
		/* The session's end or its next beginning kicks this work again; a recovery or a slow home does not. */
		if (err == -ENOTCONN || (err == -ETIMEDOUT && !space->session.local))
			return AGENT_DONE;
		return AGENT_LATER;
	}

	/* Before the mutex, since it may take a while. */
	rep_err = err;
	if (!err)
		err = make_buffers(a, &rep.o);
	if (!err)
		err = rdlock_agent_reserve_slot(a, le32_to_cpu(rep.h.table), le32_to_cpu(rep.h.lock));

	/*
	 * Until the end, so that the loss of the session comes before or after: an entry in by_slot has no reference,
	 * and only the table and slot that the agent knows of are ever taken out again.
	 */
	mutex_lock(&space->agents_mutex);
	stale = no != READ_ONCE(space->session.no);
	if (!err && !stale) {
		u32 table = le32_to_cpu(rep.h.table), slot = le32_to_cpu(rep.h.lock), slots = le16_to_cpu(rep.o.slots);

		moved = had && a->registered && (table != old_table || slot != old_slot ||
						 rep.o.kind != a->core.kind || slots != a->slots ||
						 le32_to_cpu(rep.o.value_size) != a->ask.value_size);
		/* It was asked for exactly that; handles have room for no other value. */
		moved |= exact && (rep.o.kind != ask.kind || le32_to_cpu(rep.o.value_size) != ask.value_size);
		/* A board on which this node has no place. */
		moved |= slots && slots <= space->node;
		/* Before the core is told, so that a FREEZE right behind the answer finds the agent. */
		if (!moved)
			err = has_buffers(a, &rep.o) ? rdlock_agent_store_slot(a, table, slot) : -ENOMEM;
	}
	if (!rep_err && (err || stale))
		agent_is_unsure(a);
	rdlock_session_opening(space, -1);
	if (stale || moved) {
		mutex_unlock(&space->agents_mutex);
		if (moved)
			/* The home of the same session cannot have moved it, or made it another. */
			rdlock_session_lose(space, -EPROTO);
		return stale ? AGENT_NOW : AGENT_DONE;
	}

	spin_lock_bh(&a->lock);
	if (err) {
		/* What was asked to see what is there was asked for all. That there is nothing is no refusal. */
		next = agent_refused(a, &ask, exact || (probe && err != -ENOENT), err);
		if (probe && !exact && err != -ENOENT && next == AGENT_NOW)
			next = AGENT_LATER;
		spin_unlock_bh(&a->lock);
		mutex_unlock(&space->agents_mutex);
		wake_up_all(&a->wq);
		return next;
	}
	a->table = le32_to_cpu(rep.h.table);
	a->slot = le32_to_cpu(rep.h.lock);
	a->addr.addr = le64_to_cpu(rep.o.addr);
	a->addr.rkey = le32_to_cpu(rep.o.rkey);
	a->body.addr = le64_to_cpu(rep.o.body);
	a->body.rkey = le32_to_cpu(rep.o.body_rkey);
	a->slots = le16_to_cpu(rep.o.slots);
	got_props(a, &rep.o);
	a->session = no;
	ev.epoch = le32_to_cpu(rep.h.epoch);
	ev.rebuilt.vflags = rep.o.vflags;
	if (a->registered) {
		ev.type = RDL_EV_LINK_UP;
	} else {
		/*
		 * A fresh start: nothing is in flight (the old link is dead before a new one comes up) and nothing is
		 * held. Waiters that stayed in the queue are told to the new core by REJOIN.
		 */
		struct list_head *pos;
		u32 nq = 0;

		list_for_each(pos, &a->queue)
			nq++;
		rdl_lock_init(&a->core, rep.o.kind, space->node, ev.epoch,
			      min_t(unsigned int, rdlock_budget, U16_MAX));
		rdl_lock_props(&a->core, rep.o.props, rdl_slot_seed(a->table, a->slot));
		memset(a->value, 0, sizeof(a->value));
		a->core.st = RDL_ST_LOST;
		a->core.nq = nq;
		a->broken = false;
		a->registered = true;
		a->unsure = false;
		rdlock_stat_inc(space, open);
		ev.type = RDL_EV_REJOIN;
	}
	rdlock_agent_event(a, &ev, NULL);
	spin_unlock_bh(&a->lock);
	mutex_unlock(&space->agents_mutex);
	wake_up_all(&a->wq);
	return AGENT_NOW;
}

/* Is the home certain not to know us, as far as we do not know better? Else *@later: what to do can be done now. */
static bool agent_is_forgotten(struct rdlock_agent *a, bool *later)
{
	struct rdlock_session *s = &a->space->session;
	bool acked;

	lockdep_assert_held(&a->lock);
	if (!a->unsure || READ_ONCE(s->stopped))
		return true;
	spin_lock_bh(&a->space->lock);
	acked = a->session == s->no && (s32)(s->hb_acked - a->close_hb) > 0;
	if (a->session == s->no)
		s->lease_low = true;	/* come back when it is acknowledged */
	else
		*later = s->up;
	spin_unlock_bh(&a->space->lock);
	return acked;
}

/* The CLOSE was sent while session @no stood, or just before. It may be lost until something behind it has arrived. */
static void agent_closing(struct rdlock_agent *a, u32 no)
{
	struct rdlock_session *s = &a->space->session;

	spin_lock_bh(&a->lock);
	a->registered = false;
	rdlock_agent_drop_slot(a);
	a->unsure = true;
	spin_lock_bh(&a->space->lock);
	a->close_hb = s->hb;
	a->session = s->no == no ? no : 0;
	s->lease_low = true;
	spin_unlock_bh(&a->space->lock);
	spin_unlock_bh(&a->lock);
	wake_up_all(&a->wq);
	rdlock_agent_stop_timer(a);
}

/*
 * Nobody has it open: tell the home and go, if the core is at rest. A home that is not told would hold the key for us
 * for ever. So while the link is down, or may go down with what we said, the agent stays: the next session begins with
 * a look at it, and if there is none it is not registered any more. Return: true if it could not be told now: come
 * back.
 */
bool rdlock_agent_retire(struct rdlock_agent *a)
{
	struct rdlock_space *space = a->space;
	struct rdl_msg m = { .type = RDL_MSG_CLOSE };
	bool idle, known, later = false;
	u32 no = READ_ONCE(space->session.no);
	int err;

	lockdep_assert_held(&space->agents_mutex);
	spin_lock_bh(&a->lock);
	idle = a->registered ? rdl_idle(&a->core) : agent_is_forgotten(a, &later);
	/* Of another instance nothing here is known to the home, though it is not revoked yet. */
	known = a->registered && !READ_ONCE(space->session.other_instance);
	m.table = cpu_to_le32(a->table);
	m.lock = cpu_to_le32(a->slot);
	m.epoch = cpu_to_le32(a->core.epoch);
	spin_unlock_bh(&a->lock);
	if (!idle)
		return later;
	if (known) {
		err = rdlock_session_send(space, &m, sizeof(m));
		if (err == -ENOMEM)
			return true;
		if (!err)
			rdlock_stat_inc(space, close);
		else if (!READ_ONCE(space->session.stopped))
			return false;
		if (!err && !space->session.local) {
			agent_closing(a, no);
			return false;
		}
	}
	spin_lock_bh(&a->lock);
	a->registered = false;
	spin_unlock_bh(&a->lock);
	wake_up_all(&a->wq);
	rdlock_agent_unlist(a);
	rdlock_agent_put(a);	/* the table's */
	return false;
}

/* One look at what the home must be told. */
static enum agent_next agent_look(struct rdlock_agent *a)
{
	struct rdlock_space *space = a->space;
	enum agent_next next = AGENT_DONE;
	bool want, later = false;
	u32 no;

	mutex_lock(&space->agents_mutex);
	if (a->dead) {
		mutex_unlock(&space->agents_mutex);
		return AGENT_DONE;
	}
	no = READ_ONCE(space->session.no);
	if (!a->opens) {
		later = rdlock_agent_retire(a);
		want = !a->dead && a->session != no;
	} else {
		want = agent_is_wanted(a, no);
	}
	/* Everything is about to be revoked; the work that does it kicks us afterwards. */
	if (READ_ONCE(space->session.other_instance))
		want = false;
	a->asking = want;
	mutex_unlock(&space->agents_mutex);
	if (want) {
		/*
		 * Not under the mutex: it may take a while, and others must be able to come and go. Works of one agent
		 * do not run twice at once, so nobody else registers it meanwhile.
		 */
		next = agent_register(a);
		mutex_lock(&space->agents_mutex);
		a->asking = false;
		/* Whoever closed it meanwhile has left the end to us. */
		later = next == AGENT_DONE && !a->opens && rdlock_agent_retire(a);
		mutex_unlock(&space->agents_mutex);
	}
	return later ? AGENT_LATER : next;
}

void rdlock_agent_work(struct work_struct *work)
{
	struct rdlock_agent *a = container_of(to_delayed_work(work), struct rdlock_agent, work);
	enum agent_next next;

	do
		next = agent_look(a);
	while (next == AGENT_NOW);
	if (next == AGENT_LATER) {
		/* Whoever retired it meanwhile has seen no timer. */
		mutex_lock(&a->space->agents_mutex);
		if (!a->dead)
			rdlock_agent_kick_later(a, AGENT_AGAIN_MS);
		mutex_unlock(&a->space->agents_mutex);
	}
	rdlock_agent_put(a);
}
