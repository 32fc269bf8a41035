# SPDX-License-Identifier: GPL-2.0
# Users, groups, capabilities, user and network namespaces
# vms: 1
# smp: 1
# timeout: 120
# needs: rdlock.ko perm_test
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 3

check "the module loads" load_rdlock
run_ktap perm_test
check "nothing keeps the module" unload_rdlock
