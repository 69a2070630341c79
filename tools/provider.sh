#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds the provider of rdma-core (provider/) within rdma-core's source, which Debian has: build/provider/
# libexrnic-rdmav34.so and exrnic.driver, and its test, exrnic-verbs-test. Nothing of the system changes.
#
#   RDMA_CORE=   a source tree of rdma-core, unpacked; by default Debian's, fetched into build/deps/rdma-core
#   MIRROR=      the Debian archive to take it from, if not the system's
#   WERROR=1     the compiler's warnings are errors
#
# Providers speak a private interface with libibverbs, whose number stands in the library's symbol versions and
# in the file name: a library with another one does not load this file.
set -euo pipefail
cd "$(dirname "$0")/.."

for part in common apt; do
  # shellcheck source=/dev/null
  . "tools/setup/$part.sh"
done

# The suite that has the newest rdma-core of this private interface.
SOURCE_SUITE=trixie
PRIVATE_ABI=34
WITH_PRIVATE_ABI="rdma-core 44 to 56.1: Debian 12 and 13"
OUT=build/provider
LIBRARY=libexrnic-rdmav$PRIVATE_ABI.so
TEST=exrnic-verbs-test

# cmake_setting TREE NAME: what set(NAME "...") of its CMakeLists.txt says.
cmake_setting() {
  { sed -n "s/^ *set(${2} \"\([^\"]*\)\").*/\1/p" "$1/CMakeLists.txt" 2>/dev/null || true; } | head -n 1
}

# fetch_source TO: unpacks the archive's tarball. Apt checks it by the archive's signature; that a mirror lacks
# another file of the source package does not matter.
fetch_source() {
  local work=$DEPS/tmp/rdma-core tarball
  find_debian
  fresh_dir "$work/apt"
  say "downloading the source of rdma-core of $SOURCE_SUITE"
  private_sources "$work/apt/sources.list" "$SOURCE_SUITE"
  sed -i 's/^deb /deb-src /' "$work/apt/sources.list"
  private_apt "$work/apt" update >"$work/apt.log" 2>&1 || {
    tail "$work/apt.log" >&2
    die "the mirror does not give the sources of $SOURCE_SUITE"
  }
  (cd "$work" && private_apt apt source --download-only rdma-core >>apt.log 2>&1) || true
  tarball=$(find "$work" -maxdepth 1 -name 'rdma-core_*.orig.tar.*' ! -name '*.asc')
  [[ $tarball ]] || {
    tail "$work/apt.log" >&2
    die "the mirror does not give the source of rdma-core of $SOURCE_SUITE; give a tree by RDMA_CORE="
  }
  mkdir "$work/tree"
  tar -xf "$tarball" --strip-components=1 -C "$work/tree"
  install_dir "$work/tree" "$1"
  rm -rf "$work"
}

# refuse_other_abi TREE
refuse_other_abi() {
  local abi version
  abi=$(cmake_setting "$1" IBVERBS_PABI_VERSION)
  version=$(cmake_setting "$1" PACKAGE_VERSION)
  [[ $abi ]] || die "$1 is no source tree of rdma-core: its CMakeLists.txt names no IBVERBS_PABI_VERSION"
  ((abi == PRIVATE_ABI)) ||
    die "rdma-core $version has private ABI $abi; this provider is for $PRIVATE_ABI ($WITH_PRIVATE_ABI)"
}

# add_provider TREE: its files, as rdma-core's own stand there. What is the same is left alone.
add_provider() {
  local tree=$1
  mkdir -p "$tree/providers/exrnic/test"
  install -C -m 644 provider/test/*.c "$tree/providers/exrnic/test/"
  install -C -m 644 provider/*.[ch] provider/CMakeLists.txt rtl-model/gen/exrnic_hw.h \
    libverbs-lite/data_path/exrnic_{data_path,post}.h "$tree/providers/exrnic/"
  install -C -m 644 kmod/uapi/exrnic-abi.h "$tree/kernel-headers/rdma/"
  grep -q providers/exrnic "$tree/CMakeLists.txt" ||
    sed -i 's#^add_subdirectory(providers/rxe)#add_subdirectory(providers/exrnic)\n&#' "$tree/CMakeLists.txt"
  grep -q rdma/exrnic-abi.h "$tree/kernel-headers/CMakeLists.txt" ||
    sed -i 's|^  rdma/hns-abi.h|  rdma/exrnic-abi.h\n&|' "$tree/kernel-headers/CMakeLists.txt"
}

# build_provider TREE: of rdma-core nothing else, but the library that it is linked with.
build_provider() {
  local log=$OUT/build.log flags=
  [[ ${WERROR:-0} == 0 ]] || flags=-Werror
  { cmake -S "$1" -B "$OUT/tree/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS="$flags" \
    -DCMAKE_SKIP_RPATH=ON -DNO_PYVERBS=1 -DNO_MAN_PAGES=1 -DENABLE_RESOLVE_NEIGH=0 &&
    cmake --build "$OUT/tree/build" --target "lib/$LIBRARY" "bin/$TEST"; } >"$log" 2>&1 || {
    tail -n 40 "$log" >&2
    die "rdma-core does not build; all of it is in $log"
  }
  install -C -m 644 "$OUT/tree/build/lib/$LIBRARY" "$OUT/tree/build/providers/exrnic/exrnic.driver" "$OUT/"
  install -C "$OUT/tree/build/bin/$TEST" "$OUT/"
}

main() {
  local source=${RDMA_CORE:-$DEPS/rdma-core} version
  mkdir -p "$DEPS" "$OUT"
  exec 9>"$DEPS/lock"
  flock 9
  [[ ${RDMA_CORE:-} || -e $source ]] || fetch_source "$source"
  refuse_other_abi "$source"
  version=$(cmake_setting "$source" PACKAGE_VERSION)
  # A tree of its own: that of the user stays as it is.
  if [[ $(cat "$OUT/tree.of" 2>/dev/null) != "$source $version" ]]; then
    rm -rf "$OUT/tree"
    cp -a "$source" "$OUT/tree"
    echo "$source $version" >"$OUT/tree.of"
  fi
  add_provider "$OUT/tree"
  build_provider "$OUT/tree"
  say "$OUT/$LIBRARY: built in rdma-core $version, for libibverbs of private ABI $PRIVATE_ABI ($WITH_PRIVATE_ABI)"
}

# shellcheck disable=SC2034 # say reads it
STEPS=1
main "$@"
