# SPDX-License-Identifier: BSD-2-Clause
"""What synchronised time asks of QEMU, and what it refuses."""

import os
import pathlib
import tempfile
import unittest

from errors import LaunchError
import guest
import sync_time


class SynchronisedTime(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = pathlib.Path(scratch.name)
        self.plugin = self.directory / "plugin.so"
        self.plugin.touch()

    def qemu(self, usage):
        program = self.directory / "qemu"
        program.write_text(f"#!/bin/sh\necho '{usage}'\n")
        program.chmod(0o755)
        return str(program)

    def refusal(self, qemu, accelerator="tcg"):
        with self.assertRaises(LaunchError) as caught:
            sync_time.Sync(self.plugin).check(qemu, accelerator)
        return str(caught.exception)

    def test_each_guest_counts_instructions_and_knows_its_number(self):
        line = guest.qemu_command("qemu", "kernel", "initramfs", "socket", "true", time_arguments=(
            sync_time.Sync(self.plugin, 4).qemu_arguments(1)))
        self.assertIn("shift=2,sleep=off", line)
        self.assertIn(f"{self.plugin},clock=time.clock,guest=1", line)
        self.assertNotIn("tcg,thread=multi", line)
        self.assertIn('"x-msg-timeout": 600000', line[line.index("-device") + 1])
        self.assertIn("exrnic.clock=tsc", line[line.index("-append") + 1])

    def test_the_plugin_joins_the_second_serial_ports_of_a_pair(self):
        line = guest.qemu_command(
            "qemu", "kernel", "initramfs", "socket", "true", channel=guest.TIMED_CHANNEL,
            time_arguments=sync_time.Sync(self.plugin).qemu_arguments(2, 0))
        self.assertIn(f"{self.plugin},clock=time.clock,guest=2,line=channel:0", line)
        self.assertIn("ringbuf,id=channel,size=65536", line)
        self.assertEqual(line[-1], "chardev:channel")

    def test_what_an_instruction_takes_comes_from_the_profile(self):
        self.assertEqual(sync_time.of_profile("dc-25g", self.plugin).instruction_ns, 1)
        self.assertEqual(sync_time.of_profile("rhinet2", self.plugin).instruction_ns, 2)

    def test_a_profile_that_is_none_is_left_to_the_simulator_without_waiting_for_it(self):
        profile = self.plugin.with_name("p.json")
        for text in ("[]", "[" * 100000, "{}"):
            profile.write_text(text)
            self.assertEqual(sync_time.of_profile(str(profile), self.plugin).instruction_ns, 1)
        profile.unlink()
        os.mkfifo(profile)
        self.assertEqual(sync_time.of_profile(str(profile), self.plugin).instruction_ns, 1)

    def test_an_accelerator_that_counts_no_instructions_is_refused(self):
        said = self.refusal(self.qemu("-plugin [file=]FILE"), "kvm")
        self.assertIn("ACCEL=kvm", said)
        self.assertIn("use ACCEL=tcg, or TIME=free", said)

    def test_a_qemu_without_plugins_is_refused(self):
        self.assertIn("--enable-plugins", self.refusal(self.qemu("-machine NAME")))

    def test_a_missing_plugin_is_named(self):
        self.plugin.unlink()
        self.assertIn(f"no plugin at {self.plugin}", self.refusal(self.qemu("-plugin FILE")))


if __name__ == "__main__":
    unittest.main()
