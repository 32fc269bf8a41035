# SPDX-License-Identifier: GPL-2.0
# Requests and answers that no peer of ours sends end their link, and change nothing
# vms: 2
# timeout: 120
# needs: rdf_test.ko
# shellcheck shell=sh disable=SC1091,SC2086
. /vm/lib.sh
. /vm/fabric.sh

# ends HOW: as node 0 sees it, as node 1 does
ends()
{
	want=$([ "$NODE" = 0 ] && echo "$2" || echo "$3")
	check "$1: the link ends" wait_for 10 is link${link}_downs 1
	check "$1: as $want" is link${link}_err "$want"
	meet
}

connected()
{
	link=$((link + 1))
	[ "$NODE" = 0 ] || cmd connect "$HOME_IP" $PORT 9000 || bail "no link"
	[ "$NODE" = 1 ] || wait_for 10 is link${link}_ups 1 || bail "no link"
	meet
}

# wrong NODE HOW: sent by that node
wrong()
{
	connected
	[ "$NODE" != "$1" ] || cmd badrpc $link "$2"
}

wait_for 10 rxe_active
plan $((NODE == 0 ? 31 : 25))
check "the test module loads" modprobe rdf_test
meet
if [ "$NODE" = 0 ]; then
	cmd backend rpc
	check "the home is made" cmd home "$IP" $PORT
	meet
else
	meet
	check "the node finds its device" cmd node "$HOME_IP" $PORT
fi

# More requests than there are buffers for their answers wait, and are carried out in their order.
connected
if [ "$NODE" = 0 ]; then
	check "no buffer for an answer" cmd answers $link 0
	meet
	usleep 500000
	check "nothing is carried out" is stat_served 0
	cmd answers $link 1
	meet
	check "then it is, each once" is stat_served 320
else
	meet
	check "it waits, and in order" cmd contract $link order
	meet
fi
meet

# The device delivers none of these: the home's processor looks at what it is asked.
for how in 0 1 2 3 4 5 6; do
	wrong 1 $how
	ends "nonsense $how" -74 -104
done
[ "$NODE" = 1 ] || check "nonsense is counted" is stat_bad_msg 7
# Understood and refused; the answer is for nothing that this node's fabric has asked for.
for how in 7 8; do
	wrong 1 $how
	ends "refused $how" -104 -74
done
connected
[ "$NODE" = 1 ] || {
	check "the home does not ask: no peer has memory for it" fails_with "Invalid argument" cmd badkey $link
	check "which hurts nobody" is link${link}_downs 0
	cmd badrpc $link 9
}
ends "an answer to nothing" -104 -74
if [ "$NODE" = 0 ]; then
	cmd value
	check "nothing was changed" is value 0
	check "nothing was carried out" is stat_served 320
else
	check "the answers were counted" is stat_bad_msg 3
fi
meet
check "the module unloads" rmmod rdf_test
