/* SPDX-License-Identifier: GPL-2.0 */
/* Inside librdlock. */
#ifndef LIB_H
#define LIB_H

#include <stddef.h>
#include <stdint.h>

/* ioctl() that returns its errno, negative, and leaves errno as it was. */
int lib_call(int fd, unsigned long cmd, void *arg);
/* A name into a zeroed field: 0 or -EINVAL, as the kernel would say. */
int lib_name(uint8_t *field, uint32_t *field_len, const void *name, size_t len);
/*
 * A structure of the caller's for the kernel to fill: zeroed, with its size in front. @size is the caller's
 * sizeof, which need not be this library's: it may have been compiled with another version of the header.
 * 0 or -EINVAL.
 */
int lib_out(void *out, size_t size);

#endif /* LIB_H */
