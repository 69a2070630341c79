#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds Linux's NTB and its clients, unmodified, out of Debian's source of the kernel whose headers are in KDIR, and
# exrnic_ntb.ko, which needs them, with the other modules:
#
#   tools/ntb_clients.sh [--generic] FOLDER [KBUILD-ARGUMENT...]
#
# --generic: for Debian's kernel of that version that is not the cloud's. It has a DMA engine, which the clients can use; a guest
# can boot FOLDER/vmlinux.
#
# FOLDER/kmod has the modules of this project, FOLDER/ntb those of Linux; FOLDER/modules, for guests, exrnic_ntb.ko, those of
# Linux and the kernel's own test of them, ntb_test.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

for part in common apt kernel ntb_source; do
  # shellcheck source=/dev/null
  . "tools/setup/$part.sh"
done

CLIENTS=(drivers/ntb/core.c drivers/ntb/ntb_transport.c drivers/ntb/test/ntb_{tool,pingpong,perf}.c drivers/net/ntb_netdev.c)

# take_generic_kernel FOLDER: instead of that of KDIR.
take_generic_kernel() {
  local release
  release=$(headers_release "$KDIR")
  release=${release/-cloud/}
  has_own_packages && die "the generic kernel is one of Debian's; with another: KDIR=<its headers> tools/ntb_clients.sh FOLDER"
  tools/setup/extra.sh "linux-headers-$release"
  KDIR=/usr/src/linux-headers-$release
  export KDIR
  {
    flock 9
    ensure_image "$release"
  } 9>"$DEPS/lock"
  mkdir -p "$1"
  ln -sfn "$(realpath "$FOUND_KERNEL")" "$1/vmlinux"
}

# link_sources SOURCE TO: flat, and how they are built.
link_sources() {
  local file
  fresh_dir "$2"
  for file in "${CLIENTS[@]}"; do ln -s "$(realpath "$1/$file")" "$2/"; done
  cat >"$2/Kbuild" <<'END'
obj-m := ntb.o ntb_transport.o ntb_netdev.o ntb_tool.o ntb_pingpong.o ntb_perf.o
ntb-y := core.o
END
}

# collect FOLDER: what guests need.
collect() {
  fresh_dir "$1/modules"
  cp "$1"/ntb/*.ko "$1/kmod/exrnic_ntb.ko" "$FOUND_NTB_SOURCE/tools/testing/selftests/ntb/ntb_test.sh" "$1/modules/"
  strip --strip-debug "$1"/modules/*.ko
}

main() {
  # shellcheck disable=SC2034 # read by say
  local out release version generic=0 STEP=1 STEPS=1
  if [[ $1 == --generic ]]; then
    generic=1
    shift
  fi
  out=$(mkdir -p "$1" && realpath "$1")
  shift
  find_debian
  ((generic == 0)) || take_generic_kernel "$out"
  release=$(headers_release "$KDIR")
  # shellcheck disable=SC2016 # dpkg's variable
  version=${NTB_VERSION:-$(dpkg-query -W -f='${Version}' "linux-headers-$release")}
  ensure_ntb_source "$(grep -o '^[0-9]*\.[0-9]*' <<<"$version")" "$version"
  link_sources "$FOUND_NTB_SOURCE" "$out/ntb"
  (
    unset MAKEFLAGS MFLAGS
    make -s -C "$(realpath "$KDIR")" M="$out/ntb" -j "$(nproc)" CONFIG_DEBUG_INFO_BTF_MODULES= modules
  )
  tools/kbuild.sh "$out" EXRNIC_NTB=m KBUILD_EXTRA_SYMBOLS="$out/ntb/Module.symvers" "$@"
  collect "$out"
}

main "$@"
