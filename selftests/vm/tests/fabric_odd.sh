# SPDX-License-Identifier: GPL-2.0
# The fabric against what should not come: events out of order, wrong messages, strangers, floods
# vms: 2
# timeout: 200
# needs: rdf_test.ko
# shellcheck shell=sh disable=SC1091,SC2086
. /vm/lib.sh

DIR=/sys/kernel/debug/rdf_test
FAULT=/sys/kernel/debug/rdlock/fault
HOME_IP=$(ip_of 0)
PORT=4444
step=0

cmd() { echo "$*" >$DIR/cmd; }
val() { sed -n "s/^$1=//p" $DIR/status; }
is() { [ "$(val "$1")" = "$2" ] || { echo "$1 is $(val "$1"), not $2"; return 1; }; }
fault() { echo "$2" >"$FAULT/$1"; }
meet()
{
	step=$((step + 1))
	sync "step$step"
}
fails_with()
{
	text="$1"
	shift
	"$@" 2>/tmp/.err && return 1
	grep -q "$text" /tmp/.err && return 0
	cat /tmp/.err
	return 1
}
inject_all()
{
	for c in 0 1; do
		for e in "$@"; do
			cmd inject 0 $c "$e" || return 1
		done
	done
}

wait_for 10 rxe_active
plan $((NODE == 0 ? 14 : 42))
check "the test module loads" modprobe rdf_test
check "every event in every state" cmd matrix

if [ "$NODE" = 0 ]; then
	check "the home is made" cmd home "$IP" $PORT
	meet
else
	meet
	check "the node finds its device" cmd node "$HOME_IP" $PORT
	check "node 1 connects" cmd connect "$HOME_IP" $PORT
fi
meet

# All of the CM's events but the three that mean an end, and numbers that it does not have.
HARMLESS="0 1 2 3 4 5 6 7 8 9 12 13 15 16 77"
check "odd events are survived" inject_all $HARMLESS
check "and counted" test "$(val stat_bad_event)" -ge 20
meet
if [ "$NODE" = 0 ]; then
	check "the link still delivers" cmd received 0 100
	check "once up, never down" is link0_ups 1
else
	check "the link still sends" cmd send 0 100
	check "and operates" cmd faa 0 100 8
	check "every time" is ok 100
fi
meet
if [ "$NODE" = 1 ]; then
	check "a disconnection" cmd inject 0 1 10
	check "is an end" wait_for 10 is link0_downs 1
	check "late events are survived" inject_all 10 11 14 $HARMLESS
	check "the end was told once" is link0_downs 1
else
	check "the peer sees it" wait_for 10 is link0_downs 1
fi
meet

# Wrong messages are counted; after eight the link is closed.
if [ "$NODE" = 1 ]; then
	check "it connects again" cmd connect "$HOME_IP" $PORT
	for how in 0 1 2 3 4 0 1; do
		cmd badmsg 1 $how
	done
	cmd send 1 200
	meet
	check "the link is still up" is link1_downs 0
	meet
	cmd badmsg 1 0
	check "the end comes" wait_for 10 is link1_downs 1
else
	meet
	check "seven wrong messages are survived, good ones come" cmd received 1 200
	check "they were counted" is stat_bad_msg 7
	meet
	check "the eighth is one too many" wait_for 10 is link1_err -74
fi
meet

# Strangers are refused, each with the right word, and leave nothing.
if [ "$NODE" = 1 ]; then
	check "stranger: no magic" fails_with "Bad message" cmd stranger "$HOME_IP" $PORT 0
	check "stranger: other version" fails_with "Protocol not supported" cmd stranger "$HOME_IP" $PORT 1
	check "stranger: no such channel" fails_with "Bad message" cmd stranger "$HOME_IP" $PORT 2
	check "stranger: reserved field" fails_with "Bad message" cmd stranger "$HOME_IP" $PORT 3
	check "stranger: second channel without a first" fails_with "Stale" cmd stranger "$HOME_IP" $PORT 4
	check "stranger: no room for atomics" fails_with "Protocol error" cmd stranger "$HOME_IP" $PORT 5
	# A first channel whose second never comes is dropped after its time.
	check "stranger: half a link" fails_with "is already connected\|already connected" cmd stranger "$HOME_IP" $PORT 9
	meet
else
	meet
	check "half a link ends without having been up" wait_for 15 is link2_downs 1
	check "never up" is link2_ups 0
fi
meet

# The attempt is given up while the request is on its way; the answer comes too late.
[ "$NODE" = 0 ] && { fault accept_hold 1; echo 1500 >$FAULT/accept_hold_ms; }
meet
[ "$NODE" = 1 ] && {
	before=$(vmctl now)
	check "late answer: our time-out" fails_with "timed out" cmd connect "$HOME_IP" $PORT 500
	check "late answer: in bounds" test $(($(vmctl now) - before)) -lt 4000000000
	fault connect_hold 1
	check "held request: our time-out" fails_with "timed out" cmd connect "$HOME_IP" $PORT 500
	check "and then it works" cmd connect "$HOME_IP" $PORT
	check "it operates" cmd faa 4 100 8
	check "every time " is ok 100

	# Events of a queue pair that come alone. 3: a request of the peer's was refused; 1: it is broken.
	check "a refusal is reported" cmd qpevent 4 1 3
	check "the peer has time to end the link" is link4_downs 0
	check "it does not, so we do" wait_for 10 is link4_downs 1
	check "as if it had" is link4_err -104
	check "another link" cmd connect "$HOME_IP" $PORT
	cmd qpevent 5 0 1
	check "a broken queue pair ends it" wait_for 10 is link5_downs 1
	check "as an error" is link5_err -5

	# 5: flushed, which is what other queues see of 12, retries exhausted.
	check "one more link" cmd connect "$HOME_IP" $PORT
	cmd wc 6 5 12
	check "a flush ends it" wait_for 10 is link6_downs 1
	check "the cause is the request that failed" is link6_err -110
}
meet

# The CM breaks a pair that is refused before it says so: the flush comes first, and does not hide the reason.
[ "$NODE" = 0 ] && { fault accept_hold 1; echo 1000 >$FAULT/accept_hold_ms; }
meet
[ "$NODE" = 1 ] && {
	(fails_with "No such file" cmd connect "$HOME_IP" $PORT 4000 99) &
	sleep 0.3
	check "flushed while connecting" cmd wc 7 5
	check "the refusal is told" wait $!
}
meet
check "the module unloads" rmmod rdf_test
meet
