# SPDX-License-Identifier: GPL-2.0
# The fabric on one node: operations on the loopback link, fault points, the words changed by the processor
# vms: 1
# timeout: 120
# needs: rdf_test.ko
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
. /vm/fabric.sh
plan 32
fabric_loop rpc
