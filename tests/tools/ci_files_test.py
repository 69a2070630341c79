#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What docs/ci gives to copy names targets, files and options that there are, and no package that set-up lacks."""

import pathlib
import re
import subprocess
import unittest

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_FOLDER = _ROOT / "docs/ci"


class CiFiles(unittest.TestCase):
    def test_each_target_of_make_that_is_named_is_one(self):
        named = set()
        for path in _FOLDER.iterdir():
            named |= set(re.findall(r'\bmake(?:", "| -C exrnic | )([a-z-]+)', path.read_text()))
        named -= {"python"}  # of a list of packages
        self.assertGreaterEqual(named, {"guest", "run", "shell"})
        targets = set(re.findall(r"^([a-z-]+):.*## ", (_ROOT / "Makefile").read_text(), re.MULTILINE)) | {"guest"}
        self.assertLessEqual(named, targets)

    def test_the_commands_of_the_workflow_are_shell_and_pytest_finds_the_fixtures(self):
        commands = re.findall(r"^      - run: (.*)$", (_FOLDER / "driver.yml").read_text(), re.MULTILINE)
        self.assertEqual(len(commands), 3)
        for command in commands:
            subprocess.run(["bash", "-n", "-c", command], check=True)
        said = subprocess.run(["python3", "-B", "-m", "pytest", "-p", "no:cacheprovider", "-p", "exrnic.pytest_plugin", "--fixtures", "-q",
                               "python/test/fixtures_test.py"],
                              cwd=_ROOT, env={"PYTHONPATH": "python", "PATH": "/usr/bin:/bin"}, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
        for fixture in ("exrnic_guests", "exrnic_sim"):
            self.assertIn(fixture, said)


if __name__ == "__main__":
    unittest.main()
