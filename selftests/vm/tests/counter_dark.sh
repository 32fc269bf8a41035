# SPDX-License-Identifier: GPL-2.0
# Who opens a counter while the home does not answer waits no longer than it said, and can be killed
# vms: 2
# load: idle
# timeout: 100
# needs: rdlock.ko rdlock
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

now() { cut -d' ' -f1 /proc/uptime; }
within() { awk -v a="$2" -v b="$(now)" -v most="$1" -v p="$PATIENCE" 'BEGIN { exit !(b - a < most * p) }'; }
state() { rdlock space show t | grep -q "^state *$1"; }
gone() { ! kill -0 "$1" 2>/dev/null; }

if [ "$NODE" = 0 ]; then
	plan 3
	check "the module loads" load_rdlock
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
	sync left
	check "nothing keeps the module" unload_rdlock
else
	plan 10
	check "the module loads" load_rdlock
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
	check "it counts" rdlock counter add t/old 1
	netem on "loss 100%"
	start=$(now)
	rdlock counter add t/killed -w 30 >/dev/null 2>&1 &
	pid=$!
	check "a deadline passes" expect_status 124 rdlock counter add t/new -w 0.2
	check "and nobody waits beyond it" within 0.9 "$start"
	# While the request is on its way: two seconds later it would have ended by itself.
	check "there is a session still" state ready
	start=$(now)
	kill -9 $pid
	wait_for 10 gone $pid
	check "one that waits can be killed" within 0.6 "$start"
	netem off
	check "the session goes on" wait_for 15 state ready
	check "and so do the counters" rdlock counter add t/old 1 -w 10
	check "nothing keeps the module" unload_rdlock
	sync left
fi
