#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Files are put into guests, and taken out of them, byte by byte; what cannot be is named.

    tests/guest/guest_files_test.py
"""

import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

_CLONE = pathlib.Path(__file__).resolve().parents[2]
_DIRECTORY = _CLONE / "build/run/guest_files_test"


def launch(*arguments):
    return subprocess.run(
        [sys.executable, _CLONE / "sim/launch", "--directory", _DIRECTORY, "--sim-argument=--core",
         "--sim-argument=ref", *arguments], capture_output=True, text=True, check=False)


class Files(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.program = self.scratch / "own-program"
        self.program.write_text("#!/bin/sh\ncat /data/tree/*/bytes > /data/all; exit $1\n")
        self.program.chmod(0o755)
        self.tree = self.scratch / "tree"
        self.contents = {}
        for name in "one", "with blank":
            (self.tree / name).mkdir(parents=True)
            self.contents[name] = random.Random(name).randbytes(70001)
            (self.tree / name / "bytes").write_bytes(self.contents[name])
        (self.tree / "link").symlink_to("one/bytes")

    def test_guests_have_what_is_put_in_and_give_what_is_taken_out(self):
        done = launch("--put", self.program, "--put", f"{self.tree}:/data/", "--take", "/data/all", "--take",
                      "/data/tree", "run", "own-program 0")
        self.assertEqual(done.returncode, 0, done.stderr)
        for node in "01":
            taken = _DIRECTORY / f"guest{node}"
            self.assertEqual((taken / "data/all").read_bytes(), b"".join(self.contents.values()))
            self.assertEqual(os.readlink(taken / "data/tree/link"), "one/bytes")
            for name, content in self.contents.items():
                self.assertEqual((taken / "data/tree" / name / "bytes").read_bytes(), content)

    def test_a_command_that_fails_leaves_its_files_and_what_is_not_there_is_named(self):
        done = launch("--guests", "1", "--put", self.program, "--take", "/data/all", "--take", "/data/none",
                      "run", "mkdir -p /data/tree/x; echo rest > /data/tree/x/bytes; own-program 3")
        self.assertEqual(done.returncode, 3)
        self.assertIn("guest 0: its command failed with status 3", done.stderr)
        self.assertEqual((_DIRECTORY / "guest0/data/all").read_text(), "rest\n")
        done = launch("--guests", "1", "--take", "/data/none", "run", "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("guest 0: there is no /data/none to be taken out", done.stderr)

    def test_more_than_a_guest_s_memory_holds_is_refused_before_it_boots(self):
        large = self.scratch / "large"
        with open(large, "wb") as file:
            file.truncate(230 << 20)
        done = launch("--put", large, "run", "true")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "a guest of --memory 512M has room for 224 MiB of files; .* are 2[0-9]+ MiB")


if __name__ == "__main__":
    unittest.main()
