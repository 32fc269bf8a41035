# SPDX-License-Identifier: GPL-2.0
# The fabric on one node: operations on the loopback pair, the probe, fault points
# vms: 1
# timeout: 120
# needs: rdf_test.ko
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 29

DIR=/sys/kernel/debug/rdf_test
FAULT=/sys/kernel/debug/rdlock/fault

# cmd WORDS...: fails with the command's error message on stderr
cmd() { echo "$*" >$DIR/cmd; }
val() { sed -n "s/^$1=//p" $DIR/status; }
fault() { echo "$2" >"$FAULT/$1"; }
# fails_with TEXT COMMAND...: the errno, as the shell prints it
fails_with()
{
	text="$1"
	shift
	"$@" 2>/tmp/.err && return 1
	grep -q "$text" /tmp/.err && return 0
	cat /tmp/.err
	return 1
}

wait_for 10 rxe_active
check "the test module loads" modprobe rdf_test

# The probe's faults first: a good verdict is kept.
fault probe_eopnotsupp 1
check "a device that posts no atomics is refused" fails_with "Operation not supported" cmd home "$IP" 4444
fault probe_swap 1
check "a device that answers with swapped bytes is refused" fails_with "Operation not supported" cmd home "$IP" 4444
check "after a refusal nothing is left behind" test "$(val dom)" = none
check "an address of nobody is refused" fails_with "No such device\|Cannot assign" cmd home 10.99.0.1 4444

check "a home is made" cmd home "$IP" 4444
check "on rxe0" test "$(val dom)" = rxe0
for t in cas faa bad_args many rw refused no_atomic stale killed; do
	check "loop: $t" cmd loop $t
done

fault op_ambig 1
check "op_ambig: the operation was taken" cmd ownfaa 1
check "op_ambig: one is ambiguous" test "$(val ambiguous)" = 1
check "op_ambig: the pair is made again" cmd loop back

fault op_delay 1
before=$(vmctl now)
check "op_delay: a late completion still comes, once" cmd ownfaa 4 4
check "op_delay: late" test $(($(vmctl now) - before)) -gt 900000000

fault post_fail 1
check "post_fail: every operation is accounted for" cmd ownfaa 200 100
check "post_fail: what was not posted certainly failed" test "$(val failed)" -ge 1
check "post_fail: the pair is made again" cmd loop back

i=0
ok=1
while [ $i -lt "$(scaled 100)" ]; do
	{ cmd close && cmd home "$IP" 4444 && cmd loop many; } || ok=0
	i=$((i + 1))
done
check "closed and made again, many times" test $ok = 1

(cmd ownfaa 100000 200) 2>/dev/null &
usleep 100000
check "the device is deleted while operations run" /sbin/rdma link del rxe0
wait
check "its home was told" wait_for 10 test "$(val gone)" = 1
check "and is gone" wait_for 10 sh -c "grep -q dom=none $DIR/status"
check "the module unloads" rmmod rdf_test
