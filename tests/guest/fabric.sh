#!/bin/busybox sh
# SPDX-License-Identifier: BSD-2-Clause
# In each of two guests with --ethernet, in a managed fabric: fabric.sh NODE. Node 0 manages it; then both have
# their numbers, talk by IP, and exchange messages.
set -eu
node=$1
number=/sys/class/exrnic/exrnic0/node_id
echo 1234abcd >key
if [ "$node" = 0 ]; then
	[ "$(cat $number)" = 65535 ] || { echo "node 0 has number $(cat $number) before there is a manager"; exit 1; }
	exrnic-fm --once --key-file key
fi
for _ in $(seq 100); do
	[ "$(cat $number)" = 65535 ] || break
	usleep 100000
done
[ "$(cat $number)" = "$node" ] || { echo "node $node has number $(cat $number)"; exit 1; }
[ "$node" = 1 ] || exrnicctl fabric --key-file key | grep -q "^0245585200000001 *rnic *1 "
for _ in $(seq 20); do
	ping -c 1 -W 1 10.101.0.$((1 - node)) && break
done
ping -c 2 10.101.0.$((1 - node))
exrnic-pingpong --node "$node" --oob /dev/ttyS1 --rounds 10 --sizes 8,4096
