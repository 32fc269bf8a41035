# SPDX-License-Identifier: GPL-2.0
# A device that neither does nor gives up what was posted costs seconds, not the lock, and rmmod comes to an end
# vms: 2
# load: idle
# timeout: 120
# group: check soak
# needs: rdlock.ko rdlock holder
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

fault=/sys/kernel/debug/rdlock/fault
stat() { awk -v n="$1" '$1 == n { print $2 }' /sys/kernel/debug/rdlock/t/stats; }
stalled() { [ "$(stat fabric_stalled)" -ge "$1" ]; }

plan 6
check "the module loads" load_rdlock
if [ "$NODE" = 0 ]; then
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
else
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
fi
sync joined
# The watch needs five to six seconds. In turn: a home whose own pair stalls lets the others wait.
own()
{
	echo 1 >$fault/op_stall
	check "a lock whose first operation is swallowed" rdlock run "t/own$NODE" -w 15 -- true
	check "the link was ended for it" stalled 1
	check "and another lock of the same link" rdlock run "t/next$NODE" -w 5 -- true
}
[ "$NODE" != 0 ] || own
sync home_own 60
[ "$NODE" != 1 ] || own
sync "done" 60
if [ "$NODE" = 0 ]; then
	: >/tmp/last
	holder hold last >/tmp/last 2>&1 &
	last=$!
	wait_for 10 grep -q '^held' /tmp/last
	kill -KILL $last
	wait $last
	echo 1 >$fault/exec_stall
fi
check "the module leaves" timeout -s KILL 15 rmmod rdlock
