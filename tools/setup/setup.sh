#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Installs or unpacks what building and running need, and says where it is in build/deps/env.sh.
# When all is there it does nothing, quickly and without the network.
#
#   tools/setup/setup.sh         all of it
#   tools/setup/setup.sh host    what has no guest needs: no QEMU, no guest kernel
#
#   QEMU=, KDIR=, KERNEL=   use these instead of what the set-up would find
#   MIRROR=                 the Debian archive to take private copies from
#   OWN_PACKAGES=1          all that packages.txt lists is here: install and fetch nothing, on any system
set -euo pipefail
cd "$(dirname "$0")/../.."

for part in common apt catch2 qemu kernel environment; do
  # shellcheck source=/dev/null
  . "tools/setup/$part.sh"
done

main() {
  check_clone
  forget_own_values
  has_own_packages || find_debian
  mkdir -p "$DEPS"
  # Two set-ups at once (make test beside make run) take turns.
  exec 9>"$DEPS/lock"
  flock 9
  if ! has_own_packages; then
    install_missing
    STEP=2 ensure_catch2
  fi
  if [[ ${1:-} == host ]]; then
    # What an earlier, whole set-up found stays known.
    [[ -e $DEPS/env.sh ]] || write_env
  else
    STEP=3 ensure_qemu
    STEP=4 ensure_kernel
    write_env
  fi
  rm -rf "$DEPS/tmp"
}

install_missing() {
  local missing
  mapfile -t missing < <(missing_packages "$DEBIAN_RELEASE")
  ((${#missing[@]} == 0)) || install_packages "${missing[@]}"
}

main "$@"
