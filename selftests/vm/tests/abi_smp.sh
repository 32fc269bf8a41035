# SPDX-License-Identifier: GPL-2.0
# The same on two processors: one holder at a time, whose a lock is, alarms and kills, counters, robust locks
# vms: 1
# smp: 2
# timeout: 700 + 1500 * SCALE
# needs: rdlock.ko excl_test fds_test counter_test robust_test signal_test
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 15
each_program excl_test fds_test counter_test robust_test signal_test
