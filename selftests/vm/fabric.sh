# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC3043
#
# Words for scenarios of the fabric by itself (rdf_test.ko), sourced after lib.sh; and those scenarios that each
# back-end must pass in the same way.

DIR=/sys/kernel/debug/rdf_test
FAULT=/sys/kernel/debug/rdlock/fault
HOME_IP=$(ip_of 0)
PORT=4444
link=-1		# number of the newest link
step=0		# of the barriers
came=0		# messages of the newest link that came so far
sum=0		# what the word must be

# cmd WORDS...: fails with the command's error message on stderr
cmd() { echo "$*" >$DIR/cmd; }
val() { sed -n "s/^$1=//p" $DIR/status; }
is() { [ "$(val "$1")" = "$2" ] || { echo "$1 is $(val "$1"), not $2"; return 1; }; }
at_least() { [ "$(val "$1")" -ge "$2" ] || { echo "$1 is $(val "$1"), less than $2"; return 1; }; }
fault() { echo "$2" >"$FAULT/$1"; }

# fails_with TEXT COMMAND...: the errno, as the shell prints it
fails_with()
{
	local text="$1"
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

# Each of the $1 operations ended, once (the command says so), and the run did not come to its usual end.
cut_short() { [ "$(cat /tmp/.run)" = 0 ] && [ "$(val ok)" -gt 0 ] && [ "$(val ok)" -lt "$1" ]; }

# fabric_loop BACKEND: one node's own memory. 34 points
fabric_loop()
{
	local backend="$1" before i ok t ops=30000
	# The processor has done those before the device goes.
	[ "$backend" = nic ] || ops=1000000
	wait_for 10 rxe_active
	check "the test module loads" modprobe rdf_test

	cmd backend "$backend"
	check "an address of nobody is refused" fails_with "No such device\|Cannot assign" cmd home 10.99.0.1 4444
	check "a home is made" cmd home "$IP" 4444
	check "of that back-end" is backend "$backend"
	check "on rxe0" test "$(val dom)" = rxe0
	# The list is kmod/test/fabric/cases.h, and the rule contract_cases compares.
	for t in cas faa bad_args many rw refused no_atomic stale killed values lengths order refusals; do
		check "loop: $t" cmd loop $t
	done

	fault op_ambig 1
	check "op_ambig: the operation was taken" cmd ownfaa 1
	check "op_ambig: one is ambiguous" test "$(val ambiguous)" = 1
	check "op_ambig: the pair is made again" cmd loop back

	# 4 points of back-end nic alone: its device stores results.
	if [ "$backend" = nic ]; then
		fault no_result 1
		check "no_result: the operation was taken" cmd ownfaa 1
		check "no_result: nobody believes what the last one found" test "$(val ambiguous)" = 1
		check "no_result: it is counted" test "$(val stat_no_result)" = 1
		check "no_result: the pair is made again" cmd loop back
	fi

	fault op_delay 1
	before=$(vmctl now)
	check "op_delay: a late completion still comes, once" cmd ownfaa 4 4
	check "op_delay: late" test $(($(vmctl now) - before)) -gt 900000000

	fault post_fail 1
	check "post_fail: every operation is accounted for" cmd ownfaa 200 100
	check "post_fail: what was not posted certainly failed" test "$(val failed)" -ge 1
	check "post_fail: the pair is made again" cmd loop back

	i=0
	ok=1
	while [ $i -lt "$(scaled 100)" ]; do
		{ cmd close && cmd home "$IP" 4444 && cmd loop many; } || ok=0
		i=$((i + 1))
	done
	check "closed and made again, many times" test $ok = 1

	(cmd ownfaa $ops 200; echo $? >/tmp/.run) &
	usleep 100000
	check "the device is deleted while operations run" /sbin/rdma link del rxe0
	wait
	diag "status $(cat /tmp/.run), $(val ok) done, $(val failed) failed, $(val ambiguous) ambiguous"
	check "each of them ended once, and not all of them well" cut_short $ops
	check "its home was told" wait_for 10 is gone 1
	check "and is gone" wait_for 10 sh -c "grep -q dom=none $DIR/status"
	check "the module unloads" rmmod rdf_test
}

# --- two nodes ----------------------------------------------------------------

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

# What comes before there are operations: the same with every back-end, so once is enough.
fabric_refusals()
{
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
}

fabric_hole()
{
	local before
	# A hole in the network: our own time-out, not the CM's minutes.
	if [ "$NODE" = 1 ]; then
		# The CM answers for a live host only, so this one swallows all requests.
		ip neigh replace 10.77.0.99 lladdr 02:00:00:00:00:99 dev eth0
		before=$(vmctl now)
		check "a black hole times out" fails_with "timed out" cmd connect 10.77.0.99 $PORT 2000
		check "in bounds" test $(($(vmctl now) - before)) -lt 5000000000
		check "an address that nobody has fails" fails_with "timed out\|No route" cmd connect 10.77.0.98 $PORT 2000
	fi
}

# fabric_pair BACKEND. Points: see where it is called.
fabric_pair()
{
	local backend="$1" before got how t
	wait_for 10 rxe_active
	check "the test module loads" modprobe rdf_test
	meet
	if [ "$NODE" = 0 ]; then
		cmd backend "$backend"
		check "the home is made" cmd home "$IP" $PORT
		meet
	else
		meet
		check "the node finds its device" cmd node "$HOME_IP" $PORT
	fi

	new_link first
	[ "$NODE" = 0 ] || for t in values lengths order; do
		check "contract: $t" cmd contract $link $t
	done
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

	check "lossy: the network gets bad" netem on "loss 2% duplicate 1% delay 200us reorder 10%"
	messages lossy "$(scaled 4000)"
	atomics lossy "$(scaled 10000)"
	netem off

	# Early data: what comes before the owner is ready waits for it.
	[ "$NODE" = 0 ] && fault recv_hold 1
	meet
	before=$(vmctl now)
	messages held 100
	[ "$NODE" = 0 ] && check "held: they were held" test $(($(vmctl now) - before)) -gt 900000000

	[ "$backend" = rpc ] || fabric_refusals

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

	# Outside of the memory, by an atomic and by a read.
	for how in 2 8; do
		new_link bounds$how
		[ "$NODE" = 1 ] && check "bounds$how: refused, certainly not done" cmd refusal $link $how
		gone bounds$how -104 -13
	done

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

	# It dies with many under way: each ends once, and the word agrees with what they said.
	new_link load
	[ "$NODE" = 1 ] || { cmd value && sum=$(val value); }
	meet
	if [ "$NODE" = 1 ]; then
		(cmd faa $link 1000000 64; echo $? >/tmp/.run) &
		usleep 300000
		meet
		wait $!
		check "load: every operation is accounted for" test "$(cat /tmp/.run)" = 0
		put load "$(val ok) $(val ambiguous)"
	else
		meet
		cmd kill $link
		# shellcheck disable=SC2046 # two numbers
		set -- $(get load)
		cmd value
		check "load: $1 to $1 + $2 of them were done" \
			eval "at_least value $((sum + $1)) && [ $(val value) -le $((sum + $1 + $2)) ]"
	fi
	gone load -125 -104

	new_link ambiguous
	[ "$NODE" = 1 ] && {
		fault op_ambig 1
		cmd faa $link 1000 64
		check "ambiguous: it is told" at_least ambiguous 1
	}
	gone ambiguous -104 -110

	if [ "$backend" = rpc ]; then
		new_link "answer lost"
		if [ "$NODE" = 0 ]; then
			cmd value
			before=$(val value)
			fault reply_lost 1
			meet
			gone "answer lost" -5 -104
			cmd value
			check "answer lost: it was done, once" is value $((before + 1))
		else
			meet
			cmd faa $link 1 1
			check "answer lost: nobody knows" is ambiguous 1
			gone "answer lost" -5 -104
		fi
	fi

	[ "$backend" = rpc ] || fabric_hole
	meet
	# The table of links is short, so start over; and node 1 may have more than node 0.
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
}
