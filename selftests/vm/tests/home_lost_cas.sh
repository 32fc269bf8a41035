# SPDX-License-Identifier: GPL-2.0
# The home's own compare-and-swap of a recovery is lost without a trace: the lock is recovered all the same
# vms: 2
# timeout: 100
# needs: rdlock.ko rdlock holder
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

fault=/sys/kernel/debug/rdlock/fault
locks=/sys/kernel/debug/rdlock/t/locks
recovers() { grep -q '^lock k .*recovering' $locks; }
recovered() { ! recovers; }
fired() { [ "$(cat $fault/cas_lost)" = 0 ]; }

if [ "$NODE" = 0 ]; then
	plan 8
	check "the module loads" load_rdlock
	check "the home makes the space" rdlock space create t "$IP" --id 0 --kind spin
	sync made
	: >/tmp/held
	holder hold k >/tmp/held 2>&1 &
	held=$!
	check "the home holds the lock" wait_for 10 grep -q '^held' /tmp/held
	sync held
	sync opened
	# Its FREEZE waits at the member: time to reach the second compare-and-swap, which writes the new word.
	echo 1 >$fault/op_ambig
	kill -TERM $held
	wait $held
	check "the lock is being recovered" wait_for 3 recovers
	echo 1 >$fault/cas_lost
	check "the new word is written" wait_for 10 recovered
	check "on the second try" fired
	diag "$(cat $locks)"
	check "the home gets the lock" rdlock run t/k -w 8 -- true
	diag "$(cat $locks)"
	sync got
	sync "done" 30
	check "nothing keeps the module" unload_rdlock
else
	plan 5
	check "the module loads" load_rdlock
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
	sync held
	: >/tmp/waits
	holder hold k -w 1500 >/tmp/waits 2>&1 &
	waits=$!
	check "the key is open" wait_for 10 grep '^agent k .*waiters=1' $locks
	echo 2500 >$fault/recv_hold_ms
	echo 1 >$fault/recv_hold
	sync opened
	# It may have been granted the lock meanwhile.
	sleep 4
	kill -TERM $waits
	wait $waits
	sync got
	check "and the member" rdlock run t/k -w 8 -- true
	sync "done" 30
	check "nothing keeps the module" unload_rdlock
fi
