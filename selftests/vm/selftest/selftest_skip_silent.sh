# SPDX-License-Identifier: GPL-2.0
# Harness, of itself: a skip that gives no reason
# group: selftest
# rxe: no
# expect: fail badskip
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 2
ok "one"
echo "ok 2 two # SKIP" >&3
