// SPDX-License-Identifier: GPL-2.0
/*
 * The home's memory: pages of lock words and pages of counter cells, each peer with a key of its own to each page.
 *
 * A word is stored by the CPU only before its page is registered; afterwards only by atomics over the loopback pair,
 * because on rxe the CPU and the device do not exclude each other.
 */
#include <linux/delay.h>
#include <linux/slab.h>

#include "home.h"
#include "session.h"
#include "space.h"
#include "compat.h"

/* 128 Mi words would be far past rdlock_max_keys; this only keeps numbers in range. */
#define CHUNKS_MAX	(1u << 18)

/* How long the loopback pair may be away, less than it takes a node to be evicted. */
#define LOOP_TRIES	20
#define LOOP_PAUSE_MS	100

u32 rdlock_next_epoch(u32 epoch)
{
	u32 gen = rdl_epoch_gen(epoch), rep = rdl_epoch_rep(epoch);

	return rep < RDL_REP_MAX ? rdl_epoch(gen, rep + 1) : rdl_epoch(gen + 1, 0);
}

static void home_op_done(struct rdf_op *op)
{
	complete(&container_of(op, struct rdlock_home, op)->op_done);
}

/*
 * One try at a loopback operation. The fabric completes every op it took, in bounded time, so waiting is bounded too.
 * -ENOTCONN: certainly not done; -EIO: not known.
 */
static int home_op_once(struct rdlock_home *home, struct rdlock_key *key, bool cas, u64 a, u64 b, u64 *old)
{
	struct rdf_link *loop = rdf_dom_loop(home->space->dom);
	struct rdf_addr addr = rdf_mr_addr(key->chunk->self_mr);
	int err;

	addr.addr += (u64)key->index * sizeof(u64);
	rdf_op_init(&home->op, home_op_done);
	reinit_completion(&home->op_done);
	if (cas)
		err = rdf_cas(loop, &home->op, addr, a, b);
	else
		err = rdf_faa(loop, &home->op, addr, a);
	if (err)
		return err;
	wait_for_completion(&home->op_done);
	*old = home->op.old;
	switch (home->op.outcome) {
	case RDF_OK:
		return 0;
	case RDF_FAILED:
		return -ENOTCONN;
	case RDF_AMBIGUOUS:
		break;
	}
	return -EIO;
}

/*
 * One loopback operation. The fabric makes a broken pair anew, with the old one destroyed; a device whose network is
 * down for a moment must not cost the space. So what was certainly not done is tried again for a while. A read is
 * repeated whatever became of it. A CAS of unknown outcome is settled by a read: the word has the new value, then it
 * was done; or it still has the old one, then it was not, cannot be any more, and is tried again; or it has another,
 * which is what a CAS that failed would have seen.
 */
static int home_op(struct rdlock_home *home, struct rdlock_key *key, bool cas, u64 a, u64 b, u64 *old)
{
	bool unknown = false;
	int tries, err = -EIO;

	lockdep_assert_held(&home->mutex);
	if (home->broken)
		return -EIO;
	for (tries = 0; tries < LOOP_TRIES && !rdf_dom_gone(home->space->dom); tries++) {
		if (tries)
			msleep(LOOP_PAUSE_MS);
		if (cas && !unknown)
			err = home_op_once(home, key, true, a, b, old);
		else
			err = home_op_once(home, key, false, cas ? 0 : a, 0, old);
		if (!err && cas && unknown && *old == a && a != b) {
			unknown = false;
			continue;
		}
		if (!err && cas && unknown && *old == b)
			*old = a;
		if (!err)
			return 0;
		if (err == -EINVAL)
			break;
		unknown |= err == -EIO;
	}
	home->broken = true;
	/* Here, because nothing else may ever run: who waits for this lock sends no messages. */
	rdlock_space_give_up(home->space, -EIO);
	return -EIO;
}

int rdlock_word_cas(struct rdlock_home *home, struct rdlock_key *key, u64 cmp, u64 swap, u64 *old)
{
	return home_op(home, key, true, cmp, swap, old);
}

/* An atomic read: an RDMA READ may tear against atomics on rxe. */
int rdlock_word_read(struct rdlock_home *home, struct rdlock_key *key, u64 *old)
{
	return home_op(home, key, false, 0, 0, old);
}

static u64 start_word(struct rdlock_home *home)
{
	if (home->high_ticket >= RDL_TICKET_SOFT) {
		home->high_epoch = rdlock_next_epoch(home->high_epoch);
		home->high_ticket = 0;
	}
	return rdl_w_pack(home->high_ticket, 0, 0, home->high_epoch, false, false);
}

static struct rdlock_chunk *chunk_create(struct rdlock_home *home, u8 obj)
{
	struct rdlock_chunk *c;
	unsigned int i;
	u64 *va;
	int err;

	if (home->nr_chunks >= CHUNKS_MAX)
		return ERR_PTR(-ENOSPC);
	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return ERR_PTR(-ENOMEM);
	c->no = home->nr_chunks;
	c->obj = obj;
	c->mem = rdf_mem_alloc(home->space->dom, PAGE_SIZE);
	err = PTR_ERR_OR_ZERO(c->mem);
	if (err)
		goto err_free_chunk;
	if (obj == RDL_OBJ_LOCK) {
		va = rdf_mem_va(c->mem);
		for (i = 0; i < RDLOCK_CHUNK_WORDS; i++)
			va[i] = start_word(home);
	}
	c->self_mr = rdf_mr_reg(c->mem, RDF_ACCESS_ATOMIC);
	err = PTR_ERR_OR_ZERO(c->self_mr);
	if (err)
		goto err_free_mem;
	err = xa_err(xa_store(&home->chunks, c->no, c, GFP_KERNEL));
	if (err)
		goto err_dereg;
	home->nr_chunks++;
	return c;

err_dereg:
	rdf_mr_dereg(c->self_mr);
err_free_mem:
	rdf_mem_free(c->mem);
err_free_chunk:
	kfree(c);
	return ERR_PTR(err);
}

struct rdlock_chunk *rdlock_chunk_find(struct rdlock_home *home, u32 no)
{
	return xa_load(&home->chunks, no);
}

int rdlock_chunk_right(struct rdlock_chunk *chunk, struct rdlock_peer *peer, struct rdf_addr *out)
{
	struct rdf_mr *mr = chunk->self_mr;
	int err;

	if (peer) {
		mr = xa_load(&peer->mrs, chunk->no);
		if (!mr) {
			mr = rdf_mr_reg(chunk->mem, RDF_ACCESS_ATOMIC);
			if (IS_ERR(mr))
				return PTR_ERR(mr);
			err = xa_err(xa_store(&peer->mrs, chunk->no, mr, GFP_KERNEL));
			if (err) {
				rdf_mr_dereg(mr);
				return err;
			}
		}
	}
	*out = rdf_mr_addr(mr);
	return 0;
}

/* Bring a recycled word to where the next key starts; nobody else has it. */
static int word_reset(struct rdlock_home *home, struct rdlock_key *key)
{
	u64 want = start_word(home), w, old;
	int err;

	err = rdlock_word_read(home, key, &w);
	while (!err && w != want) {
		err = rdlock_word_cas(home, key, w, want, &old);
		if (old == w)
			break;
		w = old;
	}
	key->epoch = home->high_epoch;
	return err;
}

static int slot_alloc_lock(struct rdlock_home *home, struct rdlock_key *key)
{
	struct rdlock_chunk *c;
	unsigned long no;
	unsigned int i;
	int err;

	xa_for_each(&home->chunks, no, c)
		if (c->obj == RDL_OBJ_LOCK && c->nr_used < RDLOCK_CHUNK_WORDS)
			goto found;
	c = chunk_create(home, RDL_OBJ_LOCK);
	if (IS_ERR(c))
		return PTR_ERR(c);
found:
	for (i = 0; c->key[i]; i++)
		;
	key->chunk = c;
	key->index = i;
	err = word_reset(home, key);
	if (err)
		return err;
	c->key[i] = key;
	c->nr_used++;
	return 0;
}

static int slot_alloc_cells(struct rdlock_home *home, struct rdlock_key *key)
{
	struct rdlock_chunk *c;
	unsigned long no;

	xa_for_each(&home->chunks, no, c)
		if (c->obj == RDL_OBJ_COUNTER && c->used + key->cells <= RDLOCK_CHUNK_WORDS)
			goto found;
	c = chunk_create(home, RDL_OBJ_COUNTER);
	if (IS_ERR(c))
		return PTR_ERR(c);
found:
	key->chunk = c;
	key->index = c->used;
	key->epoch = home->high_epoch;
	c->used += key->cells;
	c->key[key->index] = key;
	return 0;
}

int rdlock_slot_alloc(struct rdlock_home *home, struct rdlock_key *key)
{
	return key->obj == RDL_OBJ_LOCK ? slot_alloc_lock(home, key) : slot_alloc_cells(home, key);
}

/* The word is free and nobody can reach it: remember how far its tokens went. */
void rdlock_slot_free(struct rdlock_home *home, struct rdlock_key *key)
{
	struct rdlock_chunk *c = key->chunk;
	u64 w;

	if (key->obj != RDL_OBJ_LOCK)
		return;
	if (!rdlock_word_read(home, key, &w)) {
		u32 t = rdl_w_ticket(w);

		if (key->epoch > home->high_epoch || (key->epoch == home->high_epoch && t > home->high_ticket)) {
			home->high_epoch = key->epoch;
			home->high_ticket = t;
		}
	}
	c->key[key->index] = NULL;
	c->nr_used--;
}

void rdlock_chunks_free(struct rdlock_home *home)
{
	struct rdlock_chunk *c;
	unsigned long no;

	xa_for_each(&home->chunks, no, c) {
		xa_erase(&home->chunks, no);
		rdf_mr_dereg(c->self_mr);
		rdf_mem_free(c->mem);
		kfree(c);
	}
	xa_destroy(&home->chunks);
}
