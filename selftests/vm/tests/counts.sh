# SPDX-License-Identifier: GPL-2.0
# What each path of each kind costs in atomics, reads, writes and messages, counted by the module, at home and member
# vms: 2
# timeout: 150
# needs: rdlock.ko rdlock holder count_test
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

stats=/sys/kernel/debug/rdlock/t/stats
source=$stats	# or a copy: numbers that are compared must be of one moment
stat() { sed -n "s/^$1 //p" $source; }
copied() { cat $stats >/tmp/stats && source=/tmp/stats; }
atomics() { echo $(($(stat lock_cas) + $(stat lock_faa))); }
agent_is() { grep "^agent $1 " /sys/kernel/debug/rdlock/t/locks | grep -q " $2 "; }
remember()
{
	copied
	a=$(atomics) r=$(stat lock_read) w=$(stat lock_write) g=$(stat sent_grant) h=$(stat sent_hint) q=$(stat query)
	source=$stats
}
# Who waits longer than a second asks again, with one look and one word each time; that is not counted. It may be between
# the two at the moment, so ask until it is not: what should not have been done stays done.
watched()
{
	copied
	[ "$(($(atomics) - a)) $(($(stat lock_write) - w))" = "0 0" ] &&
		[ $(($(stat sent_hint) - h)) = $(($(stat query) - q)) ] &&
		[ $(($(stat lock_read) - r)) -le $(($(stat query) - q)) ]
	still=$?
	source=$stats
	return $still
}
since() { echo "$(($(atomics) - a)) $(($(stat lock_read) - r)) $(($(stat lock_write) - w)) $(($(stat sent_grant) - g)) $(($(stat sent_hint) - h))"; }

hint_sent() { [ "$(stat sent_hint)" -gt "$h" ]; }

# waits KEY KIND: the other node has the lock, and this one waits for it: what did that cost?
waits()
{
	remember
	: >"/tmp/$1"
	holder hold "$1" -k "$2" >"/tmp/$1" 2>&1 &
	waiter=$!
	wait_for 10 agent_is "$1" state=WAIT
	# The slot, the look at the board and the word to the holder follow the ticket.
	wait_for 10 hint_sent
}

plan 7
check "the module loads" load_rdlock
if [ "$NODE" = 0 ]; then
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
else
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
fi
sync joined
# One node at a time, so that the other's locks are its own.
export RDLOCK_SPACE=t RDLOCK_NODE="$NODE"
for turn in 0 1; do
	[ $turn = "$NODE" ] && run_ktap count_test
	sync "counted$turn" 120
done

for kind in fair mcs; do
	if [ "$NODE" = 0 ]; then
		: >/tmp/mine
		holder hold "$kind" -k $kind >/tmp/mine 2>&1 &
		mine=$!
		wait_for 10 grep -q ^held /tmp/mine
		sync "held$kind"
		sync "waits$kind"
		wait_for 10 agent_is "$kind" next=1
		remember
		kill -TERM $mine
		wait $mine
		check "$kind: handing it to a known successor is one message and no operation" [ "$(since)" = "0 0 0 1 0" ]
		diag "atomics, reads, writes, grants, hints: $(since)"
		sync "handed$kind"
		check "$kind: it is given to the one that waits" [ "$(get "got$kind")" = held ]
	else
		sync "held$kind"
		waits $kind $kind
		cost=$(since)
		diag "atomics, reads, writes, grants, hints: $cost"
		if [ $kind = fair ]; then
			check "$kind: waiting begins with a ticket, a slot, a look and a word" [ "$cost" = "1 1 1 0 1" ]
		else
			# A compare-and-swap that guessed wrong comes first.
			check "$kind: waiting begins with a place in the queue and a word" [ "${cost#* }" = "0 0 0 1" ]
		fi
		remember
		sleep 0.5
		sync "waits$kind"
		sync "handed$kind"
		wait_for 10 grep -q ^held /tmp/$kind
		put "got$kind" "$(sed -n '1s/ .*//p' /tmp/$kind)"
		check "$kind: then it waits without any operation, but for its watchdog" wait_for 3 watched
		diag "atomics, reads, writes, grants, hints: $(since)"
		kill -TERM $waiter
		wait $waiter
	fi
	sync "over$kind"
done
sync end
