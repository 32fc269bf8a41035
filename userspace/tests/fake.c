// SPDX-License-Identifier: GPL-2.0
/*
 * A /dev/rdlock for one host, for tests of the command without the module: preloaded, it answers the
 * ioctls from files in the folder $FAKE_RDLOCK. A lock fd is a file under flock(2), so open file
 * descriptions own locks, as they should.
 *
 *	FAKE_FAIL=40=113,21=5	command 0x40 fails with errno 113, 0x21 with 5
 *	FAKE_LOSE_MS=100	100 ms after the first poll the lock is lost
 *	FAKE_FLAGS=3		grant flags
 *	FAKE_DIED=1		the lock is robust, and an owner died, until the folder has a file "consistent"
 *	FAKE_BUSTED=1		locks exclude nobody: what the tests must notice
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include <glob.h>

#include <linux/rdlock.h>

enum kind { NONE, DEV, SPACE, LOCK, COUNTER };

#define MAX_FDS	256

static enum kind kinds[MAX_FDS];
static char space_of[MAX_FDS][3 * RDLOCK_NAME_MAX + 1];
static uint64_t lost_at;
static const char lock_path[] = "lock";

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static int failure(unsigned int nr)
{
	const char *p = getenv("FAKE_FAIL");
	unsigned int cmd, err;
	int n;

	while (p && sscanf(p, "%x=%u%n", &cmd, &err, &n) == 2) {
		if (cmd == nr)
			return err;
		p += n;
		p += *p == ',';
	}
	return 0;
}

static const char *hex(const uint8_t *name, uint32_t len)
{
	static char buf[2][2 * RDLOCK_NAME_MAX + 1];
	static int turn;
	char *to = buf[turn ^= 1];
	uint32_t i;

	for (i = 0; i < len && i < RDLOCK_NAME_MAX; i++)
		sprintf(to + 2 * i, "%02x", name[i]);
	return to;
}

static const char *path(const char *what, const char *space, const char *key)
{
	static char buf[2][1024];
	static int turn;
	char *to = buf[turn ^= 1];

	snprintf(to, sizeof(buf[0]), "%s/%s.%s.%s", getenv("FAKE_RDLOCK"), what, space, key);
	return to;
}

static int fail(int err)
{
	errno = err;
	return -1;
}

static int new_fd(const char *name, enum kind kind, const char *space)
{
	int fd = openat(AT_FDCWD, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0 && fd < MAX_FDS) {
		kinds[fd] = kind;
		snprintf(space_of[fd], sizeof(space_of[fd]), "%s", space);
	}
	return fd;
}

static int fake_open(const char *name)
{
	char link[64];

	(void)name;
	if (!getenv("FAKE_RDLOCK"))
		return fail(ENOENT);
	snprintf(link, sizeof(link), "/dev/null");
	return new_fd(link, DEV, "");
}

int open(const char *name, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = va_arg(ap, mode_t);
	va_end(ap);
	if (strcmp(name, "/dev/rdlock") == 0)
		return fake_open(name);
	return openat(AT_FDCWD, name, flags, mode);
}

int close(int fd)
{
	static int (*real)(int fd);

	if (!real)
		real = (int (*)(int))dlsym(RTLD_NEXT, "close");
	if (fd >= 0 && fd < MAX_FDS)
		kinds[fd] = NONE;
	return real(fd);
}

int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	static int (*real)(struct pollfd *fds, nfds_t n, int timeout);
	const char *lose = getenv("FAKE_LOSE_MS");
	int ret, left = timeout;
	nfds_t i, lock = n;

	if (!real)
		real = (int (*)(struct pollfd *, nfds_t, int))dlsym(RTLD_NEXT, "poll");
	for (i = 0; i < n; i++)
		if (fds[i].fd >= 0 && fds[i].fd < MAX_FDS && kinds[fds[i].fd] == LOCK)
			lock = i;
	if (!lose || lock == n)
		return real(fds, n, timeout);

	if (!lost_at)
		lost_at = now_ns() + atoi(lose) * 1000000ULL;
	left = now_ns() < lost_at ? (lost_at - now_ns()) / 1000000 + 1 : 0;
	ret = real(fds, n, left);
	if (now_ns() >= lost_at && ret >= 0) {
		ret += !fds[lock].revents;
		fds[lock].revents |= POLLERR | POLLHUP;
	}
	return ret;
}

static int create(const char *space, const struct rdlock_addr *addr, uint32_t node, uint32_t mode, uint32_t uid,
		  uint32_t gid, int home, const uint8_t *name, uint32_t len, uint32_t kind,
		  uint32_t wait)
{
	struct rdlock_space_stat s = {
		.size = sizeof(s), .out_state = RDLOCK_SPACE_READY, .out_node = node, .out_is_home = home,
		.out_max_nodes = 64, .out_members = 2 - home, .out_backend = 1,
		.out_kind = kind ? kind : RDLOCK_KIND_FAIR, .out_wait = wait ? wait : RDLOCK_WAIT_ADAPTIVE,
		.out_mode = mode, .out_uid = uid, .out_gid = gid, .out_inc = 0x1234, .out_generation = 1,
		.out_instance = 0xfedcba9876543210, .out_since = now_ns(), .out_addr = *addr, .out_name_len = len,
	};
	int fd = openat(AT_FDCWD, path("space", space, ""), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return -1;
	memcpy(s.out_name, name, len);
	strcpy((char *)s.out_dev, "rxe0");
	if (write(fd, &s, sizeof(s)) != sizeof(s))
		abort();
	close(fd);
	return 0;
}

static int list(struct rdlock_space_list *l)
{
	struct rdlock_space_stat *to = (void *)(uintptr_t)l->stats;
	glob_t g = {};
	size_t i;
	int fd;

	glob(path("space", "*", ""), 0, NULL, &g);
	for (i = 0; i < g.gl_pathc && i < l->count; i++) {
		fd = openat(AT_FDCWD, g.gl_pathv[i], O_RDONLY | O_CLOEXEC);
		if (read(fd, &to[i], sizeof(*to)) != sizeof(*to))
			abort();
		close(fd);
	}
	l->out_total = g.gl_pathc;
	globfree(&g);
	return 0;
}

static int dev_ioctl(unsigned int nr, void *arg)
{
	struct rdlock_space_create *c = arg;
	struct rdlock_space_join *j = arg;
	struct rdlock_space_name *n = arg;
	struct rdlock_info *info = arg;

	switch (nr) {
	case RDLOCK_CMD_INFO:
		info->out_features = 63;
		info->out_kinds = 0x1e;
		info->out_name_max = 64;
		info->out_max_nodes = 256;
		info->out_max_cells = 512;
		strcpy((char *)info->out_version, "fake");
		return 0;
	case RDLOCK_CMD_SPACE_CREATE:
		return create(hex(c->name, c->name_len), &c->addr, c->node, c->mode, c->uid, c->gid, 1, c->name,
			      c->name_len, c->kind, c->wait);
	case RDLOCK_CMD_SPACE_JOIN:
		return create(hex(j->name, j->name_len), &j->addr, j->node, j->mode, j->uid, j->gid, 0, j->name,
			      j->name_len, 0, j->wait);
	case RDLOCK_CMD_SPACE_LEAVE:
	case RDLOCK_CMD_SPACE_DESTROY:
		return unlink(path("space", hex(n->name, n->name_len), ""));
	case RDLOCK_CMD_SPACE_LIST:
		return list(arg);
	case RDLOCK_CMD_SPACE_OPEN:
		if (access(path("space", hex(n->name, n->name_len), ""), F_OK))
			return fail(ENOENT);
		return new_fd("/dev/zero", SPACE, hex(n->name, n->name_len));
	}
	return fail(ENOTTY);
}

static int stat_of(const char *space, struct rdlock_space_stat *s)
{
	int fd = openat(AT_FDCWD, path("space", space, ""), O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return fail(ENOENT);
	if (read(fd, s, sizeof(*s)) != sizeof(*s))
		abort();
	close(fd);
	return 0;
}

/* A file that says so. */
static int leave(const char *what)
{
	int fd = openat(AT_FDCWD, path(what, "", ""), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

static int space_ioctl(int fd, unsigned int nr, void *arg)
{
	struct rdlock_counter_open *c = arg;
	struct rdlock_lock_open *l = arg;
	const char *name;
	off_t have;
	int new;

	if (nr == RDLOCK_CMD_LOCK_OPEN && getenv("FAKE_SHOW_OPEN"))
		fprintf(stderr, "kind=%u flags=%u value=%u\n", l->kind, l->flags, l->value_size);
	if (nr == RDLOCK_CMD_LOCK_OPEN && now_ns() >= l->deadline)
		return fail(EHOSTUNREACH);
	if (nr == RDLOCK_CMD_LOCK_OPEN)
		return new_fd(path(lock_path, space_of[fd], hex(l->key, l->key_len)), LOCK, hex(l->key, l->key_len));
	if (nr == RDLOCK_CMD_LOCK_RESET)
		return leave("reset");
	if (nr == RDLOCK_CMD_SPACE_STAT)
		return stat_of(space_of[fd], arg);
	if (nr != RDLOCK_CMD_COUNTER_OPEN)
		return fail(ENOTTY);
	if (c->cells > 512)
		return fail(EINVAL);
	name = path("counter", space_of[fd], hex(c->key, c->key_len));
	if (!c->cells && access(name, F_OK))
		return fail(ENOENT);
	new = new_fd(name, COUNTER, "");
	have = lseek(new, 0, SEEK_END) / 8;
	if (!have)
		return ftruncate(new, c->cells * 8) ? -1 : new;
	if (c->cells && have != c->cells) {
		close(new);
		return fail(EEXIST);
	}
	return new;
}

static int acquire(int fd, struct rdlock_acquire *a)
{
	const char *flags = getenv("FAKE_FLAGS");
	uint64_t token = 0;

	/* As the kernel: a time that is over is not the time to look. */
	if (!(a->flags & RDLOCK_ACQUIRE_TRY) && now_ns() >= a->deadline)
		return fail(ETIMEDOUT);
	while (!getenv("FAKE_BUSTED") && flock(fd, LOCK_EX | LOCK_NB)) {
		if (a->flags & RDLOCK_ACQUIRE_TRY)
			return fail(EAGAIN);
		if (now_ns() >= a->deadline)
			return fail(ETIMEDOUT);
		usleep(3000);
	}
	if (pread(fd, &token, 8, 0) < 0)
		abort();
	token++;
	if (pwrite(fd, &token, 8, 0) != 8)
		abort();
	a->out_token = token;
	a->out_instance = 0xfedcba9876543210;
	a->out_flags = flags ? atoi(flags) : 0;
	if (!getenv("FAKE_DIED") || !access(path("consistent", "", ""), F_OK))
		return 0;
	a->out_flags |= RDLOCK_GRANT_OWNER_DIED;
	return fail(EOWNERDEAD);
}

static int lock_ioctl(int fd, unsigned int nr, void *arg)
{
	switch (nr) {
	case RDLOCK_CMD_ACQUIRE:
		return acquire(fd, arg);
	case RDLOCK_CMD_CONSISTENT:
		return leave("consistent");
	case RDLOCK_CMD_RELEASE:
		if (getenv("FAKE_DIED") && access(path("consistent", "", ""), F_OK))
			return leave("given-up");
		if (lost_at && now_ns() >= lost_at)
			return fail(EKEYREVOKED);
		return flock(fd, LOCK_UN);
	}
	return fail(ENOTTY);
}

static int counter_ioctl(int fd, unsigned int nr, struct rdlock_counter_op *op)
{
	uint64_t value;

	flock(fd, LOCK_EX);
	op->out_cells = lseek(fd, 0, SEEK_END) / 8;
	if (pread(fd, &value, 8, op->cell * 8ULL) != 8) {
		flock(fd, LOCK_UN);
		return fail(ERANGE);
	}
	op->out_old = value;
	if (nr == RDLOCK_CMD_COUNTER_ADD)
		value += op->arg;
	else if (nr == RDLOCK_CMD_COUNTER_CAS && value == op->expect)
		value = op->arg;
	if (pwrite(fd, &value, 8, op->cell * 8ULL) != 8)
		abort();
	flock(fd, LOCK_UN);
	return 0;
}

int ioctl(int fd, unsigned long cmd, ...)
{
	static int (*real)(int fd, unsigned long cmd, ...);
	void *arg;
	va_list ap;
	int err;

	va_start(ap, cmd);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (_IOC_TYPE(cmd) != RDLOCK_IOC || fd < 0 || fd >= MAX_FDS || !kinds[fd]) {
		if (!real)
			real = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
		return real(fd, cmd, arg);
	}
	err = failure(_IOC_NR(cmd));
	if (err)
		return fail(err);
	switch (kinds[fd]) {
	case DEV:
		return dev_ioctl(_IOC_NR(cmd), arg);
	case SPACE:
		return space_ioctl(fd, _IOC_NR(cmd), arg);
	case LOCK:
		return lock_ioctl(fd, _IOC_NR(cmd), arg);
	case COUNTER:
		return counter_ioctl(fd, _IOC_NR(cmd), arg);
	default:
		return fail(ENOTTY);
	}
}
