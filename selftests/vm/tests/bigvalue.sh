# SPDX-License-Identifier: GPL-2.0
# Values of more than 64 bytes go from node to node whole, by the device and by the home's processor
# vms: 2
# timeout: 400 + 1200 * SCALE
# group: check soak
# needs: rdlock.ko rdlock bigvalue
# shellcheck shell=sh disable=SC1091,SC2034
. /vm/lib.sh
plan 38

big_word() { tr ' ' '\n' </tmp/big | sed -n "s/^$1=//p"; }
stat() { sed -n "s/^$1 //p" /sys/kernel/debug/rdlock/t/stats; }

# counting KIND SIZE ROUNDS: three points on each node
counting()
{
	local key="$1$2" peer=$((1 - NODE))

	# Else the value goes with the first node's owner, when that is through before the other's begins.
	: >/tmp/open
	bigvalue "$key" -k "$1" -s "$2" -o >/tmp/open 2>&1 &
	opener=$!
	wait_for 20 grep -q ^open /tmp/open
	sync "open$key$BACKEND"
	local before
	before=$(stat big_write)
	timeout -s KILL $((60 + $3)) bigvalue "$key" -k "$1" -s "$2" -n "$3" >/tmp/big 2>&1
	check "$1, $2 bytes: each value is whole, and none is old" [ $? = 0 ]
	diag "$(cat /tmp/big)"
	put "done$key$NODE$BACKEND" "$(big_word "done")"
	put "last$key$NODE$BACKEND" "$(big_word last)"
	sync "counted$key$BACKEND" 900
	# Every writer wrote the number behind the one that it found.
	sum=$(($(big_word "done") + $(get "done$key$peer$BACKEND")))
	most=$(big_word last)
	[ "$(get "last$key$peer$BACKEND")" -gt "$most" ] && most=$(get "last$key$peer$BACKEND")
	check "$1, $2 bytes: none is lost" [ "$sum" = "$most" ]
	check "$1, $2 bytes: it went through the home" [ "$(stat big_write)" -gt "$before" ]
	kill "$opener"
	wait "$opener"
	sync "over$key$BACKEND"
}

rounds=$(scaled 400)
for BACKEND in "" rpc; do
	both_join
	counting fair 65 "$rounds"
	counting fair 4097 "$rounds"
	counting fair 65536 "$rounds"
	counting ticket 65536 $((rounds / 2))
	counting mcs 65536 "$rounds"
	sync "worked$BACKEND"
	if [ "$NODE" = 1 ]; then
		check "the member leaves" rdlock space leave t
		sync "left$BACKEND"
	else
		sync "left$BACKEND"
		check "the home ends" rdlock space destroy t
	fi
	check "the module unloads" wait_for 10 unload_rdlock
	sync "unloaded$BACKEND"
done
sync end
