# SPDX-License-Identifier: GPL-2.0
# The fabric between two nodes: links, messages, atomics, refusals, ends
# vms: 2
# timeout: 240
# needs: rdf_test.ko
# shellcheck shell=sh disable=SC1091,SC2015
. /vm/lib.sh

DIR=/sys/kernel/debug/rdf_test
FAULT=/sys/kernel/debug/rdlock/fault
HOME_IP=$(ip_of 0)
PORT=4444
link=-1		# number of the newest link
step=0		# of the barriers
came=0		# messages of the newest link that came so far
sum=0		# what the word must be

cmd() { echo "$*" >$DIR/cmd; }
val() { sed -n "s/^$1=//p" $DIR/status; }
is() { [ "$(val "$1")" = "$2" ] || { echo "$1 is $(val "$1"), not $2"; return 1; }; }
at_least() { [ "$(val "$1")" -ge "$2" ] || { echo "$1 is $(val "$1"), less than $2"; return 1; }; }
fault() { echo "$2" >"$FAULT/$1"; }
fails_with()
{
	text="$1"
	shift
	"$@" 2>/tmp/.err && return 1
	grep -q "$text" /tmp/.err && return 0
	cat /tmp/.err
	return 1
}

# Both nodes are here.
meet()
{
	step=$((step + 1))
	sync "step$step"
}

# A new link from node 1 to node 0, up on both.
new_link()
{
	link=$((link + 1))
	if [ "$NODE" = 1 ]; then
		check "$1: node 1 connects" cmd connect "$HOME_IP" $PORT 9000
	else
		check "$1: node 0 has the link up" wait_for 15 is link${link}_ups 1
	fi
	came=0
	meet
}

# The newest link ended on both, once; $2: how node 0 sees it, $3: node 1
gone()
{
	eval "want=\$$((NODE + 2))"
	check "$1: the end is told" wait_for 20 is link${link}_downs 1
	check "$1: as $want" is link${link}_err "$want"
	meet
}

messages()
{
	check "$1: $2 messages are sent" cmd send $link "$2"
	came=$((came + $2))
	check "$1: as many come, in order" cmd received $link $came 60000
	meet
}

# Both nodes at the same word, $2 times each.
atomics()
{
	meet
	if [ "$NODE" = 1 ]; then
		check "$1: atomics of node 1" cmd faa $link "$2" 16
	else
		check "$1: atomics of the home" cmd ownfaa "$2" 16
	fi
	check "$1: all of them were done" is ok "$2"
	sum=$((sum + 2 * $2))
	meet
	[ "$NODE" = 1 ] || {
		cmd value
		check "$1: the sum is exact" is value $sum
	}
	meet
}

plan $((NODE == 0 ? 46 : 53))
wait_for 10 rxe_active
check "the test module loads" modprobe rdf_test
meet
if [ "$NODE" = 0 ]; then
	check "the home is made" cmd home "$IP" $PORT
	meet
else
	meet
	check "the node finds its device" cmd node "$HOME_IP" $PORT
fi

new_link first
messages plain 1000
atomics plain 3000
check "credit messages were needed" at_least stat_credit 1
check "no message was bad" is stat_bad_msg 0

# A receiver that keeps everything stops the sender, not the atomics.
if [ "$NODE" = 0 ]; then
	cmd keep 1
	meet
	meet
	got=$(val link${link}_received)
	check "kept: the sender stops at the credits ($((got - came)))" test $((got - came)) -le 63
	check "kept: not before most are used" test $((got - came)) -ge 31
	meet
	cmd keep 0
	cmd release $link
	came=$((came + 200))
	check "kept: the rest comes when they are given back" cmd received $link $came
	sum=$((sum + 100))
else
	meet
	cmd send $link 200
	check "kept: atomics go on" cmd faa $link 100 8
	check "kept: all of them" is ok 100
	usleep 300000
	meet
	meet
fi
meet

netem on "loss 2% duplicate 1% delay 200us reorder 10%"
messages lossy "$(scaled 4000)"
atomics lossy "$(scaled 10000)"
netem off

# Early data: what comes before the owner is ready waits for it.
[ "$NODE" = 0 ] && fault recv_hold 1
meet
before=$(vmctl now)
messages held 100
[ "$NODE" = 0 ] && check "held: they were held" test $(($(vmctl now) - before)) -gt 900000000

# Refusals.
if [ "$NODE" = 0 ]; then
	cmd refuse 13
	meet
	meet
	cmd refuse 0
	check "the owner's refusal is counted" is stat_reject 1
else
	meet
	check "the owner's refusal is seen" fails_with "Permission denied" cmd connect "$HOME_IP" $PORT
	check "an unknown space is refused" fails_with "No such file" cmd connect "$HOME_IP" $PORT 5000 99
	meet
	check "a refused link is told once" is link1_downs 1
	check "nobody listens there" fails_with "refused" cmd connect "$HOME_IP" 4445
fi
meet
# Node 1 has three links more in its table than node 0.
[ "$NODE" = 1 ] && link=$((link + 3))

# A wrong key hurts its own link only.
new_link badkey
[ "$NODE" = 1 ] && check "badkey: refused, certainly not done" fails_with "Operation canceled" cmd badkey $link
gone badkey -104 -13
[ "$NODE" = 1 ] && {
	check "badkey: the other link works" cmd faa 0 100 8
	check "badkey: all of it" is ok 100
}

new_link writeword
[ "$NODE" = 1 ] && {
	check "writeword: the operation ends" cmd writeword $link
	check "writeword: refused, certainly not done" is failed 1
}
gone writeword -104 -13

# The key of a dead link is worth nothing on a new one.
new_link oldkey
[ "$NODE" = 1 ] && check "oldkey: refused" fails_with "Operation canceled" cmd oldkey $link $((link - 1))
gone oldkey -104 -13

new_link "kill by node 1"
[ "$NODE" = 1 ] && cmd kill $link
gone "kill by node 1" -104 -125
new_link "kill by node 0"
[ "$NODE" = 0 ] && cmd kill $link
gone "kill by node 0" -125 -104

new_link ambiguous
[ "$NODE" = 1 ] && {
	fault op_ambig 1
	cmd faa $link 1000 64
	check "ambiguous: it is told" at_least ambiguous 1
}
gone ambiguous -104 -110

# A hole in the network: our own time-out, not the CM's minutes.
if [ "$NODE" = 1 ]; then
	# The CM answers for a live host only, so this one swallows all requests.
	ip neigh replace 10.77.0.99 lladdr 02:00:00:00:00:99 dev eth0
	before=$(vmctl now)
	check "a black hole times out" fails_with "timed out" cmd connect 10.77.0.99 $PORT 2000
	check "in bounds" test $(($(vmctl now) - before)) -lt 5000000000
	check "an address that nobody has fails" fails_with "timed out\|No route" cmd connect 10.77.0.98 $PORT 2000
fi
meet
# Node 1 has two links more again; the table is short, so start over.
cmd close
meet
if [ "$NODE" = 0 ]; then
	check "the home is made again" cmd home "$IP" $PORT
	meet
else
	meet
	check "the node finds its device again" cmd node "$HOME_IP" $PORT
fi
link=-1
new_link again
meet
[ "$NODE" = 0 ] && {
	check "the home's device is deleted" /sbin/rdma link del rxe0
	check "its domain is told" wait_for 10 is gone 1
	check "and lets it go" wait_for 10 is dom none
}
[ "$NODE" = 1 ] && check "the peer sees the end" wait_for 20 is link0_downs 1
meet
check "the module unloads" rmmod rdf_test
