// SPDX-License-Identifier: GPL-2.0
/*
 * rdlock run: a command under a lock.
 *
 * The command inherits the lock's fd, so there is no moment in which anything of it runs without the lock: if this
 * process is killed, the kernel kills the command, and the lock is released when the last process that has the fd is
 * gone. Closed in the command, it would be released while a command that is slow to die still runs. What the command
 * leaves behind does not keep the lock: this process releases it at the command's end, whoever has the fd. Signals that
 * ask this process to end are handed to the command, whose end is waited for. (The kernel forgets to kill a command
 * that has changed its user or has run a set-user-ID program: that goes on with the lock, unless, as sudo does, it has
 * closed the fd.) A command that is to repair what a dead owner left does not inherit it: if it fails, the lock is
 * given up by closing it, not by a release, and nothing that it leaves behind may delay that.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "out.h"

static const int forwarded[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2 };

#define NR_FORWARDED	(sizeof(forwarded) / sizeof(*forwarded))

/**
 * struct run - one run
 * @t: the lock
 * @lock: its fd
 * @opts, @flags: how it is opened
 * @at_once: do not wait for the holder
 * @kill_on_loss: end the command when the lock is lost
 * @keep: the command does not get the fd
 * @lost: it was
 * @died: the lock is robust, and an owner died
 * @child: the command
 * @old_mask, @old_chld: what the command gets back
 */
struct run {
	struct target t;
	int lock;
	struct rdlock_lock_opts opts;
	unsigned int flags;
	bool at_once;
	bool kill_on_loss;
	bool keep;
	bool lost;
	bool died;
	pid_t child;
	sigset_t old_mask;
	struct sigaction old_chld;
};

#define FLAGS_STR	48	/* of flag_words() */

static void flag_words(uint32_t flags, char buf[FLAGS_STR])
{
	static const struct {
		uint32_t flag;
		const char *word;
	} words[] = {
		{ RDLOCK_GRANT_OWNER_DIED, "owner-died" },
		{ RDLOCK_GRANT_MAYBE_DIED, "maybe-died" },
		{ RDLOCK_GRANT_LOCAL, "local" },
	};
	size_t i;

	*buf = 0;
	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (flags & words[i].flag)
			snprintf(buf + strlen(buf), FLAGS_STR - strlen(buf), "%s%s", *buf ? "," : "", words[i].word);
}

static void lost(struct run *r, const char *command)
{
	if (r->lost)
		return;
	r->lost = true;
	fprintf(stderr, "rdlock: lock '%s/%s' was LOST while %s ran: this node was cut off, others may have it\n",
		r->t.space_text, r->t.key_text, command);
	fprintf(stderr, "        see the state: rdlock space show '%s'; check what %s did\n", r->t.space_text, command);
	if (r->kill_on_loss && r->child > 0)
		kill(r->child, SIGTERM);
}

/* In the child: does not return. */
static void exec_command(struct run *r, const struct rdlock_grant *grant, pid_t parent, char **argv)
{
	char hex[OUT_HEX_STR], flags[FLAGS_STR];
	int err;

	sigaction(SIGCHLD, &r->old_chld, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_ERROR);
	sigprocmask(SIG_SETMASK, &r->old_mask, NULL);
	if (!r->keep && !r->died)
		fcntl(r->lock, F_SETFD, 0);

	flag_words(grant->flags, flags);
	setenv("RDLOCK_TOKEN", out_hex_str(grant->token, hex), 1);
	setenv("RDLOCK_INSTANCE", out_hex_str(grant->instance, hex), 1);
	setenv("RDLOCK_GRANT_FLAGS", flags, 1);
	execvp(argv[0], argv);
	err = errno;
	fprintf(stderr, "rdlock: cannot run '%s': %s\n", argv[0], strerror(err));
	_exit(err == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

/* Return: true when the child has ended, with its wait status. */
static bool on_signal(struct run *r, int sigfd, int *status)
{
	struct signalfd_siginfo si;

	if (read(sigfd, &si, sizeof(si)) != sizeof(si))
		return false;
	if (si.ssi_signo == SIGCHLD)
		return waitpid(r->child, status, WNOHANG) == r->child;
	/*
	 * What the terminal sends for a key goes to its foreground process group: the command got it too, unless it
	 * went into a group of its own, as timeout and setsid do. A hang-up goes to the session's leader alone.
	 */
	if (si.ssi_code <= 0 || si.ssi_signo == SIGHUP || getpgid(r->child) != getpgrp())
		kill(r->child, si.ssi_signo);
	return false;
}

static int wait_for_child(struct run *r, int sigfd, const char *command)
{
	struct pollfd fds[2] = {
		{ .fd = sigfd, .events = POLLIN },
		{ .fd = r->lock },
	};
	int status;

	for (;;) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents & (POLLERR | POLLHUP | POLLNVAL)) {
			lost(r, command);
			fds[1].fd = -1;
		}
		if (fds[0].revents && on_signal(r, sigfd, &status))
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
}

/* What only the command's environment would have said. Of a robust lock the next one is told anyway. */
static void notice_unread(const struct run *r, const struct rdlock_grant *grant)
{
	if (!r->died && grant->flags & (RDLOCK_GRANT_OWNER_DIED | RDLOCK_GRANT_MAYBE_DIED))
		fprintf(stderr, "rdlock: an owner of '%s/%s' died holding it: what it guards may be half done\n"
			"        the next owner is not told again: it was this command's turn\n",
			r->t.space_text, r->t.key_text);
}

/* Nothing was done under the lock: to go without a release would be the owner's death, if the lock is robust. */
static int never_ran(struct run *r, const struct rdlock_grant *grant)
{
	notice_unread(r, grant);
	if (!r->died)
		rdlock_release(r->lock);
	return EXIT_ERROR;
}

static int run_child(struct run *r, const struct rdlock_grant *grant, char **argv)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	pid_t parent = getpid();
	int sigfd, code, err;
	sigset_t mask;
	size_t i;

	/* An inherited "ignore" would take the child's exit code away. */
	sigaction(SIGCHLD, &dfl, &r->old_chld);
	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	for (i = 0; i < NR_FORWARDED; i++)
		sigaddset(&mask, forwarded[i]);
	sigprocmask(SIG_BLOCK, &mask, &r->old_mask);
	sigfd = signalfd(-1, &mask, SFD_CLOEXEC);
	if (sigfd < 0) {
		fprintf(stderr, "rdlock: signalfd: %s\n", strerror(errno));
		return never_ran(r, grant);
	}
	fflush(NULL);
	r->child = fork();
	if (r->child < 0) {
		fprintf(stderr, "rdlock: cannot fork: %s\n", strerror(errno));
		return never_ran(r, grant);
	}
	if (!r->child)
		exec_command(r, grant, parent, argv);
	/* Nobody may read what is said of a loss any more: to die of saying it would kill the command. */
	signal(SIGPIPE, SIG_IGN);

	code = wait_for_child(r, sigfd, argv[0]);
	r->child = 0;
	if (code == EXIT_NOT_FOUND || code == EXIT_CANNOT_RUN)
		notice_unread(r, grant);
	if (r->died && code) {
		/* Not repaired: the end of this process leaves it as it was, a release would give it up. */
		fprintf(stderr, "rdlock: %s failed, so the next owner of '%s/%s' is told of the death again\n", argv[0],
			r->t.space_text, r->t.key_text);
		return r->lost ? EXIT_ERROR : code;
	}
	err = r->died ? rdlock_make_consistent(r->lock) : 0;
	if (err && err != -EKEYREVOKED)
		return fail(RDLOCK_CMD_CONSISTENT, err, &r->t);
	err = rdlock_release(r->lock);
	if (err == -EKEYREVOKED)
		lost(r, argv[0]);
	else if (err)
		return fail(RDLOCK_CMD_RELEASE, err, &r->t);
	return r->lost ? EXIT_ERROR : code;
}

static int get_options(const struct args *a, struct run *r, unsigned int *mode, uint64_t *deadline)
{
	const char *on_loss = opt_val(a, "on-loss");
	const char *timeout = opt_val(a, "timeout");
	const char *sticky = opt_val(a, "sticky");
	int err;

	if (opt_val(a, "shared") && opt_val(a, "exclusive"))
		return usage_error(a, "-s and -x exclude each other");
	if (timeout && opt_val(a, "nonblock"))
		return usage_error(a, "-n and -w exclude each other");
	if (on_loss && strcmp(on_loss, "kill") && strcmp(on_loss, "wait"))
		return usage_error(a, "--on-loss is wait or kill");
	if (sticky && strcmp(sticky, "yes") && strcmp(sticky, "no"))
		return usage_error(a, "--sticky is yes or no");
	if (opt_val(a, "recover") && (!opt_val(a, "robust") || opt_val(a, "shared")))
		return usage_error(a, "--recover goes with --robust, and not with -s");
	if (parse_kind(a, opt_val(a, "kind"), &r->opts.kind))
		return EXIT_USAGE;
	if (sticky)
		r->flags = strcmp(sticky, "no") ? RDLOCK_OPEN_STICKY : RDLOCK_OPEN_NOT_STICKY;
	if (opt_val(a, "robust"))
		r->flags |= RDLOCK_OPEN_ROBUST;
	*mode = opt_val(a, "shared") ? RDLOCK_MODE_SHARED : RDLOCK_MODE_EXCLUSIVE;
	r->keep = opt_val(a, "close");
	r->kill_on_loss = on_loss && strcmp(on_loss, "kill") == 0;
	err = parse_wait(a, timeout ? timeout : "inf", deadline);
	if (err)
		return err;
	/* A deadline of now is over before the kernel has looked at the lock: who does not want to wait tries. */
	r->at_once = opt_val(a, "nonblock") || (timeout && strtod(timeout, NULL) <= 0);
	/* A key that is new on this node is asked of its home, also then. */
	return r->at_once ? parse_wait(a, "10", deadline) : 0;
}

/* Where this process was started with one of them closed, the command must not get the lock in its place. */
static int above_stdio(int fd)
{
	int other;

	if (fd > STDERR_FILENO)
		return fd;
	other = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (other < 0)
		other = -errno;
	close(fd);
	return other;
}

int cmd_run(const struct args *a)
{
	bool verbose = opt_val(a, "verbose");
	struct rdlock_grant grant;
	uint64_t deadline, start;
	char token[OUT_HEX_STR], instance[OUT_HEX_STR], flags[FLAGS_STR];
	struct run r = {};
	unsigned int mode = 0;
	int space, err;

	err = parse_key(a, a->pos[0], false, &r.t);
	if (!err)
		err = get_options(a, &r, &mode, &deadline);
	if (err)
		return err;

	start = rdlock_deadline_in(0);
	space = open_space(&r.t);
	if (space < 0)
		return -space;
	r.lock = rdlock_lock_open_as(space, r.t.key, r.t.key_len, &r.opts, r.flags, deadline);
	close(space);
	if (r.lock < 0)
		return fail(RDLOCK_CMD_LOCK_OPEN, r.lock, &r.t);
	r.lock = above_stdio(r.lock);
	if (r.lock < 0) {
		fprintf(stderr, "rdlock: no fd for lock '%s/%s': %s\n", r.t.space_text, r.t.key_text,
			strerror(-r.lock));
		return EXIT_ERROR;
	}
	if (r.at_once)
		err = rdlock_try(r.lock, mode, &grant);
	else
		err = rdlock_acquire(r.lock, mode, deadline, &grant);
	if (err == -EAGAIN && !opt_val(a, "nonblock"))
		err = -ETIMEDOUT;
	r.died = err == -EOWNERDEAD;
	/* It is held; the end of this process gives it back as it was. */
	if (err && !(r.died && opt_val(a, "recover")))
		return fail(RDLOCK_CMD_ACQUIRE, err, &r.t);

	if (verbose) {
		flag_words(grant.flags, flags);
		fprintf(stderr, "rdlock: got '%s/%s' after %.6f s: token %s, instance %s%s%s\n", r.t.space_text,
			r.t.key_text, (rdlock_deadline_in(0) - start) / 1e9, out_hex_str(grant.token, token),
			out_hex_str(grant.instance, instance), *flags ? ", " : "", flags);
	}
	return run_child(&r, &grant, a->rest);
}
