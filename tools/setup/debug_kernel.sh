# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: BSD-2-Clause
# A guest kernel that checks itself, built from Debian's source of the kernel that guests run: with
# KASAN, UBSAN, lockdep, kmemleak, DMA-API debug and fault injection (debug-kernel.config). Takes nine
# minutes on two idle cores, once: it stays in build/deps/debug-kernel. Sourced, never run.

DEBUG_KERNELS_DIR=$DEPS/debug-kernel
DEBUG_KERNEL_CONFIG=tools/setup/debug-kernel.config

# ensure_debug_kernel: sets FOUND_DEBUG_KERNEL (an image for QEMU), FOUND_DEBUG_KDIR (what modules
# are built against) and FOUND_DEBUG_VERSION (of the source).
ensure_debug_kernel() {
  local release version dir
  release=$(headers_release "$(installed_headers)")
  # shellcheck disable=SC2016 # dpkg's variable
  version=$(dpkg-query -W -f='${Version}' "linux-headers-$release")
  dir=$DEBUG_KERNELS_DIR/${version}_$(cat "$DEBUG_KERNEL_CONFIG" "${BASH_SOURCE[0]}" | sha256sum | head -c 8)
  FOUND_DEBUG_KERNEL=$dir/vmlinux
  FOUND_DEBUG_KDIR=$dir
  FOUND_DEBUG_VERSION=$version
  [[ ! -e $dir ]] || return 0
  build_debug_kernel "$version" "$dir"
}

# build_debug_kernel VERSION DIR: DIR/vmlinux, and beside it what a build of modules needs.
build_debug_kernel() {
  local version=$1 dir=$2 work=$PWD/$DEBUG_KERNELS_DIR/work series
  series=$(grep -o '^[0-9]*\.[0-9]*' <<<"$version")
  fresh_dir "$work"
  mkdir -p "$work/apt/cache/archives"
  say "downloading the kernel's source $version (about 140 MB)"
  private_apt "$work/apt" update >"$work/apt.log" 2>&1 || debug_kernel_failed "$work/apt.log"
  (cd "$work/apt/cache/archives" &&
    private_apt ../.. download "linux-source-$series=$version") >>"$work/apt.log" 2>&1 ||
    debug_kernel_failed "$work/apt.log"
  say "unpacking it"
  unpack_archives "$work/apt" "$work/package"
  tar -xf "$work/package/usr/src/linux-source-$series.tar.xz" -C "$work"
  repair_debug_kernel "$work/linux-source-$series"
  say "building it (nine minutes on two cores)"
  (compile_debug_kernel "$work/linux-source-$series") >"$work/build.log" 2>&1 ||
    debug_kernel_failed "$work/build.log"
  install_dir "$work/linux-source-$series" "$dir"
  rm -rf "$work"
}

# repair_debug_kernel SOURCE: Linux does not look whether a new interrupt has got its place in the tree,
# and falls over it later. Failing allocations of a probe are to find our mistakes.
repair_debug_kernel() {
  sed -i 's/RADIX_TREE(irq_desc_tree, GFP_KERNEL)/RADIX_TREE(irq_desc_tree, GFP_KERNEL | __GFP_NOFAIL)/' \
    "$1/kernel/irq/irqdesc.c"
}

debug_kernel_failed() {
  tail -n 20 "$1" >&2
  die "the debug kernel could not be made; see above, and $1"
}

# A guest enters the kernel where QEMU finds its image unpacked (PVH). What runs first, before KASAN has
# its shadow, must not be checked by it; Linux 6.1 says so of other ways in only.
UNCHECKED=(KASAN_SANITIZE_enlighten.o=n KASAN_SANITIZE_string.o=n)

# compile_debug_kernel SOURCE: builds in the folder of the source, and leaves what modules need.
compile_debug_kernel() {
  local config=$PWD/$DEBUG_KERNEL_CONFIG
  unset MAKEFLAGS MFLAGS
  cd "$1" || return 1
  make -s tinyconfig &&
    scripts/kconfig/merge_config.sh -m .config "$config" &&
    make -s olddefconfig &&
    has_all_options "$config" &&
    make -s -j "$(nproc)" "${UNCHECKED[@]}" vmlinux modules_prepare &&
    prune_debug_kernel
}

# has_all_options CONFIG: what is asked for has come out. Kconfig drops silently what lacks
# something that it depends on.
has_all_options() {
  local missing
  missing=$(grep '^CONFIG_.*=y' "$1" | grep -vxFf .config) || return 0
  printf 'the kernel does not take:\n%s\n' "$missing"
  return 1
}

# Of a tree that was built: the image, and what a build of modules reads and runs.
prune_debug_kernel() {
  [[ -e Module.symvers ]] || cp vmlinux.symvers Module.symvers
  strip --strip-debug vmlinux &&
    find . -mindepth 1 -maxdepth 1 ! -name Makefile ! -name scripts ! -name include ! -name arch \
      ! -name tools ! -name vmlinux ! -name Module.symvers ! -name .config -exec rm -rf {} + &&
    find arch tools -type f ! -path 'arch/x86/include/*' ! -path 'arch/x86/Makefile*' \
      ! -path tools/objtool/objtool -delete &&
    find arch tools -type d -empty -delete
}
