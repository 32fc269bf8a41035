# SPDX-License-Identifier: GPL-2.0
# The fabric between two nodes: links, messages, atomics, refusals, ends; the words changed by the home's processor
# vms: 2
# timeout: 240
# needs: rdf_test.ko
# shellcheck shell=sh disable=SC1091,SC2015
. /vm/lib.sh
. /vm/fabric.sh
plan $((NODE == 0 ? 60 : 66))
fabric_pair rpc
