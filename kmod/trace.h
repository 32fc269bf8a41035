/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints. The names of states and events are the core's own tables.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rdlock

#if !defined(RDLOCK_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RDLOCK_TRACE_H

#include <linux/tracepoint.h>

#include "agent.h"
#include "space.h"

#ifndef RDLOCK_TRACE_NAMES
#define RDLOCK_TRACE_NAMES
#define RDLOCK_PAIR(name, meaning) { RDL_ST_##name, #name },
#define RDLOCK_EV_PAIR(name, meaning) { RDL_EV_##name, #name },
#define rdlock_show_state(st) __print_symbolic(st, RDL_STATES(RDLOCK_PAIR) { -1, NULL })
#define rdlock_show_event(ev) __print_symbolic(ev, RDL_EVENTS(RDLOCK_EV_PAIR) { -1, NULL })
#endif

TRACE_EVENT(rdlock_step,
	TP_PROTO(const struct rdlock_agent *a, const struct rdl_event *ev, unsigned int from, int err,
		 unsigned int acts),
	TP_ARGS(a, ev, from, err, acts),
	TP_STRUCT__entry(
		__field(u32, table)
		__field(u32, slot)
		__field(u8, event)
		__field(u8, from)
		__field(u8, to)
		__field(u8, frz)
		__field(u8, outcome)
		__field(u8, flags)
		__field(u32, nq)
		__field(u32, acts)
		__field(u64, old)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->table = a->table;
		__entry->slot = a->slot;
		__entry->event = ev->type;
		__entry->from = from;
		__entry->to = a->core.st;
		__entry->frz = a->core.frz;
		__entry->outcome = ev->outcome;
		__entry->flags = ev->flags;
		__entry->nq = a->core.nq;
		__entry->acts = acts;
		__entry->old = ev->old;
		__entry->err = err;
	),
	TP_printk("lock=%u:%u event=%s %s->%s frz=%u outcome=%u flags=%#x waiters=%u actions=%u old=%#llx err=%d",
		  __entry->table, __entry->slot, rdlock_show_event(__entry->event), rdlock_show_state(__entry->from),
		  rdlock_show_state(__entry->to), __entry->frz, __entry->outcome, __entry->flags, __entry->nq,
		  __entry->acts, __entry->old, __entry->err)
);

TRACE_EVENT(rdlock_recovered,
	TP_PROTO(const struct rdlock_space *space, const u8 *key, u8 len, u32 epoch, u64 word, u32 n),
	TP_ARGS(space, key, len, epoch, word, n),
	TP_STRUCT__entry(
		__field(u64, instance)
		__array(u8, key, RDL_KEY_MAX)
		__field(u8, len)
		__field(u32, epoch)
		__field(u64, word)
		__field(u32, n)
	),
	TP_fast_assign(
		__entry->instance = space->instance;
		memcpy(__entry->key, key, len);
		__entry->len = len;
		__entry->epoch = epoch;
		__entry->word = word;
		__entry->n = n;
	),
	TP_printk("space=%#llx key=%*pE epoch=%u.%u word=%#llx tickets=%u", __entry->instance, __entry->len,
		  __entry->key, __entry->epoch >> RDL_REP_BITS, __entry->epoch & RDL_REP_MAX, __entry->word, __entry->n)
);

TRACE_EVENT(rdlock_evict,
	TP_PROTO(const struct rdlock_space *space, u32 node, u32 inc),
	TP_ARGS(space, node, inc),
	TP_STRUCT__entry(
		__field(u64, instance)
		__field(u32, node)
		__field(u32, inc)
	),
	TP_fast_assign(
		__entry->instance = space->instance;
		__entry->node = node;
		__entry->inc = inc;
	),
	TP_printk("space=%#llx node=%u inc=%#x", __entry->instance, __entry->node, __entry->inc)
);

#endif /* RDLOCK_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
