# SPDX-License-Identifier: GPL-2.0
# What several nodes that want a fair lock cost together, path by path, counted by the modules themselves
# vms: 3
# load: idle
# timeout: 600
# needs: rdlock.ko rdlock holder
# shellcheck shell=sh disable=SC1091,SC3043
. /vm/lib.sh

# A story is a script as in selftests/sim/exhaust_counts.c, which has the same rows for the core alone: words, each with the
# number of a node, and "=", from where the costs count. All VMs go through it word by word.
#
#   x s t   a user wants it exclusively, shared; tries
#   r h     the one that came first gives it up; when it knows who is next
#   m       it goes to the other mode
#   c       the one that came last is killed while it waits
#   p w     hands it over 32 times as soon as it knows to whom; that is over
#   + -     waited for: it has the lock; checked: it has not
#
# One row is not here: a try that asks an idle owner waits 5 ms for the answer, which in an emulated machine may be too short.

stats=/sys/kernel/debug/rdlock/t/stats
story=0		# number of this one
key=
options=	# of the holders
users=0		# that this node had in this story
first=1		# the oldest that is still there

# atomics, reads, writes, grants, hints, probes, queries: one program for it all, the debug kernel is slow in starting them
counted()
{
	awk '{ n[$1] = $2 } END { print n["lock_cas"] + n["lock_faa"], n["lock_read"], n["lock_write"], n["sent_grant"],
		n["sent_hint"], n["sent_probe"], n["query"] }' $stats
}

said() { grep -q "^$2" "/tmp/$key.$1"; }
waits() { grep "^agent $key " /sys/kernel/debug/rdlock/t/locks | grep -q ' state=WAIT'; }
hinted() { grep "^agent $key " /sys/kernel/debug/rdlock/t/locks | grep -q ' next='; }
arrived() { said "$1" 'held\|failed' || waits; }

# begins OPTIONS...
begins()
{
	users=$((users + 1))
	: >"/tmp/$key.$users"
	# shellcheck disable=SC2086 # several options
	holder hold "$key" -k fair $options "$@" >"/tmp/$key.$users" 2>&1 &
	eval "pid$users=$!"
	wait_for 10 arrived $users
}

ends()
{
	eval "kill -TERM \$pid$first; wait \$pid$first"
	first=$((first + 1))
}

turns()
{
	eval "kill -USR1 \$pid$first"
	wait_for 10 said $first 'shared\|exclusive'
}

leaves()
{
	eval "kill -KILL \$pid$users; wait \$pid$users" 2>/dev/null
	users=$((users - 1))
}

# 64 hand-overs of two nodes, as many as there may be before the tickets are given back.
passes()
{
	: >"/tmp/$key.pass"
	holder pass "$key" -k fair -n 32 >"/tmp/$key.pass" 2>&1 &
	[ "$NODE" = 1 ] || wait_for 10 grep -q '^held' "/tmp/$key.pass"
}

# do_word WORD: on the node that is meant
do_word()
{
	case $1 in
	x?) begins ;;
	s?) begins -s ;;
	t?) begins -n ;;
	r?) ends ;;
	h?) wait_for 10 hinted && ends ;;
	m?) turns ;;
	c?) leaves ;;
	p?) passes ;;
	w?) wait_for 60 grep -q '^passed 32' "/tmp/$key.pass" ;;
	+?) wait_for 10 said $first held ;;
	-?) ! said $users held ;;
	*) false ;;
	esac
}

# costs WANT: of all nodes. A waiter asks again after each second, with a look and perhaps a word, and with two looks if its
# last user has left: that is not counted.
# The queries are those of the whole story, since what follows one may come after the counting began.
costs()
{
	local n sum="0 0 0 0 0 0 0"
	for n in $(seq 0 $((NODES - 1))); do
		# shellcheck disable=SC2046,SC2086 # seven numbers each
		sum=$(set -- $sum $(get "cost$story.$n")
			echo "$(($1 + $8)) $(($2 + $9)) $(($3 + ${10})) $(($4 + ${11})) $(($5 + ${12}))" \
				"$(($6 + ${13})) $(($7 + ${14}))")
	done
	echo "atomics, reads, writes, grants, hints, probes, queries: $sum; wanted: $1"
	# shellcheck disable=SC2086 # the same
	set -- $sum $1
	[ "$1 $3 $4 $6" = "$8 ${10} ${11} ${13}" ] && [ $(($2 - $9)) -ge 0 ] && [ $(($2 - $9)) -le $((2 * $7)) ] &&
		[ $(($5 - ${12})) -ge 0 ] && [ $(($5 - ${12})) -le "$7" ]
}

# all_here WORD: what nobody waits for arrives, slots and what is given back; costs are counted when all of it has.
all_here()
{
	case $1 in
	'=') usleep $((200000 * PATIENCE)) ;;
	*) usleep $((50000 * PATIENCE)) ;;
	esac
	step=$((step + 1))
	sync "story$story.$step"
}

# tell WHAT "OPTIONS" "SCRIPT" "ATOMICS READS WRITES GRANTS HINTS PROBES"
tell()
{
	local word last=. bad="" step=0 from="0 0 0 0 0 0 0" to
	story=$((story + 1))
	key=story$story
	options=$2
	asked=$(counted | cut -d ' ' -f 7)
	users=0
	first=1
	# Somebody has the key open all the time: with its last user it would be given back.
	: >"/tmp/$key.0"
	# shellcheck disable=SC2086 # several options
	holder open "$key" -k fair $options >"/tmp/$key.0" 2>&1 &
	opener=$!
	wait_for 10 said 0 open || bad=" open"
	for word in $3; do
		# Two words of one node in a row need no other node.
		[ "${word#?}" = "${last#?}" ] || all_here "$word"
		last=$word
		if [ "$word" = = ]; then
			from=$(counted)
		elif [ "${word#?}" = "$NODE" ]; then
			do_word "$word" || bad="$bad $word"
		fi
	done
	all_here '='
	to=$(counted)
	# shellcheck disable=SC2046,SC2086 # seven numbers each
	put "cost$story.$NODE" "$(set -- $from $to
		echo "$(($8 - $1)) $(($9 - $2)) $((${10} - $3)) $((${11} - $4)) $((${12} - $5)) $((${13} - $6))" \
			"$((${14} - asked))")"
	check "$1: every word" test -z "$bad"
	[ "$NODE" = 0 ] && check "$1" costs "$4"
	while [ $first -le $users ]; do
		ends
	done
	kill $opener
	wait $opener
	sync "story$story.over"
}

# What the home and the openers do to recover a lock, and nothing else: its owner, of a robust one, is killed.
recovery_counted()
{
	awk '{ n[$1] = $2 } END { print n["recovery"], n["home_atomic"], n["sent_freeze"], n["sent_claim"],
		n["sent_rebuilt"] }' $stats
}
recovered() { [ "$(recovery_counted | cut -d ' ' -f 1)" = "$1" ]; }
recovery_costs()
{
	local n sum="0 0 0 0 0"
	for n in $(seq 0 $((NODES - 1))); do
		# shellcheck disable=SC2046,SC2086 # five numbers each
		sum=$(set -- $sum $(get "recovery.$n")
			echo "$(($1 + $6)) $(($2 + $7)) $(($3 + $8)) $(($4 + $9)) $(($5 + ${10}))")
	done
	echo "recoveries, the home's atomics, FREEZE, CLAIM, REBUILT messages: $sum"
	[ "$sum" = "$1" ]
}
recovers()
{
	local from to
	key=recovered
	step=0
	story=recovery
	first=1
	users=0
	options=-r
	: >/tmp/$key.0
	holder open $key -k fair -r >/tmp/$key.0 2>&1 &
	opener=$!
	check "a robust lock is open on every node" wait_for 10 said 0 open
	[ "$NODE" = 1 ] && begins
	all_here '='
	from=$(recovery_counted)
	all_here '='
	if [ "$NODE" = 1 ]; then
		said 1 held || bail "the owner has nothing"
		leaves
	fi
	[ "$NODE" != 0 ] || check "its owner is killed, and the lock recovered" wait_for 10 recovered $((${from%% *} + 1))
	all_here '='
	to=$(recovery_counted)
	# shellcheck disable=SC2046,SC2086 # five numbers each
	put "recovery.$NODE" "$(set -- $from $to
		echo "$(($6 - $1)) $(($7 - $2)) $(($8 - $3)) $(($9 - $4)) $((${10} - $5))")"
	[ "$NODE" != 0 ] || check "that is 3 atomics of the home, and 3 messages with each opener" recovery_costs "1 3 3 3 3"
	kill $opener
	wait $opener
}

stories=19
plan $((NODE == 0 ? 5 + 2 * stories : 3 + stories))
check "the module loads" load_rdlock
if [ "$NODE" = 0 ]; then
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
else
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id "$NODE"
fi
sync joined
export RDLOCK_SPACE=t RDLOCK_NODE="$NODE"

tell "a hand-over in steady state, all of it" "" "x1 x2 r1 +2 = x0 r2 +0" "1 1 1 1 1 0"
tell "the 65th hand-over gives the debt back" "" "p0 p1 w0 x0 w1 +0 x1 = h0 +1" "1 1 0 1 0 0"
tell "beginning to wait for one that is not on the board" -N "x1 = x2" "1 1 1 0 0 0"
tell "hand-over to a writer that could not say so" -N "x1 x2 = r1 +2" "1 1 0 1 0 0"
tell "the same, the value changed" "-N -v new" "x1 x2 = r1 +2" "1 1 1 1 0 0"
tell "a writer gives way to two readers" "" "x0 s1 s2 = r0 +1 +2" "1 1 0 2 0 0"
tell "readers begin to wait, the first one speaks" "" "x0 = s1 s2" "2 2 2 0 1 0"
tell "a reader leaves, another stays, a writer waits" -N "s1 s2 x0 = r1" "1 1 0 0 0 0"
tell "two readers leave, a writer waits" -N "s1 s2 x0 = r1 r2 +0" "2 2 0 1 0 0"
tell "a kept lock goes to a writer" "" "x1 r1 = x2 +2" "1 1 1 1 1 0"
tell "a kept lock goes to a reader" "" "x1 r1 = s2 +2" "2 2 1 1 1 0"
tell "try of a free lock that another had since" -N "x1 r1 x2 r2 = t1 +1" "2 0 0 0 0 0"
tell "try of a lock in use" -N "x2 = t1 -1" "1 0 0 0 0 0"
tell "to shared, two readers wait" "" "x0 s1 s2 = m0 +1 +2" "1 1 0 2 0 0"
tell "to shared, nobody waits" -N "x1 = m1" "1 0 0 0 0 0"
tell "to exclusive, not sticky" -N "s1 = m1" "2 0 0 0 0 0"
tell "to exclusive, sticky" "" "s1 = m1" "2 0 1 0 0 0"
tell "a waiter is killed" "" "x0 x1 x2 = c1" "0 0 0 0 0 0"
tell "its turn is passed on" "" "x0 x1 x2 c1 = r0 +2" "0 0 0 2 0 0"
recovers
sync end
