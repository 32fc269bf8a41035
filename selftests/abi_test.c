// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctl interface as a contract: one table of all commands, and every way of calling each of them wrongly.
 * Runs as 64-bit, 32-bit and x32 program with the same numbers.
 */
#include <assert.h>
#include <stddef.h>

#include "common.h"

#define SIZE(type, bytes) static_assert(sizeof(struct type) == (bytes), #type)
#define AT(type, field, bytes) static_assert(offsetof(struct type, field) == (bytes), #type "." #field)

SIZE(rdlock_addr, 24);
AT(rdlock_addr, addr, 8);
SIZE(rdlock_info, 64);
AT(rdlock_info, out_features, 8);
AT(rdlock_info, out_version, 32);
SIZE(rdlock_space_create, 128);
AT(rdlock_space_create, wait, 36);
AT(rdlock_space_create, addr, 40);
AT(rdlock_space_create, name, 64);
SIZE(rdlock_space_join, 128);
AT(rdlock_space_join, deadline, 32);
AT(rdlock_space_join, addr, 40);
AT(rdlock_space_join, name, 64);
SIZE(rdlock_space_name, 80);
AT(rdlock_space_name, name, 16);
SIZE(rdlock_space_stat, 248);
AT(rdlock_space_stat, out_generation, 68);
AT(rdlock_space_stat, out_instance, 72);
AT(rdlock_space_stat, out_addr, 88);
AT(rdlock_space_stat, out_name, 112);
AT(rdlock_space_stat, out_dev, 176);
AT(rdlock_space_stat, out_wait, 240);
SIZE(rdlock_space_list, 32);
AT(rdlock_space_list, stats, 24);
SIZE(rdlock_lock_open, 96);
AT(rdlock_lock_open, deadline, 16);
AT(rdlock_lock_open, key, 24);
AT(rdlock_lock_open, value_size, 88);
SIZE(rdlock_acquire, 40);
AT(rdlock_acquire, deadline, 16);
AT(rdlock_acquire, out_token, 24);
SIZE(rdlock_release, 8);
SIZE(rdlock_status, 48);
AT(rdlock_status, out_token, 24);
AT(rdlock_status, out_value_size, 40);
SIZE(rdlock_convert, 32);
AT(rdlock_convert, out_token, 16);
SIZE(rdlock_lock_reset, 88);
AT(rdlock_lock_reset, key, 24);
SIZE(rdlock_value, 88);
AT(rdlock_value, value, 16);
AT(rdlock_value, addr, 80);
SIZE(rdlock_counter_open, 88);
AT(rdlock_counter_open, key, 24);
SIZE(rdlock_counter_op, 48);
AT(rdlock_counter_op, deadline, 16);
AT(rdlock_counter_op, out_old, 40);
static_assert(RDLOCK_IOC_INFO == 0xd700 && RDLOCK_IOC_SPACE_OPEN == 0xd706 && RDLOCK_IOC_LOCK_OPEN == 0xd721 &&
	      RDLOCK_IOC_LOCK_RESET == 0xd723 && RDLOCK_IOC_ACQUIRE == 0xd740 && RDLOCK_IOC_VALUE_SET == 0xd746 &&
	      RDLOCK_IOC_CONSISTENT == 0xd747 &&
	      RDLOCK_IOC_COUNTER_READ == 0xd762, "command numbers");

#define CREATED "abi.create"
#define DESTROYED "abi.destroy"
#define NOBODY "10.77.0.250"	/* on the link, and no machine has it */

enum fd_kind { DEV, SPACE, LOCK, COUNTER, NR_FDS };

static const char * const fd_names[NR_FDS] = { "device", "space", "lock", "counter" };

static int fds[NR_FDS];
static uint64_t cell;		/* what cell 0 of the counter holds */
static struct rdlock_space_stat list_room[8];

/*
 * One command. @prepare makes ready what a right call needs, @fill makes a right call, which returns @ret, and @after
 * sees to it that a call that failed has changed nothing, and undoes one that did not.
 */
struct op {
	const char *name;
	unsigned long cmd;
	enum fd_kind fd;
	size_t size;
	size_t min;		/* what it was at first, 0: @size */
	size_t flags;		/* offset */
	uint32_t known;		/* flags */
	int ret;
	bool opens;		/* returns an fd */
	int zero[4];		/* offsets of 32-bit words that must be zero */
	int len, bytes;		/* offsets of a length and of the bytes it counts */
	struct { int at, size; } out[3];
	void (*prepare)(void);
	void (*fill)(void *arg);
	void (*after)(int ret);
};

static void set_name(uint32_t *len, uint8_t *bytes, const char *name)
{
	*len = strlen(name);
	memcpy(bytes, name, strlen(name));
}

static void fill_create(void *p)
{
	struct rdlock_space_create *arg = p;

	arg->mode = 0600;
	arg->uid = ~0U;
	arg->gid = ~0U;
	arg->addr = own_address();
	set_name(&arg->name_len, arg->name, CREATED);
}

static void after_create(int ret)
{
	EXPECT(space_destroy(fds[DEV], CREATED, 0), ret ? -ENOENT : 0);
}

static void fill_join(void *p)
{
	struct rdlock_space_join *arg = p;

	arg->node = 1;
	arg->mode = 0600;
	arg->uid = ~0U;
	arg->gid = ~0U;
	arg->deadline = in_ms(300);
	arg->addr = address(NOBODY);
	set_name(&arg->name_len, arg->name, "abi.join");
}

static void after_join(int ret)
{
	EXPECT(space_open(fds[DEV], "abi.join"), -ENOENT);
}

static void fill_nowhere(void *p)
{
	struct rdlock_space_name *arg = p;

	set_name(&arg->name_len, arg->name, "abi.nowhere");
}

static void prepare_destroy(void)
{
	int ret = space_create(fds[DEV], DESTROYED, 0600, ~0U, ~0U);

	if (ret != -EEXIST)
		EXPECT(ret, 0);
}

static void fill_destroy(void *p)
{
	struct rdlock_space_name *arg = p;

	set_name(&arg->name_len, arg->name, DESTROYED);
}

static void after_destroy(int ret)
{
	int fd = space_open(fds[DEV], DESTROYED);

	if (ret)
		EXPECT_TRUE(fd >= 0);
	else
		EXPECT(fd, -ENOENT);
	if (fd >= 0)
		close(fd);
}

static void fill_list(void *p)
{
	struct rdlock_space_list *arg = p;

	arg->count = ARRAY_SIZE(list_room);
	arg->stat_size = sizeof(list_room[0]);
	arg->stats = (uintptr_t)list_room;
}

static void fill_space_open(void *p)
{
	struct rdlock_space_name *arg = p;

	set_name(&arg->name_len, arg->name, the_space());
}

static void fill_lock_open(void *p)
{
	struct rdlock_lock_open *arg = p;

	arg->deadline = in_ms(5000);
	set_name(&arg->key_len, arg->key, "abi.opened");
}

static void fill_counter_open(void *p)
{
	struct rdlock_counter_open *arg = p;

	arg->deadline = in_ms(5000);
	arg->cells = 3;
	set_name(&arg->key_len, arg->key, "abi.opened");
}

static void fill_acquire(void *p)
{
	struct rdlock_acquire *arg = p;

	arg->mode = RDLOCK_MODE_EXCLUSIVE;
	arg->deadline = in_ms(5000);
}

static void after_acquire(int ret)
{
	EXPECT(lock_state(fds[LOCK]), ret ? RDLOCK_FD_IDLE : RDLOCK_FD_HELD);
	EXPECT(lock_release(fds[LOCK]), ret ? -EPERM : 0);
}

static void prepare_release(void)
{
	EXPECT(lock_acquire(fds[LOCK], 0, in_ms(5000), NULL), 0);
}

static void after_release(int ret)
{
	EXPECT(lock_state(fds[LOCK]), ret ? RDLOCK_FD_HELD : RDLOCK_FD_IDLE);
	EXPECT(lock_release(fds[LOCK]), ret ? 0 : -EPERM);
}

static void after_idle(int ret)
{
	EXPECT(lock_state(fds[LOCK]), RDLOCK_FD_IDLE);
}

static void fill_convert(void *p)
{
	struct rdlock_convert *arg = p;

	arg->mode = RDLOCK_MODE_SHARED;
}

/* Held in either mode, and given back as it is. */
static void after_convert(int ret)
{
	EXPECT(lock_state(fds[LOCK]), RDLOCK_FD_HELD);
	EXPECT(lock_release(fds[LOCK]), 0);
}

static void fill_value(void *p)
{
	struct rdlock_value *arg = p;

	arg->len = 8;
	memcpy(arg->value, "12345678", 8);
}

static void fill_reset(void *p)
{
	struct rdlock_lock_reset *arg = p;

	arg->deadline = in_ms(5000);
	arg->key_len = 6;
	memcpy(arg->key, "nobody", 6);
}

static void fill_none(void *p)
{
}

static void fill_counter_op(void *p)
{
	struct rdlock_counter_op *arg = p;

	arg->deadline = in_ms(5000);
}

static void fill_add(void *p)
{
	struct rdlock_counter_op *arg = p;

	fill_counter_op(p);
	arg->arg = 3;
}

static void fill_cas(void *p)
{
	struct rdlock_counter_op *arg = p;

	fill_counter_op(p);
	arg->expect = cell;
	arg->arg = cell + 5;
}

static void cell_is(uint64_t want)
{
	uint64_t now = 0;

	EXPECT(counter_read(fds[COUNTER], 0, &now), 0);
	EXPECT(now, want);
	cell = now;
}

/* An operation whose result cannot be written back has happened all the same, as write(2) to a bad buffer has not. */
static void after_add(int ret)
{
	if (ret == -EFAULT)
		counter_read(fds[COUNTER], 0, &cell);
	else
		cell_is(ret ? cell : cell + 3);
}

static void after_cas(int ret)
{
	if (ret == -EFAULT)
		counter_read(fds[COUNTER], 0, &cell);
	else
		cell_is(ret ? cell : cell + 5);
}

static void after_read(int ret)
{
	cell_is(cell);
}

#define OP(cmd_, type) .name = #cmd_, .cmd = cmd_, .size = sizeof(struct type), .flags = offsetof(struct type, flags)
#define NAME(type) .len = offsetof(struct type, name_len), .bytes = offsetof(struct type, name)
#define KEY(type) .len = offsetof(struct type, key_len), .bytes = offsetof(struct type, key)
#define OUT(type, field) { offsetof(struct type, field), sizeof(((struct type *)0)->field) }

static const struct op ops[] = {
	{
		OP(RDLOCK_IOC_INFO, rdlock_info), .fd = DEV, .fill = fill_none, .out = { { 8, 56 } },
	}, {
		OP(RDLOCK_IOC_SPACE_CREATE, rdlock_space_create), .fd = DEV, NAME(rdlock_space_create),
		.zero = { 40 + 4, 40 + 12, 40 + 20 },
		.fill = fill_create, .after = after_create,
	}, {
		OP(RDLOCK_IOC_SPACE_JOIN, rdlock_space_join), .fd = DEV, NAME(rdlock_space_join),
		.zero = { 40 + 4, 40 + 12, 40 + 20 },
		.ret = -EHOSTUNREACH, .fill = fill_join, .after = after_join,
	}, {
		OP(RDLOCK_IOC_SPACE_LEAVE, rdlock_space_name), .fd = DEV, NAME(rdlock_space_name),
		.known = RDLOCK_SPACE_FORCE, .zero = { offsetof(struct rdlock_space_name, reserved) },
		.ret = -ENOENT, .fill = fill_nowhere,
	}, {
		OP(RDLOCK_IOC_SPACE_DESTROY, rdlock_space_name), .fd = DEV, NAME(rdlock_space_name),
		.known = RDLOCK_SPACE_FORCE, .zero = { offsetof(struct rdlock_space_name, reserved) },
		.prepare = prepare_destroy, .fill = fill_destroy, .after = after_destroy,
	}, {
		OP(RDLOCK_IOC_SPACE_LIST, rdlock_space_list), .fd = DEV,
		.zero = { offsetof(struct rdlock_space_list, reserved) },
		.out = { OUT(rdlock_space_list, out_total) }, .fill = fill_list,
	}, {
		OP(RDLOCK_IOC_SPACE_OPEN, rdlock_space_name), .fd = DEV, NAME(rdlock_space_name), .opens = true,
		.zero = { offsetof(struct rdlock_space_name, reserved) }, .fill = fill_space_open,
	}, {
		OP(RDLOCK_IOC_SPACE_STAT, rdlock_space_stat), .fd = SPACE, .fill = fill_none, .out = { { 8, 240 } },
		.min = offsetof(struct rdlock_space_stat, out_wait),
	}, {
		OP(RDLOCK_IOC_LOCK_OPEN, rdlock_lock_open), .fd = SPACE, KEY(rdlock_lock_open), .opens = true,
		.known = RDLOCK_OPEN_NONBLOCK | RDLOCK_OPEN_STICKY | RDLOCK_OPEN_NOT_STICKY | RDLOCK_OPEN_ROBUST,
		.min = offsetof(struct rdlock_lock_open, value_size),
		.zero = { offsetof(struct rdlock_lock_open, reserved) }, .fill = fill_lock_open,
	}, {
		OP(RDLOCK_IOC_COUNTER_OPEN, rdlock_counter_open), .fd = SPACE, KEY(rdlock_counter_open), .opens = true,
		.fill = fill_counter_open,
	}, {
		OP(RDLOCK_IOC_ACQUIRE, rdlock_acquire), .fd = LOCK, .known = RDLOCK_ACQUIRE_TRY,
		.out = { OUT(rdlock_acquire, out_flags), OUT(rdlock_acquire, out_token),
			 OUT(rdlock_acquire, out_instance) },
		.fill = fill_acquire, .after = after_acquire,
	}, {
		OP(RDLOCK_IOC_RELEASE, rdlock_release), .fd = LOCK,
		.prepare = prepare_release, .fill = fill_none, .after = after_release,
	}, {
		OP(RDLOCK_IOC_CANCEL, rdlock_release), .fd = LOCK, .ret = -ENOENT, .fill = fill_none,
		.after = after_idle,
	}, {
		/* Of a lock that is not robust: what it does with one is robust_test.c's. */
		OP(RDLOCK_IOC_CONSISTENT, rdlock_release), .fd = LOCK, .ret = -EINVAL,
		.prepare = prepare_release, .fill = fill_none, .after = after_convert,
	}, {
		OP(RDLOCK_IOC_LOCK_RESET, rdlock_lock_reset), .fd = SPACE, KEY(rdlock_lock_reset), .ret = -ENOENT,
		.zero = { offsetof(struct rdlock_lock_reset, reserved) }, .fill = fill_reset,
	}, {
		OP(RDLOCK_IOC_STATUS, rdlock_status), .fd = LOCK, .fill = fill_none, .out = { { 8, 40 } },
		.min = offsetof(struct rdlock_status, out_value_size), .after = after_idle,
	}, {
		OP(RDLOCK_IOC_CONVERT, rdlock_convert), .fd = LOCK, .out = { { 12, 20 } },
		.prepare = prepare_release, .fill = fill_convert, .after = after_convert,
	}, {
		OP(RDLOCK_IOC_VALUE_GET, rdlock_value), .fd = LOCK,
		.min = offsetof(struct rdlock_value, addr), .out = { { 12, 4 + 64 } },
		.zero = { offsetof(struct rdlock_value, len) },
		.prepare = prepare_release, .fill = fill_none, .after = after_convert,
	}, {
		OP(RDLOCK_IOC_VALUE_SET, rdlock_value), .fd = LOCK,
		.min = offsetof(struct rdlock_value, addr),
		.zero = { offsetof(struct rdlock_value, value) + 8, offsetof(struct rdlock_value, value) + 60 },
		.prepare = prepare_release, .fill = fill_value, .after = after_convert,
	}, {
		OP(RDLOCK_IOC_COUNTER_ADD, rdlock_counter_op), .fd = COUNTER,
		.zero = { offsetof(struct rdlock_counter_op, expect), offsetof(struct rdlock_counter_op, expect) + 4 },
		.out = { OUT(rdlock_counter_op, out_cells), OUT(rdlock_counter_op, out_old) },
		.fill = fill_add, .after = after_add,
	}, {
		OP(RDLOCK_IOC_COUNTER_CAS, rdlock_counter_op), .fd = COUNTER,
		.out = { OUT(rdlock_counter_op, out_cells), OUT(rdlock_counter_op, out_old) },
		.fill = fill_cas, .after = after_cas,
	}, {
		OP(RDLOCK_IOC_COUNTER_READ, rdlock_counter_op), .fd = COUNTER,
		.zero = { offsetof(struct rdlock_counter_op, arg), offsetof(struct rdlock_counter_op, arg) + 4,
			  offsetof(struct rdlock_counter_op, expect), offsetof(struct rdlock_counter_op, expect) + 4 },
		.out = { OUT(rdlock_counter_op, out_cells), OUT(rdlock_counter_op, out_old) },
		.fill = fill_counter_op, .after = after_read,
	},
};

static uint32_t *word(void *arg, size_t offset)
{
	return (uint32_t *)((char *)arg + offset);
}

static bool is_out(const struct op *op, int offset)
{
	for (size_t i = 0; i < ARRAY_SIZE(op->out); i++)
		if (offset >= op->out[i].at && offset < op->out[i].at + op->out[i].size)
			return true;
	return false;
}

static void prepare(const struct op *op)
{
	if (op->prepare)
		op->prepare();
}

/* A right call: 0xcc in the outputs, zero elsewhere, then what the command needs. */
static void fill(const struct op *op, void *arg)
{
	memset(arg, 0, op->size);
	for (size_t i = 0; i < op->size; i++)
		if (is_out(op, i))
			((uint8_t *)arg)[i] = 0xcc;
	*word(arg, 0) = op->size;
	op->fill(arg);
}

static int issue(const struct op *op, int fd, void *arg)
{
	int ret = call(fd, op->cmd, arg);

	if (op->opens && ret >= 0) {
		EXPECT(fcntl(ret, F_GETFD), FD_CLOEXEC);
		close(ret);
		ret = 0;
	}
	if (op->after)
		op->after(ret);
	return ret;
}

/* Issues @arg, which must fail with @err and stay as it is. */
static void refuse(const struct op *op, void *arg, size_t size, int err, const char *what, unsigned long detail)
{
	uint8_t before[512];
	int ret;

	memcpy(before, arg, size);
	ret = issue(op, fds[op->fd], arg);
	if (!EXPECT(ret, err))
		diag("... of %s, %s %#lx", op->name, what, detail);
	if (!EXPECT_TRUE(!memcmp(before, arg, size)))
		diag("... of %s, %s %#lx", op->name, what, detail);
}

static void open_all(void)
{
	fds[DEV] = need_dev();
	fds[SPACE] = need_space();
	/* Of a kind that knows every command. */
	fds[LOCK] = lock_open_as(fds[SPACE], fresh_key("abi"), RDLOCK_KIND_FAIR, 8, 0);
	REQUIRE_TRUE(fds[LOCK] >= 0);
	fds[COUNTER] = counter_open(fds[SPACE], fresh_key("abi"), 2);
	REQUIRE_TRUE(fds[COUNTER] >= 0);
	cell = 0;
}

#define for_each_op(op) for ((op) = ops; (op) < ops + ARRAY_SIZE(ops); (op)++)

TEST(right_call_writes_all_outputs_and_nothing_else, 60)
{
	uint64_t arg[64], before[64];
	const struct op *op;

	open_all();
	for_each_op(op) {
		uint8_t *now = (uint8_t *)arg, *old = (uint8_t *)before;

		prepare(op);
		fill(op, arg);
		memcpy(before, arg, sizeof(arg));
		if (!EXPECT(issue(op, fds[op->fd], arg), op->ret))
			diag("... of %s", op->name);
		for (size_t i = 0; i < op->size; i++)
			if (!is_out(op, i) && !EXPECT(now[i], old[i]))
				diag("... of %s, byte %zu", op->name, i);
		if (op->ret)
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(op->out); i++)
			if (op->out[i].size &&
			    !EXPECT_TRUE(!memmem(now + op->out[i].at, op->out[i].size, "\xcc\xcc\xcc\xcc", 4)))
				diag("... of %s, output at %d", op->name, op->out[i].at);
	}
}

TEST(misaligned_arguments_are_taken, 60)
{
	uint8_t bytes[520];
	uint64_t arg[64];
	const struct op *op;

	open_all();
	for_each_op(op) {
		prepare(op);
		fill(op, arg);
		memcpy(bytes + 1, arg, op->size);
		if (!EXPECT(issue(op, fds[op->fd], bytes + 1), op->ret))
			diag("... of %s", op->name);
	}
}

TEST(short_structures_are_refused, 60)
{
	static const int sizes[] = { 0, 1, 4, -8, -1 };	/* negative: less than the whole */
	uint64_t arg[64];
	const struct op *op;

	open_all();
	for_each_op(op) {
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
			size_t first = op->min ? op->min : op->size;
			uint32_t size = sizes[i] < 0 ? first + sizes[i] : (uint32_t)sizes[i];

			prepare(op);
			fill(op, arg);
			*word(arg, 0) = size;
			refuse(op, arg, op->size, -EINVAL, "size", size);
		}
	}
}

TEST(structures_of_an_older_header_are_taken, 60)
{
	uint64_t arg[64];
	const struct op *op;

	open_all();
	for_each_op(op) {
		if (!op->min)
			continue;
		prepare(op);
		fill(op, arg);
		memset((char *)arg + op->min, 0xcc, op->size - op->min);
		*word(arg, 0) = op->min;
		if (!EXPECT(issue(op, fds[op->fd], arg), op->ret))
			diag("... of %s", op->name);
		EXPECT(((uint8_t *)arg)[op->min], 0xcc);
	}
}

TEST(longer_structures_are_taken_if_the_rest_is_zero, 60)
{
	uint8_t arg[4096 + 512];
	const struct op *op;

	open_all();
	for_each_op(op) {
		prepare(op);
		fill(op, arg);
		memset(arg + op->size, 0, 8);
		*word(arg, 0) = op->size + 8;
		if (!EXPECT(issue(op, fds[op->fd], arg), op->ret))
			diag("... of %s", op->name);
		for (int i = 0; i < 8; i++)
			EXPECT(arg[op->size + i], 0);

		for (int i = 0; i < 8; i += 7) {
			prepare(op);
			fill(op, arg);
			memset(arg + op->size, 0, 8);
			arg[op->size + i] = 1;
			*word(arg, 0) = op->size + 8;
			refuse(op, arg, op->size + 8, -E2BIG, "tail byte", i);
		}
	}
}

TEST(undefined_flags_are_refused_one_by_one, 120)
{
	uint64_t arg[64];
	const struct op *op;

	open_all();
	for_each_op(op) {
		for (int bit = 0; bit < 32; bit++) {
			if (op->known & (1U << bit))
				continue;
			prepare(op);
			fill(op, arg);
			*word(arg, op->flags) |= 1U << bit;
			refuse(op, arg, op->size, -EINVAL, "flag", 1U << bit);
		}
	}
}

TEST(reserved_fields_are_refused_if_not_zero, 60)
{
	uint64_t arg[64];
	const struct op *op;

	open_all();
	for_each_op(op) {
		for (size_t i = 0; i < ARRAY_SIZE(op->zero) && op->zero[i]; i++) {
			for (int bit = 0; bit < 32; bit += 31) {
				prepare(op);
				fill(op, arg);
				*word(arg, op->zero[i]) |= 1U << bit;
				refuse(op, arg, op->size, -EINVAL, "field at", op->zero[i]);
			}
		}
	}
}

TEST(names_and_keys_have_1_to_64_bytes_and_no_more, 60)
{
	static const uint32_t lengths[] = { 0, RDLOCK_NAME_MAX + 1, 0x7fffffff, 0xffffffff };
	uint64_t arg[64];
	const struct op *op;

	open_all();
	for_each_op(op) {
		if (!op->bytes)
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
			prepare(op);
			fill(op, arg);
			*word(arg, op->len) = lengths[i];
			refuse(op, arg, op->size, -EINVAL, "length", lengths[i]);
		}
		prepare(op);
		fill(op, arg);
		((uint8_t *)arg)[op->bytes + RDLOCK_NAME_MAX - 1] = 'x';
		refuse(op, arg, op->size, -EINVAL, "byte after the name at", op->bytes + RDLOCK_NAME_MAX - 1);
		prepare(op);
		fill(op, arg);
		((uint8_t *)arg)[op->bytes + *word(arg, op->len)] = 'x';
		refuse(op, arg, op->size, -EINVAL, "byte after the name at", op->bytes + *word(arg, op->len));
	}
}

TEST(any_64_bytes_are_a_key, 30)
{
	struct rdlock_lock_open lock = { .size = sizeof(lock), .key_len = RDLOCK_NAME_MAX, .deadline = in_ms(5000) };
	struct rdlock_counter_open counter = {
		.size = sizeof(counter), .key_len = RDLOCK_NAME_MAX, .cells = 1, .deadline = in_ms(5000),
	};
	int a, b, c;

	open_all();
	memset(lock.key, 0xff, RDLOCK_NAME_MAX);
	memset(counter.key, 0, RDLOCK_NAME_MAX);
	a = call(fds[SPACE], RDLOCK_IOC_LOCK_OPEN, &lock);
	REQUIRE_TRUE(a >= 0);
	lock.key[RDLOCK_NAME_MAX - 1] = 0;
	lock.key_len--;
	b = call(fds[SPACE], RDLOCK_IOC_LOCK_OPEN, &lock);
	REQUIRE_TRUE(b >= 0);
	c = call(fds[SPACE], RDLOCK_IOC_COUNTER_OPEN, &counter);
	EXPECT_TRUE(c >= 0);
	EXPECT(lock_acquire(a, 0, in_ms(5000), NULL), 0);
	/* a key of 63 bytes is another than one of 64 */
	EXPECT(lock_acquire(b, 0, in_ms(5000), NULL), 0);
}

TEST(wrong_fds_and_unknown_commands_are_enotty, 60)
{
	static const unsigned long unknown[] = {
		_IO(RDLOCK_IOC, 0x07), _IO(RDLOCK_IOC, 0x1f), _IO(RDLOCK_IOC, 0x24), _IO(RDLOCK_IOC, 0x48),
		_IO(RDLOCK_IOC, 0x63), _IO(RDLOCK_IOC, 0x80), _IO(RDLOCK_IOC, 0xff), _IO('N', 0x80),
		_IOWR(RDLOCK_IOC, RDLOCK_CMD_INFO, struct rdlock_info), _IO(RDLOCK_IOC - 1, RDLOCK_CMD_STATUS),
		0xffffffff, 0x80000000,
	};
	uint64_t arg[64], before[64];
	int null = open("/dev/null", O_RDWR);
	const struct op *op;

	open_all();
	for_each_op(op) {
		fill(op, arg);
		memcpy(before, arg, sizeof(arg));
		for (int fd = 0; fd < NR_FDS; fd++)
			if (fd != op->fd && !EXPECT(call(fds[fd], op->cmd, arg), -ENOTTY))
				diag("... of %s on a %s fd", op->name, fd_names[fd]);
		EXPECT(call(null, op->cmd, arg), -ENOTTY);
		EXPECT(call(-1, op->cmd, arg), -EBADF);
		EXPECT_TRUE(!memcmp(arg, before, op->size));
	}
	for (int fd = 0; fd < NR_FDS; fd++)
		for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
			if (!EXPECT(call(fds[fd], unknown[i], arg), -ENOTTY))
				diag("... of command %#lx on a %s fd", unknown[i], fd_names[fd]);
	EXPECT(lock_state(fds[LOCK]), RDLOCK_FD_IDLE);
}

TEST(unmapped_and_read_only_memory_is_efault, 60)
{
	long page = sysconf(_SC_PAGESIZE);
	uint8_t *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int open_before, open_after;
	uint8_t arg[512];
	const struct op *op;

	REQUIRE_TRUE(map != MAP_FAILED);
	open_all();
	open_before = count_fds();
	for_each_op(op) {
		static const int beyond[] = { 1, 8, -4, -1 };	/* bytes in the bad page; negative: less than all */

		prepare(op);
		if (!EXPECT(issue(op, fds[op->fd], NULL), -EFAULT))
			diag("... of %s, NULL", op->name);
		prepare(op);
		if (!EXPECT(issue(op, fds[op->fd], (void *)-4096UL), -EFAULT))
			diag("... of %s, kernel's half", op->name);

		for (size_t i = 0; i < ARRAY_SIZE(beyond); i++) {
			size_t bad = beyond[i] < 0 ? op->size + beyond[i] : (size_t)beyond[i];
			uint8_t *at = map + page - (op->size - bad);

			prepare(op);
			fill(op, arg);
			mprotect(map + page, page, PROT_READ | PROT_WRITE);
			memcpy(at, arg, op->size);
			mprotect(map + page, page, PROT_NONE);
			if (!EXPECT(issue(op, fds[op->fd], at), -EFAULT))
				diag("... of %s, %zu bytes unmapped", op->name, bad);
		}

		/* readable, not writable: a call without outputs does not mind */
		for (int whole = 0; whole < 2; whole++) {
			uint8_t *at = whole ? map + page : map + page - 8;

			prepare(op);
			fill(op, arg);
			mprotect(map + page, page, PROT_READ | PROT_WRITE);
			memcpy(at, arg, op->size);
			mprotect(map + page, page, PROT_READ);
			if (!EXPECT(issue(op, fds[op->fd], at), op->out[0].size ? -EFAULT : op->ret))
				diag("... of %s, read-only", op->name);
		}
	}
	open_after = count_fds();
	EXPECT(open_after, open_before);
}

int main(int argc, char **argv)
{
	return tap_main(argc, argv, setup_space);
}
