#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Shows a capture with the EFE plugin loaded: in Wireshark where it is and has a display, else as
# text, by tshark.
#
#   tools/wireshark/view.sh build/run/push/capture/node0.pcap [ARGUMENT OF WIRESHARK OR TSHARK...]
set -euo pipefail
here=$(realpath "$(dirname "$0")")

die() {
  echo "view.sh: $*" >&2
  exit 1
}

[[ $# -ge 1 ]] || die "name a capture, such as build/run/push/capture/node0.pcap"
capture=$1
shift
[[ -r $capture ]] || die "there is no capture $capture (\"make run CAPTURE=1\" makes some)"
if [[ ${DISPLAY:-}${WAYLAND_DISPLAY:-} ]] && command -v wireshark >/dev/null; then
  ((EUID != 0)) || echo "view.sh: Wireshark 4.4 loads no plugin for root; be somebody else" >&2
  exec wireshark -X "lua_script:$here/efe.lua" -r "$capture" "$@"
elif command -v tshark >/dev/null; then
  exec "$here/tshark.sh" "$capture" "$@"
fi
die "neither wireshark nor tshark is installed; on Debian: apt-get install wireshark"
