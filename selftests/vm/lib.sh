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
	local turn
	turn=$(vmctl arrive "$1") || bail "sync $1: no answer from the host"
	vmctl -t "$((${2:-60} * PATIENCE))" passed "$1" "$turn" >/dev/null || bail "sync $1: not all nodes came"
}

# put KEY VALUE, get KEY [SECONDS]: waits for the key, prints the value.
put() { vmctl put "$1" "$2" >/dev/null; }
get() { vmctl -t "$((${2:-60} * PATIENCE))" get "$1"; }

# vm kill|stop|cont|quit|start NODE: what happens to a machine, not to Linux.
vm() { vmctl vm "$1" "$2" >/dev/null; }

# --- waiting -------------------------------------------------------------

# wait_for SECONDS COMMAND...: until it succeeds. Only patience: what must not take
# longer is measured.
wait_for()
{
	local end
	end=$(($(vmctl now) + $1 * PATIENCE * 1000000000))
	shift
	until "$@"; do
		[ "$(vmctl now)" -lt $end ] || return 1
		usleep 50000
	done
}

# --- the network ---------------------------------------------------------

ip_of() { echo "10.77.0.$(($1 + 1))"; }

# netem on "loss 2% duplicate 1%" | netem off: what leaves this node. The qdisc is there from the beginning (below) and is
# only changed: putting in another one throws packets away with a word to the sender, and the rxe of 7.3 breaks the queue
# pair that hears it, the connection manager's as well (admin-guide, "What goes wrong").
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

! grep -q '\<netem o[nf]' /vm/test.sh || tc qdisc replace dev eth0 root netem limit 10000

# link_down takes the interface down by its administrator: rxe of 6.1 then fails to send and never receives a connection
# message again until the rdma link is made anew (admin-guide, "What goes wrong"). cable_out is a cable pulled.
cable_in() { vm plug "${1:-$NODE}"; }
cable_out() { vm unplug "${1:-$NODE}"; }
link_up() { ip link set eth0 up; }
link_down() { ip link set eth0 down; }

rxe_active() { /sbin/rdma link show rxe0/1 | grep -q 'state ACTIVE'; }

# --- the module ----------------------------------------------------------

# load_rdlock [PARAMETER=VALUE...]
load_rdlock() { modprobe rdlock "$@"; }
unload_rdlock() { rmmod rdlock; }

# dmesg_has PATTERN
dmesg_has() { dmesg | grep -q -e "$1"; }
