# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the picture of a terminal."""

import re
import subprocess
import unittest
import xml.etree.ElementTree

import terminal

_NAMESPACE = "{http://www.w3.org/2000/svg}"


def lines_of(picture):
    """(seconds, place, text) of what the command has printed."""
    found = []
    for text in xml.etree.ElementTree.fromstring(picture).iter(f"{_NAMESPACE}text"):
        if text.get("class") == "l":
            found.append((float(re.search(r"delay:([0-9.]+)s", text.get("style"))[1]), int(text.get("y")), text.text))
    return found


class Terminal(unittest.TestCase):
    def test_each_line_is_there_in_its_order_and_at_its_time(self):
        lines = terminal.record("echo 'a <b> & c'; sleep 0.3; echo last; echo >&2 error")
        self.assertEqual([text for _, text in lines], ["a <b> & c", "last", "error"])
        self.assertGreater(lines[1][0] - lines[0][0], 0.2)
        drawn = lines_of(terminal.svg("make run", terminal.paced(lines)))
        self.assertEqual([text for _, _, text in drawn], ["a <b> & c", "last", "error"])
        self.assertEqual(drawn, sorted(drawn))

    def test_nobody_waits_long_for_a_line(self):
        self.assertEqual(terminal.paced([(1, "a"), (60, "b"), (60.5, "c")]), [(1, "a"), (2.5, "b"), (3.0, "c")])

    def test_a_line_that_was_written_anew_is_drawn_as_it_was_last_without_escapes_and_cut(self):
        self.assertEqual(terminal.shown("10 %\r\x1b[1m90 %\x1b[0m\r"), "90 %")
        self.assertEqual(len(terminal.shown("x" * 1000)), 104)

    def test_what_does_not_fit_moves_out(self):
        picture = terminal.svg("x", [(0.1 * i, f"line {i}") for i in range(30)])
        self.assertIn("#s{transform:translateY(-119px);animation", picture)  # 30 lines, and the command's, on 24 rows
        self.assertNotIn(";animation:scroll", terminal.svg("x", [(1, "a")]))

    def test_a_command_that_fails_is_no_picture(self):
        with self.assertRaises(subprocess.CalledProcessError) as caught:
            terminal.record("echo why; exit 3")
        self.assertIn("why", caught.exception.output)


if __name__ == "__main__":
    unittest.main()
