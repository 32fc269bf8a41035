# SPDX-License-Identifier: GPL-2.0
# The ground the other scenarios stand on: two kernels, rxe up, frames pass
# vms: 2
# timeout: 60
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
plan 8

peer=$((1 - NODE))
check "rxe0 is active" wait_for 10 rxe_active
sync up
check "the peer answers" ping -c 2 -W 5 "$(ip_of $peer)"
put "from$NODE" "words of $NODE, 100 %"
check "values pass through the host" [ "$(get "from$peer")" = "words of $peer, 100 %" ]
sync netem
check "netem goes on" netem on "loss 30% duplicate 1%"
sync lossy
ping -c 30 -i 0.02 -W 1 "$(ip_of $peer)" >/tmp/ping
check "and loses some frames" grep -q ' [1-9][0-9]\?% packet loss' /tmp/ping
sync lost
check "netem goes off" netem off
sync clean
link_down
check "a link that is down is not active" expect_fail rxe_active
link_up
check "and comes back" wait_for 10 rxe_active
sync end
