#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What large networks cost: workloads without hosts in one process (sim/workload). Adds rows to results.json.

    scale.py RESULTS [--sim PROGRAM] [--most-nodes N]

`scale.identical`: 1 if two threads, or 2 and 4 ranks, leave what one leaves, each flow and each counter. Of reference nodes on leaf-spine,
by number of nodes: `scale.seconds` and `scale.kactions_per_s` of a permutation of 64 KiB, one thread, processor time;
`scale.node_kib`, memory of a node that has done it, and of one that stands by. `scale.all_to_all_seconds`: 8 bytes from
each of them to each other one. `scale.speedup`: 8 busy nodes of RTL, two threads, or two ranks, against one, wall clock.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

_ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(_ROOT / "sim/ranks"))
import mpirun  # noqa: E402  pylint: disable=wrong-import-position

_VARIES = ("threads", "ranks", "wall_s")  # of the statistics, by number of threads and ranks


def traffic(pattern, size, **keys):
    return {"pattern": pattern, "operation": "push", "bytes": size, **keys}


PERMUTATION = {"name": "permutation", "mtu": 4096, "traffic": [traffic("permutation", 65536)]}
PAIR = {"name": "two of them", "traffic": [traffic("permutation", 65536, last_node=1)]}
ALL_TO_ALL = {"name": "all to all", "traffic": [traffic("all-to-all", 8, outstanding=16)]}
BUSY = {"name": "busy", "traffic": [traffic("permutation", 65536, messages=20, outstanding=4)]}
MIX = {"name": "mix", "traffic": [
    traffic("all-to-all", 2000, outstanding=4),
    {"pattern": "incast", "operation": "send", "bytes": 30000, "target": 5},
    {"pattern": "random", "operation": "pull", "bytes": 5000, "messages": 20, "megabits_per_second": 2000, "arrivals": "poisson"},
    {"pattern": "ring-all-reduce", "operation": "push-imm", "bytes": 65536}]}


class Run:
    """One run of the simulator: what it left, and what it took."""

    def __init__(self, program, workload, topology, core="ref", threads=1, faults="", ranks=1):
        with tempfile.TemporaryDirectory() as folder:
            files = {name: pathlib.Path(folder) / name for name in ("workload.json", "flows.csv", "stats.json")}
            files["workload.json"].write_text(json.dumps(workload))
            started = [program] if ranks == 1 else mpirun.command(f"{program}-mpi", ranks)
            command = [*started, "--workload", files["workload.json"], "--topology", topology, "--core", core,
                       "--threads", str(threads), "--results", files["flows.csv"], "--stats", files["stats.json"]]
            start = time.monotonic()
            process = subprocess.Popen(command + (["--faults", faults] if faults else []), stdout=subprocess.DEVNULL,
                                       env=mpirun.environment())
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.wall_s = time.monotonic() - start
            if process.returncode != 0:
                sys.exit(f"scale.py: {program} --topology {topology} ended with status {process.returncode}")
            self.cpu_s = usage.ru_utime + usage.ru_stime
            self.kib = usage.ru_maxrss
            self.flows = files["flows.csv"].read_text()
            self.stats = json.loads(files["stats.json"].read_text())

    def left(self):
        return self.flows, {key: value for key, value in self.stats.items() if key not in _VARIES}


def measure(add, program, most_nodes):
    one, *others = [Run(program, MIX, "two-levels:16", threads=threads, ranks=ranks, faults="drop=0.001")
                    for ranks, threads in ((1, 1), (1, 2), (2, 1), (4, 1), (2, 2))]
    same = all(one.left() == other.left() for other in others)
    add("scale.identical", float(same), "1 or 0", "simulated", core="ref")
    alone = Run(program, PAIR, "leaf-spine:2").kib
    for nodes in (count for count in (64, 256, 1024, 4096) if count <= most_nodes):
        topology = f"leaf-spine:{nodes}"
        run = Run(program, PERMUTATION, topology)
        add("scale.seconds", run.cpu_s, "s", "cpu", nodes=nodes, core="ref")
        add("scale.kactions_per_s", run.stats["actions"] / run.cpu_s / 1e3, "kHz", "cpu", nodes=nodes, core="ref")
        add("scale.node_kib", (run.kib - alone) / nodes, "KiB", "memory", nodes=nodes, node="busy", core="ref")
        idle = Run(program, PAIR, topology).kib
        add("scale.node_kib", (idle - alone) / nodes, "KiB", "memory", nodes=nodes, node="idle", core="ref")
    for nodes in (count for count in (64, 256) if count <= most_nodes):
        run = Run(program, ALL_TO_ALL, f"leaf-spine:{nodes}")
        add("scale.all_to_all_seconds", run.cpu_s, "s", "cpu", nodes=nodes, core="ref")
    one, threads, ranks = (Run(program, BUSY, "star:8", core="rtl", threads=threads, ranks=ranks).wall_s
                           for ranks, threads in ((1, 1), (1, 2), (2, 1)))
    add("scale.speedup", one / threads, "x", "wall", nodes=8, threads=2, core="rtl")
    add("scale.speedup", one / ranks, "x", "wall", nodes=8, ranks=2, core="rtl")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--sim", default="build/host/sim/exrnic-sim", help="default: %(default)s")
    parser.add_argument("--most-nodes", type=int, default=4096, help="leaves out larger networks")
    options = parser.parse_args()
    known = json.loads(options.results.read_text()) if options.results.exists() else []
    rows = [row for row in known if not row["name"].startswith("scale.")]

    def add(name, value, unit, clock, **keys):
        rows.append({"name": name, "value": value, "unit": unit, "clock": clock, **keys})
        print(f"  {name:<26}{value:>12.3f} {unit:<7}{', '.join(f'{key} {text}' for key, text in keys.items())}", flush=True)
        options.results.write_text(json.dumps(rows, indent=2) + "\n")

    measure(add, options.sim, options.most_nodes)


if __name__ == "__main__":
    main()
