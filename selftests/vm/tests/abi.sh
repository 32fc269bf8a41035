# SPDX-License-Identifier: GPL-2.0
# The ioctl contract: called rightly and in every wrong way, bad values, users and namespaces, poll, deadlines
# vms: 1
# smp: 1
# timeout: 400
# needs: rdlock.ko abi_test value_test perm_test poll_test timeout_test
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 15
each_program abi_test value_test perm_test poll_test timeout_test
