# SPDX-License-Identifier: GPL-2.0
# Harness, of itself: what looks at the kernel afterwards fails
# group: selftest
# rxe: no
# expect: fail hook
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 1
echo 'exit 3' >/vm/atend
ok "one"
