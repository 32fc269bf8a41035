# SPDX-License-Identifier: GPL-2.0
# A node whose core contradicts itself leaves its session as if it had died; the home's own gives the space up
# vms: 2
# load: idle
# timeout: 150
# needs: rdlock.ko rdlock holder
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

fault=/sys/kernel/debug/rdlock/fault/core_broken
shows() { rdlock space show t | grep -q "^state *$1"; }
k_is_closed() { ! grep '^agent k ' /sys/kernel/debug/rdlock/t/locks; }
lock_waits() { grep '^agent k .*waiters=1' /sys/kernel/debug/rdlock/t/locks; }

if [ "$NODE" = 0 ]; then
	plan 8
	check "the module loads" load_rdlock
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
	sync held
	: >/tmp/next
	holder hold k -w 60000 >/tmp/next 2>&1 &
	next=$!
	sync broken
	check "its lock is had when its lease is over" wait_for 30 grep -q ^held /tmp/next
	had=$(vmctl now)
	check "not before it was lost" [ "$(get lost)" -lt "$had" ]
	kill -TERM $next
	wait $next
	sync back 60
	: >/tmp/own
	holder hold k -w 60000 >/tmp/own 2>&1 &
	own=$!
	check "the home holds the lock" wait_for 10 grep -q ^held /tmp/own
	sync own
	echo 1 >$fault
	rdlock run t/k -n -- true
	wait $own
	check "the home's own core: what it held is lost" grep -q '^lost' /tmp/own
	check "and the space is given up" shows dead
	sync over 60
	# Not before the other node has looked: the module would take the home with it.
	sync gone 60
	check "nothing keeps the module" unload_rdlock
else
	plan 15
	check "the module loads" load_rdlock
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
	: >/tmp/hold
	: >/tmp/wait
	holder hold k >/tmp/hold 2>&1 &
	hold=$!
	check "it holds the lock" wait_for 10 grep -q ^held /tmp/hold
	rdlock run t/k -w 100 -- true >/tmp/wait 2>&1 &
	waiter=$!
	check "another of its users waits" wait_for 10 lock_waits
	sync held
	echo 1 >$fault
	# 75 would be that somebody has it.
	check "a try finds the core broken" expect_status 1 rdlock run t/k -n -- true
	sync broken
	wait $hold
	put lost "$(vmctl now)"
	check "the owner is told what it lost" grep -q '^lost EKEYREVOKED' /tmp/hold
	wait $waiter
	got=$?
	diag "$got: $(cat /tmp/wait)"
	check "who waits is told, too" [ "$got" = 1 ]
	check "it may come back" wait_for 30 rdlock run t/k -w 5 -- true
	# Of a lock of kind spin nothing steps before its lease is over; that step is the broken one. Of the other lock its
	# end does: the node would connect at the moment when the cable is pulled, which the rxe of 7.3 may not survive.
	check "the other lock is forgotten" wait_for 10 k_is_closed
	: >/tmp/spin
	holder hold s -k spin >/tmp/spin 2>&1 &
	spin=$!
	check "it holds another lock" wait_for 10 grep -q ^held /tmp/spin
	echo 1 >$fault
	cable_out
	wait $spin
	cable_in
	check "the owner is told that it lost it" grep -q '^lost EKEYREVOKED' /tmp/spin
	check "by that step" [ "$(cat $fault)" = 0 ]
	check "it may come back again" wait_for 30 rdlock run t/k -w 5 -- true
	sync back 60
	sync own
	sync over 60
	check "the home is gone" expect_fail rdlock run t/k -w 2 -- true
	sync gone 60
	check "nothing keeps the module" unload_rdlock
fi
