// SPDX-License-Identifier: GPL-2.0
/*
 * Help, made from the table of commands.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

void help_usage(const struct command *cmd)
{
	printf("rdlock %s%s%s%s%s%s", cmd->object, cmd->name ? " " : "", cmd->name ? cmd->name : "",
	       cmd->opts[0].name ? " [OPTIONS]" : "", *cmd->args ? " " : "", cmd->args);
}

static void help_opts(const struct command *cmd)
{
	const struct opt *o;
	char left[40];

	for (o = cmd->opts; o->name; o++) {
		snprintf(left, sizeof(left), "%c%c%c --%s%s%s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
			 o->letter ? ',' : ' ', o->name, o->arg ? " " : "", o->arg ? o->arg : "");
		printf("  %-26s %s\n", left, o->help);
	}
}

static void help_example(const char *example)
{
	const char *end;

	for (; example && *example; example = *end ? end + 1 : end) {
		end = example + strcspn(example, "\n");
		printf("  # %.*s\n", (int)(end - example), example);
	}
}

void help_command(const struct command *cmd)
{
	printf("%s\n\nusage: ", cmd->help);
	help_usage(cmd);
	printf("\n");
	if (cmd->opts[0].name) {
		printf("\n");
		help_opts(cmd);
	}
	if (cmd->more)
		printf("\n%s\n", cmd->more);
	printf("\nexample:\n");
	help_example(cmd->example);
}

static void help_list(const char *object)
{
	char left[32];
	size_t i;

	for (i = 0; i < nr_commands; i++) {
		if (object && strcmp(commands[i].object, object))
			continue;
		snprintf(left, sizeof(left), "%s %s", commands[i].object, commands[i].name ? commands[i].name : "");
		printf("  %-16s %s\n", left, commands[i].help);
	}
}

static void help_examples(const char *object)
{
	size_t i;

	printf("\nexamples:\n");
	for (i = 0; i < nr_commands; i++)
		if (!object || strcmp(commands[i].object, object) == 0)
			help_example(commands[i].example);
}

void help_object(const char *object)
{
	printf("usage: rdlock [-j] %s COMMAND ...\n\n", object);
	help_list(object);
	help_examples(object);
	printf("\nMore about one of them: rdlock %s COMMAND --help\n", object);
}

void help_all(void)
{
	printf("Locks and counters over RDMA, for programs on several hosts.\n\n"
	       "usage: rdlock [-j] OBJECT COMMAND ...\n\n");
	help_list(NULL);
	printf("\n  -j, --json   print JSON\n"
	       "  -h, --help   help, also of each command\n"
	       "  --version    version of this command\n\n"
	       "rdlock alone lists the spaces. In SPACE and KEY any byte can be written %%XX.\n");
	help_examples(NULL);
	printf("\nexit codes: 0 done; 1 failed; 2 usage; 75 somebody else has it; 76 a dead owner;\n"
	       "124 time-out. See rdlock(8).\n");
}

void help_table(void)
{
	const struct opt *o;
	size_t i;

	for (i = 0; i < nr_commands; i++) {
		printf("%s %s", commands[i].object, commands[i].name ? commands[i].name : "-");
		for (o = commands[i].opts; o->name; o++) {
			printf(" --%s%s", o->name, o->arg ? "=" : "");
			if (o->letter)
				printf(" -%c%s", o->letter, o->arg ? "=" : "");
		}
		printf("\n");
	}
}
