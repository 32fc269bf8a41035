# SPDX-License-Identifier: GPL-2.0
# What waits to be opened while the home is made anew is opened in the new space
# vms: 2
# timeout: 100
# group: check soak
# needs: rdlock.ko rdlock
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

if [ "$NODE" = 0 ]; then
	plan 3
	check "the module loads" load_rdlock
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
	sync joined
	rdlock space destroy t --force
	sync gone
	sync waiting
	check "and makes it anew" rdlock space create t "$IP" --id 0
	sync end 60
else
	plan 6
	check "the module loads" load_rdlock
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
	sync joined
	sync gone
	wait_for 10 sh -c 'rdlock space show t | grep -q lost'
	# Not for ever what ended the session, but why there is no other.
	check "it says why there is no session now" wait_for 10 sh -c 'rdlock space show t | grep -q "^reason *ECONNREFUSED"'
	rdlock run t/k -w 20 -- true &
	run=$!
	rdlock lock test t/l &
	try=$!
	rdlock counter add t/c 1 &
	add=$!
	usleep 500000
	sync waiting
	wait $run
	check "a lock that was waited for" [ $? = 0 ]
	wait $try
	check "one that was tried" [ $? = 0 ]
	wait $add
	check "a counter" [ $? = 0 ]
	sync end 60
fi
