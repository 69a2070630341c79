#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Two guests suspend to memory, under the compressed image of their kernel: when a guest wakes up, QEMU
# writes the other image into its memory anew.
set -euo pipefail
image=$(dirname "$KERNEL")/vmlinuz
[[ -f $image ]] || image=$KERNEL
exec /usr/bin/python3 sim/launch --directory build/run/guest_suspension_test --run-seconds 120 \
  --kernel "$image" --sim-argument=--core --sim-argument=ref run "exrnic-kmod-test suspension"
