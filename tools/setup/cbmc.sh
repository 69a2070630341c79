#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A CBMC for the proofs of C: the system's, or a private copy of that of Debian 13 with its libraries.
# Prints where it is.
#
#   tools/setup/cbmc.sh
set -euo pipefail
cd "$(dirname "$0")/../.."

for part in common apt; do
  # shellcheck source=/dev/null
  . "tools/setup/$part.sh"
done

CBMC_DIR=$DEPS/cbmc
CBMC_SUITE=trixie
CBMC_PACKAGES=(cbmc minisat libc6 libgcc-s1 libstdc++6)

main() {
  if [[ ! -e $CBMC_DIR ]] && command -v cbmc; then return; fi
  [[ -e $CBMC_DIR ]] || fetch_cbmc >&2
  echo "$PWD/$CBMC_DIR/cbmc"
}

# fetch_cbmc: unpacks it, and the C library and loader that it was built for.
fetch_cbmc() {
  local work=$PWD/$DEPS/tmp/cbmc
  ! has_own_packages || die "there is no program cbmc" "install it, or make proofs NAMES=... without those of C"
  find_debian
  fresh_dir "$work/apt"
  say "downloading CBMC from $CBMC_SUITE (about 35 MB)"
  private_sources "$work/apt/sources.list" "$CBMC_SUITE"
  private_apt "$work/apt" update || die "the mirror does not give $CBMC_SUITE, which has the package cbmc"
  # install would fetch a compiler, too: the system's preprocesses.
  mkdir -p "$work/apt/cache/archives"
  (cd "$work/apt/cache/archives" && private_apt "$work/apt" download "${CBMC_PACKAGES[@]}") ||
    die "$CBMC_SUITE does not give the packages ${CBMC_PACKAGES[*]}; see above"
  unpack_archives "$work/apt" "$work/new/root"
  rm -rf "$work/new/root/usr/share/"{doc,man,locale}
  cbmc_wrapper >"$work/new/cbmc"
  chmod +x "$work/new/cbmc"
  "$work/new/cbmc" --version || die "the CBMC of $CBMC_SUITE does not start"
  install_dir "$work/new" "$CBMC_DIR"
  rm -rf "$work"
}

# cbmc_wrapper: prints a program that starts the CBMC beside it, wherever the folder stands.
cbmc_wrapper() {
  cat <<'END'
#!/bin/sh
# Starts the CBMC beside this file with its own loader and libraries. Made by tools/setup.
root=$(dirname "$(readlink -f "$0")")/root
exec "$root/usr/lib64/ld-linux-x86-64.so.2" --library-path "$root/usr/lib/x86_64-linux-gnu:$root/usr/lib" \
  "$root/usr/bin/cbmc" "$@"
END
}

STEPS=1 main "$@"
