// SPDX-License-Identifier: GPL-2.0
/* The owner of a lock is the open file description of its fd, and nothing else: not a number, a pid or another fd. */
#include <pthread.h>
#include <sys/socket.h>

#include "common.h"

static int space, mine, other;

/* @mine holds, @other asks. */
static void one_holds(void)
{
	const char *key = fresh_key("fds");

	space = need_space();
	mine = need_lock(space, key);
	other = need_lock(space, key);
	REQUIRE(lock_acquire(mine, 0, in_ms(5000), NULL), 0);
	REQUIRE(lock_try(other), -EAGAIN);
}

TEST(close_releases, 30)
{
	one_holds();
	close(mine);
	EXPECT(lock_is_free(other), 0);
}

TEST(exit_of_one_that_shares_the_lock_does_not_release, 30)
{
	for (int how = 0; how < 3; how++) {
		pid_t pid;

		one_holds();
		EXPECT(lock_release(mine), 0);
		pid = spawn();
		if (!pid) {
			EXPECT(lock_acquire(mine, 0, in_ms(5000), NULL), 0);
			if (how == 0)
				exit_test();
			if (how == 1)
				raise(SIGKILL);
			abort();
		}
		reap(pid);
		/* the parent's copy of the fd keeps the description: still held, and this process can release it */
		EXPECT(lock_state(mine), RDLOCK_FD_HELD);
		EXPECT(lock_try(other), -EAGAIN);
		EXPECT(lock_release(mine), 0);
		EXPECT(lock_is_free(other), 0);
		close(mine);
		close(other);
		close(space);
	}
}

TEST(exit_of_the_only_owner_releases, 30)
{
	for (int how = 0; how < 3; how++) {
		const char *key = fresh_key("exit");
		int in[2];
		char c;
		pid_t pid;

		space = need_space();
		REQUIRE(pipe(in), 0);
		pid = spawn();
		if (!pid) {
			int fd = need_lock(need_space(), key);

			REQUIRE(lock_acquire(fd, 0, in_ms(5000), NULL), 0);
			REQUIRE(write(in[1], "x", 1), 1);
			if (how == 0) {
				sleep_us(50000);
				_exit(0);
			}
			for (;;)
				pause();
		}
		EXPECT(read(in[0], &c, 1), 1);
		other = need_lock(space, key);
		EXPECT(lock_try(other), -EAGAIN);
		if (how)
			kill(pid, how == 1 ? SIGKILL : SIGTERM);
		reap(pid);
		EXPECT(lock_is_free(other), 0);
		close(other);
		close(space);
		close(in[0]);
		close(in[1]);
	}
}

TEST(a_fork_shares_the_lock, 30)
{
	pid_t pid;

	one_holds();
	pid = spawn();
	if (!pid) {
		EXPECT(lock_state(mine), RDLOCK_FD_HELD);
		EXPECT(lock_acquire(mine, 0, in_ms(100), NULL), -EDEADLK);
		EXPECT(lock_release(other), -EPERM);
		/* closing its copy is not releasing */
		close(mine);
		exit_test();
	}
	EXPECT(reap(pid), 0);
	EXPECT(lock_state(mine), RDLOCK_FD_HELD);
	EXPECT(lock_try(other), -EAGAIN);

	pid = spawn();
	if (!pid) {
		EXPECT(lock_release(mine), 0);
		exit_test();
	}
	EXPECT(reap(pid), 0);
	EXPECT(lock_state(mine), RDLOCK_FD_IDLE);
	EXPECT(lock_release(mine), -EPERM);
	EXPECT(lock_is_free(other), 0);
}

/* C20: parent gone, the child's child still has it. */
TEST(a_lock_lives_until_the_last_process_that_has_it, 30)
{
	const char *key = fresh_key("last");
	int ready[2], go[2];
	char c;
	pid_t pid;

	space = need_space();
	other = need_lock(space, key);
	REQUIRE(pipe(ready), 0);
	REQUIRE(pipe(go), 0);
	pid = spawn();
	if (!pid) {
		int fd = need_lock(space, key);

		REQUIRE(lock_acquire(fd, 0, in_ms(5000), NULL), 0);
		if (!fork()) {
			REQUIRE(write(ready[1], "x", 1), 1);
			REQUIRE(read(go[0], &c, 1), 1);
			REQUIRE(write(ready[1], lock_state(fd) == RDLOCK_FD_HELD ? "h" : "?", 1), 1);
			_exit(0);
		}
		_exit(0);
	}
	EXPECT(reap(pid), 0);
	EXPECT(read(ready[0], &c, 1), 1);
	EXPECT(lock_try(other), -EAGAIN);
	EXPECT(lock_acquire(other, 0, in_ms(100), NULL), -ETIMEDOUT);
	EXPECT(write(go[1], "x", 1), 1);
	EXPECT(read(ready[0], &c, 1), 1);
	EXPECT(c, 'h');
	EXPECT(lock_is_free(other), 0);
}

TEST(a_dup_shares_the_lock, 30)
{
	int copy;

	one_holds();
	copy = dup(mine);
	EXPECT(lock_state(copy), RDLOCK_FD_HELD);
	close(mine);
	EXPECT(lock_try(other), -EAGAIN);
	EXPECT(lock_state(copy), RDLOCK_FD_HELD);
	mine = fcntl(copy, F_DUPFD_CLOEXEC, 100);
	EXPECT(lock_release(copy), 0);
	EXPECT(lock_state(mine), RDLOCK_FD_IDLE);
	EXPECT(lock_is_free(other), 0);
	EXPECT(lock_acquire(mine, 0, in_ms(1000), NULL), 0);
	close(mine);
	EXPECT(lock_try(other), -EAGAIN);
	close(copy);
	EXPECT(lock_is_free(other), 0);
}

TEST(dup2_over_it_releases, 30)
{
	one_holds();
	EXPECT(dup2(space, mine), mine);
	EXPECT(lock_is_free(other), 0);
}

static int send_fd(int sock, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = "", data = 'f';
	struct iovec iov = { &data, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	return sendmsg(sock, &msg, 0) == 1 ? 0 : -errno;
}

static int receive_fd(int sock)
{
	char control[CMSG_SPACE(sizeof(int))], data;
	struct iovec iov = { &data, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
	};
	int fd;

	if (recvmsg(sock, &msg, 0) != 1 || !CMSG_FIRSTHDR(&msg))
		return -EIO;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

TEST(scm_rights_hands_the_lock_on, 30)
{
	int sock[2];
	pid_t pid;

	one_holds();
	REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
	pid = spawn();
	if (!pid) {
		int fd;

		close(mine);
		close(sock[0]);
		fd = receive_fd(sock[1]);
		REQUIRE_TRUE(fd >= 0);
		EXPECT(lock_state(fd), RDLOCK_FD_HELD);
		EXPECT(lock_try(other), -EAGAIN);
		EXPECT(lock_release(fd), 0);
		EXPECT(lock_acquire(fd, 0, in_ms(1000), NULL), 0);
		exit_test();
	}
	close(sock[1]);
	EXPECT(send_fd(sock[0], mine), 0);
	close(mine);
	EXPECT(reap(pid), 0);
	EXPECT(lock_is_free(other), 0);
}

TEST(a_lock_in_flight_is_held_and_dies_with_its_socket, 30)
{
	int sock[2];

	one_holds();
	REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
	EXPECT(send_fd(sock[0], mine), 0);
	close(mine);
	EXPECT(lock_acquire(other, 0, in_ms(100), NULL), -ETIMEDOUT);
	close(sock[0]);
	close(sock[1]);
	EXPECT(lock_is_free(other), 0);
}

TEST(exec_closes_it, 30)
{
	for (int keep = 0; keep < 2; keep++) {
		const char *key = fresh_key("exec");
		int out[2];
		char c;
		pid_t pid;

		space = need_space();
		other = need_lock(space, key);
		REQUIRE(pipe(out), 0);
		pid = spawn();
		if (!pid) {
			char number[16];
			int fd = need_lock(space, key);

			REQUIRE(lock_acquire(fd, 0, in_ms(5000), NULL), 0);
			if (keep)
				fcntl(fd, F_SETFD, 0);
			snprintf(number, sizeof(number), "%d", fd);
			dup2(out[1], 1);
			execl("/proc/self/exe", "fds_test", "--stay", number, NULL);
			_exit(1);
		}
		EXPECT(read(out[0], &c, 1), 1);
		EXPECT(c, keep ? 'h' : 'e');	/* held; EBADF */
		EXPECT(keep ? lock_try(other) : lock_is_free(other), keep ? -EAGAIN : 0);
		kill(pid, SIGKILL);
		reap(pid);
		EXPECT(lock_is_free(other), 0);
		close(other);
		close(space);
	}
}

TEST(every_fd_is_close_on_exec, 30)
{
	int counter;

	one_holds();
	counter = counter_open(space, fresh_key("cloexec"), 1);
	EXPECT(fcntl(space, F_GETFD), FD_CLOEXEC);
	EXPECT(fcntl(mine, F_GETFD), FD_CLOEXEC);
	EXPECT(fcntl(counter, F_GETFD), FD_CLOEXEC);
}

TEST(a_lock_works_when_space_and_device_fds_are_closed, 30)
{
	int dev = need_dev();

	one_holds();
	close(dev);
	close(space);
	EXPECT(lock_state(mine), RDLOCK_FD_HELD);
	EXPECT(lock_release(mine), 0);
	EXPECT(lock_acquire(other, 0, in_ms(1000), NULL), 0);
	EXPECT(lock_acquire(mine, 0, in_ms(50), NULL), -ETIMEDOUT);
	close(other);
	EXPECT(lock_is_free(mine), 0);
}

static void *waits(void *arg)
{
	int ret = lock_acquire(*(int *)arg, 0, in_ms(5000), NULL);

	return (void *)(intptr_t)ret;
}

/* C18: the call keeps the description; when it ends, so does the ownership. */
TEST(close_while_another_thread_waits, 30)
{
	for (int i = 0; i < 20; i++) {
		pthread_t thread;
		uint64_t start;
		void *ret;
		int third;

		one_holds();
		third = need_lock(space, fresh_key("unrelated"));
		REQUIRE(pthread_create(&thread, NULL, waits, &other), 0);
		for (int j = 0; j < 2000 && lock_state(other) != RDLOCK_FD_PENDING; j++)
			sleep_us(500);
		EXPECT(lock_state(other), RDLOCK_FD_PENDING);
		start = now_ns();
		EXPECT(close(other), 0);
		EXPECT_TRUE(now_ns() - start < 200 * MS);
		EXPECT(lock_is_free(third), 0);
		EXPECT(lock_release(mine), 0);
		pthread_join(thread, &ret);
		/* what was granted to a closed fd is given back, told or not */
		if ((intptr_t)ret)
			EXPECT((intptr_t)ret, -EBADF);
		EXPECT(lock_is_free(mine), 0);
		close(mine);
		close(third);
		close(space);
	}
}

static volatile bool stop;
static int shared_fd;
static unsigned int wrong, acquired, released;

static void is_wrong(const char *what, int ret)
{
	__sync_fetch_and_add(&wrong, 1);
	diag("%s says %d (%s)", what, ret, ret < 0 ? strerrorname_np(-ret) : "");
}

/* C21 */
static void *random_calls(void *arg)
{
	unsigned int seed = (uintptr_t)arg;

	while (!stop) {
		struct pollfd pfd = { .fd = shared_fd, .events = POLLIN };
		int ret, copy;

		switch (rand_r(&seed) % 8) {
		case 0:
			ret = lock_acquire(shared_fd, 0, in_ms(rand_r(&seed) % 20), NULL);
			if (!ret)
				__sync_fetch_and_add(&acquired, 1);
			else if (ret != -EBUSY && ret != -EDEADLK && ret != -ETIMEDOUT && ret != -EAGAIN)
				is_wrong("acquire", ret);
			break;
		case 1:
			ret = lock_try(shared_fd);
			if (!ret)
				__sync_fetch_and_add(&acquired, 1);
			else if (ret != -EBUSY && ret != -EDEADLK && ret != -EAGAIN)
				is_wrong("try", ret);
			break;
		case 2:
		case 3:
			ret = lock_release(shared_fd);
			if (!ret)
				__sync_fetch_and_add(&released, 1);
			else if (ret != -EPERM)
				is_wrong("release", ret);
			break;
		case 4:
			ret = lock_cancel(shared_fd);
			if (ret && ret != -ENOENT)
				is_wrong("cancel", ret);
			break;
		case 5:
			ret = lock_state(shared_fd);
			if (ret < 0 || ret > RDLOCK_FD_HELD)
				is_wrong("status", ret);
			break;
		case 6:
			if (poll(&pfd, 1, rand_r(&seed) % 3) && pfd.revents != POLLIN)
				is_wrong("poll", pfd.revents);
			break;
		case 7:
			copy = dup(shared_fd);
			fcntl(copy, F_SETFL, rand_r(&seed) % 2 ? O_NONBLOCK : 0);
			close(copy);
			break;
		}
	}
	return NULL;
}

TEST(eight_threads_call_at_random_on_one_fd, 120)
{
	unsigned int seconds = scaled(60);
	pthread_t threads[8];
	int state;

	one_holds();
	EXPECT(lock_release(mine), 0);
	shared_fd = mine;
	for (uintptr_t i = 0; i < ARRAY_SIZE(threads); i++)
		REQUIRE(pthread_create(&threads[i], NULL, random_calls, (void *)(i + 1)), 0);
	for (uint64_t end = in_ms(seconds * 1000); now_ns() < end;) {
		/* a rival, so that there is something to wait for */
		if (!lock_acquire(other, 0, in_ms(5), NULL)) {
			sleep_us(500);
			EXPECT(lock_release(other), 0);
		}
	}
	stop = true;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	EXPECT(wrong, 0);
	EXPECT_TRUE(acquired > 0);
	state = lock_state(mine);
	if (state == RDLOCK_FD_PENDING || state == RDLOCK_FD_GRANTED) {
		EXPECT(lock_cancel(mine), 0);
		EXPECT(acquired - released, 0);
	} else {
		EXPECT(acquired - released, state == RDLOCK_FD_HELD);
	}
	diag("%u acquired, %u released", acquired, released);
	close(mine);
	EXPECT(lock_is_free(other), 0);
}

TEST(fdinfo_is_readable, 30)
{
	char path[64], text[2048];
	int counter, fds[4];

	one_holds();
	counter = counter_open(space, fresh_key("fdinfo"), 1);
	fds[0] = need_dev();
	fds[1] = space;
	fds[2] = mine;
	fds[3] = counter;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		ssize_t n;
		int fd;

		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fds[i]);
		fd = open(path, O_RDONLY);
		REQUIRE_TRUE(fd >= 0);
		n = read(fd, text, sizeof(text) - 1);
		REQUIRE_TRUE(n > 0);
		text[n] = 0;
		EXPECT_TRUE(strstr(text, i == 0 ? "flags:" : "rdlock-space:\t"));
		close(fd);
		/* the number of the lock that an fd has is what people look there for */
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[i]);
		n = readlink(path, text, sizeof(text) - 1);
		REQUIRE_TRUE(n > 0);
		text[n] = 0;
		EXPECT_TRUE(strstr(text, "rdlock"));
	}
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--stay")) {
		int state = lock_state(atoi(argv[2]));

		if (write(1, state == RDLOCK_FD_HELD ? "h" : state == -EBADF ? "e" : "?", 1) != 1)
			return 1;
		for (;;)
			pause();
	}
	return tap_main(argc, argv, setup_space);
}
