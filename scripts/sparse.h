/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For sparse 0.6.4 (scripts/build-modules --strict): it does not know all that newer headers use.
 */

/* 7.x: per-CPU access and READ_ONCE(). The qualifiers that stay are none that sparse reports there. */
#define __typeof_unqual__ __typeof__

/* 6.18: MODULE_INFO() asserts at compile time that its literal has no NUL inside. */
#define __builtin_strlen(s) (sizeof(s) - 1)
