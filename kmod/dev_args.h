/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What callers write into an ioctl's structure, checked. Return: 0 or -EINVAL.
 * Context: the caller's process.
 */
#ifndef RDLOCK_DEV_ARGS_H
#define RDLOCK_DEV_ARGS_H

#include <linux/ktime.h>
#include <linux/types.h>

#include "../uapi/linux/rdlock.h"

struct rdlock_space_params;
struct sockaddr_storage;

/* How far the caller's CLOCK_MONOTONIC is ahead of the machine's. */
ktime_t rdlock_arg_timens_offset(void);
/* Nanoseconds in the caller's time namespace to the machine's clock; KTIME_MAX: for ever. */
int rdlock_arg_deadline(u64 ns, ktime_t *deadline);
/* A name or key: 1 to RDLOCK_NAME_MAX bytes, zeroes after them. */
int rdlock_arg_name(const u8 *name, u32 len);
/* A unicast address; the port is filled in. */
int rdlock_arg_addr(const struct rdlock_addr *addr, struct sockaddr_storage *out);
/*
 * Owner and group as the caller's user namespace names them, ~0: its own. Sets uid, gid and
 * mode of @p.
 */
int rdlock_arg_owner(u32 uid, u32 gid, u32 mode, struct rdlock_space_params *p);

#endif /* RDLOCK_DEV_ARGS_H */
