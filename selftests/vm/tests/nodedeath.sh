# SPDX-License-Identifier: GPL-2.0
# The machine that holds a lock dies; the waiter gets it when the dead time is over, is told so, and the machine may come back
# vms: 2
# timeout: 120
# group: check soak
# needs: rdlock.ko rdlock holder
# dies: 1
# shellcheck shell=sh disable=SC1091,SC2016
. /vm/lib.sh

word() { tr ' ' '\n' <"$1" | sed -n "s/^$2=//p"; }

check_member()
{
	check "the module loads" load_rdlock
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1 --wait 30
}

if [ "$NODE" = 1 ] && [ "$BOOT" = 1 ]; then
	plan 5
	sync made
	check_member
	: >/tmp/held
	holder hold x >/tmp/held 2>&1 &
	check "it gets the lock" wait_for 10 grep -q '^held' /tmp/held
	: >/tmp/other
	holder hold other >/tmp/other 2>&1 &
	check "and another" wait_for 10 grep -q '^held' /tmp/other
	holder hold unseen >/tmp/unseen 2>&1 &
	check "and one more" wait_for 10 grep -q '^held' /tmp/unseen
	put token "$(word /tmp/held token)"
	put held yes
	# The host ends this.
	sleep 60
elif [ "$NODE" = 1 ]; then
	plan 3
	check_member
	: >/tmp/other
	holder hold other -w 10000 >/tmp/other 2>&1 &
	check "a machine that comes back is a new member" wait_for 11 grep -q '^held' /tmp/other
	put back yes
	get over >/dev/null
else
	plan 12
	check "the module loads" load_rdlock
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
	get held >/dev/null
	: >/tmp/heir
	holder hold x -w 20000 >/tmp/heir 2>&1 &
	heir=$!
	# A lock that nobody has open is forgotten, with its notice.
	holder open unseen >/tmp/open 2>&1 &
	holder leave unseen -w 20000 >/tmp/leaver 2>&1 &
	usleep 300000
	check "the lock is taken" expect_status 75 rdlock run t/x -n -- true
	vm kill 1
	died=$(vmctl now)
	check "the waiter gets it" wait_for 10 grep -q '^held' /tmp/heir
	ms=$((($(vmctl now) - died) / 1000000))
	diag "after $ms ms: $(cat /tmp/heir)"
	check "not before the dead's lease is over, and soon after" [ $ms -ge 3000 -a $ms -le 8000 ]
	check "it is told that the owner died" [ "$(($(word /tmp/heir flags) & 1))" = 1 ]
	old=$(get token)
	check "its token is greater" [ $((0x$(word /tmp/heir token))) -gt $((0x$old)) ]
	kill -TERM $heir
	wait $heir
	check "the next owner is told nothing of that" rdlock run t/x -w 2 -- \
		sh -c '! echo "$RDLOCK_GRANT_FLAGS" | grep owner-died'
	check "one is granted the lock, and leaves without a look" wait_for 10 grep -q '^left' /tmp/leaver
	diag "$(cat /tmp/leaver)"
	check "so the next one is told" rdlock run t/unseen -w 2 -- \
		sh -c 'echo "$RDLOCK_GRANT_FLAGS" | grep owner-died'
	check "but not the one after it" rdlock run t/unseen -w 2 -- \
		sh -c '! echo "$RDLOCK_GRANT_FLAGS" | grep owner-died'
	vm start 1
	check "the machine comes back" get back 60
	put over yes
fi
