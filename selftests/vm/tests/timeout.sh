# SPDX-License-Identifier: GPL-2.0
# Absolute deadlines, also in a time namespace
# vms: 1
# smp: 1
# load: idle
# timeout: 180
# needs: rdlock.ko timeout_test
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 3

check "the module loads" load_rdlock
run_ktap timeout_test
check "nothing keeps the module" unload_rdlock
