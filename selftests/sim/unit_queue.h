/* SPDX-License-Identifier: GPL-2.0 */
/* One lock of a kind with a queue, event by event. */
#ifndef UNIT_QUEUE_H
#define UNIT_QUEUE_H

#include "unit.h"

static inline int step(struct rdl_lock *l, struct rdl_acts *acts, struct rdl_event ev)
{
	ev.flags = RDL_F_LEASE | RDL_F_LINK;
	return rdl_step(l, &ev, acts);
}

static inline const struct rdl_action *find(const struct rdl_acts *acts, u8 type)
{
	unsigned int i;

	for (i = 0; i < acts->n; i++)
		if (acts->a[i].type == type)
			return &acts->a[i];
	wrong(true, "an action is missing");
	return &acts->a[0];
}

static inline bool did(const struct rdl_acts *acts, u8 type)
{
	unsigned int i;

	for (i = 0; i < acts->n; i++)
		if (acts->a[i].type == type)
			return true;
	return false;
}

static inline struct rdl_event ended(u8 op, u8 outcome)
{
	return (struct rdl_event){ .type = RDL_EV_OP, .op = op, .outcome = outcome,
				   .old = rdl_w_free(rdl_epoch(1, 0), 0, false) };
}

static inline struct rdl_event reader(void)
{
	return (struct rdl_event){ .type = RDL_EV_ACQ, .mode = RDL_MODE_S, .head = RDL_MODE_S, .run = 1 };
}

#endif /* UNIT_QUEUE_H */
