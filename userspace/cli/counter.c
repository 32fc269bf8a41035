// SPDX-License-Identifier: GPL-2.0
/*
 * rdlock counter ..., rdlock lock ...
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "out.h"

static int get_deadline(const struct args *a, uint64_t *deadline)
{
	const char *wait = opt_val(a, "wait");

	return parse_wait(a, wait ? wait : "10", deadline);
}

/* A counter fd or, after a message, -exit code. @cells 0: it has to exist. */
static int open_counter(const struct target *t, unsigned int cells, uint64_t deadline)
{
	int space = open_space(t);
	int counter;

	if (space < 0)
		return space;
	counter = rdlock_counter_open(space, t->key, t->key_len, cells, deadline);
	close(space);
	return counter < 0 ? -fail(RDLOCK_CMD_COUNTER_OPEN, counter, t) : counter;
}

/*
 * Without --cells an existing counter is taken as it is, and a new one gets one cell: none is made for a cell that it
 * would not have. If another node makes it between the two calls, with more cells, the third call finds it.
 */
static int open_or_make(const struct target *t, uint64_t deadline)
{
	int space = open_space(t);
	int counter;

	if (space < 0)
		return space;
	counter = rdlock_counter_open(space, t->key, t->key_len, 0, deadline);
	if (counter == -ENOENT && t->cell) {
		fprintf(stderr, "rdlock: there is no counter '%s/%s', and a new one has cell 0 only\n"
			"        say how many cells it is to have, more than %ld: --cells N\n",
			t->space_text, t->key_text, t->cell);
		close(space);
		return -EXIT_ERROR;
	}
	if (counter == -ENOENT)
		counter = rdlock_counter_open(space, t->key, t->key_len, 1, deadline);
	if (counter == -EEXIST)
		counter = rdlock_counter_open(space, t->key, t->key_len, 0, deadline);
	close(space);
	return counter < 0 ? -fail(RDLOCK_CMD_COUNTER_OPEN, counter, t) : counter;
}

/* How many cells there can be is the module's to say: to the kernel's EINVAL it would be one value of several. */
static int check_cells(const struct args *a, uint64_t cells)
{
	struct rdlock_info info;
	int err = get_info(&info);

	if (err)
		return err;
	if (cells > info.out_max_cells)
		return usage_error(a, "--cells: a counter has at most %u cells, not %llu", info.out_max_cells,
				   (unsigned long long)cells);
	return 0;
}

static void put_values(const struct target *t, uint64_t old, const uint64_t *new)
{
	out_open(NULL, '{');
	out_str("space", NULL, t->space_text);
	out_str("key", NULL, t->key_text);
	out_u64("cell", NULL, t->cell);
	out_u64(new ? "old" : "value", "%s\n", old);
	if (new)
		out_u64("new", NULL, *new);
	out_close();
}

static int parse_target(const struct args *a, struct target *t, uint64_t *deadline)
{
	int err = parse_key(a, a->pos[0], true, t);

	if (!err)
		err = get_deadline(a, deadline);
	if (t->cell < 0)
		t->cell = 0;
	return err;
}

int cmd_counter_add(const struct args *a)
{
	const char *cells_text = opt_val(a, "cells");
	uint64_t cells = 0, addend = 1, old, new, deadline;
	struct target t;
	int counter, err;

	err = parse_target(a, &t, &deadline);
	if (!err && a->npos > 1)
		err = parse_number(a, "N", a->pos[1], &addend);
	if (!err && cells_text)
		err = parse_u64(a, "--cells", cells_text, 0xffffffff, &cells);
	if (!err && cells_text && !cells)
		err = usage_error(a, "--cells is at least 1");
	if (!err && cells_text && (uint64_t)t.cell >= cells)
		err = usage_error(a, "a counter of %llu cells has none of number %ld: cells count from 0",
				  (unsigned long long)cells, t.cell);
	if (!err && cells_text)
		err = check_cells(a, cells);
	if (err)
		return err;

	counter = cells ? open_counter(&t, cells, deadline) : open_or_make(&t, deadline);
	if (counter < 0)
		return -counter;
	err = rdlock_counter_add(counter, t.cell, addend, deadline, &old);
	close(counter);
	if (err)
		return fail(RDLOCK_CMD_COUNTER_ADD, err, &t);
	new = old + addend;
	put_values(&t, old, &new);
	return out_done();
}

int cmd_counter_get(const struct args *a)
{
	uint64_t value, deadline;
	struct target t;
	int counter, err;

	err = parse_target(a, &t, &deadline);
	if (err)
		return err;
	counter = open_counter(&t, 0, deadline);
	if (counter < 0)
		return -counter;
	err = rdlock_counter_read(counter, t.cell, deadline, &value);
	close(counter);
	if (err)
		return fail(RDLOCK_CMD_COUNTER_READ, err, &t);
	put_values(&t, value, NULL);
	return out_done();
}

int cmd_counter_cas(const struct args *a)
{
	uint64_t expected, desired, old, deadline;
	struct target t;
	int counter, err;

	err = parse_target(a, &t, &deadline);
	if (!err)
		err = parse_number(a, "EXPECTED", a->pos[1], &expected);
	if (!err)
		err = parse_number(a, "NEW", a->pos[2], &desired);
	if (err)
		return err;

	counter = open_counter(&t, 0, deadline);
	if (counter < 0)
		return -counter;
	err = rdlock_counter_cas(counter, t.cell, expected, desired, deadline, &old);
	close(counter);
	if (err)
		return fail(RDLOCK_CMD_COUNTER_CAS, err, &t);
	put_values(&t, old, old == expected ? &desired : &old);
	err = out_done();
	if (err)
		return err;
	return old == expected ? 0 : EXIT_BUSY;
}

int cmd_counter_show(const struct args *a)
{
	uint64_t value, deadline;
	struct target t;
	int counter, i, n, err, ret;
	char left[16];

	err = parse_target(a, &t, &deadline);
	if (err)
		return err;
	counter = open_counter(&t, 0, deadline);
	if (counter < 0)
		return -counter;
	n = rdlock_counter_cells(counter, deadline);
	if (n < 0) {
		close(counter);
		return fail(RDLOCK_CMD_COUNTER_READ, n, &t);
	}

	out_open(NULL, '{');
	out_str("space", NULL, t.space_text);
	out_str("key", NULL, t.key_text);
	out_open("cells", '[');
	for (i = 0; i < n; i++) {
		err = rdlock_counter_read(counter, i, deadline, &value);
		if (err)
			break;
		snprintf(left, sizeof(left), "%d", i);
		out_str(NULL, "%-5s ", left);
		out_u64("", "%s\n", value);
	}
	out_close();
	out_close();
	close(counter);
	ret = out_done();
	return err ? fail(RDLOCK_CMD_COUNTER_READ, err, &t) : ret;
}

int cmd_lock_reset(const struct args *a)
{
	uint64_t deadline;
	struct target t;
	int space, err;

	err = parse_key(a, a->pos[0], false, &t);
	if (!err)
		err = get_deadline(a, &deadline);
	if (err)
		return err;
	space = open_space(&t);
	if (space < 0)
		return -space;
	err = rdlock_lock_reset(space, t.key, t.key_len, deadline);
	close(space);
	return err ? fail(RDLOCK_CMD_LOCK_RESET, err, &t) : 0;
}

int cmd_lock_test(const struct args *a)
{
	uint64_t deadline;
	struct target t;
	struct rdlock_lock_opts opts = {};
	struct rdlock_grant grant = {};
	unsigned int flags = opt_val(a, "robust") ? RDLOCK_OPEN_ROBUST : 0;
	int space, lock, err, ret;

	err = parse_key(a, a->pos[0], false, &t);
	if (!err)
		err = parse_kind(a, opt_val(a, "kind"), &opts.kind);
	if (!err)
		err = get_deadline(a, &deadline);
	if (err)
		return err;
	space = open_space(&t);
	if (space < 0)
		return -space;
	lock = rdlock_lock_open_as(space, t.key, t.key_len, &opts, flags, deadline);
	close(space);
	if (lock < 0)
		return fail(RDLOCK_CMD_LOCK_OPEN, lock, &t);
	err = rdlock_try(lock, RDLOCK_MODE_EXCLUSIVE, &grant);
	/* A robust one is not to be closed while it is held; but who was told of a death must leave it as it is. */
	if (!err)
		rdlock_release(lock);
	if (err == -EOWNERDEAD)
		err = 0;
	else if (!err && grant.flags & (RDLOCK_GRANT_OWNER_DIED | RDLOCK_GRANT_MAYBE_DIED))
		/* To have it for a moment is to be the one that is told. */
		fprintf(stderr, "rdlock: an owner of '%s/%s' died holding it: what it guards may be half done\n"
			"        the next owner is not told again: it was this test's turn\n",
			t.space_text, t.key_text);
	close(lock);
	if (err && err != -EAGAIN)
		return fail(RDLOCK_CMD_ACQUIRE, err, &t);

	out_open(NULL, '{');
	out_str("space", NULL, t.space_text);
	out_str("key", NULL, t.key_text);
	out_str("state", "%s\n", err ? "held" : "free");
	out_close();
	ret = out_done();
	if (ret)
		return ret;
	return err ? EXIT_BUSY : 0;
}
