// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of one part at a time: words, tokens, messages, the back-off, the home's decision.
 */
#include <stdlib.h>
#include "unit.h"

/* The first thing that is wrong in the test that runs. */
const char *first_wrong;
struct world dice;

/* ---- words ---- */

static const char *word_packing(u64 seed)
{
	int i;

	dice.rng = seed;
	for (i = 0; i < 200000; i++) {
		u32 t = bits(26), mid = bits(9), low = bits(9), gen = 1 + bits(15), rep = bits(12);
		bool a = bits(1), f = bits(1);
		u32 e = rdl_epoch(gen, rep);
		u64 w = rdl_w_pack(t, mid, low, e, a, f);

		wrong(rdl_w_ticket(w) != t, "ticket");
		wrong(rdl_w_mid(w) != mid || rdl_w_low(w) != low, "middle fields");
		wrong(rdl_w_ep18(w) != ((gen & 63) << 12 | rep), "epoch in the word");
		wrong(rdl_w_attention(w) != a || rdl_w_frozen(w) != f, "flags");
		wrong(rdl_epoch_gen(e) != gen || rdl_epoch_rep(e) != rep, "epoch");
		/* Giving back changes the owner only, whatever stands around it. */
		if (mid) {
			u64 popped = w - ((u64)mid << RDL_W_MID_SHIFT);

			wrong(popped != rdl_w_pack(t, 0, low, e, a, f), "FAA(-owner) touches a neighbour");
		}
	}
	wrong(rdl_w_pack(0x3ffffff, 0x1ff, 0x1ff, 0x3ffff, true, true) != ~0ull, "fields do not fill the word");
	return first_wrong;
}

static const char *token_order(u64 seed)
{
	int i;

	dice.rng = seed;
	for (i = 0; i < 200000; i++) {
		u32 e = rdl_epoch(1 + bits(15), bits(12)), t = bits(26), l = bits(10);
		u64 token = rdl_token(e, t, l);

		wrong(!token, "token 0");
		wrong(token >> 36 != e || (token >> 10 & 0x3ffffff) != t || (token & 0x3ff) != l, "fields");
		if (l < 1023)
			wrong(rdl_token(e, t, l + 1) <= token, "local order");
		if (t < 0x3ffffff)
			wrong(rdl_token(e, t + 1, 0) <= token, "ticket order");
		wrong(rdl_token(e + 1, 0, 0) <= token, "epoch order");
	}
	return first_wrong;
}

static const char *crc_known(u64 seed)
{
	(void)seed;
	wrong(~rdl_crc32c(~0u, "123456789", 9) != 0xe3069283, "CRC-32C of the standard's example");
	return first_wrong;
}

/* ---- messages ---- */

union longest {
	struct rdl_msg msg;
	u8 bytes[RDL_MSG_MAX];
};

static void sample(struct rdl_msg *m, u8 type)
{
	memset(m, 0, RDL_MSG_MAX);
	m->type = type;
	m->src = cpu_to_le16(bits(8));
	m->src_inc = cpu_to_le32(bits(32));
	m->dst_inc = type == RDL_MSG_HELLO ? 0 : cpu_to_le32(bits(32));
	m->req = cpu_to_le32(bits(32));
	switch (type) {
	case RDL_MSG_HELLO: {
		struct rdl_msg_hello *p = rdl_msg_payload(m);

		p->name_len = 1 + rnd(&dice, RDL_KEY_MAX);
		memset(p->name, 'n', p->name_len);
		break;
	}
	case RDL_MSG_WELCOME: {
		struct rdl_msg_welcome *p = rdl_msg_payload(m);

		p->session = cpu_to_le64(1 + bits(20));
		p->shards = cpu_to_le16(1 << bits(3));
		p->max_nodes = cpu_to_le16(64);
		p->lease_ms = cpu_to_le32(5000);
		p->kind = RDL_KIND_SPIN;
		p->backend = RDL_BACKEND_NIC + bits(1);
		p->gen = cpu_to_le16(1);
		p->resumed = bits(1);
		break;
	}
	case RDL_MSG_OPEN: {
		struct rdl_msg_open *p = rdl_msg_payload(m);

		p->obj = 1 + bits(1);
		if (p->obj == RDL_OBJ_COUNTER) {
			p->cells = cpu_to_le32(rnd(&dice, RDL_CELLS_MAX + 1));
		} else {
			p->kind = rnd(&dice, RDL_NR_KINDS);
			p->value_size = cpu_to_le32(rnd(&dice, 65537));
			p->flags = bits(1) * RDL_OPEN_EXACT | bits(1) * RDL_OPEN_STICKY | bits(1) * RDL_OPEN_ROBUST;
		}
		p->key_len = 1 + rnd(&dice, RDL_KEY_MAX);
		memset(p->key, 'k', p->key_len);
		break;
	}
	case RDL_MSG_OPENED: {
		struct rdl_msg_opened *p = rdl_msg_payload(m);

		p->addr = cpu_to_le64(8 * (1 + (u64)bits(30)));
		p->rkey = cpu_to_le32(bits(32));
		p->kind = RDL_KIND_SPIN + bits(2);
		if (p->kind != RDL_KIND_SPIN) {
			p->body = cpu_to_le64(8 * (1 + (u64)bits(30)));
			p->slots = cpu_to_le16(p->kind == RDL_KIND_FAIR ? 64 : 0);
			p->value_size = cpu_to_le32(rnd(&dice, bits(1) ? RDL_VALUE_MAX + 1 : RDL_BIG_MAX + 1));
			p->props = p->value_size ? RDL_P_VALUE : 0;
			p->props |= le32_to_cpu(p->value_size) > RDL_VALUE_MAX ? RDL_P_BIG : 0;
		}
		m->epoch = cpu_to_le32(rdl_epoch(1, 0));
		break;
	}
	case RDL_MSG_CLAIM: {
		struct rdl_claim c = { .what = RDL_CLAIM_HOLD, .mode = RDL_MODE_X, .ticket = bits(26) };

		m->epoch = cpu_to_le32(rdl_epoch(1 + bits(15), bits(12)));
		rdl_msg_put_claim(m, &c);
		break;
	}
	case RDL_MSG_REBUILT: {
		struct rdl_rebuilt r = { .what = RDL_CLAIM_NONE, .vflags = bits(4) };

		m->epoch = cpu_to_le32(rdl_epoch(1 + bits(15), bits(12)));
		rdl_msg_put_rebuilt(m, &r);
		break;
	}
	case RDL_MSG_GRANT:
	case RDL_MSG_HINT:
	case RDL_MSG_PROBE:
	case RDL_MSG_ANSWER: {
		struct rdl_peer p = { .node = bits(7), .ticket = bits(26) };

		if (type == RDL_MSG_GRANT || type == RDL_MSG_HINT)
			p.mode = RDL_MODE_S + bits(1);
		if (type == RDL_MSG_GRANT) {
			p.debt = p.mode == RDL_MODE_X ? rnd(&dice, 65) : 0;
			p.vflags = bits(4);
			p.ver = bits(32);
		}
		p.idle = type == RDL_MSG_ANSWER && bits(1);
		m->epoch = cpu_to_le32(rdl_epoch(1 + bits(15), bits(12)));
		rdl_msg_put_peer(m, 128 + bits(7), &p);
		break;
	}
	case RDL_MSG_STAT: {
		struct rdl_stat s = { .st = rnd(&dice, RDL_NR_STATES), .mode = RDL_MODE_S, .ticket = bits(26) };

		m->epoch = cpu_to_le32(rdl_epoch(1 + bits(15), bits(12)));
		rdl_msg_put_stat(m, &s);
		break;
	}
	case RDL_MSG_FREEZE:
	case RDL_MSG_ROLL_REQ:
	case RDL_MSG_CONSISTENT:
	case RDL_MSG_QUERY:
	case RDL_MSG_ASK:
		m->epoch = cpu_to_le32(rdl_epoch(1 + bits(15), bits(12)));
		break;
	}
	rdl_msg_seal(m, bits(16));
}

/* What a message between nodes says, comes out as it was put in; what it may not say, is refused. */
static void peer_messages(union longest *b, u8 type, u32 len)
{
	struct rdl_peer p = { .node = 3, .ticket = 0x3ffffff }, q;
	struct rdl_msg_peer *m = rdl_msg_payload(&b->msg);
	u16 to;

	if (type == RDL_MSG_GRANT)
		p = (struct rdl_peer){ .node = 3, .mode = RDL_MODE_X, .debt = 64, .ticket = 7, .vflags = 0xf,
				       .ver = ~0ull };
	if (type == RDL_MSG_HINT)
		p.mode = RDL_MODE_S;
	p.idle = type == RDL_MSG_ANSWER;
	rdl_msg_put_peer(&b->msg, 255, &p);
	rdl_msg_seal(&b->msg, 0);
	wrong(rdl_msg_check(&b->msg, len), "a full message of a node is refused");
	rdl_msg_get_peer(&b->msg, &q, &to);
	wrong(to != 3 || q.node != 255 || q.mode != p.mode || q.debt != p.debt || q.idle != p.idle ||
	      q.ticket != p.ticket || q.vflags != p.vflags || q.ver != p.ver, "changed on the way");
	m->to = m->from;
	rdl_msg_seal(&b->msg, 0);
	wrong(!rdl_msg_check(&b->msg, len), "a node that speaks to itself");
	rdl_msg_put_peer(&b->msg, 255, &p);
	m->mode = type == RDL_MSG_GRANT || type == RDL_MSG_HINT ? RDL_MODE_NL : RDL_MODE_X;
	rdl_msg_seal(&b->msg, 0);
	wrong(!rdl_msg_check(&b->msg, len), "a mode that cannot be");
	rdl_msg_put_peer(&b->msg, 255, &p);
	m->debt = 65;
	rdl_msg_seal(&b->msg, 0);
	wrong(!rdl_msg_check(&b->msg, len), "a debt that cannot be");
}

static void stat_message(union longest *b, u32 len)
{
	struct rdl_stat s = { .st = RDL_ST_WAIT, .mode = RDL_MODE_S, .ticket = 9, .ticket_epoch = 0x1003 }, t;
	struct rdl_msg_stat *m = rdl_msg_payload(&b->msg);

	rdl_msg_put_stat(&b->msg, &s);
	rdl_msg_seal(&b->msg, 0);
	wrong(rdl_msg_check(&b->msg, len), "a full state is refused");
	rdl_msg_get_stat(&b->msg, &t);
	wrong(s.st != t.st || s.mode != t.mode || s.ticket != t.ticket || s.ticket_epoch != t.ticket_epoch,
	      "state changed on the way");
	m->st = RDL_NR_STATES;
	rdl_msg_seal(&b->msg, 0);
	wrong(!rdl_msg_check(&b->msg, len), "a state that is none");
}

/* Of each kind of lock: what must come with it, and what must not. */
static const char *opened(u64 seed)
{
	union longest b;
	u8 kind;

	(void)seed;
	for (kind = RDL_KIND_SPIN; kind < RDL_NR_KINDS; kind++) {
		struct rdl_msg_opened *p = rdl_msg_payload(&b.msg);
		u32 len = rdl_msg_len(RDL_MSG_OPENED);
		int i;

		for (i = 0; i < 4; i++) {
			memset(&b, 0, sizeof(b));
			b.msg.type = RDL_MSG_OPENED;
			p->kind = kind;
			p->addr = cpu_to_le64(64);
			p->body = cpu_to_le64(kind != RDL_KIND_SPIN ? 128 : 0);
			p->slots = cpu_to_le16(kind == RDL_KIND_FAIR ? 256 : 0);
			if (i == 1)
				p->body = cpu_to_le64(kind == RDL_KIND_SPIN ? 128 : 0);
			if (i == 2)
				p->slots = cpu_to_le16(kind == RDL_KIND_FAIR ? 0 : 16);
			if (i == 3)
				p->value_size = cpu_to_le32(8);
			rdl_msg_seal(&b.msg, 0);
			wrong(!rdl_msg_check(&b.msg, len) != !i, "OPENED of a kind with what another has");
		}
		p->props = RDL_P_VALUE;
		rdl_msg_seal(&b.msg, 0);
		wrong(rdl_msg_check(&b.msg, len), "a lock with a value");
		p->vflags = RDL_VF_OWNER_DIED;
		rdl_msg_seal(&b.msg, 0);
		wrong(!rdl_msg_check(&b.msg, len), "a death told of a lock that is not robust");
		p->props |= RDL_P_ROBUST;
		rdl_msg_seal(&b.msg, 0);
		wrong(rdl_msg_check(&b.msg, len), "a death told of a robust lock");
		p->vflags = 0;
		for (i = 0; i < 4; i++) {
			p->value_size = cpu_to_le32(i < 2 ? RDL_VALUE_MAX : i < 3 ? RDL_BIG_MAX : RDL_BIG_MAX + 1);
			p->props = RDL_P_VALUE | (i & 1 || i == 2 ? RDL_P_BIG : 0);
			rdl_msg_seal(&b.msg, 0);
			wrong(!rdl_msg_check(&b.msg, len) != (i == 0 || i == 2),
			      "a big value, or one that is none");
		}
	}
	return first_wrong;
}

static const char *messages(u64 seed)
{
	unsigned int type;
	union longest b;

	dice.rng = seed;
	for (type = 0; type < RDL_NR_MSGS; type++) {
		u32 len = rdl_msg_len(type);
		struct rdl_claim c = { .what = RDL_CLAIM_WAIT, .mode = RDL_MODE_S, .ticket = 77, .nx = 3,
				       .handed_epoch = 0x1001, .handed_ticket = 5, .ver = 1ull << 40, .vflags = 2,
				       .ticket_epoch = 0x1002, .report = RDL_REPORT_RESET };
		struct rdl_rebuilt r = { .what = RDL_CLAIM_WAIT, .mode = RDL_MODE_X, .granted = 1, .ticket = 9,
					 .pred = 256, .vflags = 8, .succ = 255, .ver = 1ull << 50 };
		struct rdl_claim c2;
		struct rdl_rebuilt r2;

		wrong(len < sizeof(struct rdl_msg) || len > RDL_MSG_MAX || len % 8, rdl_msg_name(type));
		sample(&b.msg, type);
		wrong(rdl_msg_check(&b.msg, len), rdl_msg_name(type));
		wrong(!rdl_msg_check(&b.msg, len - 1) || !rdl_msg_check(&b.msg, len + 1), "wrong length accepted");
		if (type == RDL_MSG_CLAIM) {
			rdl_msg_put_claim(&b.msg, &c);
			rdl_msg_seal(&b.msg, 0);
			wrong(rdl_msg_check(&b.msg, len), "a full claim is refused");
			rdl_msg_get_claim(&b.msg, &c2);
			wrong(c.what != c2.what || c.mode != c2.mode || c.ticket != c2.ticket || c.nx != c2.nx ||
			      c.handed_epoch != c2.handed_epoch || c.handed_ticket != c2.handed_ticket ||
			      c.ver != c2.ver || c.vflags != c2.vflags || c.ticket_epoch != c2.ticket_epoch ||
			      c.report != c2.report, "claim changed on the way");
			c.report = RDL_NR_REPORTS;
			rdl_msg_put_claim(&b.msg, &c);
			rdl_msg_seal(&b.msg, 0);
			wrong(!rdl_msg_check(&b.msg, len), "a report that is none");
		}
		if (type == RDL_MSG_REBUILT) {
			rdl_msg_put_rebuilt(&b.msg, &r);
			rdl_msg_seal(&b.msg, 0);
			wrong(rdl_msg_check(&b.msg, len), "a full rebuild is refused");
			rdl_msg_get_rebuilt(&b.msg, &r2);
			wrong(r.what != r2.what || r.mode != r2.mode || r.granted != r2.granted ||
			      r.ticket != r2.ticket || r.pred != r2.pred || r.vflags != r2.vflags ||
			      r.succ != r2.succ || r.ver != r2.ver, "rebuild changed on the way");
		}
		if (type >= RDL_MSG_GRANT && type <= RDL_MSG_ANSWER)
			peer_messages(&b, type, len);
		if (type == RDL_MSG_STAT)
			stat_message(&b, len);
	}
	wrong(rdl_msg_len(RDL_NR_MSGS) || rdl_msg_len(~0u), "length of an unknown type");
	return first_wrong;
}

/* A second opinion on what the check lets through, from the other end: what a receiver would do with it. */
static void usable(const struct rdl_msg *m)
{
	switch (m->type) {
	case RDL_MSG_OPEN: {
		const struct rdl_msg_open *p = rdl_msg_cpayload(m);

		wrong(!p->key_len || p->key_len > sizeof(p->key), "key length");
		wrong(le32_to_cpu(p->cells) > RDL_CELLS_MAX, "cells");
		wrong(p->kind >= RDL_NR_KINDS, "kind");
		wrong(p->obj == RDL_OBJ_COUNTER && p->value_size, "a counter with a value");
		break;
	}
	case RDL_MSG_HELLO: {
		const struct rdl_msg_hello *p = rdl_msg_cpayload(m);

		wrong(!p->name_len || p->name_len > sizeof(p->name), "name length");
		break;
	}
	case RDL_MSG_OPENED: {
		const struct rdl_msg_opened *p = rdl_msg_cpayload(m);

		wrong(!m->arg && le64_to_cpu(p->addr) % 8, "misaligned word");
		wrong(!m->arg && le64_to_cpu(p->body) % 8, "misaligned body");
		wrong(le16_to_cpu(p->slots) > RDL_MAX_NODES || le32_to_cpu(p->value_size) > RDL_BIG_MAX, "sizes");
		break;
	}
	case RDL_MSG_WELCOME: {
		const struct rdl_msg_welcome *p = rdl_msg_cpayload(m);

		wrong(!m->arg && le16_to_cpu(p->max_nodes) > RDL_MAX_NODES, "nodes");
		wrong(!m->arg && !le16_to_cpu(p->shards), "no shards");
		break;
	}
	case RDL_MSG_CLAIM: {
		struct rdl_claim c;

		rdl_msg_get_claim(m, &c);
		wrong(c.what < RDL_CLAIM_NONE || c.what > RDL_CLAIM_HOLD, "claim");
		wrong(c.ticket >> 26, "ticket");
		break;
	}
	case RDL_MSG_REBUILT: {
		struct rdl_rebuilt r;

		rdl_msg_get_rebuilt(m, &r);
		wrong(r.what < RDL_CLAIM_NONE || r.what > RDL_CLAIM_HOLD || r.mode > RDL_MODE_X, "rebuild");
		wrong(r.pred > RDL_MAX_NODES || r.succ > RDL_MAX_NODES, "neighbour");
		break;
	}
	case RDL_MSG_GRANT:
	case RDL_MSG_HINT:
	case RDL_MSG_PROBE:
	case RDL_MSG_ANSWER: {
		struct rdl_peer p;
		u16 to;

		rdl_msg_get_peer(m, &p, &to);
		wrong(to >= RDL_MAX_NODES || p.node >= RDL_MAX_NODES || p.ticket >> 26 || p.mode > RDL_MODE_X, "peer");
		break;
	}
	}
	wrong(le16_to_cpu(m->src) >= RDL_MAX_NODES, "source");
}

static const char *message_fuzz(u64 seed)
{
	int i, accepted = 0;

	dice.rng = seed;
	for (i = 0; i < 300000; i++) {
		union longest b;
		u32 k, len, flips = 1 + bits(3);
		u8 *exact;

		sample(&b.msg, rnd(&dice, RDL_NR_MSGS));
		len = rdl_msg_len(b.msg.type);
		for (k = 0; k < flips; k++)
			b.bytes[rnd(&dice, len)] ^= 1 + rnd(&dice, 255);
		if (bits(3) == 0)
			len = rnd(&dice, RDL_MSG_MAX + 1);
		/* Half of them with a good envelope: only the content can betray them. */
		if (bits(1)) {
			b.msg.type %= RDL_NR_MSGS;
			rdl_msg_seal(&b.msg, 0);
			len = rdl_msg_len(b.msg.type);
		}
		/* As long as it says and no byte more: the sanitizer sees what reads on. */
		exact = malloc(len ? len : 1);
		if (!exact)
			abort();
		memcpy(exact, b.bytes, len);
		if (!rdl_msg_check((struct rdl_msg *)exact, len)) {
			accepted++;
			usable((struct rdl_msg *)exact);
		}
		free(exact);
	}
	wrong(accepted < 1000, "hardly any mutated message was accepted: the fuzzer does not reach the content");
	return first_wrong;
}

/* ---- one lock, step by step ---- */

static struct rdl_acts acts;

#define FLAGS_NONE	0x80	/* instead of the usual ones */

static int step(struct rdl_lock *l, struct rdl_event ev)
{
	if (!ev.flags)
		ev.flags = RDL_F_LEASE | RDL_F_LINK;
	ev.flags &= ~FLAGS_NONE;
	return rdl_step(l, &ev, &acts);
}

static bool did(u8 type)
{
	unsigned int i;

	for (i = 0; i < acts.n; i++)
		if (acts.a[i].type == type)
			return true;
	return false;
}

static const struct rdl_action *the(u8 type)
{
	static const struct rdl_action none;
	unsigned int i;

	for (i = 0; i < acts.n; i++)
		if (acts.a[i].type == type)
			return &acts.a[i];
	return &none;
}

static void step_rebuilt(struct rdl_lock *l, u8 what)
{
	struct rdl_event ev = { .type = RDL_EV_REBUILT, .epoch = l->epoch + 1 };

	ev.rebuilt.what = what;
	ev.rebuilt.mode = what == RDL_CLAIM_HOLD ? RDL_MODE_X : RDL_MODE_NL;
	step(l, ev);
}

static void fresh(struct rdl_lock *l)
{
	sim_ticket_soft = 1u << 25;
	sim_ticket_hard = (1u << RDL_TICKET_BITS) - 1024;
	rdl_lock_init(l, RDL_KIND_SPIN, 0, rdl_epoch(1, 0), 2);
}

/* limits.h: at most eight atomics in a wait of 1 ms, when every wait is the shortest and the network takes no time. */
static const char *backoff_bound(u64 seed)
{
	u32 k, n;

	(void)seed;
	for (k = 0; k <= RDL_SPIN_KMAX + 1; k++) {
		u64 now = 0, at[32];
		struct rdl_lock l;

		fresh(&l);
		l.k = k > RDL_SPIN_KMAX ? RDL_SPIN_KMAX : k;
		step(&l, (struct rdl_event){ .type = RDL_EV_ACQ });
		for (n = 0; n < 32;) {
			u64 old = rdl_w_pack(n + 1, n ? 2 : 0, 0, l.epoch, false, false);

			wrong(!did(RDL_ACT_POST_CAS), "no draw");
			at[n++] = now;
			step(&l, (struct rdl_event){ .type = RDL_EV_OP, .old = old });
			if (did(RDL_ACT_POST_CAS))
				continue;
			wrong(!did(RDL_ACT_TIMER), "no back-off");
			wrong(the(RDL_ACT_TIMER)->val > RDL_SPIN_CAP_NS, "longer than the cap");
			now += the(RDL_ACT_TIMER)->val;
			step(&l, (struct rdl_event){ .type = RDL_EV_TIMER });
		}
		for (n = 8; n < 32; n++)
			wrong(at[n] - at[n - 8] < MS, "nine atomics within 1 ms");
	}
	wrong((u64)RDL_SPIN_BASE_NS << RDL_SPIN_KMAX != RDL_SPIN_CAP_NS, "KMAX does not reach the cap");
	return first_wrong;
}

/* The longest wait is remembered, and forgotten again. */
static const char *backoff_adapts(u64 seed)
{
	struct rdl_lock l;
	u32 i;

	(void)seed;
	fresh(&l);
	step(&l, (struct rdl_event){ .type = RDL_EV_ACQ });
	for (i = 0; i < 6; i++) {
		step(&l, (struct rdl_event){ .type = RDL_EV_OP, .old = rdl_w_pack(1, 2, 0, l.epoch, false, false) });
		step(&l, (struct rdl_event){ .type = RDL_EV_TIMER });
	}
	wrong(l.k != RDL_SPIN_KMAX, "the exponent does not grow");
	step(&l, (struct rdl_event){ .type = RDL_EV_OP, .old = l.guess });
	for (i = 0; i < RDL_SPIN_KMAX; i++) {
		u64 word = rdl_w_pack(l.ticket + 1, 1, 0, l.epoch, false, false);

		wrong(l.st != RDL_ST_HELD, "not taken");
		step(&l, (struct rdl_event){ .type = RDL_EV_REL });
		step(&l, (struct rdl_event){ .type = RDL_EV_OP, .old = word });
		step(&l, (struct rdl_event){ .type = RDL_EV_ACQ });
		step(&l, (struct rdl_event){ .type = RDL_EV_OP, .old = l.guess });
	}
	wrong(l.k, "a quiet lock still remembers");
	return first_wrong;
}

static const char *ticket_rollover(u64 seed)
{
	struct rdl_lock l;
	u64 word;
	u32 t;

	(void)seed;
	fresh(&l);
	sim_ticket_soft = 3;
	sim_ticket_hard = 5;
	for (t = 0; t < 5; t++) {
		step(&l, (struct rdl_event){ .type = RDL_EV_ACQ });
		wrong(!did(RDL_ACT_POST_CAS), "a ticket below the limit is not drawn");
		step(&l, (struct rdl_event){ .type = RDL_EV_OP, .old = l.guess });
		wrong(!did(RDL_ACT_DELIVER) || l.ticket != t, "not granted");
		wrong(did(RDL_ACT_ROLL) != (t == 3), "one roll-over is asked for, at SOFT");
		step(&l, (struct rdl_event){ .type = RDL_EV_REL });
		word = rdl_w_pack(t + 1, 1, 0, l.epoch, false, false);
		step(&l, (struct rdl_event){ .type = RDL_EV_OP, .old = word });
	}
	step(&l, (struct rdl_event){ .type = RDL_EV_ACQ });
	wrong(acts.n || l.st != RDL_ST_WAIT, "a ticket of HARD is drawn");
	step(&l, (struct rdl_event){ .type = RDL_EV_ACQ, .try = 1 });
	wrong(the(RDL_ACT_FAIL_TAIL)->arg != EAGAIN, "a try past HARD");
	step(&l, (struct rdl_event){ .type = RDL_EV_LINK_UP, .epoch = l.epoch });
	step(&l, (struct rdl_event){ .type = RDL_EV_TIMER });
	wrong(!did(RDL_ACT_ROLL), "the request is not repeated on a new link");
	step(&l, (struct rdl_event){ .type = RDL_EV_FREEZE, .epoch = l.epoch });
	wrong(the(RDL_ACT_CLAIM)->claim.what != RDL_CLAIM_NONE, "a waiter claims");
	step_rebuilt(&l, RDL_CLAIM_NONE);
	step(&l, (struct rdl_event){ .type = RDL_EV_TIMER });
	step(&l, (struct rdl_event){ .type = RDL_EV_OP, .old = l.guess });
	wrong(!did(RDL_ACT_DELIVER) || l.ticket, "not granted after the rebuild");
	return first_wrong;
}

static const char *unknown_outcomes(u64 seed)
{
	struct rdl_lock l;

	(void)seed;
	/* A try fails at once, and the next one too, until the home has settled it. */
	fresh(&l);
	step(&l, (struct rdl_event){ .type = RDL_EV_ACQ, .try = 1 });
	step(&l, (struct rdl_event){ .type = RDL_EV_OP, .outcome = RDL_AMBIGUOUS, .flags = RDL_F_LEASE });
	wrong(the(RDL_ACT_FAIL_HEAD)->arg != EHOSTUNREACH || !rdl_ambiguous(&l) || l.nq, "ambiguous try");
	step(&l, (struct rdl_event){ .type = RDL_EV_FREEZE, .epoch = l.epoch, .flags = RDL_F_LEASE });
	wrong(did(RDL_ACT_CLAIM), "claimed while the old queue pair may still act");
	step(&l, (struct rdl_event){ .type = RDL_EV_LINK_UP, .epoch = l.epoch });
	wrong(the(RDL_ACT_CLAIM)->claim.what != RDL_CLAIM_NONE, "not given up");
	fresh(&l);
	step(&l, (struct rdl_event){ .type = RDL_EV_ACQ });
	step(&l, (struct rdl_event){ .type = RDL_EV_OP, .outcome = RDL_AMBIGUOUS, .flags = RDL_F_LEASE });
	step(&l, (struct rdl_event){ .type = RDL_EV_LINK_UP, .epoch = l.epoch });
	wrong(acts.n || !rdl_ambiguous(&l), "settled without the home");
	step(&l, (struct rdl_event){ .type = RDL_EV_FREEZE, .epoch = l.epoch });
	wrong(the(RDL_ACT_CLAIM)->claim.what != RDL_CLAIM_NONE, "not given up when asked");
	/* A word that cannot be is no grant. */
	fresh(&l);
	step(&l, (struct rdl_event){ .type = RDL_EV_ACQ });
	step(&l, (struct rdl_event){ .type = RDL_EV_OP, .old = rdl_w_pack(0, 0, 0, l.epoch + 1, false, false) });
	wrong(!rdl_ambiguous(&l), "a word of another epoch");
	fresh(&l);
	step(&l, (struct rdl_event){ .type = RDL_EV_ACQ });
	step(&l, (struct rdl_event){ .type = RDL_EV_OP, .old = rdl_w_pack(4, 1, 0, l.epoch, false, false) });
	wrong(!rdl_ambiguous(&l), "this node as owner, unasked");
	/* One operation, one end. */
	wrong(step(&l, (struct rdl_event){ .type = RDL_EV_OP }) != -EPROTO, "a second end of an operation");
	return first_wrong;
}

/* A CAS in flight when the home freezes: no claim before it has ended, then the truth. */
static const char *claim_after_drain(u64 seed)
{
	struct rdl_lock l;
	u64 token;

	(void)seed;
	fresh(&l);
	step(&l, (struct rdl_event){ .type = RDL_EV_ACQ });
	step(&l, (struct rdl_event){ .type = RDL_EV_FREEZE, .epoch = l.epoch });
	wrong(acts.n, "claimed with an operation in flight");
	step(&l, (struct rdl_event){ .type = RDL_EV_OP, .old = l.guess });
	wrong(the(RDL_ACT_CLAIM)->claim.what != RDL_CLAIM_HOLD || did(RDL_ACT_DELIVER), "claim of what was taken");
	step_rebuilt(&l, RDL_CLAIM_HOLD);
	wrong(!did(RDL_ACT_DELIVER), "not granted after the rebuild");
	/* The user keeps its token through the next rebuild; who follows gets a greater one. */
	token = l.token;
	step(&l, (struct rdl_event){ .type = RDL_EV_ACQ });
	step(&l, (struct rdl_event){ .type = RDL_EV_FREEZE, .epoch = l.epoch });
	step(&l, (struct rdl_event){ .type = RDL_EV_REL });
	wrong(acts.n, "given back or handed over while claimed");
	step_rebuilt(&l, RDL_CLAIM_HOLD);
	wrong(the(RDL_ACT_DELIVER)->val <= token, "the hand-over after a rebuild");
	wrong(!(the(RDL_ACT_DELIVER)->arg & RDL_GRANT_LOCAL), "not marked as local");
	return first_wrong;
}

/* The link's flag goes with the lease and comes back without LINK_UP: nothing that was put off may stay undone. */
static const char *lease_low(u64 seed)
{
	struct rdl_lock l;

	(void)seed;
	fresh(&l);
	step(&l, (struct rdl_event){ .type = RDL_EV_ACQ });
	step(&l, (struct rdl_event){ .type = RDL_EV_OP, .old = l.guess });
	step(&l, (struct rdl_event){ .type = RDL_EV_REL, .flags = FLAGS_NONE });
	wrong(acts.n || l.st != RDL_ST_OWED, "given back without a link");
	step(&l, (struct rdl_event){ .type = RDL_EV_LEASE });
	wrong(!did(RDL_ACT_POST_FAA), "owed for ever");
	fresh(&l);
	step(&l, (struct rdl_event){ .type = RDL_EV_ACQ, .flags = FLAGS_NONE });
	wrong(acts.n || l.st != RDL_ST_WAIT, "drawn without a link");
	step(&l, (struct rdl_event){ .type = RDL_EV_LEASE });
	wrong(!did(RDL_ACT_TIMER), "waits for ever");
	step(&l, (struct rdl_event){ .type = RDL_EV_LEASE });
	wrong(acts.n, "every lease puts the next draw off");
	return first_wrong;
}

static const char *owner_died(u64 seed)
{
	struct rdl_lock l;

	(void)seed;
	fresh(&l);
	step(&l, (struct rdl_event){ .type = RDL_EV_ACQ });
	step(&l, (struct rdl_event){ .type = RDL_EV_OP, .old = l.guess | RDL_W_A });
	wrong(!did(RDL_ACT_POST_CAS), "the guess is not corrected at once");
	step(&l, (struct rdl_event){ .type = RDL_EV_OP, .old = l.guess });
	wrong(!(the(RDL_ACT_DELIVER)->arg & RDL_GRANT_OWNER_DIED), "not told");
	wrong(did(RDL_ACT_CONSISTENT), "settled before the user has looked");
	step(&l, (struct rdl_event){ .type = RDL_EV_REPORT, .report = RDL_REPORT_CONSISTENT });
	wrong(!did(RDL_ACT_CONSISTENT), "not settled");
	/* The link broke under CONSISTENT: said again. */
	step(&l, (struct rdl_event){ .type = RDL_EV_LINK_UP, .epoch = l.epoch });
	wrong(!did(RDL_ACT_CONSISTENT), "not repeated");
	step(&l, (struct rdl_event){ .type = RDL_EV_ACQ });
	step(&l, (struct rdl_event){ .type = RDL_EV_REL });
	wrong(!did(RDL_ACT_DELIVER) || (the(RDL_ACT_DELIVER)->arg & RDL_GRANT_OWNER_DIED), "told twice");
	return first_wrong;
}

/* ---- the home's decision ---- */

static struct rdl_recover rec;

static void recover_start(u64 frozen, u64 openers, bool clear)
{
	u64 set[RDL_MAX_NODES / 64] = { openers };

	rdl_recover_start(&rec, RDL_KIND_SPIN, rdl_epoch(1, 0), rdl_epoch(1, 1), frozen, set, false, clear);
}

static const char *recovery(u64 seed)
{
	const struct rdl_claim none = { .what = RDL_CLAIM_NONE };
	const struct rdl_claim hold = { .what = RDL_CLAIM_HOLD, .mode = RDL_MODE_X, .ticket = 6 };
	struct rdl_claim wait = { .what = RDL_CLAIM_WAIT, .mode = RDL_MODE_X };
	u32 e = rdl_epoch(1, 0), e2 = rdl_epoch(1, 1);
	u64 owned = rdl_w_pack(7, 2, 0, e, false, false);	/* by node 1 */

	(void)seed;
	recover_start(owned, 3, false);
	wrong(rdl_recover_ready(&rec), "ready before anybody claimed");
	wrong(rdl_recover_claim(&rec, 5, e, &none) != -EBADMSG, "a claim that was not asked for");
	wrong(rdl_recover_claim(&rec, 300, e, &none) != -EBADMSG, "a claim from nowhere");
	wrong(rdl_recover_claim(&rec, 0, e2, &none) != -EBADMSG, "a claim of another epoch");
	wrong(rdl_recover_claim(&rec, 0, e, &hold) != -EBADMSG, "two holders");
	wrong(rdl_recover_claim(&rec, 0, e, &wait) != -EBADMSG, "a place in a queue that is none");
	wrong(rdl_recover_claim(&rec, 0, e, &none), "an honest claim");
	wrong(rdl_recover_claim(&rec, 0, e, &none), "the same claim again");
	wrong(rdl_recover_claim(&rec, 0, e, &hold) != -EBADMSG, "another claim afterwards");
	wrong(rdl_recover_claim(&rec, 1, e, &hold), "the holder");
	wrong(!rdl_recover_ready(&rec), "not ready though all claimed");
	rdl_recover_finish(&rec);
	wrong(rec.word != rdl_w_pack(1, 2, 0, e2, false, false), "word of a held lock");
	wrong(rec.reply[1].what != RDL_CLAIM_HOLD || rec.reply[1].ticket || rec.reply[0].what != RDL_CLAIM_NONE,
	      "replies");

	recover_start(owned, 3, false);
	rdl_recover_claim(&rec, 0, e, &none);
	rdl_recover_gone(&rec, 1, true);
	wrong(!rdl_recover_ready(&rec), "waits for the dead");
	rdl_recover_finish(&rec);
	wrong(rec.word != rdl_w_pack(0, 0, 0, e2, true, false), "word of a dead owner");
	wrong(rec.reply[0].vflags != RDL_VF_OWNER_DIED, "the others are not told");

	/* It claimed, then it was evicted: the claim is void. */
	recover_start(owned, 3, true);
	rdl_recover_claim(&rec, 1, e, &hold);
	rdl_recover_gone(&rec, 1, true);
	rdl_recover_claim(&rec, 0, e, &none);
	rdl_recover_finish(&rec);
	wrong(rec.word != rdl_w_pack(0, 0, 0, e2, true, false), "a dead node's claim counts");

	/* The owner claims nothing: given up, not dead. */
	recover_start(owned, 2, false);
	rdl_recover_claim(&rec, 1, e, &none);
	rdl_recover_finish(&rec);
	wrong(rec.word != rdl_w_pack(0, 0, 0, e2, false, false), "word that was given up");

	/* A notice stays until it was delivered. */
	recover_start(rdl_w_pack(7, 0, 0, e, true, false), 0, false);
	wrong(!rdl_recover_ready(&rec), "waits for nobody");
	rdl_recover_finish(&rec);
	wrong(!rdl_w_attention(rec.word), "the notice is lost");
	recover_start(owned | RDL_W_A, 2, true);
	rdl_recover_claim(&rec, 1, e, &hold);
	rdl_recover_finish(&rec);
	wrong(rdl_w_attention(rec.word) || rdl_w_mid(rec.word) != 2, "the notice stays after CONSISTENT");
	return first_wrong;
}

const struct unit_test unit_tests[] = {
	{ "word_packing", word_packing },
	{ "token_order", token_order },
	{ "crc32c", crc_known },
	{ "messages", messages },
	{ "opened", opened },
	{ "message_fuzz", message_fuzz },
	{ "table_complete", table_complete },
	{ "table_hostile", table_hostile }, { "queue_hostile", queue_hostile },
	{ "backoff_bound", backoff_bound },
	{ "backoff_adapts", backoff_adapts },
	{ "ticket_rollover", ticket_rollover },
	{ "unknown_outcomes", unknown_outcomes },
	{ "claim_after_drain", claim_after_drain },
	{ "lease_low", lease_low },
	{ "owner_died", owner_died },
	{ "recovery", recovery },
	{ "stat_rounds", stat_rounds },
	{ "next_early", next_early },
	{ "down_failed", down_failed },
	{ "down_fails_often", down_fails_often },
	{ "probe_idle", probe_idle }, { "readers_look", readers_look }, { "budget_recovered", budget_recovered },
	{ "writer_left", writer_left }, { "readers_spent", readers_spent }, { "hint_lost", hint_lost },
	{ "spent_upgrade", spent_upgrade }, { "seek_left", seek_left }, { "try_shared", try_shared },
	{ "reset_late", reset_late }, { "notice_unseen", notice_unseen }, { "upgrade_waits", upgrade_waits },
	{ "broken", broken },
	{ "small_fair", small_fair },
	{ "small_ticket", small_ticket },
	{ "small_mcs", small_mcs },
};

const int unit_tests_n = ARRAY_SIZE(unit_tests);

const char *unit_run(int test, u64 seed)
{
	first_wrong = NULL;
	return unit_tests[test].run(seed);
}
