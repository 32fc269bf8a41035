# SPDX-License-Identifier: GPL-2.0
# The fabric made and unmade in rounds: modules, devices, links killed on both sides under load
# vms: 2
# timeout: 400
# needs: rdf_test.ko
# group: check soak
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

DIR=/sys/kernel/debug/rdf_test
HOME_IP=$(ip_of 0)
PORT=4444
step=0

cmd() { echo "$*" >$DIR/cmd; }
val() { sed -n "s/^$1=//p" $DIR/status; }
is() { [ "$(val "$1")" = "$2" ]; }
meet()
{
	step=$((step + 1))
	sync "step$step"
}

wait_for 10 rxe_active
plan 3

# The home leaves in every round, by unloading or by losing its device, with the other's operations under way.
bad=0
round=0
rounds=$(scaled 100)
while [ $round -lt "$rounds" ]; do
	modprobe rdf_test || bad=$((bad + 1))
	if [ "$NODE" = 0 ]; then
		wait_for 10 cmd home "$IP" $PORT 2>/dev/null || bad=$((bad + 1))
		meet
		meet
		(cmd ownfaa 100000 32 2>/dev/null) &
		usleep 50000
		if [ $((round % 3)) = 0 ]; then
			/sbin/rdma link del rxe0
			wait_for 10 is dom none || bad=$((bad + 1))
		fi
		wait
		rmmod rdf_test || bad=$((bad + 1))
		meet
		if [ $((round % 3)) = 0 ]; then
			/sbin/rdma link add rxe0 type rxe netdev eth0
			wait_for 10 rxe_active
		fi
	else
		meet
		wait_for 10 cmd node "$HOME_IP" $PORT 2>/dev/null || bad=$((bad + 1))
		wait_for 10 cmd connect "$HOME_IP" $PORT 2000 2>/dev/null || bad=$((bad + 1))
		n=$(($(val links) - 1))
		(cmd faa $n 1000000 64 && cmd send $n 100) 2>/dev/null &
		meet
		meet
		wait
		is link${n}_downs 1 || bad=$((bad + 1))
		rmmod rdf_test || bad=$((bad + 1))
	fi
	meet
	round=$((round + 1))
done
check "$rounds rounds of coming and going" test $bad = 0

# Links killed at any moment of their making.
bad=0
round=0
rounds=$(scaled 200)
modprobe rdf_test
[ "$NODE" = 0 ] && { wait_for 10 cmd home "$IP" $PORT 2>/dev/null || bad=$((bad + 1)); }
meet
[ "$NODE" = 1 ] && {
	wait_for 10 cmd node "$HOME_IP" $PORT 2>/dev/null || bad=$((bad + 1))
	while [ $round -lt "$rounds" ]; do
		# From far too short to enough
		cmd connect "$HOME_IP" $PORT $((1 + round * 3)) 2>/dev/null
		[ $((round % 10)) = 9 ] && { cmd close && cmd node "$HOME_IP" $PORT || bad=$((bad + 1)); }
		round=$((round + 1))
	done
}
meet
cmd close || bad=$((bad + 1))
check "$rounds links with too little time" test $bad = 0
check "the module unloads" rmmod rdf_test
meet
