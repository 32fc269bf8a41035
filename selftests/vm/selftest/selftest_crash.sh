# SPDX-License-Identifier: GPL-2.0
# Harness, of itself: the kernel panics between two tests
# group: selftest
# rxe: no
# expect: fail died splat=sysrq triggered crash
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 2
ok "one"
echo c >/proc/sysrq-trigger
ok "two"
