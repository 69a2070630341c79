# SPDX-License-Identifier: BSD-2-Clause
"""Tests of "sim/launch shell", with programs of fakes.py in place of exrnic-sim and QEMU. A guest with a console:
tests/guest/guest_shell_test.py"""

import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

import fakes
import guest
import shell

_LAUNCHER = pathlib.Path(__file__).resolve().parent
_GUEST = fakes.BOOT + (
    "echo '@exrnic-section exrnic .text 0xffffffffc0201000'; echo '@exrnic-section exrnic .bss 0xffffffffc0213a00'\n"
    "echo '@exrnic-section strange .text 0xffffffffc0301000'; echo @exrnic-shell; sleep 0.5\n" + fakes.end(0))


class Launch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        (self.scratch / "exrnic.ko").touch()

    def launch(self, *arguments, what="shell"):
        fakes.program(self.scratch, "sim", fakes.READY + fakes.SERVE)
        # Its console is what its arguments say.
        fakes.program(self.scratch, "qemu", fakes.FIND_NODE + 'echo "$@" >arguments$node; exec >>guest$node.log\n' + _GUEST)
        for name in ("kernel", "initramfs"):
            (self.scratch / name).touch()
        words = [word for name in ("sim", "qemu", "kernel", "initramfs") for word in (f"--{name}", self.scratch / name)]
        return subprocess.run(
            [sys.executable, _LAUNCHER, "--directory", self.scratch / "run", "--modules", self.scratch, *words, *arguments,
             what], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    def test_it_says_how_to_get_to_each_console_and_ends_with_the_guests(self):
        run = self.launch()
        self.assertEqual(run.returncode, 0, run.stderr)
        for node in (0, 1):
            self.assertRegex(run.stdout, rf"attach\.py \S*/run/console{node}\.sock\n")
            arguments = (self.scratch / f"run/arguments{node}").read_text()
            self.assertIn(f"socket,id=console,path=console{node}.sock,server=on,wait=off,logfile=guest{node}.log", arguments)
            self.assertIn("exrnic.ipv4=10.101.0.", arguments)
            self.assertNotIn("-gdb", arguments)
        self.assertEqual(fakes.survivors(self.scratch / "run"), [])

    def test_a_debugger_finds_each_guest_and_the_places_of_its_modules(self):
        run = self.launch("--gdb")
        self.assertIn(f"gdb-multiarch -x {self.scratch}/run/guest1.gdb\n", run.stdout)
        self.assertIn("-gdb unix:gdb1.sock,server=on", (self.scratch / "run/arguments1").read_text())
        text = (self.scratch / "run/guest1.gdb").read_text()
        self.assertIn(f"cd {self.scratch}/run\ntarget remote gdb1.sock\n", text)
        self.assertIn(f"add-symbol-file {self.scratch}/exrnic.ko 0xffffffffc0201000 -s .bss 0xffffffffc0213a00\n", text)
        self.assertNotIn("strange", text)

    def test_a_disk_is_given_to_each_guest(self):
        image = self.scratch / "disk.img"
        image.touch()
        self.assertEqual(self.launch("--disk", image).returncode, 0)
        self.assertIn(f"if=none,id=disk0,snapshot=on,file={image} -device nvme,serial=disk0,drive=disk0",
                      (self.scratch / "run/arguments1").read_text())
        self.assertIn("there is no disk image", self.launch("--disk", self.scratch / "none").stderr)

    def test_what_does_not_go_with_it_is_refused(self):
        self.assertIn("somebody who types has no simulated time", self.launch("--time", "sync").stderr)
        self.assertIn("--gdb: it goes with", self.launch("--gdb", what="push").stderr)
        self.assertIn("--processes: it goes with", self.launch("--processes").stderr)


class Command(unittest.TestCase):
    def test_a_kernel_can_be_given_it(self):
        for world in (False, True):
            line = guest.qemu_command("qemu", "kernel", "initramfs", "socket", shell.command(world))
            self.assertIn("setsid -c " + ("bash" if world else "sh"), " ".join(line))
            self.assertLess(len(line[line.index("-append") + 1]), 2048)  # COMMAND_LINE_SIZE of x86


class Attach(unittest.TestCase):
    def test_what_is_typed_goes_to_the_guest_and_what_it_says_comes_back(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "console")
            listener = socket.socket(socket.AF_UNIX)
            self.addCleanup(listener.close)
            listener.bind(path)
            listener.listen()
            heard = []

            def serve():
                end = listener.accept()[0]
                while b"bye" not in b"".join(heard):
                    heard.append(end.recv(100))
                end.sendall(b"good bye")
                end.close()

            server = threading.Thread(target=serve)
            server.start()
            run = subprocess.run([sys.executable, _LAUNCHER / "attach.py", path], input=b"say bye\n", capture_output=True,
                                 check=False)
            server.join()
            self.assertEqual((run.returncode, run.stdout, b"".join(heard)), (0, b"good bye", b"\nsay bye\n"))
            os.unlink(path)
            run = subprocess.run([sys.executable, _LAUNCHER / "attach.py", path], capture_output=True, text=True, check=False)
            self.assertEqual(run.returncode, 1)
            self.assertIn("is that guest there?", run.stderr)


if __name__ == "__main__":
    unittest.main()
