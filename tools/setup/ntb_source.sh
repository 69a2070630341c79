# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: BSD-2-Clause
# Linux's NTB, its clients and their test, as Debian's source of the guests' kernel has them: Debian builds none of it. Only these
# files of that source stay, in build/deps/ntb. Sourced, never run.

NTB_SOURCES_DIR=$DEPS/ntb
NTB_FILES=(drivers/ntb drivers/net/ntb_netdev.c tools/testing/selftests/ntb/ntb_test.sh)

# ensure_ntb_source SERIES VERSION: sets FOUND_NTB_SOURCE, a folder with NTB_FILES of linux-source-SERIES.
ensure_ntb_source() {
  FOUND_NTB_SOURCE=$NTB_SOURCES_DIR/$2
  [[ ! -e $FOUND_NTB_SOURCE ]] || return 0
  fetch_ntb_source "$1" "$2"
}

fetch_ntb_source() {
  local series=$1 version=$2 work=$PWD/$DEPS/tmp/ntb
  fresh_dir "$work"
  mkdir -p "$work/apt/cache/archives"
  say "downloading the kernel's source $version, for NTB (about 140 MB)"
  private_apt "$work/apt" update >"$work/apt.log" 2>&1 || ntb_source_failed "$work/apt.log"
  (cd "$work/apt/cache/archives" && private_apt ../.. download "linux-source-$series=$version") >>"$work/apt.log" 2>&1 ||
    ntb_source_failed "$work/apt.log"
  say "unpacking NTB"
  unpack_archives "$work/apt" "$work/package"
  tar -xf "$work/package/usr/src/linux-source-$series.tar.xz" -C "$work" "${NTB_FILES[@]/#/linux-source-$series/}"
  install_dir "$work/linux-source-$series" "$FOUND_NTB_SOURCE"
  rm -rf "$work"
}

ntb_source_failed() {
  tail -n 20 "$1" >&2
  die "there is no source of the guests' kernel; see above, and $1"
}
