#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds the kernel module, without a warning, against the kernel of each Debian suite, and tests it
# in guests that run that kernel. The kernels stay in build/deps/kernels; remove that folder, or one
# of a suite, to have the newest again.
#
#   tools/kmod_matrix.sh [SUITE...]    default: all
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
  if ! KDIR=$kdir PATH=$root/usr/bin:$PATH tools/kbuild.sh "$out" EXRNIC_TESTS=m >"$out/build.log" 2>&1 ||
    [[ -s $out/build.log ]]; then
    cat "$out/build.log" >&2
    return 1
  fi
}

# in_guests SUITE NAME ARGUMENT... : what a launch does on that kernel; its log is kept.
in_guests() {
  local suite=$1 name=$2 out=$OUT/$1
  shift 2
  "$PYTHON" sim/guest/make_initramfs.py --output "$out/initramfs.cpio" \
    --module "$out/kmod/exrnic.ko" --module "$out/kmod/exrnic_cdev.ko" \
    --module "$out/kmod/exrnic_eth.ko" --module "$out/kmod/test/exrnic_kernel_user.ko" "${CONTENTS[@]}"
  if ! "$PYTHON" sim/launch --kernel "$(image_in "$FOREIGN_KERNELS_DIR/$suite")" \
    --initramfs "$out/initramfs.cpio" --directory "$out/$name" "$@" >"$out/$name.log" 2>&1; then
    cat "$out/$name.log" >&2
    return 1
  fi
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
    cell exrnic-kmod-test in_guests "$1" kmod-test --run-seconds 300 run exrnic-kmod-test
    cell push in_guests "$1" push push
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
  fetch "$@"
  for suite in "$@"; do row "$suite" "${HOW[$suite]}"; done
  return "$FAILED"
}

FAILED=0
PYTHON=${PYTHON:-/usr/bin/python3}
read -ra CONTENTS <<<"${GUEST_CONTENTS:?what is in the image of a guest: use make kmod-matrix}"
main "$@"
