/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SIM_ORDER_H
#define SIM_ORDER_H

#include "core.h"

/* False: node @early is before node @late after the recovery @r, and was behind it. */
bool order_kept(const struct rdl_recover *r, int nodes, int *early, int *late);

#endif /* SIM_ORDER_H */
