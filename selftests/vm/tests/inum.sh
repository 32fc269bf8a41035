# SPDX-License-Identifier: GPL-2.0
# The sample allocator hands out inode numbers on two nodes at once: none twice
# vms: 2
# load: idle
# timeout: 90 + 600 * SCALE
# group: check soak
# needs: rdlock.ko rdlock_inum.ko rdlock
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan $((11 + NODE))

numbers=$(scaled 2000)
peer=$((1 - NODE))
next=/sys/kernel/debug/rdlock_inum/next
total=/sys/kernel/debug/rdlock_inum/total

reader()
{
	n=0
	while [ $n -lt "$1" ]; do
		read -r number <$next || echo "error"
		echo "$number"
		n=$((n + 1))
	done
}

check "the module loads" load_rdlock
if [ "$NODE" = 0 ]; then
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
else
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
fi
sync joined
check "the sample loads" modprobe rdlock_inum range=16
sync loaded
reader "$numbers" >/tmp/numbers.1 &
reader "$numbers" >/tmp/numbers.2 &
wait
check "every read gave a number" expect_fail grep -qv '^[1-9][0-9]*$' /tmp/numbers.1 /tmp/numbers.2
put "numbers$NODE" "$(cat /tmp/numbers.1 /tmp/numbers.2 | tr '\n' ' ')"
sync read 500
get "numbers$peer" | tr ' ' '\n' | grep . >/tmp/numbers.peer
sort -n /tmp/numbers.1 /tmp/numbers.2 /tmp/numbers.peer >/tmp/all
check "as many as were asked for" [ "$(wc -l </tmp/all)" = $((4 * numbers)) ]
check "none twice" [ -z "$(uniq -d /tmp/all)" ]
# Cut off in the middle: reads may fail meanwhile, the numbers may not come twice.
sync dark
if [ "$NODE" = 1 ]; then
	(netem on "loss 100%"; usleep 7000000; netem off) &
fi
usleep 100000
end=$(($(vmctl now) + 10000000000))
while [ "$(vmctl now)" -lt $end ]; do
	number=
	read -r number <$next 2>/dev/null
	[ -z "$number" ] || echo "$number"
	usleep 50000
done >/tmp/numbers.3
wait
check "it goes on after a node was cut off" wait_for 20 cat $next
[ "$NODE" = 0 ] || check "it was cut off" [ "$(sed -n 's/^session //p' /sys/kernel/debug/rdlock/t/stats)" -gt 1 ]
put "more$NODE" "$(tr '\n' ' ' </tmp/numbers.3)"
get "more$peer" | tr ' ' '\n' | grep . >/tmp/numbers.peer
sort -n /tmp/numbers.3 /tmp/numbers.peer /tmp/all >/tmp/more
diag "$(wc -l </tmp/numbers.3) numbers here, $(wc -l </tmp/numbers.peer) there"
check "still none twice" [ -z "$(uniq -d /tmp/more)" ]
sync more
check "the total covers them" [ "$(cat $total)" -ge "$(wc -l </tmp/more)" ]
sync total
check "the module it uses cannot be unloaded" expect_fail rmmod rdlock
check "but after the sample, both can" sh -c "rmmod rdlock_inum && rmmod rdlock"
sync end
