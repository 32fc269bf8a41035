# SPDX-License-Identifier: GPL-2.0
# Harness, of itself: a VM whose tests pass
# group: selftest
# boot: cold
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 2
ok "one"
check "two" true
