#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Installs the packages that deb.sh has made into a bare root of the Debian that they are for, uses them as their reader would,
# and removes them: nothing of theirs stays. The root is build/deb/root; nothing of the system changes but that
# mmdebstrap is installed. Needs root.
#
#   tools/deb/try.sh
#
#   MIRROR=    the Debian archive to take it from, if not the system's
set -euo pipefail
cd "$(dirname "$0")/../.."

ROOT=$PWD/build/deb/root

for part in common apt bare_root; do
  # shellcheck source=/dev/null
  . "tools/setup/$part.sh"
done

# step WHAT COMMAND: in the root.
step() {
  inside "$ROOT" "set -e; cd /tmp; $2" >"$ROOT.log" 2>&1 || {
    tail -n 40 "$ROOT.log" >&2
    die "packages: $1: failed"
  }
  echo "packages: $1: ok"
}

main() {
  ((EUID == 0)) || die "a new root needs root: sudo make deb-test"
  tools/setup/extra.sh mmdebstrap
  find_debian
  make_root "$DEBIAN_SUITE" "$ROOT" gcc,libc6-dev,libstdc++-12-dev,pkg-config
  cp build/deb/*.deb docs/first_program.c "$ROOT/tmp"
  step "they install" "apt-get update -qq; apt-get install -qq -y --no-install-recommends ./*.deb; ldconfig -p | grep libverbs-lite.so.0"
  step "programs at two simulated RNICs" \
    "exrnic-launch --processes run 'exrnic-push --node {node} --oob {oob} --sizes 4096 --ops 8' | grep 'OK: all processes'"
  step "an experiment in Python" "python3 -c '
import exrnic
result = exrnic.Experiment(\"exrnic-pingpong --node {node} --oob {oob} --sizes 8 --rounds 5\", core=\"ref\").run()
assert result.rows[0][\"verified\"] == 5'"
  step "a first program, with shared libraries" "cc -o first first_program.c \$(pkg-config --cflags --libs verbs-lite)
    mkfifo ready; exrnic-sim --node vfio-user:0.sock > ready & read -r line < ready
    VL_DEVICE=sim:0.sock ./first | grep 'node 0: written by an RDMA NIC'; kill \$!"
  step "DKMS has the modules, the kernel its firmware, libibverbs its provider" "dkms status | grep ^exrnic/
    test -s /lib/firmware/exrnic/firmware.bin; ls /usr/lib/*/libibverbs/libexrnic-rdmav*.so"
  step "manuals" "for program in \$(dpkg -L exrnic | grep ^/usr/bin/); do dpkg -L exrnic | grep -q /man1/\$(basename \$program).1; done"
  step "they go, and nothing stays" "names=\$(for deb in *.deb; do dpkg-deb -f \$deb Package; done); apt-get purge -qq -y \$names
    test -z \"\$(find / -xdev -iname '*exrnic*' ! -path '/tmp/*' ! -path '/proc/*' ! -path '/sys/*' ! -path '/dev/*' ! -path '/var/log/*')\""
  rm -rf "$ROOT" "$ROOT.log" "$ROOT.apt"
}

main "$@"
