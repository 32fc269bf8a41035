# SPDX-License-Identifier: GPL-2.0
# Who changes the words: the device, or the home's processor where the device's atomics do not work or the parameter says so
# vms: 2
# timeout: 120
# needs: rdlock.ko rdlock
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

fault=/sys/kernel/debug/rdlock/fault
parameter=/sys/module/rdlock/parameters/backend
stat() { sed -n "s/^$1 //p" "/sys/kernel/debug/rdlock/$2/stats"; }
is_by() { rdlock -j space show "$1" | grep -q "\"atomics\": *\"$2\""; }
set_to() { echo "$1" >$parameter; }
no_atomics() { echo "$1" >$fault/no_atomics; }
# refused COMMAND...: because something cannot be done
refused()
{
	"$@" 2>/tmp/.err && return 1
	grep -q 'EOPNOTSUPP\|not supported' /tmp/.err && return 0
	cat /tmp/.err
	return 1
}

if [ "$NODE" = 0 ]; then
	plan 17
	check "the module loads" load_rdlock
	check "the parameter is auto" [ "$(cat $parameter)" = auto ]
	check "and takes no other word" expect_fail set_to cpu
	cable_out
	no_atomics 1
	check "auto: a port that is down is no reason" wait_for 5 eval "! rxe_active && refused rdlock space create t $IP"
	cable_in
	wait_for 10 rxe_active
	no_atomics 1
	check "auto: a home whose device has no atomics" rdlock space create t "$IP" --id 0
	check "auto: its processor does it" is_by t cpu
	check "auto: the log says so" dmesg_has "rxe0: the device's atomics do not work"
	sync made
	sync used
	check "auto: it was asked by the member" [ "$(stat fabric_served t)" -gt 0 ]
	check "auto: and by itself" rdlock run t/own -- true

	check "nic is said" set_to nic
	no_atomics 1
	check "nic: without atomics there is no space" refused rdlock space create u "$IP" --id 0
	check "nic: with them there is" rdlock space create u "$IP" --id 0
	check "nic: by the device" is_by u device
	check "rpc is said" set_to rpc
	check "rpc: a third space" rdlock space create v "$IP" --id 0
	check "rpc: the others stay what they are" eval "is_by t cpu && is_by u device && is_by v cpu"
	sync three
	sync joined
	check "nic: nobody asks its processor" [ "$(stat fabric_served u)" = 0 ]
	sync end
else
	plan 10
	check "the module loads" load_rdlock
	sync made
	no_atomics 1
	check "auto: a member whose device has none, too, joins" rdlock space join t "$(ip_of 0)" --id 1
	check "auto: and knows" is_by t cpu
	check "auto: a lock" rdlock run t/x -- true
	check "auto: a counter" [ "$(rdlock counter add t/c 5)" = 0 ]
	sync used
	sync three
	no_atomics 1
	check "nic: it cannot join where the device does it" refused rdlock space join u "$(ip_of 0)" --id 1
	check "nic: with atomics it can" rdlock space join u "$(ip_of 0)" --id 1
	check "nic: and knows" is_by u device
	check "nic: a lock" rdlock run u/x -- true
	check "rpc: in both kinds at once" eval "rdlock space join v $(ip_of 0) --id 1 && rdlock run v/x -- true"
	sync joined
	sync end
fi
