#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Puts what the kernel modules are built of into a folder, where kbuild may write beside it:
#
#   tools/kmod_tree.sh FOLDER           links to the files here, with the modules' tests
#   tools/kmod_tree.sh --copy FOLDER    copies, without: a tree that stands for itself
set -euo pipefail
cd "$(dirname "$0")/.."

PARTS=(kmod/Kbuild kmod/{core,cdev,eth,ib,ntb,include,uapi} rtl-model/gen/exrnic_hw.h libverbs-lite/data_path/exrnic_{data_path,driver,post}.h)
how=(-s)
if [[ $1 == --copy ]]; then
  how=(--preserve=timestamps)
  shift
else
  PARTS+=(kmod/test)
fi

out=$(mkdir -p "$1" && realpath "$1")
# What was linked before and is no part any more; nothing else of a folder that the user has named.
for part in kmod rtl-model libverbs-lite; do
  [[ ! -d $out/$part ]] || find "$out/$part" -type l -lname "$PWD/*" -delete
done
for part in "${PARTS[@]}"; do
  mkdir -p "$out/${part%/*}"
  cp -rf "${how[@]}" "$PWD/$part" "$out/${part%/*}"
done
