#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Fuzzing that is guided by coverage: the targets of tests/fuzz under libFuzzer, with ASan and UBSan.
# Inputs that reach something new stay in build/fuzz/corpus/TARGET, where the next run starts; one
# that finds something is in build/fuzz/found/TARGET, and repeated by
#
#   build/fuzz/tests/fuzz/exrnic-fuzz TARGET FILE
#
#   tools/fuzz.sh SECONDS [TARGET...]    so long for each target; all without a name
set -euo pipefail
cd "$(dirname "$0")/.."
OUT=build/fuzz
LONGEST_INPUT=8192
LONGEST_RUN=60 # seconds of one input

seconds=${1:?seconds for each target}
shift
[[ $seconds =~ ^[1-9][0-9]*$ ]] || {
  echo "fuzz: $seconds seconds: give a whole number, 1 or more" >&2
  exit 2
}
known=(frames-ref vfio-user connection control gdb profile topology)
targets=("$@")
((${#targets[@]} > 0)) || targets=("${known[@]}")
for target in "${targets[@]}"; do
  [[ " ${known[*]} " == *" $target "* ]] || {
    echo "fuzz: there is no target \"$target\"; there are ${known[*]}" >&2
    exit 2
  }
done

cmake -S . -B $OUT -G Ninja -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
  -DEXRNIC_SANITIZE=address,undefined -DEXRNIC_LIBFUZZER=ON -DEXRNIC_TOGETHER=OFF \
  -DEXRNIC_MODELS="$PWD/build/host" >/dev/null
cmake --build $OUT -j "${JOBS:-$(nproc)}" --target exrnic-fuzz exrnic-libfuzzer

# fuzz TARGET: false if it found something.
fuzz() {
  local target=$1 corpus=$OUT/corpus/$1 found=$OUT/found/$1 log=$OUT/log/$1.txt past=() inputs
  mkdir -p "$corpus" "$found" "$OUT/log"
  $OUT/tests/fuzz/exrnic-fuzz "$target" --write-seeds "$corpus"
  [[ ! -d tests/fuzz/found/$target ]] || past=("tests/fuzz/found/$target")
  if ! EXRNIC_FUZZ_TARGET=$target $OUT/tests/fuzz/exrnic-libfuzzer -max_total_time="$seconds" \
    -max_len=$LONGEST_INPUT -timeout=$LONGEST_RUN -artifact_prefix="$found/" -print_final_stats=1 \
    "$corpus" "${past[@]}" >"$log" 2>&1; then
    tail -n 40 "$log"
    sed -n 's|^artifact_prefix.*Test unit written to \(.*\)|fuzz: '"$target"': found: \1|p' "$log"
    return 1
  fi
  inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  ((inputs > 0)) || {
    echo "fuzz: $target: no input was run; see $log"
    return 1
  }
  echo "fuzz: $target: $inputs inputs," \
    "$(sed -n 's/.*cov: \([0-9]*\).*/\1/p' "$log" | tail -n 1) edges reached," \
    "$(find "$corpus" -type f | wc -l) inputs kept: nothing found"
}

failed=()
for target in "${targets[@]}"; do
  fuzz "$target" || failed+=("$target")
done
((${#failed[@]} == 0)) || {
  echo "fuzz: FAIL: ${failed[*]}"
  exit 1
}
echo "fuzz: PASS: ${targets[*]}, $seconds s each"
