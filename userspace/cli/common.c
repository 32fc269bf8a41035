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
	default:
		return EXIT_ERROR;
	}
}

int open_dev(void)
{
	int dev = rdlock_dev_open();

	return dev < 0 ? -fail(RDLOCK_CMD_DEV_OPEN, dev, NULL) : dev;
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

const char *kind_word(unsigned int kind)
{
	switch (kind) {
	case RDLOCK_KIND_DEFAULT:
		return "default";
	case RDLOCK_KIND_SPIN:
		return "spin";
	default:
		return "unknown";
	}
}
