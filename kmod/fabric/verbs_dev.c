// SPDX-License-Identifier: GPL-2.0
/*
 * RDMA devices, and a space's presence on one.
 *
 * A device that goes away waits in rdf_remove_one() until every domain on it is destroyed. Our client is registered
 * after the CM's own, so it is removed before it: the CM has no id of ours left then.
 */
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "verbs.h"

static DEFINE_MUTEX(rdf_dev_mutex);
static LIST_HEAD(rdf_devs);		/* protected by rdf_dev_mutex */
struct workqueue_struct *rdf_wq;

static int rdf_add_one(struct ib_device *ib)
{
	struct rdf_dev *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return -ENOMEM;
	dev->ib = ib;
	INIT_LIST_HEAD(&dev->doms);
	init_waitqueue_head(&dev->idle);
	mutex_lock(&rdf_dev_mutex);
	list_add_tail(&dev->node, &rdf_devs);
	mutex_unlock(&rdf_dev_mutex);
	return 0;
}

static struct rdf_dev *rdf_dev_find(struct ib_device *ib)
{
	struct rdf_dev *dev;

	lockdep_assert_held(&rdf_dev_mutex);
	list_for_each_entry(dev, &rdf_devs, node)
		if (dev->ib == ib)
			return dev;
	return NULL;
}

static void rdf_dom_kill_links(struct rdf_dom *dom, int err)
{
	struct rdf_link *link;

	lockdep_assert_held(&rdf_dev_mutex);
	spin_lock_bh(&dom->lock);
	list_for_each_entry(link, &dom->links, node)
		rdf_link_kill(link, err);
	spin_unlock_bh(&dom->lock);
	if (dom->loop)
		rdf_link_kill(dom->loop, err);
}

static void rdf_dom_free(struct kref *ref)
{
	struct rdf_dom *dom = container_of(ref, struct rdf_dom, ref);

	xa_destroy(&dom->rights);
	kfree(dom);
}

/* Tell one domain that was not told yet. Return: false when all know. */
static bool rdf_tell_one(struct rdf_dev *dev)
{
	struct rdf_dom *dom;
	bool made;

	lockdep_assert_held(&rdf_dev_mutex);
	list_for_each_entry(dom, &dev->doms, node) {
		if (dom->told)
			continue;
		dom->told = true;
		made = dom->made;
		WRITE_ONCE(dom->gone, true);
		rdf_dom_kill_links(dom, -ENODEV);
		if (!made)
			return true;	/* rdf_dom_create() sees it at its end */
		kref_get(&dom->ref);
		dom->telling = current;
		mutex_unlock(&rdf_dev_mutex);
		dom->ops->device_gone(dom);
		mutex_lock(&rdf_dev_mutex);
		WRITE_ONCE(dom->telling, NULL);
		wake_up_all(&dev->idle);
		kref_put(&dom->ref, rdf_dom_free);
		return true;
	}
	return false;
}

static void rdf_remove_one(struct ib_device *ib, void *client_data)
{
	struct rdf_dev *dev;

	mutex_lock(&rdf_dev_mutex);
	dev = rdf_dev_find(ib);
	if (!dev) {
		mutex_unlock(&rdf_dev_mutex);
		return;
	}
	list_del(&dev->node);		/* no new domains */
	while (rdf_tell_one(dev))
		;
	mutex_unlock(&rdf_dev_mutex);

	/*
	 * The device must outlive what uses it, however long its owners take; say who keeps an administrator waiting.
	 */
	while (!wait_event_timeout(dev->idle, list_empty_careful(&dev->doms), msecs_to_jiffies(RDF_TEARDOWN_MS)))
		pr_warn("%s: waiting for spaces to let the device go\n", dev_name(&ib->dev));
	/* Whoever emptied the list may still be in wake_up(), under the mutex. */
	mutex_lock(&rdf_dev_mutex);
	mutex_unlock(&rdf_dev_mutex);
	kfree(dev);
}

static struct ib_client rdf_client = {
	.name = "rdlock",
	.add = rdf_add_one,
	.remove = rdf_remove_one,
};

int rdf_init(void)
{
	int err;

	/*
	 * Not WQ_MEM_RECLAIM: destroying an id may wait for the CM's own queues, which are not (and the workqueue code
	 * would rightly complain); nobody may wait for a lock in memory reclaim.
	 */
	rdf_wq = alloc_workqueue("rdlock_fabric", WQ_UNBOUND, 0);
	if (!rdf_wq)
		return -ENOMEM;
	rdf_fault_init();
	err = ib_register_client(&rdf_client);
	if (err)
		goto undo_fault;
	return 0;

undo_fault:
	rdf_fault_exit();
	destroy_workqueue(rdf_wq);
	return err;
}

void rdf_exit(void)
{
	ib_unregister_client(&rdf_client);
	rdf_fault_exit();
	destroy_workqueue(rdf_wq);
}

/* ---- finding the device of an address ---- */

struct rdf_find {
	struct completion done;
	int err;
};

static int rdf_find_handler(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct rdf_find *find = id->context;

	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		find->err = 0;
		complete(&find->done);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
		/* No device, or nobody who answers there yet: -ETIMEDOUT, which may beat our own clock. */
		find->err = ev->status < 0 ? ev->status : -ENODEV;
		complete(&find->done);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		find->err = -ENODEV;
		complete(&find->done);
		break;
	default:
		break;
	}
	return 0;
}

static int rdf_find_local(struct rdma_cm_id *id, const struct sockaddr_storage *addr)
{
	struct sockaddr_storage any_port = *addr;

	/* Only the device is wanted; the port may be in use by a listener. */
	if (addr->ss_family == AF_INET)
		((struct sockaddr_in *)&any_port)->sin_port = 0;
	else if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)&any_port)->sin6_port = 0;
	else
		return -EAFNOSUPPORT;
	return rdma_bind_addr(id, (struct sockaddr *)&any_port);
}

static int rdf_find_route(struct rdma_cm_id *id, struct rdf_find *find, const struct sockaddr_storage *addr,
			  u32 timeout_ms)
{
	long left;
	int err;

	if (addr->ss_family != AF_INET && addr->ss_family != AF_INET6)
		return -EAFNOSUPPORT;
	err = rdma_resolve_addr(id, NULL, (struct sockaddr *)addr, timeout_ms);
	if (err)
		return err;
	left = wait_for_completion_killable_timeout(&find->done, msecs_to_jiffies(timeout_ms) + 1);
	if (left < 0)
		return -EINTR;
	return left ? find->err : -ETIMEDOUT;
}

static int rdf_path_of(struct rdma_cm_id *id, struct rdf_path *path)
{
	const struct ib_gid_attr *attr = id->route.addr.dev_addr.sgid_attr;

	if (!attr)
		return -EADDRNOTAVAIL;
	path->gid = attr->gid;
	path->gid_type = attr->gid_type;
	path->port = attr->port_num;
	if (rdma_protocol_roce(id->device, path->port))
		return rdma_read_gid_l2_fields(attr, NULL, path->dmac);
	if (rdma_protocol_ib(id->device, path->port))
		return ib_find_cached_pkey(id->device, path->port, ib_addr_get_pkey(&id->route.addr.dev_addr),
					   &path->pkey_index);
	return 0;
}

/* What is cheap to know without posting anything. For rpc, connections with messages are enough. */
static int rdf_device_fits_rpc(struct ib_device *ib, u32 port)
{
	return rdma_protocol_ib(ib, port) || rdma_protocol_roce(ib, port) || rdma_protocol_iwarp(ib, port) ?
	       0 : -EOPNOTSUPP;
}

static int rdf_device_fits_nic(struct ib_device *ib, u32 port)
{
	if (!rdma_protocol_ib(ib, port) && !rdma_protocol_roce(ib, port))
		return -EOPNOTSUPP;
	if (ib->attrs.atomic_cap == IB_ATOMIC_NONE || !ib->attrs.max_qp_rd_atom || !ib->attrs.max_qp_init_rd_atom)
		return -EOPNOTSUPP;
	if (!(ib->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS))
		return -EOPNOTSUPP;
	return 0;
}

/* ---- domains ---- */

/* The device cannot go away before the domain leaves its list. */
static int rdf_dom_attach(struct rdf_dom *dom, struct ib_device *ib)
{
	struct rdf_dev *dev;
	int err = -ENODEV;

	mutex_lock(&rdf_dev_mutex);
	dev = rdf_dev_find(ib);
	if (dev) {
		dom->dev = dev;
		list_add_tail(&dom->node, &dev->doms);
		err = 0;
	}
	mutex_unlock(&rdf_dev_mutex);
	return err;
}

static void rdf_dom_detach(struct rdf_dom *dom)
{
	mutex_lock(&rdf_dev_mutex);
	list_del_init(&dom->node);
	wake_up_all(&dom->dev->idle);
	mutex_unlock(&rdf_dev_mutex);
}

static int rdf_dom_loop_start(struct rdf_dom *dom)
{
	struct rdf_link *loop;
	int err;

	WRITE_ONCE(dom->closing, false);
	loop = rdf_link_alloc(dom, true);
	if (!loop)
		return -ENOMEM;
	rdf_link_get(loop);		/* the domain's; the other is its life's, which may be over before we look */
	err = rdf_link_loop_make(loop);
	if (err) {
		rdf_link_put(loop);
		rdf_link_discard(loop);
		return err;
	}
	mutex_lock(&rdf_dev_mutex);
	dom->loop = loop;
	mutex_unlock(&rdf_dev_mutex);
	return 0;
}

static void rdf_dom_loop_stop(struct rdf_dom *dom)
{
	struct rdf_link *loop = dom->loop;

	if (!loop)
		return;
	/* Before the kill: see rdf_link_teardown(). */
	WRITE_ONCE(dom->closing, true);
	rdf_link_kill(loop, -ESHUTDOWN);
	rdf_link_wait_dead(loop);
	mutex_lock(&rdf_dev_mutex);
	dom->loop = NULL;
	mutex_unlock(&rdf_dev_mutex);
	rdf_link_put(loop);
}

/* A good verdict is kept; a bad one may have been bad luck, and asking again costs little. */
static int rdf_dom_probe(struct rdf_dom *dom)
{
	bool known;
	int err;

	if (rdf_fault(RDF_FAULT_no_atomics))
		return -EOPNOTSUPP;
	mutex_lock(&rdf_dev_mutex);
	known = dom->dev->probed;
	mutex_unlock(&rdf_dev_mutex);
	if (known)
		return 0;
	err = rdf_loop_probe(dom->loop);
	if (err)
		return err;
	pr_info("%s: atomics probed and good\n", rdf_dom_dev_name(dom));
	mutex_lock(&rdf_dev_mutex);
	dom->dev->probed = true;
	mutex_unlock(&rdf_dev_mutex);
	return 0;
}

/* On success a home has its loopback pair. On error nothing is left. */
static int rdf_dom_start_nic(struct rdf_dom *dom, bool home)
{
	int err = rdf_device_fits_nic(dom->dev->ib, dom->path.port);

	if (err)
		return err;
	dom->backend = RDL_BACKEND_NIC;
	err = rdf_dom_loop_start(dom);
	if (err)
		return err;
	err = rdf_dom_probe(dom);
	/* A node that is no home posts atomics too, so it probes, but has no use for the pair afterwards. */
	if (err || !home)
		rdf_dom_loop_stop(dom);
	return err;
}

static int rdf_dom_start_rpc(struct rdf_dom *dom, bool home)
{
	int err = rdf_device_fits_rpc(dom->dev->ib, dom->path.port);

	if (err)
		return err;
	dom->backend = RDL_BACKEND_RPC;
	return home ? rdf_dom_loop_start(dom) : 0;
}

static bool rdf_port_active(struct rdf_dom *dom)
{
	struct ib_port_attr attr;

	return !ib_query_port(dom->dev->ib, dom->path.port, &attr) && attr.state == IB_PORT_ACTIVE;
}

/*
 * The device does it, if it can and that is not excluded. Only a verdict about the device's atomics leads from one to
 * the other: a space that is slower for ever because memory was short, or the cable out, for a moment helps nobody.
 */
static int rdf_dom_start(struct rdf_dom *dom, unsigned int flags)
{
	bool home = flags & RDF_DOM_HOME;
	int err;

	if (flags & RDF_DOM_RPC)
		return rdf_dom_start_rpc(dom, home);
	err = rdf_dom_start_nic(dom, home);
	if (err != -EOPNOTSUPP)
		return err;
	if (flags & RDF_DOM_NIC) {
		pr_err("%s: the device's atomics do not work; it cannot be used\n", rdf_dom_dev_name(dom));
		return err;
	}
	if (!rdf_port_active(dom)) {
		pr_err("%s: the device's atomics do not work, but then its port is down\n", rdf_dom_dev_name(dom));
		return err;
	}
	if (home)
		pr_warn("%s: the device's atomics do not work; this node's processor does what they would\n",
			rdf_dom_dev_name(dom));
	else
		pr_warn("%s: the device's atomics do not work; only spaces of back-end rpc can be joined\n",
			rdf_dom_dev_name(dom));
	return rdf_dom_start_rpc(dom, home);
}

static struct rdf_dom *rdf_dom_alloc(struct net *net, const struct rdf_dom_ops *ops, void *ctx)
{
	struct rdf_dom *dom = kzalloc(sizeof(*dom), GFP_KERNEL);

	if (!dom)
		return NULL;
	kref_init(&dom->ref);
	dom->net = net;
	dom->ops = ops;
	dom->ctx = ctx;
	mutex_init(&dom->reg_mutex);
	spin_lock_init(&dom->lock);
	spin_lock_init(&dom->exec_lock);
	xa_init_flags(&dom->rights, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH);
	INIT_LIST_HEAD(&dom->links);
	init_waitqueue_head(&dom->idle);
	return dom;
}

struct rdf_dom *rdf_dom_create(struct net *net, const struct sockaddr_storage *addr, unsigned int flags, u32 timeout_ms,
			       const struct rdf_dom_ops *ops, void *ctx)
{
	struct rdf_find find = { };
	struct rdma_cm_id *id;
	struct rdf_dom *dom;
	int err;

	dom = rdf_dom_alloc(net, ops, ctx);
	if (!dom)
		return ERR_PTR(-ENOMEM);
	init_completion(&find.done);
	id = rdma_create_id(net, rdf_find_handler, &find, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id)) {
		err = PTR_ERR(id);
		goto free_dom;
	}
	err = flags & RDF_DOM_HOME ? rdf_find_local(id, addr) : rdf_find_route(id, &find, addr, timeout_ms);
	if (!err && !id->device)
		err = -ENODEV;
	if (!err)
		err = rdf_dom_attach(dom, id->device);
	if (err) {
		rdma_destroy_id(id);
		goto free_dom;
	}
	err = rdf_path_of(id, &dom->path);
	rdma_destroy_id(id);
	if (err)
		goto detach;

	dom->pd = ib_alloc_pd(dom->dev->ib, 0);
	if (IS_ERR(dom->pd)) {
		err = PTR_ERR(dom->pd);
		goto detach;
	}
	err = rdf_dom_start(dom, flags);
	if (err)
		goto free_pd;

	mutex_lock(&rdf_dev_mutex);
	dom->made = !dom->gone;
	mutex_unlock(&rdf_dev_mutex);
	if (!dom->made) {
		rdf_dom_destroy(dom);
		return ERR_PTR(-ENODEV);
	}
	return dom;

free_pd:
	ib_dealloc_pd(dom->pd);
detach:
	rdf_dom_detach(dom);
free_dom:
	kref_put(&dom->ref, rdf_dom_free);
	return ERR_PTR(err);
}

static bool rdf_dom_is_idle(struct rdf_dom *dom)
{
	bool idle;

	/* The last link wakes us with the lock held, so when we see 0 here it has let go of the domain. */
	spin_lock_bh(&dom->lock);
	idle = !dom->nr_links;
	spin_unlock_bh(&dom->lock);
	return idle;
}

static bool rdf_dom_is_told(struct rdf_dom *dom)
{
	struct task_struct *telling = READ_ONCE(dom->telling);

	return !telling || telling == current;
}

void rdf_dom_destroy(struct rdf_dom *dom)
{
	mutex_lock(&rdf_dev_mutex);
	dom->told = true;		/* no device_gone from now on */
	WRITE_ONCE(dom->closing, true);
	rdf_dom_kill_links(dom, -ESHUTDOWN);
	mutex_unlock(&rdf_dev_mutex);

	/* A device_gone that runs in another task uses the owner's context. */
	wait_event(dom->dev->idle, rdf_dom_is_told(dom));
	/* Pairs with the mutex under which @telling was cleared: what device_gone did is seen from here on. */
	mutex_lock(&rdf_dev_mutex);
	mutex_unlock(&rdf_dev_mutex);
	while (!wait_event_timeout(dom->idle, rdf_dom_is_idle(dom), msecs_to_jiffies(RDF_TEARDOWN_MS)))
		pr_err("%s: links are not down after %u ms\n", rdf_dom_dev_name(dom), RDF_TEARDOWN_MS);
	rdf_dom_loop_stop(dom);
	ib_dealloc_pd(dom->pd);
	rdf_dom_detach(dom);
	kref_put(&dom->ref, rdf_dom_free);
}

void *rdf_dom_ctx(struct rdf_dom *dom)
{
	return dom->ctx;
}

enum rdl_backend rdf_dom_backend(struct rdf_dom *dom)
{
	return dom->backend;
}

const char *rdf_dom_dev_name(struct rdf_dom *dom)
{
	return dev_name(&dom->dev->ib->dev);
}

struct rdf_link *rdf_dom_loop(struct rdf_dom *dom)
{
	return dom->loop;
}

bool rdf_dom_gone(struct rdf_dom *dom)
{
	return READ_ONCE(dom->gone);
}

u64 rdf_dom_stat(struct rdf_dom *dom, enum rdf_stat stat)
{
	return atomic64_read(&dom->stats[stat]);
}

const char *rdf_stat_name(enum rdf_stat stat)
{
	static const char * const names[RDF_NR_STATS] = {
#define RDF_STAT_NAME(name, meaning) [RDF_STAT_##name] = #name,
		RDF_STATS(RDF_STAT_NAME)
#undef RDF_STAT_NAME
	};

	return names[stat];
}
