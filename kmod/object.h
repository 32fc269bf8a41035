/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects that are not locks: counters.
 */
#ifndef RDLOCK_OBJECT_H
#define RDLOCK_OBJECT_H

#include <linux/ktime.h>
#include <linux/types.h>

struct rdlock_counter;
struct seq_file;
struct rdlock_space;

enum rdlock_counter_cmd {
	RDLOCK_COUNTER_ADD,
	RDLOCK_COUNTER_CAS,
	RDLOCK_COUNTER_READ,
};

/* Pins the space. Context: process, sleeps. Return: counter or ERR_PTR. */
struct rdlock_counter *rdlock_counter_do_open(struct rdlock_space *space, const void *key, u32 len, u32 cells,
					      ktime_t deadline, bool interruptible);
void rdlock_counter_do_close(struct rdlock_counter *c);
u32 rdlock_counter_nr_cells(struct rdlock_counter *c);
/* What it counts, for fdinfo. */
void rdlock_counter_show(struct seq_file *m, const struct rdlock_counter *c);
/*
 * @arg: addend or new value; @expect: CAS. -ERANGE, -EREMOTEIO, -EHOSTUNREACH, -ETIMEDOUT, -ERESTARTSYS (not sent
 * yet), -EKEYREVOKED. Once sent, the operation is waited for (bounded by the fabric); only a fatal signal ends that
 * wait, with -EREMOTEIO.
 */
int rdlock_counter_do(struct rdlock_counter *c, enum rdlock_counter_cmd cmd, u32 cell, u64 arg, u64 expect,
		      ktime_t deadline, bool interruptible, u64 *old);

#endif /* RDLOCK_OBJECT_H */
