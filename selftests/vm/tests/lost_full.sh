# SPDX-License-Identifier: GPL-2.0
# An open that was lost with its link, of a key that the home then has no place for, is not asked for ever
# vms: 2
# load: idle
# timeout: 120
# needs: rdlock.ko rdlock holder
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

locks=/sys/kernel/debug/rdlock/t/locks
state() { rdlock space show t | grep -q "^state *$1"; }
no_agent() { lacks '^agent ' $locks; }
inc() { rdlock space show t | grep '^incarn'; }

if [ "$NODE" = 0 ]; then
	plan 4
	check "the module loads" load_rdlock max_keys=1
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
	: >/tmp/open
	holder open other >/tmp/open 2>&1 &
	open=$!
	check "the home has no place for another key" wait_for 10 grep -q '^open' /tmp/open
	sync full
	sync left
	kill -9 $open
	wait $open
	check "nothing keeps the module" unload_rdlock
else
	plan 9
	check "the module loads" load_rdlock
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
	before=$(inc)
	sync full
	netem on "loss 100%"
	check "the link is not known to be down" state ready
	check "an opener gives up" expect_fail rdlock run t/late -w 1 -- true
	check "the link breaks" wait_for 5 state suspect
	netem off
	check "the session goes on" wait_for 10 state ready
	check "as it was" [ "$(inc)" = "$before" ]
	check "nothing is left of it" wait_for 4 no_agent
	check "nothing keeps the module" unload_rdlock
	sync left
fi
