#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Checks that need no run: tools/lint/lint.sh [--fix] [CHECK...]; without names, all of them.
# --fix lets "format" rewrite the files. Uses KDIR and PYTHON from the environment.
set -euo pipefail
cd "$(dirname "$0")/../.."

SELF=tools/lint/lint.sh
CHECKS=(format generated rtl cpp kmod floors shell licence paths names circles memories ports)
OUT=build/lint
JOBS=$(nproc)
PYTHON=${PYTHON:-/usr/bin/python3}
FIX=0

# files PATTERN...: tracked files, as git's patterns select them. Generated ones are not laid out
# or judged by hand-written rules.
files() {
  git ls-files -- "$@" ':!rtl-model/gen'
}

# Kernel code, and that of rdma-core, follows the kernel's layout, which clang-format 19 does not know.
check_format() {
  local mode=(--dry-run -Werror)
  ((FIX == 0)) || mode=(-i)
  files '*.cc' '*.h' '*.c' '*.java' ':!kmod' ':!provider' | xargs -r clang-format-19 "${mode[@]}"
}

check_generated() {
  "$PYTHON" tools/hwgen/hwgen.py --check
}

check_rtl() {
  verilator --lint-only -Wall --top-module exrnic_core -f rtl-model/rtl.f
  verilator --lint-only -Wall --assert -DEXRNIC_ASSERT -Wno-SYNCASYNCNET --top-module exrnic_core \
    -f rtl-model/rtl.f
  # Tables of other sizes: each has its own.
  verilator --lint-only -Wall --top-module exrnic_core -DEXRNIC_N_QP=512 -DEXRNIC_N_CQ=256 -DEXRNIC_N_SRQ=64 \
    -DEXRNIC_N_STAG=1024 -DEXRNIC_N_READS=2048 -DEXRNIC_N_WINDOW=32 -DEXRNIC_N_NODE=16 -f rtl-model/rtl.f
  verilator --lint-only -Wall --top-module exrnic_core -DEXRNIC_N_QP=64 -DEXRNIC_N_SRQ=64 \
    -DEXRNIC_N_NODE=1024 -f rtl-model/rtl.f
  # Of a record not every block of a PEB uses all.
  verilator --lint-only -Wall -Wno-UNUSEDSIGNAL --top-module exrnic_peb -f rtl-model/peb/peb.f rtl-model/peb/exrnic_peb.sv
  verilator --lint-only -Wall -Wno-UNUSEDSIGNAL --assert -DEXRNIC_ASSERT -Wno-SYNCASYNCNET --top-module exrnic_peb \
    -DEXRNIC_N_PEB_PORT=8 -DEXRNIC_DATA_W=256 -f rtl-model/peb/peb.f rtl-model/peb/exrnic_peb.sv
}

# Not the tests: cppcheck takes Catch2's macros for syntax errors. It remembers what it has said of a file.
check_cpp() {
  mkdir -p "$OUT/cppcheck"
  files '*.cc' '*.c' ':!kmod' ':!*_test.cc' | xargs -r cppcheck --quiet --error-exitcode=1 -j "$JOBS" \
    --cppcheck-build-dir="$OUT/cppcheck" --enable=warning,performance,portability --inline-suppr --std=c++17 \
    --suppress=missingInclude --suppress=unusedFunction \
    --suppress=normalCheckLevelMaxBranches -I . -I rtl-model/gen
}

# What is an array stands behind a memory of rtl-model/memories, or waits for that.
check_memories() {
  "$PYTHON" tools/rtl_report/rtl_report.py --check
}

# Warnings do not stop kbuild; here any line that names one does. Built apart from the real
# module, because what is up to date is not checked again: a failed check starts anew.
check_kmod() {
  local tree=$OUT/kmod log=$OUT/kmod.log
  if ! tools/kbuild.sh --any-ntb "$tree" W=1 C=1 CHECK=sparse EXRNIC_TESTS=m >"$log" 2>&1 ||
    grep -E 'warning:|error:' "$log" >/dev/null; then
    cat "$log"
    rm -rf "$tree"
    return 1
  fi
}

check_floors() {
  "$PYTHON" tools/lint/floors.py
}

# shell_scripts: by first line, since not all have a suffix.
shell_scripts() {
  git ls-files -z | xargs -0 grep -lE -m 1 '^#!.*(\bsh|bash)( |$)|^# shellcheck shell=' || true
}

check_shell() {
  local script
  while read -r script; do
    case $(head -n 1 "$script") in
      *busybox*) shellcheck -s dash "$script" ;;
      *) shellcheck -x "$script" ;;
    esac || return 1
  done < <(shell_scripts)
}

# Every file whose format has comments says its licence in its first lines.
check_licence() {
  local file wanted status=0
  while read -r file; do
    wanted='BSD-2-Clause'
    [[ $file != kmod/* ]] || wanted='GPL-2.0-only OR BSD-2-Clause'
    [[ $file != provider/* ]] || wanted='GPL-2.0 OR Linux-OpenIB'
    [[ $file != kmod/uapi/* ]] || wanted='\(GPL-2.0-only WITH Linux-syscall-note\) OR BSD-2-Clause'
    if ! sed 3q "$file" | grep -E "SPDX-License-Identifier: \(?$wanted\)?( |\*|$)" >/dev/null; then
      echo "$file: no line \"SPDX-License-Identifier: $wanted\" among its first three"
      status=1
    fi
  done < <(git ls-files -- ':!LICENSES' ':!*.md' ':!*.json' ':!*.pcap' ':!*.png')
  return "$status"
}

# The clone has to work anywhere: no path of one machine, no host of one mirror.
check_paths() {
  local found
  local status=0
  found=$(git grep -nIE -e '(^|[^[:alnum:]_.})/-])/(work|tmp|root|home)/[[:alnum:]_.]' \
    -e 'debian[.](org|net)|[.][.]/shared\b' -- ':!LICENSES') || status=$?
  ((status != 1)) || return 0 # nothing found; all else is git's own trouble
  printf '%s\n' "$found"
  return 1
}

# What comments and READMEs call a function is one.
check_names() {
  files '*.c' '*.h' '*.cc' '*.hpp' '*.sv' '*.md' | xargs -r "$PYTHON" tools/lint/named_functions.py
}

# Includes and imports go one way. Includes of the driver: check_floors.
check_circles() {
  files '*.c' '*.h' '*.cc' '*.hpp' '*.py' '*.java' ':!kmod/*.[ch]' | xargs -r "$PYTHON" tools/lint/circles.py
}

# What belongs together is an interface.
check_ports() {
  files 'rtl-model/*.sv' | xargs -r "$PYTHON" tools/lint/ports.py
}

# run_check CHECK: all of them run at the same time, so each says what it has to say at once.
run_check() {
  if "check_$1" >"$OUT/$1.txt" 2>&1; then
    echo "lint: $1 ok"
  else
    printf '%s\n' "lint: $1 FAILED" "$(sed 's/^/  /' "$OUT/$1.txt")"
    return 1
  fi
}

main() {
  if [[ ${1:-} == --fix ]]; then
    FIX=1
    shift
  fi
  (($# > 0)) || set -- "${CHECKS[@]}"
  git ls-files --error-unmatch "$SELF" >/dev/null || {
    echo "lint: git does not say which files there are: nothing was checked" >&2
    exit 1
  }
  mkdir -p "$OUT"
  local check pid failed=()
  local -A check_of=()
  for check in "$@"; do
    run_check "$check" &
    check_of[$!]=$check
  done
  for pid in "${!check_of[@]}"; do
    wait "$pid" || failed+=("${check_of[$pid]}")
  done
  ((${#failed[@]} == 0)) || {
    echo "lint: failed: ${failed[*]} (again: tools/lint/lint.sh ${failed[*]})" >&2
    exit 1
  }
}

main "$@"
