# SPDX-License-Identifier: GPL-2.0
# Bad values: each a documented errno at once, nothing left behind
# vms: 1
# smp: 1
# timeout: 120
# needs: rdlock.ko value_test
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 3

check "the module loads" load_rdlock
run_ktap value_test
check "nothing keeps the module" unload_rdlock
