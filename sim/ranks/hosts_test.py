#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Hosts at the nodes of several ranks: hosts_test.py EXRNIC-SIM-MPI EXRNIC-PINGPONG EXRNICCTL
EXRNIC-FM EXRNIC-TICKETS."""

import collections
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import mpirun

_SECONDS = 60
_NODES = 3
_PARTITION = {"nodes": [[0], [1, 2]], "switches": {"switch0": 1}}
_TICKS = os.sysconf("SC_CLK_TCK")
MPI = PINGPONG = CTL = FM = TICKETS = None  # arguments


def processor_seconds(process):
    user, system = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / _TICKS


class HostsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        (self.path / "partition.json").write_text(json.dumps(_PARTITION))

    def command(self, *arguments, ranks=2):
        nodes = [argument for node in range(_NODES) for argument in ("--node", f"vfio-user:{node}.sock")]
        core = [] if "--core" in arguments else ["--core", "ref"]
        return [*mpirun.command(MPI, ranks), *core, "--topology", "star:3", "--partition", "partition.json", "--control", "control.sock",
                "--stats", "stats.json", *nodes, *arguments]

    def start(self, *arguments):
        """The simulator, of two ranks. Node 0 is at rank 0, all else at rank 1."""
        with open(self.path / "sim.log", "wb") as log:
            run = subprocess.Popen(self.command(*arguments), cwd=self.path, env=mpirun.environment(),
                                   stdout=log, stderr=subprocess.STDOUT)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        self.await_true(lambda: self.log().count("exrnic-sim: ready") == 2, "both ranks")
        return run, mpirun.ranks_of(run.pid, 2)

    def log(self):
        return (self.path / "sim.log").read_text()

    def await_true(self, condition, what):
        end = time.monotonic() + _SECONDS
        while not condition():
            self.assertLess(time.monotonic(), end, f"waited {_SECONDS} s for {what}: {self.log()}")
            time.sleep(0.02)

    def pingpong(self):
        """Between nodes 0 and 1."""
        return [subprocess.Popen([PINGPONG, "--node", str(node), "--rounds", "10", "--oob", "unix:oob.sock"], cwd=self.path,
                                 env={**os.environ, "VL_DEVICE": f"sim:{node}.sock"}, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
                for node in (0, 1)]

    def end_well(self, programs):
        for program in programs:
            output, _ = program.communicate(timeout=_SECONDS)
            self.assertEqual(program.returncode, 0, output)

    def control(self, *arguments):
        done = subprocess.run([CTL, *arguments, "--control", "control.sock"], cwd=self.path, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=_SECONDS, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def ask(self, request):
        """What exrnicctl has no command for."""
        with socket.socket(socket.AF_UNIX) as control:
            control.settimeout(_SECONDS)
            control.connect(str(self.path / "control.sock"))
            control.sendall(json.dumps(request).encode() + b"\n")
            return json.loads(control.makefile().readline())

    def status(self):
        return json.loads(self.control("status", "--json"))

    def stop(self, run, ranks):
        for process in ranks.values():
            os.kill(process, signal.SIGTERM)
        self.assertEqual(run.wait(_SECONDS), 0, self.log())

    def test_hosts_of_different_ranks_talk_and_one_socket_controls_all(self):
        run, ranks = self.start()
        self.end_well(self.pingpong())
        status = self.status()
        self.assertEqual([node["id"] for node in status["nodes"]], [0, 1, 2])
        for link in status["links"]:
            for line in link["lines"]:
                self.assertNotIn(None, line.values())
                self.assertEqual(line["frames"] > 10, "2" not in link["link"].split("switch")[0], link)
        counters = json.loads(self.control("stat", "--json"))["nodes"]
        self.assertEqual([node["id"] for node in counters], [0, 1, 2])
        self.assertEqual(self.ask({"command": "statistics"})["ranks"], 2)
        self.stop(run, ranks)
        nodes = json.loads((self.path / "stats.json").read_text())["nodes"]
        self.assertEqual([node["socket"] for node in nodes], ["0.sock", "1.sock", "2.sock"])
        for node in nodes[:2]:
            self.assertGreater(node["counters"]["frames_rx"], 10)

    def test_a_line_of_any_rank_is_broken_and_mended_at_rank_0(self):
        run, ranks = self.start()
        for node in 0, 1:
            name = f"{node}-switch0"
            self.control("link", name, "--drop", "1")
            programs = self.pingpong()
            self.await_true(lambda at=node: self.dropped(at), "a frame that is dropped")
            self.assertTrue(all(program.poll() is None for program in programs))
            self.control("link", name, "clear")
            self.end_well(programs)
        self.stop(run, ranks)

    def test_a_frame_that_is_lost_at_any_rank_is_told_while_the_run_goes_on(self):
        run, ranks = self.start("--losses", "losses.json", "--trace", "trace.json")
        for node in 0, 1:
            self.control("link", f"{node}-switch0", "--drop", "0.03")
        self.end_well(self.pingpong())
        self.assertGreater(min(self.dropped(0), self.dropped(1)), 0)
        # Before each sleep: what is sent again may come after the programs have ended.
        self.await_true(lambda: self.told()["line: dropped by a fault"] == sum(self.dropped(node) for node in (0, 1)),
                        "as many losses as frames that are dropped")
        self.assertIn("line: dropped by a fault",
                      subprocess.run([CTL, "why", "losses.json"], cwd=self.path, stdout=subprocess.PIPE, text=True,
                                     timeout=_SECONDS, check=True).stdout)
        self.stop(run, ranks)
        events = json.loads((self.path / "trace.json").read_text())["traceEvents"]
        self.assertEqual({event["pid"] for event in events if event["name"] == "cqe"}, {0, 1})

    def test_what_a_trace_draws_goes_on_in_order_of_time(self):
        run, ranks = self.start("--trace", "trace.json")
        programs = [subprocess.Popen([TICKETS, "--nodes", str(_NODES), "--tickets", "300"], cwd=self.path,
                                     env={**os.environ, "VL_DEVICE": f"sim:{node}.sock"}, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, text=True) for node in range(_NODES)]
        self.end_well(programs)
        self.stop(run, ranks)
        events = json.loads((self.path / "trace.json").read_text())["traceEvents"]
        # Those that are drawn when they have ended have begun before.
        times = [event["ts"] for event in events if event["ph"] == "X" and event["name"] not in ("register_read", "command", "runs")]
        self.assertGreater(len(times), 1000)
        self.assertEqual(times, sorted(times))
        self.assertLess(max(event.get("dur", 0) for event in events), max(times))

    def test_a_fabric_over_ranks_is_managed_from_a_node_of_one(self):
        run, ranks = self.start("--fabric", "managed")
        (self.path / "key").write_text("1234abcd")
        managed = subprocess.run([FM, "--device", "sim:0.sock", "--key-file", "key", "--once"], cwd=self.path, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, timeout=_SECONDS, check=False)
        self.assertEqual(managed.returncode, 0, managed.stdout)
        self.assertIn("3 nodes and 1 switches", managed.stdout)
        self.end_well(self.pingpong())
        self.stop(run, ranks)

    def told(self):
        """Losses, by their cause."""
        return collections.Counter(json.loads(line)["cause"] for line in (self.path / "losses.json").read_text().splitlines())

    def dropped(self, node):
        return sum(line["dropped"] for line in self.status()["links"][node]["lines"])

    def test_a_link_that_is_cut_is_down_at_both_ends(self):
        run, ranks = self.start()
        self.control("link", "0-switch0", "down")
        self.assertEqual([link["up"] for link in self.status()["links"]], [False, True, True])
        programs = self.pingpong()
        self.control("link", "0-switch0", "up")
        self.end_well(programs)
        self.control("partition", "0", "1,2")
        self.assertEqual(self.status()["partition"], [[0], [1, 2]])
        self.stop(run, ranks)

    def test_ranks_sleep_while_nothing_is_in_flight(self):
        run, ranks = self.start()
        self.end_well(self.pingpong())
        time.sleep(0.5)
        before = {rank: processor_seconds(process) for rank, process in ranks.items()}
        time.sleep(2)
        for rank, process in ranks.items():
            self.assertLess(processor_seconds(process) - before[rank], 0.3)
        self.end_well(self.pingpong())
        self.stop(run, ranks)

    def test_a_rank_that_is_told_to_end_goes_on_until_all_are(self):
        run, ranks = self.start()
        os.kill(ranks[1], signal.SIGTERM)
        self.end_well(self.pingpong())
        self.assertEqual(len(self.status()["nodes"]), _NODES)
        os.kill(ranks[0], signal.SIGTERM)
        self.assertEqual(run.wait(_SECONDS), 0, self.log())
        self.assertIn("the others have waited most for rank", self.log())

    def test_a_rank_that_is_told_twice_ends_all(self):
        run, ranks = self.start()
        os.kill(ranks[1], signal.SIGTERM)
        time.sleep(0.5)
        os.kill(ranks[1], signal.SIGTERM)
        self.assertNotEqual(run.wait(10), 0)
        self.assertIn("rank 1: stopped twice", self.log())

    def test_a_rank_that_is_killed_ends_all_within_10_s(self):
        run, ranks = self.start()
        os.kill(ranks[0], signal.SIGKILL)
        self.assertNotEqual(run.wait(10), 0)
        self.assertIn("rank 0", self.log())

    def test_what_is_of_one_process_is_refused(self):
        for arguments in (["--gdb", "0:gdb.sock"], ["--reach-memory", "messages"],
                          ["--core", "lockstep"]):
            done = subprocess.run(self.command(*arguments), cwd=self.path, env=mpirun.environment(), text=True,
                                  capture_output=True, timeout=_SECONDS, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(arguments[0], done.stderr)

    def test_more_guests_with_one_clock_than_it_holds_are_refused(self):
        nodes = [argument for node in range(3, 17) for argument in ("--node", f"vfio-user:{node}.sock")]
        (self.path / "partition.json").write_text(json.dumps(
            {"nodes": [list(range(16)), [16]], "switches": {"switch0": 1}}))
        command = [argument.replace("star:3", "star:17") for argument in self.command("--time", "sync:clock", *nodes[:26])]
        done = subprocess.run(command, cwd=self.path, env=mpirun.environment(), text=True, capture_output=True,
                              timeout=_SECONDS, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("this rank has 16 guests, and of several ranks each may have 15", done.stderr)

    def test_help_of_one_rank_holds_up_nobody(self):
        command = self.command()
        at = command.index("2", command.index("-n"))
        command[at:at + 2] = ["1", MPI, "--help", ":", "-n", "1", MPI]
        done = subprocess.run(command, cwd=self.path, env=mpirun.environment(), text=True, capture_output=True,
                              timeout=_SECONDS, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("another rank was asked for help", done.stderr)


if __name__ == "__main__":
    MPI, PINGPONG, CTL, FM, TICKETS = (os.path.abspath(argument) for argument in sys.argv[1:6])
    unittest.main(argv=sys.argv[:1])
