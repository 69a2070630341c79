# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# build/deps/env.sh: what later steps source. Sourced, never run.

# write_env: writes it. A value given by the caller always wins over it.
# Bash knows from the file where the clone is, wherever both have gone; other shells know where it was.
write_env() {
  local new=$DEPS/env.sh.new
  {
    echo "# Written by tools/setup/setup.sh. Source it, from any folder: . $DEPS/env.sh"
    echo "exrnic_clone=\$(cd \"\$(dirname \"\${BASH_SOURCE:-$PWD/$DEPS/env.sh}\")/../..\" && pwd)"
    env_line QEMU "${FOUND_QEMU:-}"
    env_line KDIR "${FOUND_KDIR:-}"
    env_line KERNEL "${FOUND_KERNEL:-}"
    [[ ! -e $CATCH2_DIR ]] ||
      echo "export CMAKE_PREFIX_PATH=\"\$exrnic_clone/$CATCH2_DIR/usr\${CMAKE_PREFIX_PATH:+:\$CMAKE_PREFIX_PATH}\""
    echo "unset exrnic_clone"
  } >"$new"
  if cmp -s "$new" "$DEPS/env.sh"; then rm "$new"; else mv "$new" "$DEPS/env.sh"; fi
}

# env_line NAME VALUE: a path inside the clone stays relative to it.
env_line() {
  [[ $2 ]] || return 0
  local value=$2
  [[ $value == /* ]] || value="\$exrnic_clone/$value"
  echo "export $1=\"\${$1:-$value}\""
}
