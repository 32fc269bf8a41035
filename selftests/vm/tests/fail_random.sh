# SPDX-License-Identifier: GPL-2.0
# Allocations fail at random, also in the module's work items, under load on two nodes: no lock is lost, no trace left
# kernels: debug
# vms: 2
# timeout: 200 + 600 * SCALE
# group: check soak
# needs: rdlock.ko rdlock fail_load hammer
# shellcheck shell=sh disable=SC1091,SC3043
. /vm/lib.sh

# Fewer would not be sure to hit a caller.
seconds=$((10 + $(at_least 10 "$(scaled 200)")))
peer=$((1 - NODE))
fault=/sys/kernel/debug
locks=/sys/kernel/debug/rdlock/t/locks
budget=1000000

# Of each hundred allocations that have rdlock on the stack, so many. Not those of rxe's requester and responder, which lie
# beside each other. The requester breaks a queue pair that gets no packet: the connection manager's own pair nobody makes
# again, and no node would ever come back. Of a responder that leaves out a part of a long answer, rxe's completer warns
# (rxe_comp.c, check_ack(): COMPST_ERROR without a status). Packets are lost in other scenarios.
faults_on()
{
	local size start knob reject reject_end
	awk '$1 == "rdlock" { print $2, $6 }' /proc/modules >/tmp/text
	read -r size start </tmp/text || return 1
	sort /proc/kallsyms | awk '$3 == "rxe_requester" || $3 == "rxe_responder" { from = from ? from : $1; last = $1; n++ }
		n == 2 && $1 != last { print from, $1; exit }' >/tmp/text
	read -r reject reject_end </tmp/text || return 1
	echo 0 >"$fault/fail_page_alloc/min-order" || return 1
	for knob in $fault/failslab $fault/fail_page_alloc; do
		echo "$start" >"$knob/require-start" || return 1
		printf '0x%x' $((start + size)) >"$knob/require-end" || return 1
		echo "0x$reject" >"$knob/reject-start" || return 1
		echo "0x$reject_end" >"$knob/reject-end" || return 1
		echo 32 >"$knob/stacktrace-depth" || return 1
		echo N >"$knob/ignore-gfp-wait" || return 1
		echo 0 >"$knob/verbose" || return 1
		echo $budget >"$knob/times" || return 1
		echo "$1" >"$knob/probability" || return 1
	done
}

faults_off()
{
	echo 0 >"$fault/failslab/probability"
	echo 0 >"$fault/fail_page_alloc/probability"
}

faults() { echo $((budget - $(cat $fault/failslab/times))); }
word() { tr ' ' '\n' <"$1" | sed -n "s/^$2=//p"; }
between() { [ "$1" -le "$2" ] && [ "$2" -le "$3" ]; }
ready() { rdlock space show t | grep -q ready; }
only_t() { [ "$(rdlock -j space list | grep -o '"name": *"[^"]*"' | tr -d ' ')" = '"name":"t"' ]; }
none_open() { lacks '^lock \|^agent ' $locks; }

# Come and go in another space meanwhile; what becomes of it does not matter, but what is left.
churn()
{
	while [ ! -e /tmp/enough ]; do
		if [ "$NODE" = 0 ]; then
			rdlock space create u "$IP" --id 0
			usleep 300000
			rdlock space destroy u --force
		else
			rdlock space join u "$(ip_of 0)" --id 1 --wait 2
			rdlock space leave u --force
		fi
	done
}

total()
{
	local sum=0 key value
	for key in 0 1 2; do
		value=$(rdlock counter get "t/load$key:0") || value=0
		sum=$((sum + value))
	done
	echo $sum
}

plan 15
check "the module loads" load_rdlock
if [ "$NODE" = 0 ]; then
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
else
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
fi
sync joined

check "faults on" faults_on 1
: >/tmp/churn
churn >/tmp/churn 2>&1 &
timeout -s KILL $((seconds * 3 + 60)) fail_load -s $seconds >/tmp/load 2>/tmp/errors
status=$?
touch /tmp/enough
wait
faults_off
diag "$(faults) faults"
diag "$(cat /tmp/load /tmp/errors)"
check "only errors that want of memory explains" [ $status = 0 ]
check "there were faults" [ "$(faults)" -gt 20 ]
check "callers were told of some" grep -q ENOMEM /tmp/load
check "work was done all the same" [ "$(word /tmp/load "done")" -gt 0 ]
sync loaded 900

check "the space is whole" wait_for 30 ready
rdlock space "$([ "$NODE" = 0 ] && echo destroy || echo leave)" u --force >/tmp/churn 2>&1
check "and no other is left" wait_for 10 only_t
sync whole 900
for key in 0 1 2; do
	timeout -s KILL 120 hammer lock load$key -t 2 -n 10 >>/tmp/hammer 2>/tmp/errors || diag "$(cat /tmp/errors)"
done
check "no lock is lost" [ "$(grep -c '^done=10 shared=0 unknown=0 ' /tmp/hammer)" = 3 ]
put "done$NODE" "$(word /tmp/load "done")"
put "unknown$NODE" "$(word /tmp/load unknown)"
sync hammered 900
low=$((60 + $(word /tmp/load "done") + $(get "done$peer")))
high=$((low + $(word /tmp/load unknown) + $(get "unknown$peer")))
check "$low <= all that was counted <= $high" between $low "$(total)" $high
sync counted 900
check "nothing is open" wait_for 30 none_open
sync empty 900
if [ "$NODE" = 1 ]; then
	check "the member leaves" timeout -s KILL 30 rdlock space leave t
	sync left
else
	sync left
	check "the home destroys the space" timeout -s KILL 30 rdlock space destroy t
fi
check "nothing keeps the module" timeout -s KILL 30 rmmod rdlock
check "there is nothing of it any more" [ ! -e /sys/module/rdlock ]
sync end
