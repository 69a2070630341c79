#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Linux's NTB clients between two guests with a distribution, and the kernel's own test of them, unmodified. Node 0 does all, on
# node 1 by ssh.
#
#   clients.sh NODE ROUNDS WINDOWS ORDER DMA
#
# ROUNDS of ntb_test.sh, of WINDOWS (as join has them), with 2^ORDER bytes for ntb_perf; DMA: 1 with use_dma, too.
# /opt/modules has the modules and ntb_test.sh. Rows of results begin with "@ntb".
# shellcheck disable=SC2029 # of this side
set -euo pipefail

node=$1
rounds=$2
windows=$3
order=$4
dma=$5
peer=node$((1 - node))
modules=/opt/modules
here=$(dirname "$0")

load() {
	mkdir -p "/lib/modules/$(uname -r)/updates"
	cp $modules/*.ko "/lib/modules/$(uname -r)/updates/"
	depmod
	mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
	modprobe exrnic_ntb "join=0:$((1 - node)):0:$windows"
}

# until COMMAND...: at most 60 s.
until_true() {
	local tries
	for ((tries = 0; tries < 300; tries++)); do
		if "$@" 2>/dev/null; then return 0; fi
		sleep 0.2
	done
	echo "in vain for 60 s: $*" >&2
	return 1
}

# on_both COMMAND...: one after the other.
on_both() {
	"$@"
	ssh "$peer" "$@"
}

device() { basename "$(ls -d /sys/bus/ntb/devices/*)"; }

# ---- The kernel's test

self_test() {
	local round own other options=()
	own=$(device)
	other=$(ssh "$peer" ls /sys/bus/ntb/devices)
	((dma == 0)) || options=(-d)
	for ((round = 1; round <= rounds; round++)); do
		echo "@ntb round $round"
		bash $modules/ntb_test.sh "$own" "$other" -r "$peer" -p "$order" "${options[@]}"
	done
	echo "@ntb ntb_test.sh $rounds of $rounds"
}

# ---- ntb_perf, of what the kernel's test does not say

perf_run() {
	local run
	on_both modprobe ntb_perf "total_order=$order" "use_dma=$1"
	run=$(ls /sys/kernel/debug/ntb_perf/*/run)
	echo 0 >"$run"
	echo "@ntb ntb_perf use_dma=$1 $(sed -n 's/.*copied/copied/p' "$run")"
	on_both modprobe -r ntb_perf
}

# ---- ntb_netdev

# interface: that of ntb_netdev, which is no other driver's.
interface() {
	local path
	for path in /sys/class/net/*; do
		case $path in */lo) ;; *) ethtool -i "${path##*/}" | grep -qx "driver: ntb_netdev" && echo "${path##*/}" ;; esac
	done
}

netdev_up() {
	modprobe ntb_netdev
	name=$(interface)
	ip addr add "10.9.0.$((node + 1))/24" dev "$name"
	ip link set "$name" up
}

netdev_down() { modprobe -r ntb_netdev ntb_transport; }

netdev() {
	modprobe ntb_transport "use_dma=$1"
	ssh "$peer" modprobe ntb_transport "use_dma=$1"
	netdev_up
	ssh "$peer" bash /opt/ntb/clients.sh 1 0 "$windows" "$order" "$dma" netdev_up
	until_true ping -q -c 1 -W 1 10.9.0.2 >/dev/null
	ping -q -c 20 -i 0.05 10.9.0.2 | sed -n "s/.*received.*/@ntb ping use_dma=$1 &/p; s/^rtt/@ntb ping use_dma=$1 rtt/p"
	ssh "$peer" iperf3 -s -1 -D
	sleep 1
	iperf3 -c 10.9.0.2 -n "$2" | sed -n "s/.*receiver/@ntb TCP use_dma=$1 &/p"
	on_both bash /opt/ntb/clients.sh 1 0 "$windows" "$order" "$dma" netdev_down
}

# ---- The two nodes

# One connection for all: each takes seconds of the guests' processor.
share_connection() {
	cat >>~/.ssh/config <<-END
		ControlMaster auto
		ControlPath ~/.ssh/%h
		ControlPersist 600
	END
}

of_node_0() {
	sh "$here/../world/mpi.sh" key
	share_connection
	load
	until_true ssh "$peer" test -e /run/ntb-ready
	self_test
	perf_run 0
	((dma == 0)) || perf_run 1
	netdev 0 1M
	((dma == 0)) || netdev 1 4M
	echo "@ntb done"
}

of_node_1() {
	until_true sh "$here/../world/mpi.sh" sshd "$peer"
	load
	touch /run/ntb-ready
	until [[ -e /run/ntb-end ]]; do sleep 1; done
	[[ $(cat /run/ntb-end) == 0 ]]
}

tell_end() {
	local status=$?
	ssh "$peer" "echo $status >/run/ntb-end" || true
}

case ${6:-} in
netdev_up | netdev_down) "$6" ;;
*)
	[[ $node != 0 ]] || trap tell_end EXIT
	"of_node_$node"
	;;
esac
