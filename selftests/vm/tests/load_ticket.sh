# SPDX-License-Identifier: GPL-2.0
# exclusion, netem and killstorm with locks of kind ticket
# vms: 2
# load: idle
# timeout: 240 + 4800 * SCALE
# group: check soak
# needs: rdlock.ko rdlock hammer holder
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
loads_of ticket
