# SPDX-License-Identifier: GPL-2.0
# Kernel threads on two nodes, each way of taking a lock, watched for a second owner
# vms: 2
# timeout: 120 + 800 * SCALE
# group: check soak
# needs: rdlock.ko rdlock_torture.ko rdlock
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 18

peer=$((1 - NODE))
# Of an unfair lock each node is to get its share, also where all is slow.
seconds=$(at_least 5 "$(scaled_less 100 2)")
result=/sys/kernel/debug/rdlock_torture/result
word() { tr ' ' '\n' </tmp/result | sed -n "s/^$1=//p"; }
over() { ! grep -q RUNNING $result; }

check "the module loads" load_rdlock
if [ "$NODE" = 0 ]; then
	# Of a kind that a node keeps, a try on the other would find it in use for as long as the load goes on.
	check "the home makes the space" rdlock space create t "$IP" --id 0 --kind spin
	sync made
else
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
fi
sync joined

for type in mutex try timed async; do
	check "$type: torture begins" modprobe rdlock_torture type=$type key=$type nthreads=4 seconds="$seconds"
	wait_for $((seconds + 20)) over
	cat $result >/tmp/result 2>&1
	diag "$(cat /tmp/result)"
	check "$type: PASS" grep -q 'rdlock_torture: PASS' /tmp/result
	check "$type: ends when told to" timeout -s KILL 20 rmmod rdlock_torture
	put "$type$NODE" "$(word "done")"
	sync $type
	check "$type: the count is the sum of both nodes" \
		[ "$(rdlock counter get t/$type:1)" = $(($(word "done") + $(get "$type$peer"))) ]
	sync $type.summed
done
