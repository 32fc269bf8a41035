// SPDX-License-Identifier: GPL-2.0
/*
 * The home's memory: pages of lock words, with bodies where the kind of lock has them, and pages of counter cells, each
 * peer with keys of its own to each.
 *
 * A word is stored by the CPU only before its page is registered; afterwards only by atomics over the loopback pair,
 * because on rxe the CPU and the device do not exclude each other.
 */
#include <linux/delay.h>
#include <linux/slab.h>

#include "fabric/fault.h"
#include "home.h"
#include "session.h"
#include "space.h"
#include "stats.h"
#include "compat.h"

/*
 * Keeps numbers in range. Of words alone it is far past rdlock_max_keys; large values have chunks of their own, so of
 * those there can be no more, counted over the life of the space.
 */
#define CHUNKS_MAX	(1u << 18)

/* How long the loopback pair may be away, less than it takes a node to be evicted. */
#define LOOP_TRIES	20
#define LOOP_PAUSE_MS	100

u32 rdlock_next_epoch(u32 epoch)
{
	u32 gen = rdl_epoch_gen(epoch), rep = rdl_epoch_rep(epoch);

	return rep < RDL_REP_MAX ? rdl_epoch(gen, rep + 1) : rdl_epoch(gen + 1, 0);
}

/*
 * A user can bring recoveries about, a robust lock's two a round, and after 2^28 of them a token would be less than the
 * one before. It takes a day or more; then the space ends, and a new instance begins. In the last generation, so that
 * whatever is under way still finds an epoch.
 */
bool rdlock_epochs_over(struct rdlock_home *home, u32 epoch)
{
	if (rdl_epoch_gen(epoch) < RDL_GEN_MAX && !rdf_fault(RDF_FAULT_epochs_end))
		return false;
	rdlock_space_give_up(home->space, -EOVERFLOW);
	return true;
}

static void home_op_done(struct rdf_op *op)
{
	complete(&container_of(op, struct rdlock_home, op)->op_done);
}

enum loop_op { LOOP_READ, LOOP_CAS, LOOP_GET, LOOP_PUT };

/*
 * One try at a loopback operation. The fabric completes every op it took, in bounded time, so waiting is bounded too.
 * -ENOTCONN: certainly not done; -EIO: not known. GET and PUT: @a is the length, @b where in the body it begins, @buf
 * the memory here.
 */
static int home_op_once(struct rdlock_home *home, struct rdlock_key *key, enum loop_op what, void *buf, u64 a, u64 b,
			u64 *old)
{
	struct rdf_link *loop = rdf_dom_loop(home->space->dom);
	struct rdf_addr addr;
	int err;

	rdf_op_init(&home->op, home_op_done);
	reinit_completion(&home->op_done);
	if (what == LOOP_READ || what == LOOP_CAS) {
		addr = rdf_mr_addr(key->chunk->self_mr);
		addr.addr += (u64)key->index * sizeof(u64);
	} else {
		addr = rdf_mr_addr(key->chunk->bodies_mr);
		addr.addr += (u64)key->index * key->chunk->stride + b;
	}
	switch (what) {
	case LOOP_CAS:
		err = rdf_cas(loop, &home->op, addr, a, b);
		break;
	case LOOP_GET:
		err = rdf_read(loop, &home->op, addr, buf, a);
		break;
	case LOOP_PUT:
		err = rdf_write(loop, &home->op, addr, buf, a);
		break;
	default:
		err = rdf_faa(loop, &home->op, addr, 0);
		break;
	}
	if (err)
		return err;
	if (what == LOOP_CAS || what == LOOP_READ)
		rdlock_stat_inc(home->space, home_atomic);
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
 * repeated whatever became of it, and so is a write: what it writes stays the same. A CAS of unknown outcome is settled
 * by a read: the word has the new value, then it was done; or it still has the old one, then it was not, cannot be any
 * more, and is tried again; or it has another, which is what a CAS that failed would have seen.
 */
static int home_op(struct rdlock_home *home, struct rdlock_key *key, enum loop_op what, void *buf, u64 a, u64 b,
		   u64 *old)
{
	bool unknown = false;
	int tries, err = -EIO;

	lockdep_assert_held(&home->mutex);
	if (home->broken)
		return -EIO;
	for (tries = 0; tries < LOOP_TRIES && !rdf_dom_gone(home->space->dom); tries++) {
		if (tries)
			msleep(LOOP_PAUSE_MS);
		if (what == LOOP_CAS && unknown)
			err = home_op_once(home, key, LOOP_READ, NULL, 0, 0, old);
		else
			err = home_op_once(home, key, what, buf, a, b, old);
		if (!err && what == LOOP_CAS && unknown && *old == a && a != b) {
			unknown = false;
			continue;
		}
		if (!err && what == LOOP_CAS && unknown && *old == b)
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

int rdlock_loop_rw(struct rdlock_home *home, struct rdlock_key *key, bool write, void *buf, u32 off, u32 len)
{
	u64 unused;

	return home_op(home, key, write ? LOOP_PUT : LOOP_GET, buf, len, off, &unused);
}

int rdlock_word_cas(struct rdlock_home *home, struct rdlock_key *key, u64 cmp, u64 swap, u64 *old)
{
	return home_op(home, key, LOOP_CAS, NULL, cmp, swap, old);
}

/* An atomic read: an RDMA READ may tear against atomics on rxe. */
int rdlock_word_read(struct rdlock_home *home, struct rdlock_key *key, u64 *old)
{
	return home_op(home, key, LOOP_READ, NULL, 0, 0, old);
}

static u64 start_word(struct rdlock_home *home)
{
	if (home->high_ticket >= RDL_TICKET_SOFT && rdl_epoch_gen(home->high_epoch) < RDL_GEN_MAX) {
		home->high_epoch = rdlock_next_epoch(home->high_epoch);
		home->high_ticket = 0;
	}
	return rdl_w_pack(home->high_ticket, 0, 0, home->high_epoch, false, false);
}

/* Fresh bodies are all zero, which is a sound one without a value. */
static int bodies_create(struct rdlock_home *home, struct rdlock_chunk *c)
{
	int err;

	if (!c->stride)
		return 0;
	c->bodies = rdf_mem_alloc(home->space->dom, (size_t)c->nr_words * c->stride);
	if (IS_ERR(c->bodies))
		return PTR_ERR(c->bodies);
	c->bodies_mr = rdf_mr_reg(c->bodies, RDF_ACCESS_DATA);
	if (!IS_ERR(c->bodies_mr))
		return 0;
	err = PTR_ERR(c->bodies_mr);
	rdf_mem_free(c->bodies);
	return err;
}

static void bodies_free(struct rdlock_chunk *c)
{
	if (!c->stride)
		return;
	rdf_mr_dereg(c->bodies_mr);
	rdf_mem_free(c->bodies);
}

static struct rdlock_chunk *chunk_create(struct rdlock_home *home, u8 obj, u32 stride)
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
	c->stride = stride;
	c->nr_words = RDLOCK_CHUNK_WORDS;
	if (stride)
		c->nr_words = clamp_t(u32, RDLOCK_CHUNK_BODIES / stride, 1, RDLOCK_CHUNK_WORDS);
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
	err = bodies_create(home, c);
	if (err)
		goto err_dereg;
	err = xa_err(xa_store(&home->chunks, c->no, c, GFP_KERNEL));
	if (err)
		goto err_bodies;
	home->nr_chunks++;
	return c;

err_bodies:
	bodies_free(c);
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

/* The right of a peer to @mem, by the chunk's number in @mrs. */
static int peer_right(struct xarray *mrs, u32 no, struct rdf_mem *mem, unsigned int access, struct rdf_addr *out)
{
	struct rdf_mr *mr = xa_load(mrs, no);
	int err;

	if (!mr) {
		mr = rdf_mr_reg(mem, access);
		if (IS_ERR(mr))
			return PTR_ERR(mr);
		err = xa_err(xa_store(mrs, no, mr, GFP_KERNEL));
		if (err) {
			rdf_mr_dereg(mr);
			return err;
		}
	}
	*out = rdf_mr_addr(mr);
	return 0;
}

int rdlock_chunk_right(struct rdlock_chunk *chunk, struct rdlock_peer *peer, struct rdf_addr *words,
		       struct rdf_addr *bodies)
{
	int err;

	if (!peer) {
		*words = rdf_mr_addr(chunk->self_mr);
		if (chunk->stride)
			*bodies = rdf_mr_addr(chunk->bodies_mr);
		return 0;
	}
	err = peer_right(&peer->mrs, chunk->no, chunk->mem, RDF_ACCESS_ATOMIC, words);
	if (err || !chunk->stride)
		return err;
	return peer_right(&peer->body_mrs, chunk->no, chunk->bodies, RDF_ACCESS_DATA, bodies);
}

/* Bring a recycled word to where the next key starts; nobody else has it. */
static int word_reset(struct rdlock_home *home, struct rdlock_key *key)
{
	u64 want = start_word(home), w, old;
	int err;

	err = rdlock_word_read(home, key, &w);
	while (!err && w != want) {
		err = rdlock_word_cas(home, key, w, want, &old);
		if (err || old == w)
			break;
		w = old;
	}
	key->epoch = home->high_epoch;
	return err;
}

static int slot_alloc_lock(struct rdlock_home *home, struct rdlock_key *key)
{
	u32 stride = rdlock_body_stride(home, key);
	struct rdlock_chunk *c;
	unsigned long no;
	unsigned int i;
	int err;

	xa_for_each(&home->chunks, no, c)
		if (c->obj == RDL_OBJ_LOCK && c->stride == stride && c->nr_used < c->nr_words)
			goto found;
	c = chunk_create(home, RDL_OBJ_LOCK, stride);
	if (IS_ERR(c))
		return PTR_ERR(c);
found:
	for (i = 0; c->key[i]; i++)
		;
	key->chunk = c;
	key->index = i;
	/* The body first: it is of the key that was here before, and its epoch may go on. */
	err = stride ? rdlock_body_clear(home, key) : 0;
	if (!err)
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
	c = chunk_create(home, RDL_OBJ_COUNTER, 0);
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
		bodies_free(c);
		rdf_mr_dereg(c->self_mr);
		rdf_mem_free(c->mem);
		kfree(c);
	}
	xa_destroy(&home->chunks);
}
