#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Guests at two ranks, in synchronised time, measure what the same guests measure in one process, to the bit."""

import json
import pathlib
import re
import subprocess
import sys
import unittest

_ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(_ROOT / "sim/ranks"))

import mpirun  # noqa: E402  pylint: disable=wrong-import-position
import traces  # noqa: E402  pylint: disable=wrong-import-position

_SECONDS = 240
_FOLDER = _ROOT / "build/run/guests_at_ranks_test"
_LAUNCH = ["/usr/bin/python3", "sim/launch", "--directory", str(_FOLDER), "--time", "sync", "--guests", "2", "--topology", "star:2",
           "--ethernet", "--sim-argument=--core", "--sim-argument=ref",
           "--capture", "--trace", "--page", "run", "exrnic-cluster --node {node} --addresses {addresses} --sizes 1,20000"]
# Not in simulated time: requests of the guests' main loops, and whether the end of a guest was seen before the end of all.
_VARIES = ("wall_s", "ranks", "vfio_user", "resets")


def captures(*folders):
    return {file.name: file.read_bytes() for folder in folders for file in (folder / "capture").iterdir()}


class GuestsAtRanks(unittest.TestCase):
    maxDiff = None

    def launch(self, command):
        done = subprocess.run(command, cwd=_ROOT, env=mpirun.environment(), text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=_SECONDS, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        return sorted(re.findall(r"(?:^|rank \d: )(\d: \{[^}]*\})", done.stdout, re.MULTILINE))

    def statistics(self, folder):
        stats = json.loads((folder / "stats.json").read_text())
        for part in (stats, *stats["nodes"], *(node["pcie"] for node in stats["nodes"])):
            for key in _VARIES:
                part.pop(key, None)
        return stats

    def trace(self, folder):
        found = traces.happenings(json.loads((folder / "trace.json").read_text())["traceEvents"])
        self.assertGreater(len(found), 1000)
        return found

    def test_they_measure_what_they_measure_in_one_process(self):
        rows = self.launch(_LAUNCH)
        self.assertGreater(len(rows), 10)
        statistics = self.statistics(_FOLDER)
        of_ranks = self.launch(mpirun.command(_LAUNCH[0], 2) + _LAUNCH[1:])
        folders = [_FOLDER.with_name(f"{_FOLDER.name}-rank{rank}") for rank in (0, 1)]
        self.assertEqual(of_ranks, rows)
        self.assertEqual(self.statistics(folders[0]), statistics)
        self.assertEqual(captures(*folders), captures(_FOLDER))
        self.assertEqual(self.trace(folders[0]), self.trace(_FOLDER))
        self.assertEqual((folders[0] / "losses.json").read_text(), (_FOLDER / "losses.json").read_text())
        self.assertTrue((folders[0] / "page.html").exists())
        self.assertEqual([file.name for name in ("trace.json", "losses.json") for file in folders[1].glob(name)], [])
        for rank, folder in enumerate(folders):
            self.assertEqual([path.name for path in folder.glob("guest*.log")], [f"guest{rank}.log"])


if __name__ == "__main__":
    unittest.main()
