# SPDX-License-Identifier: GPL-2.0
# An atomic behind a WRITE, both done, and both answers lost: nobody believes a result that the device did not store
# vms: 2
# load: idle
# timeout: 60 + 400 * SCALE
# group: soak
# needs: rdlock.ko rdlock hammer
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

stat() { sed -n "s/^fabric_$1 //p" /sys/kernel/debug/rdlock/t/stats; }
dropped() { tc -s qdisc show dev eth0 | grep 'dropped [1-9]'; }
# What leaves the home is lost for a moment now and then; the rest of the time it is slow, so that much is under way.
moments()
{
	while :; do
		netem on "delay 8ms loss 100%"
		usleep 25000
		netem on "delay 8ms loss 0%"
		usleep 500000
	done
}

if [ "$NODE" = 1 ]; then
	plan 3
	both_join
	timeout -s KILL 300 hammer behind x -n "$(scaled 1000)" >/tmp/hammer 2>/tmp/errors
	status=$?
	put over yes
	check "the answer is what was there" [ $status = 0 ]
	diag "$(cat /tmp/hammer /tmp/errors)"
	diag "links lost $(stat link_down), atomics without a result $(stat no_result)"
else
	plan 3
	both_join
	moments &
	moments=$!
	get over 400 >/dev/null
	kill $moments
	netem off
	check "answers were lost meanwhile" dropped
fi
sync end
