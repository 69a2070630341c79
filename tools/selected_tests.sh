# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds and runs some of the tests in a build tree of its own. Sourced, never run.

# build_and_test TREE WANTED UNWANTED OPTION...: the tests whose name fits one of the first regular
# expressions and none of the second, both separated by blanks, and only what they run. OPTION: of
# cmake. False if anything fails, or an expression fits no test: one of another name would be missed.
build_and_test() {
  local tree=$1 wanted=${2// /|} unwanted=${3// /|} programs expressions
  read -ra expressions <<<"$2 $3"
  shift 3
  cmake -S . -B "$tree" -G Ninja "$@" >/dev/null || return
  each_fits_a_test "$tree" "${expressions[@]}" || return
  mapfile -t programs < <(programs_of_tests "$tree" "$wanted" "$unwanted")
  cmake --build "$tree" -j "$JOBS" --target "${programs[@]}" || return
  ctest --test-dir "$tree" --output-on-failure -j "$JOBS" --no-tests=error -R "$wanted" -E "$unwanted"
}

# each_fits_a_test TREE EXPRESSION...
each_fits_a_test() {
  local tree=$1 names expression
  shift
  names=$(ctest --test-dir "$tree" -N | sed -nE 's/^ *Test +#[0-9]+: //p') || return
  for expression in "$@"; do
    grep -qE -e "$expression" <<<"$names" || {
      echo "there is no test whose name fits $expression" >&2
      return 1
    }
  done
}

# programs_of_tests TREE WANTED UNWANTED: what is of the tree in the commands of these tests, with
# the names that Ninja has for it.
programs_of_tests() {
  find "$1" -name CTestTestfile.cmake -exec sed -nE 's/^add_test\(\[=\[([^]]*)\]=\] /\1 /p' {} + |
    awk -v wanted="$2" -v unwanted="$3" '$1 ~ wanted && $1 !~ unwanted' |
    grep -oE "\"$PWD/$1/[^\"]*\"" | tr -d '"' | sed "s|^$PWD/$1/||" | sort -u
}
