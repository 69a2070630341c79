# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# The guest's kernel: exactly the one whose headers the module is built against. It is unpacked,
# never installed. Sourced, never run.

KERNEL_HEADERS=linux-headers-cloud-amd64
KERNEL_DIR=$DEPS/kernel

# ensure_kernel: sets FOUND_KDIR, FOUND_KERNEL. Explicit KDIR=... and KERNEL=... are checked only.
ensure_kernel() {
  FOUND_KDIR=$(installed_headers)
  local kdir=${KDIR:-$FOUND_KDIR}
  [[ -e $kdir/Makefile && -e $kdir/include/generated/utsrelease.h ]] ||
    die "KDIR=$kdir is not a folder of kernel headers (package $KERNEL_HEADERS has some)"
  if [[ ${KERNEL:-} ]]; then
    [[ -r $KERNEL ]] || die "KERNEL=$KERNEL cannot be read"
    return
  fi
  ensure_image "$(headers_release "$kdir")"
}

# installed_headers: the folder of the headers that the package stands for at this time.
installed_headers() {
  local package
  # shellcheck disable=SC2016 # dpkg's variable
  package=$(dpkg-query -W -f='${Depends}' "$KERNEL_HEADERS" |
    grep -o 'linux-headers-[^ ,]*' | head -n 1) || true
  [[ $package ]] || die "package $KERNEL_HEADERS names no kernel headers"
  printf '/usr/src/%s' "$package"
}

# headers_release KDIR: prints the release (uname -r) of that kernel.
headers_release() {
  sed -n 's/^#define UTS_RELEASE "\(.*\)"$/\1/p' "$1/include/generated/utsrelease.h"
}

# ensure_image RELEASE: sets FOUND_KERNEL to the image of exactly the headers' version.
ensure_image() {
  local release=$1 version dir
  # shellcheck disable=SC2016 # dpkg's variable
  version=$(dpkg-query -W -f='${Version}' "linux-headers-$release" 2>/dev/null) ||
    die "kernel $release of KDIR is not from a Debian package; give its image too: KERNEL=<file>"
  dir=$KERNEL_DIR/${release}_$version
  FOUND_KERNEL=$dir/vmlinuz
  [[ -e $FOUND_KERNEL ]] || fetch_image "linux-image-$release" "$version" "$dir"
}

# fetch_image PACKAGE VERSION DIR: DIR/vmlinuz.
fetch_image() {
  local package=$1 version=$2 dir=$3 work=$DEPS/tmp/kernel
  fresh_dir "$work/apt/cache/archives"
  say "downloading the guest kernel $package $version (about 30 MB)"
  private_apt "$work/apt" update || die "apt-get update failed; see its message above"
  (cd "$work/apt/cache/archives" && private_apt ../.. download "$package=$version") ||
    die "the system's package sources have no $package of version $version," \
      "which the installed headers need; newer headers may fit a newer image:" \
      "apt-get update && apt-get install $KERNEL_HEADERS"
  say "unpacking the guest kernel"
  unpack_archives "$work/apt" "$work/root"
  mkdir -p "$work/new"
  mv "$work/root/boot/vmlinuz-"* "$work/new/vmlinuz"
  install_dir "$work/new" "$dir"
  rm -rf "$work"
}
