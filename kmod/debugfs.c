// SPDX-License-Identifier: GPL-2.0
/*
 * Dumps for people: one line a lock, a node, a counter of events. The files go before the space does, and removing them
 * waits for readers (debugfs_remove() drains), so a dump never sees half a space.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "agent.h"
#include "debugfs.h"
#include "home.h"
#include "main.h"
#include "space.h"
#include "stats.h"

static void agent_show(struct rdlock_agent *a, void *arg)
{
	rdlock_agent_show(arg, a);
}

static int locks_show(struct seq_file *m, void *v)
{
	struct rdlock_space *space = m->private;

	if (space->home)
		rdlock_home_show(m, space->home);
	rdlock_agents_each(space, agent_show, m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(locks);

static int peers_show(struct seq_file *m, void *v)
{
	struct rdlock_space *space = m->private;
	struct rdlock_session *s = &space->session;
	u64 now = ktime_get_boottime_ns();

	spin_lock_bh(&space->lock);
	seq_printf(m, "self node=%u inc=%#x home=%u session=%llu %s", space->node, s->inc, s->home_node, s->id,
		   s->up ? "up" : "down");
	if (!s->local)
		seq_printf(m, " lease_ms=%llu", s->lease_end > now ? div_u64(s->lease_end - now, NSEC_PER_MSEC) : 0);
	seq_printf(m, " reason=%d\n", s->last_err);
	spin_unlock_bh(&space->lock);
	if (space->home)
		rdlock_members_show(m, space->home);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(peers);

static int stats_show(struct seq_file *m, void *v)
{
	struct rdlock_space *space = m->private;
	unsigned int i;

	for (i = 0; i < RDLOCK_NR_STATS; i++)
		seq_printf(m, "%s %llu\n", rdlock_stat_name(i), rdlock_stat_sum(space, i));
	spin_lock_bh(&space->lock);
	for (i = 0; space->dom && i < RDF_NR_STATS; i++)
		seq_printf(m, "fabric_%s %llu\n", rdf_stat_name(i), rdf_dom_stat(space->dom, i));
	spin_unlock_bh(&space->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

/*
 * A name is any bytes, a file name is not: '/', '!' (which the file system shows for '/'), and names that mean
 * something else here are escaped as unprintable bytes are. A space of another namespace may have the same name.
 */
static void dir_name(struct rdlock_space *space, char *buf, size_t size)
{
	char name[RDLOCK_NAME_STR], *in = name;
	size_t n = 0;

	rdlock_name_str(name, space->name, space->name_len);
	if (!strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, "fault"))
		n = scnprintf(buf, size, "%%%02x", *in++);
	for (; *in; in++) {
		if (*in == '/' || *in == '!')
			n += scnprintf(buf + n, size - n, "%%%02x", *in);
		else
			n += scnprintf(buf + n, size - n, "%c", *in);
	}
	if (space->net != &init_net)
		scnprintf(buf + n, size - n, "@%u", space->net->ns.inum);
}

void rdlock_debugfs_add(struct rdlock_space *space)
{
	/* Longest: every byte escaped, and a namespace's number. */
	char name[RDLOCK_NAME_STR + 16];

	dir_name(space, name, sizeof(name));
	space->debugfs = debugfs_create_dir(name, rdlock_debugfs);
	debugfs_create_file("locks", 0400, space->debugfs, space, &locks_fops);
	debugfs_create_file("peers", 0400, space->debugfs, space, &peers_fops);
	debugfs_create_file("stats", 0400, space->debugfs, space, &stats_fops);
}

void rdlock_debugfs_remove(struct rdlock_space *space)
{
	debugfs_remove_recursive(space->debugfs);
	space->debugfs = NULL;
}
