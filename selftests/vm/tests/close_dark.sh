# SPDX-License-Identifier: GPL-2.0
# A key that is closed while the link is down is closed at the home when the link is back
# vms: 2
# needs: rdlock.ko rdlock holder
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

locks=/sys/kernel/debug/rdlock/t/locks
state() { rdlock space show t | grep -q "^state *$1"; }
key_gone() { lacks '^lock k ' $locks; }

if [ "$NODE" = 0 ]; then
	plan 5
	check "the module loads" load_rdlock
	check "the home makes the space" rdlock space create t "$IP" --id 0
	: >/tmp/held
	holder hold k >/tmp/held 2>&1 &
	held=$!
	check "the home holds the lock" wait_for 10 grep -q '^held' /tmp/held
	sync held
	sync back
	kill -TERM $held
	wait $held
	check "no opener is left" wait_for 5 key_gone
	diag "$(cat $locks)"
	sync seen
	sync left
	check "nothing keeps the module" unload_rdlock
else
	plan 7
	check "the module loads" load_rdlock
	sync held
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
	before=$(rdlock space show t | grep '^incarn')
	: >/tmp/waits
	holder hold k >/tmp/waits 2>&1 &
	waits=$!
	check "the key is open" wait_for 10 grep '^agent k .*waiters=1' $locks
	netem on "loss 100%"
	check "the link breaks" wait_for 4 state suspect
	kill -9 $waits
	wait $waits
	netem off
	check "the session goes on" wait_for 10 state ready
	check "as it was" [ "$(rdlock space show t | grep '^incarn')" = "$before" ]
	sync back
	sync seen
	check "nothing keeps the module" unload_rdlock
	sync left
fi
