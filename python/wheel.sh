#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds the wheel: python/wheel.sh FOLDER. Of the package, the launcher, and the release that CMakeLists.txt names.
# Nothing is fetched: it takes the setuptools that are installed. Uses PYTHON from the environment.
set -euo pipefail
cd "$(dirname "$0")/.."

main() {
  local out tree
  mkdir -p "$1"
  out=$(realpath "$1")
  tree=$out/tree
  rm -rf "$out"
  mkdir -p "$tree"
  cp -r python/pyproject.toml python/exrnic "$tree"
  find "$tree" -name __pycache__ -prune -exec rm -r {} +
  mkdir "$tree/exrnic/launch" "$tree/exrnic/guest"
  find sim/launch -name '*.py' ! -name '*_test.py' ! -name fakes.py -exec cp {} "$tree/exrnic/launch" \;
  cp sim/guest/newc.py sim/guest/extras.sh "$tree/exrnic/guest"
  sed -n 's/^project(exrnic VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt >"$tree/VERSION"
  (cd "$tree" && "${PYTHON:-/usr/bin/python3}" -c 'from setuptools import build_meta; build_meta.build_wheel("..")' \
    >../build.log 2>&1) || {
    tail -n 20 "$out/build.log" >&2
    return 1
  }
  rm -rf "$tree"
  ls "$out"/*.whl
}

main "$@"
