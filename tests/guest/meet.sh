#!/bin/busybox sh
# SPDX-License-Identifier: BSD-2-Clause
# Read by others, with $node, $other, and fail(): two guests wait for each other, by their second serial ports.
# shellcheck shell=ash disable=SC2154,SC3045 # of who reads it, and of busybox
stty -F /dev/ttyS1 raw -echo
exec 8<>/dev/ttyS1
step=0

# Both guests get here. Each says so until it has heard the other.
meet() {
	step=$((step + 1))
	tries=0
	until [ "${told:-0}" -ge $step ]; do
		echo "$node $step" >&8
		tries=$((tries + 1))
		[ $tries -lt 120 ] || fail "the other guest does not come to step $step"
		if read -r -t 1 who what <&8 && [ "$who" = "$other" ]; then told=$what; fi
	done
	echo "$node $step" >&8
}
