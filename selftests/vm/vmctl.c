// SPDX-License-Identifier: GPL-2.0
/*
 * vmctl: a scenario asks the host for something.
 *
 *   vmctl [-t SECONDS] VERB [ARGUMENT...]
 *   vmctl now                               CLOCK_MONOTONIC in nanoseconds
 *   vmctl seed FILE                         its bytes into the kernel's random numbers
 *   vmctl tar FOLDER SUFFIX >FILE           files of debugfs, which have no size until they are read; nothing if
 *                                           there are none
 *
 * One request is a line "ID VERB ARGUMENT..." on the second virtio port, one
 * answer a line "ID ok|wait|no [TEXT]". Arguments are %-escaped. "wait" means
 * ask again: with -t until the time is up. The port has room for one opener, so
 * a lock file is held from question to answer; an answer to a client that was
 * killed in between is told from ours by its ID.
 *
 * Exit status: 0 ok, 1 no, 2 usage or channel trouble, 3 time is up.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/random.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PORT "/dev/vport0p2"
#define LOCK "/tmp/.vmctl"
#define LINE 65536
#define ANSWER_MS 20000

static unsigned long long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void die(const char *what)
{
	fprintf(stderr, "vmctl: %s: %s\n", what, strerror(errno));
	exit(2);
}

static size_t escape(char *out, size_t room, const char *in)
{
	size_t n = 0;

	for (; *in && n + 4 < room; in++) {
		unsigned char c = *in;

		if (c <= ' ' || c == '%' || c >= 127)
			n += sprintf(out + n, "%%%02x", c);
		else
			out[n++] = c;
	}
	/* An empty argument must still be one. */
	if (!n)
		n += sprintf(out, "%%");
	out[n] = 0;
	return n;
}

static void unescape(char *text)
{
	char *out = text;

	while (*text) {
		unsigned int c;

		if (text[0] == '%' && sscanf(text + 1, "%2x", &c) == 1) {
			*out++ = c;
			text += 3;
		} else if (text[0] == '%') {
			text++;
		} else {
			*out++ = *text++;
		}
	}
	*out = 0;
}

/* Reads one line; the port gives what is there, however little is asked for. */
static int read_line(int fd, char *line, size_t room, unsigned long long deadline)
{
	size_t n = 0;

	while (n + 1 < room) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		unsigned long long now = now_ns();

		if (now >= deadline)
			return -1;
		if (poll(&p, 1, (deadline - now) / 1000000 + 1) <= 0)
			continue;
		if (read(fd, line + n, 1) != 1)
			return -1;
		if (line[n] == '\n')
			break;
		n++;
	}
	line[n] = 0;
	return 0;
}

/* Returns 'o', 'w' or 'n' and the text of the answer. */
static int ask(const char *request, char *answer, size_t room)
{
	unsigned long long deadline = now_ns() + ANSWER_MS * 1000000ull;
	static char line[LINE];
	static unsigned int turn;
	char id[32];
	int lock, fd, len, kind;

	lock = open(LOCK, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (lock < 0 || flock(lock, LOCK_EX))
		die(LOCK);
	fd = open(PORT, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die(PORT);

	snprintf(id, sizeof(id), "%d.%u", getpid(), turn++);
	len = snprintf(line, sizeof(line), "%s %s\n", id, request);
	if (write(fd, line, len) != len)
		die("write");
	do {
		if (read_line(fd, line, sizeof(line), deadline)) {
			errno = ETIMEDOUT;
			die("no answer from the host");
		}
	} while (strncmp(line, id, strlen(id)) || line[strlen(id)] != ' ');
	close(fd);
	close(lock);

	kind = line[strlen(id) + 1];
	answer[0] = 0;
	if (strchr(line + strlen(id) + 1, ' '))
		snprintf(answer, room, "%s", strchr(line + strlen(id) + 1, ' ') + 1);
	unescape(answer);
	return kind;
}

/*
 * Mixing in alone would show only at the next reseeding, up to minutes later;
 * the ioctl also drops what the kernel has drawn in advance.
 */
static void seed(const char *path)
{
	struct {
		struct rand_pool_info info;
		unsigned char bytes[64];
	} pool = { .info = { .entropy_count = 512, .buf_size = sizeof(pool.bytes) } };
	int fd, from;

	from = open(path, O_RDONLY | O_CLOEXEC);
	if (from < 0 || read(from, pool.info.buf, sizeof(pool.bytes)) != sizeof(pool.bytes))
		die(path);
	fd = open("/dev/urandom", O_RDWR | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, RNDADDENTROPY, &pool.info) || ioctl(fd, RNDRESEEDCRNG))
		die("/dev/urandom");
	close(from);
	close(fd);
}

static const char *tar_suffix;
static size_t tar_skip;

/* The head of a file in a tar, of the ustar format. */
static void tar_head(char head[512], const char *name, size_t size)
{
	const char *cut = strlen(name) > 100 ? strchr(name + strlen(name) - 101, '/') : NULL;
	unsigned int sum = 0;

	if (strlen(name) > 100 && (!cut || cut - name > 155))
		die(name);
	memset(head, 0, 512);
	if (cut)
		memcpy(head + 345, name, cut - name);
	name = cut ? cut + 1 : name;
	memcpy(head, name, strlen(name));
	sprintf(head + 100, "%07o", 0600);
	sprintf(head + 108, "%07o", 0);
	sprintf(head + 116, "%07o", 0);
	sprintf(head + 124, "%011zo", size);
	sprintf(head + 136, "%011o", 0);
	memset(head + 148, ' ', 8);
	head[156] = '0';
	memcpy(head + 257, "ustar\00000", 8);
	for (int i = 0; i < 512; i++)
		sum += (unsigned char)head[i];
	sprintf(head + 148, "%06o", sum);
}

static int tar_file(const char *path, const struct stat *st, int type, struct FTW *where)
{
	static char data[1 << 20];
	size_t len = strlen(path), size = 0;
	char head[512];
	ssize_t got;
	int fd;

	(void)st;
	(void)where;
	if (type != FTW_F || len < strlen(tar_suffix) || strcmp(path + len - strlen(tar_suffix), tar_suffix))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die(path);
	while ((got = read(fd, data + size, sizeof(data) - 512 - size)) > 0)
		size += got;
	if (got < 0 || size == sizeof(data) - 512)
		die(path);
	close(fd);
	tar_head(head, path + tar_skip, size);
	memset(data + size, 0, 512);
	if (fwrite(head, sizeof(head), 1, stdout) != 1 ||
	    (size && fwrite(data, (size + 511) / 512 * 512, 1, stdout) != 1))
		die("tar");
	return 0;
}

static int tar(const char *folder, const char *suffix)
{
	static const char end[1024];

	tar_suffix = suffix;
	tar_skip = strlen(folder) + 1;
	if (nftw(folder, tar_file, 16, FTW_PHYS) || (ftell(stdout) && fwrite(end, sizeof(end), 1, stdout) != 1) ||
	    fflush(stdout))
		die(folder);
	return 0;
}

int main(int argc, char **argv)
{
	static char request[LINE], answer[LINE];
	unsigned long long deadline;
	double seconds = 0;
	int i = 1, kind, silent = 0;
	unsigned int pause_us = 2000, longest_us = 30000;
	const char *patience = getenv("PATIENCE");
	size_t n = 0;

	if (argc == 2 && !strcmp(argv[1], "now")) {
		printf("%llu\n", now_ns());
		return 0;
	}
	if (argc == 3 && !strcmp(argv[1], "seed")) {
		seed(argv[2]);
		return 0;
	}
	if (argc == 4 && !strcmp(argv[1], "tar"))
		return tar(argv[2], argv[3]);
	if (argc > 3 && !strcmp(argv[1], "-t")) {
		seconds = atof(argv[2]);
		i = 3;
	}
	if (i >= argc) {
		fprintf(stderr, "usage: vmctl [-t SECONDS] VERB [ARGUMENT...]\n");
		return 2;
	}
	for (; i < argc && n + 8 < sizeof(request); i++) {
		if (n)
			request[n++] = ' ';
		n += escape(request + n, sizeof(request) - n - 4, argv[i]);
	}

	/* On a slow kernel questions are dear. */
	if (patience && atoi(patience) > 1)
		longest_us *= atoi(patience);
	deadline = now_ns() + (unsigned long long)(seconds * 1e9);
	/* "meet NAME" is for us: to arrive there, and to wait until all have. */
	if (!strncmp(request, "meet ", 5)) {
		char name[128];

		if (snprintf(name, sizeof(name), "%s", request + 5) >= (int)sizeof(name))
			return 2;
		snprintf(request, sizeof(request), "arrive %s", name);
		if (ask(request, answer, sizeof(answer)) != 'o')
			return 1;
		snprintf(request, sizeof(request), "passed %s %u", name, (unsigned int)atoi(answer));
		silent = 1;
	}
	for (;;) {
		kind = ask(request, answer, sizeof(answer));
		if (kind != 'w')
			break;
		if (now_ns() >= deadline)
			return 3;
		usleep(pause_us);
		pause_us = 2 * pause_us < longest_us ? 2 * pause_us : longest_us;
	}
	if (silent)
		answer[0] = 0;
	if (answer[0])
		printf("%s\n", answer);
	return kind == 'o' ? 0 : 1;
}
