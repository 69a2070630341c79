# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: BSD-2-Clause
# A QEMU with the device vfio-user-pci (10.1 and later): the system's, or a private copy from the
# backports of Debian 13. Sourced, never run.

QEMU_DIR=$DEPS/qemu
QEMU_SUITE=trixie

# has_vfio_user QEMU: true if this program can attach a vfio-user device.
has_vfio_user() {
  "$1" -device help 2>/dev/null | grep '"vfio-user-pci"' >/dev/null
}

# ensure_qemu: sets FOUND_QEMU. An explicit QEMU=... is checked, never replaced.
ensure_qemu() {
  if [[ ${QEMU:-} ]]; then
    command -v "$QEMU" >/dev/null || die "QEMU=$QEMU: no such program"
    has_vfio_user "$QEMU" || die "QEMU=$QEMU has no vfio-user-pci device; it takes QEMU 10.1"
    return
  fi
  if [[ -e $QEMU_DIR ]]; then
    FOUND_QEMU=$QEMU_DIR/qemu-system-x86_64
  elif has_vfio_user qemu-system-x86_64; then
    FOUND_QEMU=$(command -v qemu-system-x86_64)
  elif has_own_packages; then
    die "there is no qemu-system-x86_64 with the device vfio-user-pci (QEMU 10.1); name one by QEMU=<program>" \
      "make demo needs none"
  else
    fetch_qemu
    FOUND_QEMU=$QEMU_DIR/qemu-system-x86_64
  fi
}

# fetch_qemu: unpacks QEMU with all its libraries, the C library and loader included, so that it
# runs on an older Debian and nothing of the system changes.
fetch_qemu() {
  local work=$DEPS/tmp/qemu
  fresh_dir "$work/apt"
  say "downloading QEMU from $QEMU_SUITE-backports (about 40 MB)"
  private_sources "$work/apt/sources.list" "$QEMU_SUITE" "$QEMU_SUITE-backports"
  private_apt "$work/apt" update ||
    die "the mirror does not give $QEMU_SUITE-backports, which has the package qemu-system-x86" \
      "install a QEMU 10.1 or later by other means and give it as QEMU=<program>"
  private_apt "$work/apt" install -y --download-only -t "$QEMU_SUITE-backports" \
    qemu-system-x86 2>&1 | tee "$work/apt.log" | download_progress || {
    tail -n 20 "$work/apt.log" >&2
    die "$QEMU_SUITE-backports does not give the package qemu-system-x86; see above"
  }
  say "unpacking QEMU"
  unpack_archives "$work/apt" "$work/new/root"
  rm -rf "$work/new/root/usr/share/"{doc,man,locale}
  qemu_wrapper >"$work/new/qemu-system-x86_64"
  chmod +x "$work/new/qemu-system-x86_64"
  has_vfio_user "$work/new/qemu-system-x86_64" ||
    die "the QEMU of $QEMU_SUITE-backports does not start or has no vfio-user-pci device"
  install_dir "$work/new" "$QEMU_DIR"
  rm -rf "$work"
}

# download_progress: of apt's lines, the total and every tenth package.
download_progress() {
  awk '/^Need to get/ { print "  " $0 } /^Get:/ && ++n % 10 == 0 { print "  " n " packages" }
    { fflush() }'
}

# qemu_wrapper: prints a program that starts the QEMU beside it, wherever the folder stands.
qemu_wrapper() {
  cat <<'END'
#!/bin/sh
# Starts the QEMU beside this file with its own loader and libraries. Made by tools/setup.
root=$(dirname "$(readlink -f "$0")")/root
exec "$root/usr/lib64/ld-linux-x86-64.so.2" --library-path "$root/usr/lib/x86_64-linux-gnu" \
  "$root/usr/bin/qemu-system-x86_64" -L "$root/usr/share/qemu" -L "$root/usr/share/seabios" "$@"
END
}
