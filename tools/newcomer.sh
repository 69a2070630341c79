#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What somebody meets who has a bare Debian and a clone, and types what README.md says: a root with
# nothing but apt, make and git is made by mmdebstrap, the commit that is checked out is cloned into
# it, and make runs there, one target after the other. Each one's time is printed; the first that
# fails is the end, and its root stays in build/newcomer/SUITE. Nothing of the system changes but that
# mmdebstrap is installed.
#
#   tools/newcomer.sh SUITE [TARGET...]    SUITE: bookworm, trixie, sid; targets: run test
#
#   MIRROR=    the Debian archive to take it from, if not the system's
#   JOBS=      as for make
set -euo pipefail
cd "$(dirname "$0")/.."

SUITES=(bookworm trixie sid)
INSIDE=/exrnic # the clone, in the new root

for part in common apt bare_root; do
  # shellcheck source=/dev/null
  . "tools/setup/$part.sh"
done

# timed SUITE ROOT TARGET: a line of the table. The log tells more.
timed() {
  local log=$2.$3.log start=$SECONDS took status=0
  inside "$2" "cd $INSIDE && make $3 JOBS=${JOBS:-$(nproc)}" >"$log" 2>&1 || status=$?
  took=$((SECONDS - start))
  printf '%-9s make %-12s %3d min %02d s  %s\n' "$1" "$3" $((took / 60)) $((took % 60)) \
    "$( ((status == 0)) && echo ok || echo "FAILED, see $log and $2$INSIDE")"
  ((status == 0)) || {
    tail -n 30 "$log" >&2
    exit 1
  }
}

main() {
  local suite=${1:-} root target
  [[ " ${SUITES[*]} " == *" $suite "* ]] ||
    die "SUITE=$suite: take one of ${SUITES[*]}, as in: make newcomer SUITE=trixie"
  shift
  (($# > 0)) || set -- run test
  ((EUID == 0)) || die "a new root needs root: sudo make newcomer SUITE=$suite"
  tools/setup/extra.sh mmdebstrap
  find_debian
  root=$PWD/build/newcomer/$suite
  make_root "$suite" "$root" make,git,ca-certificates
  git clone --quiet --no-local . "$root$INSIDE"
  for target in "$@"; do timed "$suite" "$root" "$target"; done
  rm -rf "$root"
}

main "$@"
