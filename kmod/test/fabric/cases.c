// SPDX-License-Identifier: GPL-2.0
/*
 * Cases of the contract that need nothing but operations: compiled into rdf_test.ko and into the simulator.
 */
#include "cases.h"

#define EXPECT(cond) do { \
	if (!(cond)) { \
		c->wrong(__func__, __LINE__, #cond); \
		return -EPROTO; \
	} \
} while (0)

int rdf_case_cas(struct rdf_case *c)
{
	const u64 new = 0x1122334455667788ull;
	u64 was, old = 1, now;

	EXPECT(!c->read(c, 1, &was));
	EXPECT(!c->cas(c, 1, was, new, &old));
	EXPECT(old == was);
	EXPECT(!c->read(c, 1, &now) && now == new);
	EXPECT(!c->cas(c, 1, ~new, 5, &old));
	EXPECT(old == new);
	EXPECT(!c->read(c, 1, &now) && now == new);
	return 0;
}

int rdf_case_faa(struct rdf_case *c)
{
	u64 was, old, now;

	EXPECT(!c->read(c, 2, &was));
	EXPECT(!c->faa(c, 2, 0x100000001ull, &old));
	EXPECT(old == was);
	EXPECT(!c->faa(c, 2, -1ull, &old));
	EXPECT(old == was + 0x100000001ull);
	EXPECT(!c->read(c, 2, &now) && now == was + 0x100000000ull);
	return 0;
}

#define MANY	2000

int rdf_case_many(struct rdf_case *c)
{
	struct rdf_case_ends ends;
	u64 was, now;

	EXPECT(!c->read(c, 3, &was));
	EXPECT(!c->many(c, 3, MANY, false, &ends));
	EXPECT(ends.ok == MANY && !ends.twice);
	EXPECT(!c->read(c, 3, &now) && now == was + MANY);
	return 0;
}

#define KILLED	1000

/* Each that was taken ends once; the memory has those that were done, perhaps those of which nobody knows, no other. */
int rdf_case_killed(struct rdf_case *c, struct rdf_case_ends *ends)
{
	u64 was, now, later;

	EXPECT(!c->read(c, 0, &was));
	EXPECT(!c->many(c, 0, KILLED, true, ends));
	EXPECT(!ends->twice);
	EXPECT(ends->ok + ends->failed + ends->ambiguous + ends->refused == KILLED);
	EXPECT(ends->ok < KILLED);
	EXPECT(!c->back(c));
	EXPECT(!c->read(c, 0, &now));
	EXPECT(now >= was + ends->ok);
	EXPECT(now <= was + ends->ok + ends->ambiguous);
	/* What had not landed when the new link stood never does. */
	EXPECT(!c->faa(c, 0, 0, &later) && later == now);
	return 0;
}

static u64 swapped(u64 x)
{
	u64 to = 0;
	int i;

	for (i = 0; i < 64; i += 8)
		to |= (x >> i & 0xff) << (56 - i);
	return to;
}

/* What atomics return and leave, and that a READ finds it in this machine's byte order. */
int rdf_case_values(struct rdf_case *c, unsigned int word)
{
	const u64 a = 0x0102030405060708ull, sum = a + (1ull << 32);
	u64 was, old, read;

	EXPECT(!c->faa(c, word, 0, &was));
	EXPECT(!c->cas(c, word, was, a, &old) && old == was);
	EXPECT(!c->read(c, word, &read) && read == a);
	/* fails, and stores neither */
	EXPECT(!c->cas(c, word, a ^ 1, 5, &old) && old == a);
	EXPECT(!c->cas(c, word, swapped(a), 5, &old) && old == a);
	EXPECT(!c->faa(c, word, 1ull << 32 | 1, &old) && old == a);
	EXPECT(!c->faa(c, word, -1ull, &old) && old == sum + 1);
	EXPECT(!c->faa(c, word, 0, &old) && old == sum);
	return 0;
}
