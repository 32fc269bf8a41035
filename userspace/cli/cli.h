/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rdlock command: one table of commands (main.c), from which parsing, help, completion and its tests are made.
 */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rdlock.h"

/* Exit codes; of `run` also those of the command. */
#define EXIT_ERROR	1
#define EXIT_USAGE	2
#define EXIT_BUSY	75	/* EX_TEMPFAIL: somebody else has it */
#define EXIT_DIED	76	/* an owner of the robust lock died, and the command was not run */
#define EXIT_TIMEOUT	124	/* as timeout(1) */
#define EXIT_CANNOT_RUN	126
#define EXIT_NOT_FOUND	127

#define MAX_OPTS	16
#define MAX_POS		8

struct args;

/**
 * struct opt - an option of a command
 * @name: without its two dashes
 * @letter: short form, 0: none
 * @arg: what its value is called in help, NULL: it has none
 * @help: one line
 */
struct opt {
	const char *name;
	char letter;
	const char *arg;
	const char *help;
};

/**
 * struct command - a line of the table
 * @object: first word
 * @name: second word; NULL: there is none
 * @args: what follows, for help
 * @help: one line
 * @more: paragraphs, NULL: none
 * @example: lines, without the prompt
 * @min_pos, @max_pos: how many words it takes
 * @rest: what comes after these words (or after --) is a command to run
 * @fn: does it; exit code
 * @opts: ends with an opt without a name
 */
struct command {
	const char *object;
	const char *name;
	const char *args;
	const char *help;
	const char *more;
	const char *example;
	int min_pos;
	int max_pos;
	bool rest;
	int (*fn)(const struct args *a);
	struct opt opts[MAX_OPTS];
};

/**
 * struct args - a parsed command line
 * @cmd: the command
 * @val: value of option n of the command; "" when it takes none, NULL when it was not given
 * @pos: words
 * @npos: how many
 * @rest: command to run, NULL-terminated
 */
struct args {
	const struct command *cmd;
	const char *val[MAX_OPTS];
	const char *pos[MAX_POS];
	int npos;
	char **rest;
};

/**
 * struct target - SPACE or SPACE/KEY or SPACE/KEY:CELL
 * @space, @key: bytes; @space_len, @key_len: how many
 * @space_text, @key_text: the same for messages
 * @cell: -1: none was given
 */
struct target {
	unsigned char space[RDLOCK_NAME_MAX];
	unsigned char key[RDLOCK_NAME_MAX];
	int space_len;
	int key_len;
	char space_text[RDLOCK_NAME_STR];
	char key_text[RDLOCK_NAME_STR];
	long cell;
};

extern const struct command commands[];
extern const size_t nr_commands;

/* args.c */
int parse_args(const struct command *cmd, int argc, char **argv, struct args *a);
/* The value of option --@name, NULL when it was not given. */
const char *opt_val(const struct args *a, const char *name);
/* Message and usage to stderr. Return: EXIT_USAGE */
int usage_error(const struct args *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* These return 0 or, after a message, EXIT_USAGE. */
int parse_space(const struct args *a, const char *text, struct target *t);
int parse_key(const struct args *a, const char *text, bool with_cell, struct target *t);
int parse_u64(const struct args *a, const char *what, const char *text, uint64_t max, uint64_t *value);
/* Also negative ones, modulo 2^64. */
int parse_number(const struct args *a, const char *what, const char *text, uint64_t *value);
/* Seconds, fractions allowed, from now. */
int parse_wait(const struct args *a, const char *text, uint64_t *deadline);

/* help.c */
void help_usage(const struct command *cmd);
void help_command(const struct command *cmd);
void help_object(const char *object);
void help_all(void);
/* The table for scripts: OBJECT COMMAND OPTIONS..., "-" for none. */
void help_table(void);

/* common.c */
/* Message with what to do, to stderr. Return: exit code for -@err. */
int fail(int cmd, int err, const struct target *t);
int open_dev(void);				/* fd or, after a message, -exit code */
int get_info(struct rdlock_info *info);		/* 0 or, after a message, exit code */
int open_space(const struct target *t);		/* likewise */
const char *kind_word(unsigned int kind);
/* NULL: the default. 0, or EXIT_USAGE after a message. */
int parse_kind(const struct args *a, const char *text, unsigned int *kind);
const char *wait_word(unsigned int wait);
int parse_waiting(const struct args *a, const char *text, uint32_t *wait);	/* likewise */

/* The commands. */
int cmd_space_create(const struct args *a);
int cmd_space_join(const struct args *a);
int cmd_space_leave(const struct args *a);
int cmd_space_destroy(const struct args *a);
int cmd_space_list(const struct args *a);
int cmd_space_show(const struct args *a);
int cmd_run(const struct args *a);
int cmd_counter_add(const struct args *a);
int cmd_counter_get(const struct args *a);
int cmd_counter_cas(const struct args *a);
int cmd_counter_show(const struct args *a);
int cmd_lock_test(const struct args *a);
int cmd_lock_reset(const struct args *a);
int cmd_bench_kinds(const struct args *a);
int cmd_info(const struct args *a);

#endif /* CLI_H */
