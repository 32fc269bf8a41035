// SPDX-License-Identifier: GPL-2.0
/*
 * hammer: load for scenarios. Threads, each an owner of its own, work on one key of the space RDLOCK_SPACE.
 *
 *   hammer lock KEY [-t THREADS] [-n COUNT] [-p MICROSECONDS] [-k KIND] [-r PERCENT]
 *	COUNT acquisitions in all. The holder reads cell 0 of the counter KEY, waits, and writes back one
 *	more; it checks that cell 1, the last holder's token, is less than its own.
 *	With -r so many rounds of a hundred are shared: the cells must not change meanwhile. With -v the
 *	lock has a value, in which each owner leaves its token for the next one.
 *   hammer free KEY ..	the same without the lock: fails, if its checks are worth anything
 *   hammer add KEY ..	COUNT times fetch-and-add of 1 to cell 0 of counter KEY
 *   hammer behind KEY ..	COUNT times takes a lock of kind fair, whose slot is then being written, and at once
 *	changes cell 1 of counter KEY, by compare-and-swap. Nobody else does, so what was there is known.
 *   hammer cas KEY ..	COUNT increments of cell 0 by read and compare-and-swap, repeated until it fits
 *
 * Prints one line "WORD=NUMBER ..." and ends with 0; 1 if what must not happen did, or the space went away
 * (told on stderr); 2: usage.
 */

#include <pthread.h>

#include "common.h"

enum { CELL_COUNT, CELL_TOKEN, NR_CELLS };

static struct {
	const char *key;
	unsigned int threads, count, pause_us, readers;
	int kind;
	void (*round)(int lock, int counter);
	bool lock;
	bool value;
	bool stop;
	int space;
	unsigned int taken;
	unsigned long long done, shared, unknown, again, bad, last;
} hammer = { .threads = 4, .count = 100 };

#define ADD(what) __atomic_add_fetch(&hammer.what, 1, __ATOMIC_RELAXED)

static void __attribute__((format(printf, 1, 2))) bad(const char *fmt, ...)
{
	va_list args;

	if (ADD(bad) > 10)
		return;
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
}

/* An error that nothing comes after, such as EKEYREVOKED, is a finding and the end. */
static void give_up(const char *what, int err)
{
	bad("%s: %s\n", what, strerrorname_np(-err));
	__atomic_store_n(&hammer.stop, true, __ATOMIC_RELAXED);
}

/* An error that says nothing was done, yet; anything else but 0 and EREMOTEIO ends the work. */
static bool try_again(const char *what, int err)
{
	if (err == -EHOSTUNREACH || err == -ETIMEDOUT) {
		ADD(again);
		return true;
	}
	give_up(what, err);
	return false;
}

/* Who shares the lock sees what a writer left, and no writer. */
static void round_shared(int lock, int counter)
{
	uint64_t token = 0, before, value, last, after;
	int err;

	do {
		err = lock_acquire_mode(lock, RDLOCK_MODE_SHARED, 0, NEVER, &token);
	} while (err && try_again("acquire", err));
	if (err)
		return;
	err = counter_read(counter, CELL_COUNT, &before);
	if (!err)
		err = counter_read(counter, CELL_TOKEN, &last);
	if (!err && token <= last)
		bad("token %llx after %llx\n", (unsigned long long)token, (unsigned long long)last);
	sleep_us(hammer.pause_us);
	if (!err)
		err = counter_read(counter, CELL_COUNT, &value);
	if (!err)
		err = counter_read(counter, CELL_TOKEN, &after);
	if (err)
		give_up("cell", err);
	else if (before != value || last != after)
		bad("a writer was there, too\n");
	else
		ADD(shared);
	err = lock_release(lock);
	if (err)
		give_up("release", err);
}

/* Before the cells, whose operations may have no outcome: so the value is as new as the cell, or newer. */
static void pass_value(int lock, uint64_t last, uint64_t token)
{
	uint32_t len = sizeof(last);
	uint64_t value = 0;
	int err = lock_value_read(lock, &value, &len);

	if (!err && (value < last || value >= token))
		bad("token %llx finds value %llx, the last owner was %llx\n", (unsigned long long)token,
		    (unsigned long long)value, (unsigned long long)last);
	if (!err)
		err = lock_value_write(lock, &token, sizeof(token));
	if (err)
		give_up("value", err);
}

static void round_lock(int lock, int counter)
{
	uint64_t token = 0, value, last, old;
	int err;

	if (hammer.lock && (unsigned int)(random() % 100) < hammer.readers) {
		round_shared(lock, counter);
		return;
	}

	do {
		err = hammer.lock ? lock_acquire(lock, 0, NEVER, &token) : 0;
	} while (err && try_again("acquire", err));
	if (err)
		return;
	err = counter_read(counter, CELL_COUNT, &value);
	if (!err)
		err = counter_read(counter, CELL_TOKEN, &last);
	if (!err && hammer.lock && token <= last)
		bad("token %llx after %llx\n", (unsigned long long)token, (unsigned long long)last);
	if (!err && hammer.pause_us)
		sleep_us(hammer.pause_us);
	if (!err && hammer.value)
		pass_value(lock, last, token);
	if (!err)
		err = counter_cas(counter, CELL_TOKEN, last, token, &old);
	if (!err && old != last)
		bad("token cell changed under the lock\n");
	if (!err)
		err = counter_cas(counter, CELL_COUNT, value, value + 1, &old);
	if (!err && old != value)
		bad("count changed under the lock\n");
	if (err == -EREMOTEIO)
		ADD(unknown);
	else if (err)
		give_up("cell", err);
	else
		ADD(done);
	if (token > __atomic_load_n(&hammer.last, __ATOMIC_RELAXED))
		__atomic_store_n(&hammer.last, token, __ATOMIC_RELAXED);
	err = hammer.lock ? lock_release(lock) : 0;
	if (err)
		give_up("release", err);
}

static void round_add(int lock __attribute__((unused)), int counter)
{
	uint64_t old;
	int err;

	do {
		err = counter_add(counter, CELL_COUNT, 1, &old);
	} while (err && err != -EREMOTEIO && try_again("add", err));
	if (err == -EREMOTEIO)
		ADD(unknown);
	else if (!err)
		ADD(done);
}

static void round_cas(int lock __attribute__((unused)), int counter)
{
	uint64_t value, old;
	int err;

	for (;;) {
		err = counter_read(counter, CELL_COUNT, &value);
		if (!err)
			err = counter_cas(counter, CELL_COUNT, value, value + 1, &old);
		if (!err && old == value) {
			ADD(done);
			return;
		}
		if (err == -EREMOTEIO) {
			ADD(unknown);
			return;
		}
		if (err && !try_again("cas", err))
			return;
		ADD(again);
	}
}

static void round_behind(int lock __attribute__((unused)), int counter)
{
	static uint64_t expect;
	uint64_t old, next = expect + (1ull << 32) + 7;
	char key[80];
	int own, err;

	snprintf(key, sizeof(key), "%s%u", hammer.key, hammer.taken % 8);
	own = lock_open_as(hammer.space, key, RDLOCK_KIND_FAIR, 0, 0);
	if (own < 0) {
		try_again("open", own);
		return;
	}
	err = lock_acquire(own, 0, NEVER, NULL);
	if (err) {
		try_again("acquire", err);
	} else {
		err = counter_cas(counter, CELL_TOKEN, expect, next, &old);
		if (!err && old != expect)
			bad("the cell was %llx, and the answer is %llx\n", (unsigned long long)expect,
			    (unsigned long long)old);
		if (!err)
			ADD(done);
		else if (err == -EREMOTEIO)
			ADD(unknown);
		else
			try_again("cas", err);
	}
	close(own);
	if (!err && old == expect) {
		expect = next;
		return;
	}
	/* Not each time: an answer left over from this would be the right one for the next. */
	do {
		err = counter_read(counter, CELL_TOKEN, &expect);
	} while (err && try_again("read", err));
}

static void *work(void *arg)
{
	int space = *(int *)arg;
	int lock = hammer.lock ? lock_open_as(space, hammer.key, hammer.kind, hammer.value ? 8 : 0, 0) : -1;
	int counter = counter_open(space, hammer.key, NR_CELLS);

	if (counter < 0 || (hammer.lock && lock < 0)) {
		bad("open: %s %s\n", strerrorname_np(counter < 0 ? -counter : 0),
		    strerrorname_np(lock < 0 && hammer.lock ? -lock : 0));
		return NULL;
	}
	while (!__atomic_load_n(&hammer.stop, __ATOMIC_RELAXED) && ADD(taken) <= hammer.count)
		hammer.round(lock, counter);
	return NULL;
}

static int usage(void)
{
	fputs("hammer lock|free|add|cas|behind KEY [-t THREADS] [-n COUNT] [-p MICROSECONDS] [-k KIND]\n"
	      "       [-r PERCENT] [-v]\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	uint64_t start = now_ns();
	unsigned int i;
	int dev, space, c;

	if (argc < 3)
		return usage();
	if (!strcmp(argv[1], "lock"))
		hammer.round = round_lock;
	else if (!strcmp(argv[1], "free"))
		hammer.round = round_lock;
	else if (!strcmp(argv[1], "add"))
		hammer.round = round_add;
	else if (!strcmp(argv[1], "cas"))
		hammer.round = round_cas;
	else if (!strcmp(argv[1], "behind"))
		hammer.round = round_behind;
	else
		return usage();
	hammer.lock = !strcmp(argv[1], "lock");
	hammer.key = argv[2];
	argc -= 2;
	argv += 2;
	while ((c = getopt(argc, argv, "t:n:p:k:r:v")) != -1) {
		switch (c) {
		case 't':
			hammer.threads = atoi(optarg);
			break;
		case 'n':
			hammer.count = atoi(optarg);
			break;
		case 'p':
			hammer.pause_us = atoi(optarg);
			break;
		case 'r':
			hammer.readers = atoi(optarg);
			break;
		case 'v':
			hammer.value = true;
			break;
		case 'k':
			hammer.kind = kind_of(optarg);
			if (hammer.kind < 0)
				return usage();
			break;
		default:
			return usage();
		}
	}
	if (!hammer.threads || hammer.threads > ARRAY_SIZE(threads))
		return usage();

	dev = dev_open();
	space = dev < 0 ? dev : space_open(dev, the_space());
	if (space < 0) {
		fprintf(stderr, "space %s: %s\n", the_space(), strerrorname_np(-space));
		return 1;
	}
	hammer.space = space;
	if (hammer.round == round_behind)
		hammer.threads = 1;	/* the cell is nobody else's */
	for (i = 0; i < hammer.threads; i++)
		if (pthread_create(&threads[i], NULL, work, &space))
			abort();
	for (i = 0; i < hammer.threads; i++)
		pthread_join(threads[i], NULL);
	printf("done=%llu shared=%llu unknown=%llu again=%llu bad=%llu last=%llx ms=%llu\n", hammer.done, hammer.shared,
	       hammer.unknown, hammer.again, hammer.bad, hammer.last, (unsigned long long)((now_ns() - start) / MS));
	return hammer.bad ? 1 : 0;
}
