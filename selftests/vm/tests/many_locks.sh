# SPDX-License-Identifier: GPL-2.0
# A node that holds many locks closes them all, another dies with as many: nobody else loses its session
# vms: 3
# timeout: 900
# group: check soak
# needs: rdlock.ko rdlock holder
# dies: 2
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

locks=$(at_least 500 "$(scaled 10000)")
inc() { rdlock space show t | sed -n 's/^incarn. *//p'; }
agents() { grep -c '^agent' /sys/kernel/debug/rdlock/t/locks; }
keys() { grep -c '^lock d' /sys/kernel/debug/rdlock/t/locks; }
stat() { sed -n "s/^$1 //p" /sys/kernel/debug/rdlock/t/stats; }
none() { [ "$($1)" = 0 ]; }
evicted() { [ "$(stat evict)" = 1 ]; }

case $NODE in
0)
	plan 5
	check "the module loads" load_rdlock
	check "the home makes the space" rdlock space create t "$IP" --id 0 --kind fair
	sync made
	sync held 600
	sync closed 600
	vm kill 2
	check "the dead node is evicted" wait_for 20 evicted
	check "and all that it held is forgotten" wait_for 300 none keys
	diag "recoveries $(stat recovery)"
	put over 1
	sync left 600
	check "nothing keeps the module" unload_rdlock
	;;
1)
	plan 8
	check "the module loads" load_rdlock
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
	before=$(inc)
	sessions=$(stat session)
	: >/tmp/held
	holder many c -n "$locks" >/tmp/held 2>&1 &
	holder=$!
	wait_for 600 [ -s /tmp/held ]
	check "it holds its locks" grep -q "^held $locks" /tmp/held
	sync held 600
	kill -9 $holder
	wait $holder
	check "closed, they are all forgotten" wait_for 300 none agents
	sync closed 600
	slow=0 n=0
	until vmctl -t 0.1 get over >/dev/null 2>&1; do
		rdlock run t/other$n -w 20 -- true || slow=$((slow + 1))
		rdlock counter add "t/count$n:0" 1 >/dev/null || slow=$((slow + 1))
		n=$((n + 1))
		[ $n -lt 2000 ] || break
	done
	check "meanwhile it opens and takes others" [ "$slow $((n > 0))" = "0 1" ]
	diag "$n others"
	check "it never lost its session" [ "$(inc)" = "$before" ]
	check "nor its link" [ "$(stat session)" = "$sessions" ]
	sync left 600
	check "nothing keeps the module" unload_rdlock
	;;
2)
	plan 3
	check "the module loads" load_rdlock
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 2
	: >/tmp/held
	holder many d -n "$locks" >/tmp/held 2>&1 &
	wait_for 600 [ -s /tmp/held ]
	check "it holds its locks" grep -q "^held $locks" /tmp/held
	sync held 600
	sync closed 600
	sleep 1000
	;;
esac
