# SPDX-License-Identifier: BSD-2-Clause
"""Tests of bare.py by --processes, with a program of fakes.py in place of exrnic-sim."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import fakes
import placeholders

_LAUNCHER = pathlib.Path(__file__).resolve().parent


class Processes(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def launch(self, *arguments, sim=fakes.READY + fakes.SERVE):
        fakes.program(self.scratch, "sim", sim)
        return subprocess.run(
            [sys.executable, _LAUNCHER, "--processes", "--directory", self.scratch / "run", "--sim",
             self.scratch / "sim", "--programs", self.scratch, *arguments],
            capture_output=True, text=True, check=False)

    def test_each_node_has_its_number_its_rnic_and_the_addresses_of_all(self):
        fakes.program(self.scratch, "tell", 'echo "@exrnic {\\"node\\": $1, \\"of\\": $2, \\"rnic\\": \\"$VL_DEVICE\\"}"\n')
        run = self.launch("--guests", "3", "run", "tell {node} {nodes}; echo {oob} {addresses}")
        self.assertEqual(run.returncode, 0, run.stderr)
        for node in range(3):
            self.assertIn(f"{node}: {{'node': {node}, 'of': 3, 'rnic': 'sim:{node}.sock'}}", run.stdout)
        self.assertRegex((self.scratch / "run/process2.log").read_text(), r"unix:\S+ (127\.\d+\.\d+\.\d+:\d+,?){3}\n")
        self.assertEqual(fakes.survivors(self.scratch / "run"), [])

    def test_the_first_that_fails_ends_all_with_its_status(self):
        run = self.launch("run", "echo $$ >> pids; [ {node} = 0 ] && exec sleep 600; echo oh; exit 4")
        self.assertEqual(run.returncode, 4)
        self.assertIn("the process at node 1 ended with status 4", run.stderr)
        self.assertIn("| oh", run.stderr)
        self.assertEqual(fakes.survivors(self.scratch / "run"), [])

    def test_a_simulator_that_refuses_is_blamed(self):
        run = self.launch("run", "true", sim="echo 'no such profile'; exit 2\n")
        self.assertIn("exrnic-sim ended with status 2", run.stderr)
        self.assertIn("no such profile", run.stderr)

    def test_what_only_guests_have_is_refused(self):
        for option in ("--world", "--iommu", "--ethernet", "--time=sync", f"--put={__file__}"):
            run = self.launch(option, "run", "true")
            self.assertEqual(run.returncode, 2, option)
            self.assertIn("there are none with --processes", run.stderr)
        self.assertIn("--processes: it goes with", self.launch("push").stderr)

    def test_a_launch_whose_parent_is_gone_ends(self):
        run = self.launch("--parent", "1", "run", "sleep 600")
        self.assertEqual(run.returncode, 143)
        self.assertIn("no process is left behind", run.stderr)


class Placeholders(unittest.TestCase):
    def test_guests_and_processes_have_the_same(self):
        command = "{node} {nodes} {oob} {addresses} ${kept}"
        self.assertEqual(placeholders.of_guests(2).fill(command, 1),
                         "1 2 /dev/ttyS1 10.101.0.0:7471,10.101.0.1:7471 ${kept}")
        self.assertRegex(placeholders.of_processes(2).fill(command, 0), r"^0 2 unix:oob\.sock 127\.")

    def test_many_nodes_have_addresses_of_their_own(self):
        addresses = placeholders.of_processes(600).addresses
        self.assertEqual(len(set(addresses)), 600)
        self.assertFalse(any(address.partition(":")[0].endswith((".0", ".255")) for address in addresses))


if __name__ == "__main__":
    unittest.main()
