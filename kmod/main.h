/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RDLOCK_MAIN_H
#define RDLOCK_MAIN_H

#include <linux/types.h>

struct dentry;
struct workqueue_struct;

/* Unbound; for work that may block on its own (agents, ends of spaces). */
extern struct workqueue_struct *rdlock_wq;
/* Heartbeats and leases: a queue has a limit of running items, and these must not wait behind agents that block. */
extern struct workqueue_struct *rdlock_lease_wq;
/* Consumers' functions, which may sleep, even for what our own works are to bring about. */
extern struct workqueue_struct *rdlock_fn_wq;
extern struct dentry *rdlock_debugfs;

/* Module parameters. */
extern unsigned int rdlock_budget;	/* local hand-overs under one node grant */
extern unsigned int rdlock_max_keys;	/* keys a home holds in one space */
extern unsigned int rdlock_backend;	/* RDF_DOM_* of spaces that are created from now on; 0: as the device can */

#define RDLOCK_VERSION "0.1.0"

#endif /* RDLOCK_MAIN_H */
