# SPDX-License-Identifier: GPL-2.0
# How a node waits for its locks: asleep, busily for a moment, or as the network's speed makes sense
# vms: 2
# smp: 2
# timeout: 120
# needs: rdlock.ko rdlock hammer holder
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

stat() { sed -n "s/^$2 //p" "/sys/kernel/debug/rdlock/$1/stats"; }
shows() { rdlock space show "$1" | grep -q "^$2 *$3"; }
# With the rxe of 6.12 and 7.3, emulated, a round trip takes longer than that; what another task of the node gives does not.
busy_finds()
{
	[ "$(stat spin busy_wait)" -gt 0 ] || RDLOCK_SPACE=spin holder storm k -k spin -t 3 -n 20 >/tmp/storm 2>&1
	[ "$(stat spin busy_wait)" -gt 0 ]
}
rtt() { rdlock -j space show "$1" | sed -n 's/.*"rtt_ns": *\([0-9]*\).*/\1/p'; }

if [ "$NODE" = 0 ]; then
	plan 5
	check "the module loads" load_rdlock
	for how in event spin adaptive; do
		check "the home makes space $how" rdlock space create $how "$IP" --id 0
	done
	sync made
	sync left 100
	check "nothing keeps the module" unload_rdlock
else
	plan 12
	check "the module loads" load_rdlock
	sync made
	for how in event spin adaptive; do
		check "the member joins $how" rdlock space join $how "$(ip_of 0)" --id 1 --waiting $how
	done
	check "no round trip was measured yet" [ "$(rtt spin)" = 0 ]
	for how in event spin adaptive; do
		RDLOCK_SPACE=$how hammer lock k -k spin -t 1 -n 300 >/tmp/hammer 2>&1 || diag "$(cat /tmp/hammer)"
		check "$how: the node shows it" shows $how waiting $how
		diag "busy_wait $(stat $how busy_wait) of $(stat $how grant), round trip $(rtt $how) ns"
	done
	check "asleep is never busy" [ "$(stat event busy_wait)" = 0 ]
	check "busy finds what comes within a millisecond" wait_for 30 busy_finds
	check "a round trip was measured" [ "$(rtt spin)" -gt 1000 ]
	check "nothing keeps the module" unload_rdlock
	sync left
fi
