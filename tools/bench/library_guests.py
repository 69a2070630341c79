#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs of the libraries above libverbs-lite, in guests in synchronised time: adds what they say to results.json.

    library_guests.py RESULTS [--only NAME ...] [--core CORE]

All on the RTL, in simulated time; ratios are parts of the limit of push.goodput_ratio.
sisci: `sisci.pio_oneway_ns`, scipp, 4 bytes stored by a pointer; `sisci.memcpy_mbps`, scibench, SCIMemCpy; `sisci.dma_mbps`,
`sisci.dma_goodput_ratio`, dma_bench with one transfer at a time and with two; `sisci.interrupt_us`, intr_bench, a round trip.
pm: `pm.rtt_us`, `pm.message_mbps`, `pm.goodput_ratio`, messages of PM; `pm.write_goodput_ratio`, `pm.read_goodput_ratio`;
`verbs.rtt_us`, SENDs of exrnic-pingpong in the same guests.
cluster: `cluster.goodput_ratio`, many-to-many of all nodes, messages of 1 and 16 MiB.
dsm: `dsm.laplace_speedup`, by nodes, of three iterations of 2048 x 2048, after one node's time; `dsm.laplace_ms`, where the time of
the node that took longest went (part).
"""

import re
import sys

import sync_guests
from sync_guests import LaunchError  # by its ways to the launcher

_ADDRESSES = "10.101.0.{}:7471"
_LARGEST_LIMIT = 262144  # PUSHes of more have its limit
_RUN_SECONDS = 1800

# What a program prints for people becomes rows that the launcher hands on; a guest's command has no double quotes.
_LINES = (r"(IFS=; while read -r line; do printf '@exrnic {\42program\42:\42%s\42,\42line\42:\42%s\42}\n' NAME $line; done "
          r"< rows.txt)")
_SISCI = {"scipp": "scipp", "scibench": "scibench", "dma_bench": "dma_bench", "dma_bench 2": "dma_bench -queues 2",
          "intr_bench": "intr_bench"}
_SISCI_LOOPS = {"scipp": 10, "scibench": 5, "dma_bench": 5, "dma_bench 2": 10, "intr_bench": 20}


class SisciLines:
    """What the programs print, of two guests in one launch."""

    def __init__(self, bench, profile):
        end = "$([ {node} = 0 ] && echo -server || echo -client) -rn $((1-{node}))"
        command = " && ".join(f"{call} {end} -loops {_SISCI_LOOPS[name]} > rows.txt && {_LINES.replace('NAME', repr(name))}"
                              for name, call in _SISCI.items())
        self._lines = [(row["program"], row["line"]) for row in bench.launch("SISCI", profile, 2, command, run_seconds=_RUN_SECONDS)
                       if "program" in row]

    def of_size(self, program, size, pattern):
        for name, line in self._lines:
            match = re.match(rf" *{size} +{pattern}", line)
            if name == program and match:
                return float(match[1])
        raise LaunchError(f"{program} has printed no line of {size}, but {self._lines}")


def sisci(bench, profile="ntb-gen3x8"):
    lines = SisciLines(bench, profile)
    bench.add("sisci.pio_oneway_ns", 1000 * lines.of_size("scipp", 4, r"\d+ +\S+ +(\S+)"), "ns", profile, size=4)
    for size in (4 << step for step in range(15)):
        bench.add("sisci.memcpy_mbps", lines.of_size("scibench", size, r"\S+ us +(\S+)"), "MB/s", profile, size=size)
    for queues, name in ((1, "dma_bench"), (2, "dma_bench 2")):
        for size in (64 << step for step in range(14)):
            rate = lines.of_size(name, size, r"\S+ us +(\S+)")
            bench.add("sisci.dma_mbps", rate, "MB/s", profile, size=size, queues=queues)
            if size in (4096, 65536, 524288):
                limit = bench.limit_mbps(profile, min(size, _LARGEST_LIMIT))
                bench.add("sisci.dma_goodput_ratio", rate / limit, "ratio", profile, size=size, queues=queues)
    bench.add("sisci.interrupt_us", lines.of_size("intr_bench", _SISCI_LOOPS["intr_bench"], r"(\S+)"), "us", profile)


def pm(bench, profile="rhinet2"):
    addresses = ",".join(_ADDRESSES.format(node) for node in range(2))
    command = f"exrnic-pm --node {{node}} --addresses {addresses} --rounds 40 --messages 100 --transfers 4"
    pingpong = "exrnic-pingpong --node {node} --oob /dev/ttyS1 --sizes 8 --rounds 40"
    said = bench.launch("PM", profile, 2, f"{command} && {pingpong}", ethernet=True)
    rows = {(row["pm"], row["bytes"]): row["value"] for row in said if "pm" in row}
    bench.add("verbs.rtt_us", next(row["rtt_us"] for row in said if "rtt_us" in row), "us", profile, size=8)
    for size in (4, 64, 1024):
        bench.add("pm.rtt_us", rows["rtt_us", size], "us", profile, size=size)
    for size in (1024, 4096, 8192):
        rate = rows["message_mb_per_s", size]
        bench.add("pm.message_mbps", rate, "MB/s", profile, size=size)
        bench.add("pm.goodput_ratio", rate / bench.limit_mbps(profile, size), "ratio", profile, size=size)
    for name in ("write", "read"):
        rate = rows[f"{name}_mb_per_s", 65536]
        bench.add(f"pm.{name}_goodput_ratio", rate / bench.limit_mbps(profile, 65536), "ratio", profile, size=65536)


def cluster(bench):
    for size in (1 << 20, 1 << 24):
        cluster_of_size(bench, size)


def cluster_of_size(bench, size, profile="rhinet2", nodes=4):
    addresses = ",".join(_ADDRESSES.format(node) for node in range(nodes))
    command = (f"exrnic-cluster --node {{node}} --addresses {addresses} --sizes {size} --operations write_with_imm "
               "--patterns many_to_many")
    rates = [row["mb_per_s"] for row in bench.launch(f"cluster, {nodes} nodes", profile, nodes, command, ethernet=True, run_seconds=_RUN_SECONDS)
             if row.get("pattern") == "many_to_many"]
    if len(rates) != nodes:
        raise LaunchError(f"{nodes} nodes were to print a rate, but there is {rates}")
    limit = bench.limit_mbps(profile, min(size, _LARGEST_LIMIT))
    bench.add("cluster.goodput_ratio", min(rates) / limit, "ratio", profile, size=size, nodes=nodes, pattern="many_to_many")


def dsm(bench, profile="rhinet2", size=2048, iterations=3):
    alone = None
    sums = set()
    for nodes in (1, 2, 4, 8):
        among = f"--node {{node}} --addresses {','.join(_ADDRESSES.format(node) for node in range(nodes))} " if nodes > 1 else ""
        command = f"exrnic-dsm {among}laplace --size {size} --iterations {iterations} --unchecked"
        rows = [row for row in bench.launch(f"shared memory, {nodes} nodes", profile, nodes, command, ethernet=True) if "dsm" in row]
        sums.add(sum(int(row["result"], 16) for row in rows) % 2**64)  # each prints that of its rows
        if len(rows) != nodes or len(sums) != 1:
            raise LaunchError(f"the results of {nodes} nodes were to add up to that of one node, but there is {rows}")
        longest = max(rows, key=lambda row: row["seconds"])
        alone = alone or longest["seconds"]
        if nodes > 1:
            bench.add("dsm.laplace_speedup", alone / longest["seconds"], "x", profile, size=size, nodes=nodes)
        bench.add("dsm.laplace_ms", 1e3 * longest["seconds"], "ms", profile, size=size, nodes=nodes, part="all")
        for part in ("compute", "faults", "diffs", "barrier"):
            bench.add("dsm.laplace_ms", 1e3 * longest[part], "ms", profile, size=size, nodes=nodes, part=part)


# By name: the function, and the first words of its rows' names.
_MEASURES = {"sisci": (sisci, "sisci"), "pm": (pm, "pm", "verbs"), "cluster": (cluster, "cluster"), "dsm": (dsm, "dsm")}


if __name__ == "__main__":
    sys.exit(sync_guests.run_measures(__doc__, _MEASURES))
