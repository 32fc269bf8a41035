# SPDX-License-Identifier: GPL-2.0
# Two nodes whose addresses are IPv6: a global one, and a link-local one with its zone
# vms: 2
# timeout: 180
# needs: rdlock.ko rdlock hammer
# shellcheck shell=sh disable=SC1091,SC2034
. /vm/lib.sh
plan $((18 + NODE))

ip_of() { echo "fd77::$(($1 + 1))"; }
gid() { grep -q "$1" /sys/class/infiniband/rxe0/ports/1/gids/*; }
shows() { rdlock space show t | grep -F -q "$1"; }

ip addr add "$(ip_of "$NODE")/64" dev eth0 nodad
check "the device has a GID of the address" wait_for 10 gid "fd77:.*000$((NODE + 1))$"

IP=$(ip_of "$NODE")
both_join
check "the space shows the home's address" shows "[$(ip_of 0)]"
exclusion fair x "$(scaled 4000)"
# A broken link comes back to the same address.
if [ "$NODE" = 1 ]; then
	cable_out
	check "the link breaks" wait_for 5 shows suspect
	cable_in
fi
sync back
check "after a gap" rdlock run -w 10 t/gap -- true
sync used
[ "$NODE" = 0 ] || check "the member leaves" rdlock space leave t
sync left
[ "$NODE" = 1 ] || check "the space goes" rdlock space destroy t
sync gone

# Link-local: every interface has the same net, so the address is nothing without its zone.
local_ip() { ip -6 -o addr show dev eth0 scope link | sed -n 's/.*inet6 \([^/]*\).*/\1/p'; }
has_local_ip() { [ -n "$(local_ip)" ]; }
check "a link-local address is there" wait_for 10 has_local_ip
put "local$NODE" "$(local_ip)"
if [ "$NODE" = 0 ]; then
	check "without a zone it is refused" expect_status 2 rdlock space create l "$(local_ip)" --id 0
	check "the home makes a space there" rdlock space create l "$(local_ip)%eth0" --id 0
	sync made
else
	check "without a zone it is refused" expect_status 2 rdlock space join l "$(get local0)" --id 1
	sync made
	check "the member joins it" rdlock space join l "$(get local0)%eth0" --id 1
fi
sync joined
check "its locks work" rdlock run -w 10 l/x -- true
sync locked
[ "$NODE" = 0 ] || check "the member leaves it" rdlock space leave l
sync left2
[ "$NODE" = 1 ] || check "the space there goes" rdlock space destroy l
sync gone2
check "the module unloads" unload_rdlock
sync end
