#!/usr/bin/env python3
# SPDX-License-Identifier: (GPL-2.0 OR Linux-OpenIB)
"""What "make install PARTS=provider" puts where: libibverbs has to find it by what the driver file says."""

import pathlib
import subprocess
import tempfile
import unittest

_CLONE = pathlib.Path(__file__).resolve().parents[2]
_BUILT = _CLONE / "build/provider/libexrnic-rdmav34.so"
# What libibverbs puts to a path that a driver file has (its private ABI).
_SUFFIX = "-rdmav34.so"


class Installed(unittest.TestCase):
    def setUp(self):
        if not _BUILT.is_file():
            self.fail("there is no provider: make provider")
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)

    def install(self, prefix):
        return subprocess.run([_CLONE / "tools/install_provider.sh", self.root, prefix],
                              capture_output=True, text=True, check=False)

    def files(self):
        return sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file())

    def driver(self):
        return (self.root / "etc/libibverbs.d/exrnic.driver").read_text()

    def test_below_a_prefix_the_driver_file_leads_to_it(self):
        self.assertEqual(self.install("/opt/x").returncode, 0)
        keyword, name = self.driver().split()
        self.assertEqual(keyword, "driver")
        self.assertEqual((self.root / (name + _SUFFIX).lstrip("/")).read_bytes(), _BUILT.read_bytes())
        self.assertEqual(len(self.files()), 2)

    def test_in_usr_it_is_where_the_library_looks_by_itself(self):
        self.assertEqual(self.install("/usr").returncode, 0)
        self.assertEqual(self.driver(), (_BUILT.parent / "exrnic.driver").read_text())
        self.assertEqual(self.files(), ["etc/libibverbs.d/exrnic.driver",
                                        "usr/lib/x86_64-linux-gnu/libibverbs/libexrnic-rdmav34.so"])

    def test_a_prefix_that_is_no_path_is_refused_by_name(self):
        result = self.install("here")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("PREFIX=here", result.stderr)
        self.assertEqual(self.files(), [])


if __name__ == "__main__":
    unittest.main()
