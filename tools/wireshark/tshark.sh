#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs tshark over a capture with the EFE plugin loaded. Wireshark 4.4 runs no Lua for root: then it
# is nobody who runs it, with copies of the plugin that everybody may read.
#
#   tools/wireshark/tshark.sh CAPTURE [ARGUMENT OF TSHARK...]
set -euo pipefail
here=$(realpath "$(dirname "$0")")
NOBODY=65534

die() {
  echo "tshark.sh: $*" >&2
  exit 1
}

[[ $# -ge 1 ]] || die "name a capture, such as build/run/push/capture/node0.pcap"
capture=$1
shift
[[ -r $capture ]] || die "there is no capture $capture (\"make run CAPTURE=1\" makes some)"
command -v tshark >/dev/null || die "no tshark is installed; on Debian: apt-get install tshark"
((EUID == 0)) || exec tshark -X "lua_script:$here/efe.lua" -r "$capture" "$@"

readable=$(mktemp -d)
trap 'rm -r "$readable"' EXIT
install -m 644 "$here/efe.lua" "$here/management.lua" "$here/../../rtl-model/gen/exrnic_wire.lua" "$readable"
chmod 755 "$readable"
HOME=$readable setpriv --reuid=$NOBODY --regid=$NOBODY --clear-groups \
  tshark -X "lua_script:$readable/efe.lua" -r - "$@" <"$capture"
