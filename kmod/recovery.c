// SPDX-License-Identifier: GPL-2.0
/*
 * Recovery of one lock at its home, Documentation/protocol.rst: freeze the word, ask every opener what it has, rebuild
 * the word from the answers, tell them. The decisions are core/recover.c's; here is the doing.
 *
 * It is the single door for everything out of the ordinary: an evicted opener, an operation whose outcome is not known,
 * tickets that run out, a notice of a dead owner that has been delivered, what a robust lock's owner has to say.
 *
 * Before rdlock_recover() is called because of a dead or broken link, that link's QPs are destroyed and its keys taken
 * away (member.c): otherwise an operation of it could land in the rebuilt word.
 */
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "home.h"
#include "main.h"
#include "session.h"
#include "space.h"
#include "stats.h"
#include "trace.h"

/* An opener that has not claimed is asked again after that; so is memory that was short. */
#define AGAIN_MS	500
/* One that was asked so often, and lives, is evicted: the lock's other openers wait for it. 15 seconds of AGAIN_MS. */
#define ASKED_MAX	30
/* Recoveries at a time; each takes some 20 KiB. The others wait: a node that dies may have had any number of locks. */
#define RECS_MAX	1024
#define RECS_PAUSE_MS	10
#define RECS_BATCH	64	/* that were put off and are begun in one go */

static void send_freeze(struct rdlock_home *home, struct rdlock_key *key, u16 node)
{
	struct rdl_msg m = { .type = RDL_MSG_FREEZE };

	m.table = cpu_to_le32(key->chunk->no);
	m.lock = cpu_to_le32(key->index);
	m.epoch = cpu_to_le32(key->epoch);
	rdlock_stat_inc(home->space, sent_freeze);
	rdlock_home_send(home, node, &m, sizeof(m));
}

static int word_freeze(struct rdlock_home *home, struct rdlock_key *key, u64 *frozen)
{
	u64 w, old;
	int err;

	err = rdlock_word_read(home, key, &w);
	while (!err) {
		err = rdlock_word_cas(home, key, w, w | RDL_W_F, &old);
		if (err || old == w)
			break;
		w = old;
	}
	*frozen = w;
	return err;
}

/* Void operations may have changed the frozen word until all had claimed; now all have, and two rounds are enough. */
static int word_rebuild(struct rdlock_home *home, struct rdlock_key *key, u64 word)
{
	u64 w = key->rec->frozen | RDL_W_F, old;
	int err;

	for (;;) {
		err = rdlock_word_cas(home, key, w, word, &old);
		if (err || old == w)
			return err;
		w = old;
	}
}

static void recover_finish(struct rdlock_home *home, struct rdlock_key *key)
{
	struct rdl_recover *r = key->rec;
	bool body = key->chunk->stride;
	u32 node;

	/* home->broken if one of them fails: the space is being given up */
	if (body && rdlock_body_load(home, key, r))
		return;
	r->props = key->props;
	r->dead = key->dead;
	rdl_recover_finish(r);
	if (body && rdlock_body_store(home, key, r))
		return;
	if (word_rebuild(home, key, r->word))
		return;
	key->epoch = r->epoch_new;
	key->dead = r->dead;
	trace_rdlock_recovered(home->space, key->name, key->len, r->epoch_new, r->word, r->n);
	for (node = 0; node < RDL_MAX_NODES; node++) {
		struct {
			struct rdl_msg h;
			struct rdl_msg_rebuilt p;
		} m = { .h.type = RDL_MSG_REBUILT };

		if (!(r->claimed[node / 64] >> (node % 64) & 1) || !rdlock_key_open_by(key, node))
			continue;
		rdl_msg_put_rebuilt(&m.h, &r->reply[node]);
		if (body && !r->big)
			memcpy(m.p.value, home->buf->value, sizeof(m.p.value));
		m.h.table = cpu_to_le32(key->chunk->no);
		m.h.lock = cpu_to_le32(key->index);
		m.h.epoch = cpu_to_le32(key->epoch);
		rdlock_stat_inc(home->space, sent_rebuilt);
		rdlock_home_send(home, node, &m.h, sizeof(m));
	}
	rdlock_recover_free(home, key);
	/* Once until it has run: it must not be put off again and again. */
	if (home->nr_recs == RECS_MAX - 1 && !home->hurried) {
		home->hurried = true;
		mod_delayed_work(home->wq, &home->retry_work, msecs_to_jiffies(RECS_PAUSE_MS));
	}
	rdlock_key_unpark(home, key, 0);
	if (key->again) {
		bool died = key->died;

		/* What was to be cleared was the notice of the epoch that is over now; this one may be another. */
		key->again = false;
		key->again_clear = false;
		key->died = false;
		rdlock_recover(home, key, died, false, 0);
	}
}

void rdlock_recover_free(struct rdlock_home *home, struct rdlock_key *key)
{
	if (key->rec)
		home->nr_recs--;
	kvfree(key->rec);
	key->rec = NULL;
	kvfree(key->claimed);
	key->claimed = NULL;
}

/* Room for the claims, and for the values that come with them. */
static struct rdl_recover *recover_alloc(struct rdlock_home *home, struct rdlock_key *key)
{
	struct rdl_recover *r = NULL;

	if (home->nr_recs < RECS_MAX)
		r = kvzalloc(sizeof(*r), GFP_KERNEL);
	if (!r || !key->value_size || (key->props & RDL_P_BIG))
		return r;
	key->claimed = kvcalloc(home->space->max_nodes, sizeof(*key->claimed), GFP_KERNEL);
	if (key->claimed)
		return r;
	kvfree(r);
	return NULL;
}

void rdlock_recover(struct rdlock_home *home, struct rdlock_key *key, bool died, bool clear, u8 settled)
{
	struct rdl_recover *r;
	u64 frozen;
	u32 node;

	lockdep_assert_held(&home->mutex);
	if (home->broken || home->stopping)
		return;
	if (key->rec)
		goto later;
	if (rdlock_epochs_over(home, key->epoch))
		return;
	r = recover_alloc(home, key);
	if (!r) {
		queue_delayed_work(home->wq, &home->retry_work, msecs_to_jiffies(AGAIN_MS));
		goto later;
	}
	if (word_freeze(home, key, &frozen)) {
		kvfree(r);
		kvfree(key->claimed);
		key->claimed = NULL;
		return;
	}
	/* What is due is done with it: a death that was put off must not be taken for none. */
	died |= key->died;
	clear |= key->again_clear;
	key->again = false;
	key->again_clear = false;
	key->died = false;
	rdlock_query_end(key);
	rdlock_stat_inc(home->space, recovery);
	rdl_recover_start(r, key->kind, key->epoch, rdlock_next_epoch(key->epoch), frozen, key->openers, died, clear);
	r->settled = settled;
	key->rec = r;
	key->asked = 0;
	home->nr_recs++;
	for (node = 0; node < RDL_MAX_NODES; node++)
		if (rdlock_key_open_by(key, node))
			send_freeze(home, key, node);
	if (rdl_recover_ready(r))
		recover_finish(home, key);
	else
		queue_delayed_work(home->wq, &home->retry_work, msecs_to_jiffies(AGAIN_MS));
	return;

later:
	key->again = true;
	key->again_clear |= clear;
	key->died |= died;
}

void rdlock_recover_claim(struct rdlock_home *home, struct rdlock_key *key, u16 node, const struct rdl_msg *msg)
{
	const struct rdl_msg_claim *p = rdl_msg_cpayload(msg);
	struct rdl_claim c;
	bool first;

	rdl_msg_get_claim(msg, &c);
	lockdep_assert_held(&home->mutex);
	/* One of an earlier recovery, or the second answer to a FREEZE that was repeated. */
	if (!key->rec || le32_to_cpu(msg->epoch) != key->rec->epoch)
		return;
	first = key->rec->expect[node / 64] >> (node % 64) & 1;
	if (rdl_recover_claim(key->rec, node, le32_to_cpu(msg->epoch), &c)) {
		rdlock_stat_inc(home->space, bad_msg);
		return;
	}
	/* A second claim may bring a newer one, but the first is the one that counts. */
	if (first && key->claimed)
		memcpy(key->claimed[node], p->value, sizeof(p->value));
	if (rdl_recover_ready(key->rec))
		recover_finish(home, key);
}

void rdlock_recover_gone(struct rdlock_home *home, struct rdlock_key *key, u16 node, bool died)
{
	lockdep_assert_held(&home->mutex);
	rdl_recover_gone(key->rec, node, died);
	if (rdl_recover_ready(key->rec))
		recover_finish(home, key);
}

void rdlock_recover_remind(struct rdlock_home *home, struct rdlock_key *key, u16 node)
{
	if (key->rec)
		send_freeze(home, key, node);
}

/* Looks are counted, not time: a home that stood still itself must not blame others. */
static void ask_again(struct rdlock_home *home, struct rdlock_key *key)
{
	bool late = ++key->asked > ASKED_MAX;
	u32 node;

	for (node = 0; node < RDL_MAX_NODES; node++) {
		if (!(key->rec->expect[node / 64] >> (node % 64) & 1))
			continue;
		if (late && node != home->space->node)
			rdlock_member_evict(home, node);
		else
			send_freeze(home, key, node);
	}
	/* Well before RDLOCK_CALL_MS, after which they would take the whole link for dead. */
	rdlock_key_unpark(home, key, -EAGAIN);
}

static void retry_begin(struct rdlock_home *home, struct rdlock_key *key)
{
	bool clear = key->again_clear, died = key->died;

	key->again = false;
	key->again_clear = false;
	key->died = false;
	/* What was settled is said again by who still has it. */
	rdlock_recover(home, key, died, clear, 0);
}

/*
 * Recoveries that do not end by themselves: memory was short when one was to begin; or a FREEZE came to a node before
 * it knew the lock that it was just opening, and was lost on it. Asking again is harmless: the same claim comes again.
 */
void rdlock_recover_retry(struct work_struct *work)
{
	struct rdlock_home *home = container_of(to_delayed_work(work), struct rdlock_home, retry_work);
	struct hlist_node *tmp;
	struct rdlock_key *key;
	unsigned int begun = 0, pause_ms = AGAIN_MS;
	bool more = false, stop = false, ask;
	u64 now;
	u32 i, b, next;

	mutex_lock(&home->mutex);
	home->hurried = false;
	/* The members are going: nobody is asked, and nobody evicted, any more. */
	if (home->stopping)
		goto out_unlock;
	now = ktime_get_boottime_ns();
	ask = now >= home->next_ask;
	if (ask)
		home->next_ask = now + (u64)AGAIN_MS * NSEC_PER_MSEC;
	next = home->retry_at;
	for (i = 0; i < HASH_SIZE(home->keys); i++) {
		b = (home->retry_at + i) % HASH_SIZE(home->keys);
		hlist_for_each_entry_safe(key, tmp, &home->keys[b], hash) {
			/* What only stays for its notice is not worth a look at its word. */
			bool look = key->rec || key->again;

			if (!stop && key->again && !key->rec && home->nr_recs < RECS_MAX) {
				retry_begin(home, key);
				/* Most may be ready at once, so the limit of those under way does not bound this. */
				if (++begun == RECS_BATCH) {
					next = b;
					stop = true;
					pause_ms = 0;
				}
				/* Memory is short: not now. */
				if (key->again && !key->rec) {
					stop = true;
					pause_ms = AGAIN_MS;
				}
			} else if (key->rec && ask) {
				ask_again(home, key);
			}
			more |= key->rec || key->again;
			if (look)
				rdlock_key_maybe_free(home, key);
		}
		/* Goes on from here; the others only need a look when it is time to ask. */
		if (stop && !ask) {
			more = true;
			break;
		}
	}
	home->retry_at = next;
	/* A place has become free meanwhile. */
	if (home->hurried)
		pause_ms = min_t(unsigned int, pause_ms, RECS_PAUSE_MS);
	/* With no pause, behind what waits meanwhile. */
	if (more && !home->broken)
		mod_delayed_work(home->wq, &home->retry_work, msecs_to_jiffies(pause_ms));
out_unlock:
	mutex_unlock(&home->mutex);
}
