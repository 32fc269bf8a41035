# SPDX-License-Identifier: GPL-2.0
# The kinds of locks side by side, for each way to wait, with and without the cohort, by the device and by the processor
# vms: 2
# timeout: 600 + 900 * SCALE
# group: bench
# needs: rdlock.ko rdlock
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh

parameters=/sys/module/rdlock/parameters
grants=$(scaled 2000)
# The middle three fifths of it count.
seconds=$(($(scaled 20) + 1))

# space WAITING BACKEND BUDGET: its name says all of it.
spaces="event-nic-16 spin-nic-16 adaptive-nic-16 adaptive-nic-0 adaptive-rpc-16"

plan $((2 + 2 * $(echo "$spaces" | wc -w)))
check "the module loads" load_rdlock
for space in $spaces; do
	wait=${space%%-*} backend=${space#*-} budget=${space##*-}
	backend=${backend%-*}
	echo "$budget" >$parameters/budget
	echo "$backend" >$parameters/backend
	if [ "$NODE" = 0 ]; then
		check "$space: the home makes it" rdlock space create "$space" "$IP" --id 0 --waiting "$wait"
		sync "made$space"
	else
		sync "made$space"
		check "$space: the member joins" rdlock space join "$space" "$(ip_of 0)" --id 1 --waiting "$wait"
	fi
	sync "joined$space"
	check "$space: every kind is measured" eval "rdlock -j bench kinds $space --nodes 2 --grants $grants --seconds $seconds >/tmp/bench"
	sync "measured$space" 200
	[ "$NODE" != 1 ] || diag "bench-json $(tr -d '\n' </tmp/bench)"
done
if [ "$NODE" = 0 ]; then
	sync left
	check "nothing keeps the module" unload_rdlock
else
	check "nothing keeps the module" unload_rdlock
	sync left
fi
