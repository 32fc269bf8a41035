# SPDX-License-Identifier: GPL-2.0
# A machine dies while it writes a large value: the next owner has the old or the new one whole, and is told
# vms: 2
# load: idle
# timeout: 240
# group: check soak
# needs: rdlock.ko rdlock bigvalue
# dies: 1
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
big_death
