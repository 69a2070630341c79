#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What programs see of SISCI: the functions of its header, by each of their names; a table of them; and a program
of the README, which is compiled and run at two nodes."""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

_FOLDER = pathlib.Path(__file__).resolve().parents[1]
_OPTIONS = argparse.Namespace()
_PREFIXES = ("", "_SISCI_PUBLIC_FUNC_ST_", "_SISCI_PUBLIC_FUNC_MT_")
_SECONDS = 60


def functions():
    header = (_FOLDER / "include/sisci_api.h").read_text()
    return sorted(re.findall(r"^SCI_API [^;]*?\b(SCI\w+)\(", header, re.MULTILINE))


class Names(unittest.TestCase):
    def test_the_library_exports_each_function_by_three_names_and_nothing_else(self):
        symbols = subprocess.run(["nm", "-D", "--defined-only", _OPTIONS.library], check=True,
                                 stdout=subprocess.PIPE, text=True).stdout
        exported = sorted(re.findall(r" T (\w+)@@SISCI_0$", symbols, re.MULTILINE))
        self.assertEqual(exported, sorted(prefix + name for prefix in _PREFIXES for name in functions()))
        self.assertGreater(len(functions()), 70)
        others = [line for line in symbols.splitlines() if not re.search(r" (T \w+@@|A )SISCI_0$", line)]
        self.assertEqual(others, [])

    def test_the_readme_has_every_function(self):
        named = set(re.findall(r"`(SCI[A-Za-z]\w+)`", (_FOLDER / "README.md").read_text()))
        self.assertEqual([name for name in functions() if name not in named], [])


class Program(unittest.TestCase):
    def test_the_program_of_the_readme_has_twenty_lines_and_runs_at_two_nodes(self):
        text = re.search(r"```c\n(.*?)```", (_FOLDER / "README.md").read_text(), re.DOTALL).group(1)
        self.assertLessEqual(len(text.splitlines()), 20)
        with tempfile.TemporaryDirectory(prefix="exrnic-sisci-") as place:
            self.run_in(pathlib.Path(place), text)

    def run_in(self, place, text):
        (place / "hello.c").write_text(text)
        library = pathlib.Path(_OPTIONS.library)
        subprocess.run(["cc", "-std=c11", "-Wall", "-Werror", "hello.c", "-o", "hello",
                        f"-I{_FOLDER / 'include'}", f"-L{library.parent}", "-lsisci"], cwd=place, check=True)
        nodes = [f"--node=vfio-user:{node}.sock" for node in (0, 1)]
        with subprocess.Popen([_OPTIONS.simulator, "--core=ref", *nodes], cwd=place, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as simulator:
            try:
                self.assertEqual(simulator.stdout.readline(), "exrnic-sim: ready\n")
                self.expect_greetings(place, str(library.parent))
            finally:
                simulator.kill()

    def expect_greetings(self, place, libraries):
        programs = [subprocess.Popen(["./hello", str(1 - node)], cwd=place, text=True, stdout=subprocess.PIPE,
                                     env={**os.environ, "VL_DEVICE": f"sim:{node}.sock",
                                          "LD_LIBRARY_PATH": libraries}) for node in (0, 1)]
        try:
            for node, program in enumerate(programs):
                out, _ = program.communicate(timeout=_SECONDS)
                self.assertEqual((program.returncode, out), (0, f"node {1 - node} was here\n"))
        finally:
            for program in programs:
                program.kill()
                program.communicate()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--simulator", required=True)
    _OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
