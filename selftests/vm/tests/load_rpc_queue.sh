# SPDX-License-Identifier: GPL-2.0
# exclusion, netem and killstorm with the kinds ticket and mcs, the words changed by the home's processor
# vms: 2
# load: idle
# timeout: 240 + 4800 * SCALE
# group: check soak
# needs: rdlock.ko rdlock hammer holder
# shellcheck shell=sh disable=SC1091,SC2034
. /vm/lib.sh
BACKEND=rpc
rpc_loads ticket mcs
