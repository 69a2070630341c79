# SPDX-License-Identifier: BSD-2-Clause
"""Tests of what lint says where it cannot look.

    python3 -m unittest discover -s tools/lint -p '*_test.py'
"""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

_LINT = pathlib.Path(__file__).resolve().with_name("lint.sh")


class Lint(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.clone = pathlib.Path(scratch.name)
        (self.clone / "tools/lint").mkdir(parents=True)
        shutil.copy(_LINT, self.clone / "tools/lint")

    def run_in_clone(self, *command):
        # No configuration of this machine's, and no repository above the folder.
        result = subprocess.run(
            command, cwd=self.clone, capture_output=True, text=True, check=False,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.clone), "GIT_CONFIG_NOSYSTEM": "1",
                 "GIT_CEILING_DIRECTORIES": str(self.clone.parent)})
        return result.returncode, result.stdout, result.stderr

    def lint(self, *checks):
        return self.run_in_clone("tools/lint/lint.sh", *checks)

    def test_without_git_s_list_of_files_no_check_is_ok(self):
        status, out, err = self.lint("shell", "licence", "paths")
        self.assertEqual(status, 1)
        self.assertNotIn("ok", out)
        self.assertIn("nothing was checked", err)

    def test_a_path_of_one_machine_is_found_and_none_is_ok(self):
        self.run_in_clone("git", "init", "-q")
        self.run_in_clone("git", "add", ".")
        self.assertEqual(self.lint("paths")[:2], (0, "lint: paths ok\n"))
        (self.clone / "file").write_text("see /" + "home/me/notes")
        self.run_in_clone("git", "add", ".")
        status, out, _ = self.lint("paths")
        self.assertEqual(status, 1)
        self.assertIn("file:1:", out)


if __name__ == "__main__":
    unittest.main()
