# SPDX-License-Identifier: GPL-2.0
# The same as exclusion on a network that loses, doubles and reorders: the sum is exact, tokens grow (kind mcs)
# vms: 2
# load: idle
# timeout: 150 + 2800 * SCALE
# group: check soak
# needs: rdlock.ko rdlock hammer
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
netem_of mcs 4
