# SPDX-License-Identifier: BSD-2-Clause
"""Tests of how make world-test judges its programs, and of how two guests keep step.

    python3 -m unittest discover -s tests/world -p '*_test.py'
"""

import contextlib
import io
import os
import pty
import tempfile
import threading
import unittest
from unittest import mock

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
    def setUp(self):
        self._ends = [pty.openpty() for _ in range(2)]
        for node in range(2):
            threading.Thread(target=self.carry, args=(self._ends[node][0], self._ends[1 - node][0]), daemon=True).start()

    @staticmethod
    def carry(source, target):
        while True:
            os.write(target, os.read(source, 4096))

    def as_guests(self, guest):
        """`guest` of both lines, at the same time: what each returns."""
        returned = [None, None]

        def run(node):
            returned[node] = guest(in_guest.Line(os.ttyname(self._ends[node][1]), node), node)

        guests = [threading.Thread(target=run, args=(node,), daemon=True) for node in range(2)]
        for one in guests:
            one.start()
        for one in guests:
            one.join(30)
            self.assertFalse(one.is_alive())
        return returned

    def results(self, *rows):
        return self.as_guests(lambda line, node: [in_guest.run(row, node, line, 1) for row in rows])

    def test_guests_meet_whoever_comes_first_and_whatever_is_left_on_the_line(self):
        order = []

        def guest(line, node):
            for turn in range(3):
                line.meet()
                order.append(turn)
                os.write(self._ends[node][1], b"left @0.9; by a program")

        self.as_guests(guest)
        self.assertEqual(order, sorted(order))

    def test_a_client_begins_when_a_process_of_the_server_listens(self):
        with tempfile.TemporaryDirectory() as folder:
            server = (f"sleep 0.4; exec python3 -c 'import socket; s = socket.create_server((\"127.0.0.1\", 0)); "
                      f"open(\"{folder}/port\", \"w\").write(str(s.getsockname()[1])); s.accept()[0].send(b\"heard\")'")
            client = (f"exec python3 -c 'import socket; p = int(open(\"{folder}/port\").read()); "
                      f"print(socket.create_connection((\"127.0.0.1\", p)).recv(9))'")
            told = self.results(programs.Program("x", (server, client), listens=True), programs.Program("y", "true"))
        self.assertEqual([result["status"] for node in told for result in node], [0] * 4)
        self.assertIn("heard", told[1][0]["output"])

    def test_a_server_that_ends_or_is_not_seen_to_listen_keeps_nobody_waiting(self):
        with mock.patch.object(in_guest, "_LISTEN_SECONDS", 0.3):
            told = self.results(programs.Program("x", ("exit 3", "true"), listens=True),
                                programs.Program("y", ("sleep 1", "true"), listens=True))
        self.assertEqual([[result["status"] for result in node] for node in told], [[3, 0], [0, 0]])

    def test_both_begin_anew_when_the_client_was_too_early_but_not_without_end(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(in_guest, "_LISTEN_SECONDS", 0.1):
            early = "echo 'Event: RDMA_CM_EVENT_REJECTED; error: 8.'; exit 139"
            once = programs.Program("x", (f"test -e {folder}/early || exec sleep 60",
                                          f"test -e {folder}/early || {{ touch {folder}/early; {early}; }}"),
                                    listens=True, again=programs.TOO_EARLY)
            always = programs.Program("y", ("exec sleep 2", early), listens=True, again=programs.TOO_EARLY)
            told = self.results(once, always)
        self.assertEqual([[result["goes"] for result in node] for node in told], [[2, 3]] * 2)
        self.assertEqual([result["status"] for result in told[1]], [0, 139])
        self.assertEqual(told[0][0]["status"], 0)
        self.assertLess(told[0][0]["seconds"], 20)

    def test_clients_of_perftest_alone_that_use_rdma_cm_may_be_too_early(self):
        self.assertEqual({program.name for program in programs.PROGRAMS if program.again},
                         {program.name for program in programs.PROGRAMS if program.name.endswith(" -R")})


if __name__ == "__main__":
    unittest.main()
