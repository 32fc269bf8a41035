// SPDX-License-Identifier: GPL-2.0
/*
 * What an error means in words: what happened, to which lock, what to do.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rdlock.h"

#define ANY	(-2)

/* In these texts %S is the space and %L the lock or counter, as the user wrote them. */
static const struct {
	int cmd;
	const char *text;
} tasks[] = {
	{ RDLOCK_CMD_DEV_OPEN, "cannot open /dev/rdlock" },
	{ RDLOCK_CMD_INFO, "cannot ask /dev/rdlock" },
	{ RDLOCK_CMD_SPACE_CREATE, "cannot create space '%S'" },
	{ RDLOCK_CMD_SPACE_JOIN, "cannot join space '%S'" },
	{ RDLOCK_CMD_SPACE_LEAVE, "cannot leave space '%S'" },
	{ RDLOCK_CMD_SPACE_DESTROY, "cannot destroy space '%S'" },
	{ RDLOCK_CMD_SPACE_LIST, "cannot list the spaces" },
	{ RDLOCK_CMD_SPACE_OPEN, "cannot open space '%S'" },
	{ RDLOCK_CMD_SPACE_STAT, "cannot look at space '%S'" },
	{ RDLOCK_CMD_LOCK_OPEN, "cannot open lock '%L'" },
	{ RDLOCK_CMD_COUNTER_OPEN, "cannot open counter '%L'" },
	{ RDLOCK_CMD_ACQUIRE, "cannot acquire lock '%L'" },
	{ RDLOCK_CMD_RELEASE, "cannot release lock '%L'" },
	{ RDLOCK_CMD_CONVERT, "cannot change the mode of lock '%L'" },
	{ RDLOCK_CMD_VALUE_GET, "cannot read the value of lock '%L'" },
	{ RDLOCK_CMD_VALUE_SET, "cannot write the value of lock '%L'" },
	{ RDLOCK_CMD_CONSISTENT, "cannot make lock '%L' consistent" },
	{ RDLOCK_CMD_LOCK_RESET, "cannot reset lock '%L'" },
	{ RDLOCK_CMD_CANCEL, "cannot withdraw the request for lock '%L'" },
	{ RDLOCK_CMD_STATUS, "cannot look at lock '%L'" },
	{ RDLOCK_CMD_COUNTER_ADD, "cannot add to counter '%L'" },
	{ RDLOCK_CMD_COUNTER_CAS, "cannot change counter '%L'" },
	{ RDLOCK_CMD_COUNTER_READ, "cannot read counter '%L'" },
};

/* The first line that fits decides; todo is NULL when there is nothing to advise. */
static const struct {
	int cmd;
	int err;
	const char *what;
	const char *todo;
} reasons[] = {
	{ RDLOCK_CMD_DEV_OPEN, ENOENT, "it does not exist",
	  "load the module: modprobe rdlock" },
	{ RDLOCK_CMD_DEV_OPEN, ENODEV, "the module is gone",
	  "load the module: modprobe rdlock" },
	{ RDLOCK_CMD_DEV_OPEN, ENXIO, "the module is gone",
	  "load the module: modprobe rdlock" },
	{ RDLOCK_CMD_DEV_OPEN, EACCES, "its permissions do not let you in",
	  "run this as root, or as a member of its group: ls -l /dev/rdlock" },
	{ RDLOCK_CMD_SPACE_OPEN, ENOENT, "there is no space '%S' on this node",
	  "join it: rdlock space join '%S' ADDRESS --id N, or see what there is: rdlock space list" },
	{ RDLOCK_CMD_SPACE_OPEN, EACCES, "its owner, group and mode do not let you in",
	  "see them: rdlock space show '%S'; they are set by --owner, --group and --mode at create or join" },
	{ RDLOCK_CMD_SPACE_CREATE, EEXIST, "there is a space of that name on this node",
	  "see it: rdlock space show '%S', or choose another name" },
	{ RDLOCK_CMD_SPACE_JOIN, EEXIST, "there is a space of that name on this node",
	  "see it: rdlock space show '%S', or leave it first: rdlock space leave '%S'" },
	{ RDLOCK_CMD_SPACE_JOIN, EBUSY, "another node has that id",
	  "give each node an id of its own: --id N; a node that died is forgotten by the home "
	  "after some seconds" },
	{ RDLOCK_CMD_SPACE_CREATE, EINVAL, "the kernel refused a value",
	  "check the address (a single local one), --id (below --max-nodes), --max-nodes (16, 64 "
	  "or 256) and --mode (up to 0666)" },
	{ RDLOCK_CMD_SPACE_JOIN, EINVAL, "the kernel refused a value",
	  "check the address (the home's), --id (below the space's --max-nodes) and --mode (up to 0666)" },
	{ RDLOCK_CMD_SPACE_CREATE, EOPNOTSUPP, "the device cannot do atomics, or its port is down",
	  "see rdma link show, and dmesg | grep rdlock; or let the processor do them: backend=auto" },
	{ RDLOCK_CMD_SPACE_JOIN, EOPNOTSUPP, "this host's device cannot do atomics, and the home uses its own",
	  "create the space on a home with the module's parameter backend=rpc" },
	{ RDLOCK_CMD_SPACE_LEAVE, EBUSY, "it is in use on this node",
	  "end the programs that use it (grep -s rdlock-space /proc/[0-9]*/fdinfo/*), or revoke what they hold: "
	  "--force; while it is still joining, end the join" },
	{ RDLOCK_CMD_SPACE_DESTROY, EBUSY, "it is in use, here or by a member",
	  "let the members leave first (rdlock space show '%S'), or revoke what is open: --force" },
	{ RDLOCK_CMD_SPACE_LEAVE, EINVAL, "this node is its home, and a home does not leave",
	  "destroy it: rdlock space destroy '%S'" },
	{ RDLOCK_CMD_SPACE_DESTROY, EINVAL, "this node is not its home",
	  "leave it: rdlock space leave '%S', and destroy it on its home" },
	{ RDLOCK_CMD_SPACE_LEAVE, ENOENT, "there is no space '%S' on this node",
	  "see what there is: rdlock space list" },
	{ RDLOCK_CMD_SPACE_DESTROY, ENOENT, "there is no space '%S' on this node",
	  "see what there is: rdlock space list" },
	{ RDLOCK_CMD_SPACE_CREATE, ENODEV, "no RDMA device has that address",
	  "see the devices and their interfaces: rdma link show; on plain Ethernet: rdma link add "
	  "rxe0 type rxe netdev IFACE" },
	{ RDLOCK_CMD_SPACE_JOIN, ENODEV, "no RDMA device leads to that address",
	  "see the devices and their interfaces: rdma link show; on plain Ethernet: rdma link add "
	  "rxe0 type rxe netdev IFACE" },
	{ RDLOCK_CMD_SPACE_CREATE, EADDRNOTAVAIL, "this host does not have that address",
	  "see the addresses: ip address" },
	{ RDLOCK_CMD_SPACE_CREATE, EADDRINUSE, "another program listens on that address and port",
	  "choose a port: ADDRESS:PORT" },
	{ RDLOCK_CMD_SPACE_JOIN, EHOSTUNREACH, "the home did not answer in time",
	  "check the address, that the home has the space (rdlock space list there), and the path: ping, and for RoCE "
	  "UDP port 4791 open on both hosts; or wait longer: --wait SECONDS" },
	{ RDLOCK_CMD_SPACE_JOIN, ETIMEDOUT, "the time was over before the home was asked",
	  "wait longer: --wait SECONDS" },
	{ ANY, ECONNREFUSED, "the home's machine answers, but does not have the space",
	  "create it there: rdlock space create '%S' ADDRESS, or check address and port" },
	{ RDLOCK_CMD_LOCK_OPEN, EINVAL, "it exists, and is of another kind, value size or stickiness, or only one of "
	  "the two is robust", "leave them out, say --robust if it is, or choose another key" },
	{ RDLOCK_CMD_LOCK_OPEN, EOPNOTSUPP, "there is no such lock: values and stickiness depend on the kind",
	  "see the kinds: rdlock(8)" },
	{ RDLOCK_CMD_COUNTER_OPEN, EEXIST, "it exists with another number of cells",
	  "leave out --cells, or see how many it has: rdlock counter show '%L'" },
	{ RDLOCK_CMD_COUNTER_OPEN, ENOENT, "there is no such counter",
	  "make it: rdlock counter add '%L' 0 --cells N" },
	{ ANY, ENOSPC, "the space is full",
	  "the home's limit on keys is a parameter of the module: modinfo rdlock" },
	{ RDLOCK_CMD_RELEASE, EPERM, "it is not held", NULL },
	{ RDLOCK_CMD_CONSISTENT, EPERM, "it is not held", NULL },
	{ RDLOCK_CMD_CONSISTENT, EINVAL, "it is not robust, not held exclusively, or no owner died", NULL },
	{ RDLOCK_CMD_LOCK_RESET, ENOENT, "nobody has it open, so there is nothing to reset", NULL },
	{ RDLOCK_CMD_LOCK_RESET, EINVAL, "it is not robust", NULL },
	{ RDLOCK_CMD_ACQUIRE, EOWNERDEAD, "an owner died, and what it guards may not be consistent",
	  "repair it under the lock: rdlock run --robust --recover" },
	{ RDLOCK_CMD_ACQUIRE, ENOTRECOVERABLE, "an owner died, and the next gave up what it guards",
	  "repair that, then reset the lock: rdlock lock reset '%L'" },
	{ RDLOCK_CMD_CANCEL, ENOENT, "there is no request", NULL },
	{ RDLOCK_CMD_ACQUIRE, EAGAIN, "somebody else has it",
	  "wait for it: rdlock run without -n, or with -w SECONDS" },
	{ RDLOCK_CMD_ACQUIRE, ETIMEDOUT, "it could not be had before the time was over",
	  "wait longer: rdlock run -w SECONDS" },
	{ RDLOCK_CMD_ACQUIRE, EDEADLK, "it is held already by the same open file", NULL },
	{ RDLOCK_CMD_ACQUIRE, EBUSY, "a request of the same open file is pending", NULL },
	{ RDLOCK_CMD_ACQUIRE, EOPNOTSUPP, "locks of its kind cannot be shared",
	  "open it as one of kind fair, rdlock run -s --kind fair, or take it exclusively: rdlock run -x" },
	{ RDLOCK_CMD_CONVERT, EDEADLK, "others share the lock, or wait for it", "release it and acquire it" },
	{ RDLOCK_CMD_CONVERT, EAGAIN, "it cannot be decided now", "try again" },
	{ RDLOCK_CMD_CONVERT, EOPNOTSUPP, "locks of its kind cannot be shared", NULL },
	{ RDLOCK_CMD_CONVERT, EPERM, "it is not held", NULL },
	{ RDLOCK_CMD_VALUE_GET, EPERM, "it is not held", NULL },
	{ RDLOCK_CMD_VALUE_GET, EMSGSIZE, "it has more than 64 bytes, and there is no room for them", NULL },
	{ RDLOCK_CMD_VALUE_SET, EPERM, "it is not held exclusively", NULL },
	{ ANY, EPERM, "that needs CAP_NET_ADMIN", "run it as root" },
	{ RDLOCK_CMD_VALUE_SET, EINVAL, "its value has another size", NULL },
	{ ANY, EHOSTUNREACH, "the space's home cannot be reached",
	  "see the state: rdlock space show '%S'; check the home and the network" },
	{ ANY, ETIMEDOUT, "the home did not answer in time",
	  "see the state: rdlock space show '%S'; check the home and the network" },
	{ ANY, EKEYREVOKED, "this node was cut off from the space, and what it held is gone",
	  "see the state: rdlock space show '%S', and open it again" },
	{ ANY, EOVERFLOW, "it has been recovered as often as can be counted",
	  "create the space anew: rdlock space destroy '%S' --force, rdlock space create" },
	{ ANY, EREMOTEIO, "the link broke: it may have happened, or not",
	  "read the counter before you try again: rdlock counter get '%L'" },
	{ ANY, ERANGE, "it has no such cell", "see its cells: rdlock counter show '%L'" },
	{ ANY, ESHUTDOWN, "the space is being left or destroyed", NULL },
	{ ANY, ENODEV, "the space's RDMA device was removed",
	  "leave or destroy the space, and join or create it again on another device" },
	{ ANY, EPROTO, "the other node speaks another version of the protocol",
	  "run the same version everywhere: rdlock info" },
	{ ANY, EBADMSG, "the other node sent what cannot be",
	  "see the kernel log: dmesg | grep rdlock" },
	{ ANY, EINTR, "a signal came", NULL },
	{ ANY, ENOTTY, "the module does not know the command, or this is not one of its fds",
	  "load a module of this version: rdlock info" },
	{ ANY, EINVAL, "the kernel refused a value", NULL },
};

static const struct {
	int err;
	const char *name;
} names[] = {
#define N(e) { e, #e }
	N(EACCES), N(EADDRINUSE), N(EADDRNOTAVAIL), N(EAGAIN), N(EBADF), N(EBADMSG), N(EBUSY), N(ECONNABORTED),
	N(ECONNREFUSED), N(ECONNRESET), N(EDEADLK), N(EEXIST), N(EFAULT), N(EHOSTUNREACH), N(EINTR), N(EINVAL), N(EIO),
	N(EKEYREVOKED), N(EMFILE), N(EMSGSIZE), N(ENAMETOOLONG), N(ENETRESET), N(ENETUNREACH), N(ENFILE), N(ENODATA),
	N(ENODEV), N(ENOENT), N(ENOMEM), N(ENOSPC), N(ENOTCONN), N(ENOTRECOVERABLE), N(ENOTTY), N(ENXIO),
	N(EOPNOTSUPP), N(EOVERFLOW), N(EOWNERDEAD), N(EPERM), N(EPROTO), N(ERANGE), N(EREMOTEIO), N(ESHUTDOWN),
	N(ETIMEDOUT), N(E2BIG),
#undef N
};

const char *rdlock_errno_name(int err)
{
	size_t i;

	if (err < 0)
		err = -err;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].err == err)
			return names[i].name;
	return "E?";
}

struct text {
	char *buf;
	size_t size;
	size_t len;
};

static void put(struct text *t, const char *s)
{
	for (; *s; s++)
		if (t->len + 1 < t->size)
			t->buf[t->len++] = *s;
	if (t->size)
		t->buf[t->len] = 0;
}

static void put_format(struct text *t, const char *format, const char *space, const char *key)
{
	char c[2] = "";

	for (; *format; format++) {
		if (format[0] == '%' && (format[1] == 'S' || format[1] == 'L')) {
			put(t, space ? space : "?");
			if (*++format == 'L') {
				put(t, "/");
				put(t, key ? key : "?");
			}
			continue;
		}
		c[0] = *format;
		put(t, c);
	}
}

char *rdlock_explain(int cmd, int err, const char *space, const char *key, char *buf, size_t size)
{
	struct text t = { .buf = buf, .size = size };
	int saved = errno;
	size_t i;

	if (err < 0)
		err = -err;
	put(&t, "");
	for (i = 0; i < sizeof(tasks) / sizeof(*tasks); i++) {
		if (tasks[i].cmd != cmd)
			continue;
		put_format(&t, tasks[i].text, space, key);
		put(&t, ": ");
	}
	for (i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
		if ((reasons[i].cmd != ANY && reasons[i].cmd != cmd) || reasons[i].err != err)
			continue;
		put_format(&t, reasons[i].what, space, key);
		break;
	}
	if (i == sizeof(reasons) / sizeof(*reasons))
		put(&t, strerror(err));
	put(&t, " (");
	put(&t, rdlock_errno_name(err));
	put(&t, ")");
	if (i < sizeof(reasons) / sizeof(*reasons) && reasons[i].todo) {
		put(&t, "\n");
		put_format(&t, reasons[i].todo, space, key);
	}
	errno = saved;
	return buf;
}
