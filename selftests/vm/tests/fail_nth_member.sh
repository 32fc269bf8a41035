# SPDX-License-Identifier: GPL-2.0
# The same on a node that reaches its locks over the wire; and no key stays open at the home
# kernels: debug
# vms: 2
# timeout: 300
# needs: rdlock.ko rdlock_fail.ko rdlock fail_nth_test
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

no_lock_open() { lacks '^lock ' /sys/kernel/debug/rdlock/t/locks; }

if [ "$NODE" = 0 ]; then
	plan 5
	check "the module loads" load_rdlock
	check "the home makes the space" rdlock space create t "$IP" --id 0
	check "and another one" rdlock space create v "$IP" --id 0
	sync made
	sync swept 2000
	check "no key is open" wait_for 10 no_lock_open
	sync seen
	sync left
	check "nothing keeps the module" unload_rdlock
else
	export RDLOCK_NODE="$NODE"
	plan 5
	check "the module loads" load_rdlock
	sync made
	run_ktap fail_nth_test 'node_*' 'any_*'
	check "the caller of the exported symbols loads" modprobe rdlock_fail
	run_ktap fail_nth_test 'kernel_*'
	sync swept 2000
	sync seen
	check "nothing keeps the modules" rmmod rdlock_fail rdlock
	sync left
fi
