# SPDX-License-Identifier: GPL-2.0
# The fabric on one node: operations on the loopback pair, the probe, fault points
# vms: 1
# timeout: 120
# needs: rdf_test.ko
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
. /vm/fabric.sh
plan 46

wait_for 10 rxe_active
check "the test module is there for the probe" modprobe rdf_test

# The probe's faults first: a good verdict is kept.
fault probe_eopnotsupp 1
check "a device that posts no atomics is refused" fails_with "Operation not supported" cmd home "$IP" 4444
fault probe_swap 1
check "a device that answers with swapped bytes is refused" fails_with "Operation not supported" cmd home "$IP" 4444
fault probe_reg 1
check "so is one that takes no memory for them" fails_with "Operation not supported" cmd home "$IP" 4444
check "after a refusal nothing is left behind" test "$(val dom)" = none
cmd backend auto
fault probe_swap 1
check "unless the processor may do it" cmd home "$IP" 4444
check "which then does" is backend rpc
cmd close
check "a device that passes does it itself" cmd home "$IP" 4444
check "and nobody else" is backend nic
cmd close
cmd backend nic
fault no_atomics 1
check "a good verdict is no help when the atomics are gone" fails_with "Operation not supported" cmd home "$IP" 4444

fabric_loop nic
