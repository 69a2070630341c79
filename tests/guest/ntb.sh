#!/bin/busybox sh
# SPDX-License-Identifier: BSD-2-Clause
# In each of two guests: Linux's NTB clients on a link between them, which goes and comes back. Both run it at the same time.
#
#   ntb.sh NODE      with exrnic_ntb.ko and the clients in /ntb
set -eu
node=$1
other=$((1 - node))
bytes=4096 # each load takes its time on the RTL

grep -q debugfs /proc/mounts || mount -t debugfs debugfs /sys/kernel/debug

fail() {
	echo "node $node: $*"
	exit 1
}

# shellcheck source=/dev/null
. meet.sh

# until_says FILE TEXT: within 20 s.
until_says() {
	tries=0
	until [ "$(cat "$1")" = "$2" ]; do
		tries=$((tries + 1))
		[ $tries -lt 200 ] || fail "$1 says $(cat "$1"), not $2"
		sleep 0.1
	done
}

load() {
	insmod /ntb/exrnic_ntb.ko "join=0:$other:0:2"
	insmod /ntb/ntb_tool.ko
	tool=$(echo /sys/kernel/debug/ntb_tool/*)
	echo Y >"$tool/link"
}

unload() {
	rmmod ntb_tool
	rmmod exrnic_ntb
}

up() { until_says "$tool/peer0/link" Y; }

pattern() { seq "$1" 99999 | head -c $bytes; }

# What the peer's memory holds, through a window.
shown() { dd if="$tool/peer0/peer_mw0" bs=$bytes count=1 2>/dev/null; }

# Node 1's memory, and node 0's window.
window_shows() {
	if [ "$node" = 1 ]; then
		echo $bytes >"$tool/peer0/mw_trans0"
		pattern "$1" >"$tool/peer0/mw0"
		meet
		meet
		pattern "$2" | cmp - "$tool/peer0/mw0" || fail "what came by a window is wrong"
		return
	fi
	echo 0:$bytes >"$tool/peer0/peer_mw_trans0"
	meet
	pattern "$1" >expected
	shown | cmp - expected || fail "what a window shows is wrong"
	pattern "$2" >"$tool/peer0/peer_mw0"
	shown >/dev/null # behind these stores
	meet
}

ones() { tr '\0' '\377' </dev/zero | head -c $bytes; }

insmod /ntb/ntb.ko
# Nobody is a peer of its own, and the log says why
insmod /ntb/exrnic_ntb.ko
echo "0:$node:1" >"$(echo /sys/bus/auxiliary/devices/exrnic.ntb.*/join)" && fail "a node is joined to itself"
dmesg | grep -q "join: the peer, node $node, is this node" || fail "nothing says why a node is not joined to itself"
rmmod exrnic_ntb
meet
load
up

# Doorbells, scratchpads
echo "s $((1 << node))" >"$tool/peer_db"
echo $((77 + node)) >"$tool/peer0/spad5"
echo $((99 + node)) >"$tool/spad6"
meet
until_says "$tool/db" "0x$((1 << other))"
until_says "$tool/spad5" "$(printf '%#x' $((77 + other)))"
until_says "$tool/peer0/spad6" "$(printf '%#x' $((99 + other)))"
meet

# A peer that is none: its own link does not work, and no more
if [ "$node" = 1 ]; then
	meet
	unload
	exrnic-ntb-forge --to 0 --seconds 2 --downs 4
	meet
	# A process that has the ports when they are reserved is waited for, and none gets them from then on.
	exrnic-ntb-forge --to 0 --seconds 0 --held 2 &
	sleep 1
	load
	wait $! || fail "who had the ports has lost them"
	exrnic-ntb-forge --to 0 --seconds 0 && fail "a process has got the ports of a link"
else
	echo 0:$bytes >"$tool/peer0/peer_mw_trans0"
	echo $bytes >"$tool/peer0/mw_trans0"
	meet
	for _ in 1 2 3; do
		shown >/dev/null
		sleep 1
	done
	echo 0:0 >"$tool/peer0/peer_mw_trans0"
	echo 0 >"$tool/peer0/mw_trans0"
	meet
	# It would stay down for longer and longer.
	unload
	load
fi
up
meet
dmesg | grep -E "BUG:|WARNING:|stall" && fail "the kernel complains"

# Windows, whose peer goes, by itself and with its device, and comes back
window_shows 1 2
if [ "$node" = 1 ]; then
	echo 0 >"$tool/peer0/mw_trans0"
	unload
	meet
	meet
	load
else
	until_says "$tool/peer0/link" N
	meet
	shown >seen
	ones | cmp - seen || fail "a window whose peer is gone does not read as all ones"
	meet
fi
up
meet
window_shows 3 4
pattern 4 >after
meet
if [ "$node" = 1 ]; then
	echo 1 >"$(echo /sys/bus/pci/drivers/exrnic/0000*)/reset"
	meet
else
	until_says "$tool/peer0/link" N
	meet
fi
up
meet
if [ "$node" = 0 ]; then
	shown | cmp - after || fail "after a reset a window shows something else"
	echo 0:0 >"$tool/peer0/peer_mw_trans0"
	meet
else
	meet
	echo 0 >"$tool/peer0/mw_trans0"
fi
rmmod ntb_tool # which falls over files of windows that are set

# The other clients
meet
insmod /ntb/ntb_pingpong.ko delay_ms=1
count=$(echo /sys/kernel/debug/ntb_pingpong/*/count)
tries=0
until [ "$(cat "$count")" -gt 20 ]; do
	tries=$((tries + 1))
	[ $tries -lt 100 ] || fail "pings: $(cat "$count")"
	sleep 0.1
done
meet
rmmod ntb_pingpong
meet
insmod /ntb/ntb_transport.ko
insmod /ntb/ntb_netdev.ko
for interface in /sys/class/net/*; do interface=${interface##*/}; [ "$interface" = lo ] || break; done
ip addr add "10.9.0.$node/24" dev "$interface"
ip link set "$interface" up
until_says "/sys/class/net/$interface/carrier" 1
meet
if [ "$node" = 0 ]; then ping -c 3 -s 4000 10.9.0.1; fi
meet
rmmod ntb_netdev ntb_transport
rmmod exrnic_ntb
rmmod ntb
