// SPDX-License-Identifier: GPL-2.0
/*
 * The home of a space: keys, messages, start and stop.
 */
#include <linux/errno.h>
#include <linux/jhash.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "block.h"
#include "home.h"
#include "main.h"
#include "session.h"
#include "space.h"
#include "stats.h"

#define RX_BATCH	64	/* messages handled in one go */
#define FORGET_BATCH	64	/* locks that a dead node had open, likewise */

/* An open that waits until the lock's recovery is over. */
struct rdlock_parked {
	struct list_head list;
	u16 node;
	u32 inc;
	u32 req;
};

/* ---- messages out ---- */

/* Sent to a node without a link it is lost: the node opens again when it is back, and is told then. */
void rdlock_home_send(struct rdlock_home *home, u16 node, struct rdl_msg *msg, u32 len)
{
	struct rdlock_space *space = home->space;
	struct rdf_link *link = NULL;
	struct rdlock_member *m;
	int err;

	lockdep_assert_held(&home->mutex);
	msg->src = cpu_to_le16(space->node);
	msg->src_inc = cpu_to_le32(space->session.inc);
	if (node == space->node) {
		msg->dst_inc = msg->src_inc;
		rdlock_session_recv(space, msg, len);
		return;
	}
	m = home->member[node];
	if (!m)
		return;
	msg->dst_inc = cpu_to_le32(m->inc);
	spin_lock_bh(&home->lock);
	if (m->peer)
		link = rdf_link_get(m->peer->link);
	spin_unlock_bh(&home->lock);
	if (!link)
		return;
	/*
	 * All of it answers what the node itself has said or opened: it must not be able to have it pile up here by
	 * taking nothing. What cannot be queued would be lost without trace on a live link: break it, the node then
	 * asks again. What is said again by itself may be lost.
	 */
	err = rdf_send_lossy(link, msg, len);
	if (err && (err != -ENOBUFS || (msg->type != RDL_MSG_FREEZE && msg->type != RDL_MSG_ASK)))
		rdf_link_kill(link, -ENOBUFS);
	rdf_link_put(link);
}

/* ---- keys ---- */

static u32 key_hash(u8 obj, const u8 *name, u32 len)
{
	return jhash(name, len, obj);
}

static struct rdlock_key *key_find(struct rdlock_home *home, u8 obj, const u8 *name, u32 len)
{
	struct rdlock_key *key;

	hash_for_each_possible(home->keys, key, hash, key_hash(obj, name, len))
		if (key->obj == obj && key->len == len && !memcmp(key->name, name, len))
			return key;
	return NULL;
}

static u8 kind_of(const struct rdlock_home *home, const struct rdl_msg_open *o)
{
	return o->kind ? o->kind : home->space->kind;
}

/* Those whose owner can be asked to give an idle lock up. */
static bool may_stick(u8 kind)
{
	return kind == RDL_KIND_FAIR || kind == RDL_KIND_MCS;
}

static bool sticky_of(const struct rdl_msg_open *o, u8 kind)
{
	return may_stick(kind) && !(o->flags & RDL_OPEN_NOT_STICKY);
}

/* Can there be such a lock? 0 or -EOPNOTSUPP. */
static int props_check(const struct rdlock_home *home, const struct rdl_msg_open *o)
{
	u8 kind = kind_of(home, o);

	if (!(RDLOCK_KINDS >> kind & 1) || le32_to_cpu(o->value_size) > RDL_BIG_MAX)
		return -EOPNOTSUPP;
	/* A spin lock has no body. */
	if (kind == RDL_KIND_SPIN && o->value_size)
		return -EOPNOTSUPP;
	return (o->flags & RDL_OPEN_STICKY) && !may_stick(kind) ? -EOPNOTSUPP : 0;
}

/*
 * Who opens a lock that exists must not want another. That it is robust must be said: who does not know could take the
 * notice of a death for a failure, and keep a lock that it does not know it has.
 */
static bool props_fit(const struct rdlock_key *key, const struct rdl_msg_open *o)
{
	u32 size = le32_to_cpu(o->value_size);
	bool sticky = key->props & RDL_P_STICKY;

	if (o->flags & RDL_OPEN_EXISTING)
		return true;
	if (!(o->flags & RDL_OPEN_ROBUST) != !(key->props & RDL_P_ROBUST))
		return false;
	if (o->kind && o->kind != key->kind)
		return false;
	if ((size || (o->flags & RDL_OPEN_EXACT)) && size != key->value_size)
		return false;
	return !(o->flags & (sticky ? RDL_OPEN_NOT_STICKY : RDL_OPEN_STICKY));
}

/*
 * What an opener is told of an error of the device: -ENOTCONN is of the loopback pair, which is made anew, not of the
 * session; else there was no room for another region or right.
 */
static int device_err(int err)
{
	if (!err || err == -ENOSPC)
		return err;
	return err == -ENOTCONN ? -EAGAIN : -ENOMEM;
}

static struct rdlock_key *key_make(struct rdlock_home *home, const struct rdl_msg_open *o)
{
	struct rdlock_key *key;
	int err;

	if (home->nr_keys >= READ_ONCE(rdlock_max_keys))
		return ERR_PTR(-ENOSPC);
	key = kzalloc(sizeof(*key), GFP_KERNEL);
	if (!key)
		return ERR_PTR(-ENOMEM);
	key->obj = o->obj;
	key->kind = o->obj == RDL_OBJ_COUNTER ? RDL_KIND_SPIN : kind_of(home, o);
	if (o->obj == RDL_OBJ_LOCK) {
		key->value_size = le32_to_cpu(o->value_size);
		key->props = (key->value_size ? RDL_P_VALUE : 0) | (sticky_of(o, key->kind) ? RDL_P_STICKY : 0) |
			     (o->flags & RDL_OPEN_ROBUST ? RDL_P_ROBUST : 0);
		key->props |= key->value_size > RDL_VALUE_MAX ? RDL_P_BIG : 0;
	}
	key->len = o->key_len;
	key->cells = le32_to_cpu(o->cells);
	memcpy(key->name, o->key, o->key_len);
	INIT_LIST_HEAD(&key->parked);
	err = device_err(rdlock_slot_alloc(home, key));
	if (err) {
		kfree(key);
		return ERR_PTR(err);
	}
	hash_add(home->keys, &key->hash, key_hash(key->obj, key->name, key->len));
	home->nr_keys++;
	return key;
}

static void key_free(struct rdlock_home *home, struct rdlock_key *key)
{
	struct rdlock_parked *p, *n;

	list_for_each_entry_safe(p, n, &key->parked, list)
		kfree(p);
	hash_del(&key->hash);
	home->nr_keys--;
	rdlock_recover_free(home, key);
	rdlock_query_end(key);
	kfree(key);
}

static bool key_has_openers(const struct rdlock_key *key)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(key->openers); i++)
		if (key->openers[i])
			return true;
	return false;
}

/*
 * A lock that nobody has open any more goes, a counter lives as long as the space. So does a robust lock whose owner
 * died, until somebody has said that it is whole: the last opener may have been that owner.
 */
void rdlock_key_maybe_free(struct rdlock_home *home, struct rdlock_key *key)
{
	u64 w;

	lockdep_assert_held(&home->mutex);
	if (key->obj != RDL_OBJ_LOCK || key_has_openers(key) || key->rec || key->again || !list_empty(&key->parked))
		return;
	if (rdlock_word_read(home, key, &w))
		return;
	/* Whoever was in the word is gone without having said so: rebuild it, which nobody has to answer to. */
	if (rdl_w_mid(w) || rdl_w_low(w) || rdl_w_frozen(w)) {
		rdlock_recover(home, key, true, false, 0);
		if (key->rec || key->again)
			return;
	}
	if (key->dead & RDL_VF_OWNER_DIED)
		return;
	rdlock_slot_free(home, key);
	key_free(home, key);
}

static struct rdlock_key *key_of(struct rdlock_home *home, const struct rdl_msg *msg)
{
	struct rdlock_chunk *c = rdlock_chunk_find(home, le32_to_cpu(msg->table));
	u32 i = le32_to_cpu(msg->lock);

	if (!c || c->obj != RDL_OBJ_LOCK || i >= c->nr_words)
		return NULL;
	return c->key[i];
}

/* ---- open and close ---- */

static void open_reply(struct rdlock_home *home, u16 node, u32 req, int err, struct rdlock_key *key)
{
	struct {
		struct rdl_msg h;
		struct rdl_msg_opened p;
	} m = { .h.type = RDL_MSG_OPENED };
	struct rdlock_peer *peer = NULL;
	struct rdf_addr addr = {}, body = {};

	if (!err && node != home->space->node) {
		peer = home->member[node] ? home->member[node]->peer : NULL;
		if (!peer)
			return;
	}
	if (!err)
		err = device_err(rdlock_chunk_right(key->chunk, peer, &addr, &body));
	m.h.req = cpu_to_le32(req);
	m.h.arg = cpu_to_le32(-err);
	if (!err) {
		key->openers[node / 64] |= 1ull << (node % 64);
		m.h.table = cpu_to_le32(key->chunk->no);
		m.h.lock = cpu_to_le32(key->index);
		m.h.epoch = cpu_to_le32(key->epoch);
		m.p.addr = cpu_to_le64(addr.addr + (u64)key->index * sizeof(u64));
		m.p.rkey = cpu_to_le32(addr.rkey);
		m.p.cells = cpu_to_le32(key->cells);
		m.p.kind = key->kind;
		m.p.props = key->props;
		m.p.vflags = key->dead;
		m.p.value_size = cpu_to_le32(key->value_size);
		m.p.slots = cpu_to_le16(rdlock_body_slots(home, key->kind));
		if (key->chunk->stride) {
			m.p.body = cpu_to_le64(body.addr + (u64)key->index * key->chunk->stride);
			m.p.body_rkey = cpu_to_le32(body.rkey);
		}
	} else {
		m.p.kind = RDL_KIND_SPIN;
	}
	rdlock_home_send(home, node, &m.h, sizeof(m));
}

/* @err: 0, the lock is recovered; -EAGAIN, it is not yet and the node had better ask again. */
void rdlock_key_unpark(struct rdlock_home *home, struct rdlock_key *key, int err)
{
	struct rdlock_parked *p, *n;

	list_for_each_entry_safe(p, n, &key->parked, list) {
		struct rdlock_member *m = home->member[p->node];

		list_del(&p->list);
		if (p->node == home->space->node || (m && m->inc == p->inc))
			open_reply(home, p->node, p->req, err, key);
		kfree(p);
	}
}

static int open_check(const struct rdlock_home *home, const struct rdl_msg_open *o, const struct rdlock_key *key)
{
	if (o->obj == RDL_OBJ_COUNTER) {
		if (!key)
			return o->cells ? 0 : -ENOENT;
		return !o->cells || le32_to_cpu(o->cells) == key->cells ? 0 : -EEXIST;
	}
	if (!key)
		return o->flags & RDL_OPEN_EXISTING ? -ENOENT : props_check(home, o);
	return props_fit(key, o) ? 0 : -EINVAL;
}

static void home_open(struct rdlock_home *home, u16 node, const struct rdl_msg *msg)
{
	const struct rdl_msg_open *o = rdl_msg_cpayload(msg);
	u32 req = le32_to_cpu(msg->req), inc = le32_to_cpu(msg->src_inc);
	struct rdlock_parked *park;
	struct rdlock_key *key;
	int err;

	key = key_find(home, o->obj, o->key, o->key_len);
	err = open_check(home, o, key);
	if (!err && !key) {
		key = key_make(home, o);
		err = PTR_ERR_OR_ZERO(key);
	}
	if (err) {
		open_reply(home, node, req, err, NULL);
		return;
	}
	if (key->rec && !rdlock_key_open_by(key, node)) {
		park = kzalloc(sizeof(*park), GFP_KERNEL);
		if (!park) {
			open_reply(home, node, req, -ENOMEM, NULL);
			return;
		}
		park->node = node;
		park->inc = inc;
		park->req = req;
		list_add_tail(&park->list, &key->parked);
		return;
	}
	/* A recovery is due, perhaps for the death of this very node, and could not be begun yet. */
	if (key->again && !rdlock_key_open_by(key, node)) {
		open_reply(home, node, req, -EAGAIN, NULL);
		return;
	}
	open_reply(home, node, req, 0, key);
	if (key->obj != RDL_OBJ_LOCK)
		return;
	/* In this order: the answer, then what the node is to do about it. */
	if (key->rec)
		rdlock_recover_remind(home, key, node);
	else if (o->flags & RDL_OPEN_AMBIG)
		rdlock_recover(home, key, false, false, 0);
	else
		rdlock_key_maybe_free(home, key);	/* the answer may have failed */
}

/* Can a node that is gone without a word still be in @word? A spin word names its owner, others only count. */
static bool may_be_in(const struct rdlock_key *key, u64 word, u16 node)
{
	if (key->kind == RDL_KIND_SPIN)
		return rdl_w_mid(word) == node + 1u;
	return rdl_w_mid(word) || rdl_w_low(word);
}

static void home_close(struct rdlock_home *home, struct rdlock_key *key, u16 node, bool died)
{
	u64 w;

	if (!rdlock_key_open_by(key, node))
		return;
	key->openers[node / 64] &= ~(1ull << (node % 64));
	if (key->obj != RDL_OBJ_LOCK)
		return;
	rdlock_query_end(key);
	if (key->rec)
		rdlock_recover_gone(home, key, node, died);
	else if (died && !rdlock_word_read(home, key, &w) && may_be_in(key, w, node))
		rdlock_recover(home, key, true, false, 0);
	rdlock_key_maybe_free(home, key);
}

/*
 * Each lock costs operations on the loopback pair, and the other nodes' messages must not wait for all of them: their
 * leases run.
 */
bool rdlock_home_forget(struct rdlock_home *home, u16 node, u32 *bucket)
{
	struct rdlock_parked *p, *pn;
	struct hlist_node *tmp;
	struct rdlock_key *key;
	unsigned int n = 0;

	lockdep_assert_held(&home->mutex);
	for (; *bucket < HASH_SIZE(home->keys); (*bucket)++) {
		hlist_for_each_entry_safe(key, tmp, &home->keys[*bucket], hash) {
			/* Those that are done do not name it any more, so the bucket may be begun again. */
			if (n >= FORGET_BATCH)
				return true;
			list_for_each_entry_safe(p, pn, &key->parked, list)
				if (p->node == node) {
					list_del(&p->list);
					kfree(p);
				}
			n += rdlock_key_open_by(key, node);
			home_close(home, key, node, true);
		}
	}
	return false;
}

/* ---- messages in ---- */

static void home_message(struct rdlock_home *home, u16 node, const struct rdl_msg *msg)
{
	struct rdlock_key *key;

	if (msg->type == RDL_MSG_OPEN) {
		home_open(home, node, msg);
		return;
	}
	key = key_of(home, msg);
	if (!key || !rdlock_key_open_by(key, node))
		goto bad;
	switch (msg->type) {
	case RDL_MSG_CLOSE:
		home_close(home, key, node, false);
		break;
	case RDL_MSG_CLAIM:
		rdlock_recover_claim(home, key, node, msg);
		rdlock_key_maybe_free(home, key);
		break;
	case RDL_MSG_ROLL_REQ:
		if (le32_to_cpu(msg->epoch) == key->epoch && !key->rec)
			rdlock_recover(home, key, false, false, 0);
		break;
	case RDL_MSG_QUERY:
		if (le32_to_cpu(msg->epoch) == key->epoch)
			rdlock_query(home, key, node);
		break;
	case RDL_MSG_STAT:
		rdlock_query_stat(home, key, node, msg);
		break;
	case RDL_MSG_CONSISTENT:
		/*
		 * In an epoch that is about to end it comes too late: the rebuild may bring the notice of another
		 * death. A holder that still has its own says so again.
		 */
		if (le32_to_cpu(msg->epoch) == key->epoch && !key->rec)
			rdlock_recover(home, key, false, true, le32_to_cpu(msg->arg));
		break;
	default:
		goto bad;
	}
	return;
bad:
	rdlock_stat_inc(home->space, bad_msg);
}

static void home_rx_one(struct rdlock_home *home, struct rdf_rx *rx)
{
	const struct rdl_msg *msg = rx->msg;
	struct rdlock_peer *peer;
	bool current_link;

	if (!rx->link) {
		home_message(home, home->space->node, msg);
		kfree(rx);
		return;
	}
	peer = rdf_link_ctx(rx->link);
	spin_lock_bh(&home->lock);
	current_link = peer->member && peer->member->peer == peer;
	spin_unlock_bh(&home->lock);
	if (le16_to_cpu(msg->src) != peer->node || le32_to_cpu(msg->src_inc) != peer->inc) {
		rdlock_stat_inc(home->space, bad_msg);
		rdf_link_kill(peer->link, -EBADMSG);
	} else if (msg->type == RDL_MSG_HELLO) {
		rdlock_member_hello(peer, msg);
	} else if (!current_link || le32_to_cpu(msg->dst_inc) != home->space->session.inc) {
		rdlock_stat_inc(home->space, bad_msg);
	} else if (msg->type == RDL_MSG_BYE) {
		rdlock_member_bye(peer);
	} else {
		home_message(home, peer->node, msg);
	}
	rdf_rx_done(rx);
}

static struct rdf_rx *home_rx_next(struct rdlock_home *home)
{
	struct rdf_rx *rx;

	spin_lock_bh(&home->lock);
	rx = list_first_entry_or_null(&home->rx, struct rdf_rx, node);
	if (rx)
		list_del_init(&rx->node);
	spin_unlock_bh(&home->lock);
	return rx;
}

/* A few at a time: deaths, evictions and the end of the space are items of the same queue, and must not starve. */
static void home_rx_work(struct work_struct *work)
{
	struct rdlock_home *home = container_of(work, struct rdlock_home, rx_work);
	struct rdf_rx *rx = NULL;
	unsigned int n;

	mutex_lock(&home->mutex);
	for (n = 0; n < RX_BATCH && !home->stopping && (rx = home_rx_next(home)); n++)
		home_rx_one(home, rx);
	mutex_unlock(&home->mutex);
	/* To the queue's end. If there was nothing more, it looks in vain. */
	if (n == RX_BATCH)
		queue_work(home->wq, &home->rx_work);
}

/*
 * In the order in which they came. They are not thrown away: that a heartbeat behind them was acknowledged tells the
 * node that they arrived (agent_is_forgotten()).
 */
void rdlock_home_rx_end(struct rdlock_home *home, struct rdf_link *link)
{
	struct rdf_rx *rx, *n;
	LIST_HEAD(old);

	spin_lock_bh(&home->lock);
	list_for_each_entry_safe(rx, n, &home->rx, node)
		if (rx->link == link)
			list_move_tail(&rx->node, &old);
	spin_unlock_bh(&home->lock);
	list_for_each_entry_safe(rx, n, &old, node) {
		list_del_init(&rx->node);
		if (home->stopping)
			rdf_rx_done(rx);
		else
			home_rx_one(home, rx);
	}
}

int rdlock_home_local(struct rdlock_space *space, const struct rdl_msg *msg, u32 len)
{
	struct rdlock_home *home = space->home;
	struct rdl_msg *copy;
	struct rdf_rx *rx;

	rx = kzalloc(sizeof(*rx) + len, GFP_ATOMIC);
	if (!rx)
		return -ENOMEM;
	copy = (struct rdl_msg *)(rx + 1);
	memcpy(copy, msg, len);
	rx->msg = copy;
	rx->len = len;
	spin_lock_bh(&home->lock);
	list_add_tail(&rx->node, &home->rx);
	queue_work(home->wq, &home->rx_work);
	spin_unlock_bh(&home->lock);
	return 0;
}

/* ---- start and stop ---- */

unsigned int rdlock_home_members(struct rdlock_space *space)
{
	return READ_ONCE(space->home->nr_members);
}

static void home_op_none(struct rdf_op *op)
{
}

int rdlock_home_start(struct rdlock_space *space)
{
	struct rdlock_home *home;
	int err;

	home = kvzalloc(sizeof(*home), GFP_KERNEL);
	if (!home)
		return -ENOMEM;
	home->space = space;
	mutex_init(&home->mutex);
	spin_lock_init(&home->lock);
	INIT_LIST_HEAD(&home->rx);
	INIT_WORK(&home->rx_work, home_rx_work);
	INIT_LIST_HEAD(&home->peers);
	init_waitqueue_head(&home->peers_wq);
	INIT_DELAYED_WORK(&home->retry_work, rdlock_recover_retry);
	xa_init(&home->chunks);
	hash_init(home->keys);
	home->high_epoch = rdl_epoch(1, 0);
	rdf_op_init(&home->op, home_op_none);
	init_completion(&home->op_done);
	err = -ENOMEM;
	home->buf = kzalloc(rdlock_body_size(home, RDL_KIND_FAIR), GFP_KERNEL);
	home->piece = kzalloc(RDLOCK_PIECE, GFP_KERNEL);
	if (!home->buf || !home->piece)
		goto err_free;
	home->wq = alloc_ordered_workqueue("rdlock_home", WQ_MEM_RECLAIM);
	if (!home->wq)
		goto err_free;
	home->listener = rdf_listen(space->dom, &space->addr, space->hash, rdlock_member_request, home);
	err = PTR_ERR_OR_ZERO(home->listener);
	if (err)
		goto err_wq;
	/* Last: lists and dumps look at it without a lock. Pairs with the dependency of their reads. */
	smp_store_release(&space->home, home);
	return 0;

err_wq:
	destroy_workqueue(home->wq);
err_free:
	kfree(home->piece);
	kfree(home->buf);
	kvfree(home);
	return err;
}

void rdlock_home_stop(struct rdlock_space *space)
{
	struct rdlock_home *home = space->home;
	struct rdf_rx *rx;
	struct hlist_node *tmp;
	struct rdlock_key *key;
	int b;

	rdf_listener_stop(home->listener);
	rdlock_members_stop(home);
	mutex_lock(&home->mutex);
	home->stopping = true;
	mutex_unlock(&home->mutex);
	cancel_delayed_work_sync(&home->retry_work);
	cancel_work_sync(&home->rx_work);
	flush_workqueue(home->wq);
	mutex_lock(&home->mutex);
	while ((rx = home_rx_next(home)))
		kfree(rx);	/* links are dead, their messages purged: only local ones are left */
	hash_for_each_safe(home->keys, b, tmp, key, hash)
		key_free(home, key);
	rdlock_chunks_free(home);
	mutex_unlock(&home->mutex);
}

void rdlock_home_free(struct rdlock_space *space)
{
	struct rdlock_home *home = space->home;
	struct rdf_rx *rx;

	if (!home)
		return;
	destroy_workqueue(home->wq);
	while ((rx = home_rx_next(home)))
		kfree(rx);
	kfree(home->piece);
	kfree(home->buf);
	kvfree(home);
	space->home = NULL;
}

/* ---- dump ---- */

/* A spin word names its owner and an mcs word the last in the queue; the others count who is in. */
static void show_word(struct seq_file *m, const struct rdlock_key *key, u64 w)
{
	if (key->kind == RDL_KIND_SPIN || key->kind == RDL_KIND_MCS) {
		seq_puts(m, key->kind == RDL_KIND_SPIN ? " holder=" : " last=");
		if (rdl_w_mid(w))
			seq_printf(m, "%u", rdl_w_mid(w) - 1);
		else
			seq_puts(m, "-");
	} else {
		seq_printf(m, " writers=%u readers=%u", rdl_w_mid(w), rdl_w_low(w));
	}
	if (key->kind != RDL_KIND_SPIN)
		seq_printf(m, " value=%u%s", key->value_size, key->props & RDL_P_STICKY ? " sticky" : "");
}

void rdlock_home_show(struct seq_file *m, struct rdlock_home *home)
{
	char name[RDLOCK_NAME_STR];
	struct rdlock_key *key;
	unsigned int i;
	int b;

	mutex_lock(&home->mutex);
	if (home->stopping)
		goto out_unlock;
	hash_for_each(home->keys, b, key, hash) {
		const u64 *va = rdf_mem_va(key->chunk->mem);
		u64 w = READ_ONCE(va[key->index]);

		rdlock_name_str(name, key->name, key->len);
		if (key->obj == RDL_OBJ_COUNTER) {
			seq_printf(m, "counter %s table=%u index=%u cells=%u\n", name, key->chunk->no, key->index,
				   key->cells);
			continue;
		}
		seq_printf(m, "lock %s kind=%s table=%u index=%u word=%#018llx epoch=%u.%u ticket=%u", name,
			   rdl_kind_name(key->kind), key->chunk->no, key->index, w, rdl_epoch_gen(key->epoch),
			   rdl_epoch_rep(key->epoch), rdl_w_ticket(w));
		show_word(m, key, w);
		seq_printf(m, "%s%s%s%s openers=", rdl_w_frozen(w) ? " frozen" : "",
			   key->props & RDL_P_ROBUST ? " robust" : "",
			   rdl_w_attention(w) || key->dead & RDL_VF_OWNER_DIED ? " owner-died" : "",
			   key->dead & RDL_VF_NOTRECOVERABLE ? " not-recoverable" : "");
		for (i = 0; i < RDL_MAX_NODES; i++)
			if (rdlock_key_open_by(key, i))
				seq_printf(m, "%u,", i);
		seq_puts(m, key->rec ? " recovering\n" : "\n");
	}
out_unlock:
	mutex_unlock(&home->mutex);
}
