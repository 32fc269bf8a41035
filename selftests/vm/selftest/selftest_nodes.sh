# SPDX-License-Identifier: GPL-2.0
# Harness, of itself: a node is stopped, killed and booted again; no two boots draw the same random numbers
# vms: 3
# timeout: 90
# group: selftest
# rxe: no
# dies: 2
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

# /vm/drawn is the first that a VM drew after it had been restored.
put "drawn$NODE.$BOOT" "$(cat /vm/drawn /proc/sys/kernel/random/boot_id | tr '\n' ' ')"
drawn_by() { get "drawn$1" | tr ' ' '\n'; }

answers() { ping -c 1 -W 1 "$(ip_of "$1")" >/dev/null; }
silent() { ! answers "$1"; }

case $NODE.$BOOT in
2.1)
	# Killed: what this boot still owes is nobody's business.
	plan 2
	ok "about to die"
	sync up
	sleep 1000
	ok "never seen"
	;;
2.2)
	plan 1
	sync again
	check "a node that was killed can boot again" wait_for 10 answers 0
	sync finish
	;;
0.*)
	plan 7
	sync up
	check "all three talk" wait_for 10 answers 2
	check "a stopped node" vm stop 2
	check "is silent" wait_for 10 silent 2
	vm cont 2
	check "and comes back" wait_for 10 answers 2
	check "a killed node" vm kill 2
	check "is silent" wait_for 10 silent 2
	sync dead
	vm start 2
	sync again
	for who in 0.1 1.1 2.1 2.2; do drawn_by $who; done >/tmp/drawn
	check "eight different random numbers" [ "$(grep . /tmp/drawn | sort -u | wc -l)" = 8 ]
	sync finish
	;;
1.*)
	plan 3
	sync up
	sync dead
	check "the dead are not waited for" true
	check "only declared nodes can be killed" expect_fail vm kill 0
	sync again
	check "this node hears the new one" wait_for 10 answers 2
	sync finish
	;;
esac
