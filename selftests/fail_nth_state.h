/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All that can be seen of rdlock on this node, as text, to be compared: spaces, dumps, objects at the RDMA devices,
 * references to the module, open fds.
 */
#ifndef RDLOCK_TEST_FAIL_NTH_STATE_H
#define RDLOCK_TEST_FAIL_NTH_STATE_H

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>

#include "common.h"

#define SETTLE_MS	15000	/* a node that had to be reached again is there, and a lock that was recovered */

/* Lines of a dump that begin so are left out; NULL: none. How long a change may take. Both of the case at hand. */
static const char *state_grows;
static unsigned int state_patience_ms = SETTLE_MS;

struct state {
	char text[16384];
	size_t len;
};

static void __printf(2, 3) state_add(struct state *s, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(s->text + s->len, sizeof(s->text) - s->len, fmt, args);
	va_end(args);
	REQUIRE_TRUE(n >= 0 && s->len + n < sizeof(s->text));
	s->len += n;
}

static void state_spaces(struct state *s)
{
	static struct rdlock_space_stat stats[16];
	struct rdlock_space_list list = {
		.size = sizeof(list), .count = ARRAY_SIZE(stats), .stat_size = sizeof(stats[0]),
		.stats = (uintptr_t)stats,
	};
	int dev = need_dev();

	REQUIRE(call(dev, RDLOCK_IOC_SPACE_LIST, &list), 0);
	close(dev);
	REQUIRE_TRUE(list.out_total <= ARRAY_SIZE(stats));
	for (uint32_t i = 0; i < list.out_total; i++) {
		struct rdlock_space_stat *st = &stats[i];

		state_add(s, "space %.*s state=%u reason=%u members=%u openers=%u dev=%s\n", (int)st->out_name_len,
			  st->out_name, st->out_state, st->out_reason, st->out_members, st->out_openers, st->out_dev);
	}
}

/*
 * A lock that had to be recovered has another word, epoch and token, and a key that was opened again may have another
 * place: right, and no trace of a failure. All else of a line of the dump counts.
 */
static void state_line(struct state *s, const char *space, char *line)
{
	static const char *const vary[] = { "word=", "epoch=", "ticket=", "token=", "table=", "index=" };
	char *word, *rest = NULL;

	state_add(s, "%s:", space);
	for (word = strtok_r(line, "\n ", &rest); word; word = strtok_r(NULL, "\n ", &rest)) {
		bool same = true;

		for (size_t i = 0; i < ARRAY_SIZE(vary); i++)
			same &= strncmp(word, vary[i], strlen(vary[i])) != 0;
		if (same)
			state_add(s, " %s", word);
	}
	state_add(s, "\n");
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void state_dump(struct state *s, const char *space)
{
	char path[320], *lines[256], *line = NULL;
	size_t room = 0, n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/debug/rdlock/%s/locks", space);
	f = fopen(path, "r");
	if (!f) {
		/* The folder was listed and has gone since: the next look will tell. */
		state_add(s, "%s: no dump\n", space);
		return;
	}
	while (n < ARRAY_SIZE(lines) && getline(&line, &room, f) > 0)
		lines[n++] = strdup(line);
	fclose(f);
	free(line);
	REQUIRE_TRUE(n < ARRAY_SIZE(lines));
	/* The dump's order is that of a hash and of openings. */
	qsort(lines, n, sizeof(lines[0]), by_text);
	for (size_t i = 0; i < n; i++) {
		if (!state_grows || strncmp(lines[i], state_grows, strlen(state_grows)))
			state_line(s, space, lines[i]);
		free(lines[i]);
	}
}

static void state_dumps(struct state *s)
{
	struct dirent **names;
	int n = scandir("/sys/kernel/debug/rdlock", &names, NULL, alphasort);

	REQUIRE_TRUE(n >= 0);
	for (int i = 0; i < n; i++) {
		if (names[i]->d_name[0] != '.' && strcmp(names[i]->d_name, "fault"))
			state_dump(s, names[i]->d_name);
		free(names[i]);
	}
	free(names);
}

static const struct nlattr *nl_next(const struct nlattr *at)
{
	return (const void *)((const char *)at + NLA_ALIGN(at->nla_len));
}

static const void *nl_data(const struct nlattr *at)
{
	return at + 1;
}

/* The attributes of RES_SUMMARY: entries of a name and a number. */
static void state_rdma_entries(struct state *s, const struct nlattr *at, const void *end)
{
	for (; (const void *)at < end; at = nl_next(at)) {
		const void *last = (const char *)at + at->nla_len;

		switch (at->nla_type & NLA_TYPE_MASK) {
		case RDMA_NLDEV_ATTR_RES_SUMMARY:
		case RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY:
			state_rdma_entries(s, nl_data(at), last);
			break;
		case RDMA_NLDEV_ATTR_DEV_NAME:
			state_add(s, "\ndevice %s:", (const char *)nl_data(at));
			break;
		case RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME:
			state_add(s, " %s", (const char *)nl_data(at));
			break;
		case RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR: {
			uint64_t count;

			memcpy(&count, nl_data(at), sizeof(count));
			state_add(s, "=%llu", (unsigned long long)count);
			break;
		}
		}
	}
}

/*
 * Objects at the RDMA devices, as of "rdma resource show": a queue pair or a key that an error path forgot. Asked for
 * hundreds of times, so not by running it.
 */
static void state_rdma(struct state *s)
{
	struct nlmsghdr ask = {
		.nlmsg_len = sizeof(ask), .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_GET),
	};
	int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
	char buf[8192] __attribute__((aligned(8)));
	size_t before = s->len;
	bool done = false;

	REQUIRE_TRUE(sock >= 0);
	REQUIRE(send(sock, &ask, sizeof(ask), 0), sizeof(ask));
	while (!done) {
		int n = recv(sock, buf, sizeof(buf), 0);
		struct nlmsghdr *h = (struct nlmsghdr *)buf;

		REQUIRE_TRUE(n > 0);
		for (; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
			REQUIRE_TRUE(h->nlmsg_type != NLMSG_ERROR);
			done |= h->nlmsg_type == NLMSG_DONE;
			if (!done)
				state_rdma_entries(s, NLMSG_DATA(h), (char *)h + h->nlmsg_len);
		}
	}
	close(sock);
	state_add(s, "\n");
	REQUIRE_TRUE(s->len > before + 1);
}

static void state_module(struct state *s)
{
	FILE *f = fopen("/sys/module/rdlock/refcnt", "re");
	int refs = -1;

	REQUIRE_TRUE(f && fscanf(f, "%d", &refs) == 1);
	fclose(f);
	state_add(s, "module refs=%d\nfds=%d\n", refs, count_fds());
}

static void state_get(struct state *s)
{
	s->len = 0;
	state_spaces(s);
	state_dumps(s);
	state_rdma(s);
	state_module(s);
}

static void state_diff(const struct state *want, const struct state *got)
{
	const char *a = want->text, *b = got->text;

	while (*a || *b) {
		int n = strcspn(a, "\n"), m = strcspn(b, "\n");

		if (n != m || strncmp(a, b, n))
			diag("  was: %.*s   is: %.*s", n, a, m, b);
		a += n + !!a[n];
		b += m + !!b[m];
	}
}

/* Closing and recovering end behind the call. */
static bool state_settles(const struct state *want, struct state *got)
{
	uint64_t end = in_ms(state_patience_ms);
	unsigned int pause = 20000;

	for (;;) {
		state_get(got);
		if (got->len == want->len && !memcmp(got->text, want->text, got->len))
			return true;
		if (now_ns() >= end)
			return false;
		/* A look costs the debug kernel as much as a short pause does. */
		sleep_us(pause);
		pause = pause < 160000 ? 2 * pause : pause;
	}
}

/* The state once nothing moves any more. A lock that nobody has open is on its way out. */
static void state_rest(struct state *s)
{
	struct state again;

	state_get(s);
	for (int i = 0; i < 200; i++) {
		sleep_us(150000);
		state_get(&again);
		if (again.len == s->len && !memcmp(again.text, s->text, s->len) && !strstr(again.text, "opens=0"))
			return;
		*s = again;
	}
	EXPECT_TRUE(!"the state comes to rest");
}

#endif /* RDLOCK_TEST_FAIL_NTH_STATE_H */
