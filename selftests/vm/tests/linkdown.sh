# SPDX-License-Identifier: GPL-2.0
# The interface is set down under load, so that no message of the CM can be sent, and then the RDMA device is deleted
# vms: 2
# smp: 2
# timeout: 90 + 800 * SCALE
# cmdline: virtio_net.napi_tx=0
# group: check soak
# needs: rdlock.ko rdlock hammer bigvalue
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

# While it is down, virtio-net keeps what it was to send, and with it the sender's queue pair, unless it is told on the
# command line to forget the sender at once. rxe waits for 50 s then, and frees the queue pair all the same.
forgets() { grep '^N' /sys/module/virtio_net/parameters/napi_tx; }

rounds=$(scaled 100)
[ "$rounds" -ge 5 ] || rounds=5
: >/tmp/wrong
wrong() { echo "round $round: $*" >>/tmp/wrong; }
nothing_wrong() { ! grep -e "$1" /tmp/wrong; }
# In microseconds: while the first messages fail, or when the link is given up.
moment() { echo $(($(od -An -N2 -tu2 /dev/urandom) * (round % 2 ? 4 : 20))); }

# A load that ended by itself tested nothing.
load_up()
{
	hammer lock load -t 2 -n 10000000 -v -r 30 >/tmp/load 2>&1 &
	load=$!
	bigvalue big -n 1000000 -c >/tmp/big 2>&1 &
	big=$!
	hammer add load -t 4 -n 10000000 >/tmp/add 2>&1 &
	add=$!
	usleep 600000
	{ kill -0 $load && kill -0 $add; } || wrong "load: $(cat /tmp/load /tmp/add)"
}

del_while_down()
{
	local at start

	rdlock space join t "$(ip_of 0)" --id $((1 + round % 60)) --wait 20 >/tmp/join 2>&1 || wrong "join: $(cat /tmp/join)"
	load_up
	at=$(moment)
	link_down
	usleep "$at"
	start=$(vmctl now)
	/sbin/rdma link del rxe0 || wrong "del: $?"
	[ $((($(vmctl now) - start) / 1000000)) -lt $((15000 * PATIENCE)) ] || wrong "time: of rdma link del, $at us after"
	kill -KILL $load $big $add
	wait $load $big $add
	link_up
	/sbin/rdma link add rxe0 type rxe netdev eth0 || wrong "add: $?"
	wait_for 10 rxe_active || wrong "add: not active"
	rdlock space leave t --force >/tmp/leave 2>&1 || wrong "leave: $(cat /tmp/leave)"
}

if [ "$NODE" = 0 ]; then
	plan 5
	check "the module loads" load_rdlock
	check "the interface forgets who sends" forgets
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
	hammer lock load -t 2 -n 10000000 -v -r 30 >/tmp/load 2>&1 &
	load=$!
	sync done $((60 + 10 * rounds))
	check "the home's own load went on" kill -0 $load
	kill -KILL $load
	wait $load
	check "the module unloads" wait_for 5 unload_rdlock
else
	plan 6
	check "the module loads" load_rdlock
	check "the interface forgets who sends" forgets
	sync made
	round=0
	while [ $round -lt "$rounds" ]; do
		round=$((round + 1))
		del_while_down
	done
	sync done
	check "there was a load, and the device went and came back, $rounds times" nothing_wrong ': \(load\|join\|del\|add\)'
	check "each time in time" nothing_wrong ': time'
	check "and the space could be left" nothing_wrong ': leave'
	check "the module unloads" wait_for 5 unload_rdlock
fi
