# SPDX-License-Identifier: GPL-2.0
# Alarms and SIGKILL at random moments
# vms: 1
# smp: 2
# load: idle
# timeout: 900
# needs: rdlock.ko signal_test
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 3

check "the module loads" load_rdlock
run_ktap signal_test
check "nothing keeps the module" unload_rdlock
