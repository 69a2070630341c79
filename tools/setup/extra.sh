#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Installs Debian packages that only some targets need, when such a target runs: the common set-up
# stays small.
#
#   tools/setup/extra.sh PACKAGE...
set -euo pipefail
cd "$(dirname "$0")/../.."

for part in common apt; do
  # shellcheck source=/dev/null
  . "tools/setup/$part.sh"
done

main() {
  local package missing=()
  ! has_own_packages || return 0
  for package in "$@"; do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
      missing+=("$package")
  done
  ((${#missing[@]} > 0)) || return 0
  find_debian
  install_packages "${missing[@]}"
}

STEPS=1 main "$@"
