# SPDX-License-Identifier: GPL-2.0
# What rdlock is for, shown on two machines to somebody who has never seen RDMA
# vms: 2
# timeout: 90
# boot: cold
# group: demo
# needs: rdlock.ko rdlock_inum.ko rdlock
# dies: 1
# shellcheck shell=sh disable=SC1091,SC2016
. /vm/lib.sh

rounds=10

# What both machines do to the cell: read it, think, write what was read plus one. Nothing protects it.
cat >/tmp/increment <<'END'
value=$(rdlock counter get "$1")
usleep 30000
store=$((value + 1))
# A plain store: whatever is there now is overwritten.
until rdlock counter cas "$1" "$(rdlock counter get "$1")" $store >/dev/null 2>&1; do :; done
END

without_lock() { n=0; while [ $n -lt $rounds ]; do sh /tmp/increment demo/careless; n=$((n + 1)); done; }
with_lock() { n=0; while [ $n -lt $rounds ]; do rdlock run demo/till -- sh /tmp/increment demo/till; n=$((n + 1)); done; }

# tell FILE: somebody's output, for people.
tell() { sed 's/^/    /' "$1" >/tmp/.tell; say "$(cat /tmp/.tell)"; }
chapter() { say ""; say "--- $*"; }

inodes()
{
	n=0
	while [ $n -lt 40 ]; do
		cat /sys/kernel/debug/rdlock_inum/next
		n=$((n + 1))
	done
}

node0()
{
	plan 11

	say "Two machines, each with a Linux kernel of its own, joined by a network cable."
	say "Their network cards speak RDMA: one can read and change a word in the other's"
	say "memory without asking the other's processor. (Here both are virtual, and the"
	say "card is the kernel's own software one, rxe: slower, otherwise the same.)"

	chapter "1. A space: one machine lends the memory, the other joins"
	check "the module loads" load_rdlock
	say "\$ rdlock space create demo $IP --id 0"
	check "node0 makes the space" rdlock space create demo "$IP" --id 0
	sync made
	sync joined
	rdlock space list >/tmp/out
	tell /tmp/out

	chapter "2. One lock, two machines"
	say "\$ rdlock run demo/printer -- sleep 3        (node0 holds the lock meanwhile)"
	rdlock run demo/printer -- sh -c 'echo $RDLOCK_TOKEN >/tmp/token; sleep 3' &
	wait_for 5 test -s /tmp/token
	put token0 "$(cat /tmp/token)"
	sync taken
	wait
	sync printed
	first=$(cat /tmp/token) second=$(get token1)
	check "node0 has it again" rdlock run demo/printer -- sh -c 'echo $RDLOCK_TOKEN >/tmp/token'
	third=$(cat /tmp/token)
	say "Every grant has a number, a fencing token, that only grows:"
	say "    node0 $first, node1 $second, node0 $third"
	say "Storage that has seen a greater one can refuse a writer that comes too late."
	check "tokens grow" [ $((first)) -lt $((second)) -a $((second)) -lt $((third)) ]

	chapter "3. What a lock is good for: read, then write"
	say "A cell in shared memory. Both machines read it, think for a moment, and write"
	say "back one more, $rounds times each. First without a lock:"
	rdlock counter add demo/careless 0 >/dev/null
	rdlock counter add demo/till 0 >/dev/null
	sync cells
	without_lock
	sync careless
	lost=$((2 * rounds - $(rdlock counter get demo/careless)))
	say "    $((2 * rounds)) increments, the cell says $((2 * rounds - lost)): $lost lost."
	say "Now the same as: rdlock run demo/till -- sh increment demo/till"
	sync with
	with_lock
	sync counted
	value=$(rdlock counter get demo/till)
	say "    $((2 * rounds)) increments, the cell says $value."
	check "without the lock increments get lost" [ "$lost" -gt 0 ]
	check "with it none does" [ "$value" = $((2 * rounds)) ]

	chapter "4. The same from kernel code: inode numbers of a shared file system"
	check "the sample module loads" modprobe rdlock_inum space=demo range=16
	sync sample
	inodes >/tmp/inodes
	sync inodes
	get inodes1 | tr ' ' '\n' | grep . >/tmp/inodes.peer
	say "    node0: $(head -n 20 /tmp/inodes | tr '\n' ' ')..."
	say "    node1: $(head -n 20 /tmp/inodes.peer | tr '\n' ' ')..."
	sort -n /tmp/inodes /tmp/inodes.peer >/tmp/all
	say "    $(wc -l </tmp/all) numbers, $(uniq -d /tmp/all | wc -l) twice."
	check "80 numbers, none twice" [ "$(uniq /tmp/all | wc -l)" = 80 ]

	chapter "5. A machine dies with the lock in its hand"
	sync holding
	old=$(get dying)
	say "node0 wants the lock that node1 has. And now somebody pulls node1's plug."
	check "a node is dead" vm kill 1
	start=$(vmctl now)
	check "its lock comes to node0" rdlock run demo/database -w 20 -- \
		sh -c 'echo "$RDLOCK_TOKEN $RDLOCK_GRANT_FLAGS" >/tmp/heir'
	ms=$((($(vmctl now) - start) / 1000000))
	read -r new flags </tmp/heir
	say "    After $((ms / 1000)).$((ms % 1000 / 100)) s of silence node1 is shut out of the memory, and node0 has the lock,"
	say "    with a greater token ($new, was $old), and the flag that says: the owner died,"
	say "    look at the data before you trust them."
	check "it knows that the owner died, by a greater token" [ "$flags" = owner-died -a $((new)) -gt $((old)) ]

	chapter "That was it"
	say "Two kernels, one lock: refused, waited for, counted with, used by the kernel,"
	say "inherited from the dead. 'make check' tests all of it and more; README.md goes on."
}

node1()
{
	plan 6

	sync made
	check "the module loads" load_rdlock
	say "\$ rdlock space join demo $(ip_of 0) --id 1"
	check "node1 joins" rdlock space join demo "$(ip_of 0)" --id 1
	sync joined

	sync taken
	say "\$ rdlock run demo/printer -n -- true        (-n: do not wait)"
	rdlock run demo/printer -n -- true 2>/tmp/out
	status=$?
	tell /tmp/out
	say "    refused, exit status $status"
	check "a taken lock is refused" [ $status = 75 ]
	say "\$ rdlock run demo/printer -w 10 -- date     (-w: wait up to 10 s)"
	start=$(vmctl now)
	check "and can be waited for" rdlock run demo/printer -w 10 -- sh -c 'echo $RDLOCK_TOKEN >/tmp/token'
	say "    got it after $((($(vmctl now) - start) / 1000000)) ms, when node0 was done"
	put token1 "$(cat /tmp/token)"
	sync printed

	sync cells
	without_lock
	sync careless
	sync with
	with_lock
	sync counted

	check "the sample module loads" modprobe rdlock_inum space=demo range=16
	sync sample
	inodes >/tmp/inodes
	put inodes1 "$(tr '\n' ' ' </tmp/inodes)"
	sync inodes

	say "\$ rdlock run demo/database -- sleep 1000"
	rdlock run demo/database -- sh -c 'echo $RDLOCK_TOKEN >/tmp/token; sleep 1000' &
	check "node1 holds a lock" wait_for 5 test -s /tmp/token
	put dying "$(cat /tmp/token)"
	sync holding
	# The host ends this.
	sleep 1000
}

node"$NODE"
