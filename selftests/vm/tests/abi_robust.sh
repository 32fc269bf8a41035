# SPDX-License-Identifier: GPL-2.0
# Robust locks of one node: a death is told until it is repaired, a lock that was given up stays so until it is reset
# vms: 1
# smp: 2
# timeout: 120
# needs: rdlock.ko robust_test
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 3

check "the module loads" load_rdlock
run_ktap robust_test
check "nothing keeps the module" unload_rdlock
