// SPDX-License-Identifier: GPL-2.0
/* Counter fds. */
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/module.h>

#include "dev_args.h"
#include "dev_ioctl.h"
#include "object.h"

static int rdlock_counter_op(struct file *file, union rdlock_ubuf *u, enum rdlock_counter_cmd cmd)
{
	struct rdlock_counter *counter = file->private_data;
	struct rdlock_counter_op *op = &u->counter;
	ktime_t deadline;
	u64 old = 0;
	int err;

	if (op->flags)
		return -EINVAL;
	if (cmd != RDLOCK_COUNTER_CAS && op->expect)
		return -EINVAL;
	if (cmd == RDLOCK_COUNTER_READ && op->arg)
		return -EINVAL;
	err = rdlock_arg_deadline(op->deadline, &deadline);
	if (err)
		return err;

	err = rdlock_counter_do(counter, cmd, op->cell, op->arg, op->expect, deadline, true, &old);
	if (err)
		return err;
	op->out_cells = rdlock_counter_nr_cells(counter);
	op->out_old = old;
	return 0;
}

static int rdlock_counter_add_fn(struct file *file, union rdlock_ubuf *u)
{
	return rdlock_counter_op(file, u, RDLOCK_COUNTER_ADD);
}

static int rdlock_counter_cas_fn(struct file *file, union rdlock_ubuf *u)
{
	return rdlock_counter_op(file, u, RDLOCK_COUNTER_CAS);
}

static int rdlock_counter_read_fn(struct file *file, union rdlock_ubuf *u)
{
	return rdlock_counter_op(file, u, RDLOCK_COUNTER_READ);
}

static const struct rdlock_ioctl rdlock_counter_ioctls[] = {
	RDLOCK_IOCTL(RDLOCK_IOC_COUNTER_ADD, rdlock_counter_add_fn, rdlock_counter_op, out_old,
		     .reply = true),
	RDLOCK_IOCTL(RDLOCK_IOC_COUNTER_CAS, rdlock_counter_cas_fn, rdlock_counter_op, out_old,
		     .reply = true),
	RDLOCK_IOCTL(RDLOCK_IOC_COUNTER_READ, rdlock_counter_read_fn, rdlock_counter_op, out_old,
		     .reply = true),
};

static long rdlock_counter_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return rdlock_ioctl(file, cmd, arg, rdlock_counter_ioctls,
			    ARRAY_SIZE(rdlock_counter_ioctls));
}

static void rdlock_counter_fdinfo(struct seq_file *m, struct file *file)
{
	rdlock_counter_show(m, file->private_data);
}

static int rdlock_counter_release(struct inode *inode, struct file *file)
{
	rdlock_counter_do_close(file->private_data);
	return 0;
}

const struct file_operations rdlock_counter_fops = {
	.owner		= THIS_MODULE,
	.release	= rdlock_counter_release,
	.unlocked_ioctl	= rdlock_counter_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.show_fdinfo	= rdlock_counter_fdinfo,
};
