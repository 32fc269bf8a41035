# SPDX-License-Identifier: GPL-2.0
# The home goes while an open waits for its answer: the node does not keep it for a home that never comes back
# vms: 2
# timeout: 120
# needs: rdlock.ko rdlock holder
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

fault=/sys/kernel/debug/rdlock/fault
locks=/sys/kernel/debug/rdlock/t/locks
state() { rdlock space show t | grep -q "^state *$1"; }
waits() { kill -0 "$open" && [ ! -s /tmp/open ]; }
no_agent() { lacks '^agent ' $locks; }

if [ "$NODE" = 0 ]; then
	plan 4
	check "the module loads" load_rdlock
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
	sync asked
	check "the home goes" rdlock space destroy t --force
	sync left
	check "nothing keeps the module" unload_rdlock
else
	plan 6
	check "the module loads" load_rdlock
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
	# The answer and the home's good-bye come in one go; by then the opener has gone.
	echo 1200 >$fault/recv_hold_ms
	echo 1 >$fault/recv_hold
	sleep 0.6
	: >/tmp/open
	holder open late >/tmp/open 2>&1 &
	open=$!
	sleep 0.1
	check "the open waits for its answer" waits
	sync asked
	kill -9 $open
	wait $open
	check "the session is lost" wait_for 10 state lost
	diag "$(cat /tmp/open)"
	check "nothing is left of the open" wait_for 4 no_agent
	check "nothing keeps the module" unload_rdlock
	sync left
fi
