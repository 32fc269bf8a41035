// SPDX-License-Identifier: GPL-2.0
/*
 * What stands behind a lock's word at the home, of the kinds with a queue: the value block and, of kind fair, the board
 * (core/slot.h). The home reads and writes it through its loopback pair as every node does, and only when no node may:
 * when the lock is frozen and all its openers have claimed, or when nobody has it open.
 *
 * The bytes of a big value are behind the board, in the same memory and so under the same keys.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "block.h"
#include "compat.h"
#include "home.h"
#include "space.h"

u32 rdlock_body_slots(struct rdlock_home *home, u8 kind)
{
	return kind == RDL_KIND_FAIR ? home->space->max_nodes : 0;
}

u32 rdlock_body_size(struct rdlock_home *home, u8 kind)
{
	if (kind == RDL_KIND_SPIN)
		return 0;
	return sizeof(struct rdl_body) + rdlock_body_slots(home, kind) * sizeof(__le64);
}

/* Few sizes, so that locks whose values differ by little share a chunk. */
u32 rdlock_body_stride(struct rdlock_home *home, const struct rdlock_key *key)
{
	u32 size = rdlock_body_size(home, key->kind);

	if (!(key->props & RDL_P_BIG))
		return size;
	return size + (key->value_size < PAGE_SIZE ? roundup_pow_of_two(key->value_size) : PAGE_ALIGN(key->value_size));
}

/* ---- the bytes of a big value ---- */

/* One piece, between home->piece and the home's memory. */
static int piece_rw(struct rdlock_home *home, struct rdlock_key *key, bool write, u32 i)
{
	return rdlock_loop_rw(home, key, write, home->piece, rdlock_body_size(home, key->kind) + i * RDLOCK_PIECE,
			      rdlock_piece_len(key->value_size, i));
}

static int big_crc(struct rdlock_home *home, struct rdlock_key *key, u32 *crc)
{
	u32 i;
	int err = 0;

	*crc = 0;
	for (i = 0; i * RDLOCK_PIECE < key->value_size && !err; i++) {
		err = piece_rw(home, key, false, i);
		*crc = rdl_crc32c(*crc, home->piece, rdlock_piece_len(key->value_size, i));
	}
	return err;
}

static int big_wipe(struct rdlock_home *home, struct rdlock_key *key)
{
	u32 i;
	int err = 0;

	memset(home->piece, 0, RDLOCK_PIECE);
	for (i = 0; i * RDLOCK_PIECE < key->value_size && !err; i++)
		err = piece_rw(home, key, true, i);
	return err;
}

/*
 * What the body must say of the bytes. Damaged ones that a holder will write anew are still damaged when it dies
 * before: a sum that does not fit is made.
 */
static int big_store(struct rdlock_home *home, struct rdlock_key *key, const struct rdl_recover *r)
{
	u32 crc;
	int err;

	if (!r->body_bad)
		return 0;
	if (r->wipe) {
		rdl_body_set_big_crc(home->buf, 0);
		return big_wipe(home, key);
	}
	err = big_crc(home, key, &crc);
	rdl_body_set_big_crc(home->buf, ~crc);
	return err;
}

/* ---- body and board ---- */

int rdlock_body_load(struct rdlock_home *home, struct rdlock_key *key, struct rdl_recover *r)
{
	const struct rdl_body *body = home->buf;
	u32 crc;
	int err;

	err = rdlock_loop_rw(home, key, false, home->buf, 0, sizeof(*body));
	if (err)
		return err;
	r->seed = rdl_slot_seed(key->chunk->no, key->index);
	r->body_bad = rdl_body_crc(body) != le32_to_cpu(body->crc);
	r->ver = le64_to_cpu(body->ver);
	r->vflags = r->body_bad ? 0 : le32_to_cpu(body->vflags) & RDL_VF_ALL;
	r->big = !!(key->props & RDL_P_BIG);
	if (!r->big || r->body_bad)
		return 0;
	err = big_crc(home, key, &crc);
	r->body_bad = crc != rdl_body_big_crc(body);
	return err;
}

/* The newest value, and the slots of those who wait or keep the lock; before the word says that they do. */
int rdlock_body_store(struct rdlock_home *home, struct rdlock_key *key, const struct rdl_recover *r)
{
	u32 slots = rdlock_body_slots(home, key->kind), node;
	struct rdl_body *body = home->buf;
	int err;

	if (r->big) {
		err = big_store(home, key, r);
		if (err)
			return err;
	} else if (r->value_from && key->claimed) {
		memcpy(body->value, key->claimed[r->value_from - 1], sizeof(body->value));
	} else if (r->body_bad) {
		memset(body->value, 0, sizeof(body->value));
	}
	body->ver = cpu_to_le64(r->ver);
	body->vflags = cpu_to_le32(r->vflags);
	body->crc = cpu_to_le32(rdl_body_crc(body));
	for (node = 0; node < slots; node++)
		body->slot[node] = cpu_to_le64(rdl_recover_slot(r, node));
	return rdlock_loop_rw(home, key, true, home->buf, 0, rdlock_body_size(home, key->kind));
}

int rdlock_body_clear(struct rdlock_home *home, struct rdlock_key *key)
{
	u32 size = rdlock_body_size(home, key->kind);
	int err = 0;

	if (key->props & RDL_P_BIG)
		err = big_wipe(home, key);
	if (err)
		return err;
	memset(home->buf, 0, size);
	return rdlock_loop_rw(home, key, true, home->buf, 0, size);
}
