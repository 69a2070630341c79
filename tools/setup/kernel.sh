# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# The guest's kernel: exactly the one whose headers the module is built against. It is unpacked,
# never installed. Sourced, never run.

KERNEL_HEADERS=linux-headers-cloud-amd64
KERNEL_DIR=$DEPS/kernel

# ensure_kernel: sets FOUND_KDIR, FOUND_KERNEL. Explicit KDIR=... and KERNEL=... are checked only, and
# needed where the packages are not Debian's.
ensure_kernel() {
  if has_own_packages; then
    [[ ${KDIR:-} && ${KERNEL:-} ]] ||
      die "give the guests' kernel: KDIR=<folder of its headers> KERNEL=<its image>" "make demo needs none"
  else
    FOUND_KDIR=$(installed_headers)
  fi
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
  [[ -e $dir/vmlinuz ]] || fetch_image "$release" "$version" "$dir"
  # shellcheck disable=SC2034 # setup.sh reads it
  FOUND_KERNEL=$(image_in "$dir")
}

# image_in DIR: prints what a guest boots of it: the unpacked image, if it could be unpacked.
image_in() {
  if [[ -e $1/vmlinux ]]; then echo "$1/vmlinux"; else echo "$1/vmlinuz"; fi
}

# unpack_image DIR: DIR/vmlinux of DIR/vmlinuz, or a line that says why not.
unpack_image() {
  "${PYTHON:-/usr/bin/python3}" tools/setup/unpack_kernel.py "$1/vmlinuz" "$1/vmlinux" || true
}

# download_image RELEASE VERSION: in the folder for archives of a private_apt. Since 7.x the package
# "image" is an empty one, and the image is in "binary".
download_image() {
  private_apt ../.. download "linux-binary-$1=$2" 2>/dev/null ||
    private_apt ../.. download "linux-image-$1=$2"
}

# download_modules RELEASE VERSION: likewise. Until 7.x they are in the package of the image, and this one is not there.
download_modules() {
  private_apt ../.. download "linux-modules-$1=$2" 2>/dev/null
}

# take_image ROOT FILE: moves the image there. It is in /boot, or since 7.x beside its modules.
take_image() {
  find "$1" \( -path '*/boot/vmlinuz-*' -o -path '*/modules/*/vmlinuz' \) -exec mv {} "$2" \;
  [[ -e $2 ]] || die "the kernel's packages hold no image"
}

# fetch_image RELEASE VERSION DIR: DIR/vmlinuz, and DIR/vmlinux where possible.
fetch_image() {
  local release=$1 version=$2 dir=$3 work=$DEPS/tmp/kernel
  fresh_dir "$work/apt/cache/archives"
  say "downloading the guest kernel $release $version (14 to 35 MB)"
  private_apt "$work/apt" update || die "apt-get update failed; see its message above"
  (cd "$work/apt/cache/archives" && download_image "$release" "$version") ||
    die "the system's package sources have no linux-image-$release of version $version," \
      "which the installed headers need; newer headers may fit a newer image:" \
      "apt-get update && apt-get install $KERNEL_HEADERS"
  say "unpacking the guest kernel"
  unpack_archives "$work/apt" "$work/root"
  mkdir -p "$work/new"
  take_image "$work/root" "$work/new/vmlinuz"
  unpack_image "$work/new"
  install_dir "$work/new" "$dir"
  rm -rf "$work"
}
