# SPDX-License-Identifier: GPL-2.0
# A node is back, and the answer that says so is lost with the new link: it goes on with what it holds
# vms: 2
# timeout: 100
# needs: rdlock.ko rdlock holder
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

fault=/sys/kernel/debug/rdlock/fault
state() { rdlock space show t | grep -q "^state *$1"; }
inc() { rdlock space show t | grep '^incarn'; }
used_up() { [ "$(cat $fault/welcome_lost)" = 0 ]; }

if [ "$NODE" = 0 ]; then
	plan 4
	check "the module loads" load_rdlock
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
	sync held
	echo 1 >$fault/welcome_lost
	sync lost
	sync back
	check "the answer was lost" used_up
	sync left
	check "nothing keeps the module" unload_rdlock
else
	plan 7
	check "the module loads" load_rdlock
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
	before=$(inc)
	: >/tmp/held
	holder hold k >/tmp/held 2>&1 &
	holder=$!
	check "it holds a lock" wait_for 10 grep -q ^held /tmp/held
	sync held
	sync lost
	# Ends the link.
	echo 1 >$fault/op_ambig
	rdlock run t/other -w 1 -- true
	check "its session goes on" wait_for 10 state ready
	sync back
	check "as it was" [ "$(inc)" = "$before" ]
	kill -TERM $holder
	wait $holder
	check "and so does what it holds" grep -q ^released /tmp/held
	check "nothing keeps the module" unload_rdlock
	sync left
fi
