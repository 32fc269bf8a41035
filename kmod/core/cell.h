/* SPDX-License-Identifier: GPL-2.0 */
/* Short names for the cells of a kind's table; only the files that have one include this. */
#ifndef RDL_CELL_H
#define RDL_CELL_H

#include "kind.h"

#define B(st)		(1u << RDL_ST_##st)
#define C(fn, next)	{ fn, #fn, next }
#define IGN(st)		{ rdl_ignore, "ignore", B(st) }
#define IMP(st)		{ rdl_impossible, "impossible", B(st) }

#endif /* RDL_CELL_H */
