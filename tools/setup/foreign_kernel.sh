# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# A kernel of another Debian suite, to build the module against and to boot: headers, the compiler
# that they ask for with the libraries it needs, the image, and its modules. Unpacked into a folder of its own,
# where it runs on any Debian; nothing of the system changes. Sourced, never run.

FOREIGN_KERNELS_DIR=$DEPS/kernels

# The programs of such a folder that a module build runs.
FOREIGN_PROGRAMS=(x86_64-linux-gnu-\* as ld pahole)

shopt -s extglob

# ensure_foreign_kernel SUITE: fetches it, unless that was done before.
ensure_foreign_kernel() {
  local suite=$1 work=$DEPS/tmp/kernel-$1 root=$FOREIGN_KERNELS_DIR/$1
  [[ ! -e $root/usr/lib/modules ]] || return 0
  fresh_dir "$work/apt"
  say "downloading kernel, headers and compiler of $suite (70 to 160 MB)"
  private_sources "$work/apt/sources.list" "${suite%-backports}" "$suite"
  private_apt "$work/apt" update >"$work/apt.log" 2>&1 || foreign_kernel_failed "$suite" "$work"
  (download_foreign_kernel "$suite" "$work") >>"$work/apt.log" 2>&1 ||
    foreign_kernel_failed "$suite" "$work"
  say "unpacking them"
  unpack_archives "$work/apt" "$work/root"
  merge_usr "$work/root"
  take_image "$work/root" "$work/root/vmlinuz"
  unpack_image "$work/root"
  prune_foreign_kernel "$work/root"
  use_own_loader "$work/root"
  # Debian's headers name each other by absolute paths.
  # shellcheck disable=SC2016 # make's variables
  sed -i 's|/usr/src/|$(dir $(abspath $(lastword $(MAKEFILE_LIST))))../|' \
    "$work/root/usr/src/"*-cloud-amd64/Makefile
  install_dir "$work/root" "$root"
  rm -rf "$work"
}

foreign_kernel_failed() {
  tail -n 20 "$2/apt.log" >&2
  die "the mirror does not give the kernel packages of $1; see above"
}

# download_foreign_kernel SUITE WORK: the headers that the suite offers, all they depend on, and the
# image of exactly their version.
download_foreign_kernel() {
  local suite=$1 work=$2 headers version release
  private_apt "$work/apt" install -y --download-only -t "$suite" "$KERNEL_HEADERS" || return 1
  cd "$work/apt/cache/archives" || return 1
  headers=$(echo linux-headers-[0-9]*-cloud-amd64_*.deb)
  release=${headers#linux-headers-}
  release=${release%%_*}
  version=$(dpkg-deb -f "$headers" Version)
  download_image "$release" "$version" && { download_modules "$release" "$version" || true; }
}

# merge_usr ROOT: moves what older packages have in /lib and /lib64 to where newer ones have it.
merge_usr() {
  local folder
  for folder in bin sbin lib lib64; do
    [[ -d $1/$folder ]] || continue
    mkdir -p "$1/usr/$folder"
    cp -al "$1/$folder/." "$1/usr/$folder"
    rm -r "${1:?}/$folder"
  done
}

# prune_foreign_kernel ROOT: leaves what a build of a module, and a boot, need.
prune_foreign_kernel() {
  local program keep=()
  for program in "${FOREIGN_PROGRAMS[@]}"; do keep+=(! -name "$program"); done
  find "$1/usr/bin" -mindepth 1 "${keep[@]}" -delete
  find "$1" "$1/usr" "$1/usr/lib" -maxdepth 1 \
    -regex '.*/\(boot\|etc\|var\|usr/sbin\|usr/share\|usr/lib/\(systemd\|udev\)\)' \
    -exec rm -rf {} +
}

# use_own_loader ROOT: moves each program that a build runs to ROOT/elf, and puts a script in its
# place that starts it with loader and libraries of ROOT, wherever ROOT stands. The script runs no
# other program, which could be one of ROOT's again.
use_own_loader() {
  local file program folders
  find "$1/usr" -type f -perm -100 \
    \( -path '*/usr/bin/*' -o -path '*/gcc/*' -o -path '*/linux-kbuild*' \) |
    while read -r file; do
      is_dynamic_program "$file" || continue
      program=${file#"$1/"}
      folders=${program%/*}
      mkdir -p "$1/elf/$folders"
      mv "$file" "$1/elf/$program"
      loader_script "${folders//+([^\/])/..}" "$program" >"$file"
      chmod +x "$file"
    done
}

# is_dynamic_program FILE: an ELF file that names its loader.
is_dynamic_program() {
  [[ $(head -c 4 "$1" | tr -d '\0') == $'\x7fELF' ]] && grep -q '/ld-linux-x86-64\.so' "$1"
}

# loader_script UP PROGRAM: prints the script; UP leads from its folder to ROOT.
loader_script() {
  cat <<END
#!/bin/sh
# Made by tools/setup.
root=\${0%/*}/$1
exec "\$root/usr/lib64/ld-linux-x86-64.so.2" --argv0 "\$0" \\
  --library-path "\$root/usr/lib/x86_64-linux-gnu" "\$root/elf/$2" "\$@"
END
}
