// SPDX-License-Identifier: GPL-2.0
/*
 * Checks the fields of an ioctl's structure and turns them into the kernel's own types, in the
 * caller's user and time namespace. No user memory here: dev.c has copied it already.
 */
#include <linux/bug.h>
#include <linux/cred.h>
#include <linux/errno.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/time_namespace.h>
#include <linux/uidgid.h>
#include <net/ipv6.h>

#include "dev_args.h"
#include "space.h"

ktime_t rdlock_arg_timens_offset(void)
{
	struct timespec64 ts = {};

	timens_add_monotonic(&ts);
	return timespec64_to_ktime(ts);
}

int rdlock_arg_deadline(u64 ns, ktime_t *deadline)
{
	ktime_t offset;

	if (ns == RDLOCK_NO_DEADLINE) {
		*deadline = KTIME_MAX;
		return 0;
	}
	if (ns > KTIME_MAX)
		return -EINVAL;

	offset = rdlock_arg_timens_offset();
	if (offset < 0 && ns > KTIME_MAX + offset)
		*deadline = KTIME_MAX;
	else
		*deadline = max_t(ktime_t, (ktime_t)ns - offset, 0);
	return 0;
}

int rdlock_arg_name(const u8 *name, u32 len)
{
	if (!len || len > RDLOCK_NAME_MAX)
		return -EINVAL;
	return memchr_inv(name + len, 0, RDLOCK_NAME_MAX - len) ? -EINVAL : 0;
}

static int rdlock_addr4(const struct rdlock_addr *addr, struct sockaddr_in *sin)
{
	BUILD_BUG_ON(sizeof(sin->sin_addr) > sizeof(addr->addr));

	if (addr->scope_id || memchr_inv(addr->addr + 4, 0, sizeof(addr->addr) - 4))
		return -EINVAL;
	sin->sin_family = AF_INET;
	sin->sin_port = addr->port ?: htons(RDLOCK_PORT);
	memcpy(&sin->sin_addr, addr->addr, 4);
	if (ipv4_is_zeronet(sin->sin_addr.s_addr) || ipv4_is_multicast(sin->sin_addr.s_addr) ||
	    ipv4_is_lbcast(sin->sin_addr.s_addr))
		return -EINVAL;
	return 0;
}

static int rdlock_addr6(const struct rdlock_addr *addr, struct sockaddr_in6 *sin6)
{
	sin6->sin6_family = AF_INET6;
	sin6->sin6_port = addr->port ?: htons(RDLOCK_PORT);
	sin6->sin6_scope_id = addr->scope_id;
	memcpy(&sin6->sin6_addr, addr->addr, 16);
	if (ipv6_addr_any(&sin6->sin6_addr) || ipv6_addr_is_multicast(&sin6->sin6_addr))
		return -EINVAL;
	if (!(ipv6_addr_type(&sin6->sin6_addr) & IPV6_ADDR_LINKLOCAL) != !addr->scope_id)
		return -EINVAL;
	return 0;
}

/* A unicast address; the port is filled in. */
static int arg_addr(const struct rdlock_addr *addr, struct sockaddr_storage *out)
{
	switch (addr->family) {
	case AF_INET:
		return rdlock_addr4(addr, (struct sockaddr_in *)out);
	case AF_INET6:
		return rdlock_addr6(addr, (struct sockaddr_in6 *)out);
	default:
		return -EINVAL;
	}
}

/* Owner and group as the caller's user namespace names them, ~0: its own. */
static int arg_owner(u32 uid, u32 gid, u32 mode, struct rdlock_space_params *p)
{
	if (mode & ~0666)
		return -EINVAL;
	p->mode = mode;
	p->uid = uid == ~0U ? current_euid() : make_kuid(current_user_ns(), uid);
	p->gid = gid == ~0U ? current_egid() : make_kgid(current_user_ns(), gid);
	return uid_valid(p->uid) && gid_valid(p->gid) ? 0 : -EINVAL;
}

/* What both ways to have a space say of it. */
static int arg_space(const u8 *name, u32 len, const struct rdlock_addr *addr, u32 node, u32 wait,
		     struct rdlock_space_params *p)
{
	int err;

	if (wait >= RDLOCK_NR_WAITS)
		return -EINVAL;
	err = rdlock_arg_name(name, len);
	if (err)
		return err;
	memcpy(p->name, name, len);
	p->name_len = len;
	p->node = node;
	p->wait = wait ?: RDLOCK_WAIT_ADAPTIVE;
	return arg_addr(addr, &p->addr);
}

int rdlock_arg_create(const struct rdlock_space_create *c, struct rdlock_space_params *p)
{
	int err;

	if (c->flags || c->kind >= RDL_NR_KINDS)
		return -EINVAL;
	p->max_nodes = c->max_nodes ?: 64;
	if (p->max_nodes != 16 && p->max_nodes != 64 && p->max_nodes != 256)
		return -EINVAL;
	if (c->node >= p->max_nodes)
		return -EINVAL;
	p->kind = c->kind ?: RDLOCK_KIND_FAIR;
	err = arg_space(c->name, c->name_len, &c->addr, c->node, c->wait, p);
	return err ? err : arg_owner(c->uid, c->gid, c->mode, p);
}

int rdlock_arg_join(const struct rdlock_space_join *j, struct rdlock_space_params *p, ktime_t *deadline)
{
	int err;

	if (j->flags || j->node >= RDL_MAX_NODES)
		return -EINVAL;
	err = arg_space(j->name, j->name_len, &j->addr, j->node, j->wait, p);
	if (!err)
		err = arg_owner(j->uid, j->gid, j->mode, p);
	return err ? err : rdlock_arg_deadline(j->deadline, deadline);
}
