// SPDX-License-Identifier: GPL-2.0
/*
 * Links of the test: who accepts gives rights and tells them by message; both sides count what they are told.
 */
#include <linux/delay.h>
#include <linux/slab.h>

#include "test.h"

#define WHAT_WORD	1
#define WHAT_DATA	2

struct rdf_test_link *rdf_test_link_new(bool passive)
{
	struct rdf_test_link *l;

	if (rdf_test.nr_links == RDF_TEST_LINKS)
		return NULL;
	l = kzalloc(sizeof(*l), GFP_KERNEL);
	if (!l)
		return NULL;
	l->passive = passive;
	init_completion(&l->up);
	init_completion(&l->down);
	init_completion(&l->told);
	spin_lock_init(&l->lock);
	INIT_LIST_HEAD(&l->kept);
	rdf_test.links[rdf_test.nr_links++] = l;
	return l;
}

static int rdf_test_tell(struct rdf_test_link *l, struct rdf_mr *mr, u32 what)
{
	struct {
		struct rdl_msg msg;
		struct rdl_msg_opened opened;
	} m = { .msg.type = RDL_MSG_OPENED };
	struct rdf_addr to = rdf_mr_addr(mr);

	m.msg.epoch = cpu_to_le32(1 << RDL_REP_BITS);
	m.msg.req = cpu_to_le32(what);
	m.opened.addr = cpu_to_le64(to.addr);
	m.opened.rkey = cpu_to_le32(to.rkey);
	m.opened.cells = cpu_to_le32(1);
	m.opened.kind = 1;
	return rdf_send(l->link, &m.msg, sizeof(m));
}

static void rdf_test_up(struct rdf_link *link)
{
	struct rdf_test_link *l = rdf_link_ctx(link);
	int err = 0;

	atomic_inc(&l->ups);
	if (l->passive) {
		l->mr_word = rdf_mr_reg(rdf_test.words, RDF_ACCESS_ATOMIC);
		l->mr_data = rdf_mr_reg(rdf_test.data, RDF_ACCESS_DATA);
		if (IS_ERR(l->mr_word) || IS_ERR(l->mr_data)) {
			pr_err("no rights for the peer\n");
			rdf_link_kill(link, -ENOMEM);
		} else {
			err = rdf_test_tell(l, l->mr_word, WHAT_WORD);
			if (!err)
				err = rdf_test_tell(l, l->mr_data, WHAT_DATA);
			if (err)
				pr_err("cannot tell the peer its rights: %d\n", err);
		}
	}
	complete_all(&l->up);
}

static bool rdf_test_recv(struct rdf_link *link, struct rdf_rx *rx)
{
	struct rdf_test_link *l = rdf_link_ctx(link);
	const struct rdl_msg_opened *opened = rdl_msg_cpayload(rx->msg);

	switch (rx->msg->type) {
	case RDL_MSG_OPENED:
		if (le32_to_cpu(rx->msg->req) == WHAT_WORD) {
			l->word.addr = le64_to_cpu(opened->addr);
			l->word.rkey = le32_to_cpu(opened->rkey);
		} else {
			l->data.addr = le64_to_cpu(opened->addr);
			l->data.rkey = le32_to_cpu(opened->rkey);
			complete_all(&l->told);
		}
		return true;
	case RDL_MSG_HB:
		/* One completion queue, one handler at a time: no lock for @next. */
		if (le32_to_cpu(rx->msg->arg) != l->next)
			atomic_inc(&l->disordered);
		l->next = le32_to_cpu(rx->msg->arg) + 1;
		atomic_inc(&l->received);
		break;
	default:
		atomic_inc(&l->disordered);
		break;
	}
	if (!atomic_read(&l->ups))
		atomic_inc(&l->disordered);
	if (!READ_ONCE(rdf_test.keep))
		return true;
	spin_lock_bh(&l->lock);
	list_add_tail(&rx->node, &l->kept);
	spin_unlock_bh(&l->lock);
	return false;
}

static void rdf_test_down(struct rdf_link *link, int err)
{
	struct rdf_test_link *l = rdf_link_ctx(link);

	l->err = err;
	atomic_inc(&l->downs);
	/* The peer's queue pairs are gone: now, and not before, its rights may go. */
	if (!IS_ERR_OR_NULL(l->mr_word))
		rdf_mr_dereg(l->mr_word);
	if (!IS_ERR_OR_NULL(l->mr_data))
		rdf_mr_dereg(l->mr_data);
	l->mr_word = NULL;
	l->mr_data = NULL;
	complete_all(&l->down);
}

const struct rdf_link_ops rdf_test_link_ops = {
	.up = rdf_test_up,
	.recv = rdf_test_recv,
	.down = rdf_test_down,
};

int rdf_test_request(void *ctx, const struct rdf_hello *hello, struct rdf_link *link)
{
	struct rdf_test_link *l;

	if (READ_ONCE(rdf_test.refuse))
		return -READ_ONCE(rdf_test.refuse);
	l = rdf_test_link_new(true);
	if (!l)
		return -ENOSPC;
	l->link = rdf_link_get(link);
	rdf_link_set_owner(link, &rdf_test_link_ops, l);
	return 0;
}

/* Return: 0 when up and told, or what ->down() said. */
int rdf_test_connect(const struct sockaddr_storage *dst, u32 timeout_ms, u64 hash)
{
	struct rdf_hello hello = {
		.space_hash = cpu_to_le64(hash),
		.inc = cpu_to_le32(jiffies),
		.node = cpu_to_le16(1),
	};
	struct rdf_test_link *l = rdf_test_link_new(false);
	struct rdf_link *link;
	int i;

	if (!l)
		return -ENOSPC;
	link = rdf_link_connect(rdf_test.dom, dst, &hello, timeout_ms, &rdf_test_link_ops, l);
	if (IS_ERR(link)) {
		rdf_test.nr_links--;
		kfree(l);
		return PTR_ERR(link);
	}
	l->link = link;
	for (i = 0; i < (timeout_ms + 5000) / 20; i++) {
		if (completion_done(&l->down))
			return l->err;
		if (completion_done(&l->told) && completion_done(&l->up))
			return 0;
		msleep(20);
	}
	pr_err("neither up nor down\n");
	return -ETIME;
}

int rdf_test_messages(struct rdf_test_link *l, u32 n)
{
	struct rdl_msg msg = { .type = RDL_MSG_HB };
	int err;

	while (n--) {
		msg.arg = cpu_to_le32(l->sent);
		err = rdf_send(l->link, &msg, sizeof(msg));
		if (err)
			return err;
		l->sent++;
	}
	return 0;
}

int rdf_test_received(struct rdf_test_link *l, u32 n, u32 ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(ms);

	while (atomic_read(&l->received) < n) {
		if (time_after(jiffies, end)) {
			pr_err("%d of %u messages came\n", atomic_read(&l->received), n);
			return -ETIME;
		}
		msleep(20);
	}
	return atomic_read(&l->disordered) ? -EPROTO : 0;
}

void rdf_test_release_kept(struct rdf_test_link *l)
{
	struct rdf_rx *rx;

	for (;;) {
		spin_lock_bh(&l->lock);
		rx = list_first_entry_or_null(&l->kept, struct rdf_rx, node);
		if (rx)
			list_del_init(&rx->node);
		spin_unlock_bh(&l->lock);
		if (!rx)
			return;
		rdf_rx_done(rx);
	}
}

void rdf_test_links_free(void)
{
	int i;

	for (i = 0; i < rdf_test.nr_links; i++)
		rdf_link_kill(rdf_test.links[i]->link, -ESHUTDOWN);
	for (i = 0; i < rdf_test.nr_links; i++) {
		struct rdf_test_link *l = rdf_test.links[i];

		rdf_link_wait_dead(l->link);
		if (atomic_read(&l->downs) != 1)
			pr_err("BUG: link %d heard of its end %d times\n", i, atomic_read(&l->downs));
		/* After the end: buffers that were kept may still be given back. */
		rdf_test_release_kept(l);
		rdf_link_put(l->link);
		kfree(l);
		rdf_test.links[i] = NULL;
	}
	rdf_test.nr_links = 0;
}
