# SPDX-License-Identifier: GPL-2.0
# The programs of the home once more on a node that reaches its locks over the wire
# vms: 2
# timeout: 900 + 2400 * SCALE
# needs: rdlock.ko join_test excl_test timeout_test signal_test fds_test poll_test counter_test value_test
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

if [ "$NODE" = 0 ]; then
	plan 3
	check "the module loads" load_rdlock
	# Any program makes the space.
	run_ktap excl_test two_keys_are_two_locks
	sync created
	sync done 3000
	check "nothing keeps the module" unload_rdlock
else
	export RDLOCK_NODE="$NODE"
	# The home has run the same loads.
	SCALE=$(awk -v s="$SCALE" 'BEGIN { print s < 1 ? s * 0.4 : s }')
	plan 10
	check "the module loads" load_rdlock
	sync created
	run_ktap join_test
	run_ktap excl_test
	run_ktap timeout_test
	run_ktap fds_test
	run_ktap poll_test
	run_ktap counter_test
	run_ktap value_test
	run_ktap signal_test
	check "nothing keeps the module" unload_rdlock
	sync done 3000
fi
