// SPDX-License-Identifier: GPL-2.0
/*
 * The agents of a space: found by key when a lock is opened, by the home's address when a message names it; their
 * references, and their end.
 */
#include <linux/errno.h>
#include <linux/jhash.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "agent.h"
#include "main.h"
#include "space.h"
#include "wait.h"

static u32 agent_key_hash(const void *data, u32 len, u32 seed)
{
	const struct rdlock_agent_key *k = data;

	return jhash(k->key, k->len, seed);
}

static u32 agent_obj_hash(const void *data, u32 len, u32 seed)
{
	const struct rdlock_agent *a = data;

	return agent_key_hash(&a->key, len, seed);
}

static int agent_cmp(struct rhashtable_compare_arg *arg, const void *obj)
{
	const struct rdlock_agent_key *k = arg->key;
	const struct rdlock_agent *a = obj;

	return a->key.len != k->len || memcmp(a->key.key, k->key, k->len);
}

static const struct rhashtable_params agent_params = {
	.head_offset = offsetof(struct rdlock_agent, hnode),
	.key_offset = offsetof(struct rdlock_agent, key),
	.key_len = sizeof(struct rdlock_agent_key),
	.hashfn = agent_key_hash,
	.obj_hashfn = agent_obj_hash,
	.obj_cmpfn = agent_cmp,
	.automatic_shrinking = true,
};

/* (table, lock) in one index; a table is a page of words, so a lock's number stays below RDL_CELLS_MAX. */
static unsigned long slot_index(u32 table, u32 slot)
{
	return (unsigned long)table * RDL_CELLS_MAX + slot;
}

static void agent_free_rcu(struct rcu_head *rcu)
{
	struct rdlock_agent *a = container_of(rcu, struct rdlock_agent, rcu);

	kfree(a->in);
	kfree(a->out);
	rdlock_agent_big_free(a->big);
	kfree(a);
}

static void agent_release(struct kref *ref)
{
	struct rdlock_agent *a = container_of(ref, struct rdlock_agent, ref);
	struct rdlock_space *space = a->space;

	WARN_ON_ONCE(!list_empty(&a->queue) || !list_empty(&a->users));
	call_rcu(&a->rcu, agent_free_rcu);
	rdlock_space_unref(space);
}

struct rdlock_agent *rdlock_agent_get(struct rdlock_agent *a)
{
	kref_get(&a->ref);
	return a;
}

void rdlock_agent_put(struct rdlock_agent *a)
{
	kref_put(&a->ref, agent_release);
}

void rdlock_agent_kick(struct rdlock_agent *a)
{
	rdlock_agent_get(a);
	/* true: it was to run later, and has its reference */
	if (mod_delayed_work(rdlock_wq, &a->work, 0))
		rdlock_agent_put(a);
}

/* A kick since comes first. Locks: agents_mutex held, @a not dead: rdlock_agent_unlist() ends what waits. */
void rdlock_agent_kick_later(struct rdlock_agent *a, unsigned int ms)
{
	lockdep_assert_held(&a->space->agents_mutex);
	rdlock_agent_get(a);
	if (!queue_delayed_work(rdlock_wq, &a->work, msecs_to_jiffies(ms)))
		rdlock_agent_put(a);
}

bool rdlock_agent_fits(const struct rdlock_agent *a, const struct rdlock_props *ask)
{
	u32 sticky = ask->flags & (RDLOCK_OPEN_STICKY | RDLOCK_OPEN_NOT_STICKY);

	lockdep_assert_held(&a->lock);
	if (!a->exact || ask->flags & RDLOCK_OPEN_EXISTING)
		return a->exact;
	return (!ask->kind || ask->kind == a->ask.kind) &&
	       (!ask->value_size || ask->value_size == a->ask.value_size) &&
	       (!sticky || sticky & a->ask.flags) && !((ask->flags ^ a->ask.flags) & RDLOCK_OPEN_ROBUST);
}

bool rdlock_agent_has_live(const struct rdlock_agent *a)
{
	const struct rdlock *l;

	lockdep_assert_held(&a->lock);
	list_for_each_entry(l, &a->handles, all)
		if (l->state != RDLOCK_FD_REVOKED)
			return true;
	return false;
}

static void agent_init(struct rdlock_agent *a, struct rdlock_space *space, const struct rdlock_agent_key *k)
{
	kref_init(&a->ref);
	a->space = space;
	a->key = *k;
	spin_lock_init(&a->lock);
	INIT_LIST_HEAD(&a->openers);
	INIT_LIST_HEAD(&a->queue);
	INIT_LIST_HEAD(&a->handles);
	INIT_LIST_HEAD(&a->users);
	/* A stand-in until the home has said what it is. */
	rdl_lock_init(&a->core, RDL_KIND_SPIN, space->node, rdl_epoch(1, 0), rdlock_budget);
	a->core.st = RDL_ST_LOST;
	rdlock_agent_door_init(a);
	init_waitqueue_head(&a->wq);
	INIT_DELAYED_WORK(&a->work, rdlock_agent_work);
}

static int agent_publish(struct rdlock_agent *a)
{
	struct rdlock_space *space = a->space;
	int err;

	lockdep_assert_held(&space->agents_mutex);
	err = rhashtable_insert_fast(&space->agents, &a->hnode, agent_params);
	if (err)
		return err == -EBUSY ? -ENOMEM : err;	/* that is the word for something else here */
	rdlock_space_ref(space);
	list_add_tail(&a->list, &space->agent_list);
	return 0;
}

static struct rdlock_agent *agent_find(struct rdlock_space *space, const struct rdlock_agent_key *k)
{
	lockdep_assert_held(&space->agents_mutex);
	return rhashtable_lookup_fast(&space->agents, k, agent_params);
}

int rdlock_agent_open(struct rdlock_space *space, const void *key, u32 len, struct rdlock_opener *o)
{
	struct rdlock_agent_key k = { .len = len };
	struct rdlock_agent *a, *made = NULL;
	int err = 0;

	memcpy(k.key, key, len);
	o->err = 0;
	mutex_lock(&space->agents_mutex);
	a = agent_find(space, &k);
	if (!a) {
		/* Not under the mutex: who is short of memory must not keep the others from hearing of a lost lease. */
		mutex_unlock(&space->agents_mutex);
		made = kzalloc(sizeof(*made), GFP_KERNEL_ACCOUNT);
		if (!made)
			return -ENOMEM;
		agent_init(made, space, &k);
		mutex_lock(&space->agents_mutex);
		a = agent_find(space, &k);
	}
	if (!a) {
		err = agent_publish(made);
		if (err)
			goto out_unlock;
		a = made;
		made = NULL;
	}
	spin_lock_bh(&a->lock);
	/* What it was binds nobody, and its key may be made anew by anybody: all are closed, or have lost it. */
	if (!a->registered && !rdlock_agent_has_live(a))
		a->exact = false;
	if (a->exact && !rdlock_agent_fits(a, &o->ask))
		err = list_empty(&a->handles) ? -EBUSY : -EINVAL;
	else
		list_add_tail(&o->list, &a->openers);
	spin_unlock_bh(&a->lock);
	if (err == -EBUSY) {
		/* Nobody has it open, whoever is about to, but the home has not been told yet. */
		rdlock_agent_get(a);
		o->agent = a;
	}
	if (err)
		goto out_unlock;
	a->opens++;
	rdlock_agent_get(a);
	o->agent = a;
	rdlock_agent_kick(a);
out_unlock:
	mutex_unlock(&space->agents_mutex);
	kfree(made);
	return err;
}

void rdlock_agent_close(struct rdlock_agent *a)
{
	struct rdlock_space *space = a->space;
	bool later = false;

	mutex_lock(&space->agents_mutex);
	WRITE_ONCE(a->opens, a->opens - 1);
	if (!a->opens && !a->dead)
		rdlock_agent_shed(a);
	if (!a->opens && !a->dead && !a->asking)
		later = rdlock_agent_retire(a);
	mutex_unlock(&space->agents_mutex);
	if (later)
		rdlock_agent_kick(a);
	rdlock_agent_put(a);
}

int rdlock_agent_reserve_slot(struct rdlock_agent *a, u32 table, u32 slot)
{
	return xa_reserve_bh(&a->space->by_slot, slot_index(table, slot), GFP_KERNEL);
}

/* Not GFP_KERNEL: who waits for memory with the mutex keeps all from hearing of a lost lease. */
int rdlock_agent_store_slot(struct rdlock_agent *a, u32 table, u32 slot)
{
	lockdep_assert_held(&a->space->agents_mutex);
	return xa_err(xa_store_bh(&a->space->by_slot, slot_index(table, slot), a, GFP_NOWAIT));
}

void rdlock_agent_drop_slot(struct rdlock_agent *a)
{
	unsigned long index = slot_index(a->table, a->slot);

	xa_lock_bh(&a->space->by_slot);
	if (xa_load(&a->space->by_slot, index) == a)
		__xa_erase(&a->space->by_slot, index);
	xa_unlock_bh(&a->space->by_slot);
}

void rdlock_agent_unlist(struct rdlock_agent *a)
{
	struct rdlock_space *space = a->space;

	lockdep_assert_held(&space->agents_mutex);
	a->dead = true;
	rdlock_agent_drop_slot(a);
	rhashtable_remove_fast(&space->agents, &a->hnode, agent_params);
	list_del_init(&a->list);
	/* No event comes any more that could start them again. The module may go before they would have fired. */
	rdlock_agent_stop_timer(a);
	if (cancel_delayed_work(&a->work))
		rdlock_agent_put(a);
}

struct rdlock_agent *rdlock_agent_by_slot(struct rdlock_space *space, u32 table, u32 slot)
{
	struct rdlock_agent *a;

	if (slot >= RDL_CELLS_MAX)
		return NULL;
	rcu_read_lock();
	a = xa_load(&space->by_slot, slot_index(table, slot));
	if (a && !kref_get_unless_zero(&a->ref))
		a = NULL;
	rcu_read_unlock();
	return a;
}

void rdlock_agents_each(struct rdlock_space *space, void (*fn)(struct rdlock_agent *a, void *arg), void *arg)
{
	struct rdlock_agent *a, *n;

	mutex_lock(&space->agents_mutex);
	list_for_each_entry_safe(a, n, &space->agent_list, list)
		fn(a, arg);
	mutex_unlock(&space->agents_mutex);
}

int rdlock_agents_init(struct rdlock_space *space)
{
	mutex_init(&space->agents_mutex);
	INIT_LIST_HEAD(&space->agent_list);
	xa_init_flags(&space->by_slot, XA_FLAGS_LOCK_BH);
	return rhashtable_init(&space->agents, &agent_params);
}

void rdlock_agents_destroy(struct rdlock_space *space)
{
	WARN_ON_ONCE(!list_empty(&space->agent_list));
	rhashtable_destroy(&space->agents);
	xa_destroy(&space->by_slot);
}

/* One line; what the kind does not have is left out. */
static void show_queue(struct seq_file *m, const struct rdl_lock *core)
{
	const struct rdl_queue *q = &core->q;

	seq_printf(m, " mode=%c debt=%u", q->mode == RDL_MODE_X ? 'x' : q->mode == RDL_MODE_S ? 's' : '-', q->debt);
	if (q->hint)
		seq_printf(m, " next=%u", q->hint_node);
	if (q->vflags)
		seq_printf(m, " vflags=%#x", q->vflags);
	seq_printf(m, "%s%s%s", q->props & RDL_P_STICKY ? " sticky" : "", q->props & RDL_P_VALUE ? " value" : "",
		   q->dirty ? " dirty" : "");
}

void rdlock_agent_show(struct seq_file *m, struct rdlock_agent *a)
{
	char name[RDLOCK_NAME_STR];
	struct rdl_lock core;
	struct rdlock *user;
	u64 token = 0;
	bool reg;

	spin_lock_bh(&a->lock);
	core = a->core;
	reg = a->registered;
	list_for_each_entry(user, &a->users, node)
		token = user->grant.token;
	spin_unlock_bh(&a->lock);
	seq_printf(m, "agent %s kind=%s state=%s%s%s waiters=%u user=%u token=%#llx epoch=%u.%u ticket=%u opens=%u",
		   rdlock_name_str(name, a->key.key, a->key.len), rdl_kind_name(core.kind), rdl_state_name(core.st),
		   reg ? "" : ",unregistered", core.frz ? ",frozen" : "", core.nq, core.users, token,
		   rdl_epoch_gen(core.epoch), rdl_epoch_rep(core.epoch), core.ticket, READ_ONCE(a->opens));
	if (core.kind != RDL_KIND_SPIN)
		show_queue(m, &core);
	seq_putc(m, '\n');
}
