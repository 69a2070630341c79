#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Unpacks a compressed x86 kernel image, so that no guest has to: under TCG that takes a guest 2 s.

    unpack_kernel.py VMLINUZ VMLINUX

VMLINUX is the ELF file within VMLINUZ (Documentation/arch/x86/boot.rst: payload_offset), if that has an entry
for PVH, by which QEMU starts an ELF kernel. Status 2, with a reason, and no VMLINUX: boot VMLINUZ itself.
"""

import bz2
import gzip
import lzma
import pathlib
import struct
import subprocess
import sys
import zlib

_SETUP_SECTORS_AT, _MAGIC_AT, _PAYLOAD_AT = 0x1f1, 0x202, 0x248
_SECTOR = 512
_PT_NOTE = 4
_PVH_NOTE = (b"Xen\0", 18)  # XEN_ELFNOTE_PHYS32_ENTRY

_PROGRAMS = {b"\x02\x21\x4c\x18": ("lz4", "-dc"), b"\x28\xb5\x2f\xfd": ("zstd", "-dcq")}
_MODULES = {b"\x1f\x8b": gzip.decompress, b"BZh": bz2.decompress, b"\xfd7zXZ\0": lzma.decompress,
            b"\x5d\0\0": lzma.decompress}


class NotPossible(Exception):
    pass


def payload_of(image):
    if image[_MAGIC_AT:_MAGIC_AT + 4] != b"HdrS":
        raise NotPossible("it is no x86 boot image")
    offset, length = struct.unpack_from("<II", image, _PAYLOAD_AT)
    start = ((image[_SETUP_SECTORS_AT] or 4) + 1) * _SECTOR + offset
    payload = image[start:start + length]
    if len(payload) < length or length < 8:
        raise NotPossible("it is cut off")
    return payload


def decompress(payload):
    """The kernel's build appends the size of what it has compressed."""
    packed, size = payload[:-4], struct.unpack("<I", payload[-4:])[0]
    for magic, command in _PROGRAMS.items():
        if packed.startswith(magic):
            try:
                return subprocess.run(command, input=packed, capture_output=True, check=False).stdout, size
            except FileNotFoundError:
                raise NotPossible(f"it is packed with {command[0]}, which is not installed") from None
    for magic, call in _MODULES.items():
        if packed.startswith(magic):
            try:
                return call(packed), size
            except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
                raise NotPossible(f"its payload cannot be unpacked: {error}") from None
    raise NotPossible(f"it is packed in an unknown way, {payload[:4].hex()}")


def has_pvh_entry(elf):
    headers_at, = struct.unpack_from("<Q", elf, 32)
    size, count = struct.unpack_from("<HH", elf, 54)
    for i in range(count):
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", elf, headers_at + i * size)
        at, end = offset, offset + length
        while kind == _PT_NOTE and at + 12 <= end:
            name_size, value_size, note = struct.unpack_from("<III", elf, at)
            if (elf[at + 12:at + 12 + name_size], note) == _PVH_NOTE:
                return True
            at += 12 + (name_size + 3) // 4 * 4 + (value_size + 3) // 4 * 4
    return False


def unpack(image):
    elf, size = decompress(payload_of(image))
    if len(elf) != size or not elf.startswith(b"\x7fELF\x02"):
        raise NotPossible(f"{len(elf)} bytes came out of it, of {size}")
    if not has_pvh_entry(elf):
        raise NotPossible("it was built without an entry for PVH (CONFIG_PVH)")
    return elf


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, target = map(pathlib.Path, sys.argv[1:])
    try:
        elf = unpack(source.read_bytes())
    except (NotPossible, struct.error, OSError) as error:
        print(f"{source}: guests unpack it themselves, 2 s each: {error}", file=sys.stderr)
        return 2
    new = target.with_name(target.name + ".new")
    new.write_bytes(elf)
    new.rename(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
