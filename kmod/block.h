/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The bytes of a big value in memory of a node: in pieces, each of which a device can read or write in one operation. A
 * 64 KiB allocation in one piece may fail for want of order.
 */
#ifndef RDLOCK_BLOCK_H
#define RDLOCK_BLOCK_H

#include <linux/minmax.h>
#include <linux/types.h>

#define RDLOCK_PIECE	4096u	/* bytes of each but the last */

/**
 * struct rdlock_block - a value, or room for one
 * @size: bytes; fixed
 * @nr: pieces; fixed
 * @crc: crc32c of them, seed 0
 */
struct rdlock_block {
	u32 size;
	u32 nr;
	u32 crc;
	void *piece[];
};

static inline u32 rdlock_piece_len(u32 size, u32 i)
{
	return min_t(u32, size - i * RDLOCK_PIECE, RDLOCK_PIECE);
}

/* All zero; NULL: no memory. Context: process, sleeps. */
struct rdlock_block *rdlock_block_alloc(u32 size);
void rdlock_block_free(struct rdlock_block *b);		/* may be NULL; any context that may free */
void rdlock_block_zero(struct rdlock_block *b);
u32 rdlock_block_crc(const struct rdlock_block *b);
/* @crc: of @from, which has as many bytes as the block */
void rdlock_block_put(struct rdlock_block *b, const void *from, u32 crc);
/* The first @len bytes, or all. */
void rdlock_block_get(const struct rdlock_block *b, void *to, u32 len);

#endif /* RDLOCK_BLOCK_H */
