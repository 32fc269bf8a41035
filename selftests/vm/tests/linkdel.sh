# SPDX-License-Identifier: GPL-2.0
# The RDMA device is deleted under holders and waiters, at the home and at the member in turn, and comes back
# vms: 2
# timeout: 60 + 3000 * SCALE
# group: check soak
# needs: rdlock.ko rdlock holder hammer
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 9

rounds=$(scaled 50)
[ "$rounds" -ge 2 ] || rounds=2
: >/tmp/wrong
wrong() { echo "round $round: $*" >>/tmp/wrong; }
nothing_wrong() { ! grep -e "$1" /tmp/wrong; }
gone() { ! kill -0 "$1" 2>/dev/null; }
no_rxe() { ! /sbin/rdma link show 2>/dev/null | grep -q rxe0; }
held_or_failed() { grep -q 'held\|failed' "$1"; }

# Each node has a lock that it holds with a local waiter, and waits for the other's.
hold_all()
{
	: >/tmp/held
	holder hold "of$NODE" >/tmp/held 2>&1 &
	held=$!
	wait_for 10 held_or_failed /tmp/held
	grep -q '^held' /tmp/held || wrong "hold: $(cat /tmp/held)"
	sync "holding$round"
	: >/tmp/waits
	holder hold "of$NODE" >/tmp/waits 2>&1 &
	waits=$!
	: >/tmp/remote
	holder hold "of$((1 - NODE))" >/tmp/remote 2>&1 &
	remote=$!
	: >/tmp/load
	hammer lock load -t 2 -n 1000000 >/tmp/load 2>&1 &
	load=$!
	usleep 300000
	sync "waiting$round"
}

# The node whose device went, and a member whose home's went: everybody is told. The home goes on without a member.
all_told()
{
	wait_for 15 gone $held || wrong "told: holder: $(cat /tmp/held)"
	wait_for 15 gone $waits || wrong "told: waiter: $(cat /tmp/waits)"
	wait_for 15 gone $remote || wrong "told: remote waiter: $(cat /tmp/remote)"
	wait_for 15 gone $load || wrong "told: load: $(cat /tmp/load)"
	grep -q '^lost E' /tmp/held || wrong "errno: holder: $(cat /tmp/held)"
	grep -q '^failed E' /tmp/waits || wrong "errno: waiter: $(cat /tmp/waits)"
	grep -q 'failed E\|lost E' /tmp/remote || wrong "errno: remote waiter: $(cat /tmp/remote)"
}

home_goes_on()
{
	wait_for 15 grep -q '^held' /tmp/remote || wrong "heir: $(cat /tmp/remote)"
	gone $held && wrong "heir: the home lost its own lock: $(cat /tmp/held)"
	gone $load && wrong "heir: the home's load ended: $(cat /tmp/load)"
}

end_all()
{
	kill -9 $held $waits $remote $load 2>/dev/null
	wait $held $waits $remote $load
}

del_and_add()
{
	timeout -s KILL 20 /sbin/rdma link del rxe0 || wrong "del: status $?"
	no_rxe || wrong "del: still there"
}

# Somebody looks all the time, and keeps a file open across the end of what it shows.
dumps=/sys/kernel/debug/rdlock
reader()
{
	while :; do
		cat $dumps/*/* >/dev/null 2>&1
		usleep 100000
	done
}

round=0
load_rdlock || bail "no module"
reader &
reader=$!
while [ $round -lt "$rounds" ]; do
	round=$((round + 1))
	victim=$((round % 2))
	if [ "$NODE" = 0 ]; then
		rdlock space create t "$IP" --id 0 >/tmp/create 2>&1 || wrong "create: $(cat /tmp/create)"
		sync "made$round"
	else
		sync "made$round"
		rdlock space join t "$(ip_of 0)" --id 1 --wait 20 >/tmp/join 2>&1 || wrong "join: $(cat /tmp/join)"
	fi
	sync "joined$round"
	hold_all
	if [ "$NODE" = $victim ]; then
		del_and_add
	fi
	if [ "$NODE" = 1 ] || [ $victim = 0 ]; then
		all_told
	else
		home_goes_on
	fi
	sync "told$round" 120
	end_all
	exec 4<$dumps/t/locks || wrong "dump: no file"
	if [ "$NODE" = $victim ]; then
		/sbin/rdma link add rxe0 type rxe netdev eth0 || wrong "add: status $?"
		wait_for 10 rxe_active || wrong "add: not active"
	fi
	if [ "$NODE" = 1 ]; then
		rdlock space leave t --force >/tmp/leave 2>&1 || wrong "leave: $(cat /tmp/leave)"
		sync "left$round" 60
	else
		sync "left$round" 60
		rdlock space destroy t --force >/tmp/leave 2>&1 || wrong "leave: $(cat /tmp/leave)"
	fi
	# Data, nothing or an errno, but an answer.
	timeout -s KILL 5 cat <&4 >/dev/null 2>&1
	[ $? = 137 ] && wrong "dump: reading hangs"
	exec 4<&-
	sync "round$round" 60
done
kill -9 $reader
wait $reader
diag "$rounds rounds"
check "spaces are made and joined every time" nothing_wrong ': create:\|: join:'
check "owners get their locks" nothing_wrong ': hold:'
check "the device can be deleted and comes back" nothing_wrong ': del:\|: add:'
check "who held or waited there is told, in bounded time" nothing_wrong ': told:'
check "by an errno" nothing_wrong ': errno:'
check "the home goes on without a member" nothing_wrong ': heir:'
check "spaces are left and destroyed every time" nothing_wrong ': leave:'
check "dumps can be read across all that" nothing_wrong ': dump:'
# A dump that the reader was just printing may still be open.
check "the module unloads" wait_for 5 unload_rdlock
