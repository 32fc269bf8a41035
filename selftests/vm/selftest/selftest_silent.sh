# SPDX-License-Identifier: GPL-2.0
# Harness, of itself: the scenario ends at once and says nothing
# group: selftest
# rxe: no
# expect: fail noplan
# shellcheck shell=sh
exit 0
