/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RDLOCK_DEBUGFS_H
#define RDLOCK_DEBUGFS_H

struct rdlock_space;

/* /sys/kernel/debug/rdlock/NAME/{locks,peers,stats}. Context: process. */
void rdlock_debugfs_add(struct rdlock_space *space);
/* No reader is inside any more when it returns. */
void rdlock_debugfs_remove(struct rdlock_space *space);

#endif /* RDLOCK_DEBUGFS_H */
