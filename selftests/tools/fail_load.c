// SPDX-License-Identifier: GPL-2.0
/*
 * fail_load: load for a kernel that fails allocations at random. Threads open one of a few keys, want its lock in one
 * of several ways, and when they have it, do what hammer's holders do: cell 0 of the counter of the same key is read
 * and written back one more, cell 1 takes the token, which must be greater than the last holder's. Then all is closed,
 * and opened again in the next round.
 *
 *	fail_load [-t THREADS] [-k KEYS] [-s SECONDS]	keys load0, load1, ... of the space RDLOCK_SPACE
 *
 * Want of memory shows as ENOMEM, or as what a node or a link is told that had none in the background: time-outs, a
 * session lost, an operation of unknown outcome. All else is a finding.
 *
 * Prints "done=N unknown=N bad=N", and a line "ERRNO of WHAT: N" for each error; ends with 1 if something was bad.
 */

#include <pthread.h>

#include "common.h"

enum { CELL_COUNT, CELL_TOKEN, NR_CELLS };
enum { OP_OPEN, OP_COUNTER, OP_ACQUIRE, OP_CELL, OP_RELEASE, NR_OPS };

static const char *const ops[NR_OPS] = { "open", "counter open", "acquire", "cell", "release" };

static struct {
	unsigned int threads, keys, seconds;
	int space;
	uint64_t end;
	unsigned int done, unknown, bad, rounds;
	unsigned int errors[NR_OPS][200];
} load = { .threads = 4, .keys = 3, .seconds = 10 };

#define ADD(what) __atomic_add_fetch(&load.what, 1, __ATOMIC_RELAXED)

static void __printf(1, 2) bad(const char *fmt, ...)
{
	va_list args;

	if (ADD(bad) > 20)
		return;
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
}

/* Counts it, and says whether the round can go on. */
static bool worked(unsigned int op, int ret)
{
	if (ret >= 0)
		return true;
	ADD(errors[op][-ret < 200 ? -ret : 0]);
	switch (ret) {
	case -ENOMEM:
	case -ETIMEDOUT:
	case -EHOSTUNREACH:
	case -EKEYREVOKED:
		break;
	case -EREMOTEIO:
		if (op != OP_CELL)
			bad("%s: EREMOTEIO\n", ops[op]);
		break;
	case -EAGAIN:
		if (op != OP_ACQUIRE)
			bad("%s: EAGAIN\n", ops[op]);
		break;
	default:
		bad("%s: %s\n", ops[op], strerrorname_np(-ret));
	}
	return false;
}

static int acquire(int lock, unsigned int how, uint64_t *token)
{
	struct pollfd pfd = { .fd = lock, .events = POLLIN };
	int ret;

	switch (how) {
	case 0:
		return lock_acquire(lock, RDLOCK_ACQUIRE_TRY, 0, token);
	case 1:
		return lock_acquire(lock, 0, in_ms(20), token);
	case 2:
		fcntl(lock, F_SETFL, O_NONBLOCK);
		ret = lock_acquire(lock, 0, in_ms(3000), token);
		if (ret != -EAGAIN)
			return ret;
		if (poll(&pfd, 1, 500) == 1)
			return lock_acquire(lock, 0, in_ms(3000), token);
		ret = lock_cancel(lock);
		/* It may have been granted, or lost, between the two. */
		return ret == -ENOENT ? -EAGAIN : ret ?: -ETIMEDOUT;
	default:
		return lock_acquire(lock, 0, in_ms(3000), token);
	}
}

/* Another value than expected is a second owner, unless this one was cut off meanwhile. */
static void changed(int lock, const char *what)
{
	if (lock_state(lock) == RDLOCK_FD_HELD)
		bad("%s changed under the lock\n", what);
}

static void inside(int lock, int counter, uint64_t token)
{
	uint64_t value, last, old;
	int ret;

	if (!worked(OP_CELL, counter_read(counter, CELL_COUNT, &value)) ||
	    !worked(OP_CELL, counter_read(counter, CELL_TOKEN, &last)))
		return;
	if (token <= last) {
		changed(lock, "token");
		return;
	}
	if (!worked(OP_CELL, counter_cas(counter, CELL_TOKEN, last, token, &old)))
		return;
	if (old != last) {
		changed(lock, "token");
		return;
	}
	ret = counter_cas(counter, CELL_COUNT, value, value + 1, &old);
	if (ret == -EREMOTEIO)
		ADD(unknown);
	if (!worked(OP_CELL, ret))
		return;
	if (old == value)
		ADD(done);
	else
		changed(lock, "count");
}

static void round_of(unsigned int *seed)
{
	int lock, counter;
	uint64_t token;
	char key[16];

	snprintf(key, sizeof(key), "load%u", rand_r(seed) % load.keys);
	lock = lock_open(load.space, key, 0);
	if (!worked(OP_OPEN, lock))
		return;
	counter = counter_open(load.space, key, NR_CELLS);
	if (worked(OP_COUNTER, counter)) {
		if (worked(OP_ACQUIRE, acquire(lock, rand_r(seed) % 5, &token))) {
			inside(lock, counter, token);
			/* Every second one leaves it to the close. */
			if (rand_r(seed) % 2)
				worked(OP_RELEASE, lock_release(lock));
		}
		close(counter);
	}
	close(lock);
	ADD(rounds);
}

static void *work(void *arg)
{
	unsigned int seed = (uintptr_t)arg;

	while (now_ns() < load.end)
		round_of(&seed);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	int c, dev;

	while ((c = getopt(argc, argv, "t:k:s:")) != -1) {
		switch (c) {
		case 't':
			load.threads = atoi(optarg);
			break;
		case 'k':
			load.keys = atoi(optarg);
			break;
		case 's':
			load.seconds = atoi(optarg);
			break;
		default:
			return 2;
		}
	}
	if (!load.threads || load.threads > ARRAY_SIZE(threads) || !load.keys)
		return 2;
	dev = dev_open();
	load.space = dev < 0 ? dev : space_open(dev, the_space());
	for (int tries = 0; load.space == -ENOMEM && tries < 1000; tries++)
		load.space = space_open(dev, the_space());
	if (load.space < 0) {
		fprintf(stderr, "space %s: %s\n", the_space(), strerrorname_np(-load.space));
		return 1;
	}
	load.end = in_ms(load.seconds * 1000);
	for (uintptr_t i = 0; i < load.threads; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(getpid() * 64 + i)))
			abort();
	for (unsigned int i = 0; i < load.threads; i++)
		pthread_join(threads[i], NULL);
	printf("done=%u unknown=%u bad=%u rounds=%u\n", load.done, load.unknown, load.bad, load.rounds);
	for (unsigned int op = 0; op < NR_OPS; op++)
		for (unsigned int e = 0; e < 200; e++)
			if (load.errors[op][e])
				printf("%s of %s: %u\n", e ? strerrorname_np(e) : "?", ops[op], load.errors[op][e]);
	return load.bad ? 1 : 0;
}
