# SPDX-License-Identifier: GPL-2.0
# killstorm with each kind in turn, the words changed by the home's processor
# vms: 2
# timeout: 120 + 1000 * SCALE
# group: check soak
# needs: rdlock.ko rdlock holder
# shellcheck shell=sh disable=SC1091,SC2034
. /vm/lib.sh
BACKEND=rpc
plan 24
kills=$(scaled 250)
[ "$kills" -ge 20 ] || kills=20
in_turn killstorm "$kills"
check "the module unloads" unload_rdlock
sync end
