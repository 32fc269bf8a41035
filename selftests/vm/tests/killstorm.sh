# SPDX-License-Identifier: GPL-2.0
# Owners and waiters on two nodes are killed at random moments; then the lock is free, and nobody is left in the lists
# vms: 2
# timeout: 90 + 1000 * SCALE
# group: check soak
# needs: rdlock.ko rdlock holder
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
killstorm_of spin
