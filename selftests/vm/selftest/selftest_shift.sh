# SPDX-License-Identifier: GPL-2.0
# Debug kernel, of itself: UBSAN sees a shift by too much
# kernels: debug
# group: selftest
# rxe: no
# needs: rdlock.ko rdlock_bad.ko
# expect: fail splat=UBSAN: shift-out-of-bounds in .*rdlock_bad\.c
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 1
check "the mistake is made" modprobe rdlock_bad bug=shift
