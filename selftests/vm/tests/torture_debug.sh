# SPDX-License-Identifier: GPL-2.0
# Torture for three minutes under every checker, on a bad network, while the member's RDMA device comes and goes
# vms: 2
# timeout: 120
# kernels: debug
# group: check debug
# needs: rdlock.ko rdlock_torture.ko rdlock
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

# Four times 45 s, whatever SCALE says.
seconds=45
types="mutex try timed async"
peer=$((1 - NODE))
result=/sys/kernel/debug/rdlock_torture/result
word() { tr ' ' '\n' </tmp/result | sed -n "s/^$1=//p"; }
over() { ! grep -q RUNNING $result; }
between() { echo "$1 <= $2 <= $3"; [ "$1" -le "$2" ] && [ "$2" -le "$3" ]; }
joined() { rdlock lock test t/probe; }
sessions() { awk '$1 == "session" { print $2 }' /sys/kernel/debug/rdlock/t/stats; }
# Inline checks leave a call behind for the failure alone.
instrumented() { grep -q "$1" /lib/modules/*/extra/rdlock.ko; }

# The device goes under owners and waiters and comes back a moment later; the node joins again by itself.
flap()
{
	for _ in 1 2 3; do
		sleep 11
		timeout -s KILL 60 /sbin/rdma link del rxe0 || echo "del: status $?"
		usleep 500000
		/sbin/rdma link add rxe0 type rxe netdev eth0 || echo "add: status $?"
		wait_for 20 rxe_active || echo "add: not active"
	done
	echo "came and went"
}

if [ "$NODE" = 0 ]; then
	plan 24
	check "KASAN has seen rdlock.ko" instrumented __asan_report_
	check "UBSAN has seen rdlock.ko" instrumented __ubsan_handle_
	check "gcov has seen rdlock.ko" instrumented __gcov_init
	check "the module loads" load_rdlock
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
else
	plan 25
	check "the module loads" load_rdlock
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1 --wait 60
fi
sync joined 120
check "the network gets bad" netem on "delay 1ms loss 1% duplicate 1% reorder 10%"
sync bad

for type in $types; do
	check "$type: torture begins" modprobe rdlock_torture type="$type" key="$type" nthreads=4 seconds=$seconds
	if [ "$NODE" = 1 ]; then
		before=$(sessions)
		: >/tmp/flaps
		flap >/tmp/flaps 2>&1 &
		flaps=$!
	fi
	wait_for $((seconds + 60)) over
	if [ "$NODE" = 1 ]; then
		wait "$flaps"
		check "$type: the device came and went" [ "$(cat /tmp/flaps)" = "came and went" ]
	fi
	cat $result >/tmp/result 2>&1
	diag "$(cat /tmp/result)"
	check "$type: no second owner, no old token" grep -q 'rdlock_torture: PASS' /tmp/result
	check "$type: the threads end" timeout -s KILL 60 rmmod rdlock_torture
	put "done$type$NODE" "$(word "done")"
	put "unsure$type$NODE" $(($(word unknown) + $(word revoked)))
	if [ "$NODE" = 1 ]; then
		# Whether an owner was hit is chance where the lock is seldom had: try, timed.
		check "$type: the node was cut off" [ "$(sessions)" -gt "$before" ]
		wait_for 60 joined >/tmp/joined 2>&1 || diag "$(cat /tmp/joined)"
	fi
	sync "$type" 300
	if [ "$NODE" = 0 ]; then
		low=$(($(word "done") + $(get "done$type$peer")))
		high=$((low + $(word unknown) + $(word revoked) + $(get "unsure$type$peer")))
		check "$type: the count is the sum, but for what is unknown" \
			between "$low" "$(rdlock counter get "t/$type:1")" "$high"
	fi
	sync "$type.summed" 60
done
netem off
if [ "$NODE" = 1 ]; then
	check "the member leaves" timeout -s KILL 60 rdlock space leave t
	sync left 120
else
	sync left 120
	check "the home destroys the space" timeout -s KILL 60 rdlock space destroy t
fi
check "the module unloads" timeout -s KILL 60 rmmod rdlock
