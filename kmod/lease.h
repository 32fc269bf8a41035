/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Heartbeats and the lease of this node's session, Documentation/protocol.rst. The home's half (eviction) is in
 * member.c.
 */
#ifndef RDLOCK_LEASE_H
#define RDLOCK_LEASE_H

#include <linux/types.h>

struct rdlock_space;
struct work_struct;

void rdlock_lease_hb_work(struct work_struct *work);
void rdlock_lease_work(struct work_struct *work);
/* Heartbeat number @hb was acknowledged. Context: softirq or process. */
void rdlock_lease_renew(struct rdlock_space *space, u32 hb);

#endif /* RDLOCK_LEASE_H */
