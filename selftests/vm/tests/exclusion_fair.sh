# SPDX-License-Identifier: GPL-2.0
# Four owners on each of two nodes read, change and write back one cell that only the lock protects (kind fair)
# vms: 2
# timeout: 90 + 900 * SCALE
# group: check soak
# needs: rdlock.ko rdlock hammer
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
exclusion_of fair
