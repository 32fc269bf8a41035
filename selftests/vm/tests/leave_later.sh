# SPDX-License-Identifier: GPL-2.0
# A node leaves, and its module goes, right behind an open that was given up while the lock was being recovered
# vms: 3
# timeout: 120
# needs: rdlock.ko rdlock holder
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

fault=/sys/kernel/debug/rdlock/fault
recovers() { grep -q '^lock k .*recovering' /sys/kernel/debug/rdlock/t/locks; }
agents() { grep -c '^agent' /sys/kernel/debug/rdlock/t/locks; }

case $NODE in
0)
	plan 4
	check "the module loads" load_rdlock
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
	sync mute
	echo 1 >$fault/op_ambig
	rdlock run t/k -w 1 -- true
	check "the lock is being recovered" wait_for 5 recovers
	sync recovering
	sync left
	check "nothing keeps the module" wait_for 5 unload_rdlock
	;;
1)
	plan 4
	check "the module loads" load_rdlock
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
	: >/tmp/open
	holder open k >/tmp/open 2>&1 &
	opener=$!
	check "it opens the lock" wait_for 10 grep -q ^open /tmp/open
	echo 1000000 >$fault/claim_lost
	sync mute
	sync recovering
	sync left
	kill -9 $opener
	wait $opener
	check "nothing keeps the module" unload_rdlock
	;;
2)
	plan 12
	sync made
	sync mute
	sync recovering
	for i in 1 2 3; do
		check "$i: the module loads" load_rdlock
		check "$i: the member joins" rdlock space join t "$(ip_of 0)" --id 2
		: >/tmp/open
		holder open k >/tmp/open 2>&1 &
		opener=$!
		# The home has said "not yet" within half a second, and is to be asked again 0.6 seconds later.
		usleep 550000
		check "$i: its open has no answer yet" [ ! -s /tmp/open ]
		kill -9 $opener
		wait $opener
		check "$i: it leaves, with its module" eval "rdlock space leave t && unload_rdlock"
	done
	# What would still happen now would be seen in the log.
	sleep 2
	sync left
	;;
esac
