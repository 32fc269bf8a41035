# SPDX-License-Identifier: GPL-2.0
# Torture while a node goes dark, for less than its lease and for more: who was cut off must not be inside with the heir
# vms: 2
# timeout: 300
# group: check soak
# needs: rdlock.ko rdlock_torture.ko rdlock
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 8

peer=$((1 - NODE))
result=/sys/kernel/debug/rdlock_torture/result
word() { tr ' ' '\n' </tmp/result | sed -n "s/^$1=//p"; }
over() { ! grep -q RUNNING $result; }
dark() { netem on "loss 100%"; usleep "$1"; netem off; }
between() { echo "$1 <= $2 <= $3"; [ "$1" -le "$2" ] && [ "$2" -le "$3" ]; }

check "the module loads" load_rdlock
if [ "$NODE" = 0 ]; then
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
else
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
fi
sync joined
check "torture begins" modprobe rdlock_torture key=k hold_us=2000 seconds=20
if [ "$NODE" = 1 ]; then
	sleep 2
	dark 1000000
	sleep 3
	dark 8000000
fi
wait_for 60 over
cat $result >/tmp/result
diag "$(cat /tmp/result)"
check "no second owner, no old token" grep -q 'rdlock_torture: PASS' /tmp/result
check "the threads end" timeout -s KILL 20 rmmod rdlock_torture
put "done$NODE" "$(word "done")"
put "unsure$NODE" $(($(word unknown) + $(word revoked)))
sync over 60
if [ "$NODE" = 1 ]; then
	check "the node in the dark lost the lock" [ "$(word revoked)" -gt 0 ]
else
	check "and not the home" [ "$(word revoked)" = 0 ]
fi
low=$(($(word "done") + $(get "done$peer")))
high=$((low + $(word unknown) + $(word revoked) + $(get "unsure$peer")))
check "the count is the sum, but for what is unknown" between $low "$(rdlock counter get t/k:1)" $high
sync counted
check "the module unloads" timeout -s KILL 20 rmmod rdlock
