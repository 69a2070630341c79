# SPDX-License-Identifier: BSD-2-Clause
"""Tests of demo.py, with programs of fakes.py in place of exrnic-sim and what moves the bytes.

    python3 -m unittest discover -s sim/launch -p '*_test.py'
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import fakes

_LAUNCHER = pathlib.Path(__file__).resolve().parent
_FIND_NODE = 'while [ "$1" != --node ]; do shift; done; node=$2\n'


def row(operation, ops=5, verified=5):
    return (f'echo \'@exrnic {{"operation":"{operation}","from":0,"to":1,"size":4096,"ops":{ops},'
            f'"verified":{verified},"time_us":2.0,"wall_ms":1.5}}\'\n')


_ALL_ROWS = row("PUSH") + row("PULL") + row("SEND", 65, 65)


class Verdict(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def demo(self, program, name="exrnic-demo", arguments=(), sim=fakes.READY + fakes.SERVE):
        """Runs it with what the process at node 0 does; returns (status, stdout, stderr)."""
        fakes.program(self.scratch, "sim", sim)
        fakes.program(self.scratch, name, _FIND_NODE + f"[ $node = 0 ] || exit 0\n{program}")
        result = subprocess.run(
            [sys.executable, _LAUNCHER / "demo.py", "--directory", self.scratch / "run", "--sim",
             self.scratch / "sim", "--program", self.scratch / name, *arguments],
            capture_output=True, text=True, check=False)
        return result.returncode, result.stdout, result.stderr

    def refused(self, program, because, **how):
        status, out, err = self.demo(program, **how)
        self.assertEqual(status, 1, out)
        self.assertIn(because, err)
        self.assertNotIn("OK", out)

    def test_rows_become_a_table_and_are_counted(self):
        status, out, err = self.demo(_ALL_ROWS)
        self.assertEqual((status, err), (0, ""))
        self.assertRegex(out, r"PUSH  node 0 -> node 1 +4 KiB +5 +2\.00 us +2\.05 GB/s +1\.5 ms")
        self.assertIn("OK: 75 operations, every byte compared", out)

    def test_a_program_that_printed_nothing_is_no_success(self):
        self.refused("exit 0\n", "nothing was compared")
        self.refused("echo 'Usage: exrnic-demo [OPTIONS]'\n", "nothing was compared",
                     arguments=("--", "--help"))

    def test_a_program_that_could_not_print_is_no_success(self):
        self.refused(row("PUSH") + "echo full >&2; exit 1\n", "node 0 ended with status 1")

    def test_a_simulator_that_ends_is_blamed_for_the_programs(self):
        status, _, err = self.demo("sleep 0.3; exit 1\n",
                                   sim=fakes.READY + "sleep 0.5; echo 'it does not hold'; exit 1\n")
        self.assertEqual(status, 1)
        self.assertIn("exrnic-sim ended with status 1", err)
        self.assertIn("it does not hold", err)

    def test_an_operation_that_was_not_compared_is_no_success(self):
        self.refused(_ALL_ROWS + row("PUSH", verified=4), "only 4 of 5 operations arrived intact")
        self.refused(_ALL_ROWS + row("PUSH", 0, 0), "only 0 of 0 operations arrived intact")

    def test_a_kind_of_operation_that_is_missing_is_named(self):
        self.refused(row("PUSH") + row("SEND"), "no result of PULL")

    def test_a_row_that_is_cut_short_is_no_success(self):
        self.refused(_ALL_ROWS + "echo '@exrnic {\"operation\":\"PU'\n", "cannot be read")
        self.refused("echo '@exrnic {\"size\":8}'\n", "cannot be read", name="exrnic-other")

    def test_rows_of_another_program_are_counted_and_shown_as_they_are(self):
        line = '@exrnic {"size":8,"rounds":16,"verified":16,"rtt_us":2.5}'
        status, out, err = self.demo(f"echo '{line}'\n", name="exrnic-pingpong")
        self.assertEqual((status, err), (0, ""))
        self.assertIn(f"\n{line}\n", out)
        self.assertIn("OK: 16 operations", out)


if __name__ == "__main__":
    unittest.main()
