# SPDX-License-Identifier: GPL-2.0
# An open that is given up while there is no session leaves nothing behind on the node
# vms: 2
# timeout: 120
# needs: rdlock.ko rdlock
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

locks=/sys/kernel/debug/rdlock/t/locks
state() { rdlock space show t | grep -q "^state *$1"; }
no_agent() { lacks '^agent ' $locks; }

if [ "$NODE" = 0 ]; then
	plan 3
	check "the module loads" load_rdlock
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
	sync left
	check "nothing keeps the module" unload_rdlock
else
	plan 9
	check "the module loads" load_rdlock
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
	netem on "loss 100%"
	check "the session is lost" wait_for 15 state lost
	for k in a b c; do
		check "nobody opens $k" expect_fail rdlock run "t/$k" -w 1 -- true
	done
	check "nothing is left of them" wait_for 3 no_agent
	netem off
	check "there is a session again" wait_for 15 state ready
	check "nothing keeps the module" unload_rdlock
	sync left
fi
