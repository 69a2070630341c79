#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The installed tree: programs in C and C++ build against it, by pkg-config and by find_package, with
either library; the shared one exports what its map and its header name, and nothing else."""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

_FOLDER = pathlib.Path(__file__).resolve().parents[1]
_OPTIONS = argparse.Namespace()

_C_PROGRAM = r"""
#include <exrnic/verbs.h>
#include <stdio.h>

int main(void) {
  struct vl_rnic* rnic = vl_open_rnic("sim:nobody.sock");
  puts(vl_error_text());
  return rnic == NULL ? 0 : 1;
}
"""

_CXX_PROGRAM = r"""
#include <exrnic/verbs.hpp>
#include <cstdio>

int main() {
  try {
    vl::OpenRnic("sim:nobody.sock");
  } catch (const vl::VerbsError& error) {
    std::puts(error.what());
    return 0;
  }
  return 1;
}
"""

_CHANNEL_PROGRAM = r"""
#include <exrnic/messages.h>
#include <stdio.h>

int main(int argc, char** argv) {
  const struct vl_message_channel_attr attr = {0, 24, 1, 1};
  struct vl_rnic* rnic = vl_open_rnic(argv[argc - 1]);
  if (rnic == NULL || vl_create_message_channel(rnic, &attr) == NULL) {
    puts(vl_error_text());
    return 1;
  }
  return 0;
}
"""

_SISCI_PROGRAM = r"""
#include <sisci_api.h>
#include <stdio.h>

int main(void) {
  sci_desc_t sd;
  sci_error_t error;
  SCIInitialize(0, &error);
  SCIOpen(&sd, 0, &error);
  puts(SCIGetErrorString(error));
  return error == SCI_ERR_NO_SUCH_ADAPTERNO ? 0 : 1;
}
"""

_CMAKE_PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES {language})
set(CMAKE_CXX_STANDARD 17)
find_package(verbs-lite 0.1 REQUIRED)
add_executable(shared {source})
target_link_libraries(shared exrnic::verbs-lite-shared)
add_executable(static {source})
target_link_libraries(static exrnic::verbs-lite)
add_executable(all-static {source})
target_link_libraries(all-static exrnic::verbs-lite -static)
"""


def run(command, directory, **environment):
    result = subprocess.run([str(word) for word in command], cwd=directory, text=True,
                            env={**os.environ, **environment}, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, timeout=100, check=False)
    if result.returncode != 0:
        raise AssertionError(f"{command} ended with {result.returncode}:\n{result.stdout}")
    return result.stdout


class InstalledTree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._temporary = tempfile.TemporaryDirectory(prefix="exrnic-install-")
        cls.addClassCleanup(cls._temporary.cleanup)
        cls.directory = pathlib.Path(cls._temporary.name)
        run(["cmake", "--install", _OPTIONS.build, "--prefix", "/opt/exrnic"], cls.directory,
            DESTDIR=str(cls.directory / "staged"))
        cls.prefix = cls.directory / "staged/opt/exrnic"
        (cls.directory / "main.c").write_text(_C_PROGRAM)
        (cls.directory / "main.cc").write_text(_CXX_PROGRAM)

    def library_directory(self):
        return next(self.prefix.glob("**/libverbs-lite.so")).parent

    def flags(self, *options, package="verbs-lite"):
        return run(["pkg-config", *options, package], self.directory,
                   PKG_CONFIG_PATH=str(self.library_directory() / "pkgconfig")).split()

    def expect_error_text(self, program):
        text = run([program], self.directory, LD_LIBRARY_PATH=str(self.library_directory()))
        self.assertIn("nobody.sock", text)
        self.assertIn("No such file", text)

    def test_a_program_in_c_builds_by_pkg_config(self):
        run(["cc", "-std=c11", "-Wall", "-Werror", "main.c", "-o", "c-shared",
             *self.flags("--cflags", "--libs")], self.directory)
        self.expect_error_text("./c-shared")

    def test_the_library_brings_firmware_for_the_installed_simulator(self):
        (self.directory / "channel.c").write_text(_CHANNEL_PROGRAM)
        run(["cc", "-std=c11", "channel.c", "-o", "channel", *self.flags("--cflags", "--libs")],
            self.directory)
        nodes = [f"--node=vfio-user:{node}.sock" for node in (0, 1)]
        with subprocess.Popen([self.prefix / "bin/exrnic-sim", *nodes], cwd=self.directory,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as sim:
            try:
                self.assertEqual(sim.stdout.readline(), "exrnic-sim: ready\n")
                run(["./channel", "sim:0.sock"], self.directory,
                    LD_LIBRARY_PATH=str(self.library_directory()))
            finally:
                sim.kill()

    def test_a_program_in_c_links_statically(self):
        run(["cc", "-static", "main.c", "-o", "c-static",
             *self.flags("--static", "--cflags", "--libs")], self.directory)
        self.expect_error_text("./c-static")

    def test_a_program_of_sisci_builds_by_pkg_config_with_either_library(self):
        (self.directory / "sisci.c").write_text(_SISCI_PROGRAM)
        for program, options in (("sisci-shared", []), ("sisci-static", ["--static"])):
            run(["cc", "-std=c11", "-Wall", "-Werror", *[word[1:] for word in options], "sisci.c",
                 "-o", program, *self.flags(*options, "--cflags", "--libs", package="sisci")],
                self.directory)
            run([f"./{program}"], self.directory, VL_DEVICE="sim:nobody.sock",
                LD_LIBRARY_PATH=str(self.library_directory()))

    def test_a_program_in_cxx_builds_by_pkg_config(self):
        run(["c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "main.cc", "-o", "cxx-shared",
             *self.flags("--cflags", "--libs")], self.directory)
        self.expect_error_text("./cxx-shared")

    def expect_cmake_project(self, language, source):
        (self.directory / "CMakeLists.txt").write_text(
            _CMAKE_PROJECT.format(language=language, source=source))
        build = f"build-{language}"
        run(["cmake", "-S", ".", "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}"], self.directory)
        run(["cmake", "--build", build], self.directory)
        for program in ("shared", "static", "all-static"):
            self.expect_error_text(f"{build}/{program}")

    def test_a_program_in_cxx_builds_by_find_package_with_either_library(self):
        self.expect_cmake_project("CXX", "main.cc")

    def test_a_program_in_c_builds_by_find_package_with_either_library_and_no_cxx_compiler(self):
        self.expect_cmake_project("C", "main.c")

    def test_simulator_profiles_and_headers_are_there(self):
        for name in ("bin/exrnic-sim", "share/exrnic/profiles/dc-25g.json",
                     "include/exrnic/verbs.h", "include/exrnic/verbs.hpp", "include/sisci_api.h",
                     "bin/scibench", "bin/scipp", "bin/dma_bench", "bin/intr_bench"):
            self.assertTrue((self.prefix / name).is_file(), name)

    def test_each_program_of_the_readme_is_there_and_says_how_it_is_used(self):
        for name in ("demo", "push", "pingpong", "collective", "fetch", "tickets", "bench"):
            text = run([self.prefix / f"bin/exrnic-{name}", "--help"], self.directory)
            self.assertIn("--device", text)

    def test_the_installed_simulator_finds_its_profiles(self):
        text = run([self.prefix / "bin/exrnic-sim", "--help"], self.directory)
        self.assertIn("dc-25g", text)


class SharedLibrary(unittest.TestCase):
    def names(self, path, pattern):
        return sorted(set(re.findall(pattern, (_FOLDER / path).read_text())))

    def test_it_exports_what_its_map_names_with_their_version(self):
        symbols = run(["nm", "-D", "--defined-only", _OPTIONS.library], ".")
        exported = sorted(re.findall(r" T (vl_\w+)@@VERBS_LITE_0(?:_\d)?$", symbols, re.MULTILINE))
        self.assertEqual(exported, self.names("src/verbs-lite.map", r"(vl_\w+);"))
        others = [line for line in symbols.splitlines()
                  if not re.search(r" (T vl_\w+@@VERBS_LITE_0(_\d)?|A VERBS_LITE_0(_\d)?)$", line)]
        self.assertEqual(others, [])

    def test_what_came_later_has_a_later_version(self):
        symbols = run(["nm", "-D", "--defined-only", _OPTIONS.library], ".")
        self.assertIn(" T vl_arm_messages@@VERBS_LITE_0_1\n", symbols)
        self.assertIn(" T vl_poll_message@@VERBS_LITE_0\n", symbols)

    def functions_of_the_headers(self):
        pattern = r"VL_API [^;]*?\b(vl_\w+)\("
        return sorted(name for path in _FOLDER.glob("include/exrnic/*.h")
                      for name in self.names(path, pattern))

    def test_its_map_names_every_function_of_the_headers(self):
        self.assertEqual(self.names("src/verbs-lite.map", r"(vl_\w+);"),
                         self.functions_of_the_headers())

    def test_every_function_of_the_headers_is_linked_from_c(self):
        self.assertEqual(self.names("test/c_abi.c", r"\(any_call\)(vl_\w+),"),
                         self.functions_of_the_headers())

    def test_the_readme_has_every_function_of_the_headers_but_texts(self):
        functions = [name for name in self.functions_of_the_headers()
                     if not name.endswith("_string")]
        named = self.names("README.md", r"`(vl_\w+)`")
        self.assertEqual([name for name in functions if name not in named], [])

    def test_its_soname_has_a_version(self):
        self.assertIn("libverbs-lite.so.0]", run(["readelf", "-d", _OPTIONS.library], "."))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--library", required=True)
    _OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
