# SPDX-License-Identifier: GPL-2.0
# The negative control: torture that leaves the lock out must be found out, the same torture with the lock must not
# vms: 2
# timeout: 180
# needs: rdlock.ko rdlock_torture.ko rdlock
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 9

result=/sys/kernel/debug/rdlock_torture/result
over() { ! grep -q RUNNING $result; }

check "the module loads" load_rdlock
if [ "$NODE" = 0 ]; then
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
else
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
fi
sync joined

check "with the lock: torture begins" modprobe rdlock_torture key=good seconds=3 hold_us=1000
sleep 3
wait_for 20 over
check "with the lock: PASS" grep -q 'rdlock_torture: PASS' $result
rmmod rdlock_torture
sync good
check "without: torture begins" modprobe rdlock_torture type=busted key=bad seconds=3 hold_us=1000
sleep 3
check "without: the threads end" timeout -s KILL 20 rmmod rdlock_torture
diag "$(dmesg | grep 'rdlock_torture: ')"
check "without: a violation is seen" dmesg_has 'rdlock_torture: .*violations=[1-9]'
check "without: the log says FAIL" dmesg_has 'rdlock_torture: FAIL: type=busted'
check "without: the log does not say PASS" expect_fail dmesg_has 'rdlock_torture: PASS: type=busted'
sync end
