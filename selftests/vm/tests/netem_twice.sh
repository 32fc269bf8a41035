# SPDX-License-Identifier: GPL-2.0
# A network that delivers much twice: no operation is believed whose result the device did not store
# vms: 2
# load: idle
# timeout: 150 + 1200 * SCALE
# group: soak
# needs: rdlock.ko rdlock hammer
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

rounds=$(scaled 500)
pids=
sum_of() { local word="$1"; shift; cat "$@" | tr ' ' '\n' | sed -n "s/^$word=//p" | awk '{ n += $1 } END { print n + 0 }'; }
no_result() { sed -n 's/^fabric_no_result //p' /sys/kernel/debug/rdlock/t/stats; }

plan 6
both_join
check "the network gets bad" netem on "loss 8% duplicate 30% delay 500us reorder 20%"
sync bad
# Each owner writes a value before it gives its lock back: a WRITE that comes twice acknowledges what was done behind it,
# with luck an atomic of another lock.
for key in a b c d; do
	timeout -s KILL $((120 + rounds)) hammer lock $key -k ticket -v -t 3 -n "$rounds" >/tmp/hammer.$key 2>&1 &
	pids="$pids $!"
done
bad=0
for pid in $pids; do
	wait "$pid" || bad=$((bad + 1))
done
diag "$(cat /tmp/hammer.*)"
check "no second owner, no old token, no old value" [ $bad = 0 ]
diag "atomics without a result: $(no_result)"
put "unknown$NODE" "$(sum_of unknown /tmp/hammer.*)"
check "every owner got through" [ $(($(sum_of "done" /tmp/hammer.*) + $(get "unknown$NODE"))) = $((rounds * 4)) ]
sync worked 1200
netem off
sync clean
sum=0
for key in a b c d; do
	sum=$((sum + $(rdlock counter get t/$key:0)))
done
check "what has no outcome was done or was not, and all else is in the sum" \
	[ "$sum" -le $((rounds * 8)) -a "$sum" -ge $((rounds * 8 - $(get unknown0) - $(get unknown1))) ]
sync end
