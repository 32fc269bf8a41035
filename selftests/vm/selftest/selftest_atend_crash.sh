# SPDX-License-Identifier: GPL-2.0
# Harness, of itself: the kernel panics after the scenario's end
# group: selftest
# rxe: no
# expect: fail died splat=sysrq triggered crash
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 1
echo 'echo c >/proc/sysrq-trigger' >/vm/atend
ok "one"
