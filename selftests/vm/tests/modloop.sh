# SPDX-License-Identifier: GPL-2.0
# Load, join, work, unload, over and over; the module of the home goes away while the other node holds and waits
# vms: 2
# load: idle
# timeout: 60 + 4000 * SCALE
# group: check soak
# needs: rdlock.ko rdlock hammer holder
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 7

rounds=$(scaled 200)

# Each step of a round leaves a word here when it goes wrong; the points are counted at the end.
: >/tmp/wrong
wrong() { echo "round $round: $*" >>/tmp/wrong; }
nothing_wrong() { ! grep -e "$1" /tmp/wrong; }
gone() { ! kill -0 "$1" 2>/dev/null; }
no_module() { ! grep -q '^rdlock ' /proc/modules; }

# A holder, a waiter and some load that are told of the end by an errno, in bounded time.
work()
{
	: >/tmp/held
	holder hold mine >/tmp/held 2>&1 &
	held=$!
	wait_for 10 grep -q held /tmp/held || wrong "hold: $(cat /tmp/held)"
	: >/tmp/waits
	holder hold mine >/tmp/waits 2>&1 &
	waits=$!
	: >/tmp/load
	hammer lock load -t 2 -n 1000000 >/tmp/load 2>&1 &
	load=$!
	usleep 300000
}

home()
{
	rdlock space create t "$IP" --id 0 >/tmp/create 2>&1 || wrong "create: $(cat /tmp/create)"
	sync "made$round"
	: >/tmp/local
	holder hold local >/tmp/local 2>&1 &
	local_holder=$!
	wait_for 10 grep -q held /tmp/local || wrong "local: $(cat /tmp/local)"
	sync "working$round"
	rmmod rdlock 2>/tmp/rmmod && wrong "busy: unloaded under an open fd"
	kill -TERM $local_holder
	wait $local_holder
	timeout -s KILL 30 rmmod rdlock 2>/tmp/rmmod || wrong "unload: home: $(cat /tmp/rmmod)"
	sync "unloaded$round" 120
}

member()
{
	sync "made$round"
	rdlock space join t "$(ip_of 0)" --id 1 >/tmp/join 2>&1 || wrong "join: $(cat /tmp/join)"
	work
	sync "working$round"
	sync "unloaded$round" 120
	wait_for 15 gone $held || wrong "told: the holder still sleeps"
	wait_for 15 gone $waits || wrong "told: the waiter still sleeps"
	wait_for 15 gone $load || wrong "told: the load still runs: $(cat /tmp/load)"
	grep -q '^lost E' /tmp/held || wrong "errno: holder: $(cat /tmp/held)"
	grep -q '^failed E' /tmp/waits || wrong "errno: waiter: $(cat /tmp/waits)"
	kill -9 $held $waits $load 2>/dev/null
	wait
	timeout -s KILL 30 rmmod rdlock 2>/tmp/rmmod || wrong "unload: member: $(cat /tmp/rmmod)"
}

round=0
while [ $round -lt "$rounds" ]; do
	round=$((round + 1))
	load_rdlock 2>/tmp/modprobe || wrong "load: $(cat /tmp/modprobe)"
	if [ "$NODE" = 0 ]; then
		home
	else
		member
	fi
	no_module || wrong "unload: still there"
	sync "round$round" 120
done
diag "$rounds rounds"
check "the module loads every time" nothing_wrong ': load:'
check "spaces are made and joined every time" nothing_wrong ': create:\|: join:'
check "owners get their locks" nothing_wrong ': hold:\|: local:'
check "rmmod is refused while an fd is open" nothing_wrong ': busy:'
check "the module unloads, in bounded time" nothing_wrong ': unload:'
check "who held or waited is told, in bounded time" nothing_wrong ': told:'
check "by an errno" nothing_wrong ': errno:'
