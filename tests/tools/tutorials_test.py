#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the tutorials give to paste into a shell works, and says what they show.

    tests/tools/tutorials_test.py           what needs no guest
    tests/tools/tutorials_test.py --guests  what does, and what comes before it in its document

A block "sh" is run, in the root of the clone, in the order of its document; a block "text" behind it is
what it prints, among other lines. Blocks "console" are not run: they build, or need a screen.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_SECONDS = 150
_BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def needs_guests(commands):
    return re.search(r"sim/launch (?!demo)", commands) is not None


def steps(document):
    """Commands, and the lines that they have to print."""
    found = []
    for kind, text in _BLOCK.findall(document.read_text()):
        if kind == "sh":
            found.append((text, []))
        else:
            found[-1][1].extend(text.splitlines())
    return found


def paste(commands):
    """Returns status and output. Nothing that was started outlives it."""
    with subprocess.Popen(["bash", "-eu", "-o", "pipefail", "-c", commands], cwd=_ROOT, text=True,
                          start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as shell:
        try:
            output = shell.communicate(timeout=_SECONDS)[0]
        finally:
            try:
                os.killpg(shell.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # as it should be
        return shell.returncode, output


class Tutorials(unittest.TestCase):
    guests = False

    def test_each_command_of_a_tutorial_works_and_prints_what_is_shown(self):
        documents = sorted((_ROOT / "docs").glob("tutorial-*.md"))
        self.assertEqual(len(documents), 4)
        ran = 0
        for document in documents:
            all_steps = steps(document)
            self.assertTrue(all_steps, document)
            if self.guests and not any(needs_guests(commands) for commands, _ in all_steps):
                continue
            for commands, shown in all_steps:
                if needs_guests(commands) and not self.guests:
                    continue
                with self.subTest(document=document.name, commands=commands):
                    status, output = paste(commands)
                    self.assertEqual(status, 0, output)
                    for line in shown:
                        self.assertIn(line, output)
                    ran += 1
        self.assertGreater(ran, 3)


if __name__ == "__main__":
    Tutorials.guests = "--guests" in sys.argv
    unittest.main(argv=[argument for argument in sys.argv if argument != "--guests"])
