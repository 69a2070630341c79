#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds the kernel module against a kernel that checks itself (tools/setup/debug_kernel.sh), and runs
# the guests' tests on it. Any report in the console of a guest is a failure, or a leak that kmemleak tells
# of at the end. Fault injection fails each allocation of probe, of open and of each command that makes
# something once (kmod/test/fault_test.c).
#
#   tools/debug_kernel_test.sh [RUN...]    default: all (ALL)
#
#   GUEST_CONTENTS=    arguments of make_initramfs.py; make debug-kernel-test gives them
#   SOAK_MS=           milliseconds of each random test (3000)
set -euo pipefail
cd "$(dirname "$0")/.."

OUT=build/debug-kernel
ALL=(failing-allocations kmod-test verbs-test push ethernet ib programs ntb-clients)

for part in common apt kernel debug_kernel; do
  # shellcheck source=/dev/null
  . "tools/setup/$part.sh"
done

# Of a guest: before its command, and behind it. What kmemleak finds first can be a pointer that was
# on its way. The kernel's lock checker ends itself with its first report. Allocations fail only where
# debugfs is mounted, in a run of its own: one that fails in the DMA debugger is its end.
MOUNT='mount -t debugfs debugfs /sys/kernel/debug'
BEFORE="$MOUNT && echo clear > /sys/kernel/debug/kmemleak"
# Each interrupt vector is asked for by the same lines; failing all of them would take an hour.
FEW='rmmod exrnic_cdev exrnic && insmod /lib/exrnic.ko max_vectors=2 && insmod /lib/exrnic_cdev.ko'
# What is a report is looked for at the end, in all that was said.
KERNEL_ARGUMENTS='page_poison=1 panic_on_warn=0'
IB_IN='insmod /lib/exrnic_ib.ko'
IB_OUT='rmmod exrnic_ib'
UNMOUNT='umount /sys/kernel/debug'
SCAN='for i in 1 2; do echo scan > /sys/kernel/debug/kmemleak; sleep 6; done'
NO_LEAK='{ cat /sys/kernel/debug/kmemleak; ! grep -q . /sys/kernel/debug/kmemleak; }'
# Linux's ntb_transport forgets entries that its link's work has made for queues which no client has then, by kzalloc_node().
# shellcheck disable=SC2016 # the guest's shell expands it
NO_LEAK_BUT_THE_TRANSPORTS='{ [ $(grep -c ^unreferenced /sys/kernel/debug/kmemleak) = $(grep -c kmalloc_node_trace'
NO_LEAK_BUT_THE_TRANSPORTS+=' /sys/kernel/debug/kmemleak) ] || { cat /sys/kernel/debug/kmemleak; false; }; }'
LOCKS_CHECKED='grep -q debug_locks:.*1 /proc/lockdep_stats'

# What a report begins with; and what is none of ours. Linux warns of a file in /proc/irq that it lacked
# the memory for, when it removes it; and of memory that is mapped more than seven times, as it cannot
# count further: a process may have as many regions of one buffer as it likes.
NO_REPORT='WARNING: .* at fs/proc/generic.c:.* remove_proc_entry|WARNING: .* at kernel/dma/debug.c:.* add_dma_entry'
NO_REPORT+="|DMA-API: exrnic .* overlapping mappings aren't supported"
# What the distribution's modprobe does not find is built in.
NO_REPORT+='|modprobe: WARNING: Module .* not found'
REPORTS='BUG:|WARNING:|INFO: |KASAN|UBSAN|DMA-API: exrnic|unreferenced object'

# wanted NAME: whether it is to be run.
wanted() {
  [[ " ${RUNS[*]} " == *" $1 "* ]] || return 1
  echo "debug kernel: $1"
}

# no_report NAME: of the kernels of its guests.
no_report() {
  if grep -E "$REPORTS" "$OUT/$1"/guest*.log | grep -vE "$NO_REPORT" >&2; then
    die "$1: the kernel has reported what is above; see $OUT/$1"
  fi
}

# in_guests NAME COMMAND ARGUMENT...: runs it in guests of the debug kernel; its log is kept.
in_guests() {
  local name=$1 command=$2
  shift 2
  wanted "$name" || return 0
  if ! "$PYTHON" sim/launch --kernel "$FOUND_DEBUG_KERNEL" --initramfs "$OUT/initramfs.cpio" \
    --kernel-arguments "$KERNEL_ARGUMENTS" --memory 1G --directory "$OUT/$name" --boot-seconds 300 \
    --run-seconds 3000 "$@" run "$BEFORE && $command && { $SCAN; $NO_LEAK && $LOCKS_CHECKED; }" >"$OUT/$name.log" 2>&1; then
    tail -n 60 "$OUT/$name.log" >&2
    die "$name: see $OUT/$name and $OUT/$name.log"
  fi
  no_report "$name"
}

# Of the distribution, whose modules are another kernel's: what mounts it is built in. The driver is unloaded under some.
PROGRAMS=(ibv_devinfo ibv_rc_pingpong "ibv_ud_pingpong -s 1024" "ibv_srq_pingpong -q 4" "ib_write_lat -R" rping ucmatose
  "perftest and MPI: unload")

programs() {
  wanted programs || return 0
  mkdir -p "$OUT/world/mount"
  ln -sf "$PWD/$DEPS/world/root.squashfs" "$OUT/world/"
  if ! "$PYTHON" tests/world/world_test.py --directory "$OUT/programs" --launch-option="--kernel=$FOUND_DEBUG_KERNEL" \
    --launch-option="--initramfs=$OUT/initramfs.cpio" --launch-option="--world-folder=$OUT/world" \
    --launch-option="--kernel-arguments=$KERNEL_ARGUMENTS" --launch-option="--boot-seconds=300" --times 10 \
    "${PROGRAMS[@]}" >"$OUT/programs.log" 2>&1; then
    tail -n 60 "$OUT/programs.log" >&2
    die "programs: see $OUT/programs and $OUT/programs.log"
  fi
  no_report programs
}

main() {
  local run
  for run in "${RUNS[@]}"; do
    [[ " ${ALL[*]} " == *" $run "* ]] || die "there is no run \"$run\"; take of: ${ALL[*]}"
  done
  find_debian
  mkdir -p "$DEPS" "$OUT"
  {
    flock 9
    ensure_debug_kernel
  } 9>"$DEPS/debug-kernel.lock"
  # With Linux's NTB, which is checked likewise.
  KDIR=$FOUND_DEBUG_KDIR NTB_VERSION=$FOUND_DEBUG_VERSION tools/ntb_clients.sh "$OUT" EXRNIC_TESTS=m
  "$PYTHON" sim/guest/make_initramfs.py --output "$OUT/initramfs.cpio" \
    --modules "$OUT/kmod" "${CONTENTS[@]}"
  in_guests failing-allocations "$FEW && exrnic-kmod-test -l 10 'without memory'" --guests 1
  in_guests kmod-test "$UNMOUNT && exrnic-kmod-test -l 10 -t ${SOAK_MS:-3000} && $MOUNT" --guests 1
  # Software is what is tried: the reference model takes less time.
  in_guests verbs-test "exrnic-guest-test --node {node} --oob /dev/ttyS1" \
    --sim-argument=--core --sim-argument=ref
  in_guests push "exrnic-push --node {node} --oob /dev/ttyS1"
  in_guests ethernet "ethernet.sh {node} talk && ethernet.sh {node} reload" --ethernet \
    --sim-argument=--core --sim-argument=ref
  # The RDMA device: users within the kernel, fuzzed commands, and the driver that goes and comes.
  in_guests ib "$IB_IN && exrnic-kmod-test -l 10 -t ${SOAK_MS:-3000} verbs: && $IB_OUT && $IB_IN && $IB_OUT" --ethernet \
    --sim-argument=--core --sim-argument=ref
  programs
  NO_LEAK=$NO_LEAK_BUT_THE_TRANSPORTS in_guests ntb-clients "ntb.sh {node}" --put "$OUT/modules:/ntb" --put tests/guest/ntb.sh:/bin/ntb.sh --put tests/guest/meet.sh:/bin/meet.sh \
    --sim-argument=--core --sim-argument=ref
  echo "debug kernel: no report"
}

PYTHON=${PYTHON:-/usr/bin/python3}
read -ra CONTENTS <<<"${GUEST_CONTENTS:?what is in the image of a guest: use make debug-kernel-test}"
RUNS=("${@:-${ALL[@]}}")
main
