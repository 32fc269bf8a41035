# SPDX-License-Identifier: GPL-2.0
# The machine that holds robust locks of each kind dies: the next owners are told until it is repaired; one is given up, and reset
# vms: 2
# timeout: 200
# needs: rdlock.ko rdlock holder
# dies: 1
# shellcheck shell=sh disable=SC1091,SC2016
. /vm/lib.sh

kinds="spin fair ticket mcs"
robust() { k=$1; shift; rdlock run --robust --kind "$k" -w 15 "$@"; }
died() { grep -q '^held.* died$' "$1"; }

if [ "$NODE" = 1 ] && [ "$BOOT" = 1 ]; then
	plan 6
	sync made
	check "the module loads" load_rdlock
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1 --wait 30
	for kind in $kinds; do
		: >"/tmp/$kind"
		holder hold "$kind" -k "$kind" -r >"/tmp/$kind" 2>&1 &
		check "it has the lock of kind $kind" wait_for 10 grep -q '^held' "/tmp/$kind"
	done
	put held yes
	# The host ends this.
	sleep 150
elif [ "$NODE" = 1 ]; then
	plan 8
	check "the module loads" load_rdlock
	check "the machine comes back" rdlock space join t "$(ip_of 0)" --id 1 --wait 60
	check "it is told of its own death, by what nobody has repaired" \
		expect_status 76 robust fair t/fair -- true
	holder hold spin -k spin -r -w 15000 >/tmp/ruined 2>&1
	check "and finds given up what the home has given up" grep -q '^failed ENOTRECOVERABLE' /tmp/ruined
	check "what was repaired is as before" robust mcs t/mcs -- true
	check "it repairs the rest" robust fair --recover t/fair -- \
		sh -c 'echo "$RDLOCK_GRANT_FLAGS" | grep -q owner-died'
	put repaired yes
	get reset >/dev/null
	check "what was reset can be had" robust spin t/spin -- true
	: >/tmp/heir
	holder hold ticket -k ticket -r >/tmp/heir 2>&1 &
	check "and so can what the home has repaired" wait_for 10 grep -q '^held' /tmp/heir
	put over yes
else
	plan 22
	check "the module loads" load_rdlock
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
	get held >/dev/null
	for kind in $kinds; do
		: >"/tmp/$kind"
		holder hold "$kind" -k "$kind" -r -w 60000 >"/tmp/$kind" 2>&1 &
		eval "heir_$kind=\$!"
		check "$kind: it is taken" expect_status 75 rdlock lock test --robust --kind "$kind" "t/$kind"
	done
	vm kill 1
	for kind in $kinds; do
		check "$kind: who waits gets it" wait_for 20 grep -q '^held' "/tmp/$kind"
		check "$kind: and is told that the owner died" died "/tmp/$kind"
	done
	# Somebody has them open, or they would be forgotten.
	for kind in spin ticket; do
		: >"/tmp/open_$kind"
		holder open "$kind" -k "$kind" -r >"/tmp/open_$kind" 2>&1 &
		wait_for 10 grep -q '^open' "/tmp/open_$kind"
	done
	# Spin and ticket: released as they are. Fair and mcs: their owners are killed.
	eval "kill -TERM \$heir_spin \$heir_ticket; kill -KILL \$heir_fair \$heir_mcs"
	eval "wait \$heir_spin \$heir_ticket \$heir_fair \$heir_mcs"
	check "a lock that is released as it is is given up" expect_status 1 robust spin t/spin -- true
	check "ticket: so is this one" expect_status 1 robust ticket t/ticket -- true
	check "ticket: an administrator resets it" rdlock lock reset t/ticket
	check "ticket: and it is as before" robust ticket t/ticket -- true
	check "who dies in the middle leaves it to be repaired" expect_status 76 robust mcs t/mcs -- true
	check "a repair that fails leaves it so" expect_status 3 \
		robust mcs --recover t/mcs -- sh -c 'sleep 20 & exit 3'
	check "one that succeeds ends it" robust mcs --recover t/mcs -- true
	check "for all" robust mcs t/mcs -- true
	vm start 1
	get repaired 100 >/dev/null
	rdlock lock reset t/spin
	put reset yes
	get over 60 >/dev/null
fi
