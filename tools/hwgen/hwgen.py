#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes rtl-model/gen from rtl-model/spec; with --check, fails if what is committed is stale."""
import argparse
import sys
from pathlib import Path

import emit_c
import emit_doc
import emit_lua
import emit_records
import emit_registers
import emit_sv
import records
import spec

ROOT = Path(__file__).resolve().parents[2]


def outputs(folder):
    """File name in rtl-model/gen to text."""
    files = spec.load(folder)
    blocks = records.load(folder / "blocks", files)
    return {
        "exrnic_hw.h": emit_c.emit(files),
        "exrnic_pkg.sv": emit_sv.emit_package(files),
        "exrnic_pkg_check.sv": emit_sv.emit_check(files),
        "exrnic_records.h": emit_records.emit_cc(blocks),
        "exrnic_records_pkg.sv": emit_records.emit_sv(blocks),
        "exrnic_registers.h": emit_registers.emit_cc(files),
        "exrnic_wire.lua": emit_lua.emit(files),
        "reference.md": emit_doc.emit(files),
        **{f"plain_{f.stem}.sv": emit_registers.emit_sv(f) for f in files if emit_registers.has_plain(f)},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is stale")
    parser.add_argument("--spec", type=Path, default=ROOT / "rtl-model/spec", help="folder of *.yaml")
    parser.add_argument("--gen", type=Path, default=ROOT / "rtl-model/gen", help="folder to write")
    args = parser.parse_args()
    try:
        texts = outputs(args.spec)
    except spec.SpecError as error:
        sys.exit(f"hwgen: {error}")
    stale = [n for n, t in texts.items()
             if not (args.gen / n).is_file() or (args.gen / n).read_text() != t]
    if args.check and stale:
        sys.exit(f"hwgen: stale in {args.gen}: {', '.join(stale)}. Run `make gen` and commit.")
    for name in stale:
        (args.gen / name).write_text(texts[name])
        print(f"hwgen: wrote {args.gen / name}")


if __name__ == "__main__":
    main()
