#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A library on verbs-lite, installed: the program of its README builds against it, by pkg-config and
by find_package, with the shared library and with the static one, and does on four nodes what the
README says.

The README has one block of C or C++, and behind it one block of lines that the program prints, in any
order. Each node runs "program NODE ADDRESS...", with its device in VL_DEVICE.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from free_ports import free_ports

_OPTIONS = argparse.Namespace()
_NODES = 4

_CMAKE_PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES {language})
set(CMAKE_CXX_STANDARD 17)
find_package({name} 0.1 REQUIRED)
add_executable(shared {source})
target_link_libraries(shared exrnic::{name}-shared)
add_executable(all-static {source})
target_link_libraries(all-static exrnic::{name} -static)
"""


def run(command, directory, **environment):
    result = subprocess.run([str(word) for word in command], cwd=directory, text=True,
                            env={**os.environ, **environment}, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, timeout=100, check=False)
    if result.returncode != 0:
        raise AssertionError(f"{command} ended with {result.returncode}:\n{result.stdout}")
    return result.stdout


class ReadmeProgram(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(tempfile.mkdtemp(prefix="exrnic-part-"))
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        run(["cmake", "--install", _OPTIONS.build, "--prefix", "/opt/exrnic"], cls.directory,
            DESTDIR=str(cls.directory / "staged"))
        cls.prefix = cls.directory / "staged/opt/exrnic"
        cls.libraries = next(cls.prefix.glob(f"**/lib{_OPTIONS.name}.so")).parent
        readme = _OPTIONS.readme.read_text()
        language, program = re.search(r"```(c|cpp)\n(.*?)```", readme, re.DOTALL).groups()
        cls.language = {"c": "C", "cpp": "CXX"}[language]
        cls.source = "main.c" if language == "c" else "main.cc"
        cls.compiler = ["cc", "-std=c11"] if language == "c" else ["c++", "-std=c++17"]
        cls.expected = sorted(
            re.search(r"```(?:c|cpp)\n.*?```.*?```text\n(.*?)```", readme, re.DOTALL)
            .group(1).splitlines())
        (cls.directory / cls.source).write_text(program)

    def expect_output(self, program):
        """Of one process on each node."""
        place = pathlib.Path(tempfile.mkdtemp(dir=self.directory))
        nodes = [f"--node=vfio-user:{node}.sock" for node in range(_NODES)]
        port = free_ports()
        addresses = [f"127.0.2.{node + 1}:{port}" for node in range(_NODES)]
        with subprocess.Popen([self.prefix / "bin/exrnic-sim", "--core", "ref", *nodes], cwd=place,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as sim:
            programs = []
            try:
                self.assertEqual(sim.stdout.readline(), "exrnic-sim: ready\n")
                programs = [
                    subprocess.Popen(  # pylint: disable=consider-using-with
                        [str(program), str(node), *addresses], cwd=place, text=True,
                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                        env={**os.environ, "VL_DEVICE": f"sim:{node}.sock",
                             "LD_LIBRARY_PATH": str(self.libraries)})
                    for node in range(_NODES)]
                text = "".join(each.communicate(timeout=60)[0] for each in programs)
                self.assertEqual(sorted(text.splitlines()), self.expected)
                self.assertEqual([each.returncode for each in programs], [0] * _NODES)
            finally:
                for each in programs:
                    each.kill()
                    each.communicate()
                sim.kill()

    def flags(self, *options):
        return run(["pkg-config", *options, _OPTIONS.name], self.directory,
                   PKG_CONFIG_PATH=str(self.libraries / "pkgconfig")).split()

    def test_it_builds_by_pkg_config_with_the_shared_library(self):
        run([*self.compiler, "-Wall", "-Wextra", "-Werror", self.source, "-o", "shared",
             *self.flags("--cflags", "--libs")], self.directory)
        self.expect_output(self.directory / "shared")

    def test_it_builds_by_pkg_config_statically(self):
        run([*self.compiler, "-static", self.source, "-o", "static",
             *self.flags("--static", "--cflags", "--libs")], self.directory)
        self.expect_output(self.directory / "static")

    def test_it_builds_by_find_package_with_either_library(self):
        (self.directory / "CMakeLists.txt").write_text(_CMAKE_PROJECT.format(
            language=self.language, source=self.source, name=_OPTIONS.name))
        run(["cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={self.prefix}"],
            self.directory)
        run(["cmake", "--build", "build"], self.directory)
        for program in ("shared", "all-static"):
            self.expect_output(self.directory / "build" / program)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--readme", required=True, type=pathlib.Path)
    _OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
