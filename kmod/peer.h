/* SPDX-License-Identifier: GPL-2.0 */
/* Messages between nodes: whose turn it is (GRANT), who comes next (HINT), and a try's question (PROBE, ANSWER). */
#ifndef RDLOCK_PEER_H
#define RDLOCK_PEER_H

#include "core/msg.h"

struct rdlock_peer;
struct rdlock_space;

static inline bool rdlock_peer_is(u8 type)
{
	return type >= RDL_MSG_GRANT && type <= RDL_MSG_ANSWER;
}

/* To node @to, not this one. One that cannot be sent is lost. Context: any. */
void rdlock_peer_send(struct rdlock_space *space, struct rdl_msg *msg, u32 len, u16 to);
/* At the home: a member's message, to another or to the home itself. Context: softirq. */
void rdlock_peer_relay(struct rdlock_peer *peer, const struct rdl_msg *msg, u32 len);
/* One for this node. Context: softirq. */
void rdlock_peer_recv(struct rdlock_space *space, const struct rdl_msg *msg);

#endif /* RDLOCK_PEER_H */
