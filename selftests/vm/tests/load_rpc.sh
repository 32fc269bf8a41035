# SPDX-License-Identifier: GPL-2.0
# exclusion, netem and killstorm with each kind in turn, the words changed by the home's processor
# vms: 2
# load: idle
# timeout: 240 + 9600 * SCALE
# group: check soak
# needs: rdlock.ko rdlock hammer holder
# shellcheck shell=sh disable=SC1091,SC2034
. /vm/lib.sh
BACKEND=rpc
plan 72

loads()
{
	# As many as the other back-end's in make soak; before, what there is time for.
	exclusion "$1" "$1" "$(scaled_less 10000 8)"
	bad_network "$1" "net$1" "$(scaled_less 10000 12)"
	killstorm "$1" "kill$1" "$(at_least 25 "$(scaled_less 1000 2)")"
}

in_turn loads
check "the module unloads" unload_rdlock
sync end
