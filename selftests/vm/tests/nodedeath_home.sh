# SPDX-License-Identifier: GPL-2.0
# The home dies: who held or waited at the other node is told, and nothing hangs
# vms: 2
# load: idle
# timeout: 120
# group: check soak
# needs: rdlock.ko rdlock holder
# dies: 0
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

gone() { ! kill -0 "$1" 2>/dev/null; }

if [ "$NODE" = 0 ]; then
	plan 2
	check "the module loads" load_rdlock
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
	sleep 60
	exit
fi
plan 9
check "the module loads" load_rdlock
sync made
check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
: >/tmp/held
holder hold x >/tmp/held 2>&1 &
held=$!
wait_for 10 grep -q '^held' /tmp/held
: >/tmp/waits
holder hold x >/tmp/waits 2>&1 &
waits=$!
: >/tmp/timed
holder hold x -w 10000 >/tmp/timed 2>&1 &
timed=$!
usleep 300000
vm kill 0
check "the holder is told" wait_for 10 gone $held
check "that it was cut off" grep -q 'lost EKEYREVOKED' /tmp/held
check "the waiter is told" wait_for 10 gone $waits
check "by an errno" grep -q '^failed E' /tmp/waits
wait_for 15 gone $timed
check "one with a deadline gets EHOSTUNREACH" grep -q 'failed EHOSTUNREACH\|failed EKEYREVOKED' /tmp/timed
diag "$(cat /tmp/held /tmp/waits /tmp/timed)"
check "the space can be left" timeout -s KILL 20 rdlock space leave t --force
check "and the module unloaded" timeout -s KILL 20 rmmod rdlock
