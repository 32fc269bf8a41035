# SPDX-License-Identifier: GPL-2.0
# Owners and waiters on two nodes are killed at random moments; then the lock is free, and nobody is left in the lists
# vms: 2
# timeout: 90 + 1000 * SCALE
# group: check soak
# needs: rdlock.ko rdlock holder
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 8

kills=$(scaled 1000)
[ "$kills" -ge 40 ] || kills=40
limit=$((60 + kills / 4))
locks=/sys/kernel/debug/rdlock/t/locks
word() { tr ' ' '\n' </tmp/storm | sed -n "s/^$1=//p"; }
nobody() { [ -r $locks ] && ! grep -E 'waiters=[1-9]|user=[1-9]|owner=[0-9]' $locks; }

check "the module loads" load_rdlock
if [ "$NODE" = 0 ]; then
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
else
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
fi
sync joined

timeout -s KILL $limit holder storm x -t 6 -n "$kills" >/tmp/storm 2>&1
status=$?
diag "$(cat /tmp/storm)"
check "every victim is gone at once" [ $status = 0 ]
check "some held the lock" [ "$(word holding)" -gt 0 ]
check "some waited for it" [ "$(word waiting)" -gt 0 ]
sync over 1400
# One at a time: a second of patience each.
for turn in 0 1; do
	if [ $turn = "$NODE" ]; then
		check "the lock is there at once" rdlock run t/x -w 1 -- true
	fi
	sync "turn$turn"
done
check "nobody is left in the list" wait_for 2 nobody
diag "$(cat $locks)"
sync looked
check "the module unloads" unload_rdlock
sync end
