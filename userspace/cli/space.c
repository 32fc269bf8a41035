// SPDX-License-Identifier: GPL-2.0
/*
 * rdlock space ..., rdlock info
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "out.h"

#define LEN(a)	(sizeof(a) / sizeof(*(a)))

static const char *backend_word(uint32_t backend)
{
	static const char * const words[] = { "unknown", "device", "cpu" };

	return words[backend < sizeof(words) / sizeof(*words) ? backend : 0];
}

static const char *state_word(unsigned int state)
{
	static const char * const words[] = {
		[RDLOCK_SPACE_JOINING] = "joining",
		[RDLOCK_SPACE_READY] = "ready",
		[RDLOCK_SPACE_SUSPECT] = "suspect",
		[RDLOCK_SPACE_LOST] = "lost",
		[RDLOCK_SPACE_STOPPING] = "stopping",
		[RDLOCK_SPACE_DEAD] = "dead",
	};

	return state < LEN(words) ? words[state] : "unknown";
}

/*
 * Users and groups by name come from the files alone: the static build has no name service, and a command that means
 * different users in its two builds would be worse than one that wants a number for a user of the directory.
 */
static int file_uid(const char *name, uint32_t *id)
{
	FILE *f = fopen("/etc/passwd", "re");
	struct passwd *pw = NULL;
	int err = -ENOENT;

	if (!f)
		return err;
	do {
		pw = fgetpwent(f);
	} while (pw && strcmp(pw->pw_name, name));
	if (pw) {
		*id = pw->pw_uid;
		err = 0;
	}
	fclose(f);
	return err;
}

static int file_gid(const char *name, uint32_t *id)
{
	FILE *f = fopen("/etc/group", "re");
	struct group *gr = NULL;
	int err = -ENOENT;

	if (!f)
		return err;
	do {
		gr = fgetgrent(f);
	} while (gr && strcmp(gr->gr_name, name));
	if (gr) {
		*id = gr->gr_gid;
		err = 0;
	}
	fclose(f);
	return err;
}

static int parse_id(const struct args *a, const char *what, const char *text,
		    int (*by_name)(const char *, uint32_t *), uint32_t *id)
{
	uint64_t value;
	int err;

	if (isdigit((unsigned char)*text)) {
		err = parse_u64(a, what, text, ~0U - 1, &value);
		*id = value;
		return err;
	}
	if (by_name(text, id))
		return usage_error(a, "there is no %s '%s' in /etc; give its number", what, text);
	return 0;
}

static int parse_opts(const struct args *a, struct rdlock_space_opts *opts)
{
	const char *mode = opt_val(a, "mode");
	const char *owner = opt_val(a, "owner");
	const char *group = opt_val(a, "group");
	unsigned long bits;
	char *end;
	int err;

	*opts = (struct rdlock_space_opts)RDLOCK_SPACE_OPTS_INIT;
	opts->mode = 0660;
	if (mode) {
		bits = strtoul(mode, &end, 8);
		if (!isdigit((unsigned char)*mode) || *end || bits & ~0666UL)
			return usage_error(a, "mode: '%s' is not an octal number of read and write bits up to 0666",
					   mode);
		opts->mode = bits;
	}
	if (owner) {
		err = parse_id(a, "user", owner, file_uid, &opts->uid);
		if (err)
			return err;
	}
	err = group ? parse_id(a, "group", group, file_gid, &opts->gid) : 0;
	return err ? err : parse_waiting(a, opt_val(a, "waiting"), &opts->wait);
}

static int parse_address(const struct args *a, const char *text, struct rdlock_addr *addr)
{
	if (rdlock_addr_parse(text, addr))
		return usage_error(a, "'%s' is no address; 10.0.0.1, 10.0.0.1:7517, [fd00::1]:7517 are",
				   text);
	return 0;
}

int cmd_space_create(const struct args *a)
{
	const char *max_nodes = opt_val(a, "max-nodes");
	const char *id = opt_val(a, "id");
	struct rdlock_space_opts opts;
	struct rdlock_addr addr;
	struct target t;
	uint64_t nodes = 64, node = 0;
	unsigned int kind = 0;
	int dev, err;

	err = parse_space(a, a->pos[0], &t);
	if (!err)
		err = parse_address(a, a->pos[1], &addr);
	if (!err)
		err = parse_opts(a, &opts);
	if (!err)
		err = parse_kind(a, opt_val(a, "kind"), &kind);
	if (!err && max_nodes)
		err = parse_u64(a, "--max-nodes", max_nodes, 256, &nodes);
	if (err)
		return err;
	if (nodes != 16 && nodes != 64 && nodes != 256)
		return usage_error(a, "--max-nodes is 16, 64 or 256");
	if (id)
		err = parse_u64(a, "--id", id, nodes - 1, &node);
	if (err)
		return err;
	opts.max_nodes = nodes;
	opts.kind = kind;

	dev = open_dev();
	if (dev < 0)
		return -dev;
	err = rdlock_space_create(dev, t.space, t.space_len, &addr, node, &opts);
	close(dev);
	return err ? fail(RDLOCK_CMD_SPACE_CREATE, err, &t) : 0;
}

int cmd_space_join(const struct args *a)
{
	const char *wait = opt_val(a, "wait");
	const char *id = opt_val(a, "id");
	struct rdlock_space_opts opts;
	struct rdlock_addr addr;
	struct target t;
	uint64_t deadline, node;
	int dev, err;

	err = parse_space(a, a->pos[0], &t);
	if (!err)
		err = parse_address(a, a->pos[1], &addr);
	if (!err)
		err = parse_opts(a, &opts);
	if (!err && !id)
		err = usage_error(a, "--id N is missing: this node's id in the space, unlike every other node's");
	if (!err)
		err = parse_u64(a, "--id", id, 255, &node);
	if (!err)
		err = parse_wait(a, wait ? wait : "10", &deadline);
	if (err)
		return err;

	dev = open_dev();
	if (dev < 0)
		return -dev;
	err = rdlock_space_join(dev, t.space, t.space_len, &addr, node, &opts, deadline);
	close(dev);
	return err ? fail(RDLOCK_CMD_SPACE_JOIN, err, &t) : 0;
}

static int end_space(const struct args *a, int cmd,
		     int (*end)(int dev, const void *name, size_t len, unsigned int flags))
{
	unsigned int flags = opt_val(a, "force") ? RDLOCK_SPACE_FORCE : 0;
	struct target t;
	int dev, err;

	err = parse_space(a, a->pos[0], &t);
	if (err)
		return err;
	dev = open_dev();
	if (dev < 0)
		return -dev;
	err = end(dev, t.space, t.space_len, flags);
	close(dev);
	return err ? fail(cmd, err, &t) : 0;
}

int cmd_space_leave(const struct args *a)
{
	return end_space(a, RDLOCK_CMD_SPACE_LEAVE, rdlock_space_leave);
}

int cmd_space_destroy(const struct args *a)
{
	return end_space(a, RDLOCK_CMD_SPACE_DESTROY, rdlock_space_destroy);
}

/* One line of a list, or the lines of one space, and the same values in JSON both times. */
static void put_stat(const struct rdlock_space_stat *s, bool list)
{
	uint64_t now = rdlock_deadline_in(0);
	char buf[RDLOCK_NAME_STR];
	char addr[RDLOCK_ADDR_STR];
	char word[32];

	out_open(NULL, '{');
	rdlock_name_format(s->out_name, s->out_name_len, "/", buf);
	out_str("name", list ? "%-20s " : "name       %s\n", buf);
	out_str("state", list ? "%-9s " : "state      %s\n", state_word(s->out_state));
	if (s->out_reason)
		out_str("reason", list ? NULL : "reason     %s\n", rdlock_errno_name(s->out_reason));
	out_u64("node", list ? "%-5s " : "node       %s\n", s->out_node);
	out_u64("home", list ? "%-5s " : "home       %s\n", s->out_home);
	out_bool("is_home", NULL, s->out_is_home);
	out_u64("max_nodes", list ? NULL : "max nodes  %s\n", s->out_max_nodes);
	out_u64("members", list ? "%-8s " : "members    %s\n", s->out_members);
	out_u64("openers", list ? "%-8s " : "openers    %s\n", s->out_openers);
	out_str("address", list ? "%-22s " : "address    %s\n", rdlock_addr_format(&s->out_addr, addr));
	snprintf(word, sizeof(word), "%.31s", (const char *)s->out_dev);
	out_str("device", list ? "%s\n" : "device     %s\n", *word ? word : "-");
	out_str("atomics", list ? NULL : "atomics    %s\n", backend_word(s->out_backend));
	out_str("kind", list ? NULL : "kind       %s\n", kind_word(s->out_kind));
	out_str("waiting", list ? NULL : "waiting    %s\n", wait_word(s->out_wait));
	out_u64("rtt_ns", list ? NULL : "round trip %s ns\n", s->out_rtt);
	snprintf(word, sizeof(word), "0%03o", s->out_mode);
	out_str("mode", list ? NULL : "mode       %s\n", word);
	out_u64("uid", list ? NULL : "uid        %s\n", s->out_uid);
	out_u64("gid", list ? NULL : "gid        %s\n", s->out_gid);
	out_hex("instance", list ? NULL : "instance   %s\n", s->out_instance);
	out_u64("generation", list ? NULL : "generation %s\n", s->out_generation);
	snprintf(word, sizeof(word), "0x%08x", s->out_inc);
	out_str("incarnation", list ? NULL : "incarn.    %s\n", word);
	out_u64("since_ns", NULL, s->out_since);
	snprintf(word, sizeof(word), "%.1f", now > s->out_since ? (now - s->out_since) / 1e9 : 0.0);
	out_str(NULL, list ? NULL : "since      %s s\n", word);
	out_close();
}

int cmd_space_list(const struct args *a)
{
	struct rdlock_space_stat *stats;
	int dev, i, n;

	(void)a;
	dev = open_dev();
	if (dev < 0)
		return -dev;
	n = rdlock_space_list(dev, &stats, sizeof(*stats));
	close(dev);
	if (n < 0)
		return fail(RDLOCK_CMD_SPACE_LIST, n, NULL);

	out_open(NULL, '[');
	if (n)
		out_text("NAME                 STATE     NODE  HOME  MEMBERS  OPENERS  ADDRESS                "
			 "DEVICE\n");
	else if (!out_is_json())
		fputs("no spaces on this node; create one: rdlock space create NAME ADDRESS\n", stderr);
	for (i = 0; i < n; i++)
		put_stat(&stats[i], true);
	out_close();
	free(stats);
	return out_done();
}

/* From the list, so that whoever may see the device may see the state of a space it may not open. */
int cmd_space_show(const struct args *a)
{
	struct rdlock_space_stat *stats;
	struct target t;
	int dev, i, n, err;

	err = parse_space(a, a->pos[0], &t);
	if (err)
		return err;
	dev = open_dev();
	if (dev < 0)
		return -dev;
	n = rdlock_space_list(dev, &stats, sizeof(*stats));
	close(dev);
	if (n < 0)
		return fail(RDLOCK_CMD_SPACE_LIST, n, NULL);

	for (i = 0; i < n; i++)
		if ((int)stats[i].out_name_len == t.space_len && memcmp(stats[i].out_name, t.space, t.space_len) == 0)
			break;
	if (i < n)
		put_stat(&stats[i], false);
	free(stats);
	return i < n ? out_done() : fail(RDLOCK_CMD_SPACE_OPEN, -ENOENT, &t);
}

int cmd_info(const struct args *a)
{
	struct rdlock_info info;
	unsigned int kind;
	int err = get_info(&info);

	(void)a;
	if (err)
		return err;

	info.out_version[sizeof(info.out_version) - 1] = 0;
	out_open(NULL, '{');
	out_str("version", "module     %s\n", (const char *)info.out_version);
	out_str("command", "command    %s\n", RDLOCK_TOOL_VERSION);
	out_text("features  ");
	out_open("features", '[');
	if (info.out_features & RDLOCK_FEATURE_COUNTER)
		out_str("", " %s", "counter");
	if (info.out_features & RDLOCK_FEATURE_TIMENS)
		out_str("", " %s", "timens");
	if (info.out_features & RDLOCK_FEATURE_SHARED)
		out_str("", " %s", "shared");
	if (info.out_features & RDLOCK_FEATURE_VALUE)
		out_str("", " %s", "value");
	if (info.out_features & RDLOCK_FEATURE_ROBUST)
		out_str("", " %s", "robust");
	if (info.out_features & RDLOCK_FEATURE_WAIT)
		out_str("", " %s", "wait");
	out_close();
	out_text("\nkinds     ");
	out_open("kinds", '[');
	for (kind = 1; kind < 32; kind++)
		if (info.out_kinds & 1U << kind)
			out_str("", " %s", kind_word(kind));
	out_close();
	out_text("\n");
	out_u64("name_max", "name       up to %s bytes\n", info.out_name_max);
	out_u64("max_nodes", "nodes      up to %s a space\n", info.out_max_nodes);
	out_u64("max_cells", "cells      up to %s a counter\n", info.out_max_cells);
	out_close();
	return out_done();
}
