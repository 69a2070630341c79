#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What programs see of SISCI: the functions of its header, by each of their names; a table of them; a program of the README,
which is compiled and run at two nodes; and the benchmarks."""

import argparse
import os
import pathlib
import re
import shutil
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


class AtTwoNodes(unittest.TestCase):
    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="exrnic-sisci-"))
        self.addCleanup(shutil.rmtree, self.place)
        nodes = [f"--node=vfio-user:{node}.sock" for node in (0, 1)]
        # pylint: disable-next=consider-using-with
        simulator = subprocess.Popen([_OPTIONS.simulator, "--core=ref", *nodes], cwd=self.place, text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(simulator.communicate)
        self.addCleanup(simulator.kill)
        self.assertEqual(simulator.stdout.readline(), "exrnic-sim: ready\n")

    def outputs(self, *commands):
        """Of one at each node."""
        programs = [subprocess.Popen(command, cwd=self.place, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                     env={**os.environ, "VL_DEVICE": f"sim:{node}.sock",
                                          "LD_LIBRARY_PATH": str(pathlib.Path(_OPTIONS.library).parent)})
                    for node, command in enumerate(commands)]
        try:
            outs = [program.communicate(timeout=_SECONDS)[0] for program in programs]
            self.assertEqual([program.returncode for program in programs], [0, 0], outs)
            return outs
        finally:
            for program in programs:
                program.kill()
                program.communicate()


class Program(AtTwoNodes):
    def test_the_program_of_the_readme_has_twenty_lines_and_runs_at_two_nodes(self):
        text = re.search(r"```c\n(.*?)```", (_FOLDER / "README.md").read_text(), re.DOTALL).group(1)
        self.assertLessEqual(len(text.splitlines()), 20)
        (self.place / "hello.c").write_text(text)
        library = pathlib.Path(_OPTIONS.library)
        subprocess.run(["cc", "-std=c11", "-Wall", "-Werror", "hello.c", "-o", "hello",
                        f"-I{_FOLDER / 'include'}", f"-L{library.parent}", "-lsisci"], cwd=self.place, check=True)
        self.assertEqual(self.outputs(["./hello", "1"], ["./hello", "0"]), [f"node {1 - node} was here\n" for node in (0, 1)])


class Benchmarks(AtTwoNodes):
    def lines(self, name, *options):
        """What the client prints below its head; the server prints nothing."""
        program = pathlib.Path(_OPTIONS.programs) / name
        server, client = self.outputs([program, "-server", "-rn", "1", *options], [program, "-client", "-rn", "0", *options])
        self.assertEqual(server, "")
        return client[client.index("\n") + 1:].splitlines()

    def expect(self, lines, pattern, sizes):
        self.assertEqual([int(re.fullmatch(pattern, line)[1]) for line in lines], sizes)

    def test_each_prints_a_line_for_each_size_one_after_the_other(self):
        rate = r" +(\d+) +\d+\.\d\d us +\d+\.\d\d MBytes/s"
        self.expect(self.lines("scipp", "-loops", "3")[1:], r" +(\d+) +\d+ +\d+\.\d\d +\d+\.\d\d",
                    [4 << step for step in range(12)])
        self.expect(self.lines("scibench", "-loops", "2"), rate, [4 << step for step in range(15)])
        for options in ((), ("-queues", "3"), ("-pull",)):
            self.expect(self.lines("dma_bench", "-loops", "4", *options), rate, [64 << step for step in range(14)])
        for options in ((), ("-data",)):
            self.expect(self.lines("intr_bench", "-loops", "5", *options), r" +(\d+) +\d+\.\d\d +\d+\.\d\d", [5])

    def test_a_number_of_queues_that_there_is_not_is_told_with_the_limits(self):
        for number in ("0", "65", "x"):
            told = subprocess.run([pathlib.Path(_OPTIONS.programs) / "dma_bench", "-client", "-rn", "0", "-queues", number],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(told.returncode, 2)
            self.assertIn("1 to 64", told.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--simulator", required=True)
    parser.add_argument("--programs", required=True, help="the folder of the benchmarks")
    _OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
