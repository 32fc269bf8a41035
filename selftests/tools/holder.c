// SPDX-License-Identifier: GPL-2.0
/*
 * holder: one owner that says what happens to it, and a storm of owners that are killed.
 *
 *   holder hold KEY [-n | -w MILLISECONDS] [-s] [-N] [-k KIND] [-v TEXT] [-r] [-c]
 *	Acquires; -n tries, -w sets a deadline, -s shares, -N: the lock is not to stay with an idle owner. Prints
 *	"held token=X flags=F ms=M" or "failed ERRNO ms=M" (and ends with 1). Then holds until SIGTERM, and prints
 *	"released" (0), or until the lock is lost, and prints "lost ERRNO" (3). SIGUSR1: goes to the other mode, and
 *	prints "shared", "exclusive", or "kept ERRNO". With -v the lock has a value of 8 bytes: it is printed behind
 *	value=, and TEXT is left in its place. With -r the lock is robust; if an owner has died, "held" ends with
 *	" died", and to release it is to give it up, but with -c: then it is made consistent first, and "consistent"
 *	is printed.
 *   holder open KEY [-k KIND] [-w MILLISECONDS]
 *	Opens the key, wants nothing, and prints "open"; until it is killed. SIGUSR1: goes on as hold does.
 *   holder leave KEY [-w MILLISECONDS] [-k KIND]
 *	Asks for it without waiting, and when it is granted, prints "granted", leaves without having fetched the
 *	grant, and prints "left".
 *   holder pass KEY -n TIMES [-k KIND]
 *	Acquires, prints "held", and releases when the node knows which one is next; so many times. Prints "passed N".
 *   holder many KEY [-k KIND] [-n LOCKS]
 *	Opens so many keys, KEY0 and so on, holds them all, and prints "held N"; until it is killed.
 *   holder crowd KEY [-k KIND] [-n REQUESTS]
 *	Opens the key so many times, has as many shared requests pending that nobody else may yet grant, and prints
 *	"waiting N"; until it is killed.
 *   holder storm KEY [-t PROCESSES] [-n KILLS] [-k KIND]
 *	Processes that acquire, hold for a moment and release; at random moments one is killed by SIGKILL and
 *	replaced. Prints "kills=N holding=H waiting=W ms=M": where the victims were. The survivors are killed,
 *	too.
 *
 * Status 2: usage, 1: failure, told on stdout.
 */

#include <sys/resource.h>

#include "common.h"

enum { AWAY, WAITS, HOLDS };

static int told, turn, kind, mode = RDLOCK_MODE_EXCLUSIVE;
static uint32_t open_flags;
static bool repair;
static const char *text;

static void tell(int sig)
{
	__atomic_store_n(&told, sig, __ATOMIC_RELAXED);
}

static void tell_turn(int sig)
{
	__atomic_store_n(&turn, sig, __ATOMIC_RELAXED);
}

static unsigned int ms_since(uint64_t start)
{
	return (now_ns() - start) / MS;
}

static int open_key(const char *key)
{
	int dev = dev_open();
	int space = dev < 0 ? dev : space_open(dev, the_space());
	int lock = space < 0 ? space : lock_open_as(space, key, kind, text ? 8 : 0, open_flags);

	if (space >= 0)
		close(space);
	if (dev >= 0)
		close(dev);
	return lock;
}

/* Until SIGUSR1. */
static void keep_open(void)
{
	sigset_t usr1;
	int sig;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	printf("open\n");
	sigwait(&usr1, &sig);
}

static void go_to_other_mode(int lock)
{
	uint32_t to = mode == RDLOCK_MODE_SHARED ? RDLOCK_MODE_EXCLUSIVE : RDLOCK_MODE_SHARED;
	int err = lock_convert(lock, to, NULL);

	if (err) {
		printf("kept %s\n", strerrorname_np(-err));
		return;
	}
	mode = to;
	printf("%s\n", mode == RDLOCK_MODE_SHARED ? "shared" : "exclusive");
}

static int hold(const char *key, uint32_t flags, uint64_t wait_ms, bool later)
{
	struct sigaction sa = { .sa_handler = tell }, usr1 = { .sa_handler = tell_turn };
	struct rdlock_acquire arg = { .size = sizeof(arg), .mode = mode, .flags = flags };
	struct pollfd p = { .events = 0 };
	char value[RDLOCK_VALUE_INLINE] = "";
	uint64_t start = now_ns();
	uint32_t len = 0;
	sigset_t term;
	bool died;
	int lock, err;

	lock = open_key(key);
	if (lock < 0) {
		printf("failed %s ms=%u\n", strerrorname_np(-lock), ms_since(start));
		return 1;
	}
	if (later) {
		keep_open();
		start = now_ns();
	}
	sigaction(SIGTERM, &sa, NULL);
	arg.deadline = wait_ms ? in_ms(wait_ms) : NEVER;
	err = call(lock, RDLOCK_IOC_ACQUIRE, &arg);
	died = err == -EOWNERDEAD;
	if (died)
		err = 0;
	if (err) {
		printf("failed %s ms=%u\n", strerrorname_np(-err), ms_since(start));
		return 1;
	}
	if (text)
		err = lock_value_get(lock, value, &len);
	printf("held token=%llx flags=%u ms=%u value=%.8s%s%s\n", (unsigned long long)arg.out_token, arg.out_flags,
	       ms_since(start), value, err ? "?" : "", died ? " died" : "");

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigaddset(&term, SIGUSR1);
	sigprocmask(SIG_BLOCK, &term, NULL);
	sigaction(SIGUSR1, &usr1, NULL);
	sigemptyset(&term);
	p.fd = lock;
	while (!__atomic_load_n(&told, __ATOMIC_RELAXED) && !(ppoll(&p, 1, NULL, &term) > 0 && p.revents & POLLERR))
		if (__atomic_exchange_n(&turn, 0, __ATOMIC_RELAXED))
			go_to_other_mode(lock);
	if (text) {
		memset(value, 0, sizeof(value));
		memcpy(value, text, strlen(text) < 8 ? strlen(text) : 8);
		lock_value_set(lock, value, 8);
	}
	if (died && repair) {
		err = lock_consistent(lock);
		printf("%s\n", err ? strerrorname_np(-err) : "consistent");
	}
	err = lock_release(lock);
	if (err) {
		printf("lost %s\n", strerrorname_np(-err));
		return 3;
	}
	printf("released\n");
	return 0;
}

static int leave(const char *key, uint64_t wait_ms)
{
	struct pollfd p = { .events = POLLIN };
	int err;

	open_flags |= RDLOCK_OPEN_NONBLOCK;
	p.fd = open_key(key);
	err = p.fd < 0 ? p.fd : lock_acquire(p.fd, 0, wait_ms ? in_ms(wait_ms) : NEVER, NULL);
	if (err == -EAGAIN)
		err = poll(&p, 1, -1) < 0 ? -errno : 0;
	else if (!err)
		err = -EALREADY;
	if (!err && lock_state(p.fd) != RDLOCK_FD_GRANTED)
		err = lock_acquire(p.fd, 0, NEVER, NULL);
	if (err) {
		printf("failed %s\n", strerrorname_np(-err));
		return 1;
	}
	printf("granted\n");
	err = lock_cancel(p.fd);
	printf("%s\n", err ? strerrorname_np(-err) : "left");
	return err ? 1 : 0;
}

/* Does the node know who gets it next? As the dump has it. */
static bool next_known(const char *key)
{
	char path[128], line[512], agent[96];
	bool known = false;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/debug/rdlock/%s/locks", the_space());
	snprintf(agent, sizeof(agent), "agent %s ", key);
	f = fopen(path, "r");
	while (f && !known && fgets(line, sizeof(line), f))
		known = !strncmp(line, agent, strlen(agent)) && strstr(line, " next=");
	if (f)
		fclose(f);
	return known;
}

static int pass(const char *key, unsigned int times)
{
	int lock = open_key(key), err = lock < 0 ? lock : 0;
	unsigned int i;

	for (i = 0; i < times && !err; i++) {
		uint64_t end = in_ms(20000);

		err = lock_acquire(lock, 0, end, NULL);
		if (!err && !i)
			printf("held\n");
		while (!err && !next_known(key)) {
			if (now_ns() > end)
				err = -ETIMEDOUT;
			sleep_us(2000);
		}
		if (!err)
			err = lock_release(lock);
	}
	if (err)
		printf("failed %s after %u\n", strerrorname_np(-err), i);
	else
		printf("passed %u\n", i);
	return err ? 1 : 0;
}

/* One owner of a key of its own, or of one more request that is to stay pending. */
static int hold_one(const char *prefix, unsigned int i, bool crowd)
{
	struct rdlock_acquire req = { .size = sizeof(req), .mode = RDLOCK_MODE_SHARED, .deadline = NEVER };
	char key[64];
	int lock, err;

	snprintf(key, sizeof(key), "%s%u", prefix, i);
	lock = open_key(crowd ? prefix : key);
	if (lock < 0)
		return lock;
	if (!crowd)
		return lock_acquire(lock, 0, NEVER, NULL);
	fcntl(lock, F_SETFL, O_NONBLOCK);
	err = call(lock, RDLOCK_IOC_ACQUIRE, &req);
	return err == -EAGAIN ? 0 : err ? err : -EEXIST;
}

static int hold_many(const char *prefix, unsigned int n, bool crowd)
{
	struct rlimit limit = { .rlim_cur = n + 100, .rlim_max = n + 100 };
	unsigned int i;
	int err = 0;

	if (setrlimit(RLIMIT_NOFILE, &limit))
		err = -errno;
	for (i = 0; i < n && !err; i++)
		err = hold_one(prefix, i, crowd);
	if (err) {
		printf("failed %s\n", strerrorname_np(-err));
		return 1;
	}
	printf("%s %u\n", crowd ? "waiting" : "held", n);
	for (;;)
		pause();
}

static void __attribute__((noreturn)) storm_child(const char *key, uint8_t *where)
{
	int lock = open_key(key);

	srandom(getpid());
	while (lock >= 0) {
		int err;

		__atomic_store_n(where, WAITS, __ATOMIC_RELAXED);
		err = lock_acquire(lock, 0, NEVER, NULL);
		if (err)
			lock = err;
		__atomic_store_n(where, HOLDS, __ATOMIC_RELAXED);
		sleep_us(random() % 3000);
		__atomic_store_n(where, AWAY, __ATOMIC_RELAXED);
		if (!err)
			err = lock_release(lock);
		if (err)
			lock = err;
	}
	printf("failed %s\n", strerrorname_np(-lock));
	fflush(stdout);
	_exit(1);
}

/* One that holds, if there is one in half a second: the others' nodes have holders, too. */
static unsigned int find_holder(uint8_t *where, unsigned int procs)
{
	uint64_t end = in_ms(500);
	unsigned int i;

	while (now_ns() < end) {
		for (i = 0; i < procs; i++)
			if (__atomic_load_n(&where[i], __ATOMIC_RELAXED) == HOLDS)
				return i;
		sleep_us(200);
	}
	return random() % procs;
}

static int storm(const char *key, unsigned int procs, unsigned int kills)
{
	unsigned int i, n, count[3] = {}, failed = 0;
	uint8_t *where = shared_page();
	uint64_t start = now_ns();
	pid_t pids[64] = {};

	if (!procs || procs > ARRAY_SIZE(pids) || !where)
		return 2;
	srandom(getpid());
	for (n = 0; n < kills; n++) {
		for (i = 0; i < procs; i++) {
			if (pids[i])
				continue;
			where[i] = AWAY;
			pids[i] = spawn();
			if (!pids[i])
				storm_child(key, &where[i]);
		}
		sleep_us(random() % 10000);
		i = n % 4 ? random() % procs : find_holder(where, procs);
		count[__atomic_load_n(&where[i], __ATOMIC_RELAXED)]++;
		kill(pids[i], SIGKILL);
		failed += reap(pids[i]) != 1000 + SIGKILL;
		pids[i] = 0;
	}
	for (i = 0; i < procs; i++) {
		if (!pids[i])
			continue;
		kill(pids[i], SIGKILL);
		failed += reap(pids[i]) != 1000 + SIGKILL;
	}
	printf("kills=%u holding=%u waiting=%u failed=%u ms=%u\n", kills, count[HOLDS], count[WAITS], failed,
	       ms_since(start));
	return failed ? 1 : 0;
}

static int usage(void)
{
	fputs("holder hold KEY [-n | -w MILLISECONDS] [-s] [-N] [-k KIND] [-v TEXT]\n"
	      "holder open KEY [-k KIND] [-w MILLISECONDS]\n"
	      "holder leave KEY [-w MILLISECONDS] [-k KIND]\n"
	      "holder pass KEY -n TIMES [-k KIND]\n"
	      "holder many KEY [-k KIND] [-n LOCKS]\n"
	      "holder crowd KEY [-k KIND] [-n REQUESTS]\n"
	      "holder storm KEY [-t PROCESSES] [-n KILLS] [-k KIND]\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	unsigned int procs = 6, kills = 100;
	uint64_t wait_ms = 0;
	uint32_t flags = 0;
	bool storms, later, many, crowd, leaves, passes;
	const char *key;
	int c;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 3)
		return usage();
	later = !strcmp(argv[1], "open");
	storms = !strcmp(argv[1], "storm");
	crowd = !strcmp(argv[1], "crowd");
	many = crowd || !strcmp(argv[1], "many");
	leaves = !strcmp(argv[1], "leave");
	passes = !strcmp(argv[1], "pass");
	if (!storms && !later && !many && !leaves && !passes && strcmp(argv[1], "hold"))
		return usage();
	key = argv[2];
	argc -= 2;
	argv += 2;
	while ((c = getopt(argc, argv, storms || many || passes ? "t:n:k:" : "nw:sNk:v:rc")) != -1) {
		switch (c) {
		case 't':
			procs = atoi(optarg);
			break;
		case 'n':
			if (storms || many || passes)
				kills = atoi(optarg);
			else
				flags = RDLOCK_ACQUIRE_TRY;
			break;
		case 'w':
			wait_ms = atoi(optarg);
			break;
		case 'v':
			text = optarg;
			break;
		case 's':
			mode = RDLOCK_MODE_SHARED;
			break;
		case 'N':
			open_flags |= RDLOCK_OPEN_NOT_STICKY;
			break;
		case 'r':
			open_flags |= RDLOCK_OPEN_ROBUST;
			break;
		case 'c':
			repair = true;
			break;
		case 'k':
			kind = kind_of(optarg);
			if (kind < 0)
				return usage();
			break;
		default:
			return usage();
		}
	}
	if (passes)
		return pass(key, kills);
	if (many)
		return hold_many(key, kills, crowd);
	if (leaves)
		return leave(key, wait_ms);
	return storms ? storm(key, procs, kills) : hold(key, flags, wait_ms, later);
}
