#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A user at the console of a guest ("make debug-guest"), by a terminal: types, and stops driver and firmware by GDB.

    tests/guest/guest_shell_test.py [ARGUMENT...]    for sim/launch, such as --sim
"""

import os
import pathlib
import pty
import select
import subprocess
import sys
import tempfile
import time
import unittest

_CLONE = pathlib.Path(__file__).resolve().parents[2]
_DIRECTORY = _CLONE / "build/run/guest_shell_test"
_FIRMWARE = _CLONE / "build/host/firmware/firmware.elf"
_SECONDS = 60
_ARGUMENTS = []


class Terminal:
    """attach.py at a pseudo terminal."""

    def __init__(self, console):
        self._end, other = pty.openpty()
        self._process = subprocess.Popen([sys.executable, _CLONE / "sim/launch/attach.py", console], stdin=other,
                                         stdout=other, stderr=other)
        os.close(other)
        self.screen = ""

    def type(self, text):
        os.write(self._end, text.encode())

    def await_text(self, text):
        """Returns what was on the screen before it."""
        deadline = time.monotonic() + _SECONDS
        while text not in self.screen:
            if not select.select([self._end], [], [], max(0, deadline - time.monotonic()))[0]:
                raise AssertionError(f"no '{text}' within {_SECONDS} s:\n{self.screen}")
            self.screen += os.read(self._end, 4096).decode(errors="replace")
        before, _, self.screen = self.screen.partition(text)
        return before

    def status(self):
        """When it has ended by itself."""
        return self._process.wait(_SECONDS)

    def close(self):
        self._process.kill()
        self._process.wait()
        os.close(self._end)


class Shell(unittest.TestCase):
    def setUp(self):
        shared = tempfile.TemporaryDirectory()
        self.addCleanup(shared.cleanup)
        self.file = pathlib.Path(shared.name) / "mine"
        self.file.write_text("brought along\n")
        self.launch = subprocess.Popen(
            [sys.executable, _CLONE / "sim/launch", "--directory", _DIRECTORY, "--guests", "1", "--gdb",
             "--sim-argument=--gdb", "--sim-argument=0:firmware.sock", "--put", f"{self.file}:/srv/", "--take", "/srv",
             *_ARGUMENTS, "shell"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(self.stop)
        self.said = ""
        while "gdb-multiarch -x" not in self.said:
            line = self.launch.stdout.readline()
            self.assertTrue(line, self.said)
            self.said += line
        self.terminal = Terminal(_DIRECTORY / "console0.sock")
        self.addCleanup(self.terminal.close)

    def stop(self):
        self.launch.terminate()
        self.launch.communicate()

    def gdb(self, program, *commands):
        """One that is attached when it is returned."""
        words = [word for command in commands for word in ("-ex", command)]
        gdb = subprocess.Popen([*program, "-nx", "-batch", *words], cwd=_DIRECTORY, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(gdb.stdout.close)
        self.addCleanup(gdb.wait)
        self.addCleanup(gdb.kill)
        read = ""
        while "Breakpoint 1 at" not in read:
            line = gdb.stdout.readline()
            self.assertTrue(line, read)
            read += line
        return gdb

    def test_who_types_at_a_guest_can_stop_its_driver_and_its_firmware(self):
        terminal = self.terminal
        terminal.await_text("# ")
        terminal.type("cat /srv/mine; echo node $(cat /sys/class/exrnic/exrnic0/node_id)\n")
        terminal.await_text("brought along")
        terminal.await_text("node 0\r\n")

        driver = self.gdb(["gdb-multiarch", "-x", "guest0.gdb"], "break exrnic_open", "continue", "backtrace 1", "delete", "detach")
        terminal.type("exrnic-collective --node 0 --nodes 1 --rounds 1; echo status $?\n")
        self.assertRegex(driver.communicate(timeout=_SECONDS)[0], r"#0 +exrnic_open \(inode=0x\w+, filp=0x\w+\) at .*chardev\.c:\d+")
        terminal.await_text("status 0\r\n")

        firmware = self.gdb(["gdb-multiarch", _FIRMWARE], "target remote firmware.sock", "break channel_open", "continue",
                            "backtrace 1", "delete", "detach")
        terminal.type("exrnic-collective --node 0 --nodes 1 --rounds 1; echo status $?\n")
        self.assertRegex(firmware.communicate(timeout=_SECONDS)[0], r"#0 .*channel_open \(.*at .*\.c:\d+")
        terminal.await_text("status 0\r\n")

        terminal.type("echo taken out > /srv/mine; exit\n")
        self.assertEqual(terminal.status(), 0)
        self.assertEqual(self.launch.wait(_SECONDS), 0, self.launch.stdout.read())
        self.assertEqual((_DIRECTORY / "guest0/srv/mine").read_text(), "taken out\n")


if __name__ == "__main__":
    _ARGUMENTS = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
