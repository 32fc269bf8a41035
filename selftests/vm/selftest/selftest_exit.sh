# SPDX-License-Identifier: GPL-2.0
# Harness, of itself: all tests pass, the script does not
# group: selftest
# rxe: no
# expect: fail exit
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 1
ok "one"
exit 3
