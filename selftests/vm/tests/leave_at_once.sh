# SPDX-License-Identifier: GPL-2.0
# A node leaves while much of what it held is still being given back: the home takes none of it for a dead node's
# vms: 2
# timeout: 200
# needs: rdlock.ko rdlock holder
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

# More than fit into a queue pair, and into the credits of the other.
locks=600
stat() { sed -n "s/^$1 //p" /sys/kernel/debug/rdlock/t/stats; }
none() { lacks '^lock d' /sys/kernel/debug/rdlock/t/locks; }

if [ "$NODE" = 0 ]; then
	plan 14
else
	plan 11
fi
both_join
for way in leave rmmod; do
	if [ "$NODE" = 0 ]; then
		before=$(stat recovery)
		sync $way.held 120
		sync $way.gone 60
		check "$way: all is closed" wait_for 20 none
		check "$way: no lock had to be recovered" [ "$(stat recovery)" = "$before" ]
		diag "$way: $before $(stat recovery) recoveries"
		check "$way: nobody was evicted" [ "$(stat evict)" = 0 ]
		check "$way: the next owner has one at once" rdlock run -w 2 t/d1 -- true
		sync $way.looked 60
		sync $way.again 60
		check "$way: the home is whole" rdlock run -w 2 t/e -- true
	else
		: >/tmp/held
		holder many d -n $locks >/tmp/held 2>&1 &
		holder=$!
		wait_for 100 [ -s /tmp/held ]
		check "$way: it holds its locks" grep -q "^held $locks" /tmp/held
		sync $way.held 120
		kill -9 $holder
		wait $holder
		if [ $way = leave ]; then
			check "$way: it leaves at once" rdlock space leave t
		else
			check "$way: its module goes at once" unload_rdlock
		fi
		sync $way.gone 60
		sync $way.looked 60
		[ $way = leave ] || check "$way: the module loads again" load_rdlock
		check "$way: the member joins again" rdlock space join t "$(ip_of 0)" --id 1
		sync $way.again 60
	fi
done
sync end
if [ "$NODE" = 1 ]; then
	check "the member leaves" rdlock space leave t
	sync left
else
	sync left
	check "the space goes" rdlock space destroy t
fi
check "nothing keeps the module" unload_rdlock
