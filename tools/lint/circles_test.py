# SPDX-License-Identifier: BSD-2-Clause
"""Tests of which includes go the wrong way.

    python3 -m unittest discover -s tools/lint -p '*_test.py'
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

_CIRCLES = pathlib.Path(__file__).resolve().with_name("circles.py")


class Circles(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.clone = pathlib.Path(scratch.name)

    def judge(self, files):
        """Status and lines, of these files with what they include."""
        for name, includes in files.items():
            path = self.clone / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f'#include "{include}"\n' for include in includes))
        result = subprocess.run([sys.executable, _CIRCLES, *files], cwd=self.clone, text=True,
                                stdout=subprocess.PIPE, check=False)
        return result.returncode, result.stdout.splitlines()

    def test_a_pair_and_what_lies_below_are_no_trouble(self):
        self.assertEqual(self.judge({
            "sim/pcie/link.cc": ["sim/pcie/link.h", "sim/posix/file.h", "vector.h"],
            "sim/pcie/link.h": ["sim/posix/file.h"],
            "sim/posix/file.h": [],
            "sim/posix/file_test.cc": ["sim/pcie/link.h", "sim/testing/fake.h"],
            "sim/testing/fake.h": []}), (0, []))

    def test_two_files_that_need_each_other_are_a_circle(self):
        status, lines = self.judge({
            "libverbs-lite/src/cq.h": [], "libverbs-lite/src/cq.cc": ["cq.h", "rnic.h"],
            "libverbs-lite/src/rnic.h": [], "libverbs-lite/src/rnic.cc": ["cq.h"]})
        self.assertEqual(status, 1)
        self.assertEqual(lines, [
            "circle: libverbs-lite/src/cq -> libverbs-lite/src/rnic -> libverbs-lite/src/cq"])

    def test_each_circle_is_told_also_a_long_one_among_tests(self):
        status, lines = self.judge({
            "firmware/app/a.c": ["app/b.h"], "firmware/app/b.c": ["app/a.h"],
            "firmware/app/a.h": [], "firmware/app/b.h": [],
            "tests/x.h": ["tests/y.h"], "tests/y.h": ["z.h"], "tests/z.h": ["tests/x.h"]})
        self.assertEqual(status, 1)
        self.assertEqual(lines, ["circle: firmware/app/a -> firmware/app/b -> firmware/app/a",
                                 "circle: tests/x -> tests/y -> tests/z -> tests/x"])

    def judge_texts(self, files):
        """Likewise of files with their texts."""
        for name, text in files.items():
            path = self.clone / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        result = subprocess.run([sys.executable, _CIRCLES, *files], cwd=self.clone, text=True,
                                stdout=subprocess.PIPE, check=False)
        return result.returncode, result.stdout.splitlines()

    def test_python_files_that_import_each_other_are_a_circle_also_inside_a_function(self):
        status, lines = self.judge_texts({
            "tools/a.py": "import os\nimport b\n",
            "tools/b.py": "def late():\n    from c import thing\n",
            "tools/c.py": "from tools import a\n"})
        self.assertEqual(status, 1)
        self.assertEqual(lines, ["circle: tools/a.py -> tools/b.py -> tools/c.py -> tools/a.py"])

    def test_classes_of_java_that_name_each_other_are_a_circle_also_in_another_package(self):
        status, lines = self.judge_texts({
            "src/org/A.java": "class A { B b; }", "src/org/B.java": "import org.deep.C;\nclass B { C c; }",
            "src/org/deep/C.java": "import org.A;\nclass C { A a; }", "src/org/deep/D.java": "class D { C c; A a; }"})
        self.assertEqual(status, 1)
        self.assertEqual(lines, ["circle: src/org/A.java -> src/org/B.java -> src/org/deep/C.java -> src/org/A.java"])

    def test_what_comments_and_texts_of_java_name_is_not_needed(self):
        self.assertEqual(self.judge_texts({
            "src/A.java": "class A { B b; }", "src/B.java": '/** {@link A} */ class B { String a = "A \\" A"; } // A'}),
            (0, []))

    def test_python_files_that_import_one_way_are_no_trouble(self):
        self.assertEqual(self.judge_texts({
            "tools/a.py": "import b, c\n", "tools/b.py": "from . import c\n",
            "tools/c.py": "import a_b\nimport json\n"}), (0, []))

    def test_a_python_file_and_one_of_c_with_its_name_are_two(self):
        self.assertEqual(self.judge_texts({
            "tools/a.py": "import b\n", "tools/b.py": "", "tools/a.cc": '#include "b.h"\n'}), (0, []))

    def test_a_folder_knows_none_above_it_nor_beside_it(self):
        status, lines = self.judge({
            "sim/pcie/link.h": ["sim/app/options.h", "sim/ethernet/mac.h"],
            "sim/app/options.h": [], "sim/ethernet/mac.h": []})
        self.assertEqual(status, 1)
        self.assertEqual(lines, [
            'sim/pcie/link.h includes "sim/app/options.h": sim/app is not below sim/pcie',
            'sim/pcie/link.h includes "sim/ethernet/mac.h": sim/ethernet is not below sim/pcie'])

    def test_a_folder_without_a_level_and_what_is_the_tests_are_told(self):
        status, lines = self.judge({
            "sim/new/thing.h": ["sim/posix/file.h"], "sim/posix/file.h": ["sim/testing/fake.h"],
            "sim/testing/fake.h": []})
        self.assertEqual(status, 1)
        self.assertEqual(lines, [
            'sim/new/thing.h includes "sim/posix/file.h": sim/new has no level yet: '
            'tools/lint/circles.py',
            'sim/posix/file.h includes "sim/testing/fake.h": only tests may'])

    def test_of_files_of_one_name_the_nearest_is_meant(self):
        self.assertEqual(self.judge({
            "libverbs-lite/src/sim/link.h": ["transport/transport.h", "link_test.h"],
            "libverbs-lite/src/transport/transport.h": [],
            "sim/vfio_user/transport.h": []}), (0, []))


if __name__ == "__main__":
    unittest.main()
