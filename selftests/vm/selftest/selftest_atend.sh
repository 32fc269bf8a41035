# SPDX-License-Identifier: GPL-2.0
# Harness, of itself: tests pass, and what looks at the kernel afterwards does not like it
# group: selftest
# rxe: no
# expect: fail splat=vm: BUG: seen afterwards
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 1
echo 'echo "BUG: seen afterwards"' >/vm/atend
ok "one"
