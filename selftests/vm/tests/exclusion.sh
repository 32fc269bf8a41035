# SPDX-License-Identifier: GPL-2.0
# Four owners on each of two nodes read, change and write back one cell that only the lock protects
# vms: 2
# timeout: 90 + 900 * SCALE
# group: check soak
# needs: rdlock.ko rdlock hammer
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 8

peer=$((1 - NODE))
rounds=$(scaled 10000)
# What a tenth of the slowest rate that was ever seen takes: a hang ends here, not at the scenario's end.
limit=$((60 + rounds / 20))
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

timeout -s KILL $limit hammer lock x -t 4 -n "$rounds" >/tmp/hammer 2>/tmp/errors
status=$?
check "no second owner, no old token" [ $status = 0 ]
diag "$(cat /tmp/hammer /tmp/errors)"
put "done$NODE" "$(word "done")"
check "every owner got through" [ "$(word "done")" = "$rounds" ]
sync worked 900
check "so did the peer's" [ "$(get "done$peer")" = "$rounds" ]
check "the cell is the sum" [ "$(rdlock counter get t/x:0)" = $((rounds * 2)) ]
sync summed
check "the token of the last grant is in its cell" [ "$(rdlock counter get t/x:1)" != 0 ]
sync last
# The control: what the same load is without the lock.
hammer free y -t 4 -n 100 -p 1000 >/tmp/hammer 2>/tmp/errors
check "without the lock the same load fails" grep -q 'count changed under the lock' /tmp/errors
sync end
