// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "out.h"

static bool json;
static bool any;		/* something was printed at this depth */
static char brackets[8];
static int depth;

void out_json(bool on)
{
	json = on;
}

bool out_is_json(void)
{
	return json;
}

static void json_string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if ((unsigned char)*s < ' ' || (unsigned char)*s > '~')
			printf("\\u%04x", (unsigned char)*s);
		else
			putchar(*s);
	}
	putchar('"');
}

static void json_key(const char *key)
{
	if (any)
		putchar(',');
	any = true;
	if (!key)
		return;
	json_string(key);
	putchar(':');
}

void out_open(const char *key, char bracket)
{
	if (!json)
		return;
	json_key(key);
	putchar(bracket);
	brackets[depth++] = bracket == '{' ? '}' : ']';
	any = false;
}

void out_close(void)
{
	if (!json)
		return;
	putchar(brackets[--depth]);
	any = true;
}

/* A format from the caller's table of one %s each; the compiler cannot see it. */
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void as_text(const char *text, const char *value)
{
	if (text)
		printf(text, value);
}

void out_str(const char *key, const char *text, const char *value)
{
	if (!json) {
		as_text(text, value);
	} else if (key) {
		json_key(*key ? key : NULL);
		json_string(value);
	}
}

static void out_bare(const char *key, const char *text, const char *value)
{
	if (!json) {
		as_text(text, value);
	} else if (key) {
		json_key(*key ? key : NULL);
		fputs(value, stdout);
	}
}

void out_u64(const char *key, const char *text, uint64_t value)
{
	char buf[24];

	snprintf(buf, sizeof(buf), "%llu", (unsigned long long)value);
	out_bare(key, text, buf);
}

void out_i64(const char *key, const char *text, int64_t value)
{
	char buf[24];

	snprintf(buf, sizeof(buf), "%lld", (long long)value);
	out_bare(key, text, buf);
}

void out_bool(const char *key, const char *text, bool value)
{
	out_bare(key, text, value ? "true" : "false");
}

char *out_hex_str(uint64_t value, char buf[OUT_HEX_STR])
{
	snprintf(buf, OUT_HEX_STR, "0x%016llx", (unsigned long long)value);
	return buf;
}

void out_hex(const char *key, const char *text, uint64_t value)
{
	char buf[OUT_HEX_STR];

	out_str(key, text, out_hex_str(value, buf));
}

void out_text(const char *text)
{
	if (!json)
		fputs(text, stdout);
}

int out_done(void)
{
	if (json)
		putchar('\n');
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	fprintf(stderr, "rdlock: cannot write the output: %s\n", strerror(errno));
	return 1;
}
