/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The 64-bit word of a lock, Documentation/protocol.rst. It is changed only by RDMA atomics of one device.
 *
 *   63.......38 37.....29 28.....20 19.......2  1  0
 *      T (26)    mid (9)   low (9)   ep18 (18)  A  F
 *
 *   T     next ticket of this epoch           mid  spin: owner's node id + 1, 0: free
 *   ep18  (gen & 63) << 12 | rep              low  spin: 0
 *   A     attention: the previous owner's node died holding the lock, nobody has been told yet
 *   F     frozen: an operation whose returned old value has F set is void, it did not happen
 */
#ifndef RDL_WORD_H
#define RDL_WORD_H

#include "limits.h"
#include "plat.h"

#define RDL_W_F		1ull
#define RDL_W_A		2ull
#define RDL_W_EP_SHIFT	2
#define RDL_W_EP_MASK	0x3ffffull
#define RDL_W_LOW_SHIFT	20
#define RDL_W_MID_SHIFT	29
#define RDL_W_CNT_MASK	0x1ffull
#define RDL_W_T_SHIFT	38

/* E, 28 bits: gen 16, rep 12. */
static inline u32 rdl_epoch(u32 gen, u32 rep)
{
	return gen << RDL_REP_BITS | rep;
}

#define RDL_GEN_MAX	0xffffu

static inline u32 rdl_epoch_gen(u32 epoch)
{
	return epoch >> RDL_REP_BITS;
}

static inline u32 rdl_epoch_rep(u32 epoch)
{
	return epoch & RDL_REP_MAX;
}

static inline u32 rdl_ep18(u32 epoch)
{
	return epoch & RDL_W_EP_MASK;
}

static inline u32 rdl_w_ticket(u64 w)
{
	return w >> RDL_W_T_SHIFT;
}

static inline u32 rdl_w_mid(u64 w)
{
	return (w >> RDL_W_MID_SHIFT) & RDL_W_CNT_MASK;
}

static inline u32 rdl_w_low(u64 w)
{
	return (w >> RDL_W_LOW_SHIFT) & RDL_W_CNT_MASK;
}

static inline u32 rdl_w_ep18(u64 w)
{
	return (w >> RDL_W_EP_SHIFT) & RDL_W_EP_MASK;
}

static inline bool rdl_w_frozen(u64 w)
{
	return w & RDL_W_F;
}

static inline bool rdl_w_attention(u64 w)
{
	return w & RDL_W_A;
}

static inline u64 rdl_w_pack(u32 ticket, u32 mid, u32 low, u32 epoch, bool a, bool f)
{
	return (u64)ticket << RDL_W_T_SHIFT | (u64)mid << RDL_W_MID_SHIFT | (u64)low << RDL_W_LOW_SHIFT |
	       (u64)rdl_ep18(epoch) << RDL_W_EP_SHIFT | (a ? RDL_W_A : 0) | (f ? RDL_W_F : 0);
}

/* token = gen(16) | rep(12) | ticket(26) | loc(10), Documentation/protocol.rst; never 0 because gen >= 1 */
static inline u64 rdl_token(u32 epoch, u32 ticket, u32 loc)
{
	return (u64)epoch << 36 | (u64)(ticket & 0x3ffffffu) << 10 | (loc & 0x3ffu);
}

/*
 * Words of the kinds with tickets in both middle fields: mid = cX, low = cS, tickets drawn and not given back by mode
 * (kind ticket has no S). head = T - cX - cS is the ticket whose turn it is.
 */
#define RDL_W_ADD_X	((1ull << RDL_W_T_SHIFT) + (1ull << RDL_W_MID_SHIFT))
#define RDL_W_ADD_S	((1ull << RDL_W_T_SHIFT) + (1ull << RDL_W_LOW_SHIFT))
#define RDL_W_X(n)	((u64)(n) << RDL_W_MID_SHIFT)
#define RDL_W_S		(1ull << RDL_W_LOW_SHIFT)

static inline u32 rdl_w_head(u64 w)
{
	return rdl_w_ticket(w) - rdl_w_mid(w) - rdl_w_low(w);
}

#endif /* RDL_WORD_H */
