# SPDX-License-Identifier: GPL-2.0
# Harness, of itself: the VM is switched off in the middle
# group: selftest
# rxe: no
# expect: fail died
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 2
ok "one"
poweroff -f
