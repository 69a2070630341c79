#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds the kernel module in a folder of its own: tools/kbuild.sh [--any-ntb] FOLDER [KBUILD-ARGUMENT...]
# makes FOLDER/kmod/exrnic.ko, exrnic_cdev.ko, exrnic_eth.ko and exrnic_ib.ko against the headers in KDIR, and exrnic_ntb.ko if
# that kernel has NTB, or with EXRNIC_NTB=m (tools/ntb_clients.sh); with EXRNIC_TESTS=m also test/exrnic_kernel_user.ko and exrnic_verbs_user.ko.
#
# --any-ntb: exrnic_ntb.ko is built where the kernel has no NTB, too. It cannot be loaded there.
set -euo pipefail
cd "$(dirname "$0")/.."

# What exrnic_ntb.ko uses of NTB.
NTB_SYMBOLS=(ntb_register_device ntb_unregister_device ntb_link_event ntb_db_event)

# absent_ntb FOLDER: sets `ntb`, arguments of kbuild, if the kernel has no NTB.
absent_ntb() {
  ! grep -qsx 'CONFIG_NTB=[my]' "$KDIR/.config" || return 0
  printf '0x00000000\t%s\tntb\tEXPORT_SYMBOL\t\n' "${NTB_SYMBOLS[@]}" >"$1/ntb.symvers"
  ntb=(EXRNIC_NTB=m KBUILD_EXTRA_SYMBOLS="$1/ntb.symvers")
}

any_ntb=0
if [[ $1 == --any-ntb ]]; then
  any_ntb=1
  shift
fi
out=$1
shift
tools/kmod_tree.sh "$out"
out=$(realpath "$out")
ntb=()
((any_ntb == 0)) || absent_ntb "$out"

# No BTF: Debian's headers lack the vmlinux that it is derived from, and kbuild would say so.
# kbuild is a build of its own: nothing of the calling make's flags is meant for it.
unset MAKEFLAGS MFLAGS
exec make -s -C "$(realpath "$KDIR")" M="$out/kmod" -j "$(nproc)" \
  CONFIG_DEBUG_INFO_BTF_MODULES= "${ntb[@]}" "$@" modules
