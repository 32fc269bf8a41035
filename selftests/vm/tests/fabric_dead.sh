# SPDX-License-Identifier: GPL-2.0
# The fabric when the peer vanishes: silence, a stopped machine, a dead one, a home that returns
# vms: 2
# timeout: 240
# dies: 0
# needs: rdf_test.ko
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

DIR=/sys/kernel/debug/rdf_test
HOME_IP=$(ip_of 0)
PORT=4444

cmd() { echo "$*" >$DIR/cmd; }
val() { sed -n "s/^$1=//p" $DIR/status; }
is() { [ "$(val "$1")" = "$2" ] || { echo "$1 is $(val "$1"), not $2"; return 1; }; }
fails_with()
{
	text="$1"
	shift
	"$@" 2>/tmp/.err && return 1
	grep -q "$text" /tmp/.err && return 0
	cat /tmp/.err
	return 1
}

wait_for 10 rxe_active
if [ "$NODE" = 0 ]; then
	# Killed at the end, so what it has to say it says before.
	plan 4
	check "the test module loads" modprobe rdf_test
	check "the home is made" cmd home "$IP" $PORT
	sync home
	sync connected
	sync silent
	check "a node that posts nothing sees nothing" is link0_downs 0
	cmd kill 0
	check "a kill towards a silent peer is bounded" wait_for 10 is link0_downs 1
	sync heard
	sync stopped
	sync second
	sleep 100
	exit 0
fi

# $1: what; while operations are under way, $2...: what makes the home vanish. The newest link is number $link.
vanish()
{
	desc="$1"
	shift
	(
		cmd faa $link 1000000 64
		echo $? >/tmp/.run
	) &
	usleep 300000
	"$@"
	start=$(vmctl now)
	wait $!
	check "$desc: every operation is accounted for" test "$(cat /tmp/.run)" = 0
	check "$desc: within 15 s" test $(($(vmctl now) - start)) -lt 15000000000
	check "$desc: some may have happened" test "$(val ambiguous)" -gt 0
	check "$desc: no more than were in the queue" test "$(val ambiguous)" -le 128
	check "$desc: the end is told" wait_for 15 is link${link}_downs 1
	check "$desc: as a time-out" is link${link}_err -110
}

plan 26
check "the test module loads" modprobe rdf_test
sync home
check "the node finds its device" cmd node "$HOME_IP" $PORT
check "node 1 connects" cmd connect "$HOME_IP" $PORT
sync connected

link=0
vanish silence netem on loss 100%
sync silent
sync heard
netem off
check "after the silence: it connects again" cmd connect "$HOME_IP" $PORT

link=1
vanish stopped vm stop 0
check "stopped: a request to it times out" fails_with "timed out" cmd connect "$HOME_IP" $PORT 1500
vm cont 0
sync stopped
check "and goes through when it runs again" cmd connect "$HOME_IP" $PORT
sync second

link=3
vanish dead vm kill 0
check "dead: closing is bounded" cmd close
check "dead: the module unloads" rmmod rdf_test
