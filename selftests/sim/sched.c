// SPDX-License-Identifier: GPL-2.0
/* The future, as a heap of events in order of time and, at the same time, of scheduling. */
#include <stdlib.h>

#include "sim.h"

static bool before(const struct event *a, const struct event *b)
{
	return a->time != b->time ? a->time < b->time : a->seq < b->seq;
}

static void push(struct heap *h, struct event *e)
{
	size_t i = h->n++;

	if (h->n > h->max) {
		h->max = h->max ? h->max * 2 : 256;
		h->at = realloc(h->at, h->max * sizeof(*h->at));
		if (!h->at)
			abort();
	}
	while (i && before(e, h->at[(i - 1) / 2])) {
		h->at[i] = h->at[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	h->at[i] = e;
}

struct event *sched(struct world *w, u64 delay, event_fn fn, int node)
{
	struct heap *h = &w->heap;
	struct event *e = h->free;

	if (e) {
		h->free = (struct event *)(uintptr_t)e->arg;
	} else {
		e = malloc(sizeof(*e));
		if (!e)
			abort();
	}
	memset(e, 0, offsetof(struct event, msg));
	e->time = w->now + delay;
	e->fn = fn;
	e->node = node;
	e->boot = node >= 0 ? w->node[node].boot : 0;
	e->seq = h->seq++;
	push(h, e);
	return e;
}

struct event *sched_pop(struct world *w)
{
	struct heap *h = &w->heap;
	struct event *top, *last;
	size_t i = 0, c;

	if (!h->n)
		return NULL;
	top = h->at[0];
	last = h->at[--h->n];
	while ((c = 2 * i + 1) < h->n) {
		if (c + 1 < h->n && before(h->at[c + 1], h->at[c]))
			c++;
		if (!before(h->at[c], last))
			break;
		h->at[i] = h->at[c];
		i = c;
	}
	if (h->n)
		h->at[i] = last;
	return top;
}

/* A paused node's events: they keep their order among themselves. */
void sched_again(struct world *w, struct event *e, u64 time)
{
	e->time = time;
	push(&w->heap, e);
}

void sched_done(struct world *w, struct event *e)
{
	e->arg = (uintptr_t)w->heap.free;
	w->heap.free = e;
}

void sched_clear(struct world *w)
{
	while (w->heap.n)
		sched_done(w, w->heap.at[--w->heap.n]);
	w->heap.seq = 0;
}
