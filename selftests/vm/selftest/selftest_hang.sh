# SPDX-License-Identifier: GPL-2.0
# Harness, of itself: the scenario never ends
# group: selftest
# timeout: 4
# rxe: no
# expect: fail timeout
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 2
ok "one"
sleep 1000
ok "two"
