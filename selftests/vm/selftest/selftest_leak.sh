# SPDX-License-Identifier: GPL-2.0
# Debug kernel, of itself: kmemleak tells of memory whose address is lost
# kernels: debug
# group: selftest
# rxe: no
# needs: rdlock.ko rdlock_bad.ko
# expect: fail splat=\] bad_leak\+0x
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 1
check "the mistake is made" modprobe rdlock_bad bug=leak
