#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the plugin of synchronised time refuses, and in which words: a QEMU is started wrongly and must end by itself.

    time_plugin_test.py SIMULATOR PLUGIN
"""

import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

_CLONE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(_CLONE / "sim/launch"))

import found  # noqa: E402 (the launcher is no installed package)
import processes  # noqa: E402
import sync_time  # noqa: E402

_SECONDS = 60


class Refusals(unittest.TestCase):
    simulator = plugin = None

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = pathlib.Path(scratch.name)
        children = processes.Processes(self.directory)
        self.addCleanup(children.kill_all)
        log = self.directory / "sim.log"
        children.start([self.simulator, "--node", "vfio-user:node0.sock", "--time", "sync:time.clock"], log)
        deadline = time.monotonic() + _SECONDS
        while "ready" not in log.read_text():
            self.assertLess(time.monotonic(), deadline, f"exrnic-sim was not ready in {_SECONDS} s")
            time.sleep(0.02)

    def refusal(self, change=lambda line: line, more=()):
        """What a QEMU says whose arguments were changed so."""
        line = [found.found("QEMU"), "-M", "q35", "-m", "64M", "-nodefaults", "-display", "none",
                *change(sync_time.Sync(pathlib.Path(self.plugin)).qemu_arguments(0)), *more]
        done = subprocess.run(line, cwd=self.directory, timeout=_SECONDS, text=True, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    def with_plugin(self, arguments):
        return self.refusal(lambda line: [f"{self.plugin}{arguments}" if word.startswith(self.plugin) else word
                                          for word in line])

    def test_more_than_one_vcpu(self):
        self.assertIn("a guest in synchronised time has one vCPU; use -smp 1", self.refusal(more=("-smp", "2")))

    def test_a_guest_whose_instructions_are_not_counted(self):
        def without_icount(line):
            at = line.index("-icount")
            return line[:at] + line[at + 2:]
        self.assertIn("start it with -accel tcg,thread=single -icount shift=0,sleep=off",
                      self.refusal(without_icount))

    def test_instructions_of_another_length_than_the_profile_says(self):
        said = self.refusal(lambda line: [word.replace("shift=0", "shift=2") for word in line])
        self.assertIn("-icount shift makes an instruction 4 ns long; the simulator's profile says 1", said)

    def test_a_clock_that_is_not_there(self):
        self.assertIn("start exrnic-sim --time sync:FILE first", self.with_plugin(",clock=none,guest=0"))

    def test_a_guest_that_the_simulator_does_not_have(self):
        self.assertIn("the simulator has no guest of this number", self.with_plugin(",clock=time.clock,guest=7"))

    def test_a_file_that_is_no_clock(self):
        (self.directory / "other").write_bytes(bytes(4 << 20))
        self.assertIn("the file is no clock of this version", self.with_plugin(",clock=other,guest=0"))

    def test_arguments_that_are_missing_or_unknown(self):
        self.assertIn("give it clock=FILE and guest=N", self.with_plugin(",clock=time.clock"))
        self.assertIn("speed=9: no such argument", self.with_plugin(",speed=9"))
        self.assertIn("guest=1: it is given before, too; give it once",
                      self.with_plugin(",clock=time.clock,guest=0,guest=1"))
        for number in ("one", "0x0", "-1", ""):
            self.assertIn("write guest=N, a whole number", self.with_plugin(f",clock=time.clock,guest={number}"))
        self.assertIn("the simulator has no guest of this number",
                      self.with_plugin(",clock=time.clock,guest=4294967296"))

    def test_a_serial_line_that_leads_nowhere(self):
        arguments = ",clock=time.clock,guest=0,line="
        self.assertIn("write line=ID:N", self.with_plugin(f"{arguments}channel"))
        self.assertIn("write line=ID:N", self.with_plugin(f"{arguments}channel:first"))
        self.assertIn("line= names no other guest", self.with_plugin(f"{arguments}channel:0"))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    Refusals.plugin, Refusals.simulator = sys.argv.pop(), sys.argv.pop()
    unittest.main()
