# SPDX-License-Identifier: GPL-2.0
# Harness, of itself: one test of three fails
# group: selftest
# rxe: no
# expect: fail notok
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 3
ok "one"
check "two" false
ok "three"
