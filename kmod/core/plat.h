/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The only header that core/ includes from outside itself: the same protocol files are compiled into the module and, in
 * user space, into the simulator. What is here is what core/ may use of its surroundings; the lint rule "purity" checks
 * the objects' undefined symbols against it.
 */
#ifndef RDL_PLAT_H
#define RDL_PLAT_H

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/byteorder.h>
#include "../compat.h"		/* rdl_crc32c() */
#else
#include "plat_user.h"		/* selftests/sim */
#endif

#endif /* RDL_PLAT_H */
