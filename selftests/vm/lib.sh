# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC3043
#
# Words for scenarios, sourced inside the VM (busybox ash): . /vm/lib.sh
#
# Environment: NODE (0..), NODES, IP, SCALE, T, BOOT (1, +1 at each restart), and
# PATIENCE: limits of waiting are multiplied by it, on a kernel that is slow.
# Results go to fd 3. Every VM prints its own plan and its own points; count
# them in the main shell only, never in a background job or $(...).

_count=0

# busybox has applets of these names, and its ash prefers them to $PATH.
ip() { /sbin/ip "$@"; }
tc() { /sbin/tc "$@"; }

# --- results -------------------------------------------------------------

plan() { echo "1..$1" >&3; }

ok()
{
	_count=$((_count + 1))
	echo "ok $_count $*" >&3
}

not_ok()
{
	_count=$((_count + 1))
	echo "not ok $_count $*" >&3
}

# skip DESCRIPTION REASON: the reason names what is missing.
skip()
{
	_count=$((_count + 1))
	echo "ok $_count $1 # SKIP ${2:?skip needs a reason}" >&3
}

# skip_all REASON: instead of a plan, nothing of this scenario can run here.
skip_all()
{
	echo "1..0 # SKIP ${1:?skip_all needs a reason}" >&3
	exit 0
}

bail()
{
	echo "Bail out! $*" >&3
	exit 1
}

diag() { printf '%s\n' "$*" | sed 's/^/# /' >&3; }

# say TEXT: for people watching (make demo).
say() { printf '%s\n' "$*" | sed 's/^/#> /' >&3; }

# check DESCRIPTION COMMAND...: a point; the output is shown if it fails.
check()
{
	local desc="$1" status
	shift
	"$@" >/tmp/.check 2>&1
	status=$?
	if [ $status = 0 ]; then
		ok "$desc"
		return 0
	fi
	not_ok "$desc"
	diag "exit status $status of: $*"
	sed 's/^/# | /' /tmp/.check >&3
	return 1
}

# expect_fail COMMAND...: true if it fails by its own decision, not by a signal.
expect_fail()
{
	local status
	"$@"
	status=$?
	[ $status != 0 ] && [ $status -lt 126 ]
}

# expect_status N COMMAND...
expect_status()
{
	local want="$1" status
	shift
	"$@"
	status=$?
	[ $status = "$want" ] && return 0
	echo "status $status, not $want"
	return 1
}

# run_ktap PROGRAM [ARGS...]: a kselftest program as one point with subtests.
run_ktap()
{
	local name status
	name=$(basename "$1")
	echo 255 >/tmp/.status
	{
		"$@" 3>&- 2>&1
		echo $? >/tmp/.status
	} | awk '{ print "  " $0; fflush() }' >&3
	status=$(cat /tmp/.status)
	case $status in
	0) ok "$name" ;;
	4) skip "$name" "the program says so" ;;
	*)
		not_ok "$name"
		diag "exit status $status"
		return 1
		;;
	esac
}

# scaled N: N * SCALE, at least 1.
scaled() { awk -v n="$1" -v s="$SCALE" 'BEGIN { r = int(n * s + 0.5); print r < 1 ? 1 : r }'; }

# --- with the other nodes, through the host ------------------------------

# sync NAME [SECONDS]: returns when every living node is there.
sync()
{
	vmctl -t "$((${2:-60} * PATIENCE))" meet "$1" || bail "sync $1: not all nodes came, or no answer from the host"
}

# put KEY VALUE, get KEY [SECONDS]: waits for the key, prints the value.
put() { vmctl put "$1" "$2" >/dev/null; }
get() { vmctl -t "$((${2:-60} * PATIENCE))" get "$1"; }

# vm kill|stop|cont|quit|start NODE: what happens to a machine, not to Linux.
vm() { vmctl vm "$1" "$2" >/dev/null; }

# --- waiting -------------------------------------------------------------

# wait_for SECONDS COMMAND...: until it succeeds. Only patience: what must not take
# longer is measured. Where a look costs more, there are fewer.
wait_for()
{
	local now end pause=30000
	read -r now _ </proc/uptime
	end=$((${now%.*} + $1 * PATIENCE + 1))
	shift
	until "$@"; do
		read -r now _ </proc/uptime
		[ "${now%.*}" -lt $end ] || return 1
		usleep $pause
		[ $pause -ge $((30000 * PATIENCE)) ] || pause=$((pause * 2))
	done
}

# lacks PATTERN FILE: true only if it is a file that can be read, and shows it otherwise.
lacks() { [ -f "$2" ] && [ -r "$2" ] && ! grep -e "$1" "$2"; }

# scaled_less N FACTOR: as scaled, but short of make soak's count FACTOR times less.
scaled_less() { awk -v n="$1" -v f="$2" -v s="$SCALE" 'BEGIN { r = int(n * s / (s < 1 ? f : 1) + 0.5); print r < 1 ? 1 : r }'; }

# --- the network ---------------------------------------------------------

ip_of() { echo "10.77.0.$(($1 + 1))"; }

# netem on "loss 2% duplicate 1%" | netem off: what leaves this node. The qdisc is there from the beginning (below) and is
# only changed: putting in another one throws packets away with a word to the sender, and the rxe of 7.3 breaks the queue
# pair that hears it, the connection manager's as well (admin-guide, "When something fails").
netem()
{
	if [ "$1" = on ]; then
		shift
	else
		set -- loss 0%
	fi
	# shellcheck disable=SC2048,SC2086 # words of a qdisc
	tc qdisc change dev eth0 root netem limit 10000 $*
}

! grep -qE '\<(netem(_of| o[nf])|loads_of|rpc_loads|bad_network|fabric_pair)' /vm/test.sh || tc qdisc replace dev eth0 root netem limit 10000

# link_down takes the interface down by its administrator: rxe of 6.1 then fails to send and never receives a connection
# message again until the rdma link is made anew (admin-guide, "When something fails"). cable_out is a cable pulled.
cable_in() { vm plug "${1:-$NODE}"; }
cable_out() { vm unplug "${1:-$NODE}"; }
link_up() { ip link set eth0 up; }
link_down() { ip link set eth0 down; }

rxe_active() { /sbin/rdma link show rxe0/1 | grep -q 'state ACTIVE'; }

# --- the module ----------------------------------------------------------

# load_rdlock [PARAMETER=VALUE...]; with BACKEND set, spaces made here have that one.
load_rdlock() { modprobe rdlock ${BACKEND:+backend=$BACKEND} "$@"; }
unload_rdlock() { rmmod rdlock; }

# dmesg_has PATTERN
dmesg_has() { dmesg | grep -q -e "$1"; }

# --- what several scenarios do, each with a kind of its own -----------------

# What hammer and holder said: word=number.
hammer_word() { tr ' ' '\n' </tmp/hammer | sed -n "s/^$1=//p"; }
storm_word() { tr ' ' '\n' </tmp/storm | sed -n "s/^$1=//p"; }
nobody_waits()
{
	[ -r /sys/kernel/debug/rdlock/t/locks ] && ! grep -E 'waiters=[1-9]|user=[1-9]' /sys/kernel/debug/rdlock/t/locks
}

# each_program PROGRAM...: with a module of its own each. Three points.
each_program()
{
	local program
	for program; do
		check "$program: the module loads" load_rdlock
		run_ktap "$program"
		check "$program: nothing keeps the module" unload_rdlock
	done
}

# Two nodes in space t, node 0 its home. Two points on each.
both_join()
{
	check "the module loads" load_rdlock
	if [ "$NODE" = 0 ]; then
		check "the home makes the space" rdlock space create t "$IP" --id 0
		sync made
	else
		sync made
		check "the member joins" rdlock space join t "$(ip_of 0)" --id 1
	fi
	sync joined
}

# rpc_loads KIND...: exclusion, netem and killstorm with one kind after the other, in a space whose words the home's
# processor changes. As many as the other back-end's in make soak; before, what there is time for.
rpc_loads()
{
	local kind
	plan $((4 + 17 * $#))
	both_join
	check "the home's processor does it" grep -q '"atomics": *"cpu"' <<-EOF
		$(rdlock -j space show t)
	EOF
	for kind in "$@"; do
		exclusion "$kind" "$kind" "$(scaled_less 10000 8)"
		bad_network "$kind" "net$kind" "$(scaled_less 10000 12)"
		killstorm "$kind" "kill$kind" "$(at_least 25 "$(scaled_less 1000 2)")"
	done
	check "the module unloads" unload_rdlock
	sync end
}

# big_death: node 1 dies while both write a value of 64 KiB.
big_death()
{
	local limit=60 load

	plan "$([ "$NODE" = 1 ] && echo 3 || echo 7)"
	check "the module loads" load_rdlock
	if [ "$NODE" = 1 ]; then
		sync made
		check "the member joins" rdlock space join t "$(ip_of 0)" --id 1 --wait 30
		: >/tmp/big
		bigvalue big -n 1000000 -c >/tmp/big 2>&1 &
		check "it writes" wait_for 30 grep -q ^working /tmp/big
		put working yes
		# The host ends this.
		sleep 100
		return
	fi
	check "the home makes the space" rdlock space create t "$IP" --id 0
	sync made
	: >/tmp/big
	bigvalue big -n 1000000 -c >/tmp/big 2>&1 &
	load=$!
	check "so does the home" wait_for 30 grep -q ^working /tmp/big
	get working >/dev/null
	vm kill 1
	check "the dead one is given up" wait_for 20 lacks '^evict 0' /sys/kernel/debug/rdlock/t/stats
	# And then some.
	sleep 2
	check "no value is of two versions, and none is old without a word" kill -0 $load
	kill $load
	wait $load
	diag "$(cat /tmp/big)"
	timeout -s KILL $limit bigvalue big -n 20 -c >/tmp/again 2>&1
	check "the next owners have a whole one" [ $? = 0 ]
	diag "$(cat /tmp/again)"
	check "nobody waits any more" nobody_waits
}

# exclusion_of KIND: nothing but the lock protects a cell.
exclusion_of()
{
	plan 8
	both_join
	exclusion "$1" x "$(scaled 10000)"
}

# The later one of both nodes.
last_token()
{
	local mine=$((0x$(hammer_word last))) peer=$((0x$1))
	[ $mine -gt $peer ] || mine=$peer
	echo "$mine"
	[ "$(rdlock counter get "t/$2:1")" = $mine ]
}

# exclusion KIND KEY ROUNDS: six points on each node
exclusion()
{
	local kind="$1" key="$2" rounds="$3" peer limit status
	peer=$((1 - NODE))
	# What a tenth of the slowest rate that was ever seen takes: a hang ends here, not at the scenario's end.
	limit=$((60 + rounds / 20))

	timeout -s KILL $limit hammer lock "$key" -k "$kind" -t 4 -n "$rounds" >/tmp/hammer 2>/tmp/errors
	status=$?
	check "$kind: no second owner, no old token" [ $status = 0 ]
	diag "$(cat /tmp/hammer /tmp/errors)"
	put "done$NODE" "$(hammer_word "done")"
	put "last$NODE" "$(hammer_word last)"
	check "$kind: every owner got through" [ "$(hammer_word "done")" = "$rounds" ]
	sync worked 900
	check "$kind: so did the peer's" [ "$(get "done$peer")" = "$rounds" ]
	check "$kind: the cell is the sum" [ "$(rdlock counter get "t/$key:0")" = $((rounds * 2)) ]
	sync summed
	check "$kind: the token of the last grant is in its cell" last_token "$(get "last$peer")" "$key"
	sync last
	# The control: what the same load is without the lock.
	hammer free "y$key" -t 4 -n 100 -p 1000 >/tmp/hammer 2>/tmp/errors
	check "without the lock the same load fails" grep -q 'count changed under the lock' /tmp/errors
	sync end
}

# netem_of KIND: the same on a bad network.
netem_of()
{
	plan 8
	both_join
	# 20 000 acquisitions in all.
	bad_network "$1" x "$(scaled 10000)"
}

# A short load may be lucky.
frames_lost()
{
	tc -s qdisc show dev eth0 | grep 'dropped [1-9]' && return
	ping -c 20 -i 0.01 -W 1 "$(ip_of $((1 - NODE)))" >/dev/null
	return 1
}

# bad_network KIND KEY ROUNDS: six points on each node
bad_network()
{
	local kind="$1" key="$2" rounds="$3" limit status
	limit=$((120 + rounds / 4))

	check "$kind: the network gets bad" netem on "loss 2% duplicate 1% delay 1ms reorder 10%"
	sync bad

	timeout -s KILL $limit hammer lock "$key" -k "$kind" -t 4 -n "$rounds" >/tmp/hammer 2>/tmp/errors
	status=$?
	check "$kind: no second owner, no old token" [ $status = 0 ]
	diag "$(cat /tmp/hammer /tmp/errors)"
	check "$kind: every owner got through" [ "$(hammer_word "done")" = "$rounds" ]
	sync worked 2900
	check "$kind: frames were lost" wait_for 20 frames_lost
	netem off
	sync clean
	check "$kind: the cell is the sum" [ "$(rdlock counter get "t/$key:0")" = $((rounds * 2)) ]
	check "$kind: the link was not given up" expect_fail grep -q 'unknown=[1-9]' /tmp/hammer
	sync end
}

# killstorm_of KIND: owners and waiters are killed.
killstorm_of()
{
	plan 8
	both_join
	killstorm "$1" x "$(kills_of 1000)"
	check "the module unloads" unload_rdlock
	sync end
}

# loads_of KIND: all three of them, one after the other.
loads_of()
{
	plan 20
	both_join
	exclusion "$1" x "$(scaled 10000)"
	bad_network "$1" y "$(scaled_less 10000 3)"
	killstorm "$1" z "$(kills_of 1000)"
	check "the module unloads" unload_rdlock
	sync end
}

# at_least MINIMUM N
at_least() { if [ "$2" -ge "$1" ]; then echo "$2"; else echo "$1"; fi; }

# Few would hit nobody in the act.
kills_of() { at_least 40 "$(scaled "$1")"; }

# killstorm KIND KEY KILLS: five points on each node
killstorm()
{
	local kind="$1" key="$2" kills="$3" limit status turn
	limit=$((60 + kills / 4))

	timeout -s KILL $limit holder storm "$key" -k "$kind" -t 6 -n "$kills" >/tmp/storm 2>&1
	status=$?
	diag "$(cat /tmp/storm)"
	check "$kind: every victim is gone at once" [ $status = 0 ]
	check "$kind: some held the lock" [ "$(storm_word holding)" -gt 0 ]
	check "$kind: some waited for it" [ "$(storm_word waiting)" -gt 0 ]
	sync over 1400
	# One at a time: a second of patience each.
	for turn in 0 1; do
		if [ $turn = "$NODE" ]; then
			check "$kind: the lock is there at once" rdlock run "t/$key" -w 1 -- true
		fi
		sync "turn$turn"
	done
	check "$kind: nobody is left in the list" wait_for 2 nobody_waits
	diag "$(cat /sys/kernel/debug/rdlock/t/locks)"
	sync looked
}
