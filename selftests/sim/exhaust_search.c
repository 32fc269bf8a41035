// SPDX-License-Identifier: GPL-2.0
/*
 * Exhaustive mode: the search. Breadth first; of a world that was visited only its fingerprint is kept, its first
 * parent, and the event between them, so that a story can be told; the worlds of the present rank and of the next one
 * are kept whole, packed. After the search, a walk against the direction of time: from every world there must be a way
 * to rest without another fault, or somebody was forgotten.
 *
 * Two worlds with the same 64 bits would be taken for one: at 20 million worlds the odds are 1 in 90 000.
 */
#include <stdio.h>
#include <stdlib.h>

#include "exhaust.h"

static void *grown(void *p, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return p;
	*cap = *cap ? *cap * 2 : 1 << 12;
	p = realloc(p, *cap * size);
	if (!p) {
		fprintf(stderr, "exhaust: out of memory\n");
		exit(2);
	}
	return p;
}

struct visited {
	u64 fp;
	u32 parent;
	u32 ev;
};

static struct visited *seen;
static size_t n_seen, cap_seen;
static u32 *table;		/* index + 1 in @seen, open addressing */
static size_t n_table;
static u32 *edge;		/* successors without a fault, of one world after the other */
static size_t n_edge, cap_edge;
static u32 *first_edge;
static size_t cap_first;
static u8 *rests;		/* there is a way to rest */
static size_t cap_rests;

struct rank {
	u8 *at;
	size_t n, cap, next;
	size_t worlds;
};

/* ---- worlds, packed: which words are not zero; of each, which bytes ---- */

#define WORDS	(sizeof(struct xworld) / sizeof(u64))
#define PACKED	(WORDS / 8 + 1 + WORDS * 9)

static void put_world(struct rank *r, const struct xworld *w)
{
	const u8 *p = (const u8 *)w;
	size_t words = x_size() / 8, i;
	u8 *to, *bits;

	while (r->cap - r->n < PACKED)
		r->at = grown(r->at, r->cap, &r->cap, 1);
	bits = r->at + r->n;
	to = bits + (words + 7) / 8;
	memset(bits, 0, (words + 7) / 8);
	for (i = 0; i < words; i++, p += 8) {
		u8 *mask = to, j;
		u64 word;

		memcpy(&word, p, 8);
		if (!word)
			continue;
		bits[i / 8] |= 1 << i % 8;
		*to++ = 0;
		for (j = 0; j < 8; j++) {
			if (!p[j])
				continue;
			*mask |= 1 << j;
			*to++ = p[j];
		}
	}
	r->n = to - r->at;
	r->worlds++;
}

static void get_world(struct rank *r, struct xworld *w)
{
	size_t words = x_size() / 8, i;
	const u8 *bits = r->at + r->next;
	const u8 *from = bits + (words + 7) / 8;
	u8 *p = (u8 *)w;

	memset(w, 0, x_size());
	for (i = 0; i < words; i++, p += 8) {
		u8 mask, j;

		if (!(bits[i / 8] >> i % 8 & 1))
			continue;
		mask = *from++;
		for (j = 0; j < 8; j++)
			if (mask >> j & 1)
				p[j] = *from++;
	}
	r->next = from - r->at;
}

/* ---- visited ---- */

static void table_grow(void)
{
	size_t i, at;

	n_table = n_table ? n_table * 2 : 1 << 16;
	free(table);
	table = calloc(n_table, sizeof(*table));
	if (!table) {
		fprintf(stderr, "exhaust: out of memory\n");
		exit(2);
	}
	for (i = 0; i < n_seen; i++) {
		for (at = seen[i].fp & (n_table - 1); table[at]; at = (at + 1) & (n_table - 1))
			;
		table[at] = i + 1;
	}
}

/* Its number; *@new: it was not there. */
static u32 visit(const struct xworld *w, u32 parent, u32 ev, bool *new)
{
	u64 fp = x_fingerprint(w);
	size_t at;

	if (n_seen * 10 >= n_table * 7)
		table_grow();
	for (at = fp & (n_table - 1); table[at]; at = (at + 1) & (n_table - 1)) {
		if (seen[table[at] - 1].fp == fp) {
			*new = false;
			return table[at] - 1;
		}
	}
	seen = grown(seen, n_seen, &cap_seen, sizeof(*seen));
	seen[n_seen] = (struct visited){ .fp = fp, .parent = parent, .ev = ev };
	table[at] = n_seen + 1;
	*new = true;
	return n_seen++;
}

/* ---- the story of a violation ---- */

static void story(struct xresult *r, u32 world, const struct xev *last)
{
	u32 at, n = !!last;

	for (at = world; at; at = seen[at].parent)
		n++;
	r->path = calloc(n + 1, sizeof(*r->path));
	if (!r->path)
		exit(2);
	r->path_n = n;
	if (last)
		r->path[--n] = x_ev_pack(last);
	for (at = world; at; at = seen[at].parent)
		r->path[--n] = seen[at].ev;
	r->failed = true;
	r->states = n_seen;
}

/* ---- forwards ---- */

static bool expand(struct xresult *r, const struct xworld *w, u32 number, struct rank *next)
{
	struct xev ev[X_MAX_EVENTS];
	struct xworld to;
	int i, n = x_events(w, ev);
	bool new;
	u32 id;

	first_edge = grown(first_edge, number + 1, &cap_first, sizeof(*first_edge));
	first_edge[number] = n_edge;
	rests = grown(rests, number, &cap_rests, 1);
	rests[number] = x_at_rest(w);
	r->rests += rests[number];
	for (i = 0; i < n; i++) {
		memcpy(&to, w, x_size());
		x_apply(&to, &ev[i]);
		if (to.failed) {
			memcpy(r->why, x_why, sizeof(r->why));
			story(r, number, &ev[i]);
			return false;
		}
		id = visit(&to, number, x_ev_pack(&ev[i]), &new);
		if (new)
			put_world(next, &to);
		if (ev[i].type < X_NR_FAULTS)
			continue;
		edge = grown(edge, n_edge, &cap_edge, sizeof(*edge));
		edge[n_edge++] = id;
	}
	first_edge[number + 1] = n_edge;
	return true;
}

static bool forwards(struct xresult *r)
{
	struct rank rank[2] = { 0 }, *now = &rank[0], *next = &rank[1], *t;
	struct xworld w;
	u32 number = 0;
	bool ok = true, new;

	x_init(&w);
	visit(&w, 0, 0, &new);
	put_world(now, &w);
	while (ok && now->worlds) {
		for (now->next = 0; ok && now->next < now->n;) {
			get_world(now, &w);
			ok = expand(r, &w, number++, next);
			if (x_cfg.limit && n_seen > x_cfg.limit) {
				r->limit = true;
				ok = false;
			}
		}
		r->depth++;
		now->n = 0;
		now->worlds = 0;
		t = now;
		now = next;
		next = t;
	}
	free(rank[0].at);
	free(rank[1].at);
	return ok;
}

/* ---- backwards ---- */

static bool can_rest(size_t i)
{
	u32 e;

	for (e = first_edge[i]; e < first_edge[i + 1]; e++)
		if (rests[edge[e]])
			return true;
	return false;
}

static void backwards(struct xresult *r)
{
	bool more = true;
	size_t i;

	/* Most edges lead to later numbers, so a few rounds from the end suffice. */
	while (more) {
		more = false;
		for (i = n_seen; i--;) {
			if (rests[i] || !can_rest(i))
				continue;
			rests[i] = 1;
			more = true;
		}
	}
	for (i = 0; i < n_seen && rests[i]; i++)
		;
	if (i == n_seen)
		return;
	snprintf(r->why, sizeof(r->why), "somebody is forgotten: from here nothing leads to rest");
	story(r, i, NULL);
}

void x_search(struct xresult *r)
{
	memset(r, 0, sizeof(*r));
	n_seen = 0;
	n_edge = 0;
	n_table = 0;
	x_why[0] = 0;
	if (forwards(r))
		backwards(r);
	r->states = n_seen;
	r->edges = n_edge;
}
