# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Catch2 3: Debian 12's own archive has version 2, its backports have 3. Sourced, never run.

CATCH2_DIR=$DEPS/catch2

# ensure_catch2: installs a private copy where the system's archive has none that fits.
ensure_catch2() {
  if ((DEBIAN_RELEASE > 12)) || [[ -e $CATCH2_DIR ]]; then return; fi
  local work=$DEPS/tmp/catch2
  fresh_dir "$work/apt"
  say "downloading Catch2 3 from $DEBIAN_SUITE-backports"
  private_sources "$work/apt/sources.list" "$DEBIAN_SUITE-backports"
  private_apt "$work/apt" update ||
    die "the mirror does not give $DEBIAN_SUITE-backports, which has the package libcatch2-dev"
  (cd "$work/apt/cache/archives" && private_apt ../.. download libcatch2-dev) ||
    die "$DEBIAN_SUITE-backports has no package libcatch2-dev"
  say "unpacking Catch2"
  unpack_archives "$work/apt" "$work/root"
  install_dir "$work/root" "$CATCH2_DIR"
  rm -rf "$work"
}
