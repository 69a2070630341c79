#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds Linux's Soft-RoCE (rdma_rxe) for the guests' kernel, whose packages have it not, from Debian's source of that
# kernel: build/deps/soft-roce/rdma_rxe.ko. What others do without hardware, beside which figures of guests stand.
# Nothing of the system changes. 140 MB are downloaded, once.
set -euo pipefail
cd "$(dirname "$0")/.."

for part in common apt kernel world; do
  # shellcheck source=/dev/null
  . "tools/setup/$part.sh"
done

OUT=$DEPS/soft-roce
FOLDER=drivers/infiniband/sw/rxe

# fetch_source WORK VERSION: WORK/linux-source-SERIES/drivers/infiniband/sw/rxe
fetch_source() {
  local series log=$1/apt.log
  series=$(grep -o '^[0-9]*\.[0-9]*' <<<"$2")
  mkdir -p "$1/apt/cache/archives"
  say "downloading the kernel's source $2 (about 140 MB)"
  { private_apt "$1/apt" update && (cd "$1/apt/cache/archives" &&
    private_apt ../.. download "linux-source-$series=$2"); } >"$log" 2>&1 || {
    tail "$log" >&2
    die "the system's package sources do not give linux-source-$series of version $2"
  }
  unpack_archives "$1/apt" "$1/package"
  tar -xf "$1/package/usr/src/linux-source-$series.tar.xz" -C "$1" --strip-components=1 "linux-source-$series/$FOLDER"
}

main() {
  local work=$PWD/$DEPS/tmp/soft-roce
  mkdir -p "$DEPS"
  exec 9>"$DEPS/lock"
  flock 9
  find_kernel
  [[ $(cat "$OUT/release" 2>/dev/null) != "$RELEASE $KERNEL_VERSION" ]] || return 0
  [[ $KERNEL_VERSION ]] || die "the guests' kernel is not Debian's: its source is not known"
  fresh_dir "$work"
  fetch_source "$work" "$KERNEL_VERSION"
  say "building it"
  make -C "$KDIR" M="$work/$FOLDER" CONFIG_RDMA_RXE=m modules >"$work/build.log" 2>&1 || {
    tail -n 20 "$work/build.log" >&2
    die "rdma_rxe does not build for $RELEASE"
  }
  mkdir "$work/new"
  strip --strip-debug -o "$work/new/rdma_rxe.ko" "$work/$FOLDER/rdma_rxe.ko"
  echo "$RELEASE $KERNEL_VERSION" >"$work/new/release"
  install_dir "$work/new" "$OUT"
  rm -rf "$work"
}

# shellcheck disable=SC2034 # say reads it
STEPS=1
main
