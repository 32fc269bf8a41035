# SPDX-License-Identifier: GPL-2.0
# Debug kernel, of itself: KASAN sees the use of memory after its end, in rdlock.ko's own code
# kernels: debug
# group: selftest
# needs: rdlock.ko rdlock_bad.ko rdlock
# expect: fail splat=BUG: KASAN: use-after-free in rdlock_handle_valid
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 3
check "the module loads" load_rdlock
check "the home makes the space" rdlock space create t "$IP" --id 0
check "the mistake is made" modprobe rdlock_bad bug=uaf
