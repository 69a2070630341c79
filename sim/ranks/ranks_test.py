#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs by several ranks have the results of one process: ranks_test.py EXRNIC-SIM EXRNIC-SIM-MPI."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import draw_waiting
import mpirun
import traces

_SECONDS = 120
_ROOT = pathlib.Path(__file__).resolve().parents[2]
SIM = MPI = None  # arguments

_WORKLOAD = {
    "name": "all kinds",
    "traffic": [
        {"pattern": "random", "operation": "push", "bytes": 3000, "messages": 6, "outstanding": 2},
        {"pattern": "incast", "operation": "send", "bytes": 5000, "target": 1, "start_ns": 3000},
        {"pattern": "permutation", "operation": "pull", "bytes": 9000, "messages": 2},
        {"pattern": "ring-all-reduce", "operation": "push-imm", "bytes": 40000}]}


class RanksTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        self.workload = self.path / "workload.json"
        self.workload.write_text(json.dumps(_WORKLOAD))

    def start(self, ranks, arguments):
        start = [SIM] if ranks == 1 else mpirun.command(MPI, ranks)
        return subprocess.Popen([*start, *([] if "--core" in arguments else ["--core", "ref"]), "--workload", str(self.workload), *arguments],
                                cwd=_ROOT, env=mpirun.environment(), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run_sim(self, ranks, arguments):
        with self.start(ranks, arguments) as run:
            try:
                output, error = run.communicate(timeout=_SECONDS)
            finally:
                run.kill()
        return subprocess.CompletedProcess(run.args, run.returncode, output, error)

    def results(self, ranks, arguments):
        """Of a run: its results, statistics and captures."""
        own = self.path / f"of{ranks}"
        own.mkdir(exist_ok=True)
        run = self.run_sim(ranks, [*arguments, "--results", str(own / "flows.csv"), "--stats",
                                   str(own / "stats.json"), "--capture", str(own / "captures")])
        self.assertEqual(run.returncode, 0, run.stderr)
        stats = json.loads((own / "stats.json").read_text())
        for key in ("wall_s", "threads", "ranks"):
            stats.pop(key, None)
        captures = {file.name: file.read_bytes() for file in (own / "captures").iterdir()}
        text = [line for line in run.stdout.splitlines() if not line.startswith(("rank ", "the others "))]
        return text, (own / "flows.csv").read_text(), stats, captures

    def expect_same(self, arguments, ranks=(2, 3), of_ranks=()):
        """`of_ranks`: arguments that one process has not."""
        one = self.results(1, arguments)
        self.assertTrue(any(len(capture) > 1000 for capture in one[3].values()))
        for several in ranks:
            with self.subTest(ranks=several):
                for of_one, of_several in zip(one, self.results(several, [*arguments, *of_ranks])):
                    self.assertEqual(of_one, of_several)

    def test_leaves_and_spines(self):
        self.expect_same(["--topology", "two-levels:12"])

    def test_a_switch_that_all_share_with_faults_and_threads(self):
        self.expect_same(["--topology", "star:5", "--faults", "drop=0.01,reorder=0.01,delay=0.01",
                          "--threads", "2"])

    def test_credits_and_cut_through(self):
        self.expect_same(["--profile", "rhinet2", "--topology", "two-levels:8"])

    def test_a_partition_of_the_users_own(self):
        partition = self.path / "partition.json"
        partition.write_text(json.dumps({"nodes": [[0, 3, 4], [1, 2]], "switches": {"switch0": 1}}))
        self.expect_same(["--topology", "star:5"], ranks=(2,), of_ranks=["--partition", str(partition)])

    def expect_same_trace(self, arguments, ranks, of_ranks=()):
        """Returns its losses. `of_ranks`: arguments that one process has not."""
        told = []
        for number in 1, ranks:
            trace, losses = self.path / "trace.json", self.path / "losses.json"
            run = self.run_sim(number, [*arguments, *(of_ranks if number > 1 else ()), "--trace", str(trace), "--losses", str(losses)])
            self.assertEqual(run.returncode, 0, run.stderr)
            told.append((traces.happenings(json.loads(trace.read_text())["traceEvents"]),
                         sorted(losses.read_text().splitlines())))
        self.assertGreater(len(told[0][0]), 1000)
        for of_one, of_several in zip(*told):
            self.assertEqual(of_one, of_several)
        return told[0][1]

    def test_traces_and_losses(self):
        for topology, ranks in ("star:5", 2), ("two-levels:8", 3):
            losses = self.expect_same_trace(["--topology", topology, "--threads", "1", "--faults", "drop=0.01,corrupt=0.01"], ranks)
            self.assertTrue(any("from" in loss and "work" in loss for loss in losses))

    def test_a_trace_in_which_two_ends_see_a_message_end_in_one_moment(self):
        profile = json.loads((_ROOT / "sim/profile/profiles/ntb-gen3x8.json").read_text())
        profile["ethernet"].update(latency_ns=8, switch_latency_ns=10, switch_forwarding="store-and-forward", flow_control="none")
        profile["pcie"]["latency_ns"] = 120
        (self.path / "profile.json").write_text(json.dumps({**profile, "name": "mine"}))
        (self.path / "partition.json").write_text(json.dumps({"nodes": [[0, 2], [1]], "switches": {"switch0": 1}}))
        self.workload.write_text(json.dumps({"name": "f", "seed": 52, "mtu": 256, "traffic": [
            {"pattern": "all-to-all", "operation": "send", "bytes": 64, "service": "ud", "start_ns": 1000, "messages": 1, "outstanding": 1},
            {"pattern": "random", "operation": "send", "bytes": 3000, "service": "rc", "messages": 5, "outstanding": 1}]}))
        self.expect_same_trace(["--profile", str(self.path / "profile.json"), "--topology", "star:3", "--seed", "20066"], 2,
                               ["--partition", str(self.path / "partition.json")])

    def test_who_works_and_who_waits_is_written(self):
        for ranks in 1, 3:
            file = self.path / "waiting.json"
            run = self.run_sim(ranks, ["--topology", "two-levels:12", "--threads", "2", "--waiting", str(file)])
            self.assertEqual(run.returncode, 0, run.stderr)
            parts = draw_waiting.checked(json.loads(file.read_text()))
            self.assertEqual([part["rank"] for part in parts], list(range(ranks)))
            self.assertEqual(sum(part["nodes"] for part in parts), 12)
            for part in parts:
                self.assertIn(f"rank {part['rank']}: work", run.stdout)
                self.assertEqual(part["times"]["exchange"] > 0, ranks > 1)
                self.assertEqual(part["total_s"]["exchange"] > 0, ranks > 1)
                self.assertGreater(part["total_s"]["work"], sum(part["worked_s"].values()) / 2)  # of two threads
                rows, _ = draw_waiting.shares(part)
                for shares in zip(*rows.values()):
                    self.assertAlmostEqual(sum(shares), 1)
            names = {name for part in parts for name in part["worked_s"]}
            self.assertLessEqual({f"node{node}" for node in range(12)}, names)
        for wrong in [], {}, 3, [{}], [{**parts[0], "bins": {}}], [{**parts[0], "worked_s": 1}]:
            with self.assertRaises(ValueError):
                draw_waiting.checked(wrong)

    def test_a_rank_that_is_killed_ends_all_by_its_name(self):
        self.workload.write_text(json.dumps({"name": "long", "traffic": [
            {"pattern": "random", "operation": "push", "bytes": 4096, "messages": 1000000}]}))
        run = self.start(2, ["--topology", "star:4"])
        try:
            ranks = mpirun.ranks_of(run.pid, 2)
            time.sleep(2)  # they have met
            os.kill(ranks[1], signal.SIGKILL)
            _, error = run.communicate(timeout=10)
        finally:
            run.kill()
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("rank 1", error)
        self.assertIn("signal 9", error)

    def test_a_signal_to_one_rank_ends_all_in_order_with_what_there_is(self):
        self.workload.write_text(json.dumps({"name": "long", "traffic": [
            {"pattern": "random", "operation": "push", "bytes": 4096, "messages": 1000000}]}))
        results = self.path / "flows.csv"
        run = self.start(2, ["--topology", "star:4", "--results", str(results)])
        try:
            ranks = mpirun.ranks_of(run.pid, 2)
            time.sleep(2)  # they have begun
            os.kill(ranks[1], signal.SIGTERM)
            output, error = run.communicate(timeout=_SECONDS)
        finally:
            run.kill()
        self.assertEqual(run.returncode, 0, error)
        self.assertIn("random of push", output)
        self.assertTrue(results.read_text().startswith("traffic,from,to"))

    def test_a_failure_at_the_end_ends_all(self):
        for _ in range(3):
            self.refused(["--topology", "star:4", "--results", "/dev/full"], "could not be written")

    def refused(self, arguments, text, ranks=2):
        run = self.run_sim(ranks, arguments)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn(text, run.stderr)

    def test_what_cannot_be_is_refused(self):
        self.refused(["--topology", "star:2"], "fewer than ranks", ranks=3)
        self.refused([], "--topology")
        self.refused(["--topology", "star:4", "--core", "lockstep"], "--core lockstep")
        partition = self.path / "partition.json"
        partition.write_text(json.dumps({"nodes": [[0], [1, 2]], "switches": {"switch0": 1}}))
        self.refused(["--topology", "star:4", "--partition", str(partition)], "exrnic-sim-mpi", ranks=1)
        self.refused(["--topology", "star:4", "--partition", str(partition)], "node 3 is in no list")


if __name__ == "__main__":
    SIM, MPI = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
