# SPDX-License-Identifier: GPL-2.0
# A CLOSE that goes down with its link, and an open that its caller gave up, do not keep a key at the home
# vms: 2
# timeout: 150
# needs: rdlock.ko rdlock holder
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

fault=/sys/kernel/debug/rdlock/fault
locks=/sys/kernel/debug/rdlock/t/locks
state() { rdlock space show t | grep -q "^state *$1"; }
inc() { rdlock space show t | grep '^incarn'; }
key_gone() { lacks "^lock $1 " $locks; }
not_open() { lacks "^agent $1 .*opens=[1-9]" $locks; }
agent_gone() { lacks "^agent $1 " $locks; }

if [ "$NODE" = 0 ]; then
	plan 5
	check "the module loads" load_rdlock
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
	sync closed
	check "the key whose CLOSE was lost is gone" wait_for 8 key_gone dark
	diag "$(cat $locks)"
	sync seen
	sync opened
	check "the key whose open was given up is gone" wait_for 8 key_gone late
	diag "$(cat $locks)"
	sync seen2
	sync left
	check "nothing keeps the module" unload_rdlock
else
	plan 19
	check "the module loads" load_rdlock
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
	before=$(inc)
	: >/tmp/open
	holder open dark >/tmp/open 2>&1 &
	open=$!
	check "the key is open" wait_for 10 grep -q '^open' /tmp/open
	# Nothing passes any more, but nobody knows yet.
	netem on "loss 100%"
	kill -9 $open
	wait $open
	check "the link is not known to be down" state ready
	check "it is closed" not_open dark
	check "the link breaks" wait_for 5 state suspect
	netem off
	check "the session goes on" wait_for 10 state ready
	check "as it was" [ "$(inc)" = "$before" ]
	sync closed
	sync seen
	check "nothing is left of it" wait_for 3 agent_gone dark

	# The same, and somebody wants it as another lock before the home has heard of the close.
	: >/tmp/open
	holder open anew -k fair >/tmp/open 2>&1 &
	open=$!
	check "another key is open" wait_for 10 grep -q '^open' /tmp/open
	netem on "loss 100%"
	kill -9 $open
	wait $open
	check "it is closed" not_open anew
	: >/tmp/open
	holder open anew -k mcs -w 30000 >/tmp/open 2>&1 &
	open=$!
	check "the link breaks" wait_for 5 state suspect
	netem off
	check "the session goes on" wait_for 10 state ready
	check "it is open as another lock" wait_for 10 grep -q '^open' /tmp/open
	diag "$(cat /tmp/open)"
	kill -9 $open
	wait $open

	# The answer to the OPEN does not come in time, and the opener does not wait for another.
	echo 3000 >$fault/recv_hold_ms
	echo 1 >$fault/recv_hold
	check "the opener gives up" expect_status 124 rdlock run t/late -w 1 -- true
	check "and has gone" not_open late
	wait_for 10 state ready
	check "the session goes on once more" [ "$(inc)" = "$before" ]
	sync opened
	sync seen2
	check "nothing is left of that either" wait_for 3 agent_gone late
	check "nothing keeps the module" unload_rdlock
	sync left
fi
