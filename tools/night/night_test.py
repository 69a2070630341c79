# SPDX-License-Identifier: BSD-2-Clause
"""The night's order, its report, and how it ends what does not end."""

import pathlib
import tempfile
import time
import unittest

import night
from night import Stage


class NightTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def night(self, *stages, seconds=1.0, blocks=("a", "b")):
        one = night.Night(seconds / 3600, 100, self.folder, stages, blocks)
        one.go(lambda text: None)
        return one

    def test_stages_take_turns_with_new_seeds_and_blocks_until_the_time_is_over(self):
        one = self.night(Stage("x", "sleep 0.1; echo {seed}", 1, 0), Stage("y", "echo {seed} {block}", 1, 0),
                         Stage("z", "echo once", 1, 0, once=True))
        said = [run.last_line for run in one.runs]
        self.assertEqual(said[:7], ["100", "101 a", "once", "103", "104 b", "105", "106 a"])
        self.assertEqual(said.count("once"), 1)
        self.assertEqual(one.failures(), [])

    def test_a_failure_is_reported_with_its_command_and_log_and_the_others_go_on(self):
        one = self.night(Stage("bad", "echo because {seed}; exit 3", 1, 0, once=True),
                         Stage("good", "echo fine", 1, 0, once=True))
        self.assertEqual([run.problem for run in one.runs], ["ended with status 3", None])
        text = (self.folder / "report.md").read_text()
        self.assertEqual(text, one.report())
        for part in ("2 runs, 1 failed", "## bad ended with status 3", "    echo because 100; exit 3", "    because 100",
                     "| good | 1 | 0 |"):
            self.assertIn(part, text)

    def test_what_does_not_end_is_ended_with_its_children(self):
        mark = self.folder / "mark"
        one = self.night(Stage("long", f"(sleep 2; touch {mark}) & sleep 60", 0.5 / 60, 0, once=True))
        self.assertIn("did not end within", one.runs[0].problem)
        time.sleep(2.5)
        self.assertFalse(mark.exists())

    def test_a_stage_that_would_not_fit_is_left_out(self):
        self.assertEqual(self.night(Stage("long", "true", 1, 1)).runs, [])

    def test_all_stages_are_targets_of_the_makefile(self):
        makefile = (pathlib.Path(night.__file__).parents[2] / "Makefile").read_text()
        for stage in night.STAGES:
            self.assertIn(f"\n{stage.command.split()[1]}:", makefile)


if __name__ == "__main__":
    unittest.main()
