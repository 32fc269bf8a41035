// SPDX-License-Identifier: GPL-2.0
/* Who may: administration, opening a space, and what is seen from other users and namespaces. */
#include <grp.h>
#include <sched.h>

#include "common.h"

#define OTHER_USER 1000
#define OTHER_GROUP 1001

static const char *setup(void)
{
	if (getuid())
		return "not root: nobody to change into";
	if (atoi(env_or("RDLOCK_NODE", "0")))
		return "not the home: no spaces to create here";
	return setup_space();
}

static void become(uid_t uid, gid_t gid)
{
	REQUIRE(setgroups(0, NULL), 0);
	REQUIRE(setresgid(gid, gid, gid), 0);
	REQUIRE(setresuid(uid, uid, uid), 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* What opening "perm" says to @uid and @gid when it has this owner, group and mode; 0 if it opens. */
static int open_as(int dev, uint32_t mode, uint32_t owner, uint32_t group, uid_t uid, gid_t gid)
{
	int ret;
	pid_t pid;

	REQUIRE(space_create(dev, "perm", mode, owner, group), 0);
	pid = spawn();
	if (!pid) {
		if (uid || gid)
			become(uid, gid);
		ret = space_open(dev, "perm");
		_exit(ret < 0 ? -ret : 0);
	}
	ret = -reap(pid);
	REQUIRE(space_destroy(dev, "perm", 0), 0);
	return ret;
}

TEST(owner_group_and_mode_decide, 120)
{
	static const struct {
		uint32_t mode, owner, group;
		uid_t uid;
		gid_t gid;
		int ret;
	} cases[] = {
		{ 0600, 0, 0, OTHER_USER, OTHER_GROUP, -EACCES },
		{ 0600, OTHER_USER, 0, OTHER_USER, OTHER_GROUP, 0 },
		{ 0600, OTHER_USER, 0, OTHER_USER + 1, OTHER_GROUP, -EACCES },
		{ 0660, 0, OTHER_GROUP, OTHER_USER, OTHER_GROUP, 0 },
		{ 0660, 0, 0, OTHER_USER, OTHER_GROUP, -EACCES },
		{ 0666, 0, 0, OTHER_USER, OTHER_GROUP, 0 },
		/* both bits are needed */
		{ 0664, 0, 0, OTHER_USER, OTHER_GROUP, -EACCES },
		{ 0662, 0, 0, OTHER_USER, OTHER_GROUP, -EACCES },
		{ 0640, 0, OTHER_GROUP, OTHER_USER, OTHER_GROUP, -EACCES },
		{ 0400, OTHER_USER, 0, OTHER_USER, OTHER_GROUP, -EACCES },
		/* the first class that fits decides */
		{ 0066, OTHER_USER, 0, OTHER_USER, OTHER_GROUP, -EACCES },
		{ 0606, 0, OTHER_GROUP, OTHER_USER, OTHER_GROUP, -EACCES },
		/* and CAP_DAC_OVERRIDE */
		{ 0000, OTHER_USER, OTHER_GROUP, 0, 0, 0 },
	};
	int dev = need_dev();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (!EXPECT(open_as(dev, cases[i].mode, cases[i].owner, cases[i].group, cases[i].uid, cases[i].gid),
			    cases[i].ret))
			diag("... of case %zu, mode %04o", i, cases[i].mode);
}

TEST(a_supplementary_group_counts, 30)
{
	int dev = need_dev(), ret;
	gid_t group = OTHER_GROUP;
	pid_t pid;

	REQUIRE(space_create(dev, "perm", 0660, 0, OTHER_GROUP), 0);
	pid = spawn();
	if (!pid) {
		REQUIRE(setgroups(1, &group), 0);
		REQUIRE(setresgid(99, 99, 99), 0);
		REQUIRE(setresuid(OTHER_USER, OTHER_USER, OTHER_USER), 0);
		ret = space_open(dev, "perm");
		_exit(ret < 0 ? -ret : 0);
	}
	EXPECT(reap(pid), 0);
	EXPECT(space_destroy(dev, "perm", 0), 0);
}

/* Everything an administrator does, tried by the one who calls. */
static void administration_is_refused(int dev)
{
	EXPECT(space_create(dev, "perm.new", 0600, ~0U, ~0U), -EPERM);
	EXPECT(space_join(dev, "perm.new", "10.77.0.250", 1, in_ms(200)), -EPERM);
	EXPECT(space_leave(dev, the_space(), 0), -EPERM);
	EXPECT(space_leave(dev, "perm.nowhere", 0), -EPERM);
	EXPECT(space_destroy(dev, the_space(), 0), -EPERM);
	EXPECT(space_destroy(dev, the_space(), RDLOCK_SPACE_FORCE), -EPERM);
	EXPECT(space_destroy(dev, "perm.nowhere", 0), -EPERM);
}

TEST(administration_needs_cap_net_admin, 30)
{
	struct rdlock_space_stat st;
	int dev = need_dev(), space;
	pid_t pid = spawn();

	if (!pid) {
		become(OTHER_USER, OTHER_GROUP);
		administration_is_refused(dev);
		/* using is not administration */
		space = space_open(dev, the_space());
		REQUIRE_TRUE(space >= 0);
		EXPECT(lock_is_free(need_lock(space, fresh_key("perm"))), 0);
		exit_test();
	}
	EXPECT(reap(pid), 0);
	space = space_open(dev, the_space());
	EXPECT(space_stat(space, &st), 0);
	EXPECT(st.out_state, RDLOCK_SPACE_READY);
	EXPECT(space_open(dev, "perm.new"), -ENOENT);
}

TEST(a_user_namespace_gives_no_rights_over_the_devices_network, 30)
{
	int dev = need_dev();
	pid_t pid = spawn();
	int ret;

	if (!pid) {
		become(OTHER_USER, OTHER_GROUP);
		if (unshare(CLONE_NEWUSER | CLONE_NEWNET)) {
			if (errno == EPERM || errno == ENOSYS || errno == EINVAL)
				_exit(TAP_SKIP);
			REQUIRE(-errno, 0);
		}
		/* full capabilities here, over another network namespace than the device fd's */
		administration_is_refused(dev);
		exit_test();
	}
	ret = reap(pid);
	if (ret == TAP_SKIP)
		skip_test("no user namespaces");
	EXPECT(ret, 0);
}

TEST(an_owner_that_the_callers_user_namespace_does_not_know_is_einval, 30)
{
	int dev = need_dev();
	pid_t pid = spawn();
	int ret;

	if (!pid) {
		/* root without a map has no ids to give */
		/* and over this network others decide whether it may at all */
		if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
			_exit(TAP_SKIP);
		dev = need_dev();
		EXPECT(space_create(dev, "perm.map", 0600, 5, ~0U), -EINVAL);
		EXPECT(space_create(dev, "perm.map", 0600, ~0U, 5), -EINVAL);
		/* with its own ids the next thing that is missing is a device */
		EXPECT(space_create(dev, "perm.map", 0600, ~0U, ~0U), -ENODEV);
		exit_test();
	}
	ret = reap(pid);
	if (ret == TAP_SKIP)
		skip_test("no user namespaces");
	EXPECT(ret, 0);
	EXPECT(space_open(dev, "perm.map"), -ENOENT);
}

TEST(another_network_namespace_sees_nothing, 60)
{
	pid_t pid = spawn();

	if (!pid) {
		struct rdlock_space_list list = { .size = sizeof(list), .stat_size = sizeof(struct rdlock_space_stat) };
		int dev, ret;

		REQUIRE(unshare(CLONE_NEWNET), 0);
		dev = need_dev();
		EXPECT(space_open(dev, the_space()), -ENOENT);
		EXPECT(call(dev, RDLOCK_IOC_SPACE_LIST, &list), 0);
		EXPECT(list.out_total, 0);
		EXPECT(space_destroy(dev, the_space(), RDLOCK_SPACE_FORCE), -ENOENT);
		EXPECT(space_leave(dev, the_space(), RDLOCK_SPACE_FORCE), -ENOENT);
		EXPECT(space_create(dev, the_space(), 0600, ~0U, ~0U), -ENODEV);
		ret = space_join(dev, the_space(), env_or("RDLOCK_ADDR", "10.77.0.1"), 5, in_ms(300));
		EXPECT(ret, -EHOSTUNREACH);
		EXPECT(call(dev, RDLOCK_IOC_SPACE_LIST, &list), 0);
		EXPECT(list.out_total, 0);
		exit_test();
	}
	EXPECT(reap(pid), 0);
	/* the first namespace's is untouched */
	EXPECT(lock_is_free(need_lock(need_space(), fresh_key("perm"))), 0);
}

/* The namespace is the device fd's, whoever uses it. */
TEST(a_device_fd_keeps_its_network_namespace, 30)
{
	int dev = need_dev();
	pid_t pid = spawn();

	if (!pid) {
		struct rdlock_space_list list = { .size = sizeof(list), .stat_size = sizeof(struct rdlock_space_stat) };
		int space;

		REQUIRE(unshare(CLONE_NEWNET), 0);
		space = space_open(dev, the_space());
		REQUIRE_TRUE(space >= 0);
		EXPECT(call(dev, RDLOCK_IOC_SPACE_LIST, &list), 0);
		EXPECT_TRUE(list.out_total >= 1);
		EXPECT(lock_is_free(need_lock(space, fresh_key("perm"))), 0);
		exit_test();
	}
	EXPECT(reap(pid), 0);
}

TEST(the_owner_is_told_in_the_callers_terms, 30)
{
	struct rdlock_space_stat st;
	int dev = need_dev(), space;

	REQUIRE(space_create(dev, "perm", 0660, OTHER_USER, OTHER_GROUP), 0);
	space = space_open(dev, "perm");
	REQUIRE_TRUE(space >= 0);
	EXPECT(space_stat(space, &st), 0);
	EXPECT(st.out_mode, 0660);
	EXPECT(st.out_uid, OTHER_USER);
	EXPECT(st.out_gid, OTHER_GROUP);
	close(space);
	EXPECT(space_destroy(dev, "perm", 0), 0);
}

TEST(the_device_node_is_not_for_everybody, 30)
{
	struct stat st;
	pid_t pid;

	REQUIRE(stat("/dev/rdlock", &st), 0);
	EXPECT_TRUE(S_ISCHR(st.st_mode));
	EXPECT(st.st_mode & 0007, 0);
	EXPECT(st.st_uid, 0);
	pid = spawn();
	if (!pid) {
		become(OTHER_USER, OTHER_GROUP);
		EXPECT(dev_open(), -EACCES);
		exit_test();
	}
	EXPECT(reap(pid), 0);
}

TEST(debugfs_is_for_root, 30)
{
	pid_t pid;

	if (access("/sys/kernel/debug/rdlock", F_OK))
		skip_test("no debugfs mounted");
	pid = spawn();
	if (!pid) {
		become(OTHER_USER, OTHER_GROUP);
		EXPECT(open("/sys/kernel/debug/rdlock", O_RDONLY) < 0 ? -errno : 0, -EACCES);
		exit_test();
	}
	EXPECT(reap(pid), 0);
}

int main(int argc, char **argv)
{
	return tap_main(argc, argv, setup);
}
