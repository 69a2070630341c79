# SPDX-License-Identifier: BSD-2-Clause
"""Tests of how make world-test judges its programs, and of how two guests keep step.

    python3 -m unittest discover -s tests/world -p '*_test.py'
"""

import contextlib
import io
import os
import pty
import threading
import unittest

import in_guest
import programs
import world_test

_GOOD = {"name": "x", "status": 0, "output": "first\nsecond 2\n", "seconds": 1}


class Verdict(unittest.TestCase):
    def judged(self, program, found):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            failed = world_test.judge(program, found)
        return failed, printed.getvalue()

    def test_a_program_is_good_if_its_status_and_all_of_its_output_are(self):
        program = programs.Program("x", "true", ("^first$", r"^second \d$"))
        self.assertEqual(world_test.problem(program, _GOOD, 0), "")
        for change, because in (({"status": 3}, "status 3"), ({"status": None}, "took more than 60 s"),
                                ({"output": "first\n"}, r"nothing in its output is like '^second \d$'")):
            self.assertEqual(world_test.problem(program, {**_GOOD, **change}, 0), because)
        self.assertEqual(world_test.problem(program, None, 0), "was not run")

    def test_what_the_client_alone_prints_is_asked_of_no_other(self):
        program = programs.Program("x", "true", ("first",), of_client=("third",))
        self.assertEqual(world_test.problem(program, _GOOD, 0), "")
        self.assertEqual(world_test.problem(program, _GOOD, 1), "nothing in its output is like 'third'")

    def test_only_nodes_with_a_command_count_and_a_failure_shows_the_last_lines(self):
        program = programs.Program("x", (None, "run it"))
        self.assertEqual(self.judged(program, {(1, "x"): _GOOD})[0], 0)
        failed, printed = self.judged(program, {(1, "x"): {**_GOOD, "status": 1}})
        self.assertEqual(failed, 1)
        self.assertIn("node 1: status 1: run it\n  | first\n  | second 2\n", printed)

    def test_a_name_that_is_not_in_the_table_is_refused_with_those_that_are(self):
        self.assertEqual([program.name for program in programs.chosen(["fio"])], ["fio"])
        with self.assertRaisesRegex(ValueError, "there is no program 'foo'; there are: ibv_devices, "):
            programs.chosen(["foo"])

    def test_on_the_rtl_one_of_each_kind_is_run_and_may_take_longer(self):
        self.assertEqual(set(programs.of_core("rtl")), programs.ON_RTL)
        self.assertEqual(len(programs.of_core("ref")), len(programs.PROGRAMS))
        program = programs.Program("x", "true")
        self.assertEqual(world_test.problem(program, {**_GOOD, "status": None}, 0, 10), "took more than 600 s")

    def test_names_are_unique(self):
        names = [program.name for program in programs.PROGRAMS]
        self.assertEqual(len(names), len(set(names)))


class Step(unittest.TestCase):
    def test_guests_meet_whoever_comes_first_and_whatever_is_left_on_the_line(self):
        ends = [pty.openpty() for _ in range(2)]
        carriers = [threading.Thread(target=self.carry, args=(ends[node][0], ends[1 - node][0]), daemon=True)
                    for node in range(2)]
        for carrier in carriers:
            carrier.start()
        order = []

        def guest(node):
            line = in_guest.Line(os.ttyname(ends[node][1]), node)
            for turn in range(3):
                line.meet()
                order.append(turn)
                os.write(ends[node][1], b"left @0.9; by a program")

        guests = [threading.Thread(target=guest, args=(node,), daemon=True) for node in range(2)]
        for one in guests:
            one.start()
        for one in guests:
            one.join(20)
            self.assertFalse(one.is_alive())
        self.assertEqual(order, sorted(order))

    @staticmethod
    def carry(source, target):
        while True:
            os.write(target, os.read(source, 4096))


if __name__ == "__main__":
    unittest.main()
