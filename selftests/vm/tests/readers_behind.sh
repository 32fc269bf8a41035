# SPDX-License-Identifier: GPL-2.0
# What keeps readers out beside a reader that stays: a writer that waits, but no writer that gave up, and no number of them
# vms: 2
# timeout: 200
# needs: rdlock.ko rdlock hammer holder
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

stat() { sed -n "s/^$1 //p" /sys/kernel/debug/rdlock/t/stats; }
agent() { grep "^agent $1 " /sys/kernel/debug/rdlock/t/locks; }
state_is() { agent "$1" | grep -q " state=$2 "; }
reads() { rdlock run -s -w "$1" t/rw -- true; }
# More than a budget of them, one after the other, beside a reader of the same node.
many_read() { timeout -s KILL "$1" hammer lock rw -t 1 -n 40 -r 100 >/tmp/many 2>&1; }

if [ "$NODE" = 0 ]; then
	plan 11
else
	plan 8
fi
both_join
if [ "$NODE" = 1 ]; then
	: >/tmp/reader
	holder hold rw -s >/tmp/reader 2>&1 &
	reader=$!
	check "a reader has it" wait_for 10 grep -q ^held /tmp/reader
fi
sync reading

# --- a writer that waits comes before readers that came behind it ---
if [ "$NODE" = 0 ]; then
	rdlock run -w 60 t/rw -- true >/tmp/writer 2>&1 &
	writer=$!
	check "a writer of the other node waits" wait_for 10 state_is rw WAIT
	check "a reader behind it waits, too" expect_status 124 reads 3
	sync waits
	check "and nothing was recovered for it" [ "$(stat recovery)" = 0 ]
	# --- it gives up ---
	kill -TERM $writer
	wait $writer
else
	check "so do readers beside the one that has it, when the budget is used up" expect_status 137 many_read 5
	sync waits
fi
sync gone
if [ "$NODE" = 0 ]; then
	check "readers come in when it has given up" reads 20
else
	check "readers come in when it has given up, however many" many_read 20
	diag "$(cat /tmp/many)"
fi
sync back
if [ "$NODE" = 0 ]; then
	check "by a recovery" [ "$(stat recovery)" -ge 1 ]
	check "a writer gives up once more, at once" expect_status 75 rdlock run -n t/rw -- true
	check "and after a while" expect_status 124 rdlock run -w 1 t/rw -- true
	check "a reader comes in" reads 20
fi
sync tried

# --- more of them than a grant has tokens for ---
if [ "$NODE" = 1 ]; then
	timeout -s KILL 90 hammer lock rw -t 2 -n 1400 -r 100 >/tmp/hammer 2>/tmp/errors
	check "1400 readers come in, one after the other" [ $? = 0 ]
	diag "$(cat /tmp/hammer /tmp/errors)"
	check "and the first still reads" kill -0 "$reader"
	kill -TERM "$reader"
	wait "$reader"
fi
sync left
check "the module unloads" wait_for 5 unload_rdlock
sync end
