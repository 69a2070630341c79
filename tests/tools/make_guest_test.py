#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""On a fresh clone "make run" builds what it starts, and no more: each file of the guests' image has a target there."""

import pathlib
import re
import subprocess
import unittest

_ROOT = pathlib.Path(__file__).resolve().parents[2]


class MakeGuest(unittest.TestCase):
    def test_what_is_put_into_the_image_is_built_before(self):
        commands = subprocess.run(["make", "--dry-run", "guest"], cwd=_ROOT, check=True, stdout=subprocess.PIPE,
                                  text=True).stdout.replace("\\\n", " ")
        targets = set(re.search(r"cmake --build build/host .*?--target (.*)", commands)[1].split())
        content = re.search(r"make_initramfs\.py (.*)", commands)[1].split()
        built = {pathlib.Path(word).stem for word in content if word.startswith("build/host/")}
        self.assertGreater(len(built), 10)
        self.assertLessEqual(built, targets)


if __name__ == "__main__":
    unittest.main()
