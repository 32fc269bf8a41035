// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/rdlock: a device fd, and the space, lock and counter fds that come of it. Copies in,
 * checks, calls, copies out, and is the only file that knows user memory. Nothing here looks
 * anything up by a number of the caller's: an object is its fd.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/anon_inodes.h>
#include <linux/bits.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/pagemap.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>

#include "agent.h"
#include "core/limits.h"
#include "core/msg.h"
#include "dev.h"
#include "dev_args.h"
#include "dev_ioctl.h"
#include "main.h"
#include "object.h"
#include "space.h"
#include "wait.h"

long rdlock_ioctl(struct file *file, unsigned int cmd, unsigned long arg, const struct rdlock_ioctl *op, size_t count)
{
	void __user *ubuf = (void __user *)arg;
	union rdlock_ubuf buf;
	u32 usize;
	int ret;

	for (; count && op->cmd != cmd; count--)
		op++;
	if (!count)
		return -ENOTTY;

	if (get_user(usize, (u32 __user *)ubuf))
		return -EFAULT;
	if (usize < op->min_size)
		return -EINVAL;
	if (usize > PAGE_SIZE)
		return -E2BIG;
	memset(&buf, 0, sizeof(buf));
	ret = copy_struct_from_user(&buf, op->size, ubuf, usize);
	if (ret)
		return ret;

	/*
	 * A reply that cannot be delivered would leave the caller without word of what was done,
	 * and a counter operation cannot be taken back: find out before.
	 */
	if (op->reply && fault_in_safe_writeable(ubuf, min(usize, op->size)))
		return -EFAULT;

	ret = op->fn(file, &buf);
	if ((ret < 0 && ret != -EOWNERDEAD) || !op->reply)
		return ret;
	/* Who is being killed reads no reply, and nobody may take it for told of what is in it. */
	if (copy_to_user(ubuf, &buf, min(usize, op->size)) || (op->undo && fatal_signal_pending(current))) {
		if (op->undo)
			op->undo(file, &buf);
		return -EFAULT;
	}
	if (op->done)
		op->done(file, &buf);
	return ret;
}

/* ---- a new fd ---- */

/*
 * The number is reserved before anything is built, and the file published when nothing can fail
 * any more, so nobody can close or use a half-made object. On an error the caller undoes @priv
 * and @fd.
 */
static int rdlock_install(int fd, const char *name, const struct file_operations *fops, void *priv,
			  int flags)
{
	struct file *file = anon_inode_getfile(name, fops, priv, O_RDWR | flags);

	if (IS_ERR(file))
		return PTR_ERR(file);
	fd_install(fd, file);
	return fd;
}

/* ---- lock fd ---- */

static int rdlock_acquire_fn(struct file *file, union rdlock_ubuf *u)
{
	struct rdlock_acquire *a = &u->acquire;
	struct rdlock_grant grant = {};
	ktime_t deadline = KTIME_MAX;
	u32 flags = RDLOCK_REQ_INTERRUPTIBLE | RDLOCK_REQ_REPLY;
	int err;

	if (a->flags & ~RDLOCK_ACQUIRE_TRY)
		return -EINVAL;
	if (a->mode != RDLOCK_MODE_SHARED && a->mode != RDLOCK_MODE_EXCLUSIVE)
		return -EINVAL;

	if (a->flags & RDLOCK_ACQUIRE_TRY) {
		flags |= RDLOCK_REQ_TRY;
	} else {
		err = rdlock_arg_deadline(a->deadline, &deadline);
		if (err)
			return err;
		if (file->f_flags & O_NONBLOCK)
			flags |= RDLOCK_REQ_NOWAIT;
	}

	err = rdlock_request(file->private_data, a->mode, flags, deadline, &grant);
	if (err && err != -EOWNERDEAD)
		return err;
	a->out_flags = grant.flags;
	a->out_token = grant.token;
	a->out_instance = grant.instance;
	return err;
}

static void rdlock_acquire_done(struct file *file, const union rdlock_ubuf *u)
{
	rdlock_handle_told(file->private_data, u->acquire.out_token);
}

/* The caller will not learn that it holds the lock, so it must not. */
static void rdlock_acquire_undo(struct file *file, const union rdlock_ubuf *u)
{
	rdlock_handle_undo(file->private_data, u->acquire.out_token);
}

static int rdlock_release_fn(struct file *file, union rdlock_ubuf *u)
{
	if (u->release.flags)
		return -EINVAL;
	return rdlock_handle_release(file->private_data);
}

static int rdlock_cancel_fn(struct file *file, union rdlock_ubuf *u)
{
	if (u->release.flags)
		return -EINVAL;
	return rdlock_request_cancel(file->private_data);
}

static int rdlock_consistent_fn(struct file *file, union rdlock_ubuf *u)
{
	if (u->release.flags)
		return -EINVAL;
	return rdlock_handle_consistent(file->private_data);
}

static int rdlock_status_fn(struct file *file, union rdlock_ubuf *u)
{
	struct rdlock_status status = {};

	if (u->status.flags)
		return -EINVAL;
	rdlock_handle_status(file->private_data, &status);
	/* The rest of it is 0. */
	status.size = u->status.size;
	u->status = status;
	return 0;
}

static int rdlock_convert_fn(struct file *file, union rdlock_ubuf *u)
{
	struct rdlock_convert *c = &u->convert;
	struct rdlock_grant grant = {};
	int err;

	if (c->flags)
		return -EINVAL;
	err = rdlock_handle_convert(file->private_data, c->mode, &grant);
	if (err)
		return err;
	c->out_flags = grant.flags;
	c->out_token = grant.token;
	c->out_instance = grant.instance;
	return 0;
}

/* By way of the kernel's memory: what faults is not touched under a spinlock. */
static int value_to_user(struct rdlock *lock, u64 addr, u32 len)
{
	void *value = kvzalloc(clamp_t(u32, len, 1, RDLOCK_VALUE_MAX), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!value)
		return -ENOMEM;
	ret = rdlock_handle_value_get(lock, value, min_t(u32, len, RDLOCK_VALUE_MAX));
	if (ret >= 0 && copy_to_user(u64_to_user_ptr(addr), value, min_t(u32, len, ret)))
		ret = -EFAULT;
	kvfree(value);
	return ret;
}

static int value_from_user(struct rdlock *lock, u64 addr, u32 len)
{
	void *value;
	int err;

	if (!len || len > RDLOCK_VALUE_MAX)
		return -EINVAL;
	value = vmemdup_user(u64_to_user_ptr(addr), len);
	if (IS_ERR(value))
		return PTR_ERR(value);
	err = rdlock_handle_value_set(lock, value, len);
	kvfree(value);
	return err;
}

static int rdlock_value_get_fn(struct file *file, union rdlock_ubuf *u)
{
	struct rdlock_value *v = &u->value;
	int ret;

	if (v->flags || (!v->addr && v->len) || (v->addr && memchr_inv(v->value, 0, sizeof(v->value))))
		return -EINVAL;
	memset(v->value, 0, sizeof(v->value));
	if (v->addr)
		ret = value_to_user(file->private_data, v->addr, v->len);
	else
		ret = rdlock_handle_value_get(file->private_data, v->value, sizeof(v->value));
	if (ret < 0)
		return ret;
	if (!v->addr && ret > sizeof(v->value))
		return -EMSGSIZE;
	v->out_len = ret;
	return 0;
}

static int rdlock_value_set_fn(struct file *file, union rdlock_ubuf *u)
{
	struct rdlock_value *v = &u->value;

	if (v->addr) {
		if (v->flags || memchr_inv(v->value, 0, sizeof(v->value)))
			return -EINVAL;
		return value_from_user(file->private_data, v->addr, v->len);
	}
	if (v->flags || v->len > sizeof(v->value) || memchr_inv(v->value + v->len, 0, sizeof(v->value) - v->len))
		return -EINVAL;
	return rdlock_handle_value_set(file->private_data, v->value, v->len);
}

static const struct rdlock_ioctl rdlock_lock_ioctls[] = {
	RDLOCK_IOCTL(RDLOCK_IOC_ACQUIRE, rdlock_acquire_fn, rdlock_acquire, out_instance, .reply = true,
		     .done = rdlock_acquire_done, .undo = rdlock_acquire_undo),
	RDLOCK_IOCTL(RDLOCK_IOC_RELEASE, rdlock_release_fn, rdlock_release, flags),
	RDLOCK_IOCTL(RDLOCK_IOC_CANCEL, rdlock_cancel_fn, rdlock_release, flags),
	RDLOCK_IOCTL(RDLOCK_IOC_STATUS, rdlock_status_fn, rdlock_status, out_instance, .reply = true),
	RDLOCK_IOCTL(RDLOCK_IOC_CONVERT, rdlock_convert_fn, rdlock_convert, out_instance, .reply = true),
	RDLOCK_IOCTL(RDLOCK_IOC_VALUE_GET, rdlock_value_get_fn, rdlock_value, value, .reply = true),
	RDLOCK_IOCTL(RDLOCK_IOC_VALUE_SET, rdlock_value_set_fn, rdlock_value, value),
	RDLOCK_IOCTL(RDLOCK_IOC_CONSISTENT, rdlock_consistent_fn, rdlock_release, flags),
};

static long rdlock_lock_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return rdlock_ioctl(file, cmd, arg, rdlock_lock_ioctls, ARRAY_SIZE(rdlock_lock_ioctls));
}

static __poll_t rdlock_lock_poll(struct file *file, struct poll_table_struct *pt)
{
	return rdlock_handle_poll(file->private_data, file, pt);
}

static void rdlock_lock_fdinfo(struct seq_file *m, struct file *file)
{
	static const char * const states[] = {
		[RDLOCK_FD_IDLE] = "idle",
		[RDLOCK_FD_PENDING] = "pending",
		[RDLOCK_FD_GRANTED] = "granted",
		[RDLOCK_FD_HELD] = "held",
		[RDLOCK_FD_REVOKED] = "revoked",
	};
	const struct rdlock *lock = file->private_data;
	const struct rdlock_agent *agent = lock->agent;
	struct rdlock_status status = {};
	char name[RDLOCK_NAME_STR];

	seq_printf(m, "rdlock-space:\t%s\n",
		   rdlock_name_str(name, agent->space->name, agent->space->name_len));
	seq_printf(m, "rdlock-key:\t%s\n",
		   rdlock_name_str(name, agent->key.key, agent->key.len));
	rdlock_handle_status(file->private_data, &status);
	if (status.out_state < ARRAY_SIZE(states))
		seq_printf(m, "rdlock-state:\t%s\n", states[status.out_state]);
	seq_printf(m, "rdlock-mode:\t%u\n", status.out_mode);
	seq_printf(m, "rdlock-token:\t0x%016llx\n", status.out_token);
	seq_printf(m, "rdlock-instance:\t0x%016llx\n", status.out_instance);
}

static int rdlock_lock_release(struct inode *inode, struct file *file)
{
	rdlock_handle_close(file->private_data);
	return 0;
}

static const struct file_operations rdlock_lock_fops = {
	.owner		= THIS_MODULE,
	.release	= rdlock_lock_release,
	.poll		= rdlock_lock_poll,
	.unlocked_ioctl	= rdlock_lock_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.show_fdinfo	= rdlock_lock_fdinfo,
};

/* ---- space fd ---- */

static void rdlock_fill_stat(struct rdlock_space *space, u32 size, struct rdlock_space_stat *stat)
{
	memset(stat, 0, sizeof(*stat));
	rdlock_space_stat(space, current_user_ns(), stat);
	stat->size = size;
	stat->flags = 0;
	stat->out_since += rdlock_arg_timens_offset();
}

static int rdlock_space_stat_fn(struct file *file, union rdlock_ubuf *u)
{
	if (u->stat.flags)
		return -EINVAL;
	rdlock_fill_stat(file->private_data, u->stat.size, &u->stat);
	return 0;
}

static int rdlock_lock_open_fn(struct file *file, union rdlock_ubuf *u)
{
	const struct rdlock_lock_open *o = &u->lock_open;
	struct rdlock_props ask = {
		.kind = o->kind,
		.flags = o->flags & ~RDLOCK_OPEN_NONBLOCK,
		.value_size = o->value_size,
	};
	struct rdlock *lock;
	ktime_t deadline;
	int err, fd;

	if (o->reserved || o->flags & RDLOCK_OPEN_EXISTING)
		return -EINVAL;
	err = rdlock_arg_name(o->key, o->key_len);
	if (err)
		return err;
	err = rdlock_arg_deadline(o->deadline, &deadline);
	if (err)
		return err;

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	lock = rdlock_handle_open(file->private_data, o->key, o->key_len, &ask, deadline, true);
	if (IS_ERR(lock)) {
		err = PTR_ERR(lock);
		goto put_fd;
	}
	err = rdlock_install(fd, "[rdlock_lock]", &rdlock_lock_fops, lock,
			     o->flags & RDLOCK_OPEN_NONBLOCK ? O_NONBLOCK : 0);
	if (err < 0)
		goto close_lock;
	return fd;

close_lock:
	rdlock_handle_close(lock);
put_fd:
	put_unused_fd(fd);
	return err;
}

static int rdlock_counter_open_fn(struct file *file, union rdlock_ubuf *u)
{
	const struct rdlock_counter_open *o = &u->counter_open;
	struct rdlock_counter *counter;
	ktime_t deadline;
	int err, fd;

	if (o->flags || o->cells > RDL_CELLS_MAX)
		return -EINVAL;
	err = rdlock_arg_name(o->key, o->key_len);
	if (err)
		return err;
	err = rdlock_arg_deadline(o->deadline, &deadline);
	if (err)
		return err;

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	counter = rdlock_counter_do_open(file->private_data, o->key, o->key_len, o->cells, deadline,
					 true);
	if (IS_ERR(counter)) {
		err = PTR_ERR(counter);
		goto put_fd;
	}
	err = rdlock_install(fd, "[rdlock_counter]", &rdlock_counter_fops, counter, 0);
	if (err < 0)
		goto close_counter;
	return fd;

close_counter:
	rdlock_counter_do_close(counter);
put_fd:
	put_unused_fd(fd);
	return err;
}

static int rdlock_may_admin(struct user_namespace *ns)
{
	return ns_capable(ns, CAP_NET_ADMIN) ? 0 : -EPERM;
}

static int rdlock_lock_reset_fn(struct file *file, union rdlock_ubuf *u)
{
	struct rdlock_space *space = file->private_data;
	const struct rdlock_lock_reset *r = &u->reset;
	ktime_t deadline;
	int err;

	err = rdlock_may_admin(space->user_ns);
	if (err)
		return err;
	if (r->flags || r->reserved)
		return -EINVAL;
	err = rdlock_arg_name(r->key, r->key_len);
	if (!err)
		err = rdlock_arg_deadline(r->deadline, &deadline);
	return err ? err : rdlock_lock_reset(space, r->key, r->key_len, deadline);
}

static const struct rdlock_ioctl rdlock_space_ioctls[] = {
	RDLOCK_IOCTL(RDLOCK_IOC_SPACE_STAT, rdlock_space_stat_fn, rdlock_space_stat, out_dev, .reply = true),
	RDLOCK_IOCTL(RDLOCK_IOC_LOCK_OPEN, rdlock_lock_open_fn, rdlock_lock_open, key),
	RDLOCK_IOCTL(RDLOCK_IOC_COUNTER_OPEN, rdlock_counter_open_fn, rdlock_counter_open, key),
	RDLOCK_IOCTL(RDLOCK_IOC_LOCK_RESET, rdlock_lock_reset_fn, rdlock_lock_reset, key),
};

static long rdlock_space_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return rdlock_ioctl(file, cmd, arg, rdlock_space_ioctls, ARRAY_SIZE(rdlock_space_ioctls));
}

static void rdlock_space_fdinfo(struct seq_file *m, struct file *file)
{
	struct rdlock_space *space = file->private_data;
	char name[RDLOCK_NAME_STR];

	seq_printf(m, "rdlock-space:\t%s\n", rdlock_name_str(name, space->name, space->name_len));
}

static int rdlock_space_release(struct inode *inode, struct file *file)
{
	rdlock_space_unpin(file->private_data);
	return 0;
}

static const struct file_operations rdlock_space_fops = {
	.owner		= THIS_MODULE,
	.release	= rdlock_space_release,
	.unlocked_ioctl	= rdlock_space_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.show_fdinfo	= rdlock_space_fdinfo,
};

/* ---- device fd: file->private_data is the net namespace it was opened in ---- */

static int rdlock_info_fn(struct file *file, union rdlock_ubuf *u)
{
	struct rdlock_info *info = &u->info;
	u32 size = info->size;

	if (info->flags)
		return -EINVAL;
	memset(info, 0, sizeof(*info));
	info->size = size;
	info->out_features = RDLOCK_FEATURE_COUNTER | RDLOCK_FEATURE_TIMENS | RDLOCK_FEATURE_SHARED |
			     RDLOCK_FEATURE_VALUE | RDLOCK_FEATURE_WAIT | RDLOCK_FEATURE_ROBUST;
	info->out_kinds = RDLOCK_KINDS;
	info->out_name_max = RDLOCK_NAME_MAX;
	info->out_max_nodes = RDL_MAX_NODES;
	info->out_max_cells = RDL_CELLS_MAX;
	memcpy(info->out_version, RDLOCK_VERSION, sizeof(RDLOCK_VERSION));
	BUILD_BUG_ON(sizeof(RDLOCK_VERSION) > sizeof(info->out_version));
	return 0;
}

static int rdlock_create_fn(struct file *file, union rdlock_ubuf *u)
{
	struct rdlock_space_params p = { .net = file->private_data };
	int err;

	err = rdlock_may_admin(p.net->user_ns);
	if (!err)
		err = rdlock_arg_create(&u->create, &p);
	return err ? err : rdlock_space_create(&p);
}

static int rdlock_join_fn(struct file *file, union rdlock_ubuf *u)
{
	struct rdlock_space_params p = { .net = file->private_data };
	ktime_t deadline;
	int err;

	err = rdlock_may_admin(p.net->user_ns);
	if (!err)
		err = rdlock_arg_join(&u->join, &p, &deadline);
	return err ? err : rdlock_space_join(&p, deadline);
}

static int rdlock_end_space(struct file *file, union rdlock_ubuf *u,
			    int (*end)(struct net *net, const void *name, u32 len, bool force))
{
	const struct rdlock_space_name *n = &u->name;
	struct net *net = file->private_data;
	int err;

	err = rdlock_may_admin(net->user_ns);
	if (err)
		return err;
	if (n->flags & ~RDLOCK_SPACE_FORCE || n->reserved)
		return -EINVAL;
	err = rdlock_arg_name(n->name, n->name_len);
	if (err)
		return err;
	return end(net, n->name, n->name_len, n->flags & RDLOCK_SPACE_FORCE);
}

static int rdlock_leave_fn(struct file *file, union rdlock_ubuf *u)
{
	return rdlock_end_space(file, u, rdlock_space_leave);
}

static int rdlock_destroy_fn(struct file *file, union rdlock_ubuf *u)
{
	return rdlock_end_space(file, u, rdlock_space_destroy);
}

/* One entry of a list, as long as the caller's structure is. */
static int rdlock_put_stat(struct rdlock_space *space, void __user *to, u32 stat_size)
{
	struct rdlock_space_stat stat;
	u32 len = min_t(u32, stat_size, sizeof(stat));

	rdlock_fill_stat(space, len, &stat);
	if (copy_to_user(to, &stat, len) || clear_user(to + len, stat_size - len))
		return -EFAULT;
	return 0;
}

static int rdlock_list_fn(struct file *file, union rdlock_ubuf *u)
{
	struct rdlock_space_list *l = &u->list;
	struct rdlock_space **spaces = NULL;
	int i, count, err = 0;
	void __user *to;

	if (l->flags || l->reserved)
		return -EINVAL;
	/* An entry holds its own size; the bound keeps the sums below from wrapping. */
	if (l->stat_size < 8 || l->stat_size > PAGE_SIZE || l->stat_size % 8)
		return -EINVAL;

	count = rdlock_space_all(file->private_data, &spaces);
	if (count < 0)
		return count;
	for (i = 0; i < count; i++) {
		if (!err && i < l->count) {
			to = u64_to_user_ptr(l->stats + (u64)i * l->stat_size);
			err = rdlock_put_stat(spaces[i], to, l->stat_size);
		}
		rdlock_space_unref(spaces[i]);
	}
	kfree(spaces);
	l->out_total = count;
	return err;
}

static int rdlock_space_open_fn(struct file *file, union rdlock_ubuf *u)
{
	const struct rdlock_space_name *n = &u->name;
	struct rdlock_space *space;
	int err, fd;

	if (n->flags || n->reserved)
		return -EINVAL;
	err = rdlock_arg_name(n->name, n->name_len);
	if (err)
		return err;

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	space = rdlock_space_find(file->private_data, n->name, n->name_len);
	if (!space) {
		err = -ENOENT;
		goto put_fd;
	}
	err = rdlock_space_may_open(space);
	if (err)
		goto unref;
	err = rdlock_space_pin(space);
	if (err)
		goto unref;
	err = rdlock_install(fd, "[rdlock_space]", &rdlock_space_fops, space, 0);
	if (err < 0)
		goto unpin;
	rdlock_space_unref(space);
	return fd;

unpin:
	rdlock_space_unpin(space);
unref:
	rdlock_space_unref(space);
put_fd:
	put_unused_fd(fd);
	return err;
}

static const struct rdlock_ioctl rdlock_dev_ioctls[] = {
	RDLOCK_IOCTL(RDLOCK_IOC_INFO, rdlock_info_fn, rdlock_info, out_version, .reply = true),
	RDLOCK_IOCTL(RDLOCK_IOC_SPACE_CREATE, rdlock_create_fn, rdlock_space_create, name),
	RDLOCK_IOCTL(RDLOCK_IOC_SPACE_JOIN, rdlock_join_fn, rdlock_space_join, name),
	RDLOCK_IOCTL(RDLOCK_IOC_SPACE_LEAVE, rdlock_leave_fn, rdlock_space_name, name),
	RDLOCK_IOCTL(RDLOCK_IOC_SPACE_DESTROY, rdlock_destroy_fn, rdlock_space_name, name),
	RDLOCK_IOCTL(RDLOCK_IOC_SPACE_LIST, rdlock_list_fn, rdlock_space_list, stats, .reply = true),
	RDLOCK_IOCTL(RDLOCK_IOC_SPACE_OPEN, rdlock_space_open_fn, rdlock_space_name, name),
};

static long rdlock_dev_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return rdlock_ioctl(file, cmd, arg, rdlock_dev_ioctls, ARRAY_SIZE(rdlock_dev_ioctls));
}

/* Runs under misc_mtx: no waiting here. */
static int rdlock_dev_open(struct inode *inode, struct file *file)
{
	file->private_data = get_net(current->nsproxy->net_ns);
	return nonseekable_open(inode, file);
}

static int rdlock_dev_release(struct inode *inode, struct file *file)
{
	put_net(file->private_data);
	return 0;
}

static const struct file_operations rdlock_dev_fops = {
	.owner		= THIS_MODULE,
	.open		= rdlock_dev_open,
	.release	= rdlock_dev_release,
	.unlocked_ioctl	= rdlock_dev_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};

/* The node is root's, 0600, until an administrator or the packaged udev rule gives it away. */
static struct miscdevice rdlock_misc = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "rdlock",
	.fops	= &rdlock_dev_fops,
};

/*
 * The layout is the interface: the same size and no hole for 64-bit, 32-bit and x32 callers. A size
 * that is the sum of its fields has no hole.
 */
static void __init rdlock_check_abi(void)
{
	BUILD_BUG_ON(sizeof(struct rdlock_addr) != 24);
	BUILD_BUG_ON(sizeof(struct rdlock_info) != 64);
	BUILD_BUG_ON(sizeof(struct rdlock_space_create) != 10 * 4 + 24 + RDLOCK_NAME_MAX);
	BUILD_BUG_ON(sizeof(struct rdlock_space_join) != 8 * 4 + 8 + 24 + RDLOCK_NAME_MAX);
	BUILD_BUG_ON(sizeof(struct rdlock_space_name) != 4 * 4 + RDLOCK_NAME_MAX);
	BUILD_BUG_ON(sizeof(struct rdlock_space_stat) !=
		     18 * 4 + 2 * 8 + 24 + RDLOCK_NAME_MAX + 64 + 2 * 4);
	BUILD_BUG_ON(sizeof(struct rdlock_space_list) != 6 * 4 + 8);
	BUILD_BUG_ON(sizeof(struct rdlock_lock_open) != 6 * 4 + 8 + RDLOCK_NAME_MAX);
	BUILD_BUG_ON(sizeof(struct rdlock_lock_reset) != 4 * 4 + 8 + RDLOCK_NAME_MAX);
	BUILD_BUG_ON(sizeof(struct rdlock_acquire) != 4 * 4 + 3 * 8);
	BUILD_BUG_ON(sizeof(struct rdlock_release) != 2 * 4);
	BUILD_BUG_ON(sizeof(struct rdlock_status) != 8 * 4 + 2 * 8);
	BUILD_BUG_ON(sizeof(struct rdlock_convert) != 4 * 4 + 2 * 8);
	BUILD_BUG_ON(sizeof(struct rdlock_value) != 4 * 4 + RDLOCK_VALUE_INLINE + 8);
	BUILD_BUG_ON(RDLOCK_VALUE_INLINE != RDL_VALUE_MAX || RDLOCK_VALUE_MAX != RDL_BIG_MAX);
	BUILD_BUG_ON(sizeof(struct rdlock_counter_open) != 4 * 4 + 8 + RDLOCK_NAME_MAX);
	BUILD_BUG_ON(sizeof(struct rdlock_counter_op) != 4 * 4 + 4 * 8);
}

int __init rdlock_dev_init(void)
{
	int err;

	rdlock_check_abi();
	err = misc_register(&rdlock_misc);
	if (err)
		pr_err("/dev/rdlock cannot be registered: %d\n", err);
	return err;
}

void rdlock_dev_exit(void)
{
	misc_deregister(&rdlock_misc);
}
