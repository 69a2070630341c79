#!/bin/busybox sh
# SPDX-License-Identifier: BSD-2-Clause
# In each of two guests, at the same time: how fast Linux's NTB clients are on a link between them, as rows.
#
#   ntb_guest.sh NODE DMA     with the clients in /ntb; DMA: 1 if the device is to copy, else 0
set -eu
node=$1
dma=$2
other=$((1 - node))
perf_order=$((dma ? 24 : 18)) # log2 of bytes
chunk_order=$((dma ? 19 : 16))
tcp_bytes=$((dma ? 16000000 : 2000000))

fail() {
	echo "node $node: $*"
	exit 1
}

# shellcheck source=/dev/null
. meet.sh

# until_true COMMAND...: within 20 s.
until_true() {
	tries=0
	until "$@" 2>/dev/null; do
		tries=$((tries + 1))
		[ $tries -lt 200 ] || fail "in vain for 20 s: $*"
		sleep 0.1
	done
}

# row FIELD...: as the launcher hands it on.
row() { printf '@exrnic {"dma":%s,%s}\n' "$dma" "$*"; }

is() { [ "$(cat "$1")" = "$2" ]; }

grep -q debugfs /proc/mounts || mount -t debugfs debugfs /sys/kernel/debug
insmod /ntb/ntb.ko
insmod /ntb/exrnic_ntb.ko "join=0:$other:0"

insmod /ntb/ntb_perf.ko "total_order=$perf_order" "chunk_order=$chunk_order" "use_dma=$dma"
until_true is /sys/bus/auxiliary/devices/exrnic.ntb.*/link_up 1
run=$(echo /sys/kernel/debug/ntb_perf/*/run)
meet
if [ "$node" = 0 ]; then
	# Until both sides have put their buffers in order it is refused.
	until_true sh -c "echo 0 > $run"
	sed -n 's/.*copied \([0-9]*\) bytes in \([0-9]*\) usecs.*/"perf_bytes":\1,"perf_us":\2/p' "$run" | while read -r text; do row "$text"; done
fi
meet
rmmod ntb_perf
meet

insmod /ntb/ntb_transport.ko "use_dma=$dma"
insmod /ntb/ntb_netdev.ko
for interface in /sys/class/net/*; do interface=${interface##*/}; [ "$interface" = lo ] || break; done
ip addr add "10.9.0.$node/24" dev "$interface"
ip link set "$interface" up
until_true is "/sys/class/net/$interface/carrier" 1
meet
if [ "$node" = 0 ]; then
	exrnic-tcp --listen
else
	ping -c 10 -i 0.01 10.9.0.0 | sed -n 's|.* = [0-9.]*/\([0-9.]*\)/.*|"ping_ms":\1|p' | while read -r text; do row "$text"; done
	exrnic-tcp --to 10.9.0.0 --send "$tcp_bytes"
fi
meet
rmmod ntb_netdev ntb_transport
rmmod exrnic_ntb
rmmod ntb
