# SPDX-License-Identifier: GPL-2.0
# A release of unknown outcome at the home, then a member dies with the lock: everybody gets it again
# vms: 2
# load: idle
# timeout: 100
# group: check soak
# needs: rdlock.ko rdlock holder
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

hold_b()
{
	: >/tmp/b
	holder hold b >/tmp/b 2>&1 &
	held=$!
	check "it is held" wait_for 10 grep -q '^held' /tmp/b
}

if [ "$NODE" = 0 ]; then
	plan 5
	check "the module loads" load_rdlock
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
	sync joined
	hold_b
	echo 1 >/sys/kernel/debug/rdlock/fault/op_ambig
	kill -TERM $held
	wait $held
	sync released
	sync member.holds
	check "the home gets it when the member is evicted" rdlock run t/b -w 14 -- true
	sync dark 30
	sync end 30
	check "the module leaves" wait_for 10 rmmod rdlock
else
	plan 5
	check "the module loads" load_rdlock
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
	sync joined
	sync released
	hold_b
	sync member.holds
	netem on "loss 100%"
	sleep 7
	netem off
	sync dark 30
	check "and the member again" wait_for 15 rdlock run t/b -w 10 -- true
	sync end 30
	check "the module leaves" wait_for 10 rmmod rdlock
fi
