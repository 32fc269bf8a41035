# SPDX-License-Identifier: GPL-2.0
# Every call at the home, and every exported symbol, with each of its allocations failing in turn: no trace is left
# kernels: debug
# vms: 1
# timeout: 300
# needs: rdlock.ko rdlock_fail.ko fail_nth_test
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 6

check "the module loads" load_rdlock
run_ktap fail_nth_test 'control_*'
run_ktap fail_nth_test 'home_*' 'any_*'
check "the caller of the exported symbols loads" modprobe rdlock_fail
run_ktap fail_nth_test 'kernel_*'
check "nothing keeps the modules" rmmod rdlock_fail rdlock
