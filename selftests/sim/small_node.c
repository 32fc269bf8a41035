// SPDX-License-Identifier: GPL-2.0
/* The nodes of a small world: the shell around the core, and what must hold after each step. */
#include <stdarg.h>

#include "small.h"

u32 small_seen[RDL_NR_KINDS][RDL_NR_STATES][RDL_NR_EVENTS];
u32 small_most_actions;

bool small_tracing;

void small_wrong(struct small *w, const char *fmt, ...)
{
	va_list ap;

	if (w->failed)
		return;
	w->failed = true;
	va_start(ap, fmt);
	vsnprintf(w->why, sizeof(w->why), fmt, ap);
	va_end(ap);
}

u32 small_rnd(struct small *w, u32 n)
{
	u64 z = (w->rng += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	z ^= z >> 31;
	return n ? z % n : 0;
}

bool small_fault(struct small *w, enum small_fault f)
{
	if (w->stopping || !w->faults[f])
		return false;
	w->faults[f]--;
	if (f == SMALL_DROP || f == SMALL_CRASH || f == SMALL_LOSE)
		w->quiet = false;
	return true;
}

/* ---- checkers ---- */

/* A user counts until its node is fenced: it lost its lease, or it was evicted. */
static void exclusion(struct small *w)
{
	int i, x = 0, s = 0;

	for (i = 0; i < w->n; i++) {
		if (w->node[i].evicted || !w->node[i].users)
			continue;
		if (w->node[i].mode == RDL_MODE_X)
			x += w->node[i].users;
		else
			s += w->node[i].users;
	}
	if (x > 1 || (x && s))
		small_wrong(w, "%d writers and %d readers at once", x, s);
}

static void delivered(struct small *w, int i, const struct rdl_action *a)
{
	struct small_node *node = &w->node[i];
	u32 n = a->n ? a->n : 1, k;
	u8 mode = a->mode == RDL_MODE_S ? RDL_MODE_S : RDL_MODE_X;

	if (node->nqueue < (int)n) {
		small_wrong(w, "node %d delivers to nobody", i);
		return;
	}
	if (!node->lease)
		small_wrong(w, "node %d grants without a lease", i);
	for (k = 0; k < n; k++) {
		u64 token = a->val + k;

		if (node->queue[k].mode != mode)
			small_wrong(w, "node %d: a waiter for mode %d is given mode %d", i, node->queue[k].mode, mode);
		if (mode == RDL_MODE_X ? token <= w->last : token <= w->last_x)
			small_wrong(w, "node %d: token %llx is not greater than those before", i,
				    (unsigned long long)token);
		if (mode == RDL_MODE_X)
			w->last_x = token;
		if (token > w->last)
			w->last = token;
	}
	if ((a->arg & RDL_GRANT_LOCAL) && (mode == RDL_MODE_S || node->core.q.hint) &&
	    node->core.handovers > node->core.budget)
		small_wrong(w, "node %d keeps the lock for itself", i);
	node->nqueue -= n;
	memmove(&node->queue[0], &node->queue[n], node->nqueue * sizeof(node->queue[0]));
	node->users += n;
	node->mode = mode;
	w->grants += n;
	node->notice = a->arg & (RDL_GRANT_OWNER_DIED | RDL_GRANT_MAYBE_DIED);
	if (w->untold && !node->notice)
		small_wrong(w, "node %d is not told that a writer died", i);
	if (w->props & RDL_P_VALUE) {
		if (a->arg & RDL_GRANT_VALUE_INVALID)
			w->newest = node->copy;
		if (node->copy != w->newest)
			small_wrong(w, "node %d gets value %llx instead of %llx", i, (unsigned long long)node->copy,
				    (unsigned long long)w->newest);
		if (node->copy != node->core.q.ver)
			small_wrong(w, "node %d: core and shell disagree about the value", i);
	}
	exclusion(w);
}

/* ---- the shell ---- */

u32 small_flags(const struct small *w, int i)
{
	const struct small_node *node = &w->node[i];

	return (node->lease ? RDL_F_LEASE : 0) | (node->link && node->lease ? RDL_F_LINK : 0) |
	       (w->stopping ? RDL_F_SHED : 0);
}

static void op_posted(struct small *w, int i, const struct rdl_action *a)
{
	struct small_node *node = &w->node[i];
	struct small_op *op;

	if (!node->link || !node->lease || node->core.frz != RDL_FRZ_RUN)
		small_wrong(w, "node %d posts when it must not", i);
	if (node->nops == SMALL_OPS) {
		small_wrong(w, "node %d has too many operations in flight", i);
		return;
	}
	op = &node->op[node->nops++];
	memset(op, 0, sizeof(*op));
	op->type = a->type;
	op->arg = a->type == RDL_ACT_POST_FAA || a->type == RDL_ACT_POST_CAS ? a->arg : 0;
	op->cmp = a->cmp;
	op->val = a->val;
	op->ver = node->copy;
	op->vflags = a->peer.vflags;
	if (a->type == RDL_ACT_POST_WRITE_VALUE && a->peer.ver != node->copy)
		small_wrong(w, "node %d names another version than it writes", i);
	if (a->type == RDL_ACT_POST_READ_AREA)
		node->copy = 0;
}

static void to_peer(struct small *w, int i, u8 type, const struct rdl_action *a, u16 dst, u32 ticket)
{
	struct small_msg m = { .type = type, .src = i, .dst = dst, .epoch = a->epoch, .peer = a->peer };

	m.peer.node = i;
	m.peer.ticket = ticket;
	if (dst >= w->n || dst == i) {
		small_wrong(w, "node %d sends to node %d", i, dst);
		return;
	}
	if (type == RDL_EV_GRANT)
		m.peer.ver = w->node[i].copy < a->peer.ver ? w->node[i].copy : a->peer.ver;
	if (!w->node[dst].alive)
		return;
	if (w->npeer == SMALL_PEER) {
		small_wrong(w, "world too small: messages between nodes");
		return;
	}
	w->peer[w->npeer++] = m;
}

static void run_granted(struct small *w, int i, const struct rdl_acts *acts, const struct rdl_action *a,
			const struct rdl_event *ev)
{
	int n;

	w->runs++;
	for (n = 0; n < RDL_MAX_NODES; n++) {
		if (!(acts->run[n / 64] >> (n % 64) & 1))
			continue;
		if (n >= ev->nslots) {
			small_wrong(w, "a run of nodes that do not exist");
			return;
		}
		to_peer(w, i, RDL_EV_GRANT, a, n, rdl_slot_ticket(le64_to_cpu(ev->slots[n])));
	}
}

static void to_home(struct small *w, int i, const struct rdl_action *a)
{
	struct small_node *node = &w->node[i];
	struct small_msg m = { .type = a->type, .epoch = a->epoch, .arg = a->arg };

	if (a->type == RDL_ACT_CLAIM) {
		m.claim = a->claim;
		if ((w->props & RDL_P_VALUE) && a->claim.ver > node->copy)
			small_wrong(w, "node %d claims a value that it has not", i);
	}
	if (!node->link || node->evicted)
		return;
	if (node->nto == SMALL_HOME) {
		small_wrong(w, "world too small: messages to the home");
		return;
	}
	node->to_home[node->nto++] = m;
}

static void try_failed(struct small *w, int i, bool tail, u32 err)
{
	struct small_node *node = &w->node[i];
	int at = tail ? node->nqueue - 1 : 0;

	if (!node->nqueue || !node->queue[at].try || (err != EAGAIN && err != EHOSTUNREACH)) {
		small_wrong(w, "node %d fails a waiter that did not try, errno %u", i, err);
		return;
	}
	node->nqueue--;
	memmove(&node->queue[at], &node->queue[at + 1], (node->nqueue - at) * sizeof(node->queue[0]));
}

static void converted(struct small *w, int i, const struct rdl_action *a)
{
	struct small_node *node = &w->node[i];

	if (!node->converting || node->users != 1)
		small_wrong(w, "node %d converts for nobody", i);
	node->converting = false;
	node->mode = a->mode;
	w->converted++;
	if (a->mode == RDL_MODE_X ? a->val <= w->last : a->val <= w->last_x)
		small_wrong(w, "node %d: token %llx of a conversion", i, (unsigned long long)a->val);
	if (a->mode == RDL_MODE_X)
		w->last_x = a->val;
	if (a->val > w->last)
		w->last = a->val;
	exclusion(w);
}

/* A user is gone without a release. */
void small_cut_off(struct small *w, int i)
{
	struct small_node *node = &w->node[i];

	if (node->users && node->mode == RDL_MODE_X)
		w->untold = true;
}

static void act_on(struct small *w, int i, const struct rdl_acts *acts, const struct rdl_action *a,
		   const struct rdl_event *ev)
{
	struct small_node *node = &w->node[i];

	switch (a->type) {
	case RDL_ACT_POST_CAS:
	case RDL_ACT_POST_FAA:
	case RDL_ACT_POST_READ_SLOTS:
	case RDL_ACT_POST_READ_VALUE:
	case RDL_ACT_POST_READ_WORD:
	case RDL_ACT_POST_WRITE_SLOT:
	case RDL_ACT_POST_READ_AREA:
	case RDL_ACT_POST_WRITE_VALUE:
		op_posted(w, i, a);
		break;
	case RDL_ACT_DELIVER:
		delivered(w, i, a);
		break;
	case RDL_ACT_FAIL_HEAD:
	case RDL_ACT_FAIL_TAIL:
		try_failed(w, i, a->type == RDL_ACT_FAIL_TAIL, a->arg);
		break;
	case RDL_ACT_TIMER:
		node->armed = a->val;
		break;
	case RDL_ACT_CLAIM:
	case RDL_ACT_ROLL:
	case RDL_ACT_CONSISTENT:
	case RDL_ACT_QUERY:
		to_home(w, i, a);
		break;
	case RDL_ACT_LOST:
		node->users = 0;
		node->notice = false;
		node->converting = false;
		break;
	case RDL_ACT_SEND_GRANT:
		w->handed++;
		to_peer(w, i, RDL_EV_GRANT, a, a->peer.node, a->peer.ticket);
		break;
	case RDL_ACT_GRANT_RUN:
		run_granted(w, i, acts, a, ev);
		break;
	case RDL_ACT_SEND_HINT:
		to_peer(w, i, RDL_EV_HINT, a, a->peer.node, a->peer.ticket);
		break;
	case RDL_ACT_SEND_PROBE:
		to_peer(w, i, RDL_EV_PROBE, a, a->peer.node, a->peer.ticket);
		break;
	case RDL_ACT_SEND_ANSWER:
		to_peer(w, i, RDL_EV_ANSWER, a, a->peer.node, a->peer.ticket);
		break;
	case RDL_ACT_TAKE:
		node->copy = a->arg ? node->parked : ev->type == RDL_EV_REBUILT ? ev->rebuilt.ver : ev->peer.ver;
		break;
	case RDL_ACT_PARK:
		node->parked = ev->peer.ver;
		break;
	case RDL_ACT_CONVERTED:
		converted(w, i, a);
		break;
	case RDL_ACT_CONVERT_FAILED:
		if (!node->converting)
			small_wrong(w, "node %d refuses a conversion that nobody asked for", i);
		node->converting = false;
		node->mode = node->core.q.mode;
		break;
	default:
		small_wrong(w, "node %d: action %u", i, a->type);
	}
}

static void head(const struct small_node *node, struct rdl_event *ev)
{
	int k;

	ev->head = node->nqueue ? node->queue[0].mode : RDL_MODE_NL;
	for (k = 0; k < node->nqueue && node->queue[k].mode == RDL_MODE_S; k++)
		ev->run++;
}

static void refuse(struct small *w, int i)
{
	struct small_node *node = &w->node[i];
	struct rdl_event ev = { .type = RDL_EV_OP, .outcome = RDL_FAILED };

	ev.op = node->op[--node->nops].type;
	small_feed(w, i, &ev);
}

/* The core has taken a value that its user changed; no other value may have that version. */
static void written(struct small *w, int i)
{
	struct small_node *node = &w->node[i];

	node->copy = node->core.q.ver;
	if (node->copy <= w->newest)
		small_wrong(w, "node %d: two values have version %llx", i, (unsigned long long)node->copy);
	w->newest = node->copy;
}

void small_feed(struct small *w, int i, struct rdl_event *ev)
{
	struct small_node *node = &w->node[i];
	struct rdl_lock was = node->core;
	const struct rdl_kind_ops *ops = rdl_kind_ops(w->kind);
	int ops_before = node->nops, err;
	struct rdl_acts acts;
	const char *bad;
	unsigned int k;

	if (w->failed)
		return;
	ev->flags = small_flags(w, i);
	ev->rnd = small_rnd(w, 0);
	head(node, ev);
	err = rdl_step(&node->core, ev, &acts);
	w->steps++;
	if (small_tracing)
		printf("# node %d: %s + %s%s -> %s, frz %u, ticket %u debt %u hint %u rd %u slot %u nq %u; %016llx\n",
		       i, rdl_state_name(was.st), rdl_event_name(ev->type), err ? " refused" : "",
		       rdl_state_name(node->core.st), node->core.frz, node->core.ticket, node->core.q.debt,
		       node->core.q.hint, node->core.q.rd, node->core.q.slot, node->core.nq,
		       (unsigned long long)w->word);
	if (err) {
		small_wrong(w, "node %d: %s refused in state %s", i, rdl_event_name(ev->type), rdl_state_name(was.st));
		return;
	}
	if (ev->dirty)
		written(w, i);
	small_seen[w->kind][was.st][ev->type] |= 1u << node->core.st;
	if (!(rdl_cell(ops, was.st, ev->type)->next >> node->core.st & 1))
		small_wrong(w, "%s + %s -> %s is not in the table", rdl_state_name(was.st), rdl_event_name(ev->type),
			    rdl_state_name(node->core.st));
	if (acts.n > small_most_actions)
		small_most_actions = acts.n;
	if (ev->type == RDL_EV_LOSE) {
		node->nops = 0;
		ops_before = 0;
	}
	for (k = 0; k < acts.n; k++) {
		if (small_tracing)
			printf("#     action %u node %u ticket %u val %llx arg %u ver %llx\n", acts.a[k].type,
			       acts.a[k].peer.node, acts.a[k].peer.ticket, (unsigned long long)acts.a[k].val,
			       acts.a[k].arg, (unsigned long long)acts.a[k].peer.ver);
		act_on(w, i, &acts, &acts.a[k], ev);
	}
	bad = rdl_check(&node->core);
	if (bad)
		small_wrong(w, "node %d: %s", i, bad);
	if ((int)node->core.nq != node->nqueue || (int)node->core.users != node->users)
		small_wrong(w, "node %d: %u waiters and %u users counted, there are %d and %d", i, node->core.nq,
			    node->core.users, node->nqueue, node->users);
	exclusion(w);
	/* Only the last post can be refused: the others are on the queue pair before it. */
	if (node->nops > ops_before && small_fault(w, SMALL_REFUSE))
		refuse(w, i);
}
