// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

int fail(int cmd, int err, const struct target *t)
{
	char buf[1024];
	char *todo;

	rdlock_explain(cmd, err, t ? t->space_text : NULL, t ? t->key_text : NULL, buf, sizeof(buf));
	todo = strchr(buf, '\n');
	if (todo)
		*todo++ = 0;
	fprintf(stderr, "rdlock: %s\n", buf);
	if (todo)
		fprintf(stderr, "        %s\n", todo);
	switch (err) {
	case -EAGAIN:
		return EXIT_BUSY;
	case -ETIMEDOUT:
		return EXIT_TIMEOUT;
	case -EOWNERDEAD:
		return EXIT_DIED;
	default:
		return EXIT_ERROR;
	}
}

int open_dev(void)
{
	int dev = rdlock_dev_open();

	return dev < 0 ? -fail(RDLOCK_CMD_DEV_OPEN, dev, NULL) : dev;
}

int get_info(struct rdlock_info *info)
{
	int dev = open_dev();
	int err;

	if (dev < 0)
		return -dev;
	err = rdlock_get_info(dev, info, sizeof(*info));
	close(dev);
	return err ? fail(RDLOCK_CMD_INFO, err, NULL) : 0;
}

int open_space(const struct target *t)
{
	int dev = open_dev();
	int space;

	if (dev < 0)
		return dev;
	space = rdlock_space_open(dev, t->space, t->space_len);
	close(dev);
	return space < 0 ? -fail(RDLOCK_CMD_SPACE_OPEN, space, t) : space;
}

static const char * const kinds[] = {
	[RDLOCK_KIND_DEFAULT] = "default",
	[RDLOCK_KIND_SPIN] = "spin",
	[RDLOCK_KIND_FAIR] = "fair",
	[RDLOCK_KIND_TICKET] = "ticket",
	[RDLOCK_KIND_MCS] = "mcs",
};

#define NR_KINDS	(sizeof(kinds) / sizeof(*kinds))

const char *kind_word(unsigned int kind)
{
	return kind < NR_KINDS ? kinds[kind] : "unknown";
}

int parse_kind(const struct args *a, const char *text, unsigned int *kind)
{
	*kind = RDLOCK_KIND_DEFAULT;
	if (!text)
		return 0;
	for (*kind = 0; *kind < NR_KINDS; (*kind)++)
		if (strcmp(text, kinds[*kind]) == 0)
			return 0;
	return usage_error(a, "'%s' is no kind of lock; spin, fair, ticket and mcs are", text);
}

static const char * const waits[] = {
	[RDLOCK_WAIT_DEFAULT] = "default",
	[RDLOCK_WAIT_EVENT] = "event",
	[RDLOCK_WAIT_SPIN] = "spin",
	[RDLOCK_WAIT_ADAPTIVE] = "adaptive",
};

const char *wait_word(unsigned int wait)
{
	return wait < RDLOCK_NR_WAITS ? waits[wait] : "unknown";
}

int parse_waiting(const struct args *a, const char *text, uint32_t *wait)
{
	*wait = RDLOCK_WAIT_DEFAULT;
	if (!text)
		return 0;
	for (*wait = 0; *wait < RDLOCK_NR_WAITS; (*wait)++)
		if (strcmp(text, waits[*wait]) == 0)
			return 0;
	return usage_error(a, "'%s' is no way to wait; event, spin and adaptive are", text);
}
