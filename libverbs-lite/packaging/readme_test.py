#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the library's README gives to paste into a shell works, at once and again."""

import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

from free_ports import free_ports

_README = pathlib.Path(__file__).resolve().parents[1] / "README.md"
_PORT = "7471"
_SECONDS = 120
_OPTIONS = argparse.Namespace()


def blocks():
    """The indented paragraphs that start exrnic-sim."""
    paragraphs = re.findall(r"(?<=\n\n)(?: {4,}.*\n)+", _README.read_text())
    return [text for text in paragraphs if re.search(r"^ +exrnic-sim ", text, re.MULTILINE)]


def paste(text, directory):
    """Returns what came on stdout and on stderr. Nothing that it started outlives it."""
    folders = ":".join({str(program.parent) for program in _OPTIONS.programs})
    with subprocess.Popen(["sh"], cwd=directory, text=True, start_new_session=True,
                          env={**os.environ, "PATH": f"{folders}:{os.environ['PATH']}"},
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as shell:
        try:
            return shell.communicate(text.replace(_PORT, str(free_ports())), timeout=_SECONDS)
        finally:
            try:
                os.killpg(shell.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # as it should be


class Commands(unittest.TestCase):
    def test_each_program_of_the_readme_says_what_it_did_and_none_complains_when_pasted_twice(self):
        self.assertEqual(len(blocks()), 2)
        for text in blocks():
            with self.subTest(text), tempfile.TemporaryDirectory(prefix="exrnic-readme-") as place:
                for _ in range(2):
                    out, err = paste(text, place)
                    complaints = [line for line in err.splitlines()
                                  if not line.startswith("exrnic-sim: vfio-user ")]
                    self.assertEqual(complaints, [])
                    self.expect_rows(text, out)

    def expect_rows(self, text, out):
        rows = {"exrnic-pingpong": r'"rtt_us"', "exrnic-collective": r'"barrier_wall_us"',
                "exrnic-tickets": r'"drawn"', "exrnic-fetch": r"^copy: \d+ bytes of list$"}
        programs = set(re.findall(r"exrnic-(?!sim)\w+", text))
        self.assertTrue(programs)
        self.assertLessEqual(programs, {program.name for program in _OPTIONS.programs})
        for program in programs:
            self.assertRegex(out, re.compile(rows[program], re.MULTILINE))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True, nargs="+", type=pathlib.Path,
                        help="that the commands may run")
    _OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
