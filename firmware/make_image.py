#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Puts the head of struct exrnic_fw_image (rtl-model/spec/processor.yaml) before a program's bytes."""
import argparse
import struct
import sys
import zlib
from pathlib import Path

import yaml


def constants(spec):
    """Those of processor.yaml by name, and how long the head is."""
    tree = yaml.safe_load(spec.read_text())
    known = {name: value for name, (value, _) in tree["constants"].items()}
    return known | {"head_bytes": tree["structs"]["fw_image"]["bytes"]}


def image(program, version, known):
    program += bytes(-len(program) % 4)
    if len(program) > known["FW_MEMORY_BYTES"]:
        sys.exit(f"make_image: {len(program)} bytes; the processor's memory has {known['FW_MEMORY_BYTES']}")
    head = struct.pack("<5I", known["FW_IMAGE_MAGIC"], known["FW_ABI_VERSION"], version, len(program),
                       zlib.crc32(program))
    return head.ljust(known["head_bytes"], b"\0") + program


def c_words(data):
    """The initialisers of a C array of uint32_t."""
    words = [f"0x{word:08x}," for (word,) in struct.iter_unpack("<I", data)]
    return "".join(" ".join(words[i:i + 8]) + "\n" for i in range(0, len(words), 8))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path, help="what is loaded to address 0")
    parser.add_argument("output", type=Path)
    parser.add_argument("--version", type=lambda text: int(text, 0), required=True, help="major << 16 | minor")
    parser.add_argument("--spec", type=Path, required=True, help="processor.yaml")
    parser.add_argument("--words", type=Path, help="also write the image as words of C")
    args = parser.parse_args()
    known = constants(args.spec)
    data = image(args.program.read_bytes(), args.version, known)
    args.output.write_bytes(data)
    if args.words:
        args.words.write_text(c_words(data))
    size = args.program.stat().st_size
    print(f"{args.output.name}: {size} of {known['FW_MEMORY_BYTES']} bytes")


if __name__ == "__main__":
    main()
