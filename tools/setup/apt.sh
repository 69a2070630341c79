# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Debian packages: those of the system, and private copies that the system never hears of.
# Sourced, never run.

PACKAGES_FILE=${PACKAGES_FILE:-tools/setup/packages.txt}
ARCHIVE_KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

# wanted_packages RELEASE: the packages that this Debian release takes from its own archive.
wanted_packages() {
  awk -v release="$1" '
    /^[^#]/ && NF { if ($2 == "all" || release + 0 >= $2 + 0) print $1 }' "$PACKAGES_FILE"
}

# missing_packages RELEASE: those of them that are not installed.
missing_packages() {
  local wanted
  mapfile -t wanted < <(wanted_packages "$1")
  # dpkg-query fails for names it has never heard of; what it does not print is missing.
  dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null |
    awk '$2 == "installed" { print $1 }' | sort -u |
    comm -13 - <(printf '%s\n' "${wanted[@]}" | sort -u) || true
}

# as_root COMMAND...: as it is when we are root, otherwise through sudo.
as_root() {
  if ((EUID == 0)); then "$@"; else sudo "$@"; fi
}

# install_packages PACKAGE...: into the system.
install_packages() {
  say "installing $# Debian packages: $*"
  if ((EUID != 0)) && ! command -v sudo >/dev/null; then
    die "root is needed to install packages, and sudo is not there; as root, do:" \
      "apt-get install --no-install-recommends $*"
  fi
  as_root apt-get update -q || die "apt-get update failed; see its message above"
  name_unavailable "$@"
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends "$@" ||
    die "apt-get could not install the packages; see its message above"
}

# name_unavailable PACKAGE...: stops with the names of those that the system's sources do not have.
name_unavailable() {
  local package unavailable=()
  for package in "$@"; do
    # Not grep -q: it would end early, and apt-cache by SIGPIPE.
    apt-cache policy "$package" | grep '^  Candidate: [^(]' >/dev/null || unavailable+=("$package")
  done
  ((${#unavailable[@]} == 0)) ||
    die "the system's package sources do not have: ${unavailable[*]}" \
      "add the Debian archive (suite $DEBIAN_SUITE, component main) to them"
}

# debian_mirror: the archive that the system's own sources name for its suite, whatever their format.
debian_mirror() {
  # ReleaseInfo=false makes apt list what is configured even before the first "apt-get update".
  # shellcheck disable=SC2016 # apt's variables, not the shell's
  apt-get -o APT::Get::IndexTargets::ReleaseInfo=false indextargets \
    --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v suite="$DEBIAN_SUITE" '
      $3 != "main" || $1 ~ /security/ { next }
      $2 == suite && !exact { exact = $1 }
      !any { any = $1 }
      END { print exact ? exact : any }'
}

# private_sources FILE SUITE...: writes a sources list for suites of the system's mirror.
private_sources() {
  local file=$1 suite mirror
  shift
  mirror=${MIRROR:-$(debian_mirror)}
  [[ $mirror ]] ||
    die "no Debian archive in the system's package sources; name one by MIRROR=<its address>"
  for suite in "$@"; do
    printf 'deb [signed-by=%s] %s %s main\n' "$ARCHIVE_KEYRING" "$mirror" "$suite"
  done >"$file"
}

# private_apt STATE_DIR COMMAND...: apt-get on a state of its own. With STATE_DIR/sources.list it
# sees those sources and an empty system, otherwise the system's sources.
private_apt() {
  local state
  state=$(realpath "$1")
  shift
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$state/none"
  local options=(-q -o "Dir::State=$state" -o "Dir::Cache=$state/cache" -o APT::Sandbox::User=root)
  if [[ -e $state/sources.list ]]; then
    : >"$state/status"
    options+=(-o "Dir::State::status=$state/status" -o "Dir::Etc::sourcelist=$state/sources.list"
      -o "Dir::Etc::sourceparts=$state/none"
      -o Dir::Etc::preferences=/dev/null -o "Dir::Etc::preferencesparts=$state/none"
      -o APT::Default-Release= -o APT::Install-Recommends=0 -o APT::Update::Error-Mode=any)
  fi
  apt-get "${options[@]}" "$@"
}

# unpack_archives STATE_DIR ROOT: unpacks every package that private_apt downloaded there.
unpack_archives() {
  local deb
  mkdir -p "$2"
  for deb in "$1"/cache/archives/*.deb; do
    dpkg -x "$deb" "$2"
  done
}
