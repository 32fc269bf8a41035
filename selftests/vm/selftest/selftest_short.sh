# SPDX-License-Identifier: GPL-2.0
# Harness, of itself: three tests planned, two run
# group: selftest
# rxe: no
# expect: fail badplan
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 3
ok "one"
ok "two"
