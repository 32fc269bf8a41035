# SPDX-License-Identifier: GPL-2.0
# Debug kernel, of itself: rdlock tells who calls it under a spinlock that it might have slept
# kernels: debug
# group: selftest
# needs: rdlock.ko rdlock_bad.ko rdlock
# expect: fail splat=BUG: sleeping function called from invalid context at .*kmod/api\.c
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 3
check "the module loads" load_rdlock
check "the home makes the space" rdlock space create t "$IP" --id 0
check "the mistake is made" modprobe rdlock_bad bug=atomic
