/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Output: one call prints a value as text or as JSON, so the two cannot drift apart. @text is a
 * printf format with one %s, or NULL when the value is for JSON only; @key NULL: for text only, "":
 * an element of an array.
 */
#ifndef OUT_H
#define OUT_H

#include <stdbool.h>
#include <stdint.h>

#define OUT_HEX_STR	19

void out_json(bool on);
bool out_is_json(void);
/* @bracket: '{' or '['; @key NULL at the top and in arrays. */
void out_open(const char *key, char bracket);
void out_close(void);
void out_str(const char *key, const char *text, const char *value);
void out_u64(const char *key, const char *text, uint64_t value);
void out_i64(const char *key, const char *text, int64_t value);
void out_bool(const char *key, const char *text, bool value);
/* A string in JSON: a token does not fit into a JavaScript number. */
void out_hex(const char *key, const char *text, uint64_t value);
void out_text(const char *text);
/* Ends the output. 0, or 1 with a message when it could not be written. */
int out_done(void);

char *out_hex_str(uint64_t value, char buf[OUT_HEX_STR]);

#endif /* OUT_H */
