#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A Java runtime for guests, which have nothing but a shell: by jlink, with the libraries of this system that it needs.
#
#   make_runtime.sh JLINK NATIVES OUTPUT
#
# OUTPUT/java is for /opt/java of a guest, OUTPUT/lib64 and OUTPUT/libraries for its /lib64 and /lib/x86_64-linux-gnu
# (sim/launch --put). Made anew each time; nothing is left of one that was not finished.
set -euo pipefail
jlink=$1
natives=$2
output=$3
work=$output.new

rm -rf "$work"
mkdir -p "$work"/{lib64,libraries}
"$jlink" --add-modules java.base --strip-debug --no-header-files --no-man-pages --output "$work/java"
# Classes as they lie in memory: it starts in a fraction of the time.
"$work/java/bin/java" -Xshare:dump >"$work/share.log"

runtime=("$work/java/bin/java" "$work"/java/lib/*.so "$work"/java/lib/server/*.so)
ldd "${runtime[@]}" "$natives" | awk '$2 == "=>" && $3 ~ "^/" { print $3 }' | grep -v "^$(realpath "$work")/" | sort -u |
  xargs cp -L -t "$work/libraries"
cp -L "$(ldd "$work/java/bin/java" | awk '$1 ~ /ld-linux/ { print $1 }')" "$work/lib64"

rm -r "$work/java/legal" "$work/share.log"
rm -rf "$output"
mv "$work" "$output"
