/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What stands behind a lock's word, at the home: the body.
 *
 * A node's slot on a lock's board: which ticket it waits with, or holds, and in which mode. Written by the node itself,
 * and by the home in a rebuild; read by whoever must find a ticket's node. In memory it is little endian.
 *
 *   63.......38 37 36......19 18.......0
 *    ticket(26)  X  epoch(18)  check(19)
 *
 * A slot that is read while it is written, or that belongs to another lock or node, fails the check: absent.
 */
#ifndef RDL_SLOT_H
#define RDL_SLOT_H

#include "word.h"

#define RDL_SLOT_T_SHIFT	38
#define RDL_SLOT_X		(1ull << 37)
#define RDL_SLOT_EP_SHIFT	19
#define RDL_SLOT_CHECK		0x7ffffull

/* Which lock it is. */
static inline u32 rdl_slot_seed(u32 table, u32 lock)
{
	__le32 id[2] = { cpu_to_le32(table), cpu_to_le32(lock) };

	return rdl_crc32c(~0u, id, sizeof(id));
}

/* Never 0, which is an empty slot. */
static inline u32 rdl_slot_check(u32 seed, u16 node, u64 upper)
{
	__le64 what[2] = { cpu_to_le64(upper), cpu_to_le64(node) };
	u32 crc = rdl_crc32c(seed, what, sizeof(what));

	crc = (crc ^ crc >> 19) & RDL_SLOT_CHECK;
	return crc ? crc : 1;
}

static inline u64 rdl_slot(u32 seed, u16 node, u32 epoch, u32 ticket, bool x)
{
	u64 upper = (u64)ticket << RDL_SLOT_T_SHIFT | (x ? RDL_SLOT_X : 0) | (u64)rdl_ep18(epoch) << RDL_SLOT_EP_SHIFT;

	return upper | rdl_slot_check(seed, node, upper);
}

static inline u32 rdl_slot_ticket(u64 slot)
{
	return slot >> RDL_SLOT_T_SHIFT;
}

static inline bool rdl_slot_is_x(u64 slot)
{
	return slot & RDL_SLOT_X;
}

/* Written by @node in epoch @epoch? */
static inline bool rdl_slot_valid(u32 seed, u16 node, u32 epoch, u64 slot)
{
	if (((slot >> RDL_SLOT_EP_SHIFT) & RDL_W_EP_MASK) != rdl_ep18(epoch))
		return false;
	return (slot & RDL_SLOT_CHECK) == rdl_slot_check(seed, node, slot & ~RDL_SLOT_CHECK);
}

/**
 * struct rdl_body - value block and board of a lock of a kind with a queue
 * @ver: token of the last writer that changed the value
 * @crc: rdl_body_crc(); of zeros it is 0, so fresh memory is a sound body
 * @vflags: RDL_VF_*
 * @value: zero behind its end; of a big value struct rdl_big, the bytes are behind the board
 * @slot: kind fair: the board, by node id
 */
struct rdl_body {
	__le64 ver;
	__le32 crc;
	__le32 vflags;
	u8 value[RDL_VALUE_MAX];
	__le64 slot[];
};

/**
 * struct rdl_big - what stands in the body for a big value
 * @crc: crc32c of all its bytes, seed 0, so of zeros 0; another than they have: they are damaged
 *
 * The body is written when the bytes are there. So its own sum covers them, too, and who changes only flags need not
 * read them.
 */
struct rdl_big {
	__le32 crc;
};

static inline u32 rdl_body_big_crc(const struct rdl_body *b)
{
	return le32_to_cpu(((const struct rdl_big *)b->value)->crc);
}

static inline void rdl_body_set_big_crc(struct rdl_body *b, u32 crc)
{
	memset(b->value, 0, sizeof(b->value));
	((struct rdl_big *)b->value)->crc = cpu_to_le32(crc);
}

static inline u32 rdl_body_crc(const struct rdl_body *b)
{
	u32 crc = rdl_crc32c(0, &b->ver, sizeof(b->ver));

	crc = rdl_crc32c(crc, &b->vflags, sizeof(b->vflags));
	return rdl_crc32c(crc, b->value, sizeof(b->value));
}

#endif /* RDL_SLOT_H */
