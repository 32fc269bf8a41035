# SPDX-License-Identifier: GPL-2.0
# A link whose node never says who it is does not stay at the home
# vms: 2
# timeout: 100
# needs: rdlock.ko rdf_test.ko rdlock
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

DIR=/sys/kernel/debug/rdf_test
# Hash of the space's name, "t", and the port of spaces
HASH=0x7f86bb3645802618
PORT=7517

val() { sed -n "s/^$1=//p" $DIR/status; }
is() { [ "$(val "$1")" = "$2" ] || { echo "$1 is $(val "$1"), not $2"; return 1; }; }

if [ "$NODE" = 0 ]; then
	plan 3
	check "the module loads" load_rdlock
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
	sync "done"
	check "nothing keeps the module" unload_rdlock
else
	plan 4
	wait_for 10 rxe_active
	check "the test module loads" modprobe rdf_test
	sync made
	echo "node $(ip_of 0) $PORT" >$DIR/cmd
	echo "connect $(ip_of 0) $PORT 500 $HASH" >$DIR/cmd
	check "a link stands" is link0_ups 1
	check "the home ends it" wait_for 12 is link0_downs 1
	sync "done"
	check "the test module leaves" rmmod rdf_test
fi
