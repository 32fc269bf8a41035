# SPDX-License-Identifier: GPL-2.0
# Harness, of itself: tests pass, but the kernel has complained
# group: selftest
# rxe: no
# expect: fail splat=sleeping function called from invalid context
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 1
echo "<4>BUG: sleeping function called from invalid context" >/dev/kmsg
ok "one"
