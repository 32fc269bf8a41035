/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The wire format: every message, little endian, naturally aligned, no holes. Messages are checked by rdl_msg_check()
 * (in msg.c) before anything above the fabric sees them: magic, version, type, exact length for the type, checksum,
 * zero in what is reserved, and every enum and length inside the payload in range. Session identity (src, src_inc,
 * dst_inc) is checked by the receiver of the session.
 */
#ifndef RDL_MSG_H
#define RDL_MSG_H

#include "limits.h"
#include "plat.h"

#define RDL_MSG_MAGIC	0x6c72	/* "rl" */
#define RDL_MSG_VERSION	1
#define RDL_MSG_MAX	512	/* bytes of the longest message, header included; the size of a receive buffer */

/* X(NAME, value, payload struct or empty, direction) ; the list makes the enum, the names and the length table */
#define RDL_MSGS(X) \
	X(CREDIT,	0,  rdl_msg_empty)	/* both: returns receive credits only; the fabric's own */ \
	X(HELLO,	1,  rdl_msg_hello)	/* node -> home: first message of a session */ \
	X(WELCOME,	2,  rdl_msg_welcome)	/* home -> node: arg = 0 or errno */ \
	X(HB,		3,  rdl_msg_empty)	/* node -> home: arg = heartbeat number */ \
	X(HB_ACK,	4,  rdl_msg_empty)	/* home -> node: arg echoed */ \
	X(OPEN,		5,  rdl_msg_open)	/* node -> home: req */ \
	X(OPENED,	6,  rdl_msg_opened)	/* home -> node: req, arg = 0 or errno, table, lock, E */ \
	X(CLOSE,	7,  rdl_msg_empty)	/* node -> home: table, lock; the node uses it no more */ \
	X(FREEZE,	8,  rdl_msg_empty)	/* home -> opener: table, lock, E of the epoch that ends */ \
	X(CLAIM,	9,  rdl_msg_claim)	/* opener -> home: table, lock, E that ends */ \
	X(REBUILT,	10, rdl_msg_rebuilt)	/* home -> opener: table, lock, E that begins */ \
	X(ROLL_REQ,	11, rdl_msg_empty)	/* opener -> home: table, lock, E: tickets run out */ \
	X(CONSISTENT,	12, rdl_msg_empty)	/* holder -> home: table, lock, E: dead owner told of */ \
	X(BYE,		13, rdl_msg_empty)	/* both: planned end of the session */ \
	X(BYE_ACK,	14, rdl_msg_empty)	/* home -> node: what the node had open is closed */

enum rdl_msg_type {
#define RDL_MSG_ENUM(name, value, payload) RDL_MSG_##name = value,
	RDL_MSGS(RDL_MSG_ENUM)
#undef RDL_MSG_ENUM
	RDL_NR_MSGS,
};

/**
 * struct rdl_msg - header of every message (48 bytes)
 * @magic, @ver, @len, @credits, @crc: filled by the fabric (rdl_msg_seal())
 * @len: header and payload, bytes
 * @credits: receive buffers given back by the sender of this message
 * @req: request number of the node, echoed in the answer
 * @table: chunk of the home's memory @lock lives in; @lock: index in it
 * @epoch: full 28-bit epoch E; 0 in messages without a lock
 * @crc: crc32c of the message with this field 0
 */
struct rdl_msg {
	__le16 magic;
	u8 type;
	u8 ver;
	__le16 src;
	__le16 flags;		/* 0 */
	__le16 len;
	__le16 credits;
	__le32 req;
	__le32 table;
	__le32 lock;
	__le32 epoch;
	__le32 ticket;
	__le32 src_inc;
	__le32 dst_inc;		/* 0 in HELLO: not known yet */
	__le32 arg;
	__le32 crc;
};

/* No payload: length 0 in the table of lengths, not sizeof. */
struct rdl_msg_empty {
	u8 nothing[1];
};

struct rdl_msg_hello {
	__le64 instance;	/* of the space as this node knew it, 0: none yet */
	__le64 resume;		/* session number to be resumed (same incarnation), 0: none */
	u8 name_len;		/* 1..RDL_KEY_MAX */
	u8 reserved[7];
	u8 name[RDL_KEY_MAX];	/* zero-filled */
};

struct rdl_msg_welcome {
	__le64 instance;
	__le64 session;
	__le16 shards;
	__le16 max_nodes;
	__le32 lease_ms;
	__le32 margin_ms;
	u8 kind;		/* default kind of the space */
	u8 backend;		/* enum rdl_backend */
	__le16 gen;
	u8 resumed;		/* 1: holdings of the old session stand */
	u8 reserved[7];
};

enum rdl_obj {
	RDL_OBJ_LOCK = 1,
	RDL_OBJ_COUNTER,
};

#define RDL_OPEN_AMBIG	0x1	/* after a broken link: an outcome is not known, recover */
#define RDL_OPEN_ALL	(RDL_OPEN_AMBIG)

struct rdl_msg_open {
	u8 obj;			/* enum rdl_obj */
	u8 kind;		/* enum rdl_kind, 0: the space's default */
	u8 flags;		/* RDL_OPEN_* */
	u8 key_len;		/* 1..RDL_KEY_MAX */
	__le32 cells;		/* counters: number of cells, 1..RDL_CELLS_MAX; 0: as it exists */
	u8 key[RDL_KEY_MAX];	/* zero-filled */
};

#define RDL_CELLS_MAX	512	/* a counter's cells share one page */

struct rdl_msg_opened {
	__le64 addr;		/* of the word, or of cell 0 */
	__le32 rkey;		/* of this session */
	__le32 cells;
	u8 kind;
	u8 reserved[7];
};

enum rdl_claim_what {
	RDL_CLAIM_NONE = 1,
	RDL_CLAIM_WAIT,
	RDL_CLAIM_HOLD,
};

/* PROTOCOL 5.3: fields that only queue kinds fill are 0 for spin */
struct rdl_msg_claim {
	u8 what;		/* enum rdl_claim_what */
	u8 mode;		/* enum rdl_mode; RDL_MODE_NL with NONE */
	u8 reserved[2];
	__le32 nx;		/* X tickets of the sender counted in the frozen word */
	__le32 handed_epoch;
	__le32 handed_ticket;
	__le64 ver;
	__le32 vflags;
	u8 reserved2[4];
};

struct rdl_msg_rebuilt {
	u8 what;		/* the claim echoed */
	u8 mode;
	u8 granted;		/* a WAIT that now holds */
	u8 reserved;
	__le32 ticket;		/* new ticket of a HOLD or WAIT */
	__le32 pred;		/* node id + 1 of the predecessor, 0: none */
	__le32 vflags;
};

enum rdl_backend {
	RDL_BACKEND_NIC = 1,	/* atomics by the device */
};

const char *rdl_msg_name(unsigned int type);
/* Length of a whole message of that type, 0 for an unknown type. */
u32 rdl_msg_len(unsigned int type);
/* Fill magic, version, length, credits and checksum of @msg, whose type and payload are set. */
void rdl_msg_seal(struct rdl_msg *msg, u16 credits);
/* 0 or -EBADMSG; reads no byte past @len. */
int rdl_msg_check(const struct rdl_msg *msg, u32 len);

#define rdl_msg_payload(msg)	((void *)((struct rdl_msg *)(msg) + 1))
#define rdl_msg_cpayload(msg)	((const void *)((const struct rdl_msg *)(msg) + 1))

#endif /* RDL_MSG_H */
