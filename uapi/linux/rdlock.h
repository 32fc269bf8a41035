/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * rdlock: locks and counters over RDMA atomics. The ioctl interface of /dev/rdlock.
 */
#ifndef _UAPI_LINUX_RDLOCK_H
#define _UAPI_LINUX_RDLOCK_H

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * DOC: Objects
 *
 * Opening /dev/rdlock gives a device fd. RDLOCK_IOC_SPACE_OPEN makes a space fd of it, RDLOCK_IOC_LOCK_OPEN a lock fd
 * of a space fd, RDLOCK_IOC_COUNTER_OPEN a counter fd. All are close-on-exec.
 *
 * The owner of a lock is the open file description of the lock fd: a fork or dup shares it, SCM_RIGHTS hands it on, and
 * when the last reference is closed, by whatever means, the lock is released (of a robust lock that is held exclusively
 * it is the owner's death, see RDLOCK_IOC_CONSISTENT). One lock fd holds its lock once at most;
 * to let two threads of a process exclude each other, each opens the key itself.
 *
 * A lock fd is pollable: EPOLLIN when an acquire that returned -EAGAIN under O_NONBLOCK has been granted (or has
 * failed) and the same acquire would return at once; EPOLLERR and EPOLLHUP when the fd was revoked.
 */

/**
 * DOC: General ioctl format
 *
 * Every structure starts with @size, which the caller sets to sizeof(the structure). A structure longer than the
 * kernel's is accepted when what the kernel does not know is zero. Reserved fields and padding must be zero, unknown
 * flags are refused. Fields named out_ are written by the kernel on success only, and with EOWNERDEAD. Deadlines are
 * absolute, CLOCK_MONOTONIC, nanoseconds, in the caller's time namespace; RDLOCK_NO_DEADLINE waits for ever. Structures
 * have the same layout for 64-bit, 32-bit and x32 callers.
 *
 * ====================  ==========================================================================================
 * errno                 meaning
 * ====================  ==========================================================================================
 * ENOTTY                unknown command, or not one of this kind of fd
 * EINVAL                unknown flag, non-zero padding, bad value, too short a structure; a lock that exists with
 *                       another kind, value size or stickiness than is asked for, or only one of the two is robust
 * E2BIG                 a longer structure than the kernel knows, with a non-zero tail
 * EOPNOTSUPP            known, but not by this kind of lock, device or kernel
 * EFAULT                bad user memory
 * EBADF                 not an fd
 * EPERM                 not the owner of the lock, or not its exclusive one; administration without CAP_NET_ADMIN
 * EACCES                the space's owner, group and mode do not let the caller in
 * ENOENT                no such space in this network namespace
 * EEXIST                the space, or the counter with another number of cells, exists
 * EBUSY                 in use: a space with openers, an fd with an acquire pending, a node id that is taken
 * ENODEV                no RDMA device has, or leads to, the address; the device was removed
 * EADDRINUSE            another program listens on the address and port
 * ENOSPC                a limit of the space is reached
 * ETIMEDOUT             the deadline passed; nothing is held
 * EAGAIN                a try failed; or O_NONBLOCK and the grant will be signalled by poll; a change of mode cannot be
 *                       decided now
 * EINTR, ERESTARTSYS    a signal came; the request is withdrawn, nothing is held
 * EDEADLK               the fd already holds the lock; or others share it, or wait for it, and it cannot become
 *                       exclusive
 * EHOSTUNREACH          the home could not be reached and the deadline passed
 * ECONNREFUSED          the home's machine answers, but knows no such space
 * EKEYREVOKED           this node was cut off; what the fd held is gone; open the lock again
 * EOWNERDEAD            the lock is robust, an owner died, and what it guards may not be consistent; the lock IS HELD
 * ENOTRECOVERABLE       the lock is robust, and an owner that was told so gave it up; nothing is held
 * EREMOTEIO             a counter operation may or may not have happened; it is never repeated for you
 * EOVERFLOW             as the reason of a dead space: a lock was recovered as often as can be counted
 * EPROTO, EBADMSG       the peer speaks another version, or nonsense
 * ESHUTDOWN             the space is being destroyed or left
 * ====================  ==========================================================================================
 */

#define RDLOCK_IOC		0xD7
#define RDLOCK_NAME_MAX		64		/* bytes of a space's name or of a key; any bytes, at least one */
#define RDLOCK_NO_DEADLINE	(~0ULL)

enum {
	RDLOCK_CMD_INFO = 0x00,
	RDLOCK_CMD_SPACE_CREATE,
	RDLOCK_CMD_SPACE_JOIN,
	RDLOCK_CMD_SPACE_LEAVE,
	RDLOCK_CMD_SPACE_DESTROY,
	RDLOCK_CMD_SPACE_LIST,
	RDLOCK_CMD_SPACE_OPEN,
	RDLOCK_CMD_SPACE_STAT = 0x20,
	RDLOCK_CMD_LOCK_OPEN,
	RDLOCK_CMD_COUNTER_OPEN,
	RDLOCK_CMD_LOCK_RESET,
	RDLOCK_CMD_ACQUIRE = 0x40,
	RDLOCK_CMD_RELEASE,
	RDLOCK_CMD_CANCEL,
	RDLOCK_CMD_STATUS,
	RDLOCK_CMD_CONVERT,
	RDLOCK_CMD_VALUE_GET,
	RDLOCK_CMD_VALUE_SET,
	RDLOCK_CMD_CONSISTENT,
	RDLOCK_CMD_COUNTER_ADD = 0x60,
	RDLOCK_CMD_COUNTER_CAS,
	RDLOCK_CMD_COUNTER_READ,
};

/**
 * enum rdlock_kind - a lock's protocol
 * @RDLOCK_KIND_DEFAULT: the space's default
 * @RDLOCK_KIND_SPIN: compare-and-swap with adaptive back-off; exclusive only, no order between nodes
 * @RDLOCK_KIND_FAIR: nodes take turns; shared and exclusive; handed over by one message
 * @RDLOCK_KIND_TICKET: nodes take turns, and look whose turn it is; exclusive only
 * @RDLOCK_KIND_MCS: a queue of nodes, handed over by one message; exclusive only
 */
enum rdlock_kind {
	RDLOCK_KIND_DEFAULT = 0,
	RDLOCK_KIND_SPIN = 1,
	RDLOCK_KIND_FAIR = 2,
	RDLOCK_KIND_TICKET = 3,
	RDLOCK_KIND_MCS = 4,
};

/**
 * enum rdlock_mode - how a lock is held
 * @RDLOCK_MODE_SHARED: with other shared holders
 * @RDLOCK_MODE_EXCLUSIVE: alone
 */
enum rdlock_mode {
	RDLOCK_MODE_SHARED = 1,
	RDLOCK_MODE_EXCLUSIVE = 2,
};

/**
 * enum rdlock_wait - how a caller waits for a lock on this node
 * @RDLOCK_WAIT_DEFAULT: adaptive
 * @RDLOCK_WAIT_EVENT: sleeps at once
 * @RDLOCK_WAIT_SPIN: busily for up to a millisecond, as long as nobody else wants the processor; then sleeps
 * @RDLOCK_WAIT_ADAPTIVE: busily for about a round trip to the home, if that is short; then sleeps
 * @RDLOCK_NR_WAITS: how many there are, of which a kernel may know fewer
 */
enum rdlock_wait {
	RDLOCK_WAIT_DEFAULT,
	RDLOCK_WAIT_EVENT,
	RDLOCK_WAIT_SPIN,
	RDLOCK_WAIT_ADAPTIVE,
	RDLOCK_NR_WAITS,
};

/**
 * struct rdlock_addr - where a home listens
 * @family: AF_INET or AF_INET6
 * @port: network byte order; 0: RDLOCK_PORT
 * @scope_id: of a link-local IPv6 address, else 0
 * @addr: 4 or 16 bytes, network byte order, the rest 0
 */
struct rdlock_addr {
	__u16 family;
	__be16 port;
	__u32 scope_id;
	__u8 addr[16];
};

#define RDLOCK_PORT	7517

#define RDLOCK_FEATURE_COUNTER	(1ULL << 0)
#define RDLOCK_FEATURE_TIMENS	(1ULL << 1)
#define RDLOCK_FEATURE_SHARED	(1ULL << 2)	/* some kind has shared mode, and RDLOCK_IOC_CONVERT */
#define RDLOCK_FEATURE_VALUE	(1ULL << 3)	/* value blocks of up to RDLOCK_VALUE_INLINE bytes */
#define RDLOCK_FEATURE_WAIT	(1ULL << 4)	/* enum rdlock_wait of a space */
#define RDLOCK_FEATURE_ROBUST	(1ULL << 5)	/* RDLOCK_OPEN_ROBUST, RDLOCK_IOC_CONSISTENT, RDLOCK_IOC_LOCK_RESET */

/**
 * struct rdlock_info - ioctl(RDLOCK_IOC_INFO), device fd
 * @size: sizeof(struct rdlock_info)
 * @flags: 0
 * @out_features: RDLOCK_FEATURE_*
 * @out_kinds: bit n: kind n is known
 * @out_name_max: RDLOCK_NAME_MAX of the kernel
 * @out_max_nodes: most nodes a space can have
 * @out_max_cells: most cells a counter can have
 * @out_version: the module's version, zero-terminated; to show, not to decide by
 */
struct rdlock_info {
	__u32 size;
	__u32 flags;
	__aligned_u64 out_features;
	__u32 out_kinds;
	__u32 out_name_max;
	__u32 out_max_nodes;
	__u32 out_max_cells;
	__u8 out_version[32];
};

#define RDLOCK_IOC_INFO	_IO(RDLOCK_IOC, RDLOCK_CMD_INFO)

/**
 * struct rdlock_space_create - ioctl(RDLOCK_IOC_SPACE_CREATE), device fd: make a space with this node as its home
 * @size: sizeof(struct rdlock_space_create)
 * @flags: 0
 * @name_len: 1 to RDLOCK_NAME_MAX
 * @node: this node's id in the space, below @max_nodes
 * @max_nodes: 16, 64 or 256; 0: 64
 * @kind: default kind of its locks, enum rdlock_kind
 * @mode: permission bits, 0 to 0666: read and write bit of owner, group, others; both are needed to open the space
 * @uid: owner, in the caller's user namespace; ~0: the caller's
 * @gid: group; ~0: the caller's
 * @wait: enum rdlock_wait
 * @addr: a local address of an RDMA device
 * @name: the name, zero-filled
 *
 * Needs CAP_NET_ADMIN in the network namespace's user namespace.
 */
struct rdlock_space_create {
	__u32 size;
	__u32 flags;
	__u32 name_len;
	__u32 node;
	__u32 max_nodes;
	__u32 kind;
	__u32 mode;
	__u32 uid;
	__u32 gid;
	__u32 wait;
	struct rdlock_addr addr;
	__u8 name[RDLOCK_NAME_MAX];
};

#define RDLOCK_IOC_SPACE_CREATE	_IO(RDLOCK_IOC, RDLOCK_CMD_SPACE_CREATE)

/**
 * struct rdlock_space_join - ioctl(RDLOCK_IOC_SPACE_JOIN), device fd: become a member of a space
 * @size: sizeof(struct rdlock_space_join)
 * @flags: 0
 * @name_len: 1 to RDLOCK_NAME_MAX
 * @node: this node's id in the space; the home refuses one that is taken with -EBUSY
 * @mode: see struct rdlock_space_create; permissions are local to each node
 * @uid: see struct rdlock_space_create
 * @gid: see struct rdlock_space_create
 * @wait: enum rdlock_wait
 * @deadline: until then a home that cannot be reached is tried again; -ECONNREFUSED, -EBUSY, -ENODEV and -EPROTO end it
 *   at once
 * @addr: where the home listens
 * @name: the name, zero-filled
 *
 * Needs CAP_NET_ADMIN as above.
 */
struct rdlock_space_join {
	__u32 size;
	__u32 flags;
	__u32 name_len;
	__u32 node;
	__u32 mode;
	__u32 uid;
	__u32 gid;
	__u32 wait;
	__aligned_u64 deadline;
	struct rdlock_addr addr;
	__u8 name[RDLOCK_NAME_MAX];
};

#define RDLOCK_IOC_SPACE_JOIN	_IO(RDLOCK_IOC, RDLOCK_CMD_SPACE_JOIN)

#define RDLOCK_SPACE_FORCE	(1U << 0)	/* revoke what is open instead of failing with -EBUSY */

/**
 * struct rdlock_space_name - ioctl(RDLOCK_IOC_SPACE_LEAVE, RDLOCK_IOC_SPACE_DESTROY), device fd
 * @size: sizeof(struct rdlock_space_name)
 * @flags: RDLOCK_SPACE_FORCE
 * @name_len: 1 to RDLOCK_NAME_MAX
 * @reserved: 0
 * @name: the name, zero-filled
 *
 * A member leaves, the home destroys; each on the other's kind of node fails with -EINVAL. With openers (fds, kernel
 * users; at the home also members) -EBUSY. Needs CAP_NET_ADMIN as above.
 */
struct rdlock_space_name {
	__u32 size;
	__u32 flags;
	__u32 name_len;
	__u32 reserved;
	__u8 name[RDLOCK_NAME_MAX];
};

#define RDLOCK_IOC_SPACE_LEAVE		_IO(RDLOCK_IOC, RDLOCK_CMD_SPACE_LEAVE)
#define RDLOCK_IOC_SPACE_DESTROY	_IO(RDLOCK_IOC, RDLOCK_CMD_SPACE_DESTROY)

/**
 * enum rdlock_space_state - what a node can say of its space; words are in rdlock(8)
 * @RDLOCK_SPACE_JOINING: no session with the home yet
 * @RDLOCK_SPACE_READY: usable
 * @RDLOCK_SPACE_SUSPECT: the link is down, the lease still runs; held locks stay held
 * @RDLOCK_SPACE_LOST: cut off; what was held is gone; trying to join again
 * @RDLOCK_SPACE_STOPPING: being left or destroyed
 * @RDLOCK_SPACE_DEAD: the home's RDMA device was removed; can only be left or destroyed
 */
enum rdlock_space_state {
	RDLOCK_SPACE_JOINING,
	RDLOCK_SPACE_READY,
	RDLOCK_SPACE_SUSPECT,
	RDLOCK_SPACE_LOST,
	RDLOCK_SPACE_STOPPING,
	RDLOCK_SPACE_DEAD,
};

/**
 * struct rdlock_space_stat - ioctl(RDLOCK_IOC_SPACE_STAT), space fd; also one entry of RDLOCK_IOC_SPACE_LIST
 * @size: sizeof(struct rdlock_space_stat); in a list it is set by the kernel
 * @flags: 0
 * @out_name_len: bytes of @out_name
 * @out_state: enum rdlock_space_state
 * @out_reason: positive errno that explains a state other than READY: why the session ended, or the last attempt to
 *	make one failed; else 0
 * @out_node: own id
 * @out_home: the home's id
 * @out_is_home: 1: this node is the home
 * @out_max_nodes: board size
 * @out_members: at the home: nodes with a session, itself included; elsewhere 2 or, without a session, 1
 * @out_openers: space fds, lock fds, counter fds and kernel users on this node
 * @out_kind: default kind
 * @out_backend: 1: atomics are done by the device; 2: by the home's processor; 0: not known yet
 * @out_mode: permission bits
 * @out_uid: owner in the caller's user namespace
 * @out_gid: group
 * @out_inc: this node's incarnation
 * @out_generation: of the space's homes
 * @out_instance: random number of the space's creation; tokens of another instance do not compare
 * @out_since: CLOCK_MONOTONIC time of the last change of @out_state
 * @out_addr: where the home listens
 * @out_name: the space's name
 * @out_dev: RDMA device, zero-terminated
 * @out_wait: enum rdlock_wait
 * @out_rtt: nanoseconds that an atomic operation took lately, from post to completion; 0: none was done yet
 */
struct rdlock_space_stat {
	__u32 size;
	__u32 flags;
	__u32 out_name_len;
	__u32 out_state;
	__u32 out_reason;
	__u32 out_node;
	__u32 out_home;
	__u32 out_is_home;
	__u32 out_max_nodes;
	__u32 out_members;
	__u32 out_openers;
	__u32 out_kind;
	__u32 out_backend;
	__u32 out_mode;
	__u32 out_uid;
	__u32 out_gid;
	__u32 out_inc;
	__u32 out_generation;
	__aligned_u64 out_instance;
	__aligned_u64 out_since;
	struct rdlock_addr out_addr;
	__u8 out_name[RDLOCK_NAME_MAX];
	__u8 out_dev[64];
	__u32 out_wait;
	__u32 out_rtt;
};

#define RDLOCK_IOC_SPACE_STAT	_IO(RDLOCK_IOC, RDLOCK_CMD_SPACE_STAT)

/**
 * struct rdlock_space_list - ioctl(RDLOCK_IOC_SPACE_LIST), device fd: the spaces of the caller's network namespace
 * @size: sizeof(struct rdlock_space_list)
 * @flags: 0
 * @count: room in @stats, in entries
 * @out_total: how many spaces there are; more than @count means: ask again with more room
 * @stat_size: sizeof(struct rdlock_space_stat) of the caller; entries are that long, cut or zero-filled
 * @reserved: 0
 * @stats: pointer to @count entries of struct rdlock_space_stat
 */
struct rdlock_space_list {
	__u32 size;
	__u32 flags;
	__u32 count;
	__u32 out_total;
	__u32 stat_size;
	__u32 reserved;
	__aligned_u64 stats;
};

#define RDLOCK_IOC_SPACE_LIST	_IO(RDLOCK_IOC, RDLOCK_CMD_SPACE_LIST)

/* struct rdlock_space_name with flags 0, device fd; returns a space fd */
#define RDLOCK_IOC_SPACE_OPEN	_IO(RDLOCK_IOC, RDLOCK_CMD_SPACE_OPEN)

#define RDLOCK_OPEN_NONBLOCK	(1U << 0)	/* the new fd has O_NONBLOCK set */
#define RDLOCK_OPEN_STICKY	(1U << 1)	/* an idle exclusive owner keeps the lock until another node asks */
#define RDLOCK_OPEN_NOT_STICKY	(1U << 2)	/* it gives it back at once */
#define RDLOCK_OPEN_ROBUST	(1U << 3)	/* who gets it after an owner's death is told; RDLOCK_IOC_CONSISTENT */

#define RDLOCK_VALUE_MAX	65536		/* bytes of a value block */
#define RDLOCK_VALUE_INLINE	64		/* of one that travels with the lock; a larger one stays at the home */

/**
 * struct rdlock_lock_open - ioctl(RDLOCK_IOC_LOCK_OPEN), space fd; returns a lock fd
 * @size: sizeof(struct rdlock_lock_open)
 * @flags: RDLOCK_OPEN_NONBLOCK, RDLOCK_OPEN_ROBUST, and RDLOCK_OPEN_STICKY or RDLOCK_OPEN_NOT_STICKY
 * @key_len: 1 to RDLOCK_NAME_MAX
 * @kind: enum rdlock_kind
 * @deadline: until then the home is asked; -ETIMEDOUT: it did not answer, -EHOSTUNREACH: there is no session with it
 * @key: the key, zero-filled
 * @value_size: bytes of the value block; 0: none, or as many as it has
 * @reserved: 0
 *
 * Kind, value size, stickiness and robustness are the lock's, and the first open of the key decides them: a kind of 0
 * is the space's default, and kinds that can be sticky (fair, mcs) are. A later open that asks for something else fails
 * with -EINVAL; what it leaves open it takes as it is. Robustness cannot be left open: with RDLOCK_OPEN_ROBUST the lock
 * must be robust, without it must not, because its owner must know what EOWNERDEAD means. -EOPNOTSUPP: a sticky lock of
 * kind spin or ticket, a value block of kind spin. -EINVAL: one of more than RDLOCK_VALUE_MAX bytes. A lock that nobody
 * has open any more is forgotten, with its value; but not that an owner of a robust one died.
 *
 * A value of more than RDLOCK_VALUE_INLINE bytes is read from the home before it is granted to a node that has not got
 * it, and written there, after it was changed, before another node is granted the lock. It costs its size in memory of
 * the home, of each node that has the lock open, and of each fd.
 */
struct rdlock_lock_open {
	__u32 size;
	__u32 flags;
	__u32 key_len;
	__u32 kind;
	__aligned_u64 deadline;
	__u8 key[RDLOCK_NAME_MAX];
	__u32 value_size;
	__u32 reserved;
};

#define RDLOCK_IOC_LOCK_OPEN	_IO(RDLOCK_IOC, RDLOCK_CMD_LOCK_OPEN)

/**
 * struct rdlock_lock_reset - ioctl(RDLOCK_IOC_LOCK_RESET), space fd: make a robust lock usable that is not recoverable
 * @size: sizeof(struct rdlock_lock_reset)
 * @flags: 0
 * @key_len: 1 to RDLOCK_NAME_MAX
 * @reserved: 0
 * @deadline: until then the home is asked, and waited for
 * @key: the key, zero-filled
 *
 * Whoever acquires the lock afterwards gets it as if no owner had died: what it guards is the administrator's
 * responsibility. Without effect on a lock that is recoverable. -ENOENT: nobody has the lock open, so there is nothing
 * to be reset; -EINVAL: it is not robust. Needs CAP_NET_ADMIN as RDLOCK_IOC_SPACE_CREATE.
 */
struct rdlock_lock_reset {
	__u32 size;
	__u32 flags;
	__u32 key_len;
	__u32 reserved;
	__aligned_u64 deadline;
	__u8 key[RDLOCK_NAME_MAX];
};

#define RDLOCK_IOC_LOCK_RESET	_IO(RDLOCK_IOC, RDLOCK_CMD_LOCK_RESET)

#define RDLOCK_ACQUIRE_TRY	(1U << 0)	/* do not wait for the holder; -EAGAIN */

/*
 * The previous owner's node died, or was cut off, holding the lock: told until somebody knows, and the home has cleared
 * it. Of a robust lock: an exclusive owner died; told with EOWNERDEAD by every acquire until RDLOCK_IOC_CONSISTENT.
 */
#define RDLOCK_GRANT_OWNER_DIED	(1U << 0)
#define RDLOCK_GRANT_LOCAL	(1U << 1)	/* handed over within the node, without a network operation */
#define RDLOCK_GRANT_VALUE_INVALID (1U << 2)	/* the value may be older than its last writer left it */
#define RDLOCK_GRANT_MAYBE_DIED	(1U << 3)	/* reserved: nobody can say whether one did; not given yet */

/**
 * struct rdlock_acquire - ioctl(RDLOCK_IOC_ACQUIRE), lock fd
 * @size: sizeof(struct rdlock_acquire)
 * @mode: enum rdlock_mode
 * @flags: RDLOCK_ACQUIRE_TRY
 * @out_flags: RDLOCK_GRANT_*
 * @deadline: not used with RDLOCK_ACQUIRE_TRY
 * @out_token: fencing token, greater than that of every earlier exclusive grant of this lock; of an exclusive grant
 *   also greater than that of every earlier shared one
 * @out_instance: the space's instance that @out_token belongs to
 *
 * With O_NONBLOCK (and without RDLOCK_ACQUIRE_TRY) an acquire that has to wait is queued and returns -EAGAIN; poll says
 * when to call again, and that call, in the same mode, gives the result. @deadline then bounds the queued request.
 *
 * EOWNERDEAD, of a robust lock, means that the lock is held, and the out_ fields are written as on success.
 */
struct rdlock_acquire {
	__u32 size;
	__u32 mode;
	__u32 flags;
	__u32 out_flags;
	__aligned_u64 deadline;
	__aligned_u64 out_token;
	__aligned_u64 out_instance;
};

#define RDLOCK_IOC_ACQUIRE	_IO(RDLOCK_IOC, RDLOCK_CMD_ACQUIRE)

/**
 * struct rdlock_release - ioctl(RDLOCK_IOC_RELEASE, RDLOCK_IOC_CANCEL), lock fd
 * @size: sizeof(struct rdlock_release)
 * @flags: 0
 *
 * RELEASE: -EPERM when the fd does not hold the lock. CANCEL withdraws an acquire that returned -EAGAIN under
 * O_NONBLOCK, also one that was granted but not yet fetched: -ENOENT when there is none.
 */
struct rdlock_release {
	__u32 size;
	__u32 flags;
};

#define RDLOCK_IOC_RELEASE	_IO(RDLOCK_IOC, RDLOCK_CMD_RELEASE)
#define RDLOCK_IOC_CANCEL	_IO(RDLOCK_IOC, RDLOCK_CMD_CANCEL)

/*
 * struct rdlock_release, lock fd, whose acquire in exclusive mode (or a shared one that was converted) ended with
 * EOWNERDEAD: what the robust lock guards is consistent again. It returns when the home knows; from then on acquires
 * are as before the death, on every node. -EINVAL: the lock is not robust, not held exclusively, or no death was told
 * of; -EPERM: the fd does not hold it; -EBUSY: it is being said, or the mode is being changed. A fatal signal leaves
 * open whether the home will know.
 *
 * Who releases such a lock without it has given it up: acquires, also those that wait, end with ENOTRECOVERABLE, on
 * every node, until RDLOCK_IOC_LOCK_RESET, or until nobody has the lock open. Who closes it instead, or dies, changes
 * nothing, nor does a shared owner.
 */
#define RDLOCK_IOC_CONSISTENT	_IO(RDLOCK_IOC, RDLOCK_CMD_CONSISTENT)

/**
 * enum rdlock_fd_state - of a lock fd
 * @RDLOCK_FD_IDLE: nothing held or asked
 * @RDLOCK_FD_PENDING: an acquire waits
 * @RDLOCK_FD_GRANTED: granted, not yet fetched by the caller
 * @RDLOCK_FD_HELD: held
 * @RDLOCK_FD_REVOKED: what it held is gone; only close is left
 */
enum rdlock_fd_state {
	RDLOCK_FD_IDLE,
	RDLOCK_FD_PENDING,
	RDLOCK_FD_GRANTED,
	RDLOCK_FD_HELD,
	RDLOCK_FD_REVOKED,
};

/**
 * struct rdlock_status - ioctl(RDLOCK_IOC_STATUS), lock fd
 * @size: sizeof(struct rdlock_status)
 * @flags: 0
 * @out_state: enum rdlock_fd_state
 * @out_mode: enum rdlock_mode, 0 when nothing is held
 * @out_kind: enum rdlock_kind of the lock
 * @out_reserved: 0
 * @out_token: of the grant, 0 when nothing is held
 * @out_instance: of the space
 * @out_value_size: bytes of its value block, 0: it has none
 * @out_open_flags: RDLOCK_OPEN_STICKY and RDLOCK_OPEN_ROBUST if it is
 */
struct rdlock_status {
	__u32 size;
	__u32 flags;
	__u32 out_state;
	__u32 out_mode;
	__u32 out_kind;
	__u32 out_reserved;
	__aligned_u64 out_token;
	__aligned_u64 out_instance;
	__u32 out_value_size;
	__u32 out_open_flags;
};

#define RDLOCK_IOC_STATUS	_IO(RDLOCK_IOC, RDLOCK_CMD_STATUS)

/**
 * struct rdlock_convert - ioctl(RDLOCK_IOC_CONVERT), lock fd: hold the lock in another mode, without giving it up
 * @size: sizeof(struct rdlock_convert)
 * @flags: 0
 * @mode: enum rdlock_mode
 * @out_flags: RDLOCK_GRANT_OWNER_DIED if the lock is robust and was acquired with EOWNERDEAD, and is not consistent yet
 * @out_token: of the grant as it is now; an exclusive one is new, and greater than all before
 * @out_instance: as of struct rdlock_acquire
 *
 * From exclusive to shared it succeeds, and lets readers that wait in; a value that was written is the lock's from then
 * on. From shared to exclusive it does not wait: -EDEADLK when others share the lock or wait for it. -EAGAIN: it cannot
 * be decided now, because the link is down or the lock is being recovered; nothing has changed. -EHOSTUNREACH: the
 * link broke meanwhile, or the lock began to be recovered while a large value was written; the mode is the old one, but
 * a value that was written is the lock's. -EOPNOTSUPP: the kind has no shared mode.
 */
struct rdlock_convert {
	__u32 size;
	__u32 flags;
	__u32 mode;
	__u32 out_flags;
	__aligned_u64 out_token;
	__aligned_u64 out_instance;
};

#define RDLOCK_IOC_CONVERT	_IO(RDLOCK_IOC, RDLOCK_CMD_CONVERT)

/**
 * struct rdlock_value - ioctl(RDLOCK_IOC_VALUE_GET, _SET), lock fd: the value block, by who holds the lock
 * @size: sizeof(struct rdlock_value)
 * @flags: 0
 * @len: SET: bytes of the value, exactly as many as the lock has. GET: room at @addr; 0 without it
 * @out_len: GET: bytes of the value, which may be more than there was room for. SET: unchanged
 * @value: the bytes if @addr is 0; behind @len they are 0
 * @addr: where they are, or go; then @value is 0. Values of more than RDLOCK_VALUE_INLINE bytes need it: GET without it
 *   is -EMSGSIZE
 *
 * A new lock's value is all zero. GET gives what the last owner left; SET, by an exclusive owner (-EPERM), what the
 * next will find once this one has released the lock or gone down to shared. An owner that dies, is cut off, or only
 * closes its fd leaves the value as it was. -EOPNOTSUPP: the lock has no value block.
 */
struct rdlock_value {
	__u32 size;
	__u32 flags;
	__u32 len;
	__u32 out_len;
	__u8 value[RDLOCK_VALUE_INLINE];
	__aligned_u64 addr;
};

#define RDLOCK_IOC_VALUE_GET	_IO(RDLOCK_IOC, RDLOCK_CMD_VALUE_GET)
#define RDLOCK_IOC_VALUE_SET	_IO(RDLOCK_IOC, RDLOCK_CMD_VALUE_SET)

/**
 * struct rdlock_counter_open - ioctl(RDLOCK_IOC_COUNTER_OPEN), space fd; returns a counter fd
 * @size: sizeof(struct rdlock_counter_open)
 * @flags: 0
 * @key_len: 1 to RDLOCK_NAME_MAX; counters and locks have separate keys
 * @cells: number of 8-byte cells, all 0 at first; 0: as many as it has (-ENOENT if it does not exist); another number
 *	than an existing counter has: -EEXIST
 * @deadline: until then the home is asked; -ETIMEDOUT: it did not answer, or the deadline had passed before it was
 *	asked; -EHOSTUNREACH: there is no session with it. After these, and after a signal, the counter may have been
 *	made
 * @key: the key, zero-filled
 *
 * A counter lives as long as its space.
 */
struct rdlock_counter_open {
	__u32 size;
	__u32 flags;
	__u32 key_len;
	__u32 cells;
	__aligned_u64 deadline;
	__u8 key[RDLOCK_NAME_MAX];
};

#define RDLOCK_IOC_COUNTER_OPEN	_IO(RDLOCK_IOC, RDLOCK_CMD_COUNTER_OPEN)

/**
 * struct rdlock_counter_op - ioctl(RDLOCK_IOC_COUNTER_ADD, _CAS, _READ), counter fd
 * @size: sizeof(struct rdlock_counter_op)
 * @flags: 0
 * @cell: index; -ERANGE when the counter has no such cell
 * @out_cells: how many it has
 * @deadline: until then an unreachable home is waited for; an operation that was sent is always waited for
 * @arg: ADD: addend, modulo 2^64. CAS: value to store. READ: 0
 * @expect: CAS: stored only if the cell holds this. Else 0
 * @out_old: the value before
 */
struct rdlock_counter_op {
	__u32 size;
	__u32 flags;
	__u32 cell;
	__u32 out_cells;
	__aligned_u64 deadline;
	__aligned_u64 arg;
	__aligned_u64 expect;
	__aligned_u64 out_old;
};

#define RDLOCK_IOC_COUNTER_ADD	_IO(RDLOCK_IOC, RDLOCK_CMD_COUNTER_ADD)
#define RDLOCK_IOC_COUNTER_CAS	_IO(RDLOCK_IOC, RDLOCK_CMD_COUNTER_CAS)
#define RDLOCK_IOC_COUNTER_READ	_IO(RDLOCK_IOC, RDLOCK_CMD_COUNTER_READ)

#endif /* _UAPI_LINUX_RDLOCK_H */
