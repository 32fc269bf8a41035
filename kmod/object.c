// SPDX-License-Identifier: GPL-2.0
/*
 * Counters: arrays of 8-byte cells at the home, changed by the same device's atomics as the words.
 *
 * An operation that was sent is never sent again: if its outcome is not known the caller hears -EREMOTEIO. What was
 * certainly not sent is tried again until the deadline.
 */
#include <linux/completion.h>
#include <linux/errno.h>
#include <linux/kref.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "object.h"
#include "session.h"
#include "space.h"
#include "stats.h"
#include "wait.h"

/**
 * struct rdlock_counter - an open counter
 * @space: pinned
 * @key: fixed
 * @key_len: fixed
 * @cells: fixed once opened
 * @wq: woken when @asking ends
 * @lock: protects the rest
 * @asking: one of the callers asks the home, the others wait for what it hears
 * @instance: of the space when it was opened: the cells of another instance are other cells
 * @session: number of the session that @addr belongs to
 * @addr: of cell 0
 */
struct rdlock_counter {
	struct rdlock_space *space;
	u8 key[RDLOCK_NAME_MAX];
	u32 key_len;
	u32 cells;
	wait_queue_head_t wq;
	spinlock_t lock;
	bool asking;
	u64 instance;
	u32 session;
	struct rdf_addr addr;
};

/**
 * struct counter_op - one operation; outlives a killed caller
 * @ref: the caller's and the fabric's
 * @op: the operation
 * @done: completed when @op is
 */
struct counter_op {
	struct kref ref;
	struct rdf_op op;
	struct completion done;
};

static void counter_op_free(struct kref *ref)
{
	kfree(container_of(ref, struct counter_op, ref));
}

static void counter_op_done(struct rdf_op *op)
{
	struct counter_op *c = container_of(op, struct counter_op, op);

	complete(&c->done);
	kref_put(&c->ref, counter_op_free);
}

static bool caller_is_late(const struct rdlock_caller *caller)
{
	return caller->deadline != KTIME_MAX && ktime_compare(ktime_get(), caller->deadline) >= 0;
}

static bool caller_has_signal(const struct rdlock_caller *caller)
{
	return signal_pending_state(caller->interruptible ? TASK_INTERRUPTIBLE : TASK_KILLABLE, current);
}

/*
 * Ask the home where the cells are. @instance: in which the caller has seen that they may be looked for. -ENOTCONN,
 * -ETIMEDOUT: may be asked again.
 */
static int counter_register(struct rdlock_counter *c, u32 cells, u64 instance, const struct rdlock_caller *caller)
{
	struct {
		struct rdl_msg h;
		struct rdl_msg_open o;
	} req = { .h.type = RDL_MSG_OPEN };
	struct {
		struct rdl_msg h;
		struct rdl_msg_opened o;
	} rep;
	u32 no;
	int err;

	req.o.obj = RDL_OBJ_COUNTER;
	req.o.key_len = c->key_len;
	req.o.cells = cpu_to_le32(cells);
	memcpy(req.o.key, c->key, sizeof(req.o.key));
	err = rdlock_session_call(c->space, &req.h, sizeof(req), &rep, sizeof(rep), caller, &no);
	if (err)
		return err == -EAGAIN ? -ENOTCONN : err;
	/* The answer may be of a newer instance than the one that was looked at: look again, and see that it is. */
	if (READ_ONCE(c->space->instance) != instance)
		return -ENOTCONN;
	spin_lock(&c->lock);
	if (!c->instance)
		c->cells = le32_to_cpu(rep.o.cells);
	c->addr.addr = le64_to_cpu(rep.o.addr);
	c->addr.rkey = le32_to_cpu(rep.o.rkey);
	c->session = no;
	c->instance = instance;
	spin_unlock(&c->lock);
	return 0;
}

static bool nobody_asks(void *arg)
{
	struct rdlock_counter *c = arg;

	return !READ_ONCE(c->asking);
}

/*
 * The address of a cell in the session that stands now. When it is not known one caller asks the home: the others wait
 * for that, each as long as it likes, and go on with what it heard or ask themselves.
 */
static int counter_look_up(struct rdlock_counter *c, u32 cells, const struct rdlock_caller *caller,
			   struct rdf_addr *addr, u32 *session)
{
	bool known, mine = false;
	u64 instance;
	int err;

	for (;;) {
		spin_lock(&c->lock);
		instance = READ_ONCE(c->space->instance);
		if (c->instance && c->instance != instance) {
			spin_unlock(&c->lock);
			return -EKEYREVOKED;
		}
		known = c->instance && c->session == READ_ONCE(c->space->session.no);
		*addr = c->addr;
		*session = c->session;
		if (!known && !c->asking) {
			WRITE_ONCE(c->asking, true);
			mine = true;
		}
		spin_unlock(&c->lock);
		if (known)
			return 0;
		if (mine)
			break;
		err = rdlock_sleep_until(&c->wq, nobody_asks, c, caller->deadline, caller->interruptible);
		if (err)
			return err;
	}

	err = counter_register(c, cells, instance, caller);
	spin_lock(&c->lock);
	*addr = c->addr;
	*session = c->session;
	WRITE_ONCE(c->asking, false);
	spin_unlock(&c->lock);
	wake_up_all(&c->wq);
	return err;
}

/* The same until the deadline, whatever happens to the session. */
static int counter_address(struct rdlock_counter *c, u32 cells, const struct rdlock_caller *caller,
			   struct rdf_addr *addr, u32 *session)
{
	int err;

	for (;;) {
		err = rdlock_session_wait_up(c->space, caller->deadline, caller->interruptible);
		if (err)
			return err;
		err = counter_look_up(c, cells, caller, addr, session);
		if (err != -ENOTCONN && err != -ETIMEDOUT)
			return err;
		if (caller_is_late(caller))
			return rdlock_timeout_error(c->space);
		if (caller_has_signal(caller))
			return -ERESTARTSYS;
		/* The link has just gone, which the session learns in a moment. */
		schedule_timeout_killable(1);
	}
}

struct rdlock_counter *rdlock_counter_do_open(struct rdlock_space *space, const void *key, u32 len, u32 cells,
					      ktime_t deadline, bool interruptible)
{
	struct rdlock_caller caller = { .deadline = deadline, .interruptible = interruptible };
	struct rdlock_counter *c;
	struct rdf_addr addr;
	u32 session;
	int err;

	if (!len || len > RDLOCK_NAME_MAX || cells > RDL_CELLS_MAX)
		return ERR_PTR(-EINVAL);
	if (caller_is_late(&caller))
		return ERR_PTR(-ETIMEDOUT);
	err = rdlock_space_pin(space);
	if (err)
		return ERR_PTR(err);
	err = -ENOMEM;
	c = kzalloc(sizeof(*c), GFP_KERNEL_ACCOUNT);
	if (!c)
		goto err_unpin;
	c->space = space;
	c->key_len = len;
	memcpy(c->key, key, len);
	init_waitqueue_head(&c->wq);
	spin_lock_init(&c->lock);
	err = counter_address(c, cells, &caller, &addr, &session);
	if (err)
		goto err_free;
	return c;

err_free:
	kfree(c);
err_unpin:
	rdlock_space_unpin(space);
	return ERR_PTR(err);
}

void rdlock_counter_do_close(struct rdlock_counter *c)
{
	struct rdlock_space *space = c->space;

	kfree(c);
	rdlock_space_unpin(space);
}

u32 rdlock_counter_nr_cells(struct rdlock_counter *c)
{
	return c->cells;
}

void rdlock_counter_show(struct seq_file *m, const struct rdlock_counter *c)
{
	char name[RDLOCK_NAME_STR];

	seq_printf(m, "rdlock-space:\t%s\n", rdlock_name_str(name, c->space->name, c->space->name_len));
	seq_printf(m, "rdlock-key:\t%s\n", rdlock_name_str(name, c->key, c->key_len));
}

int rdlock_counter_do(struct rdlock_counter *c, enum rdlock_counter_cmd cmd, u32 cell, u64 arg, u64 expect,
		      ktime_t deadline, bool interruptible, u64 *old)
{
	struct rdlock_caller caller = { .deadline = deadline, .interruptible = interruptible };
	struct rdf_link *link;
	struct counter_op *op;
	struct rdf_addr addr;
	u32 session;
	int err;

	if (cell >= c->cells)
		return -ERANGE;
	if (caller_is_late(&caller))
		return -ETIMEDOUT;
	op = kzalloc(sizeof(*op), GFP_KERNEL);
	if (!op)
		return -ENOMEM;
	kref_init(&op->ref);
	rdf_op_init(&op->op, counter_op_done);
	init_completion(&op->done);
again:
	err = counter_address(c, 0, &caller, &addr, &session);
	if (err)
		goto out_put;
	addr.addr += (u64)cell * sizeof(u64);
	err = -ENOTCONN;
	kref_get(&op->ref);
	if (rdlock_session_flags(c->space, session, &link) & RDL_F_LINK) {
		if (cmd == RDLOCK_COUNTER_CAS)
			err = rdf_cas(link, &op->op, addr, expect, arg);
		else
			err = rdf_faa(link, &op->op, addr, cmd == RDLOCK_COUNTER_ADD ? arg : 0);
		rdf_link_put(link);
	}
	if (err) {
		kref_put(&op->ref, counter_op_free);
		if (err != -ENOTCONN)
			goto out_put;
		goto check_again;
	}
	rdlock_stat_inc(c->space, counter_op);
	if (wait_for_completion_killable(&op->done)) {
		err = -EREMOTEIO;
		goto out_put;
	}
	switch (op->op.outcome) {
	case RDF_OK:
		*old = op->op.old;
		goto out_put;
	case RDF_AMBIGUOUS:
		/* A read changes nothing, so it may be repeated. */
		if (cmd != RDLOCK_COUNTER_READ) {
			err = -EREMOTEIO;
			goto out_put;
		}
		break;
	case RDF_FAILED:
		break;
	}
	reinit_completion(&op->done);
check_again:
	if (caller_is_late(&caller))
		err = rdlock_timeout_error(c->space);
	else if (caller_has_signal(&caller))
		err = -ERESTARTSYS;
	else
		goto pause;
out_put:
	kref_put(&op->ref, counter_op_free);
	return err;
pause:
	/* The link has just gone, or the lease is low: its end will be noticed in a moment. */
	schedule_timeout_killable(1);
	goto again;
}
