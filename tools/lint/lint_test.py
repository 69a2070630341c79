# SPDX-License-Identifier: BSD-2-Clause
"""Tests of what lint says where it cannot look.

    python3 -m unittest discover -s tools/lint -p '*_test.py'
"""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

import floors

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

    def floors(self, lower, upper):
        """What is said of a module of two files."""
        for name, text in (("lower.c", lower), ("upper.c", upper)):
            (self.clone / name).write_text(text)
        (self.clone / "Kbuild").write_text("exrnic-y := \\\n\tlower.o \\\n\tupper.o\n")
        return list(floors.faults(self.clone, floors.modules((self.clone / "Kbuild").read_text())["exrnic"]))

    def test_a_floor_that_needs_what_is_above_it_is_found(self):
        above = "int exrnic_above(struct exrnic_device *edev,\n\t\t int (*run)(void))\n{\n}\n"
        below = "void exrnic_below(void)\n{\n}\n"
        call = "static void exrnic_user(void)\n{\n\texrnic_%s();\n}\n"
        self.assertEqual(self.floors(below, above + call % "below"), [])
        self.assertEqual(self.floors(below + "/* exrnic_above() */\n", above), [])
        found, = self.floors(below + call % "above", above)
        self.assertIn("uses exrnic_above of upper.c", found)

    def test_a_floor_that_needs_a_variable_above_it_is_found(self):
        found, = self.floors("int exrnic_a(void)\n{\n\treturn exrnic_ops.x;\n}\n",
                             "const struct ops exrnic_ops = {\n};\n")
        self.assertIn("uses exrnic_ops of upper.c", found)


if __name__ == "__main__":
    unittest.main()
