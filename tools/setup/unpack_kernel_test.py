# SPDX-License-Identifier: BSD-2-Clause
"""Tests of unpack_kernel.py, on images made here."""

import bz2
import gzip
import lzma
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

_PROGRAM = pathlib.Path(__file__).with_name("unpack_kernel.py")


def elf(note=18):
    """One program header, with one note of Xen."""
    header = b"\x7fELF\x02".ljust(32, b"\0") + struct.pack("<Q", 64)
    header = header.ljust(54, b"\0") + struct.pack("<HH", 56, 1)
    text = struct.pack("<III4sQ", 4, 8, note, b"Xen\0", 0x1000)
    table = struct.pack("<IIQQQQQQ", 4, 0, 64 + 56, 0, 0, len(text), len(text), 4)
    return header.ljust(64, b"\0") + table + text


def image(content, pack=gzip.compress, size=None):
    payload = pack(content) + struct.pack("<I", len(content) if size is None else size)
    head = bytearray(1024)
    head[0x1f1] = 1
    head[0x202:0x206] = b"HdrS"
    head[0x248:0x250] = struct.pack("<II", 16, len(payload))
    return bytes(head) + bytes(16) + payload


class Unpack(unittest.TestCase):
    def run_on(self, content):
        """Returns (status, what was unpacked or None, what was said)."""
        with tempfile.TemporaryDirectory() as scratch:
            source, target = pathlib.Path(scratch, "vmlinuz"), pathlib.Path(scratch, "vmlinux")
            source.write_bytes(content)
            done = subprocess.run([sys.executable, _PROGRAM, source, target], capture_output=True,
                                  text=True, check=False)
            return done.returncode, target.read_bytes() if target.exists() else None, done.stderr

    def test_a_kernel_comes_out_as_it_went_in_however_it_was_packed(self):
        for pack in (gzip.compress, bz2.compress, lzma.compress,
                     lambda text: subprocess.run(["lz4", "-lc"], input=text, capture_output=True,
                                                 check=True).stdout,
                     lambda text: subprocess.run(["zstd", "-qc"], input=text, capture_output=True,
                                                 check=True).stdout):
            self.assertEqual(self.run_on(image(elf(), pack)), (0, elf(), ""))

    def test_what_cannot_be_unpacked_is_left_with_its_reason(self):
        whole = image(elf())
        for content, reason in (
                (image(elf(note=17)), "without an entry for PVH"),
                (image(elf(), size=7), "bytes came out of it, of 7"),
                (image(b"no ELF file"), "bytes came out of it"),
                (image(elf(), pack=lambda text: b"????" + text), "in an unknown way, 3f3f3f3f"),
                (whole[:-20], "cut off"),
                (whole[:1060] + b"?" * 8 + whole[1068:], "cannot be unpacked"),
                (b"", "no x86 boot image")):
            status, out, said = self.run_on(content)
            self.assertEqual((status, out), (2, None), reason)
            self.assertIn(reason, said)


if __name__ == "__main__":
    unittest.main()
