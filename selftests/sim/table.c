// SPDX-License-Identifier: GPL-2.0
/* The state table as documentation: reStructuredText for Documentation/protocol.rst, and a graph for dot(1). */
#include "sim.h"

static const char * const state_means[] = {
#define STATE_MEANS(name, meaning) \
	[RDL_ST_##name] = meaning,
	RDL_STATES(STATE_MEANS)
#undef STATE_MEANS
};

static const char * const event_means[] = {
#define EVENT_MEANS(name, meaning) \
	[RDL_EV_##name] = meaning,
	RDL_EVENTS(EVENT_MEANS)
#undef EVENT_MEANS
};

static void names(unsigned int next, const char *between)
{
	const char *sep = "";
	unsigned int s;

	for (s = 0; s < RDL_NR_STATES; s++) {
		if (next >> s & 1) {
			printf("%s%s", sep, rdl_state_name(s));
			sep = between;
		}
	}
}

static void cells(const struct rdl_kind_ops *ops)
{
	unsigned int s, e;

	puts(".. list-table::\n   :header-rows: 1\n   :widths: 10 12 25 35\n");
	puts("   * - state\n     - event\n     - does\n     - then");
	for (s = 0; s < RDL_NR_STATES; s++) {
		for (e = 0; e < RDL_NR_EVENTS; e++) {
			const struct rdl_cell *c = rdl_cell(ops, s, e);
			bool real = c && c->fn != rdl_ignore && c->fn != rdl_impossible;

			if (!c)
				continue;
			printf("   * - %s\n     - %s\n     - %s%s%s\n     - ", rdl_state_name(s), rdl_event_name(e),
			       real ? "``" : "*", c->name, real ? "()``" : "*");
			if (real)
				names(c->next, ", ");
			puts("");
		}
	}
}

void table_rst(void)
{
	unsigned int s, e, kind;

	printf(".. %s-License-Identifier: GPL-2.0\n", "SPDX");
	puts(".. made by `build/sim/sim --table` from kmod/core; do not edit\n");
	puts("States of a node's side of a lock\n---------------------------------\n");
	for (s = 0; s < RDL_NR_STATES; s++)
		printf("``%s``\n    %s\n\n", rdl_state_name(s), state_means[s]);
	puts("Events\n------\n");
	for (e = 0; e < RDL_NR_EVENTS; e++)
		printf("``%s``\n    %s\n\n", rdl_event_name(e), event_means[e]);
	puts("What each event does in each state\n----------------------------------\n");
	puts("*ignore*: nothing happens. *impossible*: refused with ``-EPROTO``, nothing changes. Otherwise the");
	puts("function in kmod/core that runs, and the states in which it may leave the lock.");
	for (kind = 0; kind < RDL_NR_KINDS; kind++) {
		if (!rdl_kind_ops(kind))
			continue;
		printf("\nKind ``%s``\n~~~~~~~~~~~~~~~~~\n\n", rdl_kind_name(kind));
		cells(rdl_kind_ops(kind));
	}
}

void table_dot(void)
{
	unsigned int s, e, t;

	printf("// %s-License-Identifier: GPL-2.0\n", "SPDX");
	puts("// made by `build/sim/sim --dot` from kmod/core; do not edit");
	puts("digraph spin {\n\trankdir=LR;\n\tnode [shape=box, fontname=\"monospace\"];");
	for (s = 0; s < RDL_NR_STATES; s++) {
		for (t = 0; t < RDL_NR_STATES; t++) {
			const char *sep = "";
			bool any = false;

			for (e = 0; e < RDL_NR_EVENTS; e++) {
				const struct rdl_cell *c = rdl_cell(&rdl_spin, s, e);

				if (s == t || !c || !(c->next >> t & 1))
					continue;
				if (!any)
					printf("\t%s -> %s [label=\"", rdl_state_name(s), rdl_state_name(t));
				printf("%s%s", sep, rdl_event_name(e));
				sep = "\\n";
				any = true;
			}
			if (any)
				puts("\"];");
		}
	}
	puts("}");
}
