/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every difference between the kernels that rdlock builds on (6.1, 6.12, 7.3), and the only file that may look at
 * LINUX_VERSION_CODE. Each block names the version, or the header, in which the interface changed.
 */
#ifndef RDLOCK_COMPAT_H
#define RDLOCK_COMPAT_H

#include <linux/export.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/stringify.h>
#include <linux/timer.h>
#include <linux/version.h>

/* 6.13: symbol namespaces became string literals. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define RDLOCK_EXPORT(sym)	EXPORT_SYMBOL_NS_GPL(sym, "RDLOCK")
#define RDLOCK_IMPORT_NS	MODULE_IMPORT_NS("RDLOCK")
#else
#define RDLOCK_EXPORT(sym)	EXPORT_SYMBOL_NS_GPL(sym, RDLOCK)
#define RDLOCK_IMPORT_NS	MODULE_IMPORT_NS(RDLOCK)
#endif

/* 6.15: hrtimer_init() gave way to hrtimer_setup(); Debian's 6.12 has the old one only. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void rdlock_hrtimer_setup(struct hrtimer *t, enum hrtimer_restart (*fn)(struct hrtimer *t),
					clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(t, clock, mode);
	t->function = fn;
}
#else
#define rdlock_hrtimer_setup hrtimer_setup
#endif

/* 6.16: from_timer() was renamed. */
#ifndef timer_container_of
#define timer_container_of from_timer
#endif

/*
 * 6.14: crc32c() moved from libcrc32c (with its crypto dependency) into lib/crc32.c; before, __crc32c_le() is the same
 * sum.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
#include <linux/crc32.h>
static inline u32 rdl_crc32c(u32 seed, const void *p, size_t len)
{
	return crc32c(seed, p, len);
}
#else
#include <linux/crc32.h>
static inline u32 rdl_crc32c(u32 seed, const void *p, size_t len)
{
	return __crc32c_le(seed, p, len);
}
#endif

#endif /* RDLOCK_COMPAT_H */
