# SPDX-License-Identifier: GPL-2.0
# Acquiring without waiting: poll, fetch, cancel, revocation
# vms: 1
# smp: 1
# timeout: 180
# needs: rdlock.ko poll_test
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 3

check "the module loads" load_rdlock
run_ktap poll_test
check "nothing keeps the module" unload_rdlock
