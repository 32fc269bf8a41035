// SPDX-License-Identifier: GPL-2.0
/*
 * fail_init: a module is loaded again and again, and each time another of the loader's allocations fails: the 1st,
 * the 2nd, ..., until one load makes no n-th. Those of the kernel's module loader come first, then those of the
 * module's own initialisation, which must unwind whatever it has done. A load that works although an allocation
 * failed is undone.
 *
 *	fail_init STEP MODULE.ko [PATH...]	of the 1st, 2nd, ... every STEP-th, beginning anywhere
 *
 * None of the PATHs may be there while the module is not loaded.
 *
 * The caller sets the knobs of failslab and fail_page_alloc. Prints "faults=N refused=N worked=N bad=N" and a line for
 * each finding; ends with 1 if there is one.
 */

#include <sys/syscall.h>

#include "common.h"

#define MOST	4000

static struct {
	int nth, ko;
	const char *module;
	char name[64];
	char **paths;
	unsigned int faults, refused, worked, bad;
} init;

static void __printf(1, 2) bad(const char *fmt, ...)
{
	va_list args;

	init.bad++;
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
}

/* One load with its @n-th allocation failing, 0: none. *fired: there was an n-th. */
static int load(unsigned int n, bool *fired)
{
	char number[16] = "";
	int len = snprintf(number, sizeof(number), "%u", n), ret;

	if (pwrite(init.nth, number, len, 0) != len)
		return -EIO;
	ret = syscall(SYS_finit_module, init.ko, "", 0) ? -errno : 0;
	memset(number, 0, sizeof(number));
	*fired = n && pread(init.nth, number, sizeof(number) - 1, 0) > 0 && atoi(number) == 0;
	while (pwrite(init.nth, "0", 1, 0) != 1 && errno == EFAULT)
		;
	return ret;
}

/* What has a reference for a moment, udev say, lets go of it. */
static void unload(void)
{
	for (int tries = 0; syscall(SYS_delete_module, init.name, O_NONBLOCK); tries++) {
		if ((errno != EAGAIN && errno != EBUSY) || tries == 100) {
			bad("unload: %s\n", strerror(errno));
			return;
		}
		usleep(20000);
	}
}

static void look(unsigned int n)
{
	for (char **path = init.paths; *path; path++)
		if (!access(*path, F_OK))
			bad("allocation %u: %s is left behind\n", n, *path);
}

/* Returns whether there is a next one. */
static bool round_of(unsigned int n)
{
	bool fired;
	int ret = load(n, &fired);

	init.faults += fired;
	if (!ret) {
		init.worked++;
		unload();
	} else {
		init.refused++;
		/* EFAULT: a copy from user memory was refused. Whatever else the loader makes of it is not ours. */
		if (!fired)
			bad("allocation %u: %s though nothing failed\n", n, strerror(-ret));
		else if (ret != -ENOMEM && ret != -EFAULT)
			bad("allocation %u: %s\n", n, strerror(-ret));
	}
	look(n);
	return fired && !init.bad;
}

int main(int argc, char **argv)
{
	unsigned int n, step;
	const char *base;
	bool fired;

	step = argc > 1 ? atoi(argv[1]) : 0;
	if (argc < 3 || !step) {
		fprintf(stderr, "usage: fail_init STEP MODULE.ko [PATH...]\n");
		return 2;
	}
	argv++;
	base = strrchr(argv[1], '/') ? strrchr(argv[1], '/') + 1 : argv[1];
	snprintf(init.name, sizeof(init.name), "%.*s", (int)strcspn(base, "."), base);
	init.paths = argv + 2;
	init.nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	init.ko = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (init.nth < 0 || init.ko < 0) {
		fprintf(stderr, "%s: %s\n", init.nth < 0 ? "fail-nth" : argv[1], strerror(errno));
		return 2;
	}
	look(0);
	for (n = 1 + time(NULL) % step; n < MOST && round_of(n); n += step)
		;
	if (n >= MOST)
		bad("no end after %u allocations\n", n);
	/* After all that, it still loads. */
	if (load(0, &fired))
		bad("the last load: %s\n", strerror(errno));
	else
		unload();
	look(0);
	printf("faults=%u refused=%u worked=%u bad=%u\n", init.faults, init.refused, init.worked, init.bad);
	return init.bad ? 1 : 0;
}
