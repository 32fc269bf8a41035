# SPDX-License-Identifier: GPL-2.0
# Counters on a bad network: value = what succeeded + at most what is unknown, nothing done twice
# vms: 2
# timeout: 120 + 2000 * SCALE
# group: check soak
# needs: rdlock.ko rdlock hammer
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 10

peer=$((1 - NODE))
rounds=$(scaled_less 20000 3)
limit=$((60 + rounds / 10))
word() { tr ' ' '\n' </tmp/hammer | sed -n "s/^$1=//p"; }
between() { [ "$1" -le "$2" ] && [ "$2" -le "$3" ]; }

check "the module loads" load_rdlock
if [ "$NODE" = 0 ]; then
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
else
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
fi
sync joined
check "the network gets bad" netem on "loss 2% duplicate 1% delay 1ms reorder 10%"
sync bad

for how in add cas; do
	timeout -s KILL $limit hammer $how $how -t 4 -n "$rounds" >/tmp/hammer 2>/tmp/errors
	status=$?
	check "$how: nothing else but done or unknown" [ $status = 0 ]
	diag "$(cat /tmp/hammer /tmp/errors)"
	check "$how: all rounds are accounted for" [ $(($(word "done") + $(word unknown))) = "$rounds" ]
	put "$how.done$NODE" "$(word "done")"
	put "$how.unknown$NODE" "$(word unknown)"
	sync "$how" 1400
	low=$(($(word "done") + $(get "$how.done$peer")))
	high=$((low + $(word unknown) + $(get "$how.unknown$peer")))
	check "$how: $low <= value <= $high" between $low "$(rdlock counter get "t/$how:0")" $high
	sync "$how.summed"
done
check "frames were lost" wait_for 20 frames_lost
netem off
sync end
