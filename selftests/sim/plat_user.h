/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User space's answer to kmod/core/plat.h: the kernel's names for what core/ uses, and nothing more.
 */
#ifndef RDL_PLAT_USER_H
#define RDL_PLAT_USER_H

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Cells of a state table share one signature, and few need all of it. The kernel builds without this warning. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef uint16_t __le16;
typedef uint32_t __le32;
typedef uint64_t __le64;

#define cpu_to_le16(x)	htole16(x)
#define cpu_to_le32(x)	htole32(x)
#define cpu_to_le64(x)	htole64(x)
#define le16_to_cpu(x)	le16toh(x)
#define le32_to_cpu(x)	le32toh(x)
#define le64_to_cpu(x)	le64toh(x)

#define fallthrough	__attribute__((__fallthrough__))

#ifndef SIM_VARS_H	/* not in the simulator: lint looks at the core by itself */
#define sim_forgive 0
#endif

/* A trap, not abort(): the objects of core/ must not call anything. One unit test sees what the module makes of it. */
#define RDL_ASSERT(cond) \
	do { \
		if (!(cond) && !sim_forgive) \
			__builtin_trap(); \
	} while (0)

u32 rdl_crc32c(u32 seed, const void *p, size_t len);

#endif /* RDL_PLAT_USER_H */
