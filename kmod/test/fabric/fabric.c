// SPDX-License-Identifier: GPL-2.0
/* The verbs fabric as the module has it, in one object. */
#include "../../fabric/verbs_dev.c"
#include "../../fabric/verbs_link.c"
#include "../../fabric/verbs_listen.c"
#include "../../fabric/verbs_loop.c"
#include "../../fabric/verbs_mem.c"
#include "../../fabric/verbs_msg.c"
#include "../../fabric/verbs_wr.c"
#include "../../fabric/fault.c"
