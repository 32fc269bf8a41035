# SPDX-License-Identifier: GPL-2.0
# One holder at a time among processes and threads of one node
# vms: 1
# smp: 2
# timeout: 120
# needs: rdlock.ko excl_test
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 3

check "the module loads" load_rdlock
run_ktap excl_test
check "nothing keeps the module" unload_rdlock
