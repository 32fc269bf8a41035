/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every difference between the kernels that rdlock builds on (6.1, 6.12, 7.3), and the only file that may look at
 * LINUX_VERSION_CODE. Each block names the version and the header in which the interface changed. What stable trees
 * take back is told by its name (#ifndef), not by the version.
 */
#ifndef RDLOCK_COMPAT_H
#define RDLOCK_COMPAT_H

#include <linux/crc32.h>
#include <linux/export.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/version.h>

/* 6.13, linux/export.h and linux/module.h: the name of a symbol's namespace is a string. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define RDLOCK_EXPORT(sym)	EXPORT_SYMBOL_NS_GPL(sym, "RDLOCK")
#define RDLOCK_IMPORT_NS	MODULE_IMPORT_NS("RDLOCK")
#else
#define RDLOCK_EXPORT(sym)	EXPORT_SYMBOL_NS_GPL(sym, RDLOCK)
#define RDLOCK_IMPORT_NS	MODULE_IMPORT_NS(RDLOCK)
#endif

/* 6.13, linux/hrtimer.h: hrtimer_setup() is new; later hrtimer_init() went. */
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

/*
 * 6.15, linux/crc32.h: __crc32c_le() is called crc32c(). The older kernels' function of that name (linux/crc32c.h) asks
 * the crypto layer; the sum is the same.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
static inline u32 rdl_crc32c(u32 seed, const void *p, size_t len)
{
	return crc32c(seed, p, len);
}
#else
static inline u32 rdl_crc32c(u32 seed, const void *p, size_t len)
{
	return __crc32c_le(seed, p, len);
}
#endif

#endif /* RDLOCK_COMPAT_H */
