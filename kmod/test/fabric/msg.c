// SPDX-License-Identifier: GPL-2.0
/* The messages as the module has them. */
#include "../../core/msg.c"
