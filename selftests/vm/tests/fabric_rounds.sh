# SPDX-License-Identifier: GPL-2.0
# The fabric made and unmade in rounds: modules, devices, links killed on both sides under load
# vms: 2
# timeout: 400
# needs: rdf_test.ko
# group: check soak
# shellcheck shell=sh disable=SC1091,SC2015
. /vm/lib.sh

DIR=/sys/kernel/debug/rdf_test
HOME_IP=$(ip_of 0)
PORT=4444
step=0

cmd() { echo "$*" >$DIR/cmd; }
val() { sed -n "s/^$1=//p" $DIR/status; }
is() { [ "$(val "$1")" = "$2" ]; }
meet()
{
	step=$((step + 1))
	sync "step$step"
}

wait_for 10 rxe_active
plan $((NODE == 0 ? 4 : 5))

wrong()
{
	bad=$((bad + 1))
	diag "round $round: $*"
}

# What the test module said since the last look of an operation or a link that was never told its end, or twice.
lost() { dmesg -c | grep 'rdf_test: .*\(did not complete\|completed twice or never\|neither up nor down\)'; }
dmesg -c >/dev/null

# The link ends in every round with operations of both under way: the home's device goes, or one side kills it.
bad=0
round=0
rounds=$(scaled 100)
while [ $round -lt "$rounds" ]; do
	modprobe rdf_test || wrong "not loaded"
	if [ "$NODE" = 0 ]; then
		wait_for 10 cmd home "$IP" $PORT 2>/dev/null || wrong "no home"
		meet
		meet
		links=$(val links)
		(cmd ownfaa 10000 32 2>/dev/null) &
		usleep 50000
		case $((round % 3)) in
		0)
			/sbin/rdma link del rxe0
			wait_for 10 is dom none || wrong "the device was not let go"
			;;
		1) cmd kill $((links - 1)) || wrong "no kill" ;;
		esac
		wait
		rmmod rdf_test || wrong "not unloaded"
		meet
		if [ $((round % 3)) = 0 ]; then
			/sbin/rdma link add rxe0 type rxe netdev eth0
			wait_for 10 rxe_active
		fi
	else
		meet
		wait_for 10 cmd node "$HOME_IP" $PORT 2>/dev/null || wrong "no device"
		wait_for 10 cmd connect "$HOME_IP" $PORT 2000 2>/dev/null || wrong "no link"
		n=$(($(val links) - 1))
		(cmd send $n 1000 && cmd faa $n 1000000 64) 2>/dev/null &
		meet
		[ $((round % 3)) != 2 ] || cmd kill $n || wrong "no kill"
		meet
		wait
		wait_for 10 is link${n}_downs 1 || wrong "link $n is not down"
		rmmod rdf_test || wrong "not unloaded"
	fi
	! lost >/tmp/lost || wrong "$(cat /tmp/lost)"
	meet
	round=$((round + 1))
done
check "$rounds rounds of coming and going" test $bad = 0

# Links killed at any moment of their making.
bad=0
round=0
rounds=$(scaled 200)
modprobe rdf_test
[ "$NODE" = 0 ] && { wait_for 10 cmd home "$IP" $PORT 2>/dev/null || bad=$((bad + 1)); }
meet
[ "$NODE" = 1 ] && {
	wait_for 10 cmd node "$HOME_IP" $PORT 2>/dev/null || bad=$((bad + 1))
	while [ $round -lt "$rounds" ]; do
		# From far too short to enough
		cmd connect "$HOME_IP" $PORT $((1 + round * 600 / rounds)) 2>/dev/null
		[ $((round % 10)) = 9 ] && { cmd close && cmd node "$HOME_IP" $PORT || bad=$((bad + 1)); }
		round=$((round + 1))
	done
}
! lost >/tmp/lost || wrong "$(cat /tmp/lost)"
meet
cmd close || bad=$((bad + 1))
check "$rounds links with too little time" test $bad = 0

# Links made while every message of the CM may be lost: an attempt is up on both sides or ends on both.
bad=0
round=0
made=0
rounds=$(scaled 100)
[ "$NODE" = 0 ] && { wait_for 10 cmd home "$IP" $PORT 2>/dev/null || bad=$((bad + 1)); }
meet
[ "$NODE" = 1 ] && { wait_for 10 cmd node "$HOME_IP" $PORT 2>/dev/null || bad=$((bad + 1)); }
netem on loss 5% || wrong "the network is good"
while [ $round -lt "$rounds" ]; do
	meet
	if [ "$NODE" = 1 ]; then
		if cmd connect "$HOME_IP" $PORT 1500 2>/dev/null; then
			made=$((made + 1))
			{ cmd faa 0 100 16 && is ok 100; } || bad=$((bad + 1))
		fi
		meet
		cmd close && wait_for 20 cmd node "$HOME_IP" $PORT 2>/dev/null || bad=$((bad + 1))
	else
		meet
		# Told by the peer, or by the time-out of the handshake, or by nobody because its goodbye was lost.
		[ "$(val links)" -lt 8 ] || { cmd close && cmd home "$IP" $PORT; } || bad=$((bad + 1))
	fi
	round=$((round + 1))
done
netem off
! lost >/tmp/lost || wrong "$(cat /tmp/lost)"
meet
cmd close || bad=$((bad + 1))
check "$rounds links over a lossy net" test $bad = 0
[ "$NODE" = 1 ] && diag "$made of $rounds were"
[ "$NODE" = 0 ] || check "some were made at the first attempt" test $made -ge 1
check "the module unloads" rmmod rdf_test
meet
