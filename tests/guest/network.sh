#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# network.sh ADDRESS,...: each guest of a launch with --network reaches all of them. Those that have not booted
# yet are waited for, and this guest answers the others for a while after.

PATH=$PATH:/opt/exrnic # of a guest with a distribution
for address in $(echo "$1" | tr , ' '); do
	tries=0
	until busybox ping -c 1 -W 1 "$address"; do
		tries=$((tries + 1))
		[ $tries -lt 60 ] || exit 1
	done
done
sleep 10
