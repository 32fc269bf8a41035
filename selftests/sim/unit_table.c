// SPDX-License-Identifier: GPL-2.0
/* The state tables: complete, and steadfast under events that no honest shell would send. */
#include "unit.h"

/* Random events: at least as many; more while the table promises what has not happened. */
#define HOSTILE_LEAST	1000000
#define HOSTILE_MOST	40000000

static void table_of(const struct rdl_kind_ops *ops)
{
	unsigned int s, e;

	wrong(ops->states >> RDL_NR_STATES || ops->events >> RDL_NR_EVENTS || ops->owns & ~ops->states,
	      "a kind has what does not exist");
	for (s = 0; s < RDL_NR_STATES; s++) {
		for (e = 0; e < RDL_NR_EVENTS; e++) {
			const struct rdl_cell *c = rdl_cell(ops, s, e);

			if (!c) {
				wrong(ops->table[s][e].fn, "a cell of what the kind does not have");
				continue;
			}
			wrong(!c->fn || !c->name, "a cell is empty");
			wrong(!c->next || c->next & ~ops->states, "a cell leads nowhere");
			if (c->fn == rdl_ignore || c->fn == rdl_impossible)
				wrong(c->next != 1u << s, "an ignored event leads elsewhere");
		}
	}
}

const char *table_complete(u64 seed)
{
	unsigned int s, e, kind, n = 0;

	(void)seed;
	for (kind = 0; kind < RDL_NR_KINDS; kind++) {
		wrong(rdl_kind_name(kind)[0] == '?', "a kind has no name");
		if (!rdl_kind_ops(kind))
			continue;
		table_of(rdl_kind_ops(kind));
		n++;
	}
	wrong(!n || rdl_kind_ops(RDL_NR_KINDS), "kinds");
	for (s = 0; s < RDL_NR_STATES; s++)
		wrong(!rdl_state_name(s)[0], "a state has no name");
	for (e = 0; e < RDL_NR_EVENTS; e++)
		wrong(!rdl_event_name(e)[0], "an event has no name");
	wrong(strcmp(rdl_state_name(RDL_NR_STATES), "?") || strcmp(rdl_event_name(999), "?"), "name of nothing");
	return first_wrong;
}

static u64 any_word(const struct rdl_lock *l)
{
	u32 t = rdl_w_ticket(l->guess) + bits(2);

	switch (bits(4)) {
	case 0:
	case 1:
	case 2:
	case 3:
		return l->st == RDL_ST_POP ? rdl_w_pack(t, l->node + 1, 0, l->epoch, false, false) : l->guess;
	case 4:
		return rdl_w_pack(t, 0, 0, l->epoch, bits(1), false);
	case 5:
		return rdl_w_pack(t, l->node + 1, 0, l->epoch, false, false);
	case 6:
		return rdl_w_pack(t, 0, 0, l->epoch + 1, false, false);
	case 7:
		return rdl_w_pack(t, bits(9), bits(9), l->epoch, bits(1), bits(1));
	case 8:
		return rdl_w_pack(t, 0, 0, l->epoch, false, true);
	default:
		return rdl_w_pack(t, l->node + 2, 0, l->epoch, bits(1), bits(2) == 0);
	}
}

static void any_event(const struct rdl_lock *l, struct rdl_event *ev)
{
	memset(ev, 0, sizeof(*ev));
	ev->type = rnd(&dice, RDL_NR_EVENTS);
	if (l->io && bits(1))
		ev->type = RDL_EV_OP;
	if (l->frz == RDL_FRZ_CLAIMED && bits(1))
		ev->type = RDL_EV_REBUILT;
	if ((ev->type == RDL_EV_LOSE || ev->type == RDL_EV_FREEZE) && bits(2))
		ev->type = RDL_EV_TIMER;
	ev->flags = bits(3) ? RDL_F_LEASE | RDL_F_LINK : bits(2);
	if (ev->type == RDL_EV_LINK_UP && bits(1))
		ev->flags = bits(2);
	ev->try = bits(2) == 0;
	ev->outcome = bits(2) ? RDL_OK : bits(2);
	ev->rnd = bits(32);
	ev->epoch = l->epoch;
	if (l->frz == RDL_FRZ_CLAIMED && bits(4) == 0)
		ev->type = RDL_EV_LINK_UP;
	if (ev->type == RDL_EV_REBUILT || (ev->type == RDL_EV_LINK_UP && l->frz == RDL_FRZ_CLAIMED) || bits(4) == 0)
		ev->epoch += bits(3) ? 1 : (int)bits(2) - 1;
	ev->old = any_word(l);
	ev->rebuilt.what = bits(3) ? (l->st == RDL_ST_HELD ? RDL_CLAIM_HOLD : RDL_CLAIM_NONE) : bits(2);
	ev->rebuilt.vflags = bits(3);
	ev->report = rnd(&dice, RDL_NR_REPORTS + 1);
}

static u32 seen[RDL_NR_STATES][RDL_NR_EVENTS];

/* NULL, or what the table promises and has not happened. */
static const char *table_unreached(void)
{
	static char why[128];
	unsigned int s, e;

	for (s = 0; s < RDL_NR_STATES; s++) {
		for (e = 0; e < RDL_NR_EVENTS; e++) {
			const struct rdl_cell *c = rdl_cell(&rdl_spin, s, e);
			bool impossible = !c || c->fn == rdl_impossible;

			if (impossible ? !seen[s][e] : !(c->next & ~seen[s][e]))
				continue;
			snprintf(why, sizeof(why), "%s + %s: %s", rdl_state_name(s), rdl_event_name(e),
				 impossible ? "accepted, though impossible" : "a next state is never reached");
			return why;
		}
	}
	return NULL;
}

/*
 * Any event at any time: what cannot be is refused and changes nothing; what can be keeps to the table and the
 * invariants. Every cell that is not impossible, and every next state that a cell names, is reached.
 */
const char *table_hostile(u64 seed)
{
	struct rdl_lock l;
	struct rdl_acts acts;
	static char why[128];
	const char *bad;
	int i;

	dice.rng = seed;
	memset(seen, 0, sizeof(seen));
	sim_ticket_soft = 6;
	sim_ticket_hard = 9;
	rdl_lock_init(&l, RDL_KIND_SPIN, 3, rdl_epoch(1, 0), 2);
	for (i = 0; i < HOSTILE_MOST; i++) {
		struct rdl_lock was = l;
		struct rdl_event ev;
		int err;

		if (i % HOSTILE_LEAST == 0 && i && !table_unreached())
			break;
		if (rdl_epoch_rep(l.epoch) > RDL_REP_MAX - 8) {
			rdl_lock_init(&l, RDL_KIND_DEFAULT, bits(8), rdl_epoch(1, 0), bits(2));
			rdl_lock_props(&l, bits(1) ? RDL_P_ROBUST : 0, 0);
			was = l;
		}
		any_event(&l, &ev);
		err = rdl_step(&l, &ev, &acts);
		if (err) {
			wrong(err != -EPROTO, "an error of another kind");
			wrong(memcmp(&was, &l, sizeof(l)) || acts.n, "a refused event left a trace");
			continue;
		}
		/* The common rules ignore messages of an epoch that is over. */
		if ((ev.type == RDL_EV_FREEZE && ev.epoch < was.epoch) ||
		    (ev.type == RDL_EV_REBUILT && ev.epoch <= was.epoch)) {
			wrong(was.st != RDL_ST_LOST && (memcmp(&was, &l, sizeof(l)) || acts.n),
			      "an old message left a trace");
			continue;
		}
		seen[was.st][ev.type] |= 1u << l.st;
		bad = rdl_check(&l);
		if (!bad && !(rdl_cell(&rdl_spin, was.st, ev.type)->next >> l.st & 1))
			bad = "not in the table";
		if (bad) {
			snprintf(why, sizeof(why), "%s + %s -> %s: %s", rdl_state_name(was.st),
				 rdl_event_name(ev.type), rdl_state_name(l.st), bad);
			return why;
		}
		wrong(acts.n > RDL_MAX_ACTIONS, "too many actions");
	}
	bad = table_unreached();
	wrong(bad, bad);
	return first_wrong;
}
