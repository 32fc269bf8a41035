# SPDX-License-Identifier: GPL-2.0
# rdlock run is to nodes what flock(1) is to processes: exit codes, waiting, the environment of the command
# timeout: 120
# needs: rdlock.ko rdlock holder
# shellcheck shell=sh disable=SC1091,SC3043
. /vm/lib.sh
plan 23

# says STATUS PATTERN COMMAND...
says()
{
	local want="$1" pattern="$2" status
	shift 2
	"$@" 2>/tmp/said
	status=$?
	cat /tmp/said
	[ $status = "$want" ] && grep -q -e "$pattern" /tmp/said
}

check "no module: says so, and what to do" says 1 'modprobe rdlock' rdlock run t/x -- true
check "the module loads" load_rdlock
check "no space: says so, and what to do" says 1 'rdlock space' rdlock run t/x -- true
check "a space" rdlock space create t "$IP" --id 0
check "the command's exit code is passed on" expect_status 42 rdlock run t/x -- sh -c 'exit 42'
check "0, too" rdlock run t/x -- true
check "a command that is not there is 127" expect_status 127 rdlock run t/x -- /no/such/command
check "nothing to run is 2" expect_status 2 rdlock run t/x
check "an option that is none is 2" expect_status 2 rdlock run t/x --frobnicate -- true

: >/tmp/held
holder hold x >/tmp/held 2>&1 &
held=$!
wait_for 5 grep -q '^held' /tmp/held
check "busy and -n is 75" expect_status 75 rdlock run t/x -n -- true
start=$(vmctl now)
check "busy and -w is 124" expect_status 124 rdlock run t/x -w 1 -- true
ms=$((($(vmctl now) - start) / 1000000))
check "at its time: $ms ms" [ $ms -ge 1000 -a $ms -lt $((3000 * PATIENCE)) ]
check "another key is free" rdlock run t/y -n -- true
(usleep 500000; kill -TERM $held) &
check "-w waits" rdlock run t/x -w 10 -- true

# shellcheck disable=SC2016 # for the command's shell
check "the command knows its token" rdlock run t/x -- sh -c '[ -n "$RDLOCK_TOKEN" ] && [ -n "$RDLOCK_INSTANCE" ]'
fds() { rdlock run "$@" -- sh -c 'ls -l /proc/self/fd' | grep -c rdlock; }
check "the command has the lock's fd, and no other" [ "$(fds t/x)" = 1 ]
check "with -o not even that" [ "$(fds -o t/x)" = 0 ]
check "a background child of the command does not keep the lock" rdlock run t/x -- sh -c 'sleep 20 & exit 0'
check "it is free again" rdlock run t/x -n -- true

# killed OPTION: rdlock run, when the command's child runs.
killed()
{
	rm -f /tmp/ran
	# shellcheck disable=SC2086 # none, or one
	rdlock run $1 t/x -- sh -c 'sleep 1000 & echo $! >/tmp/child && mv /tmp/child /tmp/ran; wait' &
	wait_for 10 test -e /tmp/ran && kill -KILL $! && ! wait $!
}

check "killed, while a child of the command lives" killed ""
check "nobody gets the lock beside it" expect_status 124 rdlock run t/x -w 1 -- true
kill "$(cat /tmp/ran)"
check "when it is gone somebody does" rdlock run t/x -w 10 -- true
with_o() { killed -o && rdlock run t/x -w 1 -- true && kill "$(cat /tmp/ran)"; }
check "with -o at once, while the child still lives" with_o
