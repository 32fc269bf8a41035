# SPDX-License-Identifier: GPL-2.0
# netem with each kind in turn, the words changed by the home's processor
# vms: 2
# timeout: 180 + 2800 * SCALE
# group: check soak
# needs: rdlock.ko rdlock hammer
# shellcheck shell=sh disable=SC1091,SC2034
. /vm/lib.sh
BACKEND=rpc
plan 27
in_turn bad_network "$(scaled_less 800 2)"
