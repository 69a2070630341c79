#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds the kernel module in a folder of its own: tools/kbuild.sh FOLDER [KBUILD-ARGUMENT...]
# makes FOLDER/kmod/exrnic.ko, exrnic_cdev.ko, exrnic_eth.ko and exrnic_ib.ko against the headers in KDIR, and exrnic_ntb.ko if
# that kernel has NTB, or with EXRNIC_NTB=m (tools/ntb_clients.sh); with EXRNIC_TESTS=m also test/exrnic_kernel_user.ko and exrnic_verbs_user.ko.
set -euo pipefail
cd "$(dirname "$0")/.."

out=$1
shift
tools/kmod_tree.sh "$out"
out=$(realpath "$out")

# No BTF: Debian's headers lack the vmlinux that it is derived from, and kbuild would say so.
# kbuild is a build of its own: nothing of the calling make's flags is meant for it.
unset MAKEFLAGS MFLAGS
exec make -s -C "$(realpath "$KDIR")" M="$out/kmod" -j "$(nproc)" \
  CONFIG_DEBUG_INFO_BTF_MODULES= "$@" modules
