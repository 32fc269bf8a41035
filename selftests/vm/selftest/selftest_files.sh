# SPDX-License-Identifier: GPL-2.0
# Harness, of itself: files that do not come whole
# group: selftest
# rxe: no
# expect: fail hook
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 1
# As init does, but for the files themselves.
echo 1000 >/dev/vport0p4
ok "one"
