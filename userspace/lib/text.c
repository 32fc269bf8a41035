// SPDX-License-Identifier: GPL-2.0
/*
 * Deadlines, addresses and names: between people's form and the kernel's.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rdlock.h"

#define NSEC_PER_SEC	1000000000ULL

uint64_t rdlock_deadline_in(double seconds)
{
	struct timespec ts;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
	if (!(seconds > 0))
		return now;
	/* A century is for ever, and far from what overflows. */
	if (seconds > 3.2e9)
		return RDLOCK_NO_DEADLINE;
	return now + (uint64_t)(seconds * NSEC_PER_SEC);
}

static int parse_port(const char *text, __be16 *port)
{
	unsigned long value;
	char *end;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	value = strtoul(text, &end, 10);
	if (*end || !value || value > 65535)
		return -EINVAL;
	*port = htons(value);
	return 0;
}

static int parse_v6(char *text, struct rdlock_addr *addr)
{
	struct in6_addr in6;
	char *zone = strchr(text, '%');
	char *end;

	if (zone)
		*zone++ = 0;
	if (inet_pton(AF_INET6, text, &in6) != 1)
		return -EINVAL;
	/* Only a link-local address needs, and may have, a zone. */
	if (!zone != !IN6_IS_ADDR_LINKLOCAL(&in6))
		return -EINVAL;
	if (zone) {
		addr->scope_id = if_nametoindex(zone);
		if (!addr->scope_id && isdigit((unsigned char)*zone)) {
			addr->scope_id = strtoul(zone, &end, 10);
			if (*end)
				return -EINVAL;
		}
		if (!addr->scope_id)
			return -EINVAL;
	}
	addr->family = AF_INET6;
	memcpy(addr->addr, &in6, sizeof(in6));
	return 0;
}

static int parse_addr(char *text, struct rdlock_addr *addr)
{
	char *colon = strchr(text, ':');
	struct in_addr in;
	char *end;

	if (*text == '[') {
		end = strchr(text, ']');
		if (!end)
			return -EINVAL;
		*end++ = 0;
		if (*end == ':') {
			if (parse_port(end + 1, &addr->port))
				return -EINVAL;
		} else if (*end) {
			return -EINVAL;
		}
		return parse_v6(text + 1, addr);
	}
	if (colon && strchr(colon + 1, ':'))
		return parse_v6(text, addr);
	if (colon) {
		*colon = 0;
		if (parse_port(colon + 1, &addr->port))
			return -EINVAL;
	}
	if (inet_pton(AF_INET, text, &in) != 1)
		return -EINVAL;
	addr->family = AF_INET;
	memcpy(addr->addr, &in, sizeof(in));
	return 0;
}

int rdlock_addr_parse(const char *text, struct rdlock_addr *addr)
{
	struct rdlock_addr out = {};
	char buf[RDLOCK_ADDR_STR];
	int saved = errno;
	int err;

	if (strlen(text) >= sizeof(buf))
		return -EINVAL;
	strcpy(buf, text);
	err = parse_addr(buf, &out);
	errno = saved;
	if (!err)
		*addr = out;
	return err;
}

char *rdlock_addr_format(const struct rdlock_addr *addr, char buf[RDLOCK_ADDR_STR])
{
	unsigned int port = addr->port ? ntohs(addr->port) : RDLOCK_PORT;
	char ip[INET6_ADDRSTRLEN], zone[IF_NAMESIZE] = "";
	int saved = errno;

	if (addr->family == AF_INET) {
		inet_ntop(AF_INET, addr->addr, ip, sizeof(ip));
		snprintf(buf, RDLOCK_ADDR_STR, "%s:%u", ip, port);
	} else if (addr->family == AF_INET6) {
		inet_ntop(AF_INET6, addr->addr, ip, sizeof(ip));
		if (addr->scope_id && !if_indextoname(addr->scope_id, zone))
			snprintf(zone, sizeof(zone), "%u", addr->scope_id);
		snprintf(buf, RDLOCK_ADDR_STR, "[%s%s%s]:%u", ip, *zone ? "%" : "", zone, port);
	} else {
		strcpy(buf, "-");
	}
	errno = saved;
	return buf;
}

static int hex_digit(unsigned char c)
{
	if (isdigit(c))
		return c - '0';
	c = tolower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int rdlock_name_parse(const char *text, size_t len, unsigned char name[RDLOCK_NAME_MAX])
{
	size_t i, n = 0;
	int c, low;

	for (i = 0; i < len; i++) {
		c = (unsigned char)text[i];
		if (c == '%') {
			if (len - i < 3)
				return -EINVAL;
			c = hex_digit(text[i + 1]);
			low = hex_digit(text[i + 2]);
			if (c < 0 || low < 0)
				return -EINVAL;
			c = c << 4 | low;
			i += 2;
		}
		if (n == RDLOCK_NAME_MAX)
			return -ENAMETOOLONG;
		name[n++] = c;
	}
	return n ? (int)n : -ENODATA;
}

char *rdlock_name_format(const void *name, size_t len, const char *special,
			 char buf[RDLOCK_NAME_STR])
{
	const unsigned char *p = name;
	char *to = buf;
	size_t i;

	if (len > RDLOCK_NAME_MAX)
		len = RDLOCK_NAME_MAX;
	for (i = 0; i < len; i++) {
		if (p[i] > ' ' && p[i] < 0x7f && p[i] != '%' && !(special && strchr(special, p[i])))
			*to++ = p[i];
		else
			to += sprintf(to, "%%%02X", p[i]);
	}
	*to = 0;
	return buf;
}
