# SPDX-License-Identifier: GPL-2.0
# An operation of the home's own node whose outcome is not known: the lock goes on, also when its interface was down
# vms: 1
# smp: 2
# timeout: 100
# group: check soak
# needs: rdlock.ko rdlock holder hammer
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

fault=/sys/kernel/debug/rdlock/fault
recoveries() { sed -n 's/^recovery //p' /sys/kernel/debug/rdlock/t/stats; }
recovered() { [ "$(recoveries)" -ge "$1" ]; }

plan 7
check "the module loads" load_rdlock
check "a space" rdlock space create t "$IP" --id 0
echo 1 >$fault/op_ambig
rdlock run t/a -w 2 -- true
check "after an acquire of unknown outcome" rdlock run t/a -w 8 -- true
: >/tmp/b
holder hold b >/tmp/b 2>&1 &
held=$!
wait_for 5 grep -q '^held' /tmp/b
echo 1 >$fault/op_ambig
kill -TERM $held
wait $held
check "after a release of unknown outcome" rdlock run t/b -w 8 -- true
check "the home recovered what was not known" recovered 1

for key in c d e f; do
	: >/tmp/load.$key
	hammer lock $key -t 2 -n 1000000 >/tmp/load.$key 2>&1 &
done
for _ in 1 2 3 4; do
	usleep 300000
	link_down
	usleep 700000
	link_up
done
usleep 500000
killall hammer
all=yes
for key in c d e f; do
	wait_for 15 rdlock run t/$key -w 4 -- true || all=no
done
check "after the interface was down under load" [ $all = yes ]
check "the module leaves" wait_for 10 rmmod rdlock
