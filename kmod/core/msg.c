// SPDX-License-Identifier: GPL-2.0
/*
 * Messages: lengths, seal, check, and the payloads whose meaning belongs to the core. A
 * message that passed rdl_msg_check() is well formed; whether it makes sense now is for the
 * session and for rdl_step() to say.
 *
 * Context: any; pure functions of their arguments.
 */
#include "core.h"

#define CRC_SEED	(~0u)
#define EPOCH_BITS	(16 + RDL_REP_BITS)
#define CLAIM_NX_MAX	65	/* 1 + RDL_DEBT_MAX */
#define ERRNO_MAX	4095

#define LEN_OF(payload)	(sizeof(struct rdl_msg) + sizeof(struct payload))
/* One name in the list has no payload; its struct is there only to give the list a type. */
#define PAYLOAD_LEN(payload) \
	(sizeof(struct payload) == sizeof(struct rdl_msg_empty) ? sizeof(struct rdl_msg) : LEN_OF(payload))

static const u16 msg_len[RDL_NR_MSGS] = {
#define MSG_LEN(name, value, payload) \
	[RDL_MSG_##name] = PAYLOAD_LEN(payload),
	RDL_MSGS(MSG_LEN)
#undef MSG_LEN
};

static const char * const msg_names[RDL_NR_MSGS] = {
#define MSG_NAME(name, value, payload) \
	[RDL_MSG_##name] = #name,
	RDL_MSGS(MSG_NAME)
#undef MSG_NAME
};

static_assert(sizeof(struct rdl_msg) == 48, "no holes");
static_assert(sizeof(struct rdl_msg_hello) == 24 + RDL_KEY_MAX, "no holes");
static_assert(sizeof(struct rdl_msg_welcome) == 40, "no holes");
static_assert(sizeof(struct rdl_msg_open) == 16 + RDL_KEY_MAX, "no holes");
static_assert(sizeof(struct rdl_msg_opened) == 40, "no holes");
static_assert(sizeof(struct rdl_msg_claim) == 32 + RDL_VALUE_MAX, "no holes");
static_assert(sizeof(struct rdl_msg_rebuilt) == 32 + RDL_VALUE_MAX, "no holes");
static_assert(sizeof(struct rdl_msg_peer) == 24, "no holes");
static_assert(sizeof(struct rdl_msg_grant) == 24 + RDL_VALUE_MAX, "no holes");
static_assert(sizeof(struct rdl_msg_stat) == 8, "no holes");

static_assert(LEN_OF(rdl_msg_hello) <= RDL_MSG_MAX, "the longest message fits a receive buffer");

const char *rdl_msg_name(unsigned int type)
{
	return type < RDL_NR_MSGS ? msg_names[type] : "?";
}

u32 rdl_msg_len(unsigned int type)
{
	return type < RDL_NR_MSGS ? msg_len[type] : 0;
}

static u32 checksum(const struct rdl_msg *msg, u32 len)
{
	static const __le32 zero;
	const u8 *p = (const u8 *)msg;
	size_t at = offsetof(struct rdl_msg, crc);
	u32 crc;

	crc = rdl_crc32c(CRC_SEED, p, at);
	crc = rdl_crc32c(crc, &zero, sizeof(zero));
	return rdl_crc32c(crc, p + at + sizeof(zero), len - at - sizeof(zero));
}

void rdl_msg_seal(struct rdl_msg *msg, u16 credits)
{
	u32 len = rdl_msg_len(msg->type);

	msg->magic = cpu_to_le16(RDL_MSG_MAGIC);
	msg->ver = RDL_MSG_VERSION;
	msg->flags = 0;
	msg->len = cpu_to_le16(len);
	msg->credits = cpu_to_le16(credits);
	if (len)
		msg->crc = cpu_to_le32(checksum(msg, len));
}

/* ---- payloads ---- */

static bool zero(const u8 *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

/* A counted name in a field of RDL_KEY_MAX bytes, zero behind its end. */
static bool name_ok(const u8 *name, u8 len)
{
	return len >= 1 && len <= RDL_KEY_MAX && zero(name + len, RDL_KEY_MAX - len);
}

static bool epoch_ok(u32 epoch)
{
	return rdl_epoch_gen(epoch) && !(epoch >> EPOCH_BITS);
}

static bool ticket_ok(u32 ticket)
{
	return !(ticket >> 26);
}

/* What is held or wanted, and in which mode, as CLAIM and REBUILT say it. */
static bool what_ok(u8 what, u8 mode)
{
	if (what == RDL_CLAIM_NONE)
		return mode == RDL_MODE_NL;
	return (what == RDL_CLAIM_WAIT || what == RDL_CLAIM_HOLD) && (mode == RDL_MODE_S || mode == RDL_MODE_X);
}

static bool hello_ok(const struct rdl_msg_hello *p)
{
	return name_ok(p->name, p->name_len) && zero(p->reserved, sizeof(p->reserved));
}

static bool welcome_ok(const struct rdl_msg_welcome *p, bool refused)
{
	u16 shards = le16_to_cpu(p->shards);
	u16 nodes = le16_to_cpu(p->max_nodes);

	if (!zero(p->reserved, sizeof(p->reserved)) || p->resumed > 1)
		return false;
	if (refused)
		return true;
	return shards && !(shards & (shards - 1)) && nodes && nodes <= RDL_MAX_NODES &&
	       le64_to_cpu(p->session) && le32_to_cpu(p->lease_ms) && le16_to_cpu(p->gen) &&
	       p->kind > RDL_KIND_DEFAULT && p->kind < RDL_NR_KINDS &&
	       p->backend >= RDL_BACKEND_NIC && p->backend <= RDL_BACKEND_RPC;
}

static bool open_ok(const struct rdl_msg_open *p)
{
	u32 cells = le32_to_cpu(p->cells), size = le32_to_cpu(p->value_size);
	u8 sticky = RDL_OPEN_STICKY | RDL_OPEN_NOT_STICKY;

	if (!name_ok(p->key, p->key_len) || p->kind >= RDL_NR_KINDS || (p->flags & ~RDL_OPEN_ALL) ||
	    !zero(p->reserved, sizeof(p->reserved)))
		return false;
	if (p->obj == RDL_OBJ_LOCK)
		return !cells && size <= RDL_BIG_MAX && (p->flags & sticky) != sticky;
	return p->obj == RDL_OBJ_COUNTER && cells <= RDL_CELLS_MAX && !size && !(p->flags & ~RDL_OPEN_AMBIG);
}

static bool opened_ok(const struct rdl_msg_opened *p, bool refused)
{
	u64 addr = le64_to_cpu(p->addr), body = le64_to_cpu(p->body);
	bool with_body = p->kind > RDL_KIND_SPIN, with_board = p->kind == RDL_KIND_FAIR;
	u32 size = le32_to_cpu(p->value_size);
	bool big = size > RDL_VALUE_MAX;

	if (!zero(p->reserved, sizeof(p->reserved)) || p->kind >= RDL_NR_KINDS || (p->props & ~RDL_P_ALL) ||
	    le32_to_cpu(p->cells) > RDL_CELLS_MAX || le16_to_cpu(p->slots) > RDL_MAX_NODES || size > RDL_BIG_MAX)
		return false;
	if (refused)
		return true;
	/* Every kind but spin reads the body, fair also the board behind it. */
	if (p->vflags & ~(p->props & RDL_P_ROBUST ? RDL_VF_DEAD : 0))
		return false;
	if (with_body != !!body || with_board != !!p->slots || !!size != !!(p->props & RDL_P_VALUE) ||
	    big != !!(p->props & RDL_P_BIG))
		return false;
	return addr && !(addr & 7) && !(body & 7);
}

static bool claim_ok(const struct rdl_msg_claim *p)
{
	return what_ok(p->what, p->mode) && le32_to_cpu(p->nx) <= CLAIM_NX_MAX &&
	       !(le32_to_cpu(p->handed_epoch) >> EPOCH_BITS) && ticket_ok(le32_to_cpu(p->handed_ticket)) &&
	       !(le32_to_cpu(p->vflags) & ~RDL_VF_ALL) && p->report < RDL_NR_REPORTS && !p->reserved &&
	       !(le32_to_cpu(p->ticket_epoch) >> EPOCH_BITS);
}

static bool rebuilt_ok(const struct rdl_msg_rebuilt *p)
{
	return what_ok(p->what, p->mode) && p->granted <= (p->what == RDL_CLAIM_WAIT) && !p->reserved &&
	       ticket_ok(le32_to_cpu(p->ticket)) && le32_to_cpu(p->pred) <= RDL_MAX_NODES &&
	       le32_to_cpu(p->succ) <= RDL_MAX_NODES && !(le32_to_cpu(p->vflags) & ~RDL_VF_ALL) &&
	       zero(p->reserved2, sizeof(p->reserved2));
}

static bool peer_ok(const struct rdl_msg_peer *p, u8 type)
{
	u32 from = le16_to_cpu(p->from), to = le16_to_cpu(p->to);
	bool moded = type == RDL_MSG_GRANT || type == RDL_MSG_HINT;

	if (from >= RDL_MAX_NODES || to >= RDL_MAX_NODES || from == to || p->reserved ||
	    !zero(p->reserved2, sizeof(p->reserved2)))
		return false;
	if (moded ? p->mode != RDL_MODE_S && p->mode != RDL_MODE_X : p->mode)
		return false;
	if (p->idle > (type == RDL_MSG_ANSWER ? 1 : 0))
		return false;
	if (type != RDL_MSG_GRANT)
		return !p->debt && !p->vflags && !p->ver;
	/* Debt is exclusive tickets, which only a writer gives back. */
	return p->debt < CLAIM_NX_MAX && (!p->debt || p->mode == RDL_MODE_X) && !(le32_to_cpu(p->vflags) & ~RDL_VF_ALL);
}

static bool stat_ok(const struct rdl_msg_stat *p)
{
	return p->st < RDL_NR_STATES && p->mode <= RDL_MODE_X && zero(p->reserved, sizeof(p->reserved)) &&
	       !(le32_to_cpu(p->ticket_epoch) >> EPOCH_BITS);
}

static bool payload_ok(const struct rdl_msg *msg)
{
	const void *p = rdl_msg_cpayload(msg);
	u32 epoch = le32_to_cpu(msg->epoch);
	u32 arg = le32_to_cpu(msg->arg);

	switch (msg->type) {
	case RDL_MSG_HELLO:
		return !epoch && !msg->dst_inc && hello_ok(p);
	case RDL_MSG_WELCOME:
		return !epoch && arg <= ERRNO_MAX && welcome_ok(p, arg);
	case RDL_MSG_OPEN:
		return !epoch && open_ok(p);
	case RDL_MSG_OPENED:
		return !(epoch >> EPOCH_BITS) && arg <= ERRNO_MAX && opened_ok(p, arg);
	case RDL_MSG_CLOSE:
		return !(epoch >> EPOCH_BITS);
	case RDL_MSG_CLAIM:
		return epoch_ok(epoch) && claim_ok(p);
	case RDL_MSG_REBUILT:
		return epoch_ok(epoch) && rebuilt_ok(p);
	case RDL_MSG_CONSISTENT:
		return epoch_ok(epoch) && !(arg & ~RDL_VF_ALL);
	case RDL_MSG_GRANT:
	case RDL_MSG_HINT:
	case RDL_MSG_PROBE:
	case RDL_MSG_ANSWER:
		return epoch_ok(epoch) && peer_ok(p, msg->type);
	case RDL_MSG_STAT:
		return epoch_ok(epoch) && stat_ok(p);
	case RDL_MSG_FREEZE:
	case RDL_MSG_ROLL_REQ:
	case RDL_MSG_QUERY:
	case RDL_MSG_ASK:
		return epoch_ok(epoch);
	default:
		return !epoch;
	}
}

int rdl_msg_check(const struct rdl_msg *msg, u32 len)
{
	if (len < sizeof(*msg) || len > RDL_MSG_MAX)
		return -EBADMSG;
	if (le16_to_cpu(msg->magic) != RDL_MSG_MAGIC || msg->ver != RDL_MSG_VERSION)
		return -EBADMSG;
	if (len != rdl_msg_len(msg->type) || le16_to_cpu(msg->len) != len)
		return -EBADMSG;
	if (le32_to_cpu(msg->crc) != checksum(msg, len))
		return -EBADMSG;
	if (msg->flags || le16_to_cpu(msg->src) >= RDL_MAX_NODES || !ticket_ok(le32_to_cpu(msg->ticket)))
		return -EBADMSG;
	return payload_ok(msg) ? 0 : -EBADMSG;
}

void rdl_msg_put_claim(struct rdl_msg *msg, const struct rdl_claim *c)
{
	struct rdl_msg_claim *p = rdl_msg_payload(msg);

	memset(p, 0, sizeof(*p));
	msg->ticket = cpu_to_le32(c->ticket);
	p->what = c->what;
	p->mode = c->mode;
	p->nx = cpu_to_le32(c->nx);
	p->handed_epoch = cpu_to_le32(c->handed_epoch);
	p->handed_ticket = cpu_to_le32(c->handed_ticket);
	p->ver = cpu_to_le64(c->ver);
	p->vflags = cpu_to_le32(c->vflags);
	p->ticket_epoch = cpu_to_le32(c->ticket_epoch);
	p->report = c->report;
}

void rdl_msg_get_claim(const struct rdl_msg *msg, struct rdl_claim *c)
{
	const struct rdl_msg_claim *p = rdl_msg_cpayload(msg);

	memset(c, 0, sizeof(*c));
	c->ticket = le32_to_cpu(msg->ticket);
	c->what = p->what;
	c->mode = p->mode;
	c->nx = le32_to_cpu(p->nx);
	c->handed_epoch = le32_to_cpu(p->handed_epoch);
	c->handed_ticket = le32_to_cpu(p->handed_ticket);
	c->ver = le64_to_cpu(p->ver);
	c->vflags = le32_to_cpu(p->vflags);
	c->ticket_epoch = le32_to_cpu(p->ticket_epoch);
	c->report = p->report;
}

void rdl_msg_put_rebuilt(struct rdl_msg *msg, const struct rdl_rebuilt *r)
{
	struct rdl_msg_rebuilt *p = rdl_msg_payload(msg);

	memset(p, 0, sizeof(*p));
	p->what = r->what;
	p->mode = r->mode;
	p->granted = r->granted;
	p->ticket = cpu_to_le32(r->ticket);
	p->pred = cpu_to_le32(r->pred);
	p->vflags = cpu_to_le32(r->vflags);
	p->succ = cpu_to_le32(r->succ);
	p->ver = cpu_to_le64(r->ver);
}

void rdl_msg_get_rebuilt(const struct rdl_msg *msg, struct rdl_rebuilt *r)
{
	const struct rdl_msg_rebuilt *p = rdl_msg_cpayload(msg);

	memset(r, 0, sizeof(*r));
	r->what = p->what;
	r->mode = p->mode;
	r->granted = p->granted;
	r->ticket = le32_to_cpu(p->ticket);
	r->pred = le32_to_cpu(p->pred);
	r->vflags = le32_to_cpu(p->vflags);
	r->succ = le32_to_cpu(p->succ);
	r->ver = le64_to_cpu(p->ver);
}

void rdl_msg_put_peer(struct rdl_msg *msg, u16 from, const struct rdl_peer *p)
{
	struct rdl_msg_peer *m = rdl_msg_payload(msg);

	memset(m, 0, msg_len[msg->type] - sizeof(*msg));
	msg->ticket = cpu_to_le32(p->ticket);
	m->from = cpu_to_le16(from);
	m->to = cpu_to_le16(p->node);
	m->mode = p->mode;
	m->debt = p->debt;
	m->idle = p->idle;
	m->vflags = cpu_to_le32(p->vflags);
	m->ver = cpu_to_le64(p->ver);
}

void rdl_msg_get_peer(const struct rdl_msg *msg, struct rdl_peer *p, u16 *to)
{
	const struct rdl_msg_peer *m = rdl_msg_cpayload(msg);

	memset(p, 0, sizeof(*p));
	p->ticket = le32_to_cpu(msg->ticket);
	p->node = le16_to_cpu(m->from);
	p->mode = m->mode;
	p->debt = m->debt;
	p->idle = m->idle;
	p->vflags = le32_to_cpu(m->vflags);
	p->ver = le64_to_cpu(m->ver);
	*to = le16_to_cpu(m->to);
}

void rdl_msg_put_stat(struct rdl_msg *msg, const struct rdl_stat *stat)
{
	struct rdl_msg_stat *m = rdl_msg_payload(msg);

	memset(m, 0, sizeof(*m));
	msg->ticket = cpu_to_le32(stat->ticket);
	m->st = stat->st;
	m->mode = stat->mode;
	m->ticket_epoch = cpu_to_le32(stat->ticket_epoch);
}

void rdl_msg_get_stat(const struct rdl_msg *msg, struct rdl_stat *stat)
{
	const struct rdl_msg_stat *m = rdl_msg_cpayload(msg);

	memset(stat, 0, sizeof(*stat));
	stat->ticket = le32_to_cpu(msg->ticket);
	stat->st = m->st;
	stat->mode = m->mode;
	stat->ticket_epoch = le32_to_cpu(m->ticket_epoch);
}
