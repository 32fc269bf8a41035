/* SPDX-License-Identifier: GPL-2.0 */
/*
 * /dev/rdlock: the ioctl interface of uapi/linux/rdlock.h.
 */
#ifndef RDLOCK_DEV_H
#define RDLOCK_DEV_H

/* Registered last and removed first: from then on, and until then, programs come in. */
int rdlock_dev_init(void);
void rdlock_dev_exit(void);

#endif /* RDLOCK_DEV_H */
