// SPDX-License-Identifier: GPL-2.0
/*
 * What stands behind a lock's word at the home, of the kinds with a queue: the value block and, of kind fair, the board
 * (core/slot.h). The home reads and writes it through its loopback pair as every node does, and only when no node may:
 * when the lock is frozen and all its openers have claimed, or when nobody has it open.
 */
#include <linux/string.h>

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

int rdlock_body_load(struct rdlock_home *home, struct rdlock_key *key, struct rdl_recover *r)
{
	const struct rdl_body *body = home->buf;
	int err;

	err = rdlock_loop_rw(home, key, false, sizeof(*body));
	if (err)
		return err;
	r->seed = rdl_slot_seed(key->chunk->no, key->index);
	r->body_bad = rdl_body_crc(body) != le32_to_cpu(body->crc);
	r->ver = le64_to_cpu(body->ver);
	r->vflags = r->body_bad ? 0 : le32_to_cpu(body->vflags) & RDL_VF_ALL;
	return 0;
}

/* The newest value, and the slots of those who wait or keep the lock; before the word says that they do. */
int rdlock_body_store(struct rdlock_home *home, struct rdlock_key *key, const struct rdl_recover *r)
{
	u32 slots = rdlock_body_slots(home, key->kind), node;
	struct rdl_body *body = home->buf;

	if (r->value_from && key->claimed)
		memcpy(body->value, key->claimed[r->value_from - 1], sizeof(body->value));
	else if (r->body_bad)
		memset(body->value, 0, sizeof(body->value));
	body->ver = cpu_to_le64(r->ver);
	body->vflags = cpu_to_le32(r->vflags);
	body->crc = cpu_to_le32(rdl_body_crc(body));
	for (node = 0; node < slots; node++)
		body->slot[node] = cpu_to_le64(rdl_recover_slot(r, node));
	return rdlock_loop_rw(home, key, true, rdlock_body_size(home, key->kind));
}

int rdlock_body_clear(struct rdlock_home *home, struct rdlock_key *key)
{
	u32 size = rdlock_body_size(home, key->kind);

	memset(home->buf, 0, size);
	return rdlock_loop_rw(home, key, true, size);
}
