#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Tests of simulator, reference model, library and firmware's handlers under ASan and UBSan, and of
# what has threads under TSan; any report is a failure. What Verilator generates is taken from
# build/host as it is: its face in C++ is watched, its inside is not.
#
#   tools/sanitize.sh [address|thread]    both without a name
set -euo pipefail
cd "$(dirname "$0")/.."
JOBS=${JOBS:-$(nproc)}
# shellcheck source=tools/selected_tests.sh
. tools/selected_tests.sh

# Whole nodes are reference models, and two tests in lockstep have the RTL beside them.
ADDRESS='_test_ref$ ^push_test_lockstep$ ^hostile_process_test_lockstep$ ^vfio_user_ ^verbs_lite_ ^fuzz_'
ADDRESS+=' ^processes_.*_on_ref_ ^firmware_app_test$ ^gdb_test$ ^retire_trace_test$ ^lockstep_ledger_test$ ^pci_config_space_test$'
ADDRESS+=' ^protection_oracle_test$ ^testbed_rtl_test$ ^sim_models_test$ ^sim_control_test$ ^rnic_module_test$ ^exrnic_sim_test$ ^time_sync_test$'
THREAD='^verbs_lite_test$ ^verbs_lite_sim_test$ ^verbs_lite_guest_checks_test$ ^vfio_user_dma_map_test$'
THREAD+=' ^time_sync_test$ ^threads_test_ ^sim_models_test$ ^processes_push_on_'
NEITHER='_install_test$ ^long_messages_test ^many_nodes_test' # of other programs; minutes each

wanted=${1:-all}
[[ $wanted =~ ^(all|address|thread)$ ]] || {
  echo "sanitize: there is no \"$wanted\"; take address or thread, or nothing for both" >&2
  exit 2
}
# Reports are files, as nobody reads what a child of a test says when it is killed.
REPORTS=$PWD/build/sanitize
rm -rf "$REPORTS"
mkdir -p "$REPORTS"
export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:log_path=$REPORTS/asan
export LSAN_OPTIONS=suppressions=$PWD/tools/lsan.supp:print_suppressions=0
export UBSAN_OPTIONS=print_stacktrace=1:log_path=$REPORTS/ubsan
export TSAN_OPTIONS=second_deadlock_stack=1:suppressions=$PWD/tools/tsan.supp:log_path=$REPORTS/tsan

failed=()
models=-DEXRNIC_MODELS=$PWD/build/host
[[ $wanted == thread ]] ||
  build_and_test build/asan "$ADDRESS" "$NEITHER" "$models" -DEXRNIC_SANITIZE=address,undefined ||
  failed+=("under ASan and UBSan")
[[ $wanted == address ]] ||
  build_and_test build/tsan "$THREAD" "$NEITHER" "$models" -DEXRNIC_SANITIZE=thread ||
  failed+=("under TSan")
reports=$(find "$REPORTS" -type f | wc -l)
((reports == 0)) || {
  head -n 60 "$REPORTS"/*
  failed+=("$reports reports in build/sanitize")
}
((${#failed[@]} == 0)) || {
  printf 'sanitize: FAIL:%s\n' "$(printf ' %s;' "${failed[@]}")"
  exit 1
}
echo "sanitize: PASS: $wanted, no report"
