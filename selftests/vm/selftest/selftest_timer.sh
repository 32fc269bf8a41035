# SPDX-License-Identifier: GPL-2.0
# Debug kernel, of itself: DEBUG_OBJECTS sees memory freed with a timer in it that runs
# kernels: debug
# group: selftest
# rxe: no
# needs: rdlock.ko rdlock_bad.ko
# expect: fail splat=ODEBUG: free active .*timer_list
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 1
check "the mistake is made" modprobe rdlock_bad bug=timer
