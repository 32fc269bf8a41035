# SPDX-License-Identifier: GPL-2.0
# Debug kernel, of itself: kmemleak tells of memory that goes astray when a module is unloaded
# kernels: debug
# group: selftest
# rxe: no
# needs: rdlock.ko rdlock_bad.ko
# expect: fail splat=unreferenced object 0x.*size (200|256)
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 1
check "the mistake is made" modprobe rdlock_bad bug=leak_late
