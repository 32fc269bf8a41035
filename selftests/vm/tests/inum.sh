# SPDX-License-Identifier: GPL-2.0
# The sample allocator hands out inode numbers on two nodes at once: none twice
# vms: 2
# timeout: 90 + 600 * SCALE
# group: check soak
# needs: rdlock.ko rdlock_inum.ko rdlock
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 9

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
check "the total covers them" [ "$(cat $total)" -ge $((4 * numbers)) ]
check "the module it uses cannot be unloaded" expect_fail rmmod rdlock
check "but after the sample, both can" sh -c "rmmod rdlock_inum && rmmod rdlock"
sync end
