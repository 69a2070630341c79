# SPDX-License-Identifier: BSD-2-Clause
"""A launch by several ranks; the programs are those of fakes.py."""

import argparse
import pathlib
import types
import unittest

import fakes
from launch_test import GOOD_GUEST, LaunchCase
import ranks
import records


class Environment(unittest.TestCase):
    def test_mpirun_says_which_rank_this_is(self):
        self.assertEqual(ranks.of_environment({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "3"}),
                         ranks.Rank(1, 3))
        self.assertEqual(ranks.of_environment({"PMI_RANK": "0", "PMI_SIZE": "2"}), ranks.Rank(0, 2))

    def test_alone_it_is_none(self):
        for environment in ({}, {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"},
                            {"PMI_RANK": "x", "PMI_SIZE": "2"}):
            self.assertIsNone(ranks.of_environment(environment))

    def test_ranks_with_one_file_system_have_folders_of_their_own(self):
        self.assertEqual(ranks.Rank(1, 2).own(pathlib.Path("a/run")), pathlib.Path("a/run-rank1"))

    def test_what_is_of_one_machine_is_refused_by_its_name(self):
        good = {"what": "run", "command": "true", "processes": False, "network": False}
        rank = ranks.Rank(0, 2)
        self.assertIsNone(rank.problem(types.SimpleNamespace(**good)))
        for name, value, said in (("what", "push", "push"), ("what", "shell", "shell"), ("command", "x --oob {oob}", "{oob}"), ("processes", True, "--processes"),
                                  ("network", True, "--network")):
            self.assertIn(said, rank.problem(types.SimpleNamespace(**{**good, name: value})))


class Records(LaunchCase):
    def test_what_a_ranks_simulator_could_not_write_is_told(self):
        options = argparse.Namespace(capture=False, trace=True, page=False, waves=None)
        self.directory.mkdir()
        trouble = ["trace trace.json: No space left on device", "trace: a temporary file cannot be kept"]
        (self.directory / records.LOG).write_text("".join(f"exrnic-sim: rank 1: {line}\n" for line in trouble))
        self.assertEqual(records.describe(options, self.directory, whole=False), trouble)
        self.assertEqual(records.describe(options, self.directory)[1:], trouble)


class Part(LaunchCase):
    def test_it_has_the_guests_of_its_simulators_nodes_alone(self):
        self.run_it("touch node1.sock\n" + fakes.READY + fakes.SERVE, GOOD_GUEST, guests=3, part=True)
        self.assertEqual([node for node, _ in self.rows], [1])
        self.assertFalse((self.directory / "guest0.log").exists())

    def test_a_rank_without_guests_waits_for_the_end_of_its_simulator(self):
        serve = "trap 'touch asked' TERM\nwhile [ ! -e asked ]; do sleep 0.05; done\nsleep 1\ntouch over\nexit 0\n"
        self.run_it(fakes.READY + serve, GOOD_GUEST, guests=2, part=True)
        self.assertEqual(self.rows, [])
        self.assertTrue((self.directory / "over").exists())

    def test_a_simulator_that_dies_meanwhile_is_named(self):
        report = self.failure(fakes.READY + "trap 'exit 7' TERM\nwhile :; do sleep 0.05; done\n", GOOD_GUEST,
                              guests=2, part=True)
        self.assertIn("exrnic-sim ended with status 7", report)


if __name__ == "__main__":
    unittest.main()
