/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The home of a space: memory for the words (chunk.c) and what stands behind them (body.c), the keys in it (home.c),
 * the nodes that use them (member.c), the recovery of locks (recovery.c), and what tells that one is needed (query.c).
 *
 * Execution: all decisions are made by items on home->wq, an ordered queue, under home->mutex, one at a time; so the
 * code reads like a single thread. Only heartbeats are answered at once, in softirq, because nothing may delay them.
 */
#ifndef RDLOCK_HOME_H
#define RDLOCK_HOME_H

#include <linux/completion.h>
#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "core/core.h"
#include "core/slot.h"
#include "fabric/fabric.h"

struct rdlock_space;
struct seq_file;

#define RDLOCK_CHUNK_WORDS	(PAGE_SIZE / sizeof(u64) < RDL_CELLS_MAX ? PAGE_SIZE / sizeof(u64) : RDL_CELLS_MAX)
#define RDLOCK_CHUNK_BODIES	32768	/* bytes, unless one body has more */

/**
 * struct rdlock_chunk - one page of words or of counter cells
 * @no: its number, "table" on the wire
 * @obj: enum rdl_obj: what lives in it
 * @stride: bytes of the body behind each word, and of a big value behind that: rdlock_body_stride(); 0: counters, and
 *   kinds without
 * @nr_words: words that it has a body for; without bodies all
 * @mem, @self_mr: memory, and the home's own right to it over the loopback pair
 * @bodies, @bodies_mr: the same of the bodies, NULL: none
 * @used: cells given out, a prefix (counters)
 * @nr_used: words in use (locks)
 * @key: the key of each word, NULL: free; of a counter at its first cell
 */
struct rdlock_chunk {
	u32 no;
	u8 obj;
	u32 stride;
	u32 nr_words;
	struct rdf_mem *mem;
	struct rdf_mr *self_mr;
	struct rdf_mem *bodies;
	struct rdf_mr *bodies_mr;
	u32 used;
	u32 nr_used;
	struct rdlock_key *key[RDL_CELLS_MAX];
};

/**
 * struct rdlock_key - a lock or counter that somebody has open
 * @hash: in home->keys
 * @openers: nodes that have it open
 * @props: RDL_P_*; @value_size: bytes. Like @kind fixed by who opens it first.
 * @dead: robust: RDL_VF_DEAD in this epoch
 * @epoch: of the lock
 * @rec: recovery in progress, NULL: none; @asked: how often those were asked again who had not claimed
 * @claimed: the values that came with its claims, by node; NULL: the lock has none, or a big one
 * @query: the openers are being asked for their state, NULL: no
 * @parked: opens that wait for its end (struct rdlock_parked)
 * @again, @again_clear: another recovery was asked for meanwhile (with attention to be cleared)
 * @died: an opener was evicted and the recovery that follows could not be begun yet
 */
struct rdlock_key {
	struct hlist_node hash;
	u8 obj;
	u8 kind;
	u8 props;
	u8 dead;
	u8 len;
	u8 name[RDL_KEY_MAX];
	u32 value_size;
	u32 cells;
	struct rdlock_chunk *chunk;
	u32 index;
	u32 epoch;
	u64 openers[RDL_MAX_NODES / 64];
	struct rdl_recover *rec;
	u8 (*claimed)[RDL_VALUE_MAX];
	struct rdlock_query *query;
	struct list_head parked;
	bool again;
	bool again_clear;
	bool died;
	u32 asked;
};

/* A peer's link, from the request to its death. */
struct rdlock_peer {
	struct list_head list;		/* home->peers; home->lock */
	struct rdlock_home *home;
	struct rdf_link *link;		/* referenced */
	u16 node;
	u32 inc;
	bool said_hello;		/* home->mutex */
	struct rdlock_member *member;	/* set when welcomed; home->lock */
	struct xarray mrs;		/* chunk number -> rdf_mr of its words; home->mutex */
	struct xarray body_mrs;		/* the same of its bodies */
	struct work_struct dead_work;
	struct delayed_work hello_work;	/* it may have died before it said who it is */
};

/* A node of the space, from its first welcome to its eviction or good-bye. */
struct rdlock_member {
	u16 node;
	u32 inc;
	u64 session;
	u64 known;			/* the last that it has shown to know: a WELCOME may be lost; home->mutex */
	struct rdlock_home *home;
	struct rdlock_peer *peer;	/* NULL: no link; home->lock */
	struct rdlock_peer *next;	/* said HELLO while the old link still dies; home->mutex */
	u64 next_resume;		/* what it asked for */
	u64 last_hb;			/* boottime ns; home->lock */
	bool closed;			/* no heartbeat is answered any more; home->lock */
	bool evicted;			/* that was counted; home->mutex */
	u32 forgotten;			/* buckets of home->keys that do not name it any more; home->mutex */
	bool leaving;			/* said BYE; home->mutex */
	struct delayed_work evict_work;
};

/**
 * struct rdlock_home - see above
 * @lock: protects what names it; BH off; inside no other lock but the fabric's
 * @mutex: held by every item on @wq, and by dumps
 * @rx: messages to be handled (struct rdf_rx.node). Protected by @lock.
 * @high_epoch, @high_ticket: highest of any freed word, where the next one starts (tokens of a reopened key go on
 *   growing)
 * @nr_recs: keys with a recovery in progress
 * @next_ask: boottime ns when those who have not claimed are asked again; @hurried: @retry_work comes soon; @retry_at:
 *   the bucket of @keys with which it begins
 * @op, @op_done: the one loopback operation at a time
 * @buf: its memory, room for the largest body; @piece: for a piece of a big value
 */
struct rdlock_home {
	struct rdlock_space *space;
	struct workqueue_struct *wq;
	struct mutex mutex;
	spinlock_t lock;
	struct rdf_listener *listener;

	struct list_head rx;
	struct work_struct rx_work;
	struct list_head peers;
	wait_queue_head_t peers_wq;
	struct rdlock_member *member[RDL_MAX_NODES];	/* read under mutex or lock, written under both */
	unsigned int nr_members;
	u64 sessions;

	struct xarray chunks;
	u32 nr_chunks;
	DECLARE_HASHTABLE(keys, 10);
	u32 nr_keys;
	u32 high_epoch;
	u32 high_ticket;
	struct delayed_work retry_work;
	u32 nr_recs;
	u64 next_ask;
	bool hurried;
	u32 retry_at;

	struct rdf_op op;
	struct completion op_done;
	struct rdl_body *buf;
	void *piece;
	bool closing;		/* the members are told; mutex */
	bool stopping;		/* no peer is left; mutex */
	bool broken;		/* the loopback pair failed: no word can be changed any more */
};

/* home.c */
int rdlock_home_start(struct rdlock_space *space);
/* No peer, no work of it running afterwards; the memory is freed. Context: process, bounded. */
void rdlock_home_stop(struct rdlock_space *space);
void rdlock_home_free(struct rdlock_space *space);
/* A message of this node to itself. Context: any. */
int rdlock_home_local(struct rdlock_space *space, const struct rdl_msg *msg, u32 len);
unsigned int rdlock_home_members(struct rdlock_space *space);
void rdlock_home_show(struct seq_file *m, struct rdlock_home *home);

/* inside: home->mutex is held for all of these */
void rdlock_home_send(struct rdlock_home *home, u16 node, struct rdl_msg *msg, u32 len);
/* @link is dead: what came over it before is handled now, nothing afterwards. */
void rdlock_home_rx_end(struct rdlock_home *home, struct rdf_link *link);
/*
 * @node is gone for good: close what it had open, recover what it held; a part of it, from @bucket of home->keys on,
 * which is moved. True: there is more.
 */
bool rdlock_home_forget(struct rdlock_home *home, u16 node, u32 *bucket);
void rdlock_key_maybe_free(struct rdlock_home *home, struct rdlock_key *key);
void rdlock_key_unpark(struct rdlock_home *home, struct rdlock_key *key, int err);

/* chunk.c */
int rdlock_slot_alloc(struct rdlock_home *home, struct rdlock_key *key);
void rdlock_slot_free(struct rdlock_home *home, struct rdlock_key *key);
void rdlock_chunks_free(struct rdlock_home *home);
struct rdlock_chunk *rdlock_chunk_find(struct rdlock_home *home, u32 no);
/* The rights of a peer (NULL: this node) to @chunk, made on first use: to its words, and to its bodies if there are. */
int rdlock_chunk_right(struct rdlock_chunk *chunk, struct rdlock_peer *peer, struct rdf_addr *words,
		       struct rdf_addr *bodies);
/* Loopback operations on a word, waited for. -EIO: the space is broken. */
int rdlock_word_cas(struct rdlock_home *home, struct rdlock_key *key, u64 cmp, u64 swap, u64 *old);
int rdlock_word_read(struct rdlock_home *home, struct rdlock_key *key, u64 *old);
u32 rdlock_next_epoch(u32 epoch);
bool rdlock_epochs_over(struct rdlock_home *home, u32 epoch);

/* body.c: value and board of kinds with a queue. The lock is frozen, or nobody has it. -EIO: the space is broken. */
u32 rdlock_body_size(struct rdlock_home *home, u8 kind);
u32 rdlock_body_slots(struct rdlock_home *home, u8 kind);
u32 rdlock_body_stride(struct rdlock_home *home, const struct rdlock_key *key);
/*
 * One operation of @len bytes between @buf and the body, from @off on; rdlock_loop_rw() in chunk.c tries again as for a
 * word.
 */
int rdlock_loop_rw(struct rdlock_home *home, struct rdlock_key *key, bool write, void *buf, u32 off, u32 len);
/* What a recovery must know of the body; the value stays in home->buf until rdlock_body_store(). */
int rdlock_body_load(struct rdlock_home *home, struct rdlock_key *key, struct rdl_recover *r);
int rdlock_body_store(struct rdlock_home *home, struct rdlock_key *key, const struct rdl_recover *r);
int rdlock_body_clear(struct rdlock_home *home, struct rdlock_key *key);

/* query.c: is anybody there who can give a waiter its turn? */
void rdlock_query(struct rdlock_home *home, struct rdlock_key *key, u16 node);
void rdlock_query_stat(struct rdlock_home *home, struct rdlock_key *key, u16 node, const struct rdl_msg *msg);
/* What was answered so far says nothing any more: an opener went, or the lock is recovered. */
void rdlock_query_end(struct rdlock_key *key);

/* member.c */
int rdlock_member_request(void *ctx, const struct rdf_hello *hello, struct rdf_link *link);
void rdlock_member_hello(struct rdlock_peer *peer, const struct rdl_msg *msg);
void rdlock_member_bye(struct rdlock_peer *peer);
/* It lives, but does not answer: cut off and forgotten. */
void rdlock_member_evict(struct rdlock_home *home, u16 node);
void rdlock_members_stop(struct rdlock_home *home);
void rdlock_members_show(struct seq_file *m, struct rdlock_home *home);

/* recovery.c */
/* @clear: a dead owner's notice was delivered; @settled: RDL_VF_* that were, of kinds with a queue */
void rdlock_recover(struct rdlock_home *home, struct rdlock_key *key, bool died, bool clear, u8 settled);
void rdlock_recover_claim(struct rdlock_home *home, struct rdlock_key *key, u16 node, const struct rdl_msg *msg);
void rdlock_recover_gone(struct rdlock_home *home, struct rdlock_key *key, u16 node, bool died);
/* Tell @node, which opened again, that its claim is still wanted. */
void rdlock_recover_remind(struct rdlock_home *home, struct rdlock_key *key, u16 node);
void rdlock_recover_retry(struct work_struct *work);
/* Its memory; not the lock's recovery, which must be over. */
void rdlock_recover_free(struct rdlock_home *home, struct rdlock_key *key);

static inline bool rdlock_key_open_by(const struct rdlock_key *key, u16 node)
{
	return key->openers[node / 64] >> (node % 64) & 1;
}

#endif /* RDLOCK_HOME_H */
