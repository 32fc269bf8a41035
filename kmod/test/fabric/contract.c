// SPDX-License-Identifier: GPL-2.0
/*
 * What must hold on any link, whoever carries the operations out: values, byte order, order, pieces, refusals. Nothing
 * of the memory is looked at but by operations, so that both ends of a link can run it.
 */
#include <linux/random.h>
#include <linux/slab.h>

#include "test.h"

#define EXPECT(cond) do { \
	if (!(cond)) { \
		pr_err("%s:%d: not so: %s\n", __func__, __LINE__, #cond); \
		return -EPROTO; \
	} \
} while (0)

static struct rdf_addr rdf_test_plus(struct rdf_addr to, u64 off)
{
	to.addr += off;
	return to;
}

static int rdf_test_values(struct rdf_test_target *t)
{
	struct rdf_addr to = rdf_test_plus(t->word, 64);
	struct rdf_test_hands h;
	int err;

	rdf_test_hands_init(&h, t);
	err = rdf_case_values(&h.c, 8);
	EXPECT(!err);
	EXPECT(rdf_test_op(t->link, RDF_OP_CAS, rdf_test_plus(to, 4), 0, 0, NULL) == -EINVAL);
	EXPECT(rdf_test_op(t->link, RDF_OP_FAA, rdf_test_plus(to, 1), 0, 0, NULL) == -EINVAL);
	return 0;
}

#define RDF_TEST_MARGIN	16

/* Writes of all lengths come out as they went in, and touch nothing around. */
static int rdf_test_lengths(struct rdf_test_target *t)
{
	static const u32 lens[] = {
		1, 8, 255, RDF_RPC_DATA - 1, RDF_RPC_DATA, RDF_RPC_DATA + 1, 4096, 4097,
		RDF_RW_MAX - 2 * RDF_TEST_MARGIN,
	};
	u8 *out = kmalloc(RDF_RW_MAX, GFP_KERNEL), *in = kmalloc(RDF_RW_MAX, GFP_KERNEL);
	struct rdf_addr inner = rdf_test_plus(t->data, 24 + RDF_TEST_MARGIN);
	struct rdf_addr outer = rdf_test_plus(t->data, 24);
	int i, err = out && in ? 0 : -ENOMEM;

	for (i = 0; i < ARRAY_SIZE(lens) && !err; i++) {
		u32 all = lens[i] + 2 * RDF_TEST_MARGIN;

		get_random_bytes(out, all);
		err = rdf_test_rw(t->link, true, outer, out, all);
		if (err)
			break;
		get_random_bytes(out + RDF_TEST_MARGIN, lens[i]);
		err = rdf_test_rw(t->link, true, inner, out + RDF_TEST_MARGIN, lens[i]);
		memset(in, 0, all);
		if (!err)
			err = rdf_test_rw(t->link, false, outer, in, all);
		if (!err && memcmp(in, out, all))
			err = -EPROTO;
	}
	if (err)
		pr_err("%u bytes: %d\n", lens[min_t(int, i, ARRAY_SIZE(lens) - 1)], err);
	kfree(out);
	kfree(in);
	return err;
}

/* ---- order ---- */

#define RDF_TEST_ROUNDS		64
#define RDF_TEST_STEPS		3	/* a WRITE, a READ, an FAA */
#define RDF_TEST_PIECES		(2 * RDF_RPC_DATA)	/* longer than one request of back-end rpc */

struct rdf_test_order {
	struct completion done;
	atomic_t next;
	atomic_t wrong;
	atomic_t left;
	struct rdf_test_step {
		struct rdf_op op;
		struct rdf_test_order *order;
		int no;
	} step[RDF_TEST_ROUNDS * RDF_TEST_STEPS];
	u8 out[RDF_TEST_ROUNDS][RDF_TEST_PIECES];
	u8 in[RDF_TEST_ROUNDS][RDF_TEST_PIECES];
};

static void rdf_test_order_end(struct rdf_test_order *o)
{
	if (atomic_dec_and_test(&o->left))
		complete(&o->done);
}

static void rdf_test_order_done(struct rdf_op *op)
{
	struct rdf_test_step *s = container_of(op, struct rdf_test_step, op);
	struct rdf_test_order *o = s->order;

	if (atomic_inc_return(&o->next) - 1 != s->no || op->outcome != RDF_OK)
		atomic_inc(&o->wrong);
	rdf_test_order_end(o);
}

static int rdf_test_order_post(struct rdf_test_target *t, struct rdf_test_order *o, int i)
{
	struct rdf_test_step *s = &o->step[i * RDF_TEST_STEPS];
	int err;

	memset(o->out[i], i + 1, RDF_TEST_PIECES);
	err = rdf_write(t->link, &s[0].op, t->data, o->out[i], RDF_TEST_PIECES);
	if (!err)
		err = rdf_read(t->link, &s[1].op, t->data, o->in[i], RDF_TEST_PIECES);
	if (!err)
		err = rdf_faa(t->link, &s[2].op, rdf_test_plus(t->word, 72), 1);
	return err;
}

/* All posted before the first is done: each READ sees the WRITE before it and no other, and they end in that order. */
static int rdf_test_order(struct rdf_test_target *t)
{
	struct rdf_test_order *o = kzalloc(sizeof(*o), GFP_KERNEL);
	int i, wrong = 0, err = 0;
	u64 first = 0;

	if (!o)
		return -ENOMEM;
	init_completion(&o->done);
	atomic_set(&o->left, 1);
	for (i = 0; i < ARRAY_SIZE(o->step); i++) {
		o->step[i].order = o;
		o->step[i].no = i;
		rdf_op_init(&o->step[i].op, rdf_test_order_done);
	}
	local_bh_disable();
	for (i = 0; i < RDF_TEST_ROUNDS && !err; i++) {
		atomic_add(RDF_TEST_STEPS, &o->left);
		err = rdf_test_order_post(t, o, i);
	}
	local_bh_enable();
	rdf_test_order_end(o);
	if (err || !wait_for_completion_timeout(&o->done, msecs_to_jiffies(RDF_TEST_MS))) {
		pr_err("order: not all were posted, or done: %d\n", err);
		return err ?: -ETIME;	/* leaked, because they may still come */
	}
	for (i = 0; i < RDF_TEST_ROUNDS; i++) {
		u64 old = o->step[i * RDF_TEST_STEPS + 2].op.old;

		if (!i)
			first = old;
		if (memcmp(o->in[i], o->out[i], RDF_TEST_PIECES) || old != first + i)
			wrong++;
	}
	if (wrong || atomic_read(&o->wrong)) {
		pr_err("order: %d values, %d ends are wrong\n", wrong, atomic_read(&o->wrong));
		err = -EPROTO;
	}
	kfree(o);
	return err;
}

/* ---- refusals ---- */

/* Ways to ask for what one has no right to. Each must certainly not be carried out, and ends the link. */
static const struct {
	enum rdf_opcode opcode;
	bool data;		/* on the data, not the words */
	u32 key;		/* changed in the key */
	s64 off;
	u32 len;
} rdf_test_refusals[] = {
	{ RDF_OP_FAA, false, 0x3f, 0 },
	{ RDF_OP_CAS, false, 0x7f00, 0 },
	{ RDF_OP_FAA, false, 0, PAGE_SIZE },
	{ RDF_OP_CAS, false, 0, -8 },
	{ RDF_OP_WRITE, false, 0, 8, 8 },
	{ RDF_OP_FAA, true, 0, 0 },
	{ RDF_OP_WRITE, true, 0, RDF_TEST_DATA - 8, 16 },
	{ RDF_OP_WRITE, true, 0, -8, 16 },
	{ RDF_OP_READ, true, 0, RDF_TEST_DATA - 8, 16 },
	{ RDF_OP_READ, false, 0, PAGE_SIZE, 1 },
};

/* Return: 0 if it was refused, -ERANGE: there is no such way. */
int rdf_test_refusal(struct rdf_test_target *t, unsigned int how)
{
	struct rdf_addr to;
	u64 *buf, old = 0;
	int err;

	if (how >= ARRAY_SIZE(rdf_test_refusals))
		return -ERANGE;
	to = rdf_test_plus(rdf_test_refusals[how].data ? t->data : t->word, rdf_test_refusals[how].off);
	to.rkey ^= rdf_test_refusals[how].key;
	if (rdf_test_refusals[how].opcode == RDF_OP_CAS || rdf_test_refusals[how].opcode == RDF_OP_FAA) {
		err = rdf_test_op(t->link, rdf_test_refusals[how].opcode, to, 1, 1, &old);
	} else {
		buf = kcalloc(2, sizeof(*buf), GFP_KERNEL);
		if (!buf)
			return -ENOMEM;
		buf[0] = 0xdead;
		err = rdf_test_rw(t->link, rdf_test_refusals[how].opcode == RDF_OP_WRITE, to, buf,
				  rdf_test_refusals[how].len);
		kfree(buf);
	}
	if (err == -ECANCELED && !old)
		return 0;
	pr_err("refusal %u: %d\n", how, err);
	return -EPROTO;
}

int rdf_test_contract(struct rdf_test_target *t, const char *name)
{
	static const struct {
		const char *name;
		int (*run)(struct rdf_test_target *t);
	} tests[] = {
		{ "values", rdf_test_values },
		{ "lengths", rdf_test_lengths },
		{ "order", rdf_test_order },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(tests); i++)
		if (!strcmp(tests[i].name, name))
			return tests[i].run(t);
	return -ENOENT;
}
