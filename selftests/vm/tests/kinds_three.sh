# SPDX-License-Identifier: GPL-2.0
# Three nodes under load, so that members hand locks to each other through the home; readers among them
# vms: 3
# timeout: 200
# needs: rdlock.ko rdlock hammer
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 7

rounds=150
stat() { sed -n "s/^$1 //p" /sys/kernel/debug/rdlock/t/stats; }

check "the module loads" load_rdlock
if [ "$NODE" = 0 ]; then
	check "the home makes the space" rdlock space create t "$IP" --id 0 --max-nodes 16
	sync made
else
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id "$NODE"
fi
sync joined
for kind in fair mcs ticket; do
	readers=0
	[ $kind = fair ] && readers=30
	timeout -s KILL 100 hammer lock $kind -k $kind -t 3 -n $rounds -r $readers >/tmp/hammer 2>/tmp/errors
	check "$kind: no second owner, no old token" [ $? = 0 ]
	diag "$(cat /tmp/hammer /tmp/errors)"
	put "$kind$NODE" "$(hammer_word "done")"
	sync $kind 120
	if [ "$NODE" = 0 ]; then
		sum=$(($(get ${kind}0) + $(get ${kind}1) + $(get ${kind}2)))
		[ "$(rdlock counter get t/$kind:0)" = $sum ] || diag "$kind: cell $(rdlock counter get t/$kind:0), not $sum"
		[ "$(rdlock counter get t/$kind:0)" = $sum ] || lost=yes
	fi
	sync summed$kind
done
if [ "$NODE" = 0 ]; then
	check "no increment is lost" [ -z "$lost" ]
	check "the home handed messages on" [ "$(stat relay)" -gt 0 ]
	diag "relay $(stat relay) recovery $(stat recovery) unsent $(stat unsent)"
else
	check "locks were handed over by message" [ "$(stat sent_grant)" -gt 0 ]
	check "no waiter had to be helped" [ "$(stat unsent)" = 0 ]
	diag "grants $(stat sent_grant) hints $(stat sent_hint) queries $(stat query) faa $(stat lock_faa)"
fi
sync end
