# SPDX-License-Identifier: GPL-2.0
# The same on a network that loses, doubles and reorders: the sum is exact, tokens grow
# vms: 2
# timeout: 150 + 2800 * SCALE
# group: check soak
# needs: rdlock.ko rdlock hammer
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 8

peer=$((1 - NODE))
# 20 000 acquisitions in all.
rounds=$(scaled 10000)
limit=$((120 + rounds / 4))
word() { tr ' ' '\n' </tmp/hammer | sed -n "s/^$1=//p"; }

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

timeout -s KILL $limit hammer lock x -t 4 -n "$rounds" >/tmp/hammer 2>/tmp/errors
status=$?
check "no second owner, no old token" [ $status = 0 ]
diag "$(cat /tmp/hammer /tmp/errors)"
check "every owner got through" [ "$(word "done")" = "$rounds" ]
put "done$NODE" "$(word "done")"
sync worked 2900
netem off
check "frames were lost" expect_fail [ "$(get "done$peer")" = 0 ]
sync clean
check "the cell is the sum" [ "$(rdlock counter get t/x:0)" = $((rounds * 2)) ]
check "the link was not given up" expect_fail grep -q 'unknown=[1-9]' /tmp/hammer
sync end
