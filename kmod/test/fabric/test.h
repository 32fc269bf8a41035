/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rdf_test: one domain, a table of links, and commands that a scenario writes to /sys/kernel/debug/rdf_test/cmd. A
 * command's result is the error of the write; numbers are read from /sys/kernel/debug/rdf_test/status.
 */
#ifndef RDF_TEST_H
#define RDF_TEST_H

#include <linux/completion.h>
#include <linux/mutex.h>

#include "../../fabric/fabric.h"
#include "cases.h"

#undef pr_fmt
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#define RDF_TEST_LINKS	16
#define RDF_TEST_HASH	0x7264667465737421ull
#define RDF_TEST_DATA	(RDF_RW_MAX + PAGE_SIZE)
#define RDF_TEST_MS	60000

struct rdf_test_link {
	struct rdf_link *link;
	bool passive;
	struct completion up;
	struct completion down;
	atomic_t ups;
	atomic_t downs;
	int err;
	/* what the peer said: its word and its data */
	struct rdf_addr word;
	struct rdf_addr data;
	struct completion told;
	/* messages */
	atomic_t received;
	atomic_t disordered;
	u32 next;
	u32 sent;
	spinlock_t lock;
	struct list_head kept;		/* protected by @lock */
	/* passive: the peer's rights */
	struct rdf_mr *mr_word;
	struct rdf_mr *mr_data;
};

struct rdf_test {
	struct mutex mutex;		/* one command at a time */
	struct rdf_dom *dom;
	struct rdf_listener *listener;
	struct rdf_mem *words;
	struct rdf_mem *data;
	struct rdf_mr *own_word;	/* the home's own rights */
	struct rdf_mr *own_data;
	struct rdf_test_link *links[RDF_TEST_LINKS];
	int nr_links;
	unsigned int backend;		/* RDF_DOM_* of the next home */
	int refuse;			/* errno with which requests are refused */
	bool keep;			/* ->recv() keeps what it gets */
	atomic_t gone;			/* device_gone calls */
	/* of the last run of operations */
	u64 ok;
	u64 failed;
	u64 ambiguous;
	u64 refused;
	u64 value;
};

extern struct rdf_test rdf_test;

/*
 * A run of operations: @window of them in flight, each posted again from its own completion until @total were posted.
 */
struct rdf_test_run {
	struct rdf_link *link;
	struct rdf_addr to;
	enum rdf_opcode opcode;
	spinlock_t lock;
	u32 left;			/* protected by @lock */
	u32 busy;			/* protected by @lock */
	u64 outcomes[RDF_AMBIGUOUS + 1];	/* protected by @lock */
	u64 refused;			/* protected by @lock */
	u64 twice;			/* protected by @lock */
	struct completion done;
	struct rdf_test_op *ops;
};

struct rdf_test_op {
	struct rdf_op op;
	struct rdf_test_run *run;
	bool busy;
	u64 buf;
};

/* A link, and what of the home's memory may be used through it. */
struct rdf_test_target {
	struct rdf_link *link;
	struct rdf_addr word;
	struct rdf_addr data;
};

struct rdf_test_hands {
	struct rdf_case c;
	struct rdf_test_target t;
};

void rdf_test_hands_init(struct rdf_test_hands *h, const struct rdf_test_target *t);
int rdf_test_run(struct rdf_link *link, enum rdf_opcode opcode, struct rdf_addr to, u32 total, u32 window);
int rdf_test_op(struct rdf_link *link, enum rdf_opcode opcode, struct rdf_addr to, u64 a, u64 b, u64 *old);
int rdf_test_rw(struct rdf_link *link, bool write, struct rdf_addr to, void *buf, u32 len);
int rdf_test_loop(const char *name);
int rdf_test_contract(struct rdf_test_target *t, const char *name);
int rdf_test_refusal(struct rdf_test_target *t, unsigned int how);

int rdf_test_matrix(void);
int rdf_test_inject(struct rdf_link *link, int c, int event);
int rdf_test_qp_event(struct rdf_link *link, int c, int event);
int rdf_test_wc(struct rdf_link *link, int first, int second);
int rdf_test_bad_message(struct rdf_link *link, int how);
int rdf_test_hold_answers(struct rdf_link *link, bool hold);
int rdf_test_bad_rpc(struct rdf_link *link, struct rdf_addr to, int how);
int rdf_test_stranger(struct rdf_dom *dom, const struct sockaddr_storage *dst, int how);

extern const struct rdf_link_ops rdf_test_link_ops;

struct rdf_test_link *rdf_test_link_new(bool passive);
int rdf_test_request(void *ctx, const struct rdf_hello *hello, struct rdf_link *link);
int rdf_test_connect(const struct sockaddr_storage *dst, u32 timeout_ms, u64 hash);
int rdf_test_messages(struct rdf_test_link *l, u32 n);
int rdf_test_received(struct rdf_test_link *l, u32 n, u32 ms);
void rdf_test_release_kept(struct rdf_test_link *l);
void rdf_test_links_free(void);

#endif /* RDF_TEST_H */
