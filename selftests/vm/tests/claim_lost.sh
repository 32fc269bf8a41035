# SPDX-License-Identifier: GPL-2.0
# A node that lives but does not answer when the home recovers a lock is cut off: the others do not wait for it for ever
# vms: 2
# load: idle
# timeout: 150
# needs: rdlock.ko rdlock holder
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

fault=/sys/kernel/debug/rdlock/fault
evicted() { [ "$(stat evict)" -ge 1 ]; }
recovers() { grep '^lock k .*recovering' /sys/kernel/debug/rdlock/t/locks; }
stat() { sed -n "s/^$1 //p" /sys/kernel/debug/rdlock/t/stats; }

if [ "$NODE" = 0 ]; then
	plan 8
	check "the module loads" load_rdlock
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
	sync mute
	# Nothing else has an operation under way that this could hit.
	echo 1 >$fault/op_ambig
	rdlock run t/k -w 1 -- true
	check "the lock is being recovered" wait_for 5 recovers
	: >/tmp/other
	holder hold other -w 60000 >/tmp/other 2>&1 &
	other=$!
	check "and is had again when the silent one is gone" rdlock run t/k -w 60 -- true
	check "which was evicted" wait_for 10 evicted
	check "what it held is had" wait_for 10 grep -q ^held /tmp/other
	had=$(vmctl now)
	diag "$(((had - $(get lost)) / 1000000)) ms after it was lost"
	check "not before it was lost" [ "$(get lost)" -lt "$had" ]
	kill -TERM $other
	wait $other
	sync over 90
	sync back
	check "nothing keeps the module" unload_rdlock
else
	plan 5
	check "the module loads" load_rdlock
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
	: >/tmp/open
	holder open k >/tmp/open 2>&1 &
	opener=$!
	wait_for 10 grep -q ^open /tmp/open
	: >/tmp/other
	holder hold other >/tmp/other 2>&1 &
	other=$!
	wait_for 10 grep -q ^held /tmp/other
	echo 1000000 >$fault/claim_lost
	sync mute
	wait $other
	put lost "$(vmctl now)"
	check "it is told what it lost" grep -q '^lost EKEYREVOKED' /tmp/other
	sync over 90
	kill -9 $opener
	wait $opener
	check "it may come back" wait_for 20 rdlock run t/other -w 5 -- true
	sync back
	check "nothing keeps the module" unload_rdlock
fi
