// SPDX-License-Identifier: GPL-2.0
/*
 * hog: an owner that leaves the kernel's threads of its processor no time.
 *
 *   hog KEY MILLISECONDS FILE
 *	Acquires, prints "held", and when there is FILE takes the processor as a real-time process for so long. Prints
 *	"after N ms STATE poll=EVENTS get=ERRNO release=ERRNO": when STATUS said that the lock is not held any more, and
 *	what was said then, before anybody else had run. The system's limits for real-time processes are the caller's to
 *	lift.
 */
#include <sched.h>

#include "common.h"

static const char *word(int err)
{
	return err < 0 ? strerrorname_np(-err) : "0";
}

int main(int argc, char **argv)
{
	struct sched_param fifo = { .sched_priority = 50 };
	char value[RDLOCK_VALUE_INLINE];
	int lock, state, get, err;
	uint64_t start, told, end;
	struct pollfd p;
	uint32_t len;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 4) {
		fputs("hog KEY MILLISECONDS FILE\n", stderr);
		return 2;
	}
	lock = lock_open(space_open(dev_open(), the_space()), argv[1], 0);
	err = lock < 0 ? lock : lock_acquire(lock, 0, in_ms(10000), NULL);
	if (err) {
		printf("failed %s\n", strerrorname_np(-err));
		return 1;
	}
	printf("held\n");
	while (access(argv[3], F_OK))
		sleep_us(10000);
	p = (struct pollfd){ .fd = lock };
	if (sched_setscheduler(0, SCHED_FIFO, &fifo)) {
		perror("SCHED_FIFO");
		return 1;
	}
	start = now_ns();
	end = in_ms(atoi(argv[2]));
	do
		state = lock_state(lock);
	while (state == RDLOCK_FD_HELD && now_ns() < end);
	told = now_ns();
	poll(&p, 1, 0);
	get = lock_value_get(lock, value, &len);
	err = lock_release(lock);
	while (now_ns() < end)
		;
	printf("after %llu ms %s poll=%s get=%s release=%s\n", (unsigned long long)(told - start) / MS,
	       state == RDLOCK_FD_HELD ? "held" : state == RDLOCK_FD_REVOKED ? "revoked" : "other",
	       p.revents & POLLERR ? "POLLERR" : "0", word(get), word(err));
	return 0;
}
