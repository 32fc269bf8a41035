// SPDX-License-Identifier: GPL-2.0
/*
 * Appends a line to a file that several hosts share, one host at a time, and writes the fencing token with it.
 *
 *	append SPACE KEY FILE TEXT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rdlock.h>

static int fail(int cmd, int err, char **argv)
{
	char buf[512];

	fprintf(stderr, "append: %s\n", rdlock_explain(cmd, err, argv[1], argv[2], buf, sizeof(buf)));
	return 1;
}

static int write_line(const char *path, const char *text, const struct rdlock_grant *grant)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	unsigned long long token = grant->token;
	int err = 0;

	if (fd < 0 || dprintf(fd, "%016llx %s\n", token, text) < 0 || fsync(fd)) {
		fprintf(stderr, "append: %s: %s\n", path, strerror(errno));
		err = 1;
	}
	if (fd >= 0)
		close(fd);
	return err;
}

int main(int argc, char **argv)
{
	struct rdlock_grant grant;
	uint64_t deadline = rdlock_deadline_in(10);
	int dev, space, lock, err;

	if (argc != 5) {
		fprintf(stderr, "usage: append SPACE KEY FILE TEXT\n");
		return 2;
	}

	dev = rdlock_dev_open();
	if (dev < 0)
		return fail(RDLOCK_CMD_DEV_OPEN, dev, argv);
	space = rdlock_space_open(dev, argv[1], strlen(argv[1]));
	if (space < 0)
		return fail(RDLOCK_CMD_SPACE_OPEN, space, argv);
	lock = rdlock_lock_open(space, argv[2], strlen(argv[2]), RDLOCK_KIND_DEFAULT, 0, deadline);
	if (lock < 0)
		return fail(RDLOCK_CMD_LOCK_OPEN, lock, argv);
	err = rdlock_acquire(lock, RDLOCK_MODE_EXCLUSIVE, deadline, &grant);
	if (err)
		return fail(RDLOCK_CMD_ACQUIRE, err, argv);

	err = write_line(argv[3], argv[4], &grant);

	/* An error here says that this node was cut off meanwhile: the line may stand beside another's. */
	if (rdlock_release(lock))
		err = fail(RDLOCK_CMD_RELEASE, -EKEYREVOKED, argv);
	close(lock);
	close(space);
	close(dev);
	return err;
}
