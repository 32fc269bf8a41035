/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Spaces: a named set of locks on this node, in one net namespace. space.c owns their life; everything else of a space
 * hangs off struct rdlock_space.
 *
 * Life:  STARTING -> RUNNING -> STOPPING -> gone from the list -> freed with the last reference.
 * References: the list, every opener (space fd, lock handle, counter, kernel user), running work. Openers are also
 * counted on their own, because leaving with openers is refused.
 */
#ifndef RDLOCK_SPACE_H
#define RDLOCK_SPACE_H

#include <linux/bits.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rhashtable.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>

#include "core/core.h"
#include "fabric/fabric.h"
#include "session.h"
#include "stats.h"
#include "include/linux/rdlock.h"
#include "../uapi/linux/rdlock.h"

struct dentry;
struct rdlock_home;
struct user_namespace;

/**
 * struct rdlock_space_params - what create and join are told; already checked for form by dev.c
 * @net: namespace; not referenced
 * @addr: local address (create) or the home's (join), port filled in
 * @max_nodes, @kind: create only
 */
struct rdlock_space_params {
	struct net *net;
	u8 name[RDLOCK_NAME_MAX];
	u32 name_len;
	struct sockaddr_storage addr;
	u32 node;
	u32 max_nodes;
	u32 kind;
	u32 wait;
	umode_t mode;
	kuid_t uid;
	kgid_t gid;
};

/**
 * struct rdlock_space - one space on this node
 * @list: in the net namespace's list. Protected by rdlock_net.mutex.
 * @ref: references
 * @net: its namespace; alive as long as the space is in the list (namespace exit stops it)
 * @user_ns: whose capabilities count; referenced, since fds of the space may outlive @net
 * @name, @name_len, @hash, @addr, @node, @max_nodes, @kind, @is_home, @wait: fixed at creation
 * @rtt: smoothed, ns, of operations on words; racy, a hint
 * @mode, @uid, @gid: fixed at creation
 * @backend: enum rdl_backend, 0: not known yet; a member learns it in WELCOME. Protected by @lock.
 * @openers: fds, handles and kernel users. Protected by @lock.
 * @lock: protects the fields that name it; innermost but for the fabric's locks; taken with BH off
 * @state, @reason, @since: see rdlock_space_set_state_locked(). Protected by @lock.
 * @stopping: no new opener. Protected by @lock.
 * @made: create or join is through with it. Protected by @lock.
 * @instance: random number of the space's creation; a member learns it in WELCOME. Protected by @lock.
 * @dom: RDMA domain; set by create and by the session, both before anything uses it. Protected by @lock where it
 *   changes.
 * @session: this node's session with the home (loopback at the home itself)
 * @home: NULL at a member
 * @wq: ordered; everything of the space that sleeps, except what runs in callers, runs here one item at a time
 * @agents: by key; nodes are struct rdlock_agent.hnode
 * @agents_mutex: protects creation and removal in @agents and @agent_list, rdlock_agent.opens; outside of agent locks
 * @agent_list: all agents. Protected by @agents_mutex.
 * @by_slot: (table, lock) -> agent, for messages; RCU lookup, BH-safe xarray lock
 * @local_rx: messages of this node to itself (home only). Protected by @lock.
 * @local_work: delivers @local_rx
 * @dead_work: the device is gone or the words cannot be changed any more: give everything up
 * @down_mutex: serialises the ways in which a space ends; @down: it has ended. Protected by @down_mutex.
 * @free_work: the last reference may go in a context that must not sleep
 * @stats: see stats.h
 * @debugfs: its directory
 */
struct rdlock_space {
	struct list_head list;
	struct kref ref;
	struct net *net;
	struct user_namespace *user_ns;
	u8 name[RDLOCK_NAME_MAX];
	u32 name_len;
	u64 hash;
	struct sockaddr_storage addr;
	u16 node;
	u16 max_nodes;
	u8 kind;
	u8 backend;
	bool is_home;
	u8 wait;
	umode_t mode;
	kuid_t uid;
	kgid_t gid;

	spinlock_t lock;
	u32 openers;
	bool stopping;
	bool made;
	enum rdlock_space_state state;
	int reason;
	u64 since;
	u64 instance;
	struct rdf_dom *dom;

	struct rdlock_session session;
	struct rdlock_home *home;
	struct workqueue_struct *wq;

	struct rhashtable agents;
	struct mutex agents_mutex;
	struct list_head agent_list;
	struct xarray by_slot;

	struct list_head local_rx;
	struct work_struct local_work;

	struct work_struct dead_work;
	struct mutex down_mutex;
	bool down;
	struct work_struct free_work;

	u32 rtt;
	struct rdlock_stats __percpu *stats;
	struct dentry *debugfs;
};

/* Kinds of locks that there are. */
#define RDLOCK_KINDS	(BIT(RDL_KIND_SPIN) | BIT(RDL_KIND_FAIR) | BIT(RDL_KIND_TICKET) | BIT(RDL_KIND_MCS))

/* ---- for dev.c and api.c ---- */

int rdlock_space_create(const struct rdlock_space_params *p);
/* Sleeps, killable (-ERESTARTSYS on any signal), until the session stands or @deadline. */
int rdlock_space_join(const struct rdlock_space_params *p, ktime_t deadline);
int rdlock_space_leave(struct net *net, const void *name, u32 len, bool force);
int rdlock_space_destroy(struct net *net, const void *name, u32 len, bool force);

/* A reference, or NULL. */
struct rdlock_space *rdlock_space_find(struct net *net, const void *name, u32 len);
void rdlock_space_unref(struct rdlock_space *space);
/* Count an opener (and take a reference): 0 or -ESHUTDOWN. */
int rdlock_space_pin(struct rdlock_space *space);
void rdlock_space_unpin(struct rdlock_space *space);
/* May the caller open it? Owner, group, mode, or CAP_DAC_OVERRIDE. 0 or -EACCES. */
int rdlock_space_may_open(struct rdlock_space *space);
void rdlock_space_stat(struct rdlock_space *space, struct user_namespace *ns, struct rdlock_space_stat *out);
/* References to all spaces of @net in a kmalloc()ed array, its length returned; or negative errno. */
int rdlock_space_all(struct net *net, struct rdlock_space ***out);

/* ---- inside ---- */

int rdlock_space_init(void);	/* pernet */
void rdlock_space_exit(void);
struct rdlock_space *rdlock_space_ref(struct rdlock_space *space);
/* space->lock is held; STOPPING and DEAD are not left again. */
void rdlock_space_set_state_locked(struct rdlock_space *space, enum rdlock_space_state state, int reason);
/* Why there is no opening one that is stopping: -ENODEV, -ESHUTDOWN; -ENOENT: it is not there yet. Context: any. */
int rdlock_space_gone_error(struct rdlock_space *space);
bool rdlock_space_is_stopping(struct rdlock_space *space);
/* The space cannot go on: everything in it is revoked, only leaving or destroying is left. Context: any. */
void rdlock_space_give_up(struct rdlock_space *space, int err);

/* "name" for messages to people: unprintable bytes escaped; @buf of RDLOCK_NAME_STR. */
#define RDLOCK_NAME_STR	(4 * RDLOCK_NAME_MAX + 1)
const char *rdlock_name_str(char *buf, const u8 *name, u32 len);

#endif /* RDLOCK_SPACE_H */
