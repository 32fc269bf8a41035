# SPDX-License-Identifier: GPL-2.0
# Debug kernel, of itself: a module that cannot be unloaded after the scenario is noticed
# kernels: debug
# group: selftest
# rxe: no
# needs: rdlock.ko rdlock_bad.ko
# expect: fail splat=vm: stays:.* rdlock_bad
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 1
check "the mistake is made" modprobe rdlock_bad bug=stays
