// SPDX-License-Identifier: GPL-2.0
/*
 * Module init and exit, parameters.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "core/limits.h"
#include "dev.h"
#include "fabric/fabric.h"
#include "main.h"
#include "space.h"

struct workqueue_struct *rdlock_wq;
struct workqueue_struct *rdlock_lease_wq;
struct workqueue_struct *rdlock_fn_wq;
struct dentry *rdlock_debugfs;

unsigned int rdlock_budget = RDL_BUDGET;
module_param_named(budget, rdlock_budget, uint, 0644);
MODULE_PARM_DESC(budget, "Hand-overs of a lock within a node before the node gives it up; 0: none (default 16)");

unsigned int rdlock_max_keys = 1u << 20;
module_param_named(max_keys, rdlock_max_keys, uint, 0644);
MODULE_PARM_DESC(max_keys, "Most keys that a home holds in one space (default 1048576)");

static const char * const backends[] = { "auto", "nic", "rpc" };
static const unsigned int backend_flags[] = { 0, RDF_DOM_NIC, RDF_DOM_RPC };
unsigned int rdlock_backend;

static int backend_set(const char *val, const struct kernel_param *kp)
{
	int i = sysfs_match_string(backends, val);

	if (i < 0)
		return i;
	WRITE_ONCE(rdlock_backend, backend_flags[i]);
	return 0;
}

static int backend_get(char *buf, const struct kernel_param *kp)
{
	unsigned int i;

	for (i = 0; backend_flags[i] != READ_ONCE(rdlock_backend); i++)
		;
	return sysfs_emit(buf, "%s\n", backends[i]);
}

static const struct kernel_param_ops backend_ops = { .set = backend_set, .get = backend_get };
module_param_cb(backend, &backend_ops, NULL, 0644);
MODULE_PARM_DESC(backend, "Words of new spaces are changed by: nic, the device; rpc, the processor; auto (default)");

static int __init rdlock_init(void)
{
	int err = -ENOMEM;

	rdlock_debugfs = debugfs_create_dir("rdlock", NULL);
	rdlock_wq = alloc_workqueue("rdlock", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rdlock_wq)
		goto err_debugfs;
	rdlock_lease_wq = alloc_workqueue("rdlock_lease", WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM, 0);
	if (!rdlock_lease_wq)
		goto err_wq;
	/* Not for memory reclaim: a consumer's function may wait for work of a queue that is not, either. */
	rdlock_fn_wq = alloc_workqueue("rdlock_fn", WQ_UNBOUND, 0);
	if (!rdlock_fn_wq)
		goto err_lease_wq;
	err = rdf_init();
	if (err)
		goto err_fn_wq;
	err = rdlock_space_init();
	if (err)
		goto err_fabric;
	err = rdlock_dev_init();
	if (err)
		goto err_space;
	return 0;

err_space:
	rdlock_space_exit();
err_fabric:
	drain_workqueue(rdlock_wq);
	rdf_exit();
err_fn_wq:
	destroy_workqueue(rdlock_fn_wq);
err_lease_wq:
	destroy_workqueue(rdlock_lease_wq);
err_wq:
	destroy_workqueue(rdlock_wq);
	rcu_barrier();
err_debugfs:
	debugfs_remove_recursive(rdlock_debugfs);
	return err;
}

static void __exit rdlock_exit(void)
{
	rdlock_dev_exit();
	rdlock_space_exit();
	destroy_workqueue(rdlock_fn_wq);
	/* Frees of spaces and agents are queued by the last references; they may queue each other. */
	drain_workqueue(rdlock_wq);
	rdf_exit();
	destroy_workqueue(rdlock_lease_wq);
	destroy_workqueue(rdlock_wq);
	/* Agents are freed by RCU callbacks whose code is ours. */
	rcu_barrier();
	debugfs_remove_recursive(rdlock_debugfs);
}

module_init(rdlock_init);
module_exit(rdlock_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Distributed locks and counters over RDMA atomics");
MODULE_VERSION(RDLOCK_VERSION);
