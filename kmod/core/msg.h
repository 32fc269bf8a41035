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
#define RDL_MSG_VERSION	3
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
	X(ROLL_REQ,	11, rdl_msg_empty)	/* opener -> home: table, lock, E: recover it; see rdl_roll() */ \
	X(CONSISTENT,	12, rdl_msg_empty)	/* holder -> home: table, lock, E: dead owner told of */ \
	X(BYE,		13, rdl_msg_empty)	/* both: planned end of the session */ \
	X(BYE_ACK,	14, rdl_msg_empty)	/* home -> node: what the node had open is closed */ \
	X(GRANT,	15, rdl_msg_grant)	/* node -> node: table, lock, E, ticket of the receiver: its turn */ \
	X(HINT,		16, rdl_msg_peer)	/* node -> node: ticket of the sender, which comes next */ \
	X(PROBE,	17, rdl_msg_peer)	/* node -> node: ticket of the receiver: is it idle? */ \
	X(ANSWER,	18, rdl_msg_peer)	/* node -> node: ticket of the sender: given up, or busy */ \
	X(QUERY,	19, rdl_msg_empty)	/* waiter -> home: table, lock, E: can anybody give me my turn? */ \
	X(ASK,		20, rdl_msg_empty)	/* home -> opener: table, lock, E: what is your state? */ \
	X(STAT,		21, rdl_msg_stat)	/* opener -> home: table, lock, E, ticket: this */

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

#define RDL_OPEN_AMBIG		0x1	/* after a broken link: an outcome is not known, recover */
#define RDL_OPEN_STICKY		0x2	/* an idle owner shall keep the lock */
#define RDL_OPEN_NOT_STICKY	0x4	/* it shall not; neither of the two: as the kind has it, or as it is */
#define RDL_OPEN_EXACT		0x8	/* opened before: kind, value_size and stickiness must be as named */
#define RDL_OPEN_ROBUST		0x10	/* it is robust; without, it is not */
#define RDL_OPEN_EXISTING	0x20	/* as it is, whatever the other flags say; it is not made */
#define RDL_OPEN_ALL		0x3f

struct rdl_msg_open {
	u8 obj;			/* enum rdl_obj */
	u8 kind;		/* enum rdl_kind, 0: the space's default */
	u8 flags;		/* RDL_OPEN_* */
	u8 key_len;		/* 1..RDL_KEY_MAX */
	__le32 cells;		/* counters: number of cells, 1..RDL_CELLS_MAX; 0: as it exists */
	__le32 value_size;	/* locks: bytes of the value block; 0 without RDL_OPEN_EXACT: as it exists, or none */
	u8 reserved[4];
	u8 key[RDL_KEY_MAX];	/* zero-filled */
};

#define RDL_CELLS_MAX	512	/* a counter's cells share one page */

struct rdl_msg_opened {
	__le64 addr;		/* of the word, or of cell 0 */
	__le32 rkey;		/* of this session */
	__le32 cells;
	__le64 body;		/* address of the body, 0: the kind has none */
	__le32 body_rkey;
	__le16 slots;		/* of its board; a big value is behind that */
	u8 kind;
	u8 props;		/* RDL_P_* */
	__le32 value_size;
	u8 vflags;		/* robust: RDL_VF_DEAD in epoch E */
	u8 reserved[3];
};

enum rdl_claim_what {
	RDL_CLAIM_NONE = 1,
	RDL_CLAIM_WAIT,
	RDL_CLAIM_HOLD,
};

/* Fields that only kinds with a queue fill are 0 for spin. */
struct rdl_msg_claim {
	u8 what;		/* enum rdl_claim_what */
	u8 mode;		/* enum rdl_mode; RDL_MODE_NL with NONE */
	u8 report;		/* enum rdl_report */
	u8 reserved;
	__le32 nx;		/* X tickets of the sender counted in the frozen word */
	__le32 handed_epoch;
	__le32 handed_ticket;
	__le64 ver;
	__le32 vflags;
	__le32 ticket_epoch;	/* in which the header's ticket was taken, 0: the one that ends */
	u8 value[RDL_VALUE_MAX];	/* of version @ver */
};

struct rdl_msg_rebuilt {
	u8 what;		/* the claim echoed */
	u8 mode;
	u8 granted;		/* a WAIT that now holds */
	u8 reserved;
	__le32 ticket;		/* new ticket of a HOLD or WAIT */
	__le32 pred;		/* node id + 1 of the predecessor, 0: none */
	__le32 vflags;
	__le32 succ;		/* mcs: node id + 1 of the successor, 0: none */
	u8 reserved2[4];
	__le64 ver;
	u8 value[RDL_VALUE_MAX];	/* of version @ver */
};

/* Between nodes; the home hands it on, and changes nothing but the header's session. See struct rdl_peer. */
struct rdl_msg_peer {
	__le16 from;
	__le16 to;
	u8 mode;		/* enum rdl_mode: GRANT, HINT */
	u8 debt;		/* GRANT */
	u8 idle;		/* ANSWER */
	u8 reserved;
	__le32 vflags;		/* GRANT */
	u8 reserved2[4];
	__le64 ver;		/* GRANT */
};

struct rdl_msg_grant {
	struct rdl_msg_peer peer;
	u8 value[RDL_VALUE_MAX];	/* of version peer.ver */
};

struct rdl_msg_stat {
	u8 st;			/* enum rdl_state */
	u8 mode;		/* enum rdl_mode */
	u8 reserved[2];
	__le32 ticket_epoch;
};

enum rdl_backend {
	RDL_BACKEND_NIC = 1,	/* atomics by the device */
	RDL_BACKEND_RPC,	/* by the home's processor, asked by messages */
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
