# SPDX-License-Identifier: GPL-2.0
# Counters, exact sums, cells, persistence
# vms: 1
# smp: 2
# timeout: 240 + 900 * SCALE
# needs: rdlock.ko counter_test
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 3

check "the module loads" load_rdlock
run_ktap counter_test
check "nothing keeps the module" unload_rdlock
