// SPDX-License-Identifier: GPL-2.0
/*
 * Values that each command accepts or refuses, with the errno that the header gives for it. How commands are called
 * at all is abi_test.c's.
 */
#include "common.h"

#define CREATED "value.create"
#define NOBODY "10.77.0.250"	/* on the link, and no machine has it */

enum fd_kind { DEV, SPACE, LOCK, COUNTER, NR_FDS };

static int fds[NR_FDS];

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

static void open_all(void)
{
	fds[DEV] = need_dev();
	fds[SPACE] = need_space();
	fds[LOCK] = need_lock(fds[SPACE], fresh_key("value"));
	fds[COUNTER] = counter_open(fds[SPACE], fresh_key("value"), 2);
	REQUIRE_TRUE(fds[COUNTER] >= 0);
}

TEST(bad_list_pointers_are_efault, 30)
{
	struct rdlock_space_list arg = {
		.size = sizeof(arg), .count = 4, .stat_size = sizeof(struct rdlock_space_stat), .out_total = 0xcccccccc,
	};

	open_all();
	EXPECT(call(fds[DEV], RDLOCK_IOC_SPACE_LIST, &arg), -EFAULT);
	EXPECT(arg.out_total, 0xcccccccc);
	arg.stats = ~0ULL;
	EXPECT(call(fds[DEV], RDLOCK_IOC_SPACE_LIST, &arg), -EFAULT);
	arg.stats = 0x100000000000000ULL;
	EXPECT(call(fds[DEV], RDLOCK_IOC_SPACE_LIST, &arg), -EFAULT);
	EXPECT(arg.out_total, 0xcccccccc);
}

TEST(list_cuts_fills_and_counts, 30)
{
	struct rdlock_space_list arg = { .size = sizeof(arg) };
	struct rdlock_space_stat exact[8];
	struct { struct rdlock_space_stat st; uint64_t more[2]; } longer[8];
	uint8_t cut[8][16];
	uint32_t total;
	bool seen = false;

	open_all();
	EXPECT(space_create(fds[DEV], "value.second", 0600, ~0U, ~0U), 0);

	arg.stat_size = sizeof(exact[0]);
	EXPECT(call(fds[DEV], RDLOCK_IOC_SPACE_LIST, &arg), 0);
	total = arg.out_total;
	EXPECT_TRUE(total >= 2 && total <= 8);

	poison(exact, sizeof(exact));
	arg.count = 8;
	arg.stats = (uintptr_t)exact;
	EXPECT(call(fds[DEV], RDLOCK_IOC_SPACE_LIST, &arg), 0);
	EXPECT(arg.out_total, total);
	for (uint32_t i = 0; i < total; i++) {
		EXPECT(exact[i].size, sizeof(exact[0]));
		EXPECT(exact[i].flags, 0);
		EXPECT(exact[i].out_state, RDLOCK_SPACE_READY);
		if (exact[i].out_name_len == strlen(the_space()) &&
		    !memcmp(exact[i].out_name, the_space(), exact[i].out_name_len))
			seen = true;
		EXPECT_TRUE(!memmem(&exact[i], sizeof(exact[i]), "\xcc\xcc\xcc\xcc", 4));
	}
	EXPECT_TRUE(seen);
	EXPECT(*(uint32_t *)&exact[total], 0xcccccccc);

	poison(exact, sizeof(exact));
	arg.count = 1;
	EXPECT(call(fds[DEV], RDLOCK_IOC_SPACE_LIST, &arg), 0);
	EXPECT(arg.out_total, total);
	EXPECT(exact[0].out_state, RDLOCK_SPACE_READY);
	EXPECT(exact[1].size, 0xcccccccc);

	poison(longer, sizeof(longer));
	arg.count = 8;
	arg.stat_size = sizeof(longer[0]);
	arg.stats = (uintptr_t)longer;
	EXPECT(call(fds[DEV], RDLOCK_IOC_SPACE_LIST, &arg), 0);
	for (uint32_t i = 0; i < total; i++) {
		EXPECT(longer[i].st.out_state, RDLOCK_SPACE_READY);
		EXPECT(longer[i].more[0], 0);
		EXPECT(longer[i].more[1], 0);
	}

	poison(cut, sizeof(cut));
	arg.stat_size = sizeof(cut[0]);
	arg.stats = (uintptr_t)cut;
	EXPECT(call(fds[DEV], RDLOCK_IOC_SPACE_LIST, &arg), 0);
	for (uint32_t i = 0; i < total; i++)
		EXPECT(((uint32_t *)cut[i])[3], RDLOCK_SPACE_READY);
	EXPECT(cut[total][0], 0xcc);

	EXPECT(space_destroy(fds[DEV], "value.second", 0), 0);
}

TEST(info_and_stat_tell_the_truth, 30)
{
	struct rdlock_info info;
	struct rdlock_space_stat st, again;

	open_all();
	poison(&info, sizeof(info));
	info.size = sizeof(info);
	info.flags = 0;
	EXPECT(call(fds[DEV], RDLOCK_IOC_INFO, &info), 0);
	EXPECT_TRUE(info.out_features & RDLOCK_FEATURE_COUNTER);
	EXPECT_TRUE(info.out_kinds & (1U << RDLOCK_KIND_SPIN));
	EXPECT(info.out_name_max, RDLOCK_NAME_MAX);
	EXPECT(info.out_max_nodes, 256);
	EXPECT_TRUE(info.out_max_cells >= 64);
	EXPECT_TRUE(memchr(info.out_version, 0, sizeof(info.out_version)));
	EXPECT_TRUE(info.out_version[0]);

	EXPECT(space_stat(fds[SPACE], &st), 0);
	EXPECT(st.out_state, RDLOCK_SPACE_READY);
	EXPECT(st.out_reason, 0);
	EXPECT(st.out_node, atoi(env_or("RDLOCK_NODE", "0")));
	EXPECT(st.out_home, 0);
	EXPECT(st.out_is_home, st.out_node == 0);
	EXPECT(st.out_kind, RDLOCK_KIND_FAIR);
	EXPECT(st.out_backend, 1);
	EXPECT(st.out_wait, RDLOCK_WAIT_ADAPTIVE);
	EXPECT(st.out_max_nodes, 64);
	EXPECT(st.out_mode, 0666);
	EXPECT(st.out_uid, 0);
	EXPECT(st.out_gid, 0);
	EXPECT_TRUE(st.out_instance);
	EXPECT_TRUE(st.out_generation >= 1);
	EXPECT_TRUE(st.out_since && st.out_since <= now_ns());
	EXPECT(st.out_openers, 3);	/* space, lock, counter */
	EXPECT(st.out_name_len, strlen(the_space()));
	EXPECT(memcmp(st.out_name, the_space(), st.out_name_len), 0);
	EXPECT(st.out_addr.family, AF_INET);
	EXPECT(ntohs(st.out_addr.port), RDLOCK_PORT);
	EXPECT(memcmp(st.out_addr.addr, home_address().addr, 16), 0);
	EXPECT_TRUE(st.out_dev[0] && memchr(st.out_dev, 0, sizeof(st.out_dev)));

	close(fds[LOCK]);
	close(fds[COUNTER]);
	EXPECT(space_stat(fds[SPACE], &again), 0);
	EXPECT(again.out_openers, 1);
	EXPECT(again.out_instance, st.out_instance);
}

static int create_with(void (*change)(struct rdlock_space_create *arg, uint64_t value), uint64_t value)
{
	struct rdlock_space_create arg = { .size = sizeof(arg) };

	fill_create(&arg);
	change(&arg, value);
	return call(fds[DEV], RDLOCK_IOC_SPACE_CREATE, &arg);
}

static void set_max_nodes(struct rdlock_space_create *arg, uint64_t value)
{
	arg->max_nodes = value;
}

static void set_node(struct rdlock_space_create *arg, uint64_t value)
{
	arg->node = value;
}

static void set_kind(struct rdlock_space_create *arg, uint64_t value)
{
	arg->kind = value;
}

static void set_wait(struct rdlock_space_create *arg, uint64_t value)
{
	arg->wait = value;
}

static void set_mode(struct rdlock_space_create *arg, uint64_t value)
{
	arg->mode = value;
}

static void set_family(struct rdlock_space_create *arg, uint64_t value)
{
	arg->addr.family = value;
}

static void set_address(struct rdlock_space_create *arg, uint64_t value)
{
	uint32_t be = htonl(value);

	memcpy(arg->addr.addr, &be, 4);
}

TEST(create_refuses_bad_values, 60)
{
	static const uint32_t max_nodes[] = { 1, 15, 17, 65, 255, 257, 0xffffffff };
	static const uint32_t modes[] = { 01000, 0777, 0111, 0100666, 0xffffffff };

	open_all();
	for (size_t i = 0; i < ARRAY_SIZE(max_nodes); i++)
		EXPECT(create_with(set_max_nodes, max_nodes[i]), -EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		EXPECT(create_with(set_mode, modes[i]), -EINVAL);
	EXPECT(create_with(set_node, 64), -EINVAL);
	EXPECT(create_with(set_node, 0xffffffff), -EINVAL);
	EXPECT(create_with(set_kind, 5), -EINVAL);
	EXPECT(create_with(set_kind, 31), -EINVAL);
	EXPECT(create_with(set_kind, 0xffffffff), -EINVAL);
	EXPECT(create_with(set_wait, RDLOCK_NR_WAITS), -EINVAL);
	EXPECT(create_with(set_wait, 0xffffffff), -EINVAL);
	EXPECT(create_with(set_family, AF_UNSPEC), -EINVAL);
	EXPECT(create_with(set_family, AF_UNIX), -EINVAL);
	EXPECT(create_with(set_family, 0xffff), -EINVAL);
	/* nobody's, and one that is a machine's but not here */
	EXPECT(create_with(set_address, 0xc0000201), -ENODEV);
	EXPECT(create_with(set_address, 0x0a4d00fa), -ENODEV);
	/* local, but of no RDMA device */
	EXPECT(create_with(set_address, 0x7f000001), -ENODEV);
	EXPECT(space_open(fds[DEV], CREATED), -ENOENT);

	EXPECT(create_with(set_node, 63), 0);
	EXPECT(space_create(fds[DEV], CREATED, 0600, ~0U, ~0U), -EEXIST);
	EXPECT(space_join(fds[DEV], CREATED, NOBODY, 1, in_ms(300)), -EEXIST);
	EXPECT(space_leave(fds[DEV], CREATED, 0), -EINVAL);
	EXPECT(space_leave(fds[DEV], CREATED, RDLOCK_SPACE_FORCE), -EINVAL);
	EXPECT(space_destroy(fds[DEV], CREATED, 0), 0);
	EXPECT(space_destroy(fds[DEV], CREATED, 0), -ENOENT);
	EXPECT(space_leave(fds[DEV], CREATED, 0), -ENOENT);
	EXPECT(space_open(fds[DEV], CREATED), -ENOENT);
}

TEST(a_home_that_does_not_answer_is_ehostunreach_at_the_deadline, 30)
{
	uint64_t start = now_ns(), took;

	open_all();
	EXPECT(space_join(fds[DEV], "value.join", NOBODY, 1, start + 1500 * MS), -EHOSTUNREACH);
	took = now_ns() - start;
	EXPECT_TRUE(took >= 1500 * MS);
	EXPECT_TRUE(took < 4000 * MS);
	EXPECT(space_open(fds[DEV], "value.join"), -ENOENT);
	/* no route leads there, but one may come until the deadline */
	EXPECT(space_join(fds[DEV], "value.join", "192.0.2.1", 1, in_ms(1000)), -EHOSTUNREACH);
	EXPECT(space_open(fds[DEV], "value.join"), -ENOENT);
}

TEST(destroy_with_openers_is_ebusy, 30)
{
	int space;

	open_all();
	EXPECT(space_create(fds[DEV], CREATED, 0600, ~0U, ~0U), 0);
	space = space_open(fds[DEV], CREATED);
	REQUIRE_TRUE(space >= 0);
	EXPECT(space_destroy(fds[DEV], CREATED, 0), -EBUSY);
	/* and it works as before */
	EXPECT(lock_is_free(need_lock(space, "k")), 0);
	EXPECT(space_destroy(fds[DEV], CREATED, 0), -EBUSY);
	EXPECT(space_destroy(fds[DEV], CREATED, RDLOCK_SPACE_FORCE), 0);
	EXPECT(space_open(fds[DEV], CREATED), -ENOENT);
	EXPECT(lock_open(space, "k", 0), -ESHUTDOWN);
	EXPECT(counter_open(space, "k", 1), -ESHUTDOWN);
	close(space);
}

static int acquire_mode(uint32_t mode, uint32_t flags, uint64_t deadline)
{
	struct rdlock_acquire arg;

	poison(&arg, sizeof(arg));
	arg.size = sizeof(arg);
	arg.mode = mode;
	arg.flags = flags;
	arg.deadline = deadline;
	return call(fds[LOCK], RDLOCK_IOC_ACQUIRE, &arg);
}

TEST(modes_and_kinds, 30)
{
	struct rdlock_lock_open arg = { .size = sizeof(arg), .deadline = in_ms(5000) };
	int fd;

	open_all();
	close(fds[LOCK]);
	fds[LOCK] = lock_open_as(fds[SPACE], "value.modes", RDLOCK_KIND_SPIN, 0, 0);
	EXPECT(acquire_mode(RDLOCK_MODE_SHARED, 0, in_ms(5000)), -EOPNOTSUPP);
	EXPECT(acquire_mode(RDLOCK_MODE_SHARED, RDLOCK_ACQUIRE_TRY, 0), -EOPNOTSUPP);
	EXPECT(acquire_mode(0, 0, in_ms(5000)), -EINVAL);
	EXPECT(acquire_mode(3, 0, in_ms(5000)), -EINVAL);
	EXPECT(acquire_mode(0xffffffff, 0, in_ms(5000)), -EINVAL);
	EXPECT(lock_state(fds[LOCK]), RDLOCK_FD_IDLE);

	set_name(&arg.key_len, arg.key, "value.kind");
	arg.kind = 5;
	EXPECT(call(fds[SPACE], RDLOCK_IOC_LOCK_OPEN, &arg), -EINVAL);
	arg.kind = 0xffffffff;
	EXPECT(call(fds[SPACE], RDLOCK_IOC_LOCK_OPEN, &arg), -EINVAL);
	arg.kind = RDLOCK_KIND_SPIN;
	fd = call(fds[SPACE], RDLOCK_IOC_LOCK_OPEN, &arg);
	EXPECT_TRUE(fd >= 0);
	arg.kind = RDLOCK_KIND_DEFAULT;
	EXPECT_TRUE(call(fds[SPACE], RDLOCK_IOC_LOCK_OPEN, &arg) >= 0);
}

/* The first open decides; another wish is refused, none is taken as it is. */
TEST(properties_are_those_of_the_first_open, 30)
{
	struct rdlock_status st;
	int space, lock;

	open_all();
	space = fds[SPACE];
	lock = lock_open_as(space, "value.props", RDLOCK_KIND_FAIR, 8, RDLOCK_OPEN_NOT_STICKY);
	REQUIRE_TRUE(lock >= 0);
	EXPECT(lock_open_as(space, "value.props", RDLOCK_KIND_SPIN, 0, 0), -EINVAL);
	EXPECT(lock_open_as(space, "value.props", RDLOCK_KIND_MCS, 8, 0), -EINVAL);
	EXPECT(lock_open_as(space, "value.props", 0, 9, 0), -EINVAL);
	EXPECT(lock_open_as(space, "value.props", 0, 0, RDLOCK_OPEN_STICKY), -EINVAL);
	EXPECT_TRUE(lock_open_as(space, "value.props", 0, 0, 0) >= 0);
	EXPECT_TRUE(lock_open_as(space, "value.props", RDLOCK_KIND_FAIR, 8, RDLOCK_OPEN_NOT_STICKY) >= 0);
	EXPECT(lock_status(lock, &st), 0);
	EXPECT(st.out_kind, RDLOCK_KIND_FAIR);
	EXPECT(st.out_value_size, 8);
	EXPECT(st.out_open_flags, 0);

	lock = lock_open_as(space, "value.mcs", RDLOCK_KIND_MCS, 0, 0);
	EXPECT(lock_status(lock, &st), 0);
	EXPECT(st.out_value_size, 0);
	EXPECT(st.out_open_flags, RDLOCK_OPEN_STICKY);

	/* what cannot be at all, and what this kernel cannot do */
	EXPECT(lock_open_as(space, "value.no", 0, 0, RDLOCK_OPEN_STICKY | RDLOCK_OPEN_NOT_STICKY), -EINVAL);
	EXPECT(lock_open_as(space, "value.no", RDLOCK_KIND_FAIR, 65537, 0), -EINVAL);
	EXPECT(lock_open_as(space, "value.no", RDLOCK_KIND_FAIR, ~0U, 0), -EINVAL);
	EXPECT(lock_open_as(space, "value.no", RDLOCK_KIND_SPIN, 8, 0), -EOPNOTSUPP);
	EXPECT(lock_open_as(space, "value.no", RDLOCK_KIND_SPIN, 65536, 0), -EOPNOTSUPP);
	EXPECT(lock_open_as(space, "value.no", RDLOCK_KIND_SPIN, 0, RDLOCK_OPEN_STICKY), -EOPNOTSUPP);
	EXPECT(lock_open_as(space, "value.no", RDLOCK_KIND_TICKET, 0, RDLOCK_OPEN_STICKY), -EOPNOTSUPP);
}

/* Though the home may not have heard of the close yet. */
TEST(a_key_that_all_have_closed_is_a_new_lock_at_once, 60)
{
	static const struct { uint32_t kind, value, flags; } ask[] = {
		{ RDLOCK_KIND_FAIR, 8, 0 }, { RDLOCK_KIND_FAIR, 16, 0 }, { RDLOCK_KIND_MCS, 0, 0 },
		{ RDLOCK_KIND_MCS, 0, RDLOCK_OPEN_ROBUST }, { RDLOCK_KIND_SPIN, 0, 0 }, { RDLOCK_KIND_TICKET, 64, 0 },
		{ RDLOCK_KIND_FAIR, 100, RDLOCK_OPEN_NOT_STICKY },
	};
	const char *key;

	open_all();
	key = fresh_key("anew");
	for (int i = 0; i < 5 * (int)ARRAY_SIZE(ask); i++) {
		int k = i % (int)ARRAY_SIZE(ask);
		int lock = lock_open_as(fds[SPACE], key, ask[k].kind, ask[k].value, ask[k].flags);

		REQUIRE_TRUE(lock >= 0);
		EXPECT(lock_acquire(lock, 0, in_ms(5000), NULL), 0);
		EXPECT(lock_release(lock), 0);
		close(lock);
	}
}

/* Kinds without shared mode say so, in every way one can ask. */
TEST(shared_mode_belongs_to_fair, 30)
{
	static const uint32_t kinds[] = { RDLOCK_KIND_SPIN, RDLOCK_KIND_TICKET, RDLOCK_KIND_MCS };

	open_all();
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		int lock = lock_open_as(fds[SPACE], fresh_key("mode"), kinds[i], 0, 0);

		REQUIRE_TRUE(lock >= 0);
		EXPECT(lock_acquire_mode(lock, RDLOCK_MODE_SHARED, 0, in_ms(5000), NULL), -EOPNOTSUPP);
		EXPECT(lock_acquire_mode(lock, RDLOCK_MODE_SHARED, RDLOCK_ACQUIRE_TRY, 0, NULL), -EOPNOTSUPP);
		EXPECT(lock_convert(lock, RDLOCK_MODE_SHARED, NULL), -EPERM);
		EXPECT(lock_acquire(lock, 0, in_ms(5000), NULL), 0);
		EXPECT(lock_convert(lock, RDLOCK_MODE_SHARED, NULL), -EOPNOTSUPP);
		EXPECT(lock_release(lock), 0);
	}
}

TEST(readers_share_and_one_of_them_may_become_a_writer, 30)
{
	uint64_t t[4] = {};
	int a, b, space;

	open_all();
	space = fds[SPACE];
	a = lock_open_as(space, "value.rw", RDLOCK_KIND_FAIR, 0, 0);
	b = lock_open_as(space, "value.rw", 0, 0, 0);
	REQUIRE_TRUE(a >= 0 && b >= 0);
	EXPECT(lock_acquire_mode(a, RDLOCK_MODE_SHARED, 0, in_ms(5000), &t[0]), 0);
	EXPECT(lock_acquire_mode(b, RDLOCK_MODE_SHARED, 0, in_ms(5000), &t[1]), 0);
	EXPECT_TRUE(t[0] != t[1]);
	EXPECT(lock_convert(a, RDLOCK_MODE_EXCLUSIVE, NULL), -EDEADLK);
	EXPECT(lock_convert(a, RDLOCK_MODE_SHARED, NULL), 0);
	EXPECT(lock_convert(a, 3, NULL), -EINVAL);
	EXPECT(lock_release(b), 0);
	/* Who waits is not overtaken. */
	fcntl(b, F_SETFL, O_NONBLOCK);
	EXPECT(lock_acquire_mode(b, RDLOCK_MODE_EXCLUSIVE, 0, NEVER, NULL), -EAGAIN);
	EXPECT(lock_convert(a, RDLOCK_MODE_EXCLUSIVE, NULL), -EDEADLK);
	EXPECT(lock_cancel(b), 0);
	fcntl(b, F_SETFL, 0);
	EXPECT(lock_convert(a, RDLOCK_MODE_EXCLUSIVE, &t[2]), 0);
	EXPECT_TRUE(t[2] > t[0] && t[2] > t[1]);
	EXPECT(lock_acquire_mode(b, RDLOCK_MODE_SHARED, RDLOCK_ACQUIRE_TRY, 0, NULL), -EAGAIN);
	EXPECT(lock_convert(a, RDLOCK_MODE_SHARED, &t[3]), 0);
	EXPECT_TRUE(t[3] > t[2]);
	EXPECT(lock_acquire_mode(b, RDLOCK_MODE_SHARED, 0, in_ms(5000), NULL), 0);
	EXPECT(lock_release(a), 0);
	EXPECT(lock_release(b), 0);
}

/* Sizes around the limits of what travels, of a piece, and of all; each byte comes back. */
TEST(a_large_value_is_had_by_address, 60)
{
	static const uint32_t sizes[] = { 65, 71, 4096, 4097, 32769, 65535, 65536 };
	static uint8_t in[RDLOCK_VALUE_MAX + 1], out[RDLOCK_VALUE_MAX + 1];
	uint32_t len, i, k;

	open_all();
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		const char *key = fresh_key("big");
		int a = lock_open_as(fds[SPACE], key, RDLOCK_KIND_FAIR, sizes[i], 0);
		int b = lock_open_as(fds[SPACE], key, 0, 0, 0);
		char small[RDLOCK_VALUE_INLINE];
		struct rdlock_status st;

		REQUIRE_TRUE(a >= 0 && b >= 0);
		EXPECT(lock_status(b, &st), 0);
		EXPECT(st.out_value_size, sizes[i]);
		EXPECT(lock_open_as(fds[SPACE], key, 0, sizes[i] - 1, 0), -EINVAL);
		len = sizeof(out);
		EXPECT(lock_value_read(a, out, &len), -EPERM);
		EXPECT(lock_acquire(a, 0, in_ms(5000), NULL), 0);
		EXPECT(lock_value_read(a, out, &len), 0);
		EXPECT(len, sizes[i]);
		for (k = 0; k < len && !out[k]; k++)
			;
		EXPECT(k, len);
		/* what does not fit its structure is not cut */
		EXPECT(lock_value_get(a, small, &len), -EMSGSIZE);
		for (k = 0; k < sizes[i]; k++)
			in[k] = k * 7 + i;
		EXPECT(lock_value_write(a, in, sizes[i] - 1), -EINVAL);
		EXPECT(lock_value_write(a, in, sizes[i] + 1), -EINVAL);
		EXPECT(lock_value_set(a, in, 64), -EINVAL);
		EXPECT(lock_value_write(a, (void *)8, sizes[i]), -EFAULT);
		EXPECT(lock_value_write(a, in, sizes[i]), 0);
		len = sizeof(out);
		EXPECT(lock_value_read(a, out, &len), 0);
		EXPECT(memcmp(in, out, sizes[i]), 0);
		EXPECT(lock_value_read(a, (void *)8, &len), -EFAULT);
		EXPECT(lock_release(a), 0);
		EXPECT(lock_acquire_mode(b, RDLOCK_MODE_SHARED, 0, in_ms(5000), NULL), 0);
		/* room for less: the first bytes, and how many there are */
		memset(out, 0xaa, sizeof(out));
		len = 10;
		EXPECT(lock_value_read(b, out, &len), 0);
		EXPECT(len, sizes[i]);
		EXPECT(memcmp(in, out, 10), 0);
		EXPECT(out[10], 0xaa);
		len = sizeof(out);
		EXPECT(lock_value_read(b, out, &len), 0);
		EXPECT(memcmp(in, out, sizes[i]), 0);
		EXPECT(out[sizes[i]], 0xaa);
		EXPECT(lock_value_write(b, in, sizes[i]), -EPERM);
		EXPECT(lock_release(b), 0);
		/* closed, not released: the value is as it was */
		EXPECT(lock_acquire(a, 0, in_ms(5000), NULL), 0);
		memset(in, 0x55, sizes[i]);
		EXPECT(lock_value_write(a, in, sizes[i]), 0);
		close(a);
		EXPECT(lock_acquire(b, 0, in_ms(5000), NULL), 0);
		EXPECT(lock_value_read(b, in, &len), 0);
		EXPECT(memcmp(in, out, sizes[i]), 0);
		/* written, and on as a reader */
		memset(in, 0x66, sizes[i]);
		EXPECT(lock_value_write(b, in, sizes[i]), 0);
		EXPECT(lock_convert(b, RDLOCK_MODE_SHARED, NULL), 0);
		EXPECT(lock_value_read(b, out, &len), 0);
		EXPECT(memcmp(in, out, sizes[i]), 0);
		EXPECT(lock_release(b), 0);
		close(b);
	}
}

/* By address also what would fit; not both ways at once. */
TEST(a_small_value_may_be_had_by_address, 30)
{
	struct rdlock_value both = { .size = sizeof(both), .len = 8, .addr = (uintptr_t)&both, .value = "x" };
	uint8_t in[8] = "abcdefg", out[8] = "";
	uint32_t len = sizeof(out);
	int lock;

	open_all();
	lock = lock_open_as(fds[SPACE], fresh_key("small"), RDLOCK_KIND_FAIR, 8, 0);
	REQUIRE_TRUE(lock >= 0);
	EXPECT(lock_acquire(lock, 0, in_ms(5000), NULL), 0);
	EXPECT(lock_value_write(lock, in, 8), 0);
	EXPECT(lock_value_write(lock, in, 9), -EINVAL);
	EXPECT(lock_value_write(lock, in, 0), -EINVAL);
	EXPECT(lock_value_write(lock, in, RDLOCK_VALUE_MAX + 1), -EINVAL);
	EXPECT(lock_value_read(lock, out, &len), 0);
	EXPECT(len, 8);
	EXPECT(memcmp(in, out, 8), 0);
	EXPECT(call(lock, RDLOCK_IOC_VALUE_GET, &both), -EINVAL);
	EXPECT(call(lock, RDLOCK_IOC_VALUE_SET, &both), -EINVAL);
	EXPECT(lock_release(lock), 0);
}

TEST(a_value_is_what_the_last_owner_released, 30)
{
	static const uint32_t kinds[] = { RDLOCK_KIND_FAIR, RDLOCK_KIND_TICKET, RDLOCK_KIND_MCS };

	open_all();
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const char *key = fresh_key("block");
		int a = lock_open_as(fds[SPACE], key, kinds[i], 8, 0), b = lock_open_as(fds[SPACE], key, 0, 0, 0);
		char value[RDLOCK_VALUE_INLINE];
		uint32_t len = 0;

		REQUIRE_TRUE(a >= 0 && b >= 0);
		EXPECT(lock_value_get(a, value, &len), -EPERM);
		EXPECT(lock_acquire(a, 0, in_ms(5000), NULL), 0);
		EXPECT(lock_value_get(a, value, &len), 0);
		EXPECT(len, 8);
		EXPECT_TRUE(!memcmp(value, "\0\0\0\0\0\0\0", 8));
		EXPECT(lock_value_set(a, "seven..", 7), -EINVAL);
		EXPECT(lock_value_set(a, "one.....", 8), 0);
		EXPECT(lock_value_set(b, "two.....", 8), -EPERM);
		EXPECT(lock_release(a), 0);
		EXPECT(lock_acquire(b, 0, in_ms(5000), NULL), 0);
		EXPECT(lock_value_get(b, value, &len), 0);
		EXPECT_TRUE(!memcmp(value, "one.....", 8));
		EXPECT(lock_value_set(b, "lost....", 8), 0);
		close(b);
		EXPECT(lock_acquire(a, 0, in_ms(5000), NULL), 0);
		EXPECT(lock_value_get(a, value, &len), 0);
		EXPECT_TRUE(!memcmp(value, "one.....", 8));
		EXPECT(lock_release(a), 0);
	}
	EXPECT(lock_acquire(fds[LOCK], 0, in_ms(5000), NULL), 0);
	EXPECT(lock_value_set(fds[LOCK], "", 0), -EOPNOTSUPP);
	EXPECT(lock_release(fds[LOCK]), 0);
}

TEST(a_writer_that_goes_to_shared_has_published_its_value, 30)
{
	const char *key = fresh_key("down");
	char value[RDLOCK_VALUE_INLINE];
	uint32_t len = 0;
	int a, b;

	open_all();
	a = lock_open_as(fds[SPACE], key, RDLOCK_KIND_FAIR, 8, 0);
	b = lock_open_as(fds[SPACE], key, 0, 0, 0);
	REQUIRE_TRUE(a >= 0 && b >= 0);
	EXPECT(lock_acquire(a, 0, in_ms(5000), NULL), 0);
	EXPECT(lock_value_set(a, "one.....", 8), 0);
	EXPECT(lock_convert(a, RDLOCK_MODE_SHARED, NULL), 0);
	EXPECT(lock_value_set(a, "two.....", 8), -EPERM);
	EXPECT(lock_acquire_mode(b, RDLOCK_MODE_SHARED, 0, in_ms(5000), NULL), 0);
	EXPECT(lock_value_get(b, value, &len), 0);
	EXPECT_TRUE(!memcmp(value, "one.....", 8));
	/* It dies, which is not told of a reader; nor is the value what it was before. */
	close(a);
	EXPECT(lock_release(b), 0);
	EXPECT(lock_acquire(b, 0, in_ms(5000), NULL), 0);
	EXPECT(lock_value_get(b, value, &len), 0);
	EXPECT_TRUE(!memcmp(value, "one.....", 8));
	close(b);
}

TEST(deadlines_that_cannot_be, 30)
{
	static const uint64_t bad[] = { 1ULL << 63, ~0ULL - 1, 0x8000000000000001ULL };
	static const uint64_t past[] = { 0, 1, 1000 };
	struct rdlock_counter_op op = { .size = sizeof(op) };
	struct rdlock_lock_open open_arg = { .size = sizeof(open_arg) };
	uint64_t start;
	int other;

	open_all();
	set_name(&open_arg.key_len, open_arg.key, fresh_key("past"));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT(acquire_mode(RDLOCK_MODE_EXCLUSIVE, 0, bad[i]), -EINVAL);
		EXPECT(space_join(fds[DEV], "value.join", NOBODY, 1, bad[i]), -EINVAL);
		op.deadline = bad[i];
		EXPECT(call(fds[COUNTER], RDLOCK_IOC_COUNTER_READ, &op), -EINVAL);
		open_arg.deadline = bad[i];
		EXPECT(call(fds[SPACE], RDLOCK_IOC_LOCK_OPEN, &open_arg), -EINVAL);
	}
	EXPECT(lock_state(fds[LOCK]), RDLOCK_FD_IDLE);

	/* a free lock and a held one alike: nothing is held after */
	other = need_lock(fds[SPACE], fresh_key("deadline"));
	fds[LOCK] = need_lock(fds[SPACE], fresh_key("deadline"));
	for (int held = 0; held < 2; held++) {
		for (size_t i = 0; i < ARRAY_SIZE(past); i++) {
			start = now_ns();
			EXPECT(acquire_mode(RDLOCK_MODE_EXCLUSIVE, 0, past[i]), -ETIMEDOUT);
			EXPECT_TRUE(now_ns() - start < 200 * MS);
			EXPECT(lock_state(fds[LOCK]), RDLOCK_FD_IDLE);
		}
		close(other);
		other = need_lock(fds[SPACE], "value.deadline");
		close(fds[LOCK]);
		fds[LOCK] = need_lock(fds[SPACE], "value.deadline");
		EXPECT(lock_acquire(other, 0, in_ms(5000), NULL), 0);
	}
	/* the deadline of a try means nothing, so it may be anything */
	EXPECT(lock_release(other), 0);
	EXPECT(lock_is_free(fds[LOCK]), 0);
	EXPECT(acquire_mode(RDLOCK_MODE_EXCLUSIVE, RDLOCK_ACQUIRE_TRY, 0), 0);
	EXPECT(lock_release(fds[LOCK]), 0);
}

TEST(counter_values_out_of_range, 30)
{
	struct rdlock_info info = { .size = sizeof(info) };
	struct rdlock_counter_op op;
	static const uint32_t cells[] = { 2, 3, 0x7fffffff, 0x80000000, 0xffffffff };
	static const unsigned long cmds[] = {
		RDLOCK_IOC_COUNTER_ADD, RDLOCK_IOC_COUNTER_CAS, RDLOCK_IOC_COUNTER_READ,
	};
	uint64_t value;

	open_all();
	EXPECT(call(fds[DEV], RDLOCK_IOC_INFO, &info), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cells); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(cmds); j++) {
			poison(&op, sizeof(op));
			op.size = sizeof(op);
			op.flags = 0;
			op.cell = cells[i];
			op.deadline = in_ms(5000);
			op.arg = 0;
			op.expect = 0;
			EXPECT(call(fds[COUNTER], cmds[j], &op), -ERANGE);
			EXPECT(op.out_cells, 0xcccccccc);
			EXPECT(op.out_old, 0xccccccccccccccccULL);
		}
	}
	EXPECT(counter_read(fds[COUNTER], 1, &value), 0);
	EXPECT(value, 0);
	EXPECT(counter_open(fds[SPACE], fresh_key("cells"), info.out_max_cells + 1), -EINVAL);
	EXPECT(counter_open(fds[SPACE], fresh_key("cells"), 0xffffffff), -EINVAL);
	EXPECT(counter_open(fds[SPACE], fresh_key("cells"), 0), -ENOENT);
}

TEST(other_system_calls_do_not_work_on_them, 30)
{
	char buf[16] = "";

	open_all();
	for (int fd = 0; fd < NR_FDS; fd++) {
		EXPECT(read(fds[fd], buf, sizeof(buf)) < 0 ? -errno : 0, -EINVAL);
		EXPECT(write(fds[fd], buf, sizeof(buf)) < 0 ? -errno : 0, -EINVAL);
		EXPECT(lseek(fds[fd], 0, SEEK_SET) < 0 ? -errno : 0, -ESPIPE);
		EXPECT(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fds[fd], 0) == MAP_FAILED ? -errno : 0, -ENODEV);
		EXPECT(ftruncate(fds[fd], 0) < 0 ? -errno : 0, -EINVAL);
		EXPECT(fcntl(fds[fd], F_GETFD), FD_CLOEXEC);
	}
}

int main(int argc, char **argv)
{
	return tap_main(argc, argv, setup_space);
}
