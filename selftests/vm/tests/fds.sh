# SPDX-License-Identifier: GPL-2.0
# The owner is the open file description: close, fork, dup, SCM_RIGHTS, exec
# vms: 1
# smp: 2
# timeout: 240
# needs: rdlock.ko fds_test
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 3

check "the module loads" load_rdlock
run_ktap fds_test
check "nothing keeps the module" unload_rdlock
