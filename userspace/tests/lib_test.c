// SPDX-License-Identifier: GPL-2.0
/*
 * librdlock's helpers. KTAP on stdout; non-zero if a test fails.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "rdlock.h"

static int count, failed;
static int bad;		/* in the current test */

#define CHECK(what) do {							\
		if (!(what)) {							\
			printf("# %s:%d: %s\n", __FILE__, __LINE__, #what);	\
			bad = 1;						\
		}								\
	} while (0)

static void run(const char *name, void (*test)(void))
{
	bad = 0;
	test();
	failed += bad;
	printf("%s %d %s\n", bad ? "not ok" : "ok", ++count, name);
}

static void good_address(const char *text, const char *formatted)
{
	struct rdlock_addr addr;
	char buf[RDLOCK_ADDR_STR];

	memset(&addr, 0xcc, sizeof(addr));
	if (rdlock_addr_parse(text, &addr) || strcmp(rdlock_addr_format(&addr, buf), formatted)) {
		printf("# %s: %s, not %s\n", text, buf, formatted);
		bad = 1;
	}
}

static void addresses(void)
{
	struct rdlock_addr addr;

	good_address("10.0.0.1", "10.0.0.1:7517");
	good_address("10.0.0.1:1", "10.0.0.1:1");
	good_address("10.0.0.1:65535", "10.0.0.1:65535");
	good_address("fd00::1", "[fd00::1]:7517");
	good_address("::1", "[::1]:7517");
	good_address("[fd00::1]", "[fd00::1]:7517");
	good_address("[fd00::1]:99", "[fd00::1]:99");
	good_address("fe80::1%lo", "[fe80::1%lo]:7517");
	good_address("[fe80::1%1]:5", "[fe80::1%lo]:5");

	memset(&addr, 0xcc, sizeof(addr));
	CHECK(rdlock_addr_parse("10.1.2.3:258", &addr) == 0);
	CHECK(addr.family == AF_INET && addr.port == htons(258) && addr.scope_id == 0);
	CHECK(memcmp(addr.addr, "\x0a\x01\x02\x03\0\0\0\0\0\0\0\0\0\0\0\0", 16) == 0);
}

static void wrong_addresses(void)
{
	static const char * const wrong[] = {
		"", "x", "10.0.0", "10.0.0.1:", "10.0.0.1:0", "10.0.0.1:65536", "10.0.0.1:7x", "10.0.0.1:-1",
		"10.0.0.1 ", "256.0.0.1", "[10.0.0.1]", "[fd00::1", "[fd00::1]x", "[fd00::1]:", "fd00::1%lo", "fe80::1",
		"fe80::1%nosuchdevice", "fe80::1%", "fe80::1%0", "localhost", ":7517", "[]:7",
		"1234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890",
	};
	struct rdlock_addr addr, before;
	size_t i;

	memset(&addr, 0xcc, sizeof(addr));
	before = addr;
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		if (rdlock_addr_parse(wrong[i], &addr) == -EINVAL && memcmp(&addr, &before, sizeof(addr)) == 0)
			continue;
		printf("# '%s' was taken\n", wrong[i]);
		bad = 1;
	}
}

static void names(void)
{
	unsigned char name[RDLOCK_NAME_MAX], all[256];
	char text[RDLOCK_NAME_STR], x[200];
	int i, n;

	CHECK(rdlock_name_parse("abc", 3, name) == 3 && memcmp(name, "abc", 3) == 0);
	CHECK(rdlock_name_parse("a%2Fb%00%fF%25", 14, name) == 6 && memcmp(name, "a/b\0\xff%", 6) == 0);
	CHECK(rdlock_name_parse("", 0, name) == -ENODATA);
	CHECK(rdlock_name_parse("%", 1, name) == -EINVAL);
	CHECK(rdlock_name_parse("%4", 2, name) == -EINVAL);
	CHECK(rdlock_name_parse("%4g", 3, name) == -EINVAL);
	CHECK(rdlock_name_parse("a%41", 3, name) == -EINVAL);	/* the text ends before the 1 */
	memset(x, 'x', sizeof(x));
	CHECK(rdlock_name_parse(x, 64, name) == 64);
	CHECK(rdlock_name_parse(x, 65, name) == -ENAMETOOLONG);

	for (i = 0; i < 256; i++)
		all[i] = i;
	for (i = 0; i < 256; i += RDLOCK_NAME_MAX) {
		rdlock_name_format(all + i, RDLOCK_NAME_MAX, "/", text);
		CHECK(!strchr(text, '/') && !strchr(text, ' '));
		n = rdlock_name_parse(text, strlen(text), name);
		CHECK(n == RDLOCK_NAME_MAX && memcmp(name, all + i, n) == 0);
	}
	memset(name, 0xff, sizeof(name));
	CHECK(strlen(rdlock_name_format(name, 64, NULL, text)) == RDLOCK_NAME_STR - 1);
	CHECK(strcmp(rdlock_name_format("a/b", 3, NULL, text), "a/b") == 0);
}

static void deadlines(void)
{
	uint64_t now = rdlock_deadline_in(0);

	CHECK(now > 0 && rdlock_deadline_in(-5) >= now && rdlock_deadline_in(-5) < now + 1000000000);
	CHECK(rdlock_deadline_in(NAN) < now + 1000000000);
	CHECK(rdlock_deadline_in(2.5) >= now + 2500000000 && rdlock_deadline_in(2.5) < now + 3500000000);
	CHECK(rdlock_deadline_in(INFINITY) == RDLOCK_NO_DEADLINE);
	CHECK(rdlock_deadline_in(1e300) == RDLOCK_NO_DEADLINE);
}

/* Whatever fails with whatever: a sentence with the errno's name, on one line or two, that fits into its buffer. */
static void explanations(void)
{
	char buf[1024], small[16], *line;
	size_t size;
	int cmd, err;

	for (cmd = RDLOCK_CMD_DEV_OPEN; cmd <= RDLOCK_CMD_COUNTER_READ; cmd++) {
		for (err = 1; err < 134; err++) {
			rdlock_explain(cmd, -err, "sp", "ke", buf, sizeof(buf));
			line = strchr(buf, '\n');
			CHECK(strlen(buf) < 400 && !strstr(buf, "%S") && !strstr(buf, "%L"));
			CHECK(!line || !strchr(line + 1, '\n'));
			if (line)
				*line = 0;
			CHECK(strstr(buf, rdlock_errno_name(err)));
		}
	}
	rdlock_explain(RDLOCK_CMD_SPACE_OPEN, -ENOENT, "web", NULL, buf, sizeof(buf));
	CHECK(strstr(buf, "rdlock space join 'web' ADDRESS --id N"));
	rdlock_explain(RDLOCK_CMD_SPACE_JOIN, -EHOSTUNREACH, "web", NULL, buf, sizeof(buf));
	CHECK(strstr(buf, "the home did not answer in time") && strstr(buf, "--wait") && strstr(buf, "4791"));
	rdlock_explain(RDLOCK_CMD_ACQUIRE, -ETIMEDOUT, "web", "a/b", buf, sizeof(buf));
	CHECK(strstr(buf, "cannot acquire lock 'web/a/b'"));
	rdlock_explain(RDLOCK_CMD_ACQUIRE, -ETIMEDOUT, NULL, NULL, buf, sizeof(buf));
	CHECK(strstr(buf, "'?/?'"));

	for (size = 0; size <= sizeof(small); size++) {
		memset(small, 'z', sizeof(small));
		rdlock_explain(RDLOCK_CMD_ACQUIRE, -EAGAIN, "a", "b", small, size);
		CHECK(size == 0 || memchr(small, 0, size));
		CHECK(size == sizeof(small) || small[size] == 'z');
	}
}

static void bad_names_are_refused(void)
{
	struct rdlock_addr addr = { .family = AF_INET };
	struct rdlock_lock_opts opts = {};
	char key[65] = "";
	uint64_t never = RDLOCK_NO_DEADLINE;

	errno = 77;
	CHECK(rdlock_space_create(-1, "", 0, &addr, 0, NULL) == -EINVAL);
	CHECK(rdlock_space_join(-1, key, 65, &addr, 0, NULL, never) == -EINVAL);
	CHECK(rdlock_space_open(-1, key, 65) == -EINVAL);
	CHECK(rdlock_lock_open(-1, key, 65, 0, 0, never) == -EINVAL);
	CHECK(rdlock_lock_open_as(-1, key, 65, &opts, 0, never) == -EINVAL);
	CHECK(rdlock_lock_open_as(-1, key, 64, &opts, 0, never) == -EBADF);
	CHECK(rdlock_value_set(-1, key, RDLOCK_VALUE_MAX + 1) == -EINVAL);
	CHECK(rdlock_value_set(-1, key, 8) == -EBADF && rdlock_value_get(-1, key, 8) == -EBADF);
	CHECK(rdlock_convert(-1, RDLOCK_MODE_SHARED, NULL) == -EBADF);
	CHECK(rdlock_counter_open(-1, key, 0, 1, never) == -EINVAL);
	CHECK(rdlock_lock_open(-1, key, 64, 0, 0, never) == -EBADF);
	CHECK(rdlock_acquire(-1, RDLOCK_MODE_EXCLUSIVE, never, NULL) == -EBADF);
	CHECK(errno == 77);
}

/*
 * A kernel in place of the system call: it fills as much of a structure as the size in front of it says, and
 * has 20 spaces, of the nodes 0 to 19, which are more than the library has room for at its first call.
 */
#define KERNEL_FD	1000
#define SPACES		20

int ioctl(int fd, unsigned long cmd, ...)
{
	struct rdlock_space_stat stat;
	struct rdlock_space_list *l;
	uint32_t size, i;
	va_list ap;
	void *arg;

	va_start(ap, cmd);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (fd != KERNEL_FD) {
		errno = EBADF;
		return -1;
	}
	if (cmd != RDLOCK_IOC_SPACE_LIST) {
		memcpy(&size, arg, sizeof(size));
		memset((char *)arg + 8, 0x5a, size - 8);
		return 0;
	}
	l = arg;
	for (i = 0; i < l->count && i < SPACES; i++) {
		memset(&stat, 0x5a, sizeof(stat));
		stat.out_node = i;
		memcpy((char *)(uintptr_t)l->stats + (size_t)i * l->stat_size, &stat,
		       l->stat_size < sizeof(stat) ? l->stat_size : sizeof(stat));
	}
	l->out_total = SPACES;
	return 0;
}

/* Its size, @len, is in front, the rest is the kernel's, and nothing is written behind it. */
#define FILLED(buf, len)	((uint32_t)(buf)[0] == (len) && (buf)[1] == 0x5a5a5a5a5a5a5a5aull &&	\
				 (buf)[(len) / 8 - 1] == 0x5a5a5a5a5a5a5a5aull &&			\
				 (buf)[(len) / 8] == 0xccccccccccccccccull)

/* A program that was compiled when the structures were shorter. */
static void callers_structures(void)
{
	struct rdlock_space_stat *stats = NULL;
	size_t old = offsetof(struct rdlock_space_stat, out_wait), size;
	uint64_t buf[64];
	uint32_t node;
	int i, n, wrong = 0;

	for (size = 16; size <= old; size += 8) {
		memset(buf, 0xcc, sizeof(buf));
		CHECK(rdlock_get_info(KERNEL_FD, (void *)buf, size) == 0 && FILLED(buf, size));
		memset(buf, 0xcc, sizeof(buf));
		CHECK(rdlock_get_space_stat(KERNEL_FD, (void *)buf, size) == 0 && FILLED(buf, size));
		memset(buf, 0xcc, sizeof(buf));
		CHECK(rdlock_get_status(KERNEL_FD, (void *)buf, size) == 0 && FILLED(buf, size));
	}
	memset(buf, 0xcc, sizeof(buf));
	CHECK(rdlock_get_info(KERNEL_FD, (void *)buf, 0) == -EINVAL && buf[0] == 0xccccccccccccccccull);
	CHECK(rdlock_space_list(KERNEL_FD, &stats, 0) == -EINVAL && !stats);

	n = rdlock_space_list(KERNEL_FD, &stats, old);
	CHECK(n == SPACES);
	for (i = 0; i < n; i++) {
		memcpy(&node, (char *)stats + i * old + offsetof(struct rdlock_space_stat, out_node), sizeof(node));
		wrong += node != (uint32_t)i;
	}
	CHECK(!wrong);
	free(stats);
}

int main(void)
{
	printf("TAP version 13\n1..7\n");
	run("addresses", addresses);
	run("wrong_addresses", wrong_addresses);
	run("names", names);
	run("deadlines", deadlines);
	run("explanations", explanations);
	run("bad_names_are_refused", bad_names_are_refused);
	run("callers_structures", callers_structures);
	return failed != 0;
}
