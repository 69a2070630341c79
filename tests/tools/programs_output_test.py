#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A program whose results are lost, or that has none, does not end as one that did its work.

    tests/tools/programs_output_test.py EXRNIC-SIM FOLDER    FOLDER has the programs
"""

import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

_SECONDS = 60
_FULL = "/dev/full"
# Those of two processes with a line between them, and what makes each short.
_PROGRAMS = {"exrnic-demo": (), "exrnic-push": ("--sizes", "8", "--ops", "1"),
             "exrnic-pingpong": ("--sizes", "8", "--rounds", "1")}


class Output(unittest.TestCase):
    simulator = None
    programs = None

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        nodes = [argument for node in (0, 1) for argument in ("--node", f"vfio-user:{node}.sock")]
        log = self.scratch / "sim.log"
        with open(log, "wb") as output:
            simulator = subprocess.Popen([self.simulator, "--core", "ref", *nodes], cwd=self.scratch,
                                         stdout=output, stderr=subprocess.STDOUT)
        self.addCleanup(simulator.wait)
        self.addCleanup(simulator.kill)
        deadline = time.monotonic() + _SECONDS
        while "ready" not in log.read_text():
            self.assertLess(time.monotonic(), deadline, log.read_text())
            time.sleep(0.01)

    def run_both(self, name, arguments, output_of_0):
        """Runs it at both nodes; returns their statuses, and what node 0 said on its error output."""
        with open(output_of_0, "w") as output:
            processes = [
                subprocess.Popen([self.programs / name, "--node", str(node), "--oob", "unix:line",
                                  "--device", f"sim:{node}.sock", *arguments], cwd=self.scratch,
                                 stdout=output if node == 0 else subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True) for node in (0, 1)]
        said = [process.communicate(timeout=_SECONDS)[1] for process in processes]
        return [process.returncode for process in processes], said[0]

    def test_a_program_whose_results_a_full_disk_does_not_take_fails_and_says_so(self):
        for name, arguments in _PROGRAMS.items():
            with self.subTest(name):
                self.assertEqual(self.run_both(name, arguments, "/dev/null"), ([0, 0], ""))
                statuses, said = self.run_both(name, arguments, _FULL)
                self.assertEqual(statuses[0], 1)
                self.assertIn(f"{name}: the results could not all be written; is the disk full?", said)

    def test_checks_of_which_none_is_chosen_are_no_success(self):
        statuses, said = self.run_both("exrnic-guest-test", ("--only", "no such sentence"), "/dev/null")
        self.assertEqual(statuses, [1, 1])
        self.assertIn("no check has a text of --only", said)


if __name__ == "__main__":
    Output.programs = pathlib.Path(sys.argv.pop()).resolve()
    Output.simulator = pathlib.Path(sys.argv.pop()).resolve()
    unittest.main()
