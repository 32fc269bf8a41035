# SPDX-License-Identifier: GPL-2.0
# What is open when a session is lost is opened again: whenever the home has a place, and not as another lock
# vms: 2
# timeout: 150
# needs: rdlock.ko rdlock holder
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

max=/sys/module/rdlock/parameters/max_keys
state() { rdlock space show t | grep -q "^state *$1"; }
no_keys() { lacks '^lock ' /sys/kernel/debug/rdlock/t/locks; }
said() { grep -q "$2" "/tmp/$1"; }
says() { check "$3" wait_for "$4" said "$1" "$2" || diag "$(cat "/tmp/$1")"; }

# Until the node's session is lost, and its home has forgotten it.
dark()
{
	netem on "loss 100%"
	wait_for 15 state lost
	sync dark
	sync "$1"
	netem off
	wait_for 15 state ready
}

# Two who want the lock as what it is not, at once: each is told so, the other's wish does not matter.
both_refused()
{
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		: >/tmp/r1
		holder hold as -n -k ticket >/tmp/r1 2>&1 &
		holder hold as -n -k fair >/tmp/r2 2>&1
		wait $!
		cat /tmp/r1 /tmp/r2
		[ "$(grep -c 'failed EINVAL ms=.\{1,3\}$' /tmp/r1 /tmp/r2 | grep -c :1)" = 2 ] || return 1
	done
}

if [ "$NODE" = 0 ]; then
	plan 4
	check "the module loads" load_rdlock max_keys=1
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
	sync dark
	wait_for 10 no_keys
	: >/tmp/other
	holder open other >/tmp/other 2>&1 &
	other=$!
	says other ^open "the only place goes to another key" 20
	sync full
	sync refused
	kill -9 $other
	sync place
	sync again
	echo 100 >$max
	sync dark
	wait_for 10 no_keys
	: >/tmp/as
	holder hold as -k mcs >/tmp/as 2>&1 &
	wait_for 20 said as ^held
	sync another
	sync left
	kill -9 $!
	wait $!
	check "nothing keeps the module" unload_rdlock
else
	plan 13
	check "the module loads" load_rdlock
	sync made
	check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
	: >/tmp/late
	holder open late -w 60000 >/tmp/late 2>&1 &
	late=$!
	says late ^open "it has a key open" 10
	check "its session is lost, and there is another" dark full
	kill -USR1 $late
	sleep 1
	check "an opener is told that there is no place" grep -q 'failed ENOSPC ms=.\{1,3\}$' <<-END
		$(holder hold late)
	END
	check "who had it open waits" [ "$(cat /tmp/late)" = open ]
	sync refused
	sync place
	says late ^held "until there is one" 5
	kill -9 $late
	wait $late

	sync again
	: >/tmp/as
	holder open as >/tmp/as 2>&1 &
	as=$!
	: >/tmp/as2
	holder open as -w 60000 >/tmp/as2 2>&1 &
	as2=$!
	says as2 ^open "another key is open" 10
	wait_for 10 said as ^open
	kill -USR1 $as2
	wait_for 10 said as2 ^held
	kill $as2
	wait $as2
	check "the session is lost once more" dark another
	kill -USR1 $as
	says as 'failed EKEYREVOKED' "the key is another lock now, which this one is told" 5
	wait $as
	check "as well as who opens it as what it was" both_refused
	check "but not who wants it as it is" grep -q 'failed EAGAIN' <<-END
		$(holder hold as -n)
	END
	check "nothing keeps the module" unload_rdlock
	sync left
fi
