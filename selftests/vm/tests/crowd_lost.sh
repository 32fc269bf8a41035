# SPDX-License-Identifier: GPL-2.0
# However many wait on a node that is cut off, who holds a lock there hears of the end before another node gets it
# vms: 2
# load: idle
# timeout: 1500
# group: soak
# needs: rdlock.ko rdlock holder
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

# Fewer than some fifty thousand are no burden: this shows nothing but in make soak.
crowd=$(scaled 100000)
gone() { ! kill -0 "$1" 2>/dev/null; }

if [ "$NODE" = 0 ]; then
	plan 6
	check "the module loads" load_rdlock
	check "the home makes the space" rdlock space create t "$IP" --id 0 --kind fair
	: >/tmp/held
	holder hold crowded >/tmp/held 2>&1 &
	held=$!
	check "the home holds what many will want" wait_for 10 grep -q '^held' /tmp/held
	sync made
	sync crowded 1000
	: >/tmp/heir
	holder hold single -w 60000 >/tmp/heir 2>&1 &
	heir=$!
	usleep 300000
	put dark yes
	check "the lock of the node that is cut off comes over" wait_for 30 grep -q '^held' /tmp/heir
	check "its holder had heard of it" vmctl -t 0.1 get lost
	kill -TERM $heir $held
	wait $heir $held
	sync over 100
	sync left 400
	check "nothing keeps the module" unload_rdlock
else
	plan 7
	check "the module loads" load_rdlock
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
	: >/tmp/crowd
	holder crowd crowded -n "$crowd" >/tmp/crowd 2>&1 &
	many=$!
	wait_for 900 [ -s /tmp/crowd ]
	check "many wait for one lock" grep -q "^waiting $crowd" /tmp/crowd
	diag "$(cat /tmp/crowd)"
	: >/tmp/single
	holder hold single >/tmp/single 2>&1 &
	single=$!
	check "and one holds another" wait_for 10 grep -q '^held' /tmp/single
	sync crowded 1000
	get dark 60 >/dev/null
	cable_out
	wait_for 30 gone $single
	put lost yes
	check "it hears that it was cut off" grep -q 'lost EKEYREVOKED' /tmp/single
	diag "$(cat /tmp/single)"
	cable_in
	sync over 100
	check "the node comes back" wait_for 100 rdlock run t/single -w 20 -- true
	kill -9 $many
	wait $many
	check "nothing keeps the module" unload_rdlock
	sync left 400
fi
