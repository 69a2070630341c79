# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the guest image.

    python3 -m unittest discover -s sim/guest -p '*_test.py'
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import make_initramfs
import newc


class Newc(unittest.TestCase):
    def unpacked(self, archive):
        """What another implementation of the format finds in the archive."""
        with tempfile.TemporaryDirectory() as scratch:
            subprocess.run(["busybox", "cpio", "-idm"], input=archive, cwd=scratch, check=True,
                           capture_output=True)
            root = pathlib.Path(scratch)
            return {str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mode & 0o777)
                    for path in root.rglob("*") if path.is_file()}

    def test_busybox_unpacks_what_was_packed(self):
        archive = newc.Archive()
        archive.file("bin/tool", b"\x7fELF", executable=True)
        archive.file("etc/deep/er/name", b"12345")
        archive.file("empty", b"")
        self.assertEqual(self.unpacked(archive.finish()),
                         {"bin/tool": (b"\x7fELF", 0o755),
                          "etc/deep/er/name": (b"12345", 0o644), "empty": (b"", 0o644)})

    def test_an_archive_ends_where_another_can_follow(self):
        archive = newc.Archive()
        archive.file("x", b"1")
        self.assertEqual(len(archive.finish()) % 512, 0)

    def test_an_entry_has_the_bytes_of_the_kernel_s_format(self):
        archive = newc.Archive()
        archive.character_device("console", 5, 1)
        expected = (b"070701" b"00000001" b"00002180" b"00000000" b"00000000" b"00000001"
                    b"00000000" b"00000000" b"00000000" b"00000000" b"00000005" b"00000001"
                    b"00000008" b"00000000" b"console\0" b"\0\0")
        self.assertEqual(archive.finish()[:len(expected)], expected)


class MakeInitramfs(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def file(self, name, content):
        path = self.scratch / name
        path.write_bytes(content)
        return path

    def test_the_same_input_gives_the_same_bytes_whatever_its_order_and_age(self):
        busybox, module = self.file("busybox", b"b"), self.file("exrnic.ko", b"k")
        one, two = self.file("one", b"1"), self.file("two", b"2")
        first = make_initramfs.build(busybox, [module], [one, two])
        os.utime(one, (1, 1))
        self.assertEqual(make_initramfs.build(busybox, [module], [two, one]), first)

    def test_without_a_module_there_is_no_image_and_a_line_that_names_the_folder(self):
        output = self.scratch / "image"
        done = subprocess.run([sys.executable, make_initramfs.__file__, "--output", output, "--modules", self.scratch],
                              capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"no kernel module in {self.scratch}", done.stderr)
        self.assertFalse(output.exists())

    def test_an_unchanged_image_is_not_written_again(self):
        image = self.scratch / "image"
        make_initramfs.write_if_changed(image, b"same")
        os.utime(image, (1, 1))
        make_initramfs.write_if_changed(image, b"same")
        self.assertEqual(image.stat().st_mtime, 1)
        make_initramfs.write_if_changed(image, b"other")
        self.assertEqual(image.read_bytes(), b"other")


if __name__ == "__main__":
    unittest.main()
