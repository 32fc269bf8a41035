// SPDX-License-Identifier: GPL-2.0
/*
 * Spaces: create, join, leave, destroy, list; permissions; net namespaces.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/ctype.h>
#include <linux/errno.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/ktime.h>
#include <linux/timekeeping.h>
#include <linux/uidgid.h>
#include <net/netns/generic.h>

#include "agent.h"
#include "debugfs.h"
#include "home.h"
#include "main.h"
#include "session.h"
#include "space.h"
#include "stats.h"
#include "compat.h"

/**
 * struct rdlock_net - the spaces of one net namespace
 * @mutex: protects @spaces and serialises creation and removal
 * @spaces: struct rdlock_space.list
 * @gone: the namespace is being taken down. Protected by @mutex.
 */
struct rdlock_net {
	struct mutex mutex;
	struct list_head spaces;
	bool gone;
};

static unsigned int rdlock_net_id;

static struct rdlock_net *rdlock_net(struct net *net)
{
	return net_generic(net, rdlock_net_id);
}

const char *rdlock_name_str(char *buf, const u8 *name, u32 len)
{
	char *p = buf;
	u32 i;

	for (i = 0; i < len; i++) {
		if (isascii(name[i]) && isgraph(name[i]) && name[i] != '%')
			*p++ = name[i];
		else
			p += sprintf(p, "%%%02x", name[i]);
	}
	*p = 0;
	return buf;
}

/* ---- references ---- */

static void space_free_work(struct work_struct *work)
{
	struct rdlock_space *space = container_of(work, struct rdlock_space, free_work);

	rdlock_home_free(space);
	rdlock_agents_destroy(space);
	destroy_workqueue(space->wq);
	free_percpu(space->stats);
	xa_destroy(&space->session.calls);
	put_user_ns(space->user_ns);
	kfree(space);
}

static void space_release(struct kref *ref)
{
	struct rdlock_space *space = container_of(ref, struct rdlock_space, ref);

	queue_work(rdlock_wq, &space->free_work);
}

struct rdlock_space *rdlock_space_ref(struct rdlock_space *space)
{
	kref_get(&space->ref);
	return space;
}

void rdlock_space_unref(struct rdlock_space *space)
{
	kref_put(&space->ref, space_release);
}

int rdlock_space_gone_error(struct rdlock_space *space)
{
	if (READ_ONCE(space->state) == RDLOCK_SPACE_DEAD)
		return -ENODEV;
	/* Not made: reserved, not published. The state may follow @stopping a moment later. */
	return READ_ONCE(space->made) ? -ESHUTDOWN : -ENOENT;
}

int rdlock_space_pin(struct rdlock_space *space)
{
	int err = 0;

	spin_lock_bh(&space->lock);
	if (space->stopping)
		err = rdlock_space_gone_error(space);
	else
		space->openers++;
	spin_unlock_bh(&space->lock);
	if (!err)
		rdlock_space_ref(space);
	return err;
}

void rdlock_space_unpin(struct rdlock_space *space)
{
	spin_lock_bh(&space->lock);
	space->openers--;
	spin_unlock_bh(&space->lock);
	rdlock_space_unref(space);
}

bool rdlock_space_is_stopping(struct rdlock_space *space)
{
	return READ_ONCE(space->stopping);
}

void rdlock_space_set_state_locked(struct rdlock_space *space, enum rdlock_space_state state, int reason)
{
	lockdep_assert_held(&space->lock);
	if (space->state == RDLOCK_SPACE_STOPPING ||
	    (space->state == RDLOCK_SPACE_DEAD && state != RDLOCK_SPACE_STOPPING))
		return;
	if (space->state != state)
		space->since = ktime_get_ns();
	WRITE_ONCE(space->state, state);
	WRITE_ONCE(space->reason, reason);
}

/* ---- begin ---- */

/* The same on all nodes: the hash travels in the connection request, the name itself follows and decides. */
static u64 space_hash(const u8 *name, u32 len)
{
	static const siphash_key_t key = { { 0x72646c6f636b2e6bull, 0x6f207370616365ull } };

	return siphash(name, len, &key);
}

static void space_dead_work(struct work_struct *work);

static struct rdlock_space *space_alloc(const struct rdlock_space_params *p, bool is_home)
{
	struct rdlock_space *space;
	int err = -ENOMEM;

	space = kzalloc(sizeof(*space), GFP_KERNEL_ACCOUNT);
	if (!space)
		return ERR_PTR(-ENOMEM);
	kref_init(&space->ref);
	space->net = p->net;
	space->user_ns = get_user_ns(p->net->user_ns);
	memcpy(space->name, p->name, p->name_len);
	space->name_len = p->name_len;
	space->hash = space_hash(p->name, p->name_len);
	space->addr = p->addr;
	space->node = p->node;
	space->max_nodes = p->max_nodes ? p->max_nodes : 64;
	space->kind = p->kind;	/* a member learns it in WELCOME */
	space->is_home = is_home;
	space->wait = p->wait;
	space->mode = p->mode;
	space->uid = p->uid;
	space->gid = p->gid;
	spin_lock_init(&space->lock);
	space->state = RDLOCK_SPACE_JOINING;
	space->since = ktime_get_ns();
	INIT_LIST_HEAD(&space->list);
	INIT_LIST_HEAD(&space->local_rx);
	INIT_WORK(&space->free_work, space_free_work);
	INIT_WORK(&space->dead_work, space_dead_work);
	mutex_init(&space->down_mutex);
	rdlock_session_init(space, is_home);
	space->stats = alloc_percpu(struct rdlock_stats);
	if (!space->stats)
		goto err_free;
	space->wq = alloc_ordered_workqueue("rdlock_space", WQ_MEM_RECLAIM);
	if (!space->wq)
		goto err_free_stats;
	err = rdlock_agents_init(space);
	if (err)
		goto err_free_wq;
	return space;

err_free_wq:
	destroy_workqueue(space->wq);
err_free_stats:
	free_percpu(space->stats);
err_free:
	put_user_ns(space->user_ns);
	kfree(space);
	return ERR_PTR(err);
}

static struct rdlock_space *space_lookup(struct rdlock_net *rn, const void *name, u32 len)
{
	struct rdlock_space *space;

	lockdep_assert_held(&rn->mutex);
	list_for_each_entry(space, &rn->spaces, list)
		if (space->name_len == len && !memcmp(space->name, name, len))
			return space;
	return NULL;
}

/* Reserve the name: the space is in the list, but nobody can open it before space_publish(). */
static int space_reserve(struct rdlock_space *space)
{
	struct rdlock_net *rn = rdlock_net(space->net);
	int err = 0;

	space->stopping = true;
	mutex_lock(&rn->mutex);
	if (rn->gone)
		err = -ESHUTDOWN;
	else if (space_lookup(rn, space->name, space->name_len))
		err = -EEXIST;
	else
		list_add_tail(&space->list, &rn->spaces);
	mutex_unlock(&rn->mutex);
	return err;
}

static void space_publish(struct rdlock_space *space)
{
	rdlock_debugfs_add(space);
	spin_lock_bh(&space->lock);
	space->made = true;
	if (space->state != RDLOCK_SPACE_STOPPING && space->state != RDLOCK_SPACE_DEAD)
		space->stopping = false;
	spin_unlock_bh(&space->lock);
}

static void space_unlist(struct rdlock_space *space)
{
	struct rdlock_net *rn = rdlock_net(space->net);
	bool listed;

	mutex_lock(&rn->mutex);
	listed = !list_empty(&space->list);
	list_del_init(&space->list);
	mutex_unlock(&rn->mutex);
	if (listed)
		rdlock_space_unref(space);
}

static void home_device_gone(struct rdf_dom *dom)
{
	rdlock_space_give_up(rdf_dom_ctx(dom), -ENODEV);
}

static const struct rdf_dom_ops home_dom_ops = { .device_gone = home_device_gone };

static void space_down(struct rdlock_space *space, int err, bool polite);

int rdlock_space_create(const struct rdlock_space_params *p)
{
	struct rdlock_space *space;
	struct rdf_dom *dom;
	int err;

	space = space_alloc(p, true);
	if (IS_ERR(space))
		return PTR_ERR(space);
	do {
		space->instance = get_random_u64();
	} while (!space->instance);
	rdlock_space_ref(space);	/* ours; the first is the list's */
	err = space_reserve(space);
	if (err)
		goto err_unref_list;
	dom = rdf_dom_create(space->net, &space->addr, RDF_DOM_HOME | READ_ONCE(rdlock_backend), RDLOCK_CALL_MS,
			     &home_dom_ops, space);
	if (IS_ERR(dom)) {
		err = PTR_ERR(dom);
		/* Nobody here has the address, so no device has: one errno for callers. */
		if (err == -EADDRNOTAVAIL)
			err = -ENODEV;
		goto err_unlist;
	}
	/* The device may go from now on: then space_down() comes before all of this or after it. */
	mutex_lock(&space->down_mutex);
	if (space->down) {
		err = -ENODEV;
		goto err_dom;
	}
	spin_lock_bh(&space->lock);
	space->dom = dom;
	space->backend = rdf_dom_backend(dom);
	spin_unlock_bh(&space->lock);
	rdlock_session_start_local(space);
	err = rdlock_home_start(space);
	mutex_unlock(&space->down_mutex);
	if (err)
		goto err_down;
	space_publish(space);
	rdlock_space_unref(space);
	return 0;

err_dom:
	mutex_unlock(&space->down_mutex);
	rdf_dom_destroy(dom);
	goto err_unlist;
err_down:
	space_down(space, err, false);
err_unlist:
	space_unlist(space);
	rdlock_space_unref(space);
	return err;
err_unref_list:
	rdlock_space_unref(space);
	rdlock_space_unref(space);
	return err;
}

int rdlock_space_join(const struct rdlock_space_params *p, ktime_t deadline)
{
	struct rdlock_space *space;
	int err;

	if (deadline != KTIME_MAX && ktime_compare(ktime_get(), deadline) >= 0)
		return -ETIMEDOUT;
	space = space_alloc(p, false);
	if (IS_ERR(space))
		return PTR_ERR(space);
	rdlock_space_ref(space);
	err = space_reserve(space);
	if (err)
		goto err_unref_list;
	rdlock_session_start(space);
	err = rdlock_session_wait_joined(space, deadline);
	if (err)
		goto err_down;
	space_publish(space);
	rdlock_space_unref(space);
	return 0;

err_down:
	space_down(space, err, false);
	space_unlist(space);
	rdlock_space_unref(space);
	return err;
err_unref_list:
	rdlock_space_unref(space);
	rdlock_space_unref(space);
	return err;
}

/* ---- end ---- */

struct lose_arg {
	int err;
};

static void agent_end(struct rdlock_agent *a, void *arg)
{
	const struct lose_arg *l = arg;

	rdlock_agent_lose(a, l->err, true);
}

static void agent_kick(struct rdlock_agent *a, void *arg)
{
	rdlock_agent_kick(a);
}

/* Nobody has it open, and it is being given back, or the home has still to be told. */
static void agent_count_owing(struct rdlock_agent *a, void *arg)
{
	unsigned int *owing = arg;

	spin_lock_bh(&a->lock);
	*owing += !a->opens && a->registered;
	spin_unlock_bh(&a->lock);
}

/*
 * A member that goes by itself first gives back what was released: the home would take what is still on its way for the
 * property of a dead node, and the next owner would be told so, and miss the last value.
 */
static void space_settle(struct rdlock_space *space)
{
	unsigned long end = jiffies + msecs_to_jiffies(RDLOCK_CALL_MS);
	unsigned int owing, pause_ms = 5;

	while (READ_ONCE(space->session.up)) {
		owing = 0;
		rdlock_agents_each(space, agent_count_owing, &owing);
		if (!owing || time_after(jiffies, end))
			break;
		msleep(pause_ms);
		pause_ms = min(pause_ms * 2, 100U);
	}
}

/*
 * Everything of the space that is not memory ends here, once: handles are revoked, the session is left, the home is
 * stopped, the device is let go. Bounded by the fabric's teardown. The space stays listed when it died, until somebody
 * removes it.
 */
static void space_down(struct rdlock_space *space, int err, bool polite)
{
	struct lose_arg arg = { .err = err };
	struct rdf_dom *dom;

	mutex_lock(&space->down_mutex);
	if (space->down)
		goto out_unlock;
	space->down = true;
	if (polite && !space->session.local)
		space_settle(space);
	spin_lock_bh(&space->lock);
	if (space->session.local) {
		/* No new post; those in flight end by themselves. */
		space->session.up = false;
	} else if (!polite && space->session.link) {
		rdf_link_kill(space->session.link, err);
	}
	spin_unlock_bh(&space->lock);
	rdlock_agents_each(space, rdlock_agent_lose_grants, &arg.err);
	rdlock_agents_each(space, agent_end, &arg);
	rdlock_session_stop(space, polite);
	if (space->home)
		rdlock_home_stop(space);
	if (space->session.local) {
		spin_lock_bh(&space->lock);
		dom = space->dom;
		space->dom = NULL;
		spin_unlock_bh(&space->lock);
		if (dom)
			rdf_dom_destroy(dom);
	}
	/*
	 * An open that was on its way may have been answered since, and a recovery that nobody ends have asked for its
	 * claims.
	 */
	rdlock_agents_each(space, agent_end, &arg);
	/* Agents that nobody has open have nobody left to retire them. */
	rdlock_agents_each(space, agent_kick, NULL);
out_unlock:
	mutex_unlock(&space->down_mutex);
}

static void space_dead_work(struct work_struct *work)
{
	struct rdlock_space *space = container_of(work, struct rdlock_space, dead_work);
	int err;

	spin_lock_bh(&space->lock);
	err = -space->reason;
	spin_unlock_bh(&space->lock);
	space_down(space, err, false);
	rdlock_space_unref(space);
}

void rdlock_space_give_up(struct rdlock_space *space, int err)
{
	bool first;

	spin_lock_bh(&space->lock);
	first = space->state != RDLOCK_SPACE_DEAD;
	rdlock_space_set_state_locked(space, RDLOCK_SPACE_DEAD, -err);
	if (space->state != RDLOCK_SPACE_DEAD) {	/* stopping anyway */
		first = false;
	} else {
		space->stopping = true;
	}
	spin_unlock_bh(&space->lock);
	if (!first)
		return;
	rdlock_space_ref(space);
	if (!queue_work(rdlock_wq, &space->dead_work))
		rdlock_space_unref(space);
}

/* Take it out of use; with openers only if @force. */
static int space_remove(struct net *net, const void *name, u32 len, bool home, bool force)
{
	struct rdlock_net *rn = rdlock_net(net);
	struct rdlock_space *space;
	char buf[RDLOCK_NAME_STR];
	bool busy, members;
	int err = 0;

	mutex_lock(&rn->mutex);
	space = space_lookup(rn, name, len);
	if (!space) {
		mutex_unlock(&rn->mutex);
		return -ENOENT;
	}
	rdlock_space_ref(space);
	mutex_unlock(&rn->mutex);
	if (space->is_home != home) {
		err = -EINVAL;
		goto out_unref;
	}
	members = home && space->state == RDLOCK_SPACE_READY && space->home && rdlock_home_members(space);
	spin_lock_bh(&space->lock);
	busy = space->openers || members;
	if (space->state == RDLOCK_SPACE_STOPPING) {
		err = -ENOENT;		/* somebody else is at it */
	} else if (!space->made) {
		err = -EBUSY;		/* whoever makes it, or fails to, is still at it */
	} else if (busy && !force) {
		err = -EBUSY;
	} else {
		space->stopping = true;
		rdlock_space_set_state_locked(space, RDLOCK_SPACE_STOPPING, ESHUTDOWN);
	}
	spin_unlock_bh(&space->lock);
	if (err)
		goto out_unref;
	rdlock_debugfs_remove(space);
	space_down(space, -ESHUTDOWN, true);
	space_unlist(space);
	pr_debug("rdlock: space %s removed\n", rdlock_name_str(buf, space->name, space->name_len));
out_unref:
	rdlock_space_unref(space);
	return err;
}

int rdlock_space_leave(struct net *net, const void *name, u32 len, bool force)
{
	return space_remove(net, name, len, false, force);
}

int rdlock_space_destroy(struct net *net, const void *name, u32 len, bool force)
{
	return space_remove(net, name, len, true, force);
}

/* ---- looking ---- */

struct rdlock_space *rdlock_space_find(struct net *net, const void *name, u32 len)
{
	struct rdlock_net *rn = rdlock_net(net);
	struct rdlock_space *space;

	mutex_lock(&rn->mutex);
	space = space_lookup(rn, name, len);
	if (space)
		rdlock_space_ref(space);
	mutex_unlock(&rn->mutex);
	return space;
}

int rdlock_space_all(struct net *net, struct rdlock_space ***out)
{
	struct rdlock_net *rn = rdlock_net(net);
	struct rdlock_space *space, **v;
	int n = 0;

	mutex_lock(&rn->mutex);
	list_for_each_entry(space, &rn->spaces, list)
		n++;
	v = kcalloc(n + 1, sizeof(*v), GFP_KERNEL_ACCOUNT);
	if (!v) {
		mutex_unlock(&rn->mutex);
		return -ENOMEM;
	}
	n = 0;
	list_for_each_entry(space, &rn->spaces, list)
		v[n++] = rdlock_space_ref(space);
	mutex_unlock(&rn->mutex);
	*out = v;
	return n;
}

int rdlock_space_may_open(struct rdlock_space *space)
{
	umode_t bits = space->mode & 7;

	if (uid_eq(current_fsuid(), space->uid))
		bits = space->mode >> 6 & 7;
	else if (in_group_p(space->gid))
		bits = space->mode >> 3 & 7;
	if ((bits & 6) == 6 || ns_capable(space->user_ns, CAP_DAC_OVERRIDE))
		return 0;
	return -EACCES;
}

void rdlock_space_stat(struct rdlock_space *space, struct user_namespace *ns, struct rdlock_space_stat *out)
{
	const struct sockaddr_in6 *in6 = (const void *)&space->addr;
	const struct sockaddr_in *in = (const void *)&space->addr;

	memset(out, 0, sizeof(*out));
	out->size = sizeof(*out);
	out->out_name_len = space->name_len;
	out->out_node = space->node;
	out->out_is_home = space->is_home;
	out->out_mode = space->mode;
	out->out_uid = from_kuid_munged(ns, space->uid);
	out->out_gid = from_kgid_munged(ns, space->gid);
	out->out_generation = 1;
	out->out_wait = space->wait;
	out->out_rtt = READ_ONCE(space->rtt);
	memcpy(out->out_name, space->name, space->name_len);
	out->out_addr.family = space->addr.ss_family;
	if (space->addr.ss_family == AF_INET6) {
		out->out_addr.port = in6->sin6_port;
		out->out_addr.scope_id = in6->sin6_scope_id;
		memcpy(out->out_addr.addr, &in6->sin6_addr, 16);
	} else {
		out->out_addr.port = in->sin_port;
		memcpy(out->out_addr.addr, &in->sin_addr, 4);
	}
	out->out_members = 1;
	if (space->is_home && READ_ONCE(space->home))
		out->out_members += rdlock_home_members(space);
	spin_lock_bh(&space->lock);
	out->out_state = space->state;
	out->out_reason = space->reason;
	out->out_home = space->session.home_node;
	out->out_openers = space->openers;
	out->out_inc = space->session.inc;
	out->out_instance = space->instance;
	out->out_since = space->since;
	out->out_max_nodes = space->max_nodes;
	out->out_kind = space->kind;
	out->out_backend = space->backend;
	if (!space->is_home && space->session.up)
		out->out_members = 2;
	if (space->dom)
		strscpy(out->out_dev, rdf_dom_dev_name(space->dom), sizeof(out->out_dev));
	spin_unlock_bh(&space->lock);
}

/* ---- net namespaces ---- */

static int __net_init rdlock_net_init(struct net *net)
{
	struct rdlock_net *rn = rdlock_net(net);

	mutex_init(&rn->mutex);
	INIT_LIST_HEAD(&rn->spaces);
	return 0;
}

/* The namespace goes, or the module: end every space in it, whatever is open. */
static void __net_exit rdlock_net_pre_exit(struct net *net)
{
	struct rdlock_net *rn = rdlock_net(net);
	struct rdlock_space *space;

	mutex_lock(&rn->mutex);
	rn->gone = true;
	while ((space = list_first_entry_or_null(&rn->spaces, struct rdlock_space, list))) {
		rdlock_space_ref(space);
		mutex_unlock(&rn->mutex);
		spin_lock_bh(&space->lock);
		space->stopping = true;
		rdlock_space_set_state_locked(space, RDLOCK_SPACE_STOPPING, ESHUTDOWN);
		spin_unlock_bh(&space->lock);
		rdlock_debugfs_remove(space);
		space_down(space, -ESHUTDOWN, true);
		space_unlist(space);
		rdlock_space_unref(space);
		mutex_lock(&rn->mutex);
	}
	mutex_unlock(&rn->mutex);
}

static struct pernet_operations rdlock_net_ops = {
	.init = rdlock_net_init,
	.pre_exit = rdlock_net_pre_exit,
	.id = &rdlock_net_id,
	.size = sizeof(struct rdlock_net),
};

int rdlock_space_init(void)
{
	return register_pernet_subsys(&rdlock_net_ops);
}

void rdlock_space_exit(void)
{
	unregister_pernet_subsys(&rdlock_net_ops);
}
