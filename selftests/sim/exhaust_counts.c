// SPDX-License-Identifier: GPL-2.0
/*
 * What each path costs, exactly: the table of Documentation/protocol.rst, one row or more for each of its rows. Core
 * and home are those of the searched worlds, but there is one story: after each word of a script all that can happen
 * without a fault does, and no timer fires unless the script says so.
 */
#include <stdio.h>
#include <stdlib.h>

#include "exhaust.h"

#define MANY_STEPS	10000

/*
 * A script: "x1 = r1" counts what follows the sign. Words, each with the number of a node:
 *
 *   x s t y   a user wants it exclusively, shared; tries exclusively, shared
 *   r w       the user gives it up; changes the value and gives it up
 *   d e u     goes to shared; changes the value and goes to shared; to exclusive
 *   c         the waiter at the end of the node's queue leaves
 *   i         time passes: the node's timer fires
 *   h g       what the node writes into its slot does not land; it lands now
 *   f         the home recovers the lock (the number is of no meaning)
 *   + -       checked: it has the lock; it neither has it nor waits
 *
 * Costs: A atomics, R reads, W writes; messages between nodes G grants, H hints, P probes, N answers; of a recovery F
 * FREEZE, C CLAIM, B REBUILT, and Z changes of the word by the home through its loopback pair.
 */
struct row {
	const char *path, *world, *script, *want;
};

#define FAIR	"kind=fair nodes=4 ops=200 threads=3 hand=2 try=1 shared=1"
#define MCS	"kind=mcs nodes=4 ops=200 threads=3 hand=2 try=1"
#define TICKET	"kind=ticket nodes=4 ops=200 threads=3 hand=2 try=1"
#define SPIN	"kind=spin nodes=4 ops=200 threads=3 hand=2 try=1"

static const struct row rows[] = {
	{ "exclusive acquire, nobody else, not sticky", FAIR, "= x1 +1", "1A" },
	{ "the same, sticky: and the slot", FAIR " sticky=1", "= x1 +1", "1A 1W" },
	{ "the same with a value", FAIR " value=1", "= x1 +1", "1A 1R" },
	{ "the same, sticky, with a value", FAIR " sticky=1 value=1", "= x1 +1", "1A 1R 1W" },
	{ "exclusive release, not sticky", FAIR, "x1 = r1 -1", "1A" },
	{ "the same, the value changed", FAIR " value=1", "x1 = w1 -1", "1A 1W" },
	{ "the same, the value as it was", FAIR " value=1", "x1 = r1 -1", "1A" },
	{ "exclusive release, sticky", FAIR " sticky=1", "x1 = r1 -1", "" },
	{ "the same, the value changed", FAIR " sticky=1 value=1", "x1 = w1 -1", "" },
	{ "shared acquire", FAIR, "= s1 +1", "1A" },
	{ "the same with a value", FAIR " value=1", "= s1 +1", "1A 1R" },
	{ "shared release", FAIR, "s1 = r1 -1", "1A" },
	{ "shared acquire and release beside another reader", FAIR, "s1 = s2 +2 r2", "2A" },
	{ "one more reader of the node comes and leaves", FAIR " hand=4", "s1 = s1 r1", "" },
	{ "one that uses up half of the budget: a look for a writer", FAIR " hand=4", "s1 s1 = s1 +1", "1R" },
	{ "acquire and release of what is kept", FAIR " sticky=1 value=1", "x1 w1 = x1 w1 x1 w1", "" },
	{ "hand-over within the node", FAIR, "x1 x1 = r1 +1", "" },
	{ "beginning to wait for a writer that is on the board", FAIR " sticky=1", "x1 = x2", "1A 1R 1W 1H" },
	{ "beginning to wait for one that is not, not sticky", FAIR, "x1 = x2", "1A 1R 1W" },
	{ "beginning to wait for readers", FAIR, "s1 s2 = x3", "1A 1W" },
	{ "waiting", FAIR " sticky=1", "x1 x2 =", "" },
	{ "waiting for more than a second", FAIR " sticky=1", "x1 x2 = i2", "1R 1H" },
	{ "hand-over to a writer that said so", FAIR " sticky=1", "x1 x2 = r1 +2 -1", "1G" },
	{ "the same, the value changed", FAIR " sticky=1 value=1", "x1 x2 = w1 +2 -1", "1G" },
	{ "a hand-over in steady state, all of it", FAIR " sticky=1", "x1 x2 r1 = x3 r2 +3", "1A 1R 1W 1G 1H" },
	{ "every (debt + 1)th hand-over", FAIR " sticky=1 debt=2", "x1 x2 r1 x3 r2 x1 = r3 +1", "1A 1R 1G" },
	{ "the same with a value, which only messages have carried", FAIR " sticky=1 value=1 debt=2",
	  "x1 x2 w1 x3 r2 x1 = r3 +1", "1A 1R 1W 1G" },
	{ "the one after it", FAIR " sticky=1 debt=2", "x1 x2 r1 x3 r2 x1 r3 x2 = r1 +2", "1G" },
	{ "hand-over to a writer that could not say so", FAIR, "x1 x2 = r1 +2 -1", "1A 1R 1G" },
	{ "the same, the value changed", FAIR " value=1", "x1 x2 = w1 +2 -1", "1A 1R 1W 1G" },
	{ "a writer that has debt releases, nobody waits, not sticky", FAIR " value=1",
	  "x1 x2 x3 w1 r2 = r3 -3", "1A 1W" },
	{ "a writer gives way to one reader", FAIR " sticky=1", "x1 s2 = r1 +2 -1", "1A 1R 1G" },
	{ "to three readers", FAIR " sticky=1", "x1 s2 s3 s0 = r1 +2 +3 +0", "1A 1R 3G" },
	{ "to two readers before a writer", FAIR " sticky=1", "x1 s2 s3 x0 = r1 +2 +3", "1A 1R 2G" },
	{ "readers begin to wait: the first one speaks", FAIR " sticky=1", "x1 = s2", "1A 1R 1W 1H" },
	{ "and the others only look", FAIR " sticky=1", "x1 s2 = s3", "1A 1R 1W" },
	{ "a reader leaves, others stay, a writer waits", FAIR, "s1 s2 x3 = r1", "1A 1R" },
	{ "the last reader leaves, a writer waits", FAIR, "s1 x3 = r1 +3", "1A 1R 1G" },
	{ "three readers leave, a writer waits", FAIR, "s0 s1 s2 x3 = r0 r1 r2 +3", "3A 3R 1G" },
	{ "the writer's slot is not there yet: the head has not moved", FAIR, "s1 h3 x3 = r1", "2A 1R" },
	{ "each further look, the last with the slot", FAIR, "s1 h3 x3 r1 = i1 g3 i1 +3", "1A 2R 1G" },
	{ "a writer releases before the next one's slot is there", FAIR, "x1 h2 x2 = r1", "1A 1R" },
	{ "each further look, the last with the slot", FAIR, "x1 h2 x2 r1 = i1 g2 i1 +2", "2R 1G" },
	{ "a kept lock goes to a writer", FAIR " sticky=1", "x1 r1 = x2 +2", "1A 1R 1W 1G 1H" },
	{ "to a reader: and the holder gives back and looks", FAIR " sticky=1", "x1 r1 = s2 +2", "2A 2R 1W 1G 1H" },
	{ "the same with a value that was changed", FAIR " sticky=1 value=1", "x1 w1 = s2 +2", "2A 2R 2W 1G 1H" },
	{ "try of a free lock, its word is known", FAIR, "t1 r1 = t1 +1", "1A" },
	{ "try of a free lock, another word is known", FAIR, "t1 r1 x2 r2 = t1 +1", "2A" },
	{ "try of a free lock, last seen taken", FAIR, "x2 t1 -1 r2 = t1 +1", "2A" },
	{ "shared try beside a reader", FAIR, "s2 = y1 +1", "2A" },
	{ "the same, the reader has been seen", FAIR, "s2 t1 -1 = y1 +1", "1A" },
	{ "try of a lock in use, seen free before", FAIR, "x2 = t1 -1", "1A" },
	{ "the same, sticky: and the owner is asked", FAIR " sticky=1", "x2 = t1 -1", "1A 1R 1P 1N" },
	{ "try of a kept lock: given back, looked at, taken", FAIR " sticky=1", "x2 r2 = t1 +1 -2", "4A 1R 1W 1P 1N" },
	{ "to shared, nobody waits", FAIR, "x1 = d1 +1", "1A" },
	{ "to shared, the value changed", FAIR " value=1", "x1 = e1 +1", "1A 1W" },
	{ "to shared, two readers wait", FAIR " sticky=1", "x1 s2 s3 = d1 +1 +2 +3", "1A 1R 2G" },
	{ "to shared, a writer waits", FAIR " sticky=1", "x1 x2 = d1 +1", "1A 1R" },
	{ "to exclusive", FAIR, "s1 = u1 +1", "2A" },
	{ "to exclusive, sticky: and the slot", FAIR " sticky=1", "s1 = u1 +1", "2A 1W" },
	{ "to exclusive, others read", FAIR, "s1 s2 = u1 +1", "1A" },
	{ "a waiter leaves", FAIR " sticky=1", "x1 x2 x3 = c2 -2", "" },
	{ "its turn is passed on", FAIR " sticky=1", "x1 x2 x3 c2 = r1 +3 -2", "2G" },
	{ "recovery, nobody has it", FAIR, "= f0", "4F 4C 4B 2Z" },
	{ "recovery, one has it and one waits for it: it says so again", FAIR " sticky=1",
	  "x1 x2 = f0 +1", "1H 4F 4C 4B 2Z" },
	{ "and then the hand-over", FAIR " sticky=1", "x1 x2 f0 = r1 +2", "1G" },
	{ "recovery of a kept lock: the claim gives it up", FAIR " sticky=1", "x1 r1 = f0 -1", "4F 4C 4B 2Z" },

	{ "mcs: acquire, not sticky", MCS, "= x1 +1", "1A" },
	{ "mcs: acquire, sticky", MCS " sticky=1", "= x1 +1", "1A" },
	{ "mcs: acquire with a value", MCS " value=1", "= x1 +1", "1A 1R" },
	{ "mcs: release, not sticky", MCS, "x1 = r1 -1", "1A" },
	{ "mcs: release, the value changed", MCS " value=1", "x1 = w1 -1", "1A 1W" },
	{ "mcs: release, sticky", MCS " sticky=1", "x1 = r1 -1", "" },
	{ "mcs: what is kept", MCS " sticky=1 value=1", "x1 w1 = x1 w1", "" },
	{ "mcs: hand-over within the node", MCS, "x1 x1 = r1 +1", "" },
	{ "mcs: beginning to wait, the word not known", MCS, "x1 = x2", "2A 1H" },
	{ "mcs: beginning to wait, the word known", MCS, "x1 t2 -2 = x2", "1A 1H" },
	{ "mcs: hand-over", MCS, "x1 x2 = r1 +2", "1G" },
	{ "mcs: hand-over, the value changed", MCS " value=1", "x1 x2 = w1 +2", "1G" },
	{ "mcs: a kept lock goes to another node", MCS " sticky=1", "x1 r1 = x2 +2", "2A 1G 1H" },
	{ "mcs: try of a kept lock", MCS " sticky=1", "x2 r2 = t1 +1 -2", "4A 1P 1N" },
	{ "mcs: a waiter leaves, its turn is passed on", MCS, "x1 x2 x3 = c2 r1 +3", "2G" },

	{ "ticket: acquire", TICKET, "= x1 +1", "1A" },
	{ "ticket: acquire with a value", TICKET " value=1", "= x1 +1", "1A 1R" },
	{ "ticket: release", TICKET, "x1 = r1 -1", "1A" },
	{ "ticket: release, the value changed", TICKET " value=1", "x1 = w1 -1", "1A 1W" },
	{ "ticket: beginning to wait", TICKET, "x1 = x2", "1A" },
	{ "ticket: a look", TICKET, "x1 x2 = i2", "1R" },
	{ "ticket: hand-over", TICKET, "x1 x2 = r1 i2 +2", "2A 1R" },

	{ "spin: acquire", SPIN, "= x1 +1", "1A" },
	{ "spin: release", SPIN, "x1 = r1 -1", "1A" },
	{ "spin: acquire and release again", SPIN, "x1 r1 = x1 r1", "2A" },
	{ "spin: beginning to wait", SPIN, "x1 = x2", "1A" },
	{ "spin: each further attempt", SPIN, "x1 x2 = i2", "1A" },
	{ "spin: hand-over within the node", SPIN, "x1 x1 = r1 +1", "" },
	{ "spin: recovery, one has it", SPIN, "x1 = f0 +1", "4F 4C 4B 2Z" },
};

u32 x_did[X_NR_COSTS];

/* ---- a story ---- */

static u8 held_back;	/* nodes whose slot does not land */

static bool slot_waits(const struct xworld *w, const struct xev *e)
{
	const struct xnode *node = &w->node[e->node];

	return e->type == XS_LAND && (held_back >> e->node & 1) &&
	       node->op[x_op_to_land(node)].type == RDL_ACT_POST_WRITE_SLOT;
}

static bool by_itself(const struct xev *e)
{
	switch (e->type) {
	case XS_LAND:
	case XS_DONE:
	case XS_HOME:
	case XS_NODE:
	case XS_OPENED:
	case XS_PEER:
		return true;
	default:
		return false;
	}
}

static bool one_step(struct xworld *w)
{
	struct xev ev[X_MAX_EVENTS];
	int n = x_events(w, ev), i;

	for (i = 0; i < n; i++) {
		if (!by_itself(&ev[i]) || slot_waits(w, &ev[i]))
			continue;
		x_apply(w, &ev[i]);
		return true;
	}
	return false;
}

static void settle(struct xworld *w)
{
	int i;

	for (i = 0; i < MANY_STEPS && !w->failed; i++)
		if (!one_step(w))
			return;
	if (!w->failed)
		x_fail(w, "no end");
}

static bool may_happen(const struct xworld *w, const struct xev *e)
{
	struct xev ev[X_MAX_EVENTS];
	int n, i;

	/* A watchdog is not among the events while something else can happen. */
	if (e->type == XS_TIMER)
		return w->node[e->node].core.armed;
	n = x_events(w, ev);
	for (i = 0; i < n; i++)
		if (!memcmp(&ev[i], e, sizeof(*e)))
			return true;
	return false;
}

static void check_owner(struct xworld *w, int n, bool has)
{
	const struct xnode *node = &w->node[n];

	if (has ? !node->holder : node->holder || node->n_fifo)
		x_fail(w, "node %d %s", n, has ? "has it not" : "has it or waits for it");
}

static void word(struct xworld *w, char what, int n)
{
	struct xev e = { .node = n };

	switch (what) {
	case 'x':
	case 's':
		e.type = XS_ACQ;
		e.arg = what == 'x' ? RDL_MODE_X : RDL_MODE_S;
		break;
	case 't':
	case 'y':
		e.type = XS_TRY;
		e.arg = what == 't' ? RDL_MODE_X : RDL_MODE_S;
		break;
	case 'r':
	case 'w':
		e.type = XS_REL;
		e.arg = what == 'w';
		break;
	case 'd':
	case 'u':
	case 'e':
		e.type = XF_CONVERT;
		e.arg = what == 'e';
		break;
	case 'c':
		e.type = XF_CANCEL;
		e.arg = w->node[n].n_fifo - 1;
		break;
	case 'i':
		e.type = XS_TIMER;
		break;
	case 'f':
		e.type = XF_RECOVER;
		break;
	case 'h':
		held_back |= 1 << n;
		return;
	case 'g':
		held_back &= ~(1 << n);
		return;
	case '+':
	case '-':
		check_owner(w, n, what == '+');
		return;
	default:
		x_fail(w, "no word '%c'", what);
		return;
	}
	if (may_happen(w, &e))
		x_apply(w, &e);
	else
		x_fail(w, "'%c%d' cannot happen", what, n);
}

static void play(struct xworld *w, const char *script)
{
	for (; *script && !w->failed; script += strcspn(script, " "), script += strspn(script, " ")) {
		if (*script == '=') {
			memset(x_did, 0, sizeof(x_did));
			continue;
		}
		word(w, script[0], script[1] - '0');
		settle(w);
	}
}

/* ---- the result ---- */

static void costs(char *to, size_t size)
{
	static const char letters[X_NR_COSTS] = "ARWGHPNFCBZ";
	size_t at = 0;
	int i;

	*to = 0;
	for (i = 0; i < X_NR_COSTS; i++)
		if (x_did[i])
			at += snprintf(to + at, size - at, "%s%u%c", at ? " " : "", x_did[i], letters[i]);
}

int x_counts_n(void)
{
	return ARRAY_SIZE(rows);
}

bool x_counts_run(int i, char *note, size_t size)
{
	const struct row *row = &rows[i];
	static struct xworld w;
	char have[100];
	bool ok;

	if (!x_configure(row->world))
		abort();
	x_cfg.budget[XF_CONVERT] = 10;
	x_cfg.budget[XF_CANCEL] = 10;
	x_cfg.budget[XF_RECOVER] = 10;
	held_back = 0;
	x_init(&w);
	play(&w, row->script);
	costs(have, sizeof(have));
	ok = !w.failed && !strcmp(have, row->want);
	if (w.failed)
		snprintf(note, size, "%s, '%s': %s", row->path, row->script, x_why);
	else if (!ok)
		snprintf(note, size, "%s, '%s' costs %s, not %s", row->path, row->script, *have ? have : "nothing",
			 *row->want ? row->want : "nothing");
	else
		snprintf(note, size, "%s: %s", row->path, *have ? have : "nothing");
	return ok;
}
