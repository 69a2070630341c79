#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# How many lines of C and C++ (simulator, library with its programs, reference model, lockstep,
# firmware's handlers) and of the core's RTL are executed by tests: build/coverage/table.md, and
# docs/coverage.md, which says what is counted. Fails when one of both is below 90 %.
set -euo pipefail
cd "$(dirname "$0")/.."
JOBS=${JOBS:-$(nproc)}
PYTHON=${PYTHON:-/usr/bin/python3}
OUT=build/coverage
COUNTS=build/coverage-counts # of guests
# shellcheck source=tools/selected_tests.sh
. tools/selected_tests.sh

# Whole nodes with one core of each kind, so that both are counted by one run.
WANTED='_test_rtl_ref$ _test_ref_rtl$ ^push_test_lockstep$ ^hostile_process_test_lockstep$ ^vfio_user_'
WANTED+=' ^verbs_lite_ ^fuzz_ ^firmware_ ^hostile_driver_test_(rtl|ref)$ ^trace_test_(rtl|ref)$ ^processes_'
WANTED+=' ^many_nodes_test_ref$ ^long_messages_test_ref$ ^combining_test$ ^gdb_test$ ^retire_trace_test$ ^lockstep_ledger_test$'
WANTED+=' ^pci_config_space_test$ ^testbed_rtl_test$ ^sim_models_test$ ^sim_control_test$ ^rnic_module_test$ ^exrnic_sim_test$ ^time_sync_test$'
UNWANTED='_install_test$ ^operations_test_ref_rtl$ ^peers_test_ref_rtl$' # minutes, for little more

# What runs in guests, or below them.
PROGRAMS=(exrnic-guest-test exrnic-collective exrnic-bench exrnic-clock exrnic-pingpong)

LINE='--node {node} --oob /dev/ttyS1'

# A guest has no disk: its console tells what its programs have counted.
STRIP=$(tr -cd / <<<"$PWD/$OUT" | wc -c)
BEFORE="export GCOV_PREFIX=/counts GCOV_PREFIX_STRIP=$STRIP"
# shellcheck disable=SC2016 # the guest's shell expands them
BEHIND='status=$?; cd /counts && tar -c . | gzip | base64 | sed s/^/@counts:/; exit $status'

# in_guests NAME COMMAND ARGUMENT...: two guests run it; what they count is added to the host's.
in_guests() {
  local name=$1 command=$2 log
  shift 2
  echo "coverage: guests, $name"
  "$PYTHON" sim/launch --sim $OUT/sim/exrnic-sim --plugin $OUT/sim/time_sync/libexrnic-time.so \
    --initramfs $OUT/initramfs.cpio --directory "$OUT/run/$name" --run-seconds 1800 "$@" \
    run "$BEFORE; $command; $BEHIND" >"$OUT/$name.log" || return
  for log in "$OUT/run/$name"/guest?.log; do
    rm -rf $COUNTS
    mkdir -p $COUNTS/guest
    sed -n 's/^@counts://p' "$log" | base64 -di | tar -xz -C $COUNTS/guest &&
      gcov-tool merge $OUT $COUNTS/guest -o $COUNTS/sum 2>/dev/null &&
      cp -r $COUNTS/sum/. $OUT || return
  done
}

build_guests() {
  cmake --build $OUT -j "$JOBS" --target exrnic-sim exrnic-time firmware "${PROGRAMS[@]}" &&
    "$PYTHON" sim/guest/make_initramfs.py --output $OUT/initramfs.cpio --modules build/kmod/kmod \
      --firmware $OUT/firmware/firmware.bin "${PROGRAMS[@]/#/$OUT/libverbs-lite/}"
}

run_tests() {
  build_and_test $OUT "$WANTED" "$UNWANTED" -DEXRNIC_COVERAGE=ON && build_guests &&
    in_guests verbs "exrnic-guest-test $LINE --deaths 8 && mount -t debugfs debugfs /sys/kernel/debug && exrnic-bench $LINE --seconds 0.1 --max-size 1M" \
      --sim-argument=--core --sim-argument=ref &&
    in_guests time "exrnic-clock && exrnic-pingpong $LINE --sizes 8 --rounds 16" \
      --time sync --trace --sim-argument=--core --sim-argument=ref &&
    in_guests firmware "exrnic-collective --node {node} --rounds 1"
}

# Counts of an earlier run are no longer of this program.
find $OUT -name '*.gcda' -delete 2>/dev/null || true
rm -rf $OUT/rtl
mkdir -p $OUT/rtl
export EXRNIC_RTL_COVERAGE=$PWD/$OUT/rtl

run_tests || {
  echo "coverage: FAIL: a test failed"
  exit 1
}
gcovr --root . --object-directory $OUT --filter 'sim/' --filter 'libverbs-lite/(src|examples|bench)/' \
  --filter 'rtl-model/(ref|lockstep|systemc)/' --filter 'firmware/(app|hal)/' --filter 'tools/exrnicctl/' \
  --exclude '.*test.*' -j "$JOBS" --json-summary $OUT/cpp.json >/dev/null
verilator_coverage --write-info $OUT/rtl.info $OUT/rtl/*.dat >/dev/null
"$PYTHON" tools/coverage_table.py $OUT/cpp.json $OUT/rtl.info $OUT/table.md docs/coverage.md
