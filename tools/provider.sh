#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds the provider "exrnic" of rdma-core (folder provider/) as its libibverbs takes it: within rdma-core's own
# source, whose interface for providers is private. Debian's unmodified libibverbs loads it.
#
#   tools/provider.sh [FOLDER]    of the provider; default: provider
#
#   build/provider/libexrnic-rdmav34.so   for /usr/lib/x86_64-linux-gnu/libibverbs
#   build/provider/exrnic.driver          for /etc/libibverbs.d
#
# The source stays in build/deps/rdma-core. FOLDER has a CMakeLists.txt as rdma-core's own providers have; it is
# told EXRNIC_CLONE, this clone's folder.
set -euo pipefail
cd "$(dirname "$0")/.."

for part in common apt; do
  # shellcheck source=/dev/null
  . "tools/setup/$part.sh"
done

RDMA_CORE=$DEPS/rdma-core
# Of this suite: its interface for providers is that of Debian 12's libibverbs (44.0), too.
RDMA_CORE_SUITE=trixie
PROVIDER_ABI=34
OUT=build/provider

# fetch_rdma_core: its source, without Debian's changes, which touch no provider.
fetch_rdma_core() {
  local work=$DEPS/tmp/rdma-core mirror archive
  fresh_dir "$work/apt"
  say "downloading the source of rdma-core of $RDMA_CORE_SUITE (2 MB)"
  mirror=${MIRROR:-$(debian_mirror)}
  [[ $mirror ]] || die "no Debian archive in the system's package sources; name one by MIRROR=<its address>"
  echo "deb-src [signed-by=$ARCHIVE_KEYRING] $mirror $RDMA_CORE_SUITE main" >"$work/apt/sources.list"
  private_apt "$work/apt" update >"$work/apt.log" 2>&1 || rdma_core_failed "$work"
  # Not every mirror has each of the package's files. Those that are there have been checked.
  (cd "$work/apt" && private_apt . source --download-only rdma-core) >>"$work/apt.log" 2>&1 || true
  archive=$(echo "$work/apt/"rdma-core_*.orig.tar.*)
  [[ -e $archive ]] || rdma_core_failed "$work"
  mkdir "$work/new"
  tar -xf "$archive" -C "$work/new" --strip-components=1
  grep -qx "set(IBVERBS_PABI_VERSION \"$PROVIDER_ABI\")" "$work/new/CMakeLists.txt" ||
    die "rdma-core of $RDMA_CORE_SUITE has another interface for providers than $PROVIDER_ABI"
  install_dir "$work/new" "$RDMA_CORE"
  rm -rf "$work"
}

rdma_core_failed() {
  tail -n 20 "$1/apt.log" >&2
  die "the mirror does not give the source of rdma-core of $RDMA_CORE_SUITE; see above"
}

# make_tree FOLDER: OUT/rdma-core, whose providers/exrnic is FOLDER.
make_tree() {
  local tree=$OUT/rdma-core
  [[ -e $tree/CMakeLists.txt && $tree -nt $RDMA_CORE/CMakeLists.txt ]] || {
    fresh_dir "$OUT"
    cp -a "$RDMA_CORE" "$tree"
    sed -i '/^add_subdirectory(providers\/erdma)$/a add_subdirectory(providers/exrnic)' "$tree/CMakeLists.txt"
    grep -qx 'add_subdirectory(providers/exrnic)' "$tree/CMakeLists.txt" ||
      die "rdma-core's CMakeLists.txt names its providers in another way than this expects"
    touch "$tree"
  }
  ln -sfn "$(realpath "$1")" "$tree/providers/exrnic"
}

build_provider() {
  local name=libexrnic-rdmav$PROVIDER_ABI.so
  cmake -S "$OUT/rdma-core" -B "$OUT/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DNO_PYVERBS=1 -DNO_MAN_PAGES=1 \
    -DCMAKE_DISABLE_FIND_PACKAGE_UDev=1 -DCMAKE_DISABLE_FIND_PACKAGE_Systemd=1 -DEXRNIC_CLONE="$PWD" >"$OUT/cmake.log" 2>&1 || {
    tail -n 20 "$OUT/cmake.log" >&2
    die "rdma-core could not be configured; see above"
  }
  cmake --build "$OUT/build" --target "lib/$name" -- --quiet
  cp -L "$OUT/build/lib/$name" "$OUT/$name"
  echo "driver exrnic" >"$OUT/exrnic.driver"
}

main() {
  local folder=${1:-provider}
  [[ -e $folder/CMakeLists.txt ]] || die "there is no provider in the folder $folder: it has no CMakeLists.txt"
  tools/setup/extra.sh libnl-3-dev libnl-route-3-dev
  find_debian
  mkdir -p "$DEPS"
  exec 9>"$DEPS/lock"
  flock 9
  [[ -e $RDMA_CORE ]] || fetch_rdma_core
  make_tree "$folder"
  build_provider
}

# shellcheck disable=SC2034 # say reads it
STEPS=1
main "$@"
