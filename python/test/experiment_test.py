# SPDX-License-Identifier: BSD-2-Clause
"""Experiments on the simulator of this build, with programs of the shell where no bytes have to move."""

import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import exrnic
from exrnic import results

_FOLDER = pathlib.Path(__file__).resolve().parents[1]
_PINGPONG = "exrnic-pingpong --node {node} --oob {oob} --sizes {size} --rounds 5"


class Experiments(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def experiment(self, program="", **options):
        return exrnic.Experiment(program, core="ref", **options)

    def refused(self, experiment, because):
        with self.assertRaises(exrnic.ExrnicError) as caught:
            experiment.run()
        self.assertIn(because, str(caught.exception))

    def test_a_run_gives_rows_counters_captures_and_logs(self):
        result = self.experiment(_PINGPONG, arguments={"size": 64}, capture=True).run()
        self.assertEqual([(row["node"], row["size"], row["verified"]) for row in result.rows], [(0, 64, 5)])
        self.assertEqual([row["where"] for row in result.counters], ["node0", "node1"])
        sent = result.counter("node0", "mac.transmitted")
        self.assertGreater(sent, 5)
        of_node0 = [row for row in result.captures.where(port="node0") if row["source"].endswith(":00:00")]
        self.assertEqual(len(of_node0), sent)
        self.assertLessEqual(max(result.captures.column("time_ns")), result.simulated_ns)
        self.assertIn("exrnic-sim: ready", result.logs["sim"])

    def test_each_frame_that_is_lost_is_told_with_its_work_request_by_both_cores(self):
        for core in ("ref", "rtl"):
            experiment = exrnic.Experiment("exrnic-push --node {node} --oob {oob} --sizes 16384 --ops 8", core=core,
                                           faults={"drop": 0.02, "corrupt": 0.02}, seed=3, losses=True)
            result = experiment.run()
            told = {cause: len(result.losses.where(cause=f"line: {cause} by a fault")) for cause in ("dropped", "corrupted")}
            for cause, count in told.items():
                self.assertGreater(count, 0)
                self.assertEqual(count, sum(row[f"line_towards.{cause}"] for row in result.counters), cause)
            segments = [loss for loss in result.losses if "seq" in loss and loss["cause"].startswith("line")]
            self.assertTrue(segments)
            for loss in segments:
                self.assertEqual(loss["work"]["node"], loss["from"], loss)
                self.assertEqual(loss["work"]["opcode"], loss["opcode"])

    def test_a_changed_profile_and_faults_have_their_effect(self):
        experiment = self.experiment(_PINGPONG, arguments={"size": 8})
        slow = experiment.changed("change.ethernet.latency_ns", 50_000).changed("faults.duplicate", 1).run()
        self.assertGreater(slow.rows[0]["rtt_us"], 100)
        self.assertGreater(slow.counter("node1", "rx_duplicate"), 0)

    def test_each_node_may_have_a_program_of_its_own_in_a_topology_of_its_own(self):
        topology = {"name": "three", "nodes": 3, "switches": [{"name": "middle"}],
                    "links": [{"ends": [f"node{i}", f"middle.{i}"]} for i in range(3)]}
        result = self.experiment([f"echo '@exrnic {{\"n\": {n}}}'" for n in range(3)], nodes=3,
                                 topology=topology).run()
        self.assertEqual(list(result.rows), [{"node": n, "n": n} for n in range(3)])
        self.assertEqual(result.counters[-1]["where"], "middle.2")

    def test_what_is_wrong_is_one_line_of_who_refuses_it(self):
        self.refused(self.experiment("exit 3"), "the process at node 0 ended with status 3")
        self.refused(self.experiment("true", faults={"drop": 2}), "--faults")
        self.refused(self.experiment("true", change={"pcie.speed": 1}), "change: profile dc-25g has no pcie.speed")
        self.refused(self.experiment("true", profile="none-such"), "none-such")
        self.refused(self.experiment(["true"]), "program: 1 commands, and there are 2 nodes")
        self.refused(self.experiment("true", sync=True), "--time sync: of guests")
        with self.assertRaisesRegex(exrnic.ExrnicError, "an experiment has no colour"):
            self.experiment("true").changed("colour", 1)

    def test_a_workload_needs_no_program_and_two_runs_are_equal(self):
        workload = {"name": "all to one", "traffic": [{"pattern": "incast", "operation": "push", "bytes": 65536, "target": 0}]}
        experiment = self.experiment(workload=workload, nodes=5)
        first, second = experiment.run(), experiment.run()
        self.assertEqual([(row["from"], row["to"], row["bytes"]) for row in first.rows], [(n, 0, 65536) for n in range(1, 5)])
        self.assertEqual((first.rows, first.counters), (second.rows, second.counters))
        self.assertGreater(first.counter("switch0.0", "queue_high_water"), 65536)
        self.refused(self.experiment(workload={"name": "nothing"}), "key 'traffic' is missing")
        self.refused(self.experiment(workload=workload, guests=True), "guests, sync and launcher are for programs")
        self.refused(self.experiment(workload=workload, topology="fat-tree"), "write fat-tree:N")
        self.refused(self.experiment(), "give a program, or a workload")

    def test_a_workload_has_captures_and_losses_too(self):
        workload = {"name": "pair", "traffic": [{"pattern": "incast", "operation": "push", "bytes": 200_000, "target": 1}]}
        result = self.experiment(workload=workload, topology="star", faults={"drop": 0.05}, capture=True, losses=True).run()
        at_nodes = [loss for loss in result.losses if loss["at"].startswith("node")]
        self.assertEqual(len(at_nodes), sum(row.get("line_towards.dropped", 0) for row in result.counters))
        self.assertTrue([loss for loss in at_nodes if loss["opcode"] == "PUSH"])
        self.assertGreater(len(result.captures.where(port="node1")), 100)

    def test_what_was_run_is_known_until_an_input_changes(self):
        program = self.scratch / "program"
        program.write_text(f"echo ran >> {self.scratch}/runs\n")
        experiment = self.experiment(f"test {{node}} = 1 || sh {program}")

        def runs():
            return len((self.scratch / "runs").read_text().split())

        cache = self.scratch / "cache"
        self.assertFalse(experiment.run(cached=cache).cached)
        self.assertTrue(experiment.run(cached=cache).cached)
        self.assertEqual(runs(), 1)
        experiment.changed("seed", 2).run(cached=cache)
        self.assertEqual(runs(), 2)
        program.write_text(program.read_text() + "# changed\n")
        self.assertFalse(experiment.run(cached=cache).cached)
        self.assertEqual(runs(), 3)
        for kept in cache.glob("*"):
            kept.write_text("{")
        self.assertFalse(experiment.run(cached=cache).cached)

    def test_a_sweep_has_a_row_for_each_combination_in_order(self):
        experiment = self.experiment("test {node} = 1 || echo '@exrnic {\"sum\": '$(( {a} + {b} ))'}'")
        rows = exrnic.sweep(experiment, {"arguments.a": [1, 2], "arguments.b": [10, 20]}, jobs=4, cached=False)
        self.assertEqual(rows.column("sum"), [11, 21, 12, 22])
        self.assertEqual(rows.where(a=2).column("b"), [10, 20])
        rows.csv(self.scratch / "rows.csv")
        self.assertEqual((self.scratch / "rows.csv").read_text().split()[:2], ["a,b,node,sum", "1,10,0,11"])

    def test_a_sweep_names_the_values_that_failed(self):
        with self.assertRaisesRegex(exrnic.ExrnicError, "^arguments.status=7: .*status 7"):
            exrnic.sweep(self.experiment("exit {status}"), {"arguments.status": [0, 7]}, cached=False)

    def test_nothing_outlives_a_python_that_is_killed(self):
        mark = self.scratch / "pids"
        script = f'import exrnic; exrnic.Experiment("echo $$ >> {mark}; exec sleep 600", core="ref").run()'
        with subprocess.Popen([sys.executable, "-c", script]) as python:
            self.wait_until(lambda: mark.exists() and len(mark.read_text().split()) == 2)
            python.send_signal(signal.SIGKILL)
        self.wait_until(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in mark.read_text().split()))

    def wait_until(self, condition):
        deadline = time.monotonic() + 20
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)


class Simulators(unittest.TestCase):
    def test_programs_run_at_it_and_it_can_be_asked(self):
        with exrnic.Simulator(arguments=["--faults", "drop=0.05"]) as simulator:
            programs = [simulator.run(node, f"exrnic-pingpong --node {node} --oob unix:oob.sock --sizes 8 --rounds 30")
                        for node in (0, 1)]
            self.assertEqual([program.wait(60) for program in programs], [0, 0])
            self.assertGreater(sum(row["line_towards.dropped"] for row in simulator.counters()), 0)
            with self.assertRaisesRegex(exrnic.ExrnicError, "0-7"):
                simulator.ask(command="link", link="0-7", up=False)
        self.assertFalse(simulator.directory.exists())

    def test_one_that_does_not_start_says_why(self):
        with self.assertRaisesRegex(exrnic.ExrnicError, "--core none: there is no such core"):
            with exrnic.Simulator(core="none"):
                self.fail("it runs")


class Rows(unittest.TestCase):
    def test_rows_of_a_program_are_its_marked_lines_and_those_of_json(self):
        text = 'hello\n[  1.0] x @exrnic {"a": 1}\n{"name": "b"}\n@exrnic {"cut\n{no\n[1]\n'
        self.assertEqual(results.program_rows(text), [{"a": 1}, {"name": "b"}])

    def test_medians_are_of_each_group(self):
        rows = exrnic.Rows({"size": size, "v": value} for size, value in ((1, 5), (1, 9), (1, 6), (2, 3)))
        self.assertEqual(rows.medians(["size"], "v"), [{"size": 1, "v": 6, "runs": 3}, {"size": 2, "v": 3, "runs": 1}])


class Examples(unittest.TestCase):
    def rows(self, script):
        with tempfile.TemporaryDirectory() as cache:
            run = subprocess.run([sys.executable, _FOLDER / f"examples/{script}.py", "--few", "--core", "ref", "--cache",
                                  cache], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stdout)
        heading, *lines = (line.split() for line in run.stdout.splitlines())
        return [dict(zip(heading, line)) for line in lines]

    def test_a_slower_pcie_link_takes_longer(self):
        fast, slow = (float(row["rtt_us"]) for row in self.rows("latency_against_pcie"))
        self.assertGreater(slow, fast + 2)  # at least four crossings of 500 ns

    def test_loss_costs_goodput(self):
        whole, lossy = (float(row["bandwidth_mbps"]) for row in self.rows("goodput_against_loss"))
        self.assertGreater(whole, lossy)

    def test_what_many_send_to_one_arrives(self):
        self.assertEqual([(row["nodes"], row["verified"]) for row in self.rows("incast")],
                         [("3", str(2 << 16)), ("5", str(4 << 16))])


if __name__ == "__main__":
    unittest.main()
