// SPDX-License-Identifier: GPL-2.0
/*
 * Command lines and the words in them.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "out.h"

int usage_error(const struct args *a, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	fputs("rdlock: ", stderr);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputs("\n", stderr);
	if (a && a->cmd)
		fprintf(stderr, "help: rdlock %s%s%s --help\n", a->cmd->object, a->cmd->name ? " " : "",
			a->cmd->name ? a->cmd->name : "");
	else
		fputs("help: rdlock help\n", stderr);
	return EXIT_USAGE;
}

const char *opt_val(const struct args *a, const char *name)
{
	int i;

	for (i = 0; a->cmd->opts[i].name; i++)
		if (strcmp(a->cmd->opts[i].name, name) == 0)
			return a->val[i];
	/* A command asks for an option that its line of the table does not have. */
	abort();
}

static int find_long(const struct command *cmd, const char *name, size_t len)
{
	int i;

	for (i = 0; cmd->opts[i].name; i++)
		if (strlen(cmd->opts[i].name) == len && strncmp(cmd->opts[i].name, name, len) == 0)
			return i;
	return -1;
}

static int find_letter(const struct command *cmd, char letter)
{
	int i;

	for (i = 0; cmd->opts[i].name; i++)
		if (cmd->opts[i].letter == letter)
			return i;
	return -1;
}

/* --name, --name=VALUE, --name VALUE. Return: 0, or EXIT_USAGE; -1: help was asked for. */
static int parse_long(struct args *a, int argc, char **argv, int *i)
{
	const char *name = argv[*i] + 2;
	const char *value = strchr(name, '=');
	int n = find_long(a->cmd, name, value ? (size_t)(value - name) : strlen(name));

	if (strcmp(name, "help") == 0)
		return -1;
	if (strcmp(name, "json") == 0) {
		out_json(true);
		return 0;
	}
	if (n < 0)
		return usage_error(a, "unknown option '%s'", argv[*i]);
	if (!a->cmd->opts[n].arg) {
		if (value)
			return usage_error(a, "option --%s takes no value", a->cmd->opts[n].name);
		a->val[n] = "";
		return 0;
	}
	if (!value) {
		if (*i + 1 >= argc)
			return usage_error(a, "option --%s needs a value", name);
		value = argv[++*i];
	} else {
		value++;
	}
	a->val[n] = value;
	return 0;
}

/* -n, -n VALUE, -nVALUE, and several in one word. */
static int parse_short(struct args *a, int argc, char **argv, int *i)
{
	const char *p;
	int n;

	for (p = argv[*i] + 1; *p; p++) {
		n = find_letter(a->cmd, *p);
		if (n < 0 && *p == 'h')
			return -1;
		if (n < 0 && *p == 'j') {
			out_json(true);
			continue;
		}
		if (n < 0)
			return usage_error(a, "unknown option '-%c'", *p);
		if (!a->cmd->opts[n].arg) {
			a->val[n] = "";
			continue;
		}
		if (p[1]) {
			a->val[n] = p + 1;
		} else {
			if (*i + 1 >= argc)
				return usage_error(a, "option -%c needs a value", *p);
			a->val[n] = argv[++*i];
		}
		break;
	}
	return 0;
}

static bool is_option(const char *word)
{
	/* "-5" is a number, and "-" a word. */
	return word[0] == '-' && word[1] && !isdigit((unsigned char)word[1]);
}

/* Return: 0, EXIT_USAGE, or -1: print help. */
int parse_args(const struct command *cmd, int argc, char **argv, struct args *a)
{
	bool words_only = false;
	int i, err;

	memset(a, 0, sizeof(*a));
	a->cmd = cmd;
	for (i = 0; i < argc; i++) {
		if (!words_only && strcmp(argv[i], "--") == 0) {
			words_only = true;
			if (!cmd->rest)
				continue;
			i++;
			break;
		}
		if (!words_only && is_option(argv[i])) {
			if (argv[i][1] == '-')
				err = parse_long(a, argc, argv, &i);
			else
				err = parse_short(a, argc, argv, &i);
			if (err)
				return err;
			continue;
		}
		if (a->npos == cmd->max_pos) {
			if (cmd->rest)
				break;
			return usage_error(a, "unexpected word '%s'", argv[i]);
		}
		a->pos[a->npos++] = argv[i];
	}
	if (cmd->rest)
		a->rest = argv + i;
	if (a->npos < cmd->min_pos)
		return usage_error(a, "something is missing: rdlock %s%s%s %s", cmd->object,
				   cmd->name ? " " : "", cmd->name ? cmd->name : "", cmd->args);
	if (cmd->rest && !*a->rest)
		return usage_error(a, "no command to run");
	return 0;
}

static int parse_name(const struct args *a, const char *what, const char *text, size_t len,
		      unsigned char *name, int *name_len)
{
	int n = rdlock_name_parse(text, len, name);

	if (n == -ENODATA)
		return usage_error(a, "the %s is empty", what);
	if (n == -ENAMETOOLONG)
		return usage_error(a, "the %s is longer than %d bytes", what, RDLOCK_NAME_MAX);
	if (n < 0)
		return usage_error(a, "the %s has a %% that two hexadecimal digits do not follow; write %%25 for %%",
				   what);
	*name_len = n;
	return 0;
}

static int parse_space_part(const struct args *a, const char *text, size_t len, struct target *t)
{
	int err = parse_name(a, "space's name", text, len, t->space, &t->space_len);

	if (!err)
		rdlock_name_format(t->space, t->space_len, "/", t->space_text);
	return err;
}

int parse_space(const struct args *a, const char *text, struct target *t)
{
	memset(t, 0, sizeof(*t));
	t->cell = -1;
	if (strchr(text, '/'))
		return usage_error(a, "a space's name, not SPACE/KEY, is wanted: '%s'; write %%2F for a / in it", text);
	return parse_space_part(a, text, strlen(text), t);
}

int parse_key(const struct args *a, const char *text, bool with_cell, struct target *t)
{
	const char *slash = strchr(text, '/');
	const char *end, *colon;
	uint64_t cell;
	int err;

	memset(t, 0, sizeof(*t));
	t->cell = -1;
	if (!slash)
		return usage_error(a, "SPACE/KEY is wanted, and '%s' has no /", text);
	err = parse_space_part(a, text, slash - text, t);
	if (err)
		return err;
	end = slash + strlen(slash);
	colon = strrchr(slash, ':');
	if (with_cell && colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1)) {
		err = parse_u64(a, "cell", colon + 1, 0xffffffff, &cell);
		if (err)
			return err;
		t->cell = cell;
		end = colon;
	}
	err = parse_name(a, "key", slash + 1, end - slash - 1, t->key, &t->key_len);
	if (!err)
		rdlock_name_format(t->key, t->key_len, with_cell ? ":" : NULL, t->key_text);
	return err;
}

int parse_number(const struct args *a, const char *what, const char *text, uint64_t *value)
{
	const char *digits = text + (*text == '-' || *text == '+');
	int base = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X') ? 16 : 10;
	char *end;

	/* Zeros in front, as of a date or a padded column, do not make a number octal. */
	errno = 0;
	*value = *text == '-' ? (uint64_t)strtoll(text, &end, base) : strtoull(text, &end, base);
	if (errno == ERANGE)
		return usage_error(a, "%s: '%s' does not fit into 64 bits", what, text);
	if (end == text || *end || isspace((unsigned char)*text))
		return usage_error(a, "%s: '%s' is not a number", what, text);
	return 0;
}

int parse_u64(const struct args *a, const char *what, const char *text, uint64_t max, uint64_t *value)
{
	int err;

	if (*text == '-')
		return usage_error(a, "%s: '%s' is negative", what, text);
	err = parse_number(a, what, text, value);
	if (err)
		return err;
	if (*value > max)
		return usage_error(a, "%s: '%s' is more than %llu", what, text, (unsigned long long)max);
	return 0;
}

int parse_wait(const struct args *a, const char *text, uint64_t *deadline)
{
	double seconds;
	char *end;

	if (strcmp(text, "inf") == 0) {
		*deadline = RDLOCK_NO_DEADLINE;
		return 0;
	}
	seconds = strtod(text, &end);
	if (end == text || *end || !(seconds >= 0))
		return usage_error(a, "'%s' is not a number of seconds", text);
	*deadline = rdlock_deadline_in(seconds);
	return 0;
}
