#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Makes a Debian for guests in build/deps/world, which "sim/launch --world" boots: nothing of the system changes.
#
#   tools/guest_world.sh [PACKAGE...]    more packages than those of tools/setup/world-packages.txt
#
#   SUITE=      the Debian suite; by default the system's, so that its programs run in guests, too
#   WORLD=      the folder for it, if not build/deps/world
#   MIRROR=     the Debian archive to take it from, if not the system's
#   KERNEL=     a kernel of the user's own needs MODULES=, the folder /lib/modules/RELEASE that belongs to it
set -euo pipefail
cd "$(dirname "$0")/.."

for part in common apt kernel world; do
  # shellcheck source=/dev/null
  . "tools/setup/$part.sh"
done

main() {
  has_own_packages || find_debian
  # shellcheck disable=SC2034 # world.sh reads it
  WORLD_SUITE=${SUITE:-${DEBIAN_SUITE:-}}
  [[ $WORLD_SUITE ]] || die "name the guests' Debian: make guest-world SUITE=bookworm MIRROR=<an archive of it>"
  mkdir -p "$DEPS"
  exec 9>"$DEPS/lock"
  flock 9
  ensure_world "$@"
}

# shellcheck disable=SC2034 # say reads it
STEPS=3
main "$@"
