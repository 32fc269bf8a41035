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

/* How far the caller's CLOCK_MONOTONIC is ahead of the machine's. */
ktime_t rdlock_arg_timens_offset(void);
/* Nanoseconds in the caller's time namespace to the machine's clock; KTIME_MAX: for ever. */
int rdlock_arg_deadline(u64 ns, ktime_t *deadline);
/* A name or key: 1 to RDLOCK_NAME_MAX bytes, zeroes after them. */
int rdlock_arg_name(const u8 *name, u32 len);
/* All of @p but the namespace. */
int rdlock_arg_create(const struct rdlock_space_create *c, struct rdlock_space_params *p);
int rdlock_arg_join(const struct rdlock_space_join *j, struct rdlock_space_params *p, ktime_t *deadline);

#endif /* RDLOCK_DEV_ARGS_H */
