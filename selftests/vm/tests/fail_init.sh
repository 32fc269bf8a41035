# SPDX-License-Identifier: GPL-2.0
# The module is loaded with each of its allocations failing in turn (below make soak every fifth): what it had done is undone
# kernels: debug
# vms: 1
# timeout: 300
# needs: rdlock.ko fail_init
# shellcheck shell=sh disable=SC1091,SC3043
. /vm/lib.sh
plan 5

fault=/sys/kernel/debug
knobs()
{
	local knob
	for knob in $fault/failslab $fault/fail_page_alloc; do
		echo N >"$knob/ignore-gfp-wait" || return 1
		echo 0 >"$knob/verbose" || return 1
	done
	# What it says of each fault looks like a splat.
	echo 0 >$fault/fail_usercopy/verbose || return 1
	echo 0 >$fault/fail_page_alloc/min-order
}

word() { tr ' ' '\n' </tmp/init | sed -n "s/^$1=//p"; }

trace=/sys/kernel/tracing
loads() { grep -c 'module_load: rdlock' $trace/trace; }

check "the knobs of fault injection are there" knobs
# The loader says so when all that is left to do is the module's own beginning.
echo 1 >$trace/events/module/module_load/enable
step=$(awk -v s="$SCALE" 'BEGIN { print s < 1 ? 5 : 1 }')
fail_init "$step" /lib/modules/*/extra/rdlock.ko /sys/module/rdlock /dev/rdlock $fault/rdlock /sys/class/misc/rdlock >/tmp/init 2>/tmp/errors
status=$?
diag "$(cat /tmp/init)"
diag "$(head -n 20 /tmp/errors)"
check "each failure is ENOMEM, and leaves nothing" [ $status = 0 ]
diag "$(loads) loads"
check "many of them in its own beginning" [ $(($(loads) - $(word worked))) -ge $((20 / step)) ]
check "it loads as ever" load_rdlock
check "and unloads" unload_rdlock
