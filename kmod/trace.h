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
#define rdlock_show_peer(type) __print_symbolic(type, { RDL_MSG_GRANT, "GRANT" }, { RDL_MSG_HINT, "HINT" }, \
	{ RDL_MSG_PROBE, "PROBE" }, { RDL_MSG_ANSWER, "ANSWER" }, { -1, NULL })
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
		__field(u8, op)
		__field(u8, mode)
		__field(u8, debt)
		__field(u32, users)
		__field(u32, epoch)
		__field(u32, ticket)
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
		__entry->op = ev->op;
		__entry->mode = a->core.q.mode;
		__entry->debt = a->core.q.debt;
		__entry->users = a->core.users;
		__entry->epoch = a->core.epoch;
		__entry->ticket = a->core.ticket;
	),
	TP_printk("lock=%u:%u event=%s op=%u %s->%s frz=%u outcome=%u flags=%#x waiters=%u users=%u mode=%u epoch=%u.%u ticket=%u debt=%u actions=%u old=%#llx err=%d",
		  __entry->table, __entry->slot, rdlock_show_event(__entry->event), __entry->op,
		  rdlock_show_state(__entry->from), rdlock_show_state(__entry->to), __entry->frz, __entry->outcome,
		  __entry->flags, __entry->nq, __entry->users, __entry->mode, __entry->epoch >> RDL_REP_BITS,
		  __entry->epoch & RDL_REP_MAX, __entry->ticket, __entry->debt, __entry->acts, __entry->old,
		  __entry->err)
);

/* A message to another node: its turn (GRANT), who comes next (HINT), a try's question and answer. */
TRACE_EVENT(rdlock_send,
	TP_PROTO(const struct rdlock_agent *a, u8 type, u32 epoch, const struct rdl_peer *peer),
	TP_ARGS(a, type, epoch, peer),
	TP_STRUCT__entry(
		__field(u32, table)
		__field(u32, slot)
		__field(u8, type)
		__field(u8, mode)
		__field(u8, debt)
		__field(u16, to)
		__field(u32, epoch)
		__field(u32, ticket)
		__field(u64, ver)
	),
	TP_fast_assign(
		__entry->table = a->table;
		__entry->slot = a->slot;
		__entry->type = type;
		__entry->mode = peer->mode;
		__entry->debt = peer->debt;
		__entry->to = peer->node;
		__entry->epoch = epoch;
		__entry->ticket = peer->ticket;
		__entry->ver = peer->ver;
	),
	TP_printk("lock=%u:%u %s to=%u mode=%u epoch=%u.%u ticket=%u debt=%u ver=%#llx", __entry->table,
		  __entry->slot, rdlock_show_peer(__entry->type), __entry->to, __entry->mode,
		  __entry->epoch >> RDL_REP_BITS, __entry->epoch & RDL_REP_MAX, __entry->ticket, __entry->debt,
		  __entry->ver)
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
