# SPDX-License-Identifier: GPL-2.0
# A machine dies with locks of each kind, held, shared and kept idle; who waits gets them and is told, who does not wait too
# vms: 2
# timeout: 150
# needs: rdlock.ko rdlock holder
# dies: 1
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

word() { tr ' ' '\n' <"$1" | sed -n "s/^$2=//p"; }
agent_is() { grep "^agent $1 " /sys/kernel/debug/rdlock/t/locks | grep -q " $2 "; }
kinds="fair ticket mcs"

if [ "$NODE" = 1 ]; then
	plan 7
	sync made
	check "the module loads" load_rdlock
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1 --wait 30
	for kind in $kinds; do
		: >"/tmp/$kind"
		holder hold "$kind" -k "$kind" >"/tmp/$kind" 2>&1 &
		check "it has the lock of kind $kind" wait_for 10 grep -q '^held' "/tmp/$kind"
	done
	: >/tmp/read
	holder hold read -k fair -s >/tmp/read 2>&1 &
	check "it shares one" wait_for 10 grep -q '^held' /tmp/read
	# Two have it open; the first is over, so the node keeps it for nothing.
	: >/tmp/idle
	holder hold idle -k fair >/tmp/idle 2>&1 &
	first=$!
	wait_for 10 grep -q '^held' /tmp/idle
	holder open idle >/dev/null 2>&1 &
	wait_for 10 agent_is idle opens=2
	kill -TERM $first
	wait $first
	check "and keeps one idle" wait_for 10 agent_is idle state=CACHED
	put held yes
	# The host ends this.
	sleep 100
else
	plan 13
	check "the module loads" load_rdlock
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
	get held >/dev/null
	for kind in $kinds read; do
		k=$kind
		[ "$k" = read ] && k=fair
		: >"/tmp/$kind"
		holder hold "$kind" -k "$k" -w 40000 >"/tmp/$kind" 2>&1 &
		check "$kind: somebody waits" wait_for 10 agent_is "$kind" state=WAIT
	done
	vm kill 1
	for kind in $kinds read; do
		check "$kind: it gets the lock" wait_for 15 grep -q '^held' "/tmp/$kind"
		diag "$(cat "/tmp/$kind")"
	done
	died=0
	for kind in $kinds; do
		died=$((died + ($(word "/tmp/$kind" flags) & 1)))
	done
	check "each heir of a writer is told that it died" [ $died = 3 ]
	check "the heir of a reader is not told more than it may" [ "$(word /tmp/read flags)" -le 1 ]
	check "what was kept idle is there" rdlock run t/idle --kind fair -w 15 -- true
fi
