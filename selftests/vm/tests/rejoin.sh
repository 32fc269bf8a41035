# SPDX-License-Identifier: GPL-2.0
# A link that is down for a moment costs nothing; one that is down longer than the lease costs the lock; the node rejoins by itself
# vms: 2
# load: idle
# timeout: 300
# group: check soak
# needs: rdlock.ko rdlock holder
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

gone() { ! kill -0 "$1" 2>/dev/null; }
word() { tr ' ' '\n' <"$1" | sed -n "s/^$2=//p"; }

# dark SECONDS: the same twice, seen by the driver (carrier) and not (every frame lost).
dark_carrier() { cable_out; sleep "$1"; cable_in; }
dark_silent() { netem on "loss 100%"; sleep "$1"; netem off; }

if [ "$NODE" = 0 ]; then
	plan 8
	check "the module loads" load_rdlock
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
	for how in carrier silent; do
		sync "$how.held"
		# Through the short gap nobody else gets it.
		check "$how: the lock stays with its holder" expect_status 124 rdlock run t/$how -w 6 -- true
		sync "$how.short" 30
		sync "$how.dark" 30
		# Node 1 goes dark now; its lock comes to us.
		: >/tmp/heir
		holder hold $how -w 15000 >/tmp/heir 2>&1 &
		heir=$!
		check "$how: the lock comes over when the lease is out" wait_for 12 grep -q '^held' /tmp/heir
		check "$how: with the owner-died flag" [ "$(($(word /tmp/heir flags) & 1))" = 1 ]
		diag "$(cat /tmp/heir)"
		get "$how.lost" 30 >/dev/null
		kill -TERM $heir
		wait $heir
		sync "$how.end" 60
	done
else
	plan 10
	check "the module loads" load_rdlock
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
	for how in carrier silent; do
		: >/tmp/held
		holder hold $how >/tmp/held 2>&1 &
		held=$!
		wait_for 10 grep -q '^held' /tmp/held
		sync "$how.held"
		dark_$how 2
		usleep 2000000
		check "$how: 2 s of darkness, still held" expect_fail gone $held
		sync "$how.short" 30
		sync "$how.dark" 30
		dark_$how 9 &
		dark=$!
		check "$how: the holder is told, still in the dark" wait_for 6 gone $held
		check "$how: that it was cut off" grep -q 'lost EKEYREVOKED' /tmp/held
		diag "$(cat /tmp/held)"
		wait $dark
		put "$how.lost" yes
		# No command needed: the module joins again.
		check "$how: the node rejoins by itself" wait_for 20 rdlock run t/$how -w 5 -- true
		sync "$how.end" 60
	done
fi
