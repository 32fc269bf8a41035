# SPDX-License-Identifier: GPL-2.0
# A node whose processor is taken by a real-time process sends no heartbeats: its owner is told when the lease is over, by the clock
# vms: 2
# smp: 1
# load: idle
# timeout: 120
# group: check soak
# needs: rdlock.ko rdlock hog
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

if [ "$NODE" = 0 ]; then
	plan 5
	check "the module loads" load_rdlock
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
	sync held 60
	: >/tmp/flags
	# shellcheck disable=SC2016 # for the command's shell
	check "another gets the lock meanwhile" rdlock run t/k -w 60 -- sh -c 'echo $RDLOCK_GRANT_FLAGS >/tmp/flags'
	check "and is told of an owner's death" grep -q owner-died /tmp/flags
	sync over 60
	sync left
	check "nothing keeps the module" unload_rdlock
else
	plan 8
	check "the module loads" load_rdlock
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
	# Since 6.12 others get their share by a server as well, which that does not end.
	server=/sys/kernel/debug/sched/fair_server/cpu0/runtime
	echo -1 >/proc/sys/kernel/sched_rt_runtime_us
	[ ! -e $server ] || echo 0 >$server
	rm -f /tmp/go
	hog k 9000 /tmp/go >/tmp/hog 2>&1 &
	hog=$!
	wait_for 10 grep -q '^held' /tmp/hog
	sync held 60
	# It goes on until the home has evicted this node, and no thread of the kernel can say so.
	touch /tmp/go
	wait $hog
	echo 950000 >/proc/sys/kernel/sched_rt_runtime_us
	[ ! -e $server ] || echo 50000000 >$server
	diag "$(cat /tmp/hog)"
	check "status says that it is lost" grep -q ' revoked ' /tmp/hog
	# The lease of 4 s runs from a heartbeat before; there is one every half a second.
	ms=$(sed -n 's/^after \([0-9]*\) ms.*/\1/p' /tmp/hog)
	check "when the lease is over, and not later" [ "$ms" -ge 3000 -a "$ms" -lt 4200 ]
	check "so do poll, the value and the release" grep -q 'poll=POLLERR get=EKEYREVOKED release=EKEYREVOKED' /tmp/hog
	check "the node joins again by itself" wait_for 20 rdlock run t/other -w 5 -- true
	sync over 60
	check "and gets the lock" rdlock run t/k -w 10 -- true
	check "nothing keeps the module" unload_rdlock
	sync left
fi
