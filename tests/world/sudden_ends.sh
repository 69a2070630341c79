#!/bin/sh
# shellcheck shell=dash
# SPDX-License-Identifier: BSD-2-Clause
# Programs that lose their process, the driver or the device in the middle: they end with an error, nothing of
# theirs is left, and what comes next works.
#
#   sudden_ends.sh kill|unload|remove NODE    node 0, to which that happens under perftest and MPI
#   sudden_ends.sh peer NODE                  node 1, whose perftest writes to node 0 meanwhile
#
#   FACTOR=    its limits are so many times as long (in_guest.py)
set -eu

device=exrnic_0
sysfs=/sys/class/infiniband/$device
bus=/sys/bus/pci
ours=$bus/drivers/exrnic
logs=$(mktemp -d)
factor=${FACTOR:-1}
seconds=40 # until programs of rdma-core must have seen it
transfer="ib_write_bw -F -D $((600 * factor)) -s 65536 -x 1" # until somebody ends it

fail() {
	echo "FAILED: $*"
	ps ax | tail -n 20
	rdma resource show || true
	tail -n 20 "$logs"/*
	exit 1
}

# within SECONDS WHAT COMMAND...: it succeeds in time.
within() {
	local left=$(($1 * factor * 5)) what=$2
	shift 2
	until "$@"; do
		left=$((left - 1))
		[ $left -gt 0 ] || fail "$what"
		sleep 0.2
	done
}

work_is_done() {
	[ "$(cat "$sysfs/hw_counters/$1")" -gt "$2" ]
}

connected() {
	grep -q "remote address" "$logs/perftest"
}

running() {
	kill -0 "$1" 2>/dev/null
}

all_over() {
	local pid
	for pid in $programs; do
		! running "$pid" || return 1
	done
}

# Two ranks of this node, whose only way to each other is the RNIC.
mpi() {
	UCX_TLS=rc_v,self UCX_NET_DEVICES=$device:1 exec mpirun -n 2 --oversubscribe --mca pml ucx --mca btl self \
		NPopenmpi -n 100000 -u 4096 -o np.out
}

begin() {
	local before
	# shellcheck disable=SC2086 # a list
	stdbuf -oL $transfer >"$logs/perftest" 2>&1 &
	programs=$!
	within 60 "nobody speaks to perftest" connected
	(mpi) >"$logs/mpi" 2>&1 &
	programs="$programs $!"
	within 30 "no program works" work_is_done wqes 100
	sleep 3
	before=$(cat $sysfs/hw_counters/wqes)
	within 10 "the programs have stopped before anything happened" work_is_done wqes $((before + 100))
	# shellcheck disable=SC2086 # a list
	for pid in $programs; do running "$pid" || fail "a program has ended before anything happened"; done
}

# each_failed: their statuses are those of failures.
each_failed() {
	local pid status
	for pid in $programs; do
		status=0
		wait "$pid" || status=$?
		[ "$status" -ne 0 ] || fail "a program knows nothing of what happened"
	done
}

queues() {
	rdma resource show | sed -n "s/.*$device: .*cq \([0-9]*\) .*/\1/p"
}

# Of the kernel's own there are a domain, a queue and the queue pair of general services. Queues that kernel users share
# (as nvmet-rdma of 7.x does) stay as long as the device.
nothing_is_left() {
	rdma resource show | grep -q "$device: pd 1 cq [0-9]* qp 1 cm_id 0 mr 0 " && [ "$(queues)" -le "$queues_before" ]
}

again() {
	ibv_rc_pingpong -d $device -g 1 -n 100 >"$logs/again" 2>&1 &
	server=$!
	sleep 1
	{ ibv_rc_pingpong -d $device -g 1 -n 100 localhost && wait $server; } || fail "nothing works any more"
}

# Interfaces that come anew have no address.
restore() {
	local interface
	within 10 "no interface comes back" ls $ours/*/net/* >/dev/null 2>&1
	interface=$(basename $ours/*/net/*)
	ip link set "$interface" up
	ip addr add "$(getent hosts "node$1" | cut -d" " -f1)/8" dev "$interface" 2>/dev/null || true
	within 20 "the port of $device does not come back" sh -c "ibv_devinfo -d $device | grep -q PORT_ACTIVE"
	within 20 "no address at the port" sh -c "grep -q v2 $sysfs/ports/1/gid_attrs/types/1 2>/dev/null"
}

node0() {
	queues_before=$(queues)
	begin
	case $1 in
	kill)
		pkill -9 'ib_write_bw|NPopenmpi'
		;;
	unload)
		rmmod exrnic_ib
		;;
	remove)
		echo 1 >"$(echo $ours/0*)/remove"
		;;
	esac
	within $seconds "programs do not end" all_over
	each_failed
	case $1 in
	unload) insmod /proc/1/root/lib/exrnic_ib.ko ;;
	remove) echo 1 >$bus/rescan ;;
	esac
	restore "$2"
	within 10 "something is left" nothing_is_left
	again
	echo "what ends suddenly is over"
}

# Who it speaks to may not listen yet.
peer() {
	for _ in 1 2 3 4 5 6 7 8 9; do
		status=0
		# shellcheck disable=SC2086 # a list
		timeout $((100 * factor)) stdbuf -oL $transfer "node$((1 - $1))" >"$logs/perftest" 2>&1 || status=$?
		! connected || break
		sleep 1
	done
	cat "$logs/perftest"
	connected || fail "node $((1 - $1)) does not answer"
	[ "$status" -ne 0 ] || fail "it knows nothing of what happened to its peer"
	[ "$status" -ne 124 ] || fail "it waits for ever"
	echo "what ends suddenly is over"
}

case $1 in
peer) peer "$2" ;;
kill | unload | remove) node0 "$1" "$2" ;;
*) fail "'$1' is no end" ;;
esac
