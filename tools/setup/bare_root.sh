# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# A bare Debian in a folder, and commands in it. Sourced, after common.sh and apt.sh; needs mmdebstrap and root.

# make_root SUITE ROOT PACKAGES: a Debian as its installer's smallest choice leaves it, and these.
make_root() {
  local mirror=${MIRROR:-$(debian_mirror)}
  [[ $mirror ]] || die "no Debian archive in the system's package sources; name one by MIRROR=<its address>"
  fresh_dir "$2"
  # How this machine reaches the archive, and how old a mirror may be: mmdebstrap leaves it in the root.
  apt-config dump --format '%F "%v";%n' Acquire::http::Proxy Acquire::https::Proxy \
    Acquire::Check-Valid-Until >"$2.apt"
  mmdebstrap --quiet --variant=minbase --mode=root --include="$3" \
    --aptopt="$2.apt" --keyring="$ARCHIVE_KEYRING" "$1" "$2" "$mirror" ||
    die "mmdebstrap could not make a root of $1; see its message above"
  cp /etc/resolv.conf "$2/etc/resolv.conf"
}

# inside ROOT COMMAND: with processes and mounts that end with it.
inside() {
  # shellcheck disable=SC2016 # the inner shell's
  unshare --mount --pid --fork --kill-child bash -euc '
    mount --make-rprivate /
    mount -t proc proc "$0/proc"
    mount -t sysfs sysfs "$0/sys"
    mount --rbind /dev "$0/dev"
    exec chroot "$0" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb bash -c "$1"' "$1" "$2"
}
