# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# A Debian for guests in WORLD, build/deps/world if that is not set, with the modules of the guests' kernel. Made anew only if this file,
# the packages asked for, or the guests' kernel is another; remove the folder to have the newest packages.
# Sourced, never run: see tools/guest_world.sh.
#
# root.squashfs: all files, read by all guests. mount/: the modules that a guest needs to mount them, in their
# order. network/: likewise, those of the network beside the RNICs (sim/launch --network). packages: what is in it, with versions. key: what it was made of.

WORLD=${WORLD:-$DEPS/world}
WORLD_PACKAGES=tools/setup/world-packages.txt
# Unpacked, not installed.
TOOLS=(mmdebstrap squashfs-tools liblzo2-2)
# Manuals and translations: nobody reads them there.
EXCLUDED=(/usr/share/{man,doc,locale,info,lintian}'/*')
# But those of pyverbs are its tests, which are run. A folder is made if it is included, too.
INCLUDED=(/usr/share/doc/rdma-core{,/tests{,'/*'}})
# Each with all that it depends on.
TO_MOUNT=(squashfs overlay)
TO_NETWORK=(virtio_pci virtio_net)

# world_packages PACKAGE...: those of the list and these, each once.
world_packages() {
  { sed -n 's/^\([^# ]\+\).*/\1/p' "$WORLD_PACKAGES" && printf '%s\n' "$@"; } | grep . | sort -u
}

# find_kernel: sets RELEASE, and KERNEL_VERSION where the kernel is Debian's.
find_kernel() {
  local dir
  if [[ ${MODULES:-} ]]; then
    [[ -d $MODULES/kernel ]] || die "MODULES=$MODULES has no folder \"kernel\": it takes /lib/modules/RELEASE"
    RELEASE=$(basename "$MODULES")
    KERNEL_VERSION=
    return
  fi
  dir=$(basename "$(dirname "${KERNEL:-}")")
  [[ ${KERNEL:-} == */$KERNEL_DIR/* && $dir == *_* ]] ||
    die "the guests' kernel, KERNEL=${KERNEL:-}, is not from the set-up: give MODULES=<folder of its modules>"
  RELEASE=${dir%%_*}
  KERNEL_VERSION=${dir#*_}
}

# key PACKAGE...: what the image depends on.
key() {
  echo "suite $WORLD_SUITE"
  echo "kernel $RELEASE ${KERNEL_VERSION:-$MODULES}"
  echo "script $(sha256sum <"${BASH_SOURCE[0]}")"
  echo "packages $*"
}

# tried LOG WHAT COMMAND...: its output to the log; the end of it if it fails.
tried() {
  local log=$1 what=$2
  shift 2
  "$@" >>"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    die "$what"
  }
}

# fetch_tools WORK: of the system's suite, to run here.
fetch_tools() {
  local suite=${DEBIAN_SUITE:-$WORLD_SUITE} log=$PWD/$1/tools.log
  mkdir -p "$1/apt/cache/archives"
  private_sources "$1/apt/sources.list" "$suite"
  tried "$log" "the mirror does not give $suite" private_apt "$1/apt" update
  (cd "$1/apt/cache/archives" && tried "$log" "$suite does not give ${TOOLS[*]}" \
    private_apt ../.. download "${TOOLS[@]}")
  unpack_archives "$1/apt" "$1/tools"
}

# with_tools WORK COMMAND...: as who it is told (AS), who need not have this environment.
with_tools() {
  local tools=$PWD/$1/tools
  shift
  "${AS[@]}" env PATH="$tools/usr/bin:/usr/sbin:/sbin:$PATH" SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-}" \
    LD_LIBRARY_PATH="$tools/usr/lib/x86_64-linux-gnu:$tools/lib/x86_64-linux-gnu" "$@"
}
AS=()

# fetch_modules WORK: WORK/modules/RELEASE, of exactly the guests' kernel.
fetch_modules() {
  mkdir -p "$1/modules"
  if [[ ${MODULES:-} ]]; then
    cp -a "$MODULES" "$1/modules/$RELEASE"
    return
  fi
  mkdir -p "$1/kernel/cache/archives"
  tried "$1/kernel.log" "apt-get update failed" private_apt "$1/kernel" update
  (cd "$1/kernel/cache/archives" && download_image "$RELEASE" "$KERNEL_VERSION" &&
    { download_modules "$RELEASE" "$KERNEL_VERSION" || true; }) >>"$1/kernel.log" ||
    die "the system's package sources have no kernel $RELEASE of version $KERNEL_VERSION any more: make setup"
  unpack_archives "$1/kernel" "$1/kernel/root"
  # In /lib, or in /usr/lib: of more than one package since 7.x.
  find "$1/kernel/root" -path "*/lib/modules/$RELEASE" -prune -exec cp -al {} "$1/modules/" \;
  [[ -d $1/modules/$RELEASE/kernel ]] || die "the packages of kernel $RELEASE hold no modules"
}

# make_root WORK PACKAGE...: WORK/root.tar
make_root() {
  local work=$1 mirror=${MIRROR:-$(debian_mirror)} options=() apart=() pattern
  # As root it mounts: where nobody else sees it, and nothing of it is left, whatever ends it.
  has_user_ids || apart=(env TMPDIR="$PWD/$work" unshare --mount)
  shift
  for pattern in "${EXCLUDED[@]}"; do options+=(--dpkgopt="path-exclude=$pattern"); done
  for pattern in "${INCLUDED[@]}"; do options+=(--dpkgopt="path-include=$pattern"); done
  # How this machine reaches the archive, and how old a mirror may be.
  apt-config dump --format '%F "%v";%n' Acquire::http::Proxy Acquire::https::Proxy Acquire::Check-Valid-Until \
    >"$work/apt.conf"
  # Files that the packages' scripts write have the time of the suite: the same packages, the same bytes.
  SOURCE_DATE_EPOCH=$(date -d "$(sed -n 's/^Date: //p' "$work"/apt/lists/*Release | head -n 1)" +%s)
  has_user_ids || AS=(as_root)
  # shellcheck disable=SC2016 # mmdebstrap's variable
  tried "$work/root.log" "mmdebstrap could not make a $WORLD_SUITE of: $*" with_tools "$work" \
    "${apart[@]}" mmdebstrap --variant=essential --include="$(IFS=, && echo "$*")" "${options[@]}" \
    --aptopt="$work/apt.conf" \
    --keyring="$ARCHIVE_KEYRING" --customize-hook="copy-in '$work/modules' /usr/lib" \
    --customize-hook='chroot "$1" chown -R 0:0 /usr/lib/modules' \
    --customize-hook='chroot "$1" depmod '"$RELEASE" \
    --customize-hook='rm -f "$1"/etc/ssh/ssh_host_* "$1"/etc/nvme/host* "$1"/etc/hostname "$1"/etc/resolv.conf' \
    --customize-hook="download /var/lib/dpkg/status '$work/status'" \
    --customize-hook="download /usr/lib/modules/$RELEASE/modules.dep '$work/modules.dep'" \
    "$WORLD_SUITE" "$work/root.tar" "$mirror"
  AS=()
}

# modules_with_needs WORK NAME...: their files below /lib/modules/RELEASE, each after those that it needs. What the
# kernel has built in is not among them.
modules_with_needs() {
  local work=$1 name
  shift
  for name; do
    awk -F '[: ]+' -v name="$name" '
      $1 ~ "/" name "[.]ko" { for (i = NF; i > 0; i--) if ($i) print $i }' "$work/modules.dep"
  done | awk '!seen[$0]++'
}

# take_modules WORK TO NAME...: as 01-NAME.ko, 02-NAME.ko, unpacked.
take_modules() {
  local work=$1 to=$2 file n=0 name
  shift 2
  mkdir -p "$to"
  for file in $(modules_with_needs "$work" "$@"); do
    n=$((n + 1))
    name=$(printf %02d "$n")-$(basename "${file%.ko*}").ko
    case $file in
      *.xz) xz -dc ;;
      *.zst) zstd -dcq ;;
      *.gz) gzip -dc ;;
      *) cat ;;
    esac <"$work/modules/$RELEASE/$file" >"$to/$name"
  done
}

# ensure_world PACKAGE...: makes it, unless it is there.
ensure_world() {
  local packages
  mapfile -t packages < <(world_packages "$@")
  find_kernel
  [[ $(key "${packages[@]}") == "$(cat "$WORLD/key" 2>/dev/null)" ]] || make_world "${packages[@]}"
}

# has_user_ids: an unpacked Debian takes users of its own, of whom root is one. Who is not root may have some to give away.
has_user_ids() {
  ((EUID != 0)) && command -v newuidmap >/dev/null && grep -qs "^$(id -un):" /etc/subuid
}

check_rights() {
  has_user_ids || ((EUID == 0)) || command -v sudo >/dev/null ||
    die "a Debian is unpacked by root, and sudo is not there; or by a user with user ids to give away:" \
      "apt-get install uidmap, and a line for $(id -un) in /etc/subuid and /etc/subgid"
}

# make_world PACKAGE...
make_world() {
  local work=$DEPS/tmp/world started=$SECONDS made
  check_rights
  fresh_dir "$work"
  mkdir "$work/new"
  STEP=1 say "downloading modules of the guests' kernel $RELEASE, mmdebstrap and squashfs-tools (about 30 MB)"
  fetch_tools "$work"
  fetch_modules "$work"
  STEP=2 say "downloading and unpacking $# packages of $WORLD_SUITE, and those that they need (about 110 MB)"
  make_root "$work" "$@"
  made=$SECONDS
  STEP=3 say "packing them"
  tried "$work/pack.log" "mksquashfs failed" pack "$work"
  take_modules "$work" "$work/new/mount" "${TO_MOUNT[@]}"
  take_modules "$work" "$work/new/network" "${TO_NETWORK[@]}"
  awk '/^Package:/ { name = $2 } /^Version:/ { print name, $2 }' "$work/status" >"$work/new/packages"
  key "$@" >"$work/new/key"
  install_dir "$work/new" "$WORLD"
  rm -rf "$work"
  STEP=3 say "$WORLD: $(wc -l <"$WORLD/packages") packages, $(du -m "$WORLD/root.squashfs" | cut -f 1) MiB, made in" \
    "$((made - started)) s and packed in $((SECONDS - made)) s"
}

# pack WORK: guests start as fast from it as from one that is not compressed, or by LZ4.
pack() {
  with_tools "$1" mksquashfs - "$1/new/root.squashfs" -tar -root-mode 755 -root-uid 0 -root-gid 0 \
    -comp zstd -Xcompression-level 3 -quiet -no-progress <"$1/root.tar"
}
