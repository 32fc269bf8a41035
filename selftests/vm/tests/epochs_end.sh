# SPDX-License-Identifier: GPL-2.0
# A lock that has been recovered as often as can be counted ends its space, and not the order of tokens
# vms: 1
# load: idle
# timeout: 60
# needs: rdlock.ko rdlock holder
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

shows() { rdlock space show t | grep -q "^$1 *$2"; }

plan 10
check "the module loads" load_rdlock
check "the home makes the space" rdlock space create t "$IP" --id 0
: >/tmp/held
holder hold other >/tmp/held 2>&1 &
held=$!
check "a lock is held" wait_for 10 grep -q '^held' /tmp/held
: >/tmp/robust
holder hold robust -r >/tmp/robust 2>&1 &
robust=$!
check "and a robust one, whose owner dies" wait_for 10 grep -q '^held' /tmp/robust
echo 1 >/sys/kernel/debug/rdlock/fault/epochs_end
kill -9 $robust
check "the space is given up" wait_for 10 shows state dead
check "and says why" shows reason EOVERFLOW
wait $held
check "who held a lock is told" grep -q '^lost' /tmp/held
check "it can be destroyed" rdlock space destroy t --force
check "and made anew" rdlock space create t "$IP" --id 0
rdlock run t/k -w 5 -- true
check "nothing keeps the module" sh -c 'rdlock space destroy t && rmmod rdlock'
