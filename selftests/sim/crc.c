// SPDX-License-Identifier: GPL-2.0
/* CRC-32C, bit by bit into a table at first use; equal to the kernel's __crc32c_le(). */
#include "plat_user.h"

static u32 table[256];

static void fill(void)
{
	u32 i, k, c;

	for (i = 0; i < 256; i++) {
		for (c = i, k = 0; k < 8; k++)
			c = c & 1 ? c >> 1 ^ 0x82f63b78 : c >> 1;
		table[i] = c;
	}
}

u32 rdl_crc32c(u32 seed, const void *p, size_t len)
{
	const u8 *b = p;

	if (!table[1])
		fill();
	while (len--)
		seed = table[(seed ^ *b++) & 0xff] ^ seed >> 8;
	return seed;
}
