#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Java on exrnic-sim: the checks in one VM with two adapters; and at two nodes, each a process, the program of
the README, and the benchmark by each transport and in each language. What is installed finds its library."""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

_FOLDER = pathlib.Path(__file__).resolve().parents[1]
sys.path.append(str(_FOLDER.parent / "packaging"))
from free_ports import free_ports  # pylint: disable=wrong-import-position

_OPTIONS = argparse.Namespace()
_SECONDS = 100
# A VM that lives for moments: one compiler, one collector.
_QUICK = ("-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


class OnSimulator(unittest.TestCase):
    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="exrnic-java-"))
        self.addCleanup(shutil.rmtree, self.place)
        nodes = [f"--node=vfio-user:{node}.sock" for node in (0, 1)]
        # pylint: disable-next=consider-using-with
        simulator = subprocess.Popen([_OPTIONS.simulator, "--core=ref", *nodes], cwd=self.place, text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(simulator.communicate)
        self.addCleanup(simulator.kill)
        self.assertEqual(simulator.stdout.readline(), "exrnic-sim: ready\n")

    def start(self, device, *command):
        # pylint: disable-next=consider-using-with
        process = subprocess.Popen(command, cwd=self.place, text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT,
                                   env={**os.environ, "VL_DEVICE": f"sim:{device}.sock", "VL_DEVICE_1": "sim:1.sock"})
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def output(self, process):
        out, _ = process.communicate(timeout=_SECONDS)
        self.assertEqual(process.returncode, 0, out)
        return out

    def pair(self, first, second):
        """What the two say, each at a node."""
        processes = [self.start(0, *first), self.start(1, *second)]
        return [self.output(process) for process in processes]


class Checks(OnSimulator):
    def test_two_vms_at_two_nodes_hold_what_those_of_guests_do(self):
        java = (_OPTIONS.java, *_QUICK, "-Xmx64m", "-cp", _OPTIONS.jars / "exrnic-java-checks.jar",
                "org.exrnic.test.GuestChecks")
        for text in self.pair((*java, "0"), (*java, "1")):
            self.assertEqual(text.count("ok: "), 4, text)

    def test_what_has_come_is_read_although_the_vm_that_wrote_it_has_gone(self):
        java = (_OPTIONS.java, *_QUICK, "-Xmx64m", "-cp", _OPTIONS.jars / "exrnic-java-checks.jar",
                "org.exrnic.test.GoneChecks")
        for options in ((), ("end",)):
            reader, _ = self.pair((*java, "0", *options), (*java, "1", *options))
            self.assertEqual(reader.count("ok: "), 1, reader)

    def test_all_checks_hold_in_a_vm_that_checks_its_natives(self):
        text = self.output(self.start(0, _OPTIONS.java, *_QUICK, "-Xcheck:jni", "-Xmx256m", "-jar",
                                      _OPTIONS.jars / "exrnic-java-checks.jar"))
        self.assertGreater(text.count("ok: "), 25, text)
        self.assertNotIn("WARNING", text)


class Programs(OnSimulator):
    def test_its_program_has_twenty_lines_and_runs_at_two_nodes_with_what_is_installed(self):
        text = re.search(r"```java\n(.*?)```", (_FOLDER / "README.md").read_text(), re.DOTALL).group(1)
        self.assertLessEqual(len(text.splitlines()), 20)
        (self.place / "Hello.java").write_text(text)
        subprocess.run(["cmake", "--install", _OPTIONS.jars, "--prefix", self.place / "installed"], check=True,
                       stdout=subprocess.DEVNULL)
        jar = next((self.place / "installed").glob("**/exrnic.jar"))
        subprocess.run([_OPTIONS.javac, "-Xlint:all", "-Werror", "-cp", jar, "Hello.java"], cwd=self.place, check=True)
        hello = (_OPTIONS.java, *_QUICK, "-cp", f"{jar}:.", "Hello")
        self.assertEqual(self.pair(hello, (*hello, "0")), ["hello, node 0\n", "hello, node 1\n"])

    _FILES = ("128M", "1G")  # each by a port of its own
    _SIZES = ("--scale", "1/4096", "--files", ",".join(_FILES), "--buffers", "64K", "--threads", "3", "--warm", "9")

    def expect_rows(self, text, language, transport):
        rows = [json.loads(line) for line in text.splitlines()]
        self.assertEqual([(row["file"], row["buffer"]) for row in rows],
                         [(1 << 15, 1 << 15), (1 << 18, 1 << 16)])  # a buffer is no larger than its file
        for row in rows:
            self.assertEqual((row["language"], row["transport"], row["threads"]), (language, transport, 3))
            self.assertGreater(row["mbps"], 0)
            self.assertGreater(row["seconds"], 0)

    def java(self, *options):
        return (_OPTIONS.java, *_QUICK, "-jar", _OPTIONS.jars / "exrnic-java-bench.jar", *self._SIZES, *options)

    def test_threads_send_files_in_java(self):
        listener, sender = self.pair(self.java("--listen"), self.java("--connect", "0"))
        self.assertEqual(listener, "")
        self.expect_rows(sender, "java", "pcie")

    def test_threads_send_files_that_they_read_in_java(self):
        _, sender = self.pair(self.java("--listen"), self.java("--connect", "0", "--folder", "."))
        self.expect_rows(sender, "java", "pcie")

    def test_a_thread_that_fails_ends_the_others(self):
        (self.place / "exrnic-bench-1").mkdir()  # where its second thread wants a file
        self.start(0, *self.java("--listen"))
        sender = self.start(1, *self.java("--connect", "0", "--folder", "."))
        out, _ = sender.communicate(timeout=_SECONDS)
        self.assertEqual(sender.returncode, 1, out)
        self.assertIn("exrnic-bench-1", out)

    def test_threads_send_files_by_tcp(self):
        tcp = ("--transport", "tcp", "--port", str(free_ports(len(self._FILES))))
        _, sender = self.pair(self.java("--listen", *tcp), self.java("--connect", "localhost", *tcp))
        self.expect_rows(sender, "java", "tcp")

    def test_threads_send_files_in_cxx(self):
        native = (_OPTIONS.native, *self._SIZES)
        _, sender = self.pair((*native, "--peer", "1", "--listen"), (*native, "--peer", "0", "--folder", "."))
        self.expect_rows(sender, "native", "pcie")

    def test_an_option_that_there_is_not_is_told(self):
        told = subprocess.run(self.java("--files"), capture_output=True, text=True, check=False)
        self.assertEqual(told.returncode, 2)
        self.assertIn("--files", told.stderr)

    def test_the_library_exports_what_a_vm_looks_for_and_nothing_else(self):
        symbols = subprocess.run(["nm", "-D", "--defined-only", _OPTIONS.jars / "libexrnic-java.so"], check=True,
                                 stdout=subprocess.PIPE, text=True).stdout
        self.assertRegex(symbols, r"^\w+ T JNI_OnLoad\n$")

    def test_the_readme_has_every_class(self):
        text = (_FOLDER / "README.md").read_text()
        for path in (_FOLDER / "src/org/exrnic").glob("*.java"):
            if re.search(rf"^public .*\bclass {path.stem}\b", path.read_text(), re.MULTILINE):
                self.assertIn(f"`{path.stem}", text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--jars", required=True, type=pathlib.Path, help="where they are built, and the natives")
    parser.add_argument("--java", required=True)
    parser.add_argument("--javac", required=True)
    parser.add_argument("--native", required=True, help="the benchmark in C++")
    parser.add_argument("--simulator", required=True)
    _OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
