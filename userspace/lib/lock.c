// SPDX-License-Identifier: GPL-2.0
/*
 * Locks and counters.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "lib.h"
#include "rdlock.h"

int rdlock_lock_open(int space, const void *key, size_t len, unsigned int kind, unsigned int flags,
		     uint64_t deadline)
{
	struct rdlock_lock_open o = {
		.size = sizeof(o),
		.flags = flags,
		.kind = kind,
		.deadline = deadline,
	};
	int err = lib_name(o.key, &o.key_len, key, len);

	return err ? err : lib_call(space, RDLOCK_IOC_LOCK_OPEN, &o);
}

int rdlock_lock_open_as(int space, const void *key, size_t len, const struct rdlock_lock_opts *opts,
			unsigned int flags, uint64_t deadline)
{
	struct rdlock_lock_open o = {
		.size = sizeof(o),
		.flags = flags,
		.kind = opts->kind,
		.value_size = opts->value_size,
		.deadline = deadline,
	};
	int err = lib_name(o.key, &o.key_len, key, len);

	return err ? err : lib_call(space, RDLOCK_IOC_LOCK_OPEN, &o);
}

static int acquire(int lock, unsigned int mode, unsigned int flags, uint64_t deadline,
		   struct rdlock_grant *grant)
{
	struct rdlock_acquire a = {
		.size = sizeof(a),
		.mode = mode,
		.flags = flags,
		.deadline = deadline,
	};
	int err = lib_call(lock, RDLOCK_IOC_ACQUIRE, &a);

	if (err < 0 && err != -EOWNERDEAD)
		return err;
	if (grant)
		*grant = (struct rdlock_grant) {
			.token = a.out_token,
			.instance = a.out_instance,
			.flags = a.out_flags,
		};
	return err;
}

int rdlock_acquire(int lock, unsigned int mode, uint64_t deadline, struct rdlock_grant *grant)
{
	return acquire(lock, mode, 0, deadline, grant);
}

int rdlock_try(int lock, unsigned int mode, struct rdlock_grant *grant)
{
	return acquire(lock, mode, RDLOCK_ACQUIRE_TRY, 0, grant);
}

int rdlock_release(int lock)
{
	struct rdlock_release r = { .size = sizeof(r) };

	return lib_call(lock, RDLOCK_IOC_RELEASE, &r);
}

int rdlock_make_consistent(int lock)
{
	struct rdlock_release r = { .size = sizeof(r) };

	return lib_call(lock, RDLOCK_IOC_CONSISTENT, &r);
}

int rdlock_lock_reset(int space, const void *key, size_t len, uint64_t deadline)
{
	struct rdlock_lock_reset r = {
		.size = sizeof(r),
		.deadline = deadline,
	};
	int err = lib_name(r.key, &r.key_len, key, len);

	return err ? err : lib_call(space, RDLOCK_IOC_LOCK_RESET, &r);
}

int rdlock_convert(int lock, unsigned int mode, struct rdlock_grant *grant)
{
	struct rdlock_convert c = { .size = sizeof(c), .mode = mode };
	int err = lib_call(lock, RDLOCK_IOC_CONVERT, &c);

	if (err < 0)
		return err;
	if (grant)
		*grant = (struct rdlock_grant) {
			.token = c.out_token,
			.instance = c.out_instance,
			.flags = c.out_flags,
		};
	return 0;
}

/* As it was before values could be larger: every kernel takes it. */
#define VALUE_OLD	offsetof(struct rdlock_value, addr)

int rdlock_value_get(int lock, void *value, size_t size)
{
	struct rdlock_value v = { .size = VALUE_OLD };
	int err = lib_call(lock, RDLOCK_IOC_VALUE_GET, &v);

	if (err == -EMSGSIZE) {
		/* Whatever there is room for; an address of nothing would ask for the bytes in the structure. */
		v = (struct rdlock_value){
			.size = sizeof(v),
			.len = size < RDLOCK_VALUE_MAX ? size : RDLOCK_VALUE_MAX,
			.addr = (uintptr_t)(size ? value : &v),
		};
		err = lib_call(lock, RDLOCK_IOC_VALUE_GET, &v);
		return err < 0 ? err : (int)v.out_len;
	}
	if (err < 0)
		return err;
	memcpy(value, v.value, size < v.out_len ? size : v.out_len);
	return v.out_len;
}

int rdlock_value_set(int lock, const void *value, size_t size)
{
	struct rdlock_value v = { .size = VALUE_OLD, .len = size };

	if (size > RDLOCK_VALUE_MAX)
		return -EINVAL;
	if (size > sizeof(v.value)) {
		v.size = sizeof(v);
		v.addr = (uintptr_t)value;
	} else {
		memcpy(v.value, value, size);
	}
	return lib_call(lock, RDLOCK_IOC_VALUE_SET, &v);
}

int rdlock_cancel(int lock)
{
	struct rdlock_release r = { .size = sizeof(r) };

	return lib_call(lock, RDLOCK_IOC_CANCEL, &r);
}

int rdlock_get_status(int lock, struct rdlock_status *status, size_t size)
{
	int err = lib_out(status, size);

	return err ? err : lib_call(lock, RDLOCK_IOC_STATUS, status);
}

int rdlock_counter_open(int space, const void *key, size_t len, unsigned int cells,
			uint64_t deadline)
{
	struct rdlock_counter_open o = {
		.size = sizeof(o),
		.cells = cells,
		.deadline = deadline,
	};
	int err = lib_name(o.key, &o.key_len, key, len);

	return err ? err : lib_call(space, RDLOCK_IOC_COUNTER_OPEN, &o);
}

static int operate(int counter, unsigned long cmd, struct rdlock_counter_op *op, uint64_t *old)
{
	int err;

	op->size = sizeof(*op);
	err = lib_call(counter, cmd, op);
	if (err < 0)
		return err;
	if (old)
		*old = op->out_old;
	return 0;
}

int rdlock_counter_add(int counter, unsigned int cell, uint64_t addend, uint64_t deadline,
		       uint64_t *old)
{
	struct rdlock_counter_op op = { .cell = cell, .arg = addend, .deadline = deadline };

	return operate(counter, RDLOCK_IOC_COUNTER_ADD, &op, old);
}

int rdlock_counter_cas(int counter, unsigned int cell, uint64_t expect, uint64_t desired,
		       uint64_t deadline, uint64_t *old)
{
	struct rdlock_counter_op op = {
		.cell = cell,
		.arg = desired,
		.expect = expect,
		.deadline = deadline,
	};

	return operate(counter, RDLOCK_IOC_COUNTER_CAS, &op, old);
}

int rdlock_counter_read(int counter, unsigned int cell, uint64_t deadline, uint64_t *value)
{
	struct rdlock_counter_op op = { .cell = cell, .deadline = deadline };

	return operate(counter, RDLOCK_IOC_COUNTER_READ, &op, value);
}

/* Every counter has a cell 0, and every reply says how many there are. */
int rdlock_counter_cells(int counter, uint64_t deadline)
{
	struct rdlock_counter_op op = { .deadline = deadline };
	int err = operate(counter, RDLOCK_IOC_COUNTER_READ, &op, NULL);

	return err ? err : (int)op.out_cells;
}
