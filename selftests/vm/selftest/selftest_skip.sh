# SPDX-License-Identifier: GPL-2.0
# Harness, of itself: everything is skipped, with a reason
# group: selftest
# rxe: no
# expect: skip
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 1
skip "one" "no such hardware"
