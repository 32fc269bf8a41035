// SPDX-License-Identifier: GPL-2.0
/*
 * bigvalue: owners that count in a value of any size, and look at every byte of it.
 *
 *   bigvalue KEY -s SIZE [-k KIND] -o
 *	Opens the key, wants nothing, and prints "open"; until it is killed. So the value outlives its owners.
 *   bigvalue KEY -s SIZE [-k KIND] [-n ROUNDS] [-c]
 *	Each round acquires the lock, reads the value, checks that all of it belongs to one number, writes the next
 *	one and releases; of kind fair every fourth round only reads, and every fifth goes down to shared after it wrote
 *	and reads again. -c: says "working" after ten rounds, and goes on although the value was lost with another
 *	owner. Prints "done=N read=N invalid=N died=N last=N". Status 1: a value that is two, or an older one than this
 *	process has seen, without a word; or an error, told on stderr.
 */

#include "common.h"

static struct {
	uint32_t size;
	int kind;
	unsigned int rounds;
	bool go_on, open_only;
} opt = { .size = 65536, .kind = RDLOCK_KIND_FAIR, .rounds = 100 };

static unsigned long long done, reads, invalid, died, last;
static uint8_t *mine, *want;

static int failed(const char *what, int err)
{
	fprintf(stderr, "%s: %s\n", what, err ? strerrorname_np(-err) : "wrong");
	return 1;
}

static int value_get(int lock)
{
	struct rdlock_value v = { .size = sizeof(v), .len = opt.size, .addr = (uintptr_t)mine };
	int err = call(lock, RDLOCK_IOC_VALUE_GET, &v);

	return err ? err : v.out_len == opt.size ? 0 : -EBADMSG;
}

static int value_set(int lock)
{
	struct rdlock_value v = { .size = sizeof(v), .len = opt.size, .addr = (uintptr_t)mine };

	return call(lock, RDLOCK_IOC_VALUE_SET, &v);
}

/* All bytes of number @n; 0 is what a value begins with. */
static void fill(uint8_t *to, uint64_t n)
{
	uint32_t i;

	for (i = 0; i < opt.size; i++)
		to[i] = n ? (n >> i % 8 * 8) ^ i / 8 * 31 * n : 0;
}

/* The number that it belongs to, from its first eight bytes; false: to none. */
static bool number(uint64_t *n)
{
	int i;

	*n = 0;
	for (i = 0; i < 8; i++)
		*n |= (uint64_t)mine[i] << i * 8;
	fill(want, *n);
	return !memcmp(mine, want, opt.size);
}

/* What the grant and the value say together. */
static int look(int lock, uint32_t flags, uint64_t *n)
{
	int err = value_get(lock);

	if (err)
		return failed("get", err);
	if (!number(n))
		return failed("the value is of two versions", 0);
	invalid += !!(flags & RDLOCK_GRANT_VALUE_INVALID);
	died += !!(flags & RDLOCK_GRANT_OWNER_DIED);
	if ((flags & RDLOCK_GRANT_VALUE_INVALID) && !opt.go_on)
		return failed("the value was lost", 0);
	if (*n < last && !(flags & RDLOCK_GRANT_VALUE_INVALID))
		return failed("the value is an old one", 0);
	last = *n;
	return 0;
}

static int one_round(int lock, unsigned int i)
{
	bool fair = opt.kind == RDLOCK_KIND_FAIR, reads_only = fair && i % 4 == 3;
	struct rdlock_acquire arg = {
		.size = sizeof(arg), .mode = reads_only ? RDLOCK_MODE_SHARED : RDLOCK_MODE_EXCLUSIVE, .deadline = NEVER,
	};
	uint64_t n;
	int err = call(lock, RDLOCK_IOC_ACQUIRE, &arg);

	if (err)
		return failed("acquire", err);
	if (look(lock, arg.out_flags, &n))
		return 1;
	if (reads_only) {
		reads++;
	} else {
		last = n + 1;
		fill(mine, last);
		err = value_set(lock);
		if (err)
			return failed("set", err);
		done++;
	}
	if (fair && !reads_only && i % 5 == 4) {
		err = lock_convert(lock, RDLOCK_MODE_SHARED, NULL);
		if (err && err != -EAGAIN && err != -EHOSTUNREACH)
			return failed("convert", err);
		err = value_get(lock);
		if (err || !number(&n) || n != last)
			return failed("the value after it went down", err);
	}
	err = lock_release(lock);
	return err ? failed("release", err) : 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: bigvalue KEY -s SIZE [-k KIND] [-n ROUNDS] [-c] [-o]\n");
	return 2;
}

int main(int argc, char **argv)
{
	int c, dev, space, lock;
	unsigned int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 2)
		return usage();
	optind = 2;
	while ((c = getopt(argc, argv, "s:k:n:co")) != -1) {
		switch (c) {
		case 's':
			opt.size = atoi(optarg);
			break;
		case 'k':
			opt.kind = kind_of(optarg);
			break;
		case 'n':
			opt.rounds = atoi(optarg);
			break;
		case 'c':
			opt.go_on = true;
			break;
		case 'o':
			opt.open_only = true;
			break;
		default:
			return usage();
		}
	}
	if (opt.kind < 0 || opt.size < 8)
		return usage();
	mine = calloc(1, opt.size);
	want = calloc(1, opt.size);
	if (!mine || !want)
		abort();
	dev = dev_open();
	space = dev < 0 ? dev : space_open(dev, the_space());
	lock = space < 0 ? space : lock_open_as(space, argv[1], opt.kind, opt.size, 0);
	if (lock < 0)
		return failed("open", lock);
	if (opt.open_only) {
		printf("open\n");
		for (;;)
			pause();
	}
	for (i = 0; i < opt.rounds; i++) {
		if (one_round(lock, i))
			return 1;
		if (i == 9 && opt.go_on)
			printf("working\n");
	}
	printf("done=%llu read=%llu invalid=%llu died=%llu last=%llu\n", done, reads, invalid, died, last);
	return 0;
}
