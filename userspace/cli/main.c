// SPDX-License-Identifier: GPL-2.0
/*
 * The table of commands, and finding the one that is meant.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "out.h"

#define OPT_MODE	{ "mode", 0, "MODE", "who may open it on this node, octal, up to 0666 (default 0660)" }
#define OPT_OWNER	{ "owner", 0, "USER", "its owner on this node (default: you)" }
#define OPT_GROUP	{ "group", 0, "GROUP", "its group on this node (default: yours)" }
#define OPT_FORCE	{ "force", 0, NULL, "revoke what is open instead of failing" }
#define OPT_KIND	{ "kind", 0, "KIND", "spin, fair, ticket, mcs; the first open decides (default: the space's)" }
#define OPT_WAITING	{ "waiting", 0, "HOW", "for locks on this node: event, spin or adaptive (the default)" }
#define OPT_WAIT	{ "wait", 'w', "SECONDS", "how long the home is tried (default 10; 'inf': for ever)" }

const struct command commands[] = {
	{
		.object = "space", .name = "create", .fn = cmd_space_create,
		.args = "NAME ADDRESS[:PORT]", .min_pos = 2, .max_pos = 2,
		.help = "make a space with this node as its home",
		.more = "ADDRESS is an address of this host on an RDMA device; [V6ADDRESS]:PORT for IPv6.",
		.example = "rdlock space create web 10.0.0.1 --group www-data",
		.opts = {
			{ "id", 0, "N", "this node's id in the space (default 0)" },
			{ "max-nodes", 0, "N", "16, 64 or 256 (default 64)" },
			{ "kind", 0, "KIND", "default kind of its locks: fair (the default), spin, ticket or mcs" },
			OPT_WAITING, OPT_MODE, OPT_OWNER, OPT_GROUP,
		},
	}, {
		.object = "space", .name = "join", .fn = cmd_space_join,
		.args = "NAME ADDRESS[:PORT] --id N", .min_pos = 2, .max_pos = 2,
		.help = "become a member of a space",
		.more = "ADDRESS is where the home has created it. Each node needs an id of its own.",
		.example = "rdlock space join web 10.0.0.1 --id 1",
		.opts = {
			{ "id", 0, "N", "this node's id in the space" },
			OPT_WAIT, OPT_WAITING, OPT_MODE, OPT_OWNER, OPT_GROUP,
		},
	}, {
		.object = "space", .name = "leave", .fn = cmd_space_leave,
		.args = "NAME", .min_pos = 1, .max_pos = 1,
		.help = "end this node's membership",
		.example = "rdlock space leave web",
		.opts = { OPT_FORCE },
	}, {
		.object = "space", .name = "destroy", .fn = cmd_space_destroy,
		.args = "NAME", .min_pos = 1, .max_pos = 1,
		.help = "end a space, on its home",
		.example = "rdlock space destroy web",
		.opts = { OPT_FORCE },
	}, {
		.object = "space", .name = "list", .fn = cmd_space_list,
		.args = "", .help = "list the spaces of this node",
		.example = "rdlock -j space list",
	}, {
		.object = "space", .name = "show", .fn = cmd_space_show,
		.args = "NAME", .min_pos = 1, .max_pos = 1,
		.help = "everything about one space",
		.example = "rdlock space show web",
	}, {
		.object = "run", .fn = cmd_run,
		.args = "SPACE/KEY [--] COMMAND...", .min_pos = 1, .max_pos = 1, .rest = true,
		.help = "run a command while holding a lock; what flock(1) is on one host",
		.more = "The lock is held until the command ends, whatever that leaves behind. In its environment\n"
			"are RDLOCK_TOKEN and RDLOCK_INSTANCE (the fencing token) and RDLOCK_GRANT_FLAGS (owner-died,\n"
			"local). Exit code: the command's; 128 + N if signal N ended it; 75 with -n if the lock is held;\n"
			"76 with --robust if an owner died; 124 if the time was over; 126, 127 if the command cannot be\n"
			"run, is not found; 1 for any other error, also if the lock was lost while the command ran; 2 for\n"
			"wrong usage.\n"
			"An owner of a robust lock dies if its node does, or rdlock run is killed. With --recover\n"
			"RDLOCK_GRANT_FLAGS then says owner-died, and a command that ends with 0 has repaired what was left\n"
			"half done: the next one is told of nothing. Otherwise, and without --recover, it is told again.\n"
			"If rdlock run is killed, so is the command, and the lock is held until all that inherited its fd\n"
			"from the command has ended. A command such as sudo or su is not killed, and sudo closes the fd:\n"
			"change the user outside, setpriv --reuid=USER ... rdlock run ...",
		.example = "rdlock run web/deploy -w 60 -- ./deploy.sh\n"
			   "rdlock run -n web/cron/daily -- run-parts /etc/cron.daily",
		.opts = {
			{ "nonblock", 'n', NULL, "do not wait: exit 75 if it is held" },
			{ "timeout", 'w', "SECONDS", "wait that long, then exit 124" },
			{ "exclusive", 'x', NULL, "alone (the default)" },
			{ "shared", 's', NULL, "together with other shared holders (kind fair)" },
			OPT_KIND,
			{ "sticky", 0, "YES|NO", "does an idle owner keep it until it is asked? (fair, mcs: yes)" },
			{ "robust", 0, NULL, "who gets it after an owner's death is told; all openers must say it" },
			{ "recover", 0, NULL, "with --robust: run the command also then; it repairs what it finds" },
			{ "on-loss", 0, "WHAT", "if the lock is lost: wait (default), or kill the command (SIGTERM)" },
			{ "close", 'o', NULL, "the command does not inherit the lock's fd" },
			{ "verbose", 'v', NULL, "tell on stderr what happens" },
		},
	}, {
		.object = "counter", .name = "add", .fn = cmd_counter_add,
		.args = "SPACE/KEY[:CELL] [N]", .min_pos = 1, .max_pos = 2,
		.help = "add N (default 1) to a cell and print the value before",
		.more = "A counter that does not exist is made. CELL counts from 0, which is the default.",
		.example = "id=$(rdlock counter add web/next-id)\nrdlock counter add web/stats:3 -5 --cells 8",
		.opts = {
			{ "cells", 0, "N", "how many cells it has, or gets (default 1 for a new one)" },
			OPT_WAIT,
		},
	}, {
		.object = "counter", .name = "get", .fn = cmd_counter_get,
		.args = "SPACE/KEY[:CELL]", .min_pos = 1, .max_pos = 1,
		.help = "print a cell",
		.example = "rdlock counter get web/next-id",
		.opts = { OPT_WAIT },
	}, {
		.object = "counter", .name = "cas", .fn = cmd_counter_cas,
		.args = "SPACE/KEY[:CELL] EXPECTED NEW", .min_pos = 3, .max_pos = 3,
		.help = "store NEW if the cell holds EXPECTED; print the value before",
		.more = "Exit code 75 if it held something else.",
		.example = "rdlock counter cas web/leader 0 $((1 + NODE))",
		.opts = { OPT_WAIT },
	}, {
		.object = "counter", .name = "show", .fn = cmd_counter_show,
		.args = "SPACE/KEY", .min_pos = 1, .max_pos = 1,
		.help = "print all cells",
		.example = "rdlock counter show web/stats",
		.opts = { OPT_WAIT },
	}, {
		.object = "lock", .name = "test", .fn = cmd_lock_test,
		.args = "SPACE/KEY", .min_pos = 1, .max_pos = 1,
		.help = "say whether a lock is free; exit code 75 if it is held",
		.more = "It is taken and released at once to find out.",
		.example = "rdlock lock test web/deploy",
		.opts = { OPT_KIND, { "robust", 0, NULL, "it is robust" }, OPT_WAIT },
	}, {
		.object = "lock", .name = "reset", .fn = cmd_lock_reset,
		.args = "SPACE/KEY", .min_pos = 1, .max_pos = 1,
		.help = "make a robust lock usable again that was given up after an owner's death",
		.more = "First see to it that what the lock guards is whole: nobody is told of the death any more.",
		.example = "rdlock lock reset web/deploy",
		.opts = { OPT_WAIT },
	}, {
		.object = "bench", .name = "kinds", .fn = cmd_bench_kinds,
		.args = "SPACE", .min_pos = 1, .max_pos = 1,
		.help = "compare the kinds of locks: latency, throughput, fairness",
		.more = "With --nodes N it runs on N nodes of the space at the same time: start it on each.\n"
			"Cases: alone: one node, one thread; cached: the same, and the lock is sticky; handover: every\n"
			"node, a thread each; crowd: every node, --threads each. Of the first two, --grants acquires a node,\n"
			"the slowest node is shown; in the others all want the same lock for --seconds, and what they get\n"
			"while all of them do is added up.",
		.example = "rdlock bench kinds web --nodes 2",
		.opts = {
			{ "nodes", 0, "N", "how many nodes take part, 1 to 4 (default 1)" },
			{ "threads", 0, "N", "threads of each node in a crowd (default 4)" },
			{ "grants", 0, "N", "acquires of each node in alone and cached (default 200)" },
			{ "seconds", 0, "N", "how long handover and crowd take, 1 to 60 (default 1)" },
			{ "run", 0, "NAME", "a name of its own, if a run was broken off" },
		},
	}, {
		.object = "info", .fn = cmd_info,
		.args = "", .help = "version and limits of the module",
		.example = "rdlock info",
	},
};

const size_t nr_commands = sizeof(commands) / sizeof(*commands);

static const struct command *find(const char *object, const char *name)
{
	size_t i;

	for (i = 0; i < nr_commands; i++)
		if (strcmp(commands[i].object, object) == 0 &&
		    (!commands[i].name || (name && strcmp(commands[i].name, name) == 0)))
			return &commands[i];
	return NULL;
}

static bool is_object(const char *word)
{
	size_t i;

	for (i = 0; i < nr_commands; i++)
		if (strcmp(commands[i].object, word) == 0)
			return true;
	return false;
}

static bool is_help(const char *word)
{
	return strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int show_help(int argc, char **argv)
{
	const struct command *cmd;

	if (argc && strcmp(argv[0], "--table") == 0) {
		help_table();
	} else if (!argc) {
		help_all();
	} else {
		cmd = find(argv[0], argc > 1 ? argv[1] : NULL);
		if (!cmd && (argc > 1 || !is_object(argv[0])))
			return usage_error(NULL, "no help about '%s'", argv[argc > 1]);
		if (cmd)
			help_command(cmd);
		else
			help_object(argv[0]);
	}
	return out_done();
}

static int run_command(const struct command *cmd, int argc, char **argv)
{
	struct args args;
	int ret;

	if (argc && strcmp(argv[0], "help") == 0 && !cmd->rest) {
		help_command(cmd);
		return out_done();
	}
	ret = parse_args(cmd, argc, argv, &args);
	if (ret < 0) {
		help_command(cmd);
		return out_done();
	}
	return ret ? ret : cmd->fn(&args);
}

int main(int argc, char **argv)
{
	const struct command *cmd;

	for (argc--, argv++; argc && argv[0][0] == '-'; argc--, argv++) {
		if (strcmp(*argv, "-j") == 0 || strcmp(*argv, "--json") == 0) {
			out_json(true);
		} else if (strcmp(*argv, "--version") == 0) {
			printf("rdlock %s\n", RDLOCK_TOOL_VERSION);
			return out_done();
		} else if (is_help(*argv)) {
			return show_help(0, argv);
		} else {
			return usage_error(NULL, "unknown option '%s'", *argv);
		}
	}
	if (!argc)
		return run_command(find("space", "list"), 0, argv);
	if (is_help(argv[0]))
		return show_help(argc - 1, argv + 1);
	if (!is_object(argv[0]))
		return usage_error(NULL, "unknown object '%s'", argv[0]);
	if (argc > 1 && is_help(argv[1])) {
		argv[1] = argv[0];
		return show_help(1, argv + 1);
	}
	cmd = find(argv[0], argc > 1 ? argv[1] : NULL);
	if (!cmd && argc > 1)
		return usage_error(NULL, "%s has no command '%s': rdlock %s help", argv[0], argv[1], argv[0]);
	if (!cmd)
		return usage_error(NULL, "what about %s? rdlock %s help", argv[0], argv[0]);
	argc -= cmd->name ? 2 : 1;
	argv += cmd->name ? 2 : 1;
	return run_command(cmd, argc, argv);
}
