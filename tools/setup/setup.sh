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
set -euo pipefail
cd "$(dirname "$0")/../.."

for part in common apt catch2 qemu kernel; do
  # shellcheck source=/dev/null
  . "tools/setup/$part.sh"
done

# write_env: what later steps source. A value given by the caller always wins over it.
write_env() {
  local new=$DEPS/env.sh.new
  {
    echo "# Written by tools/setup/setup.sh; read by the Makefile, which starts in the clone."
    env_line QEMU "${FOUND_QEMU:-}"
    env_line KDIR "${FOUND_KDIR:-}"
    env_line KERNEL "${FOUND_KERNEL:-}"
    [[ ! -e $CATCH2_DIR ]] ||
      echo "export CMAKE_PREFIX_PATH=\"\$PWD/$CATCH2_DIR/usr\${CMAKE_PREFIX_PATH:+:\$CMAKE_PREFIX_PATH}\""
  } >"$new"
  if cmp -s "$new" "$DEPS/env.sh"; then rm "$new"; else mv "$new" "$DEPS/env.sh"; fi
}

# env_line NAME VALUE: a path inside the clone stays relative to it.
env_line() {
  [[ $2 ]] || return 0
  local value=$2
  [[ $value == /* ]] || value="\$PWD/$value"
  echo "export $1=\"\${$1:-$value}\""
}

main() {
  forget_own_values
  find_debian
  mkdir -p "$DEPS"
  # Two set-ups at once (make test beside make run) take turns.
  exec 9>"$DEPS/lock"
  flock 9
  install_missing
  STEP=2 ensure_catch2
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
