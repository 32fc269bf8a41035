// SPDX-License-Identifier: GPL-2.0
/* Exhaustive mode: worlds as text, and the stories that lead to a violation. */
#include <stdio.h>
#include <stdlib.h>

#include "exhaust.h"

int sim_bust, sim_forgive;
u32 sim_ticket_soft, sim_ticket_hard, sim_debt_max;

static const char * const fault_names[X_NR_FAULTS] = {
#define FAULT_NAME(name, text, meaning) text,
	X_FAULTS(FAULT_NAME)
#undef FAULT_NAME
};

/* ---- a world's description ---- */

static bool set_value(const char *name, size_t len, const char *value)
{
	u32 v = strtoul(value, NULL, 0);
	int i;

	for (i = 0; i < X_NR_FAULTS; i++) {
		if (strlen(fault_names[i]) == len && !memcmp(fault_names[i], name, len)) {
			x_cfg.budget[i] = v;
			return true;
		}
	}
#define VALUE(text, field) \
	do { \
		if (strlen(text) == len && !memcmp(text, name, len)) { \
			x_cfg.field = v; \
			return true; \
		} \
	} while (0)
	VALUE("nodes", nodes);
	VALUE("ops", ops);
	VALUE("threads", threads);
	VALUE("try", try);
	VALUE("hand", hand);
	VALUE("shared", shared);
	VALUE("stay", stay);
	VALUE("soft", soft);
	VALUE("hard", hard);
	VALUE("limit", limit);
#undef VALUE
	if (len == 4 && !memcmp(name, "debt", 4)) {
		sim_debt_max = v;
		return true;
	}
	if (len == 6 && !memcmp(name, "sticky", 6)) {
		x_cfg.props |= v ? RDL_P_STICKY : 0;
		return true;
	}
	if (len == 6 && !memcmp(name, "robust", 6)) {
		x_cfg.props |= v ? RDL_P_ROBUST : 0;
		return true;
	}
	if (len == 5 && !memcmp(name, "value", 5)) {
		x_cfg.props |= v ? RDL_P_VALUE : 0;
		return true;
	}
	if (len == 3 && !memcmp(name, "big", 3)) {
		x_cfg.props |= v ? RDL_P_VALUE | RDL_P_BIG : 0;
		return true;
	}
	if (len == 4 && !memcmp(name, "kind", 4)) {
		size_t n = strcspn(value, " ");

		for (i = 1; i < RDL_NR_KINDS; i++) {
			if (strlen(rdl_kind_name(i)) == n && !memcmp(rdl_kind_name(i), value, n)) {
				x_cfg.kind = i;
				return true;
			}
		}
	}
	return false;
}

bool x_configure(const char *text)
{
	const char *p = text;

	memset(&x_cfg, 0, sizeof(x_cfg));
	snprintf(x_cfg.text, sizeof(x_cfg.text), "%s", text);
	x_cfg.kind = RDL_KIND_SPIN;
	x_cfg.nodes = 2;
	x_cfg.ops = 1;
	x_cfg.threads = 1;
	x_cfg.soft = 1u << 25;
	x_cfg.hard = (1u << RDL_TICKET_BITS) - 1024;
	sim_debt_max = 64;
	while (*(p += strspn(p, " "))) {
		size_t len = strcspn(p, "= ");

		if (p[len] != '=' || !set_value(p, len, p + len + 1)) {
			fprintf(stderr, "exhaust: what is '%s'?\n", p);
			return false;
		}
		p += strcspn(p, " ");
	}
	if (x_cfg.nodes < 2 || x_cfg.nodes > XN || x_cfg.threads > XT || x_cfg.threads < 1) {
		fprintf(stderr, "exhaust: 2 to %d nodes, 1 to %d threads\n", XN, XT);
		return false;
	}
	sim_ticket_soft = x_cfg.soft;
	sim_ticket_hard = x_cfg.hard;
	return true;
}

/* ---- stories ---- */

void x_print_path(const struct xresult *r)
{
	u32 i;

	printf("# replay: make sim WORLD='%s'", x_cfg.text);
	if (sim_bust)
		printf(" MUTANT=%d", sim_bust);
	printf(" REPLAY=");
	for (i = 0; i < r->path_n; i++) {
		struct xev e = x_ev_unpack(r->path[i]);

		printf("%s%s.%u.%u", i ? "," : "", x_event_name(e.type), e.node, e.arg);
	}
	putchar('\n');
}

static const char * const life_names[] = { "alive", "dead", "leaving", "gone" };
static const char * const link_names[] = { "up", "dying", "down" };
static const char * const lease_names[] = { "", ", lease low", ", lease over" };
static const char * const op_names[] = { "-", "posted", "half", "landed", "dropped", "late", "late half" };

static void show(const struct xworld *w)
{
	int n;

	for (n = 0; n < x_cfg.nodes; n++) {
		const struct xnode *node = &w->node[n];

		printf("#   %d: %s, link %s%s%s, op %s, %u users, %s%s, %u waiters, %u up, %u down, requests %u\n",
		       n, life_names[node->life], link_names[node->link], lease_names[node->lease],
		       node->lost ? ", session lost" : "", op_names[node->op[0].st],
		       node->holder, rdl_state_name(node->core.st),
		       node->core.frz ? ", frozen" : "", node->n_fifo, node->n_up, node->n_down, node->ops);
	}
	printf("#   word %016llx%s, epoch %x, openers %x, %u messages between nodes\n",
	       (unsigned long long)w->word, w->recovering ? ", recovering" : "", w->epoch, w->openers, w->n_peer);
}

static bool event_parse(const char *text, struct xev *e)
{
	char name[16];
	unsigned int node, arg, i;

	if (sscanf(text, "%15[a-z].%u.%u", name, &node, &arg) != 3)
		return false;
	for (i = 0; i < X_NR_EVENTS; i++) {
		if (strcmp(name, x_event_name(i)))
			continue;
		*e = (struct xev){ .type = i, .node = node, .arg = arg };
		return node < (unsigned int)x_cfg.nodes;
	}
	return false;
}

static bool possible(const struct xworld *w, const struct xev *e)
{
	struct xev ev[X_MAX_EVENTS];
	int i, n = x_events(w, ev);

	for (i = 0; i < n; i++)
		if (x_ev_pack(&ev[i]) == x_ev_pack(e))
			return true;
	return false;
}

int x_replay(const char *path)
{
	struct xworld w;
	struct xev e;
	u32 i = 0;

	x_trace = 1;
	x_init(&w);
	for (; path && *path && !w.failed; path = strchr(path, ',')) {
		path += *path == ',';
		if (!event_parse(path, &e) || !possible(&w, &e)) {
			fprintf(stderr, "exhaust: this cannot happen here: %s\n", path);
			return 2;
		}
		printf("# %u. %s, node %u%s\n", ++i, x_event_name(e.type), e.node,
		       e.type < X_NR_FAULTS ? " (fault)" : "");
		x_apply(&w, &e);
	}
	show(&w);
	if (w.failed)
		printf("# %s\n", x_why);
	else
		printf("# no violation%s\n", x_at_rest(&w) ? ", all at rest" : "");
	return w.failed;
}
