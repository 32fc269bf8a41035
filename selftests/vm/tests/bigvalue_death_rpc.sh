# SPDX-License-Identifier: GPL-2.0
# The same with words and values that the home's processor changes
# vms: 2
# load: idle
# timeout: 240
# group: check soak
# needs: rdlock.ko rdlock bigvalue
# dies: 1
# shellcheck shell=sh disable=SC1091,SC2034
. /vm/lib.sh
BACKEND=rpc
big_death
