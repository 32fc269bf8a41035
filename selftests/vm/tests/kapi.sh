# SPDX-License-Identifier: GPL-2.0
# Kernel code does with a lock at awkward moments what it may, at the home and elsewhere
# vms: 2
# load: idle
# timeout: 120
# needs: rdlock.ko rdlock_kapi.ko rdlock
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

# its TEST: a module that cannot be loaded if the test fails.
its()
{
	check "$1" modprobe rdlock_kapi test="$1"
	rmmod rdlock_kapi 2>/dev/null || diag "$(dmesg | grep rdlock_kapi:)"
}

plan "$([ "$NODE" = 0 ] && echo 5 || echo 4)"
both_join
[ "$NODE" = 0 ] || sync home
its close_asleep
[ "$NODE" = 1 ] || sync home
[ "$NODE" = 1 ] || check "a test that there is not fails" expect_fail modprobe rdlock_kapi test=none
sync tested
check "the module unloads" wait_for 5 unload_rdlock
