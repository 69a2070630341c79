# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: BSD-2-Clause
# What every part of the set-up uses. Sourced, never run.

# Where the set-up puts what it fetches; relative to the clone, so that the clone can move.
DEPS=build/deps

# The files that say which Debian this is; a test points it elsewhere.
OS_RELEASE=${OS_RELEASE:-/etc/os-release}

# say MESSAGE: a line of progress; main counts the STEP.
STEP=1
STEPS=4
say() { printf 'setup: [%d/%d] %s\n' "$STEP" "$STEPS" "$*"; }

# What another system can do.
ELSEWHERE="elsewhere, install what tools/setup/packages.txt lists, and say so: make demo OWN_PACKAGES=1"

# die MESSAGE... : one line per argument, then the end.
die() {
  printf 'setup: error: %s\n' "$1" >&2
  shift
  (($# == 0)) || printf 'setup:        %s\n' "$@" >&2
  exit 1
}

# What a Debian that has no number yet (testing, unstable) counts as.
UNNUMBERED=99

# Sets DEBIAN_RELEASE (a number) and DEBIAN_SUITE (its code name).
find_debian() {
  [[ -r $OS_RELEASE ]] || die "$OS_RELEASE cannot be read; this needs Debian 12 or later" "$ELSEWHERE"
  local id version
  id=$(os_release_field ID)
  version=$(os_release_field VERSION_ID)
  DEBIAN_SUITE=$(os_release_field VERSION_CODENAME)
  [[ $id != debian || $version ]] || version=$UNNUMBERED
  if [[ $id != debian || ! $version =~ ^[0-9]+$ || $version -lt 12 ]]; then
    die "this is '$(os_release_field PRETTY_NAME)'; the set-up knows Debian 12 (bookworm) and later" \
      "$ELSEWHERE"
  fi
  [[ $(dpkg --print-architecture) == amd64 ]] ||
    die "this is a $(dpkg --print-architecture) machine; guests and their QEMU are amd64"
  DEBIAN_RELEASE=$version
}

# has_own_packages: true if the user says that all that packages.txt lists is here, by whatever means.
has_own_packages() { [[ ${OWN_PACKAGES:-0} != 0 ]]; }

# check_clone: the folder's name goes through make, CMake, Ninja, Verilator and kbuild.
check_clone() {
  local bad=${PWD//[![:space:]\"\'\`\\\$#&;:|<>()*?!%]/}
  [[ ! $bad ]] ||
    die "the folder of this clone is '$PWD': make, CMake, Verilator and kbuild cannot build in a folder" \
      "with '${bad:0:1}' in its name; move the clone to another"
}

# os_release_field NAME: prints its value. A subshell keeps the file's variables out of ours.
os_release_field() (
  unset "$1"
  # shellcheck source=/dev/null
  . "$OS_RELEASE"
  printf '%s' "${!1:-}"
)

# install_dir TEMP FINAL: FINAL exists either complete or not at all, whenever we are interrupted.
install_dir() {
  mkdir -p "$(dirname "$2")"
  rm -rf "$2"
  mv "$1" "$2"
}

# fresh_dir DIR: an empty DIR, whatever an interrupted run left there.
fresh_dir() {
  rm -rf "$1"
  mkdir -p "$1"
}

# A shell that has read env.sh hands back what an earlier set-up found: that is no wish of the user's.
forget_own_values() {
  local name
  for name in QEMU KERNEL; do
    if [[ ${!name:-} == "$PWD/$DEPS/"* ]]; then unset "$name"; fi
  done
}
