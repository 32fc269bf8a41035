# SPDX-License-Identifier: GPL-2.0
# Readers of two nodes share a lock, a writer among them waits; an idle owner keeps a sticky lock until it is asked
# vms: 2
# timeout: 200
# needs: rdlock.ko rdlock hammer holder
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 16

stat() { sed -n "s/^$1 //p" /sys/kernel/debug/rdlock/t/stats; }
agent() { grep "^agent $1 " /sys/kernel/debug/rdlock/t/locks; }
state_is() { agent "$1" | grep -q " state=$2 "; }

check "the module loads" load_rdlock
if [ "$NODE" = 0 ]; then
	check "the home makes the space" rdlock space create t "$IP" --id 0 --kind fair
	sync made
else
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
fi
sync joined
check "its default kind is fair" [ "$(rdlock -j space show t | grep -c '"kind": *"fair"')" = 1 ]

# --- shared ---
: >/tmp/reader
holder hold rw -s >/tmp/reader 2>&1 &
reader=$!
check "both nodes read" wait_for 10 grep -q ^held /tmp/reader
sync reading
check "nobody writes meanwhile" expect_status 75 rdlock run -n t/rw -- true
sync tried
kill -TERM $reader
wait $reader
sync read
check "then somebody does" rdlock run -w 20 t/rw -- true
sync wrote

both_sorts() { [ "$(hammer_word shared)" -gt 0 ] && [ "$(hammer_word "done")" -gt 0 ]; }
timeout -s KILL 90 hammer lock mix -t 4 -n 200 -r 60 -p 500 >/tmp/hammer 2>/tmp/errors
check "no reader sees a writer, no writer a reader" [ $? = 0 ]
diag "$(cat /tmp/hammer /tmp/errors)"
check "there were readers and writers" both_sorts
put "done$NODE" "$(hammer_word "done")"
sync mixed 120
check "no increment is lost" [ "$(rdlock counter get t/mix:0)" = $(($(hammer_word "done") + $(get "done$((1 - NODE))"))) ]
sync counted

# --- sticky ---
if [ "$NODE" = 1 ]; then
	# Somebody must have it open, or nothing is kept.
	: >/tmp/first
	holder hold sticky >/tmp/first 2>&1 &
	first=$!
	wait_for 10 grep -q ^held /tmp/first
	: >/tmp/second
	holder hold sticky >/tmp/second 2>&1 &
	second=$!
	wait_for 10 state_is sticky HELD
	kill -TERM $first
	wait $first
	wait_for 10 grep -q ^held /tmp/second
	before=$(($(stat lock_cas) + $(stat lock_faa)))
	check "the second owner of a node has it from the first" grep -q 'flags=2' /tmp/second
	diag "$(cat /tmp/first /tmp/second; agent sticky)"
	sync kept
	sync asked
	kill -TERM $second
	wait $second
	check "handing it over costs no operation" [ $(($(stat lock_cas) + $(stat lock_faa))) = $before ]
	sync over
else
	sync kept
	: >/tmp/third
	holder hold sticky >/tmp/third 2>&1 &
	third=$!
	check "another node waits for it" wait_for 10 state_is sticky WAIT
	sync asked
	check "and gets it" wait_for 10 grep -q ^held /tmp/third
	kill -TERM $third
	wait $third
	sync over
fi
# --- a try asks an idle owner of another node, once; it has given the lock up by the next one at the latest ---
if [ "$NODE" = 1 ]; then
	: >/tmp/idle
	holder hold idle >/tmp/idle 2>&1 &
	idle=$!
	wait_for 10 grep -q ^held /tmp/idle
	holder open idle >/dev/null 2>&1 &
	opener=$!
	wait_for 10 grep -q "^agent idle .*opens=2" /sys/kernel/debug/rdlock/t/locks
	kill -TERM $idle
	wait $idle
	check "an idle owner keeps the lock" wait_for 10 state_is idle CACHED
	sync idle
else
	sync idle
	check "and gives it to one that tries" wait_for 20 rdlock run -n t/idle -- true
fi
sync probed

# --- a value goes from node to node, by message or through the home ---
for kind in fair ticket mcs; do
	if [ "$NODE" = 0 ]; then
		: >/tmp/v0
		holder hold v$kind -k $kind -v zero >/tmp/v0 2>&1 &
		zero=$!
		wait_for 10 grep -q ^held /tmp/v0
		sync zero$kind
		sync one$kind
		kill -TERM $zero
		wait $zero
		sync got$kind
		: >/tmp/v2
		holder hold v$kind -k $kind -v two >/tmp/v2 2>&1 &
		two=$!
		wait_for 10 state_is v$kind WAIT
		sync two$kind
		check "$kind: what the other left" wait_for 20 grep -q 'value=one$' /tmp/v2
		diag "$(cat /tmp/v2)"
		kill -TERM $two
		wait $two
	else
		sync zero$kind
		: >/tmp/v1
		holder hold v$kind -k $kind -v one >/tmp/v1 2>&1 &
		one=$!
		wait_for 10 state_is v$kind WAIT
		sync one$kind
		check "$kind: what the first left" wait_for 20 grep -q 'value=zero$' /tmp/v1
		diag "$(cat /tmp/v1)"
		sync got$kind
		sync two$kind
		kill -TERM $one
		wait $one
	fi
	sync left$kind
done
[ "$NODE" = 0 ] || kill "$opener"
check "the module unloads" wait_for 5 unload_rdlock
sync end
