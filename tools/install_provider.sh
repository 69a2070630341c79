#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Installs the provider of rdma-core that "make provider" has built: tools/install_provider.sh DESTDIR PREFIX
#
# What it is called by stands where libibverbs of a distribution reads it, in /etc/libibverbs.d. It names the
# provider by its path, unless that is where libibverbs looks by itself (PREFIX /usr).
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=/dev/null
. tools/setup/common.sh

BUILT=build/provider
destdir=$1 prefix=$2
[[ $prefix == /* ]] || die "PREFIX=$prefix: it has to begin with /"
library=$(cd "$BUILT" 2>/dev/null && echo libexrnic-rdmav*.so)
[[ -f $BUILT/$library ]] || die "there is no provider in $BUILT: make provider"

folder=$prefix/lib/$(gcc -print-multiarch)/libibverbs
install -D -m 644 "$BUILT/$library" "$destdir$folder/$library"
# libibverbs puts the end of the name to a path.
name=exrnic
[[ $prefix == /usr ]] || name=$folder/libexrnic
mkdir -p "$destdir/etc/libibverbs.d"
echo "driver $name" >"$destdir/etc/libibverbs.d/exrnic.driver"
chmod 644 "$destdir/etc/libibverbs.d/exrnic.driver"
