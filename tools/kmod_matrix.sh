#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds the kernel modules, without a warning, against the kernel of each Debian suite, and tests them
# in guests that run that kernel, with programs of this project and with those of that suite's Debian ("make
# world-test"). For the system's own kernel DKMS builds them, too. The kernels stay in build/deps/kernels, and the
# Debians in build/deps/world-SUITE; remove one, to have the newest again.
#
#   tools/kmod_matrix.sh [SUITE...]    default: all
#   NAMES=                             only these programs of those Debians
#   GUEST_CONTENTS=                    arguments of make_initramfs.py; make kmod-matrix gives them
#   MIRROR=                            the Debian archive to take them from
set -euo pipefail
cd "$(dirname "$0")/.."

# Debian suites, and whether their kernel is booted too: one of each series that Debian releases
# with, and the newest there is.
SUITES=(bookworm bookworm-backports trixie trixie-backports)
declare -A HOW=([bookworm]=boot [bookworm-backports]=build [trixie]=boot [trixie-backports]=boot)
OUT=build/matrix

for part in common apt kernel foreign_kernel; do
  # shellcheck source=/dev/null
  . "tools/setup/$part.sh"
done

# build_module SUITE: sets RELEASE. What the compiler or kbuild says is an error.
build_module() {
  local root kdir out=$OUT/$1
  root=$(realpath "$FOREIGN_KERNELS_DIR/$1")
  kdir=$(echo "$root/usr/src/linux-headers-"*-cloud-amd64)
  RELEASE=$(headers_release "$kdir")
  rm -rf "$out"
  mkdir -p "$out"
  if ! KDIR=$kdir PATH=$root/usr/bin:$PATH tools/kbuild.sh --any-ntb "$out" EXRNIC_TESTS=m >"$out/build.log" 2>&1 ||
    [[ -s $out/build.log ]]; then
    cat "$out/build.log" >&2
    return 1
  fi
}

# image SUITE: the initramfs of a guest of that kernel.
image() {
  local out=$OUT/$1
  "$PYTHON" sim/guest/make_initramfs.py --output "$out/initramfs.cpio" --modules "$out/kmod" "${CONTENTS[@]}"
}

# logged LOG COMMAND...: its output goes there, and is shown if it fails.
logged() {
  local log=$1
  shift
  "$@" >"$log" 2>&1 || {
    cat "$log" >&2
    return 1
  }
}

# in_guests SUITE NAME ARGUMENT... : what a launch does on that kernel; its log is kept.
# Limits are for machines that do something else, too.
in_guests() {
  local suite=$1 name=$2 out=$OUT/$1
  shift 2
  logged "$out/$name.log" "$PYTHON" sim/launch --kernel "$(image_in "$FOREIGN_KERNELS_DIR/$suite")" \
    --initramfs "$out/initramfs.cpio" --directory "$out/$name" --boot-seconds 180 --run-seconds 900 "$@"
}

# programs_of SUITE: those of that Debian, on that kernel.
programs_of() {
  local root=$FOREIGN_KERNELS_DIR/$1 out=$OUT/$1 world=$DEPS/world-$1 modules
  modules=$(realpath "$root/usr/lib/modules/"*-cloud-amd64)
  logged "$out/guest_world.log" env SUITE="${1%-backports}" MODULES="$modules" WORLD="$world" \
    tools/guest_world.sh || return 1
  # shellcheck disable=SC2086 # a list of words
  logged "$out/world.log" "$PYTHON" tests/world/world_test.py --directory "$out/world" \
    --launch-option="--kernel=$(image_in "$root")" --launch-option="--initramfs=$out/initramfs.cpio" \
    --launch-option="--world-folder=$world" --times 3 ${NAMES:-}
}

# by_dkms: the sources that are installed for it, built for the system's headers.
by_dkms() {
  local root=$OUT/dkms name
  rm -rf "$root"
  mkdir -p "$root/tree"
  logged "$OUT/dkms.log" make -s -C kmod dkms_install DESTDIR="$PWD/$root" || return 1
  name=$(basename "$root/usr/src/"*)
  # shellcheck disable=SC2153 # of the environment
  logged "$OUT/dkms.log" dkms build --dkmstree "$PWD/$root/tree" --sourcetree "$PWD/$root/usr/src" \
    -m exrnic -v "${name#*-}" -k "$(headers_release "$KDIR")" --kernelsourcedir "$KDIR"
}

# cell NAME COMMAND... : runs it, and prints how that went as a cell of the table.
cell() {
  local name=$1
  shift
  if "$@"; then
    printf '  %s: ok' "$name"
  else
    printf '  %s: FAILED' "$name"
    FAILED=1
  fi
}

# row SUITE HOW: a line of the table.
row() {
  RELEASE=
  if build_module "$1"; then
    printf '%-19s %-27s  build: ok' "$1" "$RELEASE"
  else
    printf '%-19s %-27s  build: FAILED\n' "$1" "$RELEASE"
    FAILED=1
    return
  fi
  if [[ $2 == boot ]]; then
    image "$1"
    # The guests share the tests.
    cell exrnic-kmod-test in_guests "$1" kmod-test run "exrnic-kmod-test -l 3 -p {node}/2"
    cell push in_guests "$1" push push
    cell programs programs_of "$1"
  fi
  echo
}

# fetch SUITE...: one after the other, and not beside a set-up.
fetch() {
  # shellcheck disable=SC2034 # read by say
  local STEP=0 STEPS=$# suite
  mkdir -p "$DEPS"
  flock 9
  for suite in "$@"; do
    STEP=$((STEP + 1))
    ensure_foreign_kernel "$suite"
  done
} 9>"$DEPS/lock"

main() {
  local suite
  (($# > 0)) || set -- "${SUITES[@]}"
  for suite in "$@"; do
    [[ ${HOW[$suite]:-} ]] || die "$suite: not one of ${SUITES[*]}"
  done
  find_debian
  mkdir -p "$OUT"
  fetch "$@"
  logged "$OUT/provider.log" tools/provider.sh
  printf '%-19s %-27s' "the system's" "$(headers_release "$KDIR")"
  cell DKMS by_dkms
  echo
  for suite in "$@"; do row "$suite" "${HOW[$suite]}"; done
  return "$FAILED"
}

FAILED=0
: "${KDIR:?the headers of the guests of this system: use make kmod-matrix}"
PYTHON=${PYTHON:-/usr/bin/python3}
read -ra CONTENTS <<<"${GUEST_CONTENTS:?what is in the image of a guest: use make kmod-matrix}"
main "$@"
