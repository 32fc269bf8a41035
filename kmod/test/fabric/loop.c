// SPDX-License-Identifier: GPL-2.0
/*
 * Operations: the machinery that posts them, and what must hold on the loopback pair.
 */
#include <linux/delay.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "test.h"

/* ---- one operation at a time ---- */

struct rdf_test_one {
	struct rdf_op op;
	struct completion done;
};

static void rdf_test_one_done(struct rdf_op *op)
{
	complete(&container_of(op, struct rdf_test_one, op)->done);
}

static int rdf_test_one_wait(struct rdf_test_one *one, int err, u64 *old)
{
	if (err)
		goto free;
	if (!wait_for_completion_timeout(&one->done, msecs_to_jiffies(RDF_TEST_MS))) {
		pr_err("an operation did not complete\n");
		return -ETIME;		/* leaked, because it may still come */
	}
	if (old)
		*old = one->op.old;
	/* Distinct errnos, so that a scenario can tell the outcomes apart. */
	if (one->op.outcome == RDF_FAILED)
		err = -ECANCELED;
	else if (one->op.outcome == RDF_AMBIGUOUS)
		err = -EREMOTEIO;
free:
	kfree(one);
	return err;
}

static struct rdf_test_one *rdf_test_one_new(void)
{
	struct rdf_test_one *one = kzalloc(sizeof(*one), GFP_KERNEL);

	if (one) {
		init_completion(&one->done);
		rdf_op_init(&one->op, rdf_test_one_done);
	}
	return one;
}

int rdf_test_op(struct rdf_link *link, enum rdf_opcode opcode, struct rdf_addr to, u64 a, u64 b, u64 *old)
{
	struct rdf_test_one *one = rdf_test_one_new();

	if (!one)
		return -ENOMEM;
	return rdf_test_one_wait(one, opcode == RDF_OP_CAS ? rdf_cas(link, &one->op, to, a, b) :
				 rdf_faa(link, &one->op, to, a), old);
}

int rdf_test_rw(struct rdf_link *link, bool write, struct rdf_addr to, void *buf, u32 len)
{
	struct rdf_test_one *one = rdf_test_one_new();

	if (!one)
		return -ENOMEM;
	return rdf_test_one_wait(one, write ? rdf_write(link, &one->op, to, buf, len) :
				 rdf_read(link, &one->op, to, buf, len), NULL);
}

/* ---- many ---- */

static int rdf_test_run_post(struct rdf_test_run *run, struct rdf_test_op *t)
{
	switch (run->opcode) {
	case RDF_OP_FAA:
		return rdf_faa(run->link, &t->op, run->to, 1);
	case RDF_OP_CAS:
		return rdf_cas(run->link, &t->op, run->to, 0, 1);
	case RDF_OP_READ:
		return rdf_read(run->link, &t->op, run->to, &t->buf, sizeof(t->buf));
	case RDF_OP_WRITE:
		return rdf_write(run->link, &t->op, run->to, &t->buf, sizeof(t->buf));
	}
	return -EINVAL;
}

static void rdf_test_run_next(struct rdf_test_run *run, struct rdf_test_op *t)
{
	bool last;
	int err;

	for (;;) {
		spin_lock_bh(&run->lock);
		if (!run->left) {
			last = !--run->busy;
			spin_unlock_bh(&run->lock);
			if (last)
				complete(&run->done);
			return;
		}
		run->left--;
		t->busy = true;
		spin_unlock_bh(&run->lock);
		err = rdf_test_run_post(run, t);
		if (!err)
			return;
		spin_lock_bh(&run->lock);
		t->busy = false;
		run->refused++;
		spin_unlock_bh(&run->lock);
	}
}

static void rdf_test_run_done(struct rdf_op *op)
{
	struct rdf_test_op *t = container_of(op, struct rdf_test_op, op);
	struct rdf_test_run *run = t->run;

	spin_lock_bh(&run->lock);
	if (!t->busy)
		run->twice++;
	t->busy = false;
	run->outcomes[op->outcome]++;
	spin_unlock_bh(&run->lock);
	rdf_test_run_next(run, t);
}

/*
 * Every operation that was taken completes once, whatever happens to the link. The numbers go to the status.
 * @bad: posted to @bad_to in the midst of the first window, NULL: none
 */
static int rdf_test_run_around(struct rdf_link *link, enum rdf_opcode opcode, struct rdf_addr to, u32 total, u32 window,
			       struct rdf_op *bad, struct rdf_addr bad_to)
{
	struct rdf_test_run *run;
	int err = 0;
	u32 i;

	if (!window || window > 4096)
		return -EINVAL;
	run = kzalloc(sizeof(*run), GFP_KERNEL);
	if (!run)
		return -ENOMEM;
	run->ops = kcalloc(window, sizeof(*run->ops), GFP_KERNEL);
	if (!run->ops) {
		kfree(run);
		return -ENOMEM;
	}
	run->link = link;
	run->to = to;
	run->opcode = opcode;
	run->left = total;
	run->busy = window;
	spin_lock_init(&run->lock);
	init_completion(&run->done);
	for (i = 0; i < window; i++) {
		rdf_op_init(&run->ops[i].op, rdf_test_run_done);
		run->ops[i].run = run;
	}
	/* rxe of 6.1 works in softirq, so on one CPU the whole first window is posted before the first completion. */
	local_bh_disable();
	for (i = 0; i < window; i++) {
		if (bad && i == RDF_OP_SLOTS / 2)
			err = rdf_faa(link, bad, bad_to, 1);
		rdf_test_run_next(run, &run->ops[i]);
	}
	local_bh_enable();
	if (!wait_for_completion_timeout(&run->done, msecs_to_jiffies(RDF_TEST_MS))) {
		pr_err("%u of %u operations did not complete\n", run->busy, total);
		return -ETIME;		/* leaked, because they may still come */
	}
	rdf_test.ok = run->outcomes[RDF_OK];
	rdf_test.failed = run->outcomes[RDF_FAILED];
	rdf_test.ambiguous = run->outcomes[RDF_AMBIGUOUS];
	rdf_test.refused = run->refused;
	if (run->twice || rdf_test.ok + rdf_test.failed + rdf_test.ambiguous + rdf_test.refused != total) {
		pr_err("%llu operations completed twice or never\n", run->twice);
		err = -EBADE;
	}
	kfree(run->ops);
	kfree(run);
	return err;
}

int rdf_test_run(struct rdf_link *link, enum rdf_opcode opcode, struct rdf_addr to, u32 total, u32 window)
{
	return rdf_test_run_around(link, opcode, to, total, window, NULL, to);
}

/* ---- on the loopback pair ---- */

#define EXPECT(cond) do { \
	if (!(cond)) { \
		pr_err("%s:%d: not so: %s\n", __func__, __LINE__, #cond); \
		return -EPROTO; \
	} \
} while (0)

static u64 rdf_test_word(unsigned int i)
{
	return READ_ONCE(((u64 *)rdf_mem_va(rdf_test.words))[i]);
}

static struct rdf_addr rdf_test_at(struct rdf_mr *mr, u64 off)
{
	struct rdf_addr to = rdf_mr_addr(mr);

	to.addr += off;
	return to;
}

/* ---- a fabric in the hands of a case ---- */

static struct rdf_test_hands *rdf_test_hands(struct rdf_case *c)
{
	return container_of(c, struct rdf_test_hands, c);
}

static struct rdf_addr rdf_test_word_of(struct rdf_case *c, unsigned int word)
{
	struct rdf_addr to = rdf_test_hands(c)->t.word;

	to.addr += word * sizeof(u64);
	return to;
}

static int rdf_test_hands_cas(struct rdf_case *c, unsigned int word, u64 compare, u64 swap, u64 *old)
{
	return rdf_test_op(rdf_test_hands(c)->t.link, RDF_OP_CAS, rdf_test_word_of(c, word), compare, swap, old);
}

static int rdf_test_hands_faa(struct rdf_case *c, unsigned int word, u64 addend, u64 *old)
{
	return rdf_test_op(rdf_test_hands(c)->t.link, RDF_OP_FAA, rdf_test_word_of(c, word), addend, 0, old);
}

static int rdf_test_hands_read(struct rdf_case *c, unsigned int word, u64 *value)
{
	u64 *buf = kzalloc(sizeof(*buf), GFP_KERNEL);
	int err;

	if (!buf)
		return -ENOMEM;
	err = rdf_test_rw(rdf_test_hands(c)->t.link, false, rdf_test_word_of(c, word), buf, sizeof(*buf));
	*value = *buf;
	kfree(buf);
	return err;
}

/* What breaks the link is an operation with a wrong key, in the midst of the others. */
static int rdf_test_hands_many(struct rdf_case *c, unsigned int word, u32 total, bool breaks,
			       struct rdf_case_ends *ends)
{
	struct rdf_addr to = rdf_test_word_of(c, word), bad = to;
	struct rdf_link *link = rdf_test_hands(c)->t.link;
	struct rdf_test_one *one = NULL;
	int err;

	bad.rkey ^= 0x55;
	if (breaks) {
		one = rdf_test_one_new();
		if (!one)
			return -ENOMEM;
	}
	/* It says itself if one ended twice or never. */
	err = rdf_test_run_around(link, RDF_OP_FAA, to, total, (breaks ? 2 : 3) * RDF_OP_SLOTS,
				  one ? &one->op : NULL, bad);
	if (!err && one && rdf_test_one_wait(one, 0, NULL) != -ECANCELED)
		err = -EPROTO;
	*ends = (struct rdf_case_ends){
		.ok = rdf_test.ok, .failed = rdf_test.failed, .ambiguous = rdf_test.ambiguous,
		.refused = rdf_test.refused,
	};
	return err;
}

static int rdf_test_loop_back(struct rdf_link *loop)
{
	int i;

	for (i = 0; i < 500 && !rdf_link_is_up(loop); i++)
		msleep(20);
	EXPECT(rdf_link_is_up(loop));
	return rdf_test_loop("cas");
}

static int rdf_test_hands_back(struct rdf_case *c)
{
	return rdf_test_loop_back(rdf_test_hands(c)->t.link);
}

static void rdf_test_hands_wrong(const char *where, int line, const char *what)
{
	pr_err("%s:%d: not so: %s\n", where, line, what);
}

void rdf_test_hands_init(struct rdf_test_hands *h, const struct rdf_test_target *t)
{
	*h = (struct rdf_test_hands){
		.c = {
			.cas = rdf_test_hands_cas,
			.faa = rdf_test_hands_faa,
			.read = rdf_test_hands_read,
			.many = rdf_test_hands_many,
			.back = rdf_test_hands_back,
			.wrong = rdf_test_hands_wrong,
		},
		.t = *t,
	};
}

static struct rdf_test_target rdf_test_own(struct rdf_link *loop)
{
	return (struct rdf_test_target){
		.link = loop,
		.word = rdf_mr_addr(rdf_test.own_word),
		.data = rdf_mr_addr(rdf_test.own_data),
	};
}

static void rdf_test_own_hands(struct rdf_test_hands *h, struct rdf_link *loop)
{
	struct rdf_test_target t = rdf_test_own(loop);

	rdf_test_hands_init(h, &t);
}

/* ---- cases ---- */

static int rdf_test_case_cas(struct rdf_link *loop)
{
	struct rdf_test_hands h;

	int err;

	rdf_test_own_hands(&h, loop);
	err = rdf_case_cas(&h.c);
	EXPECT(!err);
	/* As the processor sees it. */
	EXPECT(rdf_test_word(1) == 0x1122334455667788ull);
	return 0;
}

static int rdf_test_case_faa(struct rdf_link *loop)
{
	u64 was = rdf_test_word(2);
	struct rdf_test_hands h;
	int err;

	rdf_test_own_hands(&h, loop);
	err = rdf_case_faa(&h.c);
	EXPECT(!err);
	EXPECT(rdf_test_word(2) == was + 0x100000000ull);
	return 0;
}

static int rdf_test_case_bad_args(struct rdf_link *loop)
{
	struct rdf_addr to = rdf_test_at(rdf_test.own_word, 4);
	struct rdl_msg msg = { .type = RDL_MSG_HB }, credit = { .type = RDL_MSG_CREDIT };
	char *buf = kzalloc(64, GFP_KERNEL);
	int cas, faa, none, big;

	if (!buf)
		return -ENOMEM;
	cas = rdf_test_op(loop, RDF_OP_CAS, to, 0, 0, NULL);
	faa = rdf_test_op(loop, RDF_OP_FAA, to, 0, 0, NULL);
	none = rdf_test_rw(loop, false, rdf_mr_addr(rdf_test.own_data), buf, 0);
	big = rdf_test_rw(loop, true, rdf_mr_addr(rdf_test.own_data), buf, RDF_RW_MAX + 1);
	kfree(buf);
	EXPECT(cas == -EINVAL);
	EXPECT(faa == -EINVAL);
	EXPECT(none == -EINVAL);
	EXPECT(big == -EINVAL);
	EXPECT(rdf_send(loop, &msg, sizeof(msg)) == -ENOTCONN);
	EXPECT(rdf_send(loop, &msg, sizeof(msg) - 1) == -EINVAL);
	EXPECT(rdf_send(loop, &msg, sizeof(msg) + 1) == -EINVAL);
	EXPECT(rdf_send(loop, &credit, sizeof(credit)) == -EINVAL);
	EXPECT(rdf_link_is_up(loop));
	return 0;
}

static int rdf_test_case_many(struct rdf_link *loop)
{
	u64 was = rdf_test_word(3), deferred = rdf_dom_stat(rdf_test.dom, RDF_STAT_deferred);
	struct rdf_test_hands h;
	int err;

	rdf_test_own_hands(&h, loop);
	err = rdf_case_many(&h.c);
	EXPECT(!err);
	EXPECT(rdf_test_word(3) == was + 2000);
	EXPECT(rdf_dom_stat(rdf_test.dom, RDF_STAT_deferred) > deferred);
	return 0;
}

static int rdf_test_case_rw(struct rdf_link *loop)
{
	static const u32 lens[] = { 1, 8, 255, 4096, 4097, RDF_RW_MAX };
	struct rdf_addr to = rdf_test_at(rdf_test.own_data, 24);
	u8 *out = kmalloc(RDF_RW_MAX, GFP_KERNEL), *in = kmalloc(RDF_RW_MAX, GFP_KERNEL);
	int i, err = -ENOMEM;

	if (!out || !in)
		goto free;
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		get_random_bytes(out, RDF_RW_MAX);
		memset(in, 0, RDF_RW_MAX);
		err = rdf_test_rw(loop, true, to, out, lens[i]);
		if (!err)
			err = rdf_test_rw(loop, false, to, in, lens[i]);
		if (!err && memcmp(in, out, lens[i]))
			err = -EPROTO;
		if (err) {
			pr_err("%u bytes: %d\n", lens[i], err);
			break;
		}
	}
free:
	kfree(out);
	kfree(in);
	return err;
}

/*
 * The right to atomics is no right to write: the word keeps its value, only this link is hurt, and the pair is made
 * again.
 */
static int rdf_test_case_refused(struct rdf_link *loop)
{
	u64 *buf = kmalloc(sizeof(*buf), GFP_KERNEL), was = rdf_test_word(4);
	int err;

	if (!buf)
		return -ENOMEM;
	*buf = ~was;
	err = rdf_test_rw(loop, true, rdf_test_at(rdf_test.own_word, 32), buf, sizeof(*buf));
	kfree(buf);
	EXPECT(err == -ECANCELED);
	EXPECT(rdf_test_word(4) == was);
	return rdf_test_loop_back(loop);
}

/* An atomic on memory that allows only reads and writes. */
static int rdf_test_case_no_atomic(struct rdf_link *loop)
{
	u64 old;

	EXPECT(rdf_test_op(loop, RDF_OP_FAA, rdf_mr_addr(rdf_test.own_data), 1, 0, &old) == -ECANCELED);
	EXPECT(old == 0);
	return rdf_test_loop_back(loop);
}

static int rdf_test_case_stale(struct rdf_link *loop)
{
	struct rdf_mr *mr = rdf_mr_reg(rdf_test.words, RDF_ACCESS_ATOMIC);
	struct rdf_addr to;
	u64 old;

	EXPECT(!IS_ERR(mr));
	to = rdf_mr_addr(mr);
	to.addr += 40;
	EXPECT(!rdf_test_op(loop, RDF_OP_FAA, to, 1, 0, &old));
	EXPECT(rdf_test_word(5) == old + 1);
	rdf_mr_dereg(mr);
	EXPECT(rdf_test_op(loop, RDF_OP_FAA, to, 1, 0, NULL) == -ECANCELED);
	EXPECT(rdf_test_word(5) == old + 1);
	return rdf_test_loop_back(loop);
}

static int rdf_test_case_killed(struct rdf_link *loop)
{
	u64 was = rdf_test_word(0), now;
	struct rdf_case_ends ends;
	struct rdf_test_hands h;
	int err;

	rdf_test_own_hands(&h, loop);
	err = rdf_case_killed(&h.c, &ends);
	EXPECT(!err);
	now = rdf_test_word(0);
	EXPECT(now >= was + ends.ok);
	EXPECT(now <= was + ends.ok + ends.ambiguous);
	EXPECT(ends.ambiguous);	/* what was posted behind it */
	EXPECT(ends.failed);	/* what still waited for a slot */
	return 0;
}

/* Each is refused and changes nothing, and each time the pair is made again. */
static int rdf_test_case_refusals(struct rdf_link *loop)
{
	u64 first = rdf_test_word(0), second = rdf_test_word(1), now;
	struct rdf_test_target t = rdf_test_own(loop);
	int how, err;

	for (how = 0; ; how++) {
		err = rdf_test_refusal(&t, how);
		if (err)
			return err == -ERANGE ? 0 : err;
		now = rdf_test_word(1);
		EXPECT(rdf_test_word(0) == first);
		EXPECT(now == second);
		err = rdf_test_loop_back(loop);
		if (err)
			return err;
		second = rdf_test_word(1);	/* rdf_test_loop_back() tries it on that word */
	}
}

static int rdf_test_contract_own(struct rdf_link *loop, const char *name)
{
	struct rdf_test_target t = rdf_test_own(loop);

	return rdf_test_contract(&t, name);
}

static int rdf_test_case_values(struct rdf_link *loop)
{
	return rdf_test_contract_own(loop, "values");
}

static int rdf_test_case_lengths(struct rdf_link *loop)
{
	return rdf_test_contract_own(loop, "lengths");
}

static int rdf_test_case_order(struct rdf_link *loop)
{
	return rdf_test_contract_own(loop, "order");
}

int rdf_test_loop(const char *name)
{
	static const struct {
		const char *name;
		int (*run)(struct rdf_link *loop);
	} tests[] = {
#define RDF_TEST_CASE(name, what) { #name, rdf_test_case_##name },
#define RDF_TEST_CASE_OF_OURS(name, what, why) { #name, rdf_test_case_##name },
		RDF_CASES(RDF_TEST_CASE, RDF_TEST_CASE_OF_OURS)
		{ "back", rdf_test_loop_back },
	};
	int i;

	if (!rdf_test.dom || !rdf_dom_loop(rdf_test.dom))
		return -ENODEV;
	for (i = 0; i < ARRAY_SIZE(tests); i++)
		if (!strcmp(tests[i].name, name))
			return tests[i].run(rdf_dom_loop(rdf_test.dom));
	return -ENOENT;
}
