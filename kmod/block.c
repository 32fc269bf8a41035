// SPDX-License-Identifier: GPL-2.0
/* See block.h. Locking: a block is its owner's, agent->lock or nobody else's yet. */
#include <linux/slab.h>
#include <linux/string.h>

#include "block.h"
#include "compat.h"

struct rdlock_block *rdlock_block_alloc(u32 size)
{
	u32 nr = DIV_ROUND_UP(size, RDLOCK_PIECE), i;
	struct rdlock_block *b = kzalloc(struct_size(b, piece, nr), GFP_KERNEL_ACCOUNT);

	if (!b)
		return NULL;
	b->size = size;
	b->nr = nr;
	for (i = 0; i < nr; i++) {
		b->piece[i] = kzalloc(rdlock_piece_len(size, i), GFP_KERNEL_ACCOUNT);
		if (!b->piece[i]) {
			rdlock_block_free(b);
			return NULL;
		}
	}
	return b;
}

void rdlock_block_free(struct rdlock_block *b)
{
	u32 i;

	if (!b)
		return;
	for (i = 0; i < b->nr; i++)
		kfree(b->piece[i]);
	kfree(b);
}

void rdlock_block_zero(struct rdlock_block *b)
{
	u32 i;

	for (i = 0; i < b->nr; i++)
		memset(b->piece[i], 0, rdlock_piece_len(b->size, i));
	b->crc = 0;
}

u32 rdlock_block_crc(const struct rdlock_block *b)
{
	u32 crc = 0, i;

	for (i = 0; i < b->nr; i++)
		crc = rdl_crc32c(crc, b->piece[i], rdlock_piece_len(b->size, i));
	return crc;
}

void rdlock_block_put(struct rdlock_block *b, const void *from, u32 crc)
{
	u32 i;

	for (i = 0; i < b->nr; i++)
		memcpy(b->piece[i], from + i * RDLOCK_PIECE, rdlock_piece_len(b->size, i));
	b->crc = crc;
}

void rdlock_block_get(const struct rdlock_block *b, void *to, u32 len)
{
	u32 i;

	len = min(len, b->size);
	for (i = 0; i * RDLOCK_PIECE < len; i++)
		memcpy(to + i * RDLOCK_PIECE, b->piece[i], rdlock_piece_len(len, i));
}
