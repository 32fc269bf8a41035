/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fault points. Each is a file /sys/kernel/debug/rdlock/fault/<name> that says how many more times it fires, and for
 * those that delay, <name>_ms says for how long. X(name, meaning)
 */
#ifndef RDF_FAULT_LIST_H
#define RDF_FAULT_LIST_H

#define RDF_FAULTS(X) \
	X(op_ambig, "an operation that was done is reported as ambiguous, and its link dies") \
	X(cas_lost, "a compare-and-swap is not done and reported as ambiguous, and its link dies") \
	X(no_result, "nic: an atomic completes well, and its result was not stored") \
	X(op_stall, "an operation that was done is never reported until its link ends, then as ambiguous") \
	X(exec_stall, "the end of a registration or an invalidation is not seen until the loopback pair ends") \
	X(op_delay, "a completed operation is reported op_delay_ms later") \
	X(post_fail, "posting a one-sided operation fails") \
	X(connect_hold, "the active side waits connect_hold_ms before it sends its request") \
	X(accept_hold, "the passive side waits accept_hold_ms before it answers a request") \
	X(recv_hold, "received messages wait recv_hold_ms before their owner sees them") \
	X(welcome_lost, "home: a node that is back is not told so, and its new link dies") \
	X(claim_lost, "the answer to a FREEZE is not sent") \
	X(epochs_end, "home: a recovery finds that the lock has had all its epochs") \
	X(core_broken, "a step of a lock's protocol is taken for one that contradicts itself") \
	X(probe_eopnotsupp, "the device refuses to post an atomic when it is probed") \
	X(probe_swap, "the device's answer to a probed atomic has its bytes swapped") \
	X(probe_reg, "the device refuses to register memory for atomics when it is probed") \
	X(no_atomics, "the device has no atomics, whatever an earlier probe said") \
	X(reply_lost, "rpc: a request is carried out, and its link dies before the answer is sent")

#endif /* RDF_FAULT_LIST_H */
