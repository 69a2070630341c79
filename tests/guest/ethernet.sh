#!/bin/busybox sh
# SPDX-License-Identifier: BSD-2-Clause
# In each of two guests with --ethernet: what programs do with the Ethernet interface. Both run it at the same time.
#
#   ethernet.sh NODE talk       ARP, IPv4, IPv6, multicast, TCP in both directions, with frames of any size
#   ethernet.sh NODE lossy      TCP over a line that loses, doubles and reorders frames
#   ethernet.sh NODE reload     node 0 unloads and loads the driver, and resets the device, under traffic
#   ethernet.sh NODE forge      node 1 sends what node 0 must not take for a frame
set -eu
node=$1
other=$((1 - node))
ipv4=10.101.0.$other
ipv6=fd45:5852:4943::101:$other
interface=$(basename /sys/bus/pci/drivers/exrnic/*/net/*)

# tcp ADDRESS [BYTES]: both ends send so many.
tcp() {
	if [ "$node" = 0 ]; then exrnic-tcp --listen --send "${2:-2000000}"
	else exrnic-tcp --to "$1" --send "${2:-2000000}"; fi
}

# Both guests get here.
meet() {
	tcp 10.101.0.0 1 >/dev/null
}

statistic() {
	cat "/sys/class/net/$interface/statistics/$1"
}

# When something has failed: what the interface and the RNIC have counted, so that it need not be seen again to know which it was.
tell_counters() {
	echo "node $node has failed; $interface has counted:"
	exrnic-counters "$interface"
	echo "and its RNIC:"
	grep . /sys/class/exrnic/exrnic0/counters/* | grep -v ':0$'
}

# Whoever is slow may miss datagrams, and is told; else nothing is lost.
nothing_was_wrong() {
	grep . /sys/class/net/"$interface"/statistics/* | grep -v ':0$'
	for name in rx_errors rx_dropped tx_errors tx_dropped; do
		[ "$(statistic $name)" = 0 ] || exit 1
	done
}

talk() {
	arping -c 2 -I "$interface" "$ipv4"
	ping -c 2 "$ipv4"
	ping -c 2 -s 4000 "$ipv4"
	ping6 -c 2 "$ipv6"
	ping6 -c 2 -s 4000 "$ipv6"
	# Of all nodes: this one answers, and the other one.
	ping6 -c 2 "ff02::1%$interface" | grep -q DUP || { echo "no answer to multicast"; exit 1; }
	ping -c 1 "10.101.0.$node"
	tcp 10.101.0.0
	tcp fd45:5852:4943::101:0
	ip link set "$interface" mtu 9000
	tcp 10.101.0.0
	ping -c 2 -s 8900 "$ipv4"
	meet
	nothing_was_wrong
}

lossy() {
	tcp 10.101.0.0 1000000
	ip link set "$interface" mtu 9000
	tcp fd45:5852:4943::101:0 1000000
}

start_again() {
	insmod /lib/exrnic_eth.ko
	ip link set "$interface" up
	ip addr add "10.101.0.$node/8" dev "$interface"
}

# One connection of TCP lives through all of it, and so does what processes do with the device meanwhile.
reload() {
	tcp 10.101.0.0 20000000 &
	stream=$!
	exrnic-push --node "$node" --oob /dev/ttyS1 &
	push=$!
	if [ "$node" = 0 ]; then
		for _ in 1 2 3; do
			sleep 0.5
			rmmod exrnic_eth
			start_again
		done
	fi
	wait $push
	if [ "$node" = 0 ]; then
		for _ in 1 2; do
			sleep 0.5
			echo 1 >"$(readlink -f /sys/class/net/"$interface"/device)/reset"
		done
	fi
	wait $stream
	meet
}

# The numbers are those that exrnic-forge tells.
forge() {
	if [ "$node" = 1 ]; then
		exrnic-forge --to 0 --interface "$interface"
		meet
		return
	fi
	meet
	[ "$(statistic rx_errors)" = 4 ] || { echo "rx_errors: $(statistic rx_errors)"; exit 1; }
	refused=$(cat /sys/class/exrnic/exrnic0/counters/bad_qkey)
	[ "$refused" = 2 ] || { echo "bad_qkey: $refused"; exit 1; }
}

trap '[ $? = 0 ] || tell_counters' EXIT
meet
"$2"
