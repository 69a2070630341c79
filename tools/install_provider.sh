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
libraries=("$BUILT"/libexrnic-rdmav*.so)
[[ -f ${libraries[0]} ]] || die "there is no provider in $BUILT: make provider"
((${#libraries[@]} == 1)) || die "there is more than one provider in $BUILT; remove all but one: ${libraries[*]}"
library=$(basename "${libraries[0]}")

folder=$prefix/lib/$(gcc -print-multiarch)/libibverbs
install -D -m 644 "$BUILT/$library" "$destdir$folder/$library"
# libibverbs puts the end of the name to a path.
name=exrnic
[[ $prefix == /usr ]] || name=$folder/libexrnic
mkdir -p "$destdir/etc/libibverbs.d"
echo "driver $name" >"$destdir/etc/libibverbs.d/exrnic.driver"
chmod 644 "$destdir/etc/libibverbs.d/exrnic.driver"
