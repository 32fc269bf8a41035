# SPDX-License-Identifier: GPL-2.0
# rdlock run is to nodes what flock(1) is to processes: exit codes, waiting, the environment of the command
# timeout: 120
# needs: rdlock.ko rdlock holder
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 19

check "no module: says so" expect_status 1 rdlock run t/x -- true
check "and what to do" grep -q 'modprobe rdlock' /tmp/.check
check "the module loads" load_rdlock
check "no space: says so" expect_status 1 rdlock run t/x -- true
check "and what to do" grep -q 'rdlock space' /tmp/.check
check "a space" rdlock space create t "$IP" --id 0
check "the command's exit code is passed on" expect_status 42 rdlock run t/x -- sh -c 'exit 42'
check "0, too" rdlock run t/x -- true
check "a command that is not there is 127" expect_status 127 rdlock run t/x -- /no/such/command
check "nothing to run is 2" expect_status 2 rdlock run t/x
check "an option that is none is 2" expect_status 2 rdlock run t/x --frobnicate -- true

holder hold x >/tmp/held 2>&1 &
held=$!
wait_for 5 grep -q '^held' /tmp/held
check "busy and -n is 75" expect_status 75 rdlock run t/x -n -- true
check "busy and -w is 124, at its time" expect_status 124 rdlock run t/x -w 1 -- true
check "another key is free" rdlock run t/y -n -- true
(usleep 500000; kill -TERM $held) &
check "-w waits" rdlock run t/x -w 10 -- true

# shellcheck disable=SC2016 # for the command's shell
check "the command knows its token" rdlock run t/x -- sh -c '[ -n "$RDLOCK_TOKEN" ] && [ -n "$RDLOCK_INSTANCE" ]'
check "the lock's fd does not leak into the command" \
	[ "$(rdlock run t/x -- sh -c 'ls -l /proc/self/fd' | grep -c rdlock)" = 0 ]
check "a background child of the command does not keep the lock" rdlock run t/x -- sh -c 'sleep 20 & exit 0'
check "it is free again" rdlock run t/x -n -- true
