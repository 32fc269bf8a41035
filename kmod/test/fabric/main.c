// SPDX-License-Identifier: GPL-2.0
/*
 * Commands and status of rdf_test.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>

#include "test.h"

struct rdf_test rdf_test;
static struct dentry *rdf_test_dir;
static struct workqueue_struct *rdf_test_wq;
static struct work_struct rdf_test_gone_work;

/* ---- the domain ---- */

static void rdf_test_close(void)
{
	if (!rdf_test.dom)
		return;
	if (rdf_test.listener)
		rdf_listener_stop(rdf_test.listener);
	rdf_test.listener = NULL;
	rdf_test_links_free();
	if (rdf_test.own_word)
		rdf_mr_dereg(rdf_test.own_word);
	if (rdf_test.own_data)
		rdf_mr_dereg(rdf_test.own_data);
	if (rdf_test.words)
		rdf_mem_free(rdf_test.words);
	if (rdf_test.data)
		rdf_mem_free(rdf_test.data);
	rdf_test.own_word = NULL;
	rdf_test.own_data = NULL;
	rdf_test.words = NULL;
	rdf_test.data = NULL;
	rdf_dom_destroy(rdf_test.dom);
	rdf_test.dom = NULL;
}

static void rdf_test_gone_fn(struct work_struct *work)
{
	mutex_lock(&rdf_test.mutex);
	rdf_test_close();
	mutex_unlock(&rdf_test.mutex);
}

static void rdf_test_device_gone(struct rdf_dom *dom)
{
	atomic_inc(&rdf_test.gone);
	queue_work(rdf_test_wq, &rdf_test_gone_work);
}

static const struct rdf_dom_ops rdf_test_dom_ops = {
	.device_gone = rdf_test_device_gone,
};

static int rdf_test_addr(const char *host, const char *port, struct sockaddr_storage *addr)
{
	return inet_pton_with_scope(&init_net, AF_UNSPEC, host, port, addr);
}

static int rdf_test_home(const struct sockaddr_storage *addr)
{
	int err;

	if (rdf_test.dom)
		return -EBUSY;
	rdf_test.dom = rdf_dom_create(&init_net, addr, RDF_DOM_HOME | rdf_test.backend, 5000, &rdf_test_dom_ops, NULL);
	if (IS_ERR(rdf_test.dom)) {
		err = PTR_ERR(rdf_test.dom);
		rdf_test.dom = NULL;
		return err;
	}
	rdf_test.words = rdf_mem_alloc(rdf_test.dom, PAGE_SIZE);
	rdf_test.data = rdf_mem_alloc(rdf_test.dom, RDF_TEST_DATA);
	if (IS_ERR(rdf_test.words) || IS_ERR(rdf_test.data))
		return -ENOMEM;
	rdf_test.own_word = rdf_mr_reg(rdf_test.words, RDF_ACCESS_ATOMIC);
	rdf_test.own_data = rdf_mr_reg(rdf_test.data, RDF_ACCESS_DATA);
	if (IS_ERR(rdf_test.own_word) || IS_ERR(rdf_test.own_data))
		return -EIO;
	rdf_test.listener = rdf_listen(rdf_test.dom, addr, RDF_TEST_HASH, rdf_test_request, NULL);
	if (IS_ERR(rdf_test.listener)) {
		err = PTR_ERR(rdf_test.listener);
		rdf_test.listener = NULL;
		return err;
	}
	return 0;
}

static int rdf_test_node(const struct sockaddr_storage *addr)
{
	struct rdf_dom *dom;

	if (rdf_test.dom)
		return -EBUSY;
	dom = rdf_dom_create(&init_net, addr, 0, 5000, &rdf_test_dom_ops, NULL);
	if (IS_ERR(dom))
		return PTR_ERR(dom);
	rdf_test.dom = dom;
	return 0;
}

/* ---- commands ---- */

#define RDF_TEST_ARGS 6

static u64 rdf_test_num(char **argv, int i, u64 other)
{
	u64 n;

	return argv[i] && !kstrtou64(argv[i], 0, &n) ? n : other;
}

static struct rdf_test_link *rdf_test_nth(char **argv, int i)
{
	u64 n = rdf_test_num(argv, i, 0);

	return n < rdf_test.nr_links ? rdf_test.links[n] : NULL;
}

static int rdf_test_wait(struct completion *c, char **argv)
{
	return wait_for_completion_timeout(c, msecs_to_jiffies(rdf_test_num(argv, 2, 15000))) ? 0 : -ETIME;
}

/* Commands on one link: NAME LINK [ARGUMENT...] */
static int rdf_test_link_command(char **argv)
{
	struct rdf_test_link *l = rdf_test_nth(argv, 1);
	const char *cmd = argv[0];
	u32 n = rdf_test_num(argv, 2, 1);
	struct rdf_test_target t;
	struct rdf_addr to;

	if (!l)
		return -ENOENT;
	t = (struct rdf_test_target){ .link = l->link, .word = l->word, .data = l->data };
	/* contract LINK NAME: see contract.c; refusal LINK HOW */
	if (!strcmp(cmd, "contract"))
		return argv[2] ? rdf_test_contract(&t, argv[2]) : -EINVAL;
	if (!strcmp(cmd, "refusal"))
		return rdf_test_refusal(&t, n);
	if (!strcmp(cmd, "up"))
		return rdf_test_wait(&l->up, argv);
	if (!strcmp(cmd, "down"))
		return rdf_test_wait(&l->down, argv) ?: l->err;
	if (!strcmp(cmd, "kill")) {
		rdf_link_kill(l->link, -ECANCELED);
		return 0;
	}
	if (!strcmp(cmd, "send"))
		return rdf_test_messages(l, n);
	if (!strcmp(cmd, "received"))
		return rdf_test_received(l, n, rdf_test_num(argv, 3, 30000));
	if (!strcmp(cmd, "release")) {
		rdf_test_release_kept(l);
		return 0;
	}
	/* FAA by 1 on the peer's word, FAA N WINDOW */
	if (!strcmp(cmd, "faa"))
		return rdf_test_run(l->link, RDF_OP_FAA, l->word, n, rdf_test_num(argv, 3, 8));
	if (!strcmp(cmd, "read"))
		return rdf_test_run(l->link, RDF_OP_READ, l->data, n, rdf_test_num(argv, 3, 8));
	if (!strcmp(cmd, "badkey")) {
		to = l->word;
		to.rkey ^= 0x3f;
		return rdf_test_op(l->link, RDF_OP_FAA, to, 1, 0, NULL);
	}
	/* The key that the peer gave on another, older link */
	if (!strcmp(cmd, "oldkey")) {
		struct rdf_test_link *old = rdf_test_nth(argv, 2);

		return old ? rdf_test_op(l->link, RDF_OP_FAA, old->word, 1, 0, NULL) : -ENOENT;
	}
	if (!strcmp(cmd, "writeword"))
		return rdf_test_run(l->link, RDF_OP_WRITE, l->word, 1, 1);
	/* inject LINK CHANNEL EVENT */
	if (!strcmp(cmd, "inject"))
		return rdf_test_inject(l->link, n, rdf_test_num(argv, 3, 0));
	/* qpevent LINK CHANNEL EVENT */
	if (!strcmp(cmd, "qpevent"))
		return rdf_test_qp_event(l->link, n, rdf_test_num(argv, 3, 0));
	/* wc LINK STATUS [STATUS] */
	if (!strcmp(cmd, "wc"))
		return rdf_test_wc(l->link, n, rdf_test_num(argv, 3, 0));
	/* answers LINK 0|1: the passive end has no buffers for them; it has them again */
	if (!strcmp(cmd, "answers"))
		return rdf_test_hold_answers(l->link, !n);
	/* badrpc LINK HOW: a wrong request, or from the passive end a wrong answer */
	if (!strcmp(cmd, "badrpc"))
		return rdf_test_bad_rpc(l->link, l->word, n);
	/* badmsg LINK HOW */
	if (!strcmp(cmd, "badmsg"))
		return rdf_test_bad_message(l->link, n);
	return -ENOTTY;
}

static int rdf_test_command(char **argv)
{
	const char *cmd = argv[0];
	struct sockaddr_storage addr;

	if (!strcmp(cmd, "home") || !strcmp(cmd, "node")) {
		if (!argv[1] || !argv[2] || rdf_test_addr(argv[1], argv[2], &addr))
			return -EINVAL;
		return *cmd == 'h' ? rdf_test_home(&addr) : rdf_test_node(&addr);
	}
	/* backend auto|nic|rpc: of the next home */
	if (!strcmp(cmd, "backend")) {
		if (!argv[1])
			return -EINVAL;
		rdf_test.backend = *argv[1] == 'n' ? RDF_DOM_NIC : *argv[1] == 'r' ? RDF_DOM_RPC : 0;
		return 0;
	}
	if (!strcmp(cmd, "close")) {
		rdf_test_close();
		return 0;
	}
	if (!strcmp(cmd, "refuse")) {
		WRITE_ONCE(rdf_test.refuse, rdf_test_num(argv, 1, 0));
		return 0;
	}
	if (!strcmp(cmd, "keep")) {
		WRITE_ONCE(rdf_test.keep, rdf_test_num(argv, 1, 1));
		return 0;
	}
	if (!strcmp(cmd, "matrix"))
		return rdf_test_matrix();
	if (!rdf_test.dom)
		return -ENODEV;
	/* stranger ADDRESS PORT HOW */
	if (!strcmp(cmd, "stranger")) {
		if (!argv[1] || !argv[2] || rdf_test_addr(argv[1], argv[2], &addr))
			return -EINVAL;
		return rdf_test_stranger(rdf_test.dom, &addr, rdf_test_num(argv, 3, 0));
	}
	if (!strcmp(cmd, "loop"))
		return argv[1] ? rdf_test_loop(argv[1]) : -EINVAL;
	/* connect ADDRESS PORT [MS [HASH]] */
	if (!strcmp(cmd, "connect")) {
		if (!argv[1] || !argv[2] || rdf_test_addr(argv[1], argv[2], &addr))
			return -EINVAL;
		return rdf_test_connect(&addr, rdf_test_num(argv, 3, RDF_CONNECT_MS),
					rdf_test_num(argv, 4, RDF_TEST_HASH));
	}
	/* The home's own FAA on the word that it gives its peers */
	if (!strcmp(cmd, "ownfaa")) {
		if (!rdf_dom_loop(rdf_test.dom))
			return -ENODEV;
		return rdf_test_run(rdf_dom_loop(rdf_test.dom), RDF_OP_FAA, rdf_mr_addr(rdf_test.own_word),
				    rdf_test_num(argv, 1, 1), rdf_test_num(argv, 2, 8));
	}
	if (!strcmp(cmd, "value")) {
		if (!rdf_dom_loop(rdf_test.dom))
			return -ENODEV;
		return rdf_test_op(rdf_dom_loop(rdf_test.dom), RDF_OP_FAA, rdf_mr_addr(rdf_test.own_word), 0, 0,
				   &rdf_test.value);
	}
	return rdf_test_link_command(argv);
}

static ssize_t rdf_test_cmd_write(struct file *file, const char __user *buf, size_t count, loff_t *pos)
{
	char *argv[RDF_TEST_ARGS + 1] = { }, *text, *word, *rest;
	int n = 0, err = -EINVAL;

	if (count > 200)
		return -E2BIG;
	text = memdup_user_nul(buf, count);
	if (IS_ERR(text))
		return PTR_ERR(text);
	rest = strim(text);
	while ((word = strsep(&rest, " ")) && n < RDF_TEST_ARGS)
		if (*word)
			argv[n++] = word;
	if (n) {
		/* These come while another waits; the scenario closes nothing meanwhile. */
		bool alone = strcmp(argv[0], "kill") && strcmp(argv[0], "wc");

		if (alone)
			mutex_lock(&rdf_test.mutex);
		err = rdf_test_command(argv);
		if (alone)
			mutex_unlock(&rdf_test.mutex);
	}
	kfree(text);
	return err ?: count;
}

static const struct file_operations rdf_test_cmd_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = rdf_test_cmd_write,
	.llseek = noop_llseek,
};

static int rdf_test_status_show(struct seq_file *m, void *v)
{
	int i;

	mutex_lock(&rdf_test.mutex);
	seq_printf(m, "dom=%s\n", rdf_test.dom ? rdf_dom_dev_name(rdf_test.dom) : "none");
	if (rdf_test.dom)
		seq_printf(m, "backend=%s\n", rdf_dom_backend(rdf_test.dom) == RDL_BACKEND_NIC ? "nic" : "rpc");
	seq_printf(m, "gone=%d\nlinks=%d\n", atomic_read(&rdf_test.gone), rdf_test.nr_links);
	seq_printf(m, "ok=%llu\nfailed=%llu\nambiguous=%llu\nrefused=%llu\n", rdf_test.ok, rdf_test.failed,
		   rdf_test.ambiguous, rdf_test.refused);
	seq_printf(m, "value=%llu\n", rdf_test.value);
	for (i = 0; rdf_test.dom && i < RDF_NR_STATS; i++)
		seq_printf(m, "stat_%s=%llu\n", rdf_stat_name(i), rdf_dom_stat(rdf_test.dom, i));
	for (i = 0; i < rdf_test.nr_links; i++) {
		struct rdf_test_link *l = rdf_test.links[i];

		seq_printf(m, "link%d_ups=%d\nlink%d_downs=%d\nlink%d_err=%d\n", i, atomic_read(&l->ups), i,
			   atomic_read(&l->downs), i, l->err);
		seq_printf(m, "link%d_received=%d\nlink%d_disordered=%d\n", i, atomic_read(&l->received), i,
			   atomic_read(&l->disordered));
	}
	mutex_unlock(&rdf_test.mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(rdf_test_status);

static int __init rdf_test_init(void)
{
	int err;

	mutex_init(&rdf_test.mutex);
	rdf_test.backend = RDF_DOM_NIC;
	INIT_WORK(&rdf_test_gone_work, rdf_test_gone_fn);
	rdf_test_wq = alloc_workqueue("rdf_test", WQ_UNBOUND, 0);
	if (!rdf_test_wq)
		return -ENOMEM;
	err = rdf_init();
	if (err) {
		destroy_workqueue(rdf_test_wq);
		return err;
	}
	rdf_test_dir = debugfs_create_dir("rdf_test", NULL);
	debugfs_create_file("cmd", 0200, rdf_test_dir, NULL, &rdf_test_cmd_fops);
	debugfs_create_file("status", 0400, rdf_test_dir, NULL, &rdf_test_status_fops);
	return 0;
}

static void __exit rdf_test_exit(void)
{
	debugfs_remove(rdf_test_dir);
	mutex_lock(&rdf_test.mutex);
	rdf_test_close();
	mutex_unlock(&rdf_test.mutex);
	rdf_exit();
	destroy_workqueue(rdf_test_wq);
}

module_init(rdf_test_init);
module_exit(rdf_test_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Contract test of rdlock's RDMA fabric");
