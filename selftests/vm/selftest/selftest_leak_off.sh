# SPDX-License-Identifier: GPL-2.0
# Debug kernel, of itself: a kmemleak that was switched off is noticed
# kernels: debug
# group: selftest
# rxe: no
# needs: rdlock.ko
# expect: fail splat=vm: blind: kmemleak is off
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 1
echo off >/sys/kernel/debug/kmemleak
ok "kmemleak is off"
