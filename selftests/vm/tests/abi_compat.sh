# SPDX-License-Identifier: GPL-2.0
# The same contract for 32-bit and x32 programs
# vms: 1
# smp: 1
# load: idle
# timeout: 300
# needs: rdlock.ko abi_test.m32 excl_test.m32 timeout_test.m32 poll_test.m32 counter_test.m32 abi_test.mx32 excl_test.mx32 timeout_test.mx32 poll_test.mx32 counter_test.mx32
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 12
# Layout is what differs here; loads run in full in the 64-bit scenarios.
export SCALE=0.02

check "the module loads" load_rdlock
run_ktap abi_test.m32
run_ktap excl_test.m32
run_ktap timeout_test.m32
run_ktap poll_test.m32
run_ktap counter_test.m32
run_ktap abi_test.mx32
run_ktap excl_test.mx32
run_ktap timeout_test.mx32
run_ktap poll_test.mx32
run_ktap counter_test.mx32
check "nothing keeps the module" unload_rdlock
