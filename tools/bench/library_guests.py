#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs of the libraries above libverbs-lite, in guests in synchronised time: adds what they say to results.json.

    library_guests.py RESULTS [--only NAME ...] [--core CORE]

All on the RTL, in simulated time.
`pm.rtt_us`, `pm.message_mbps`: messages of PM; `pm.goodput_ratio`: as part of the limit of push.goodput_ratio; `pm.write_goodput_ratio`, `pm.read_goodput_ratio`.
`verbs.rtt_us`: SENDs of exrnic-pingpong in the same guests. `cluster.goodput_ratio`: many-to-many of all nodes.
`dsm.laplace_speedup`: by nodes, of three iterations of 2048 x 2048, after one node's time; `dsm.laplace_ms`: where the time of the node that took longest went (part).
"""

import argparse
import json
import pathlib
import sys

import sync_guests
from sync_guests import LaunchError, found, processes  # by its ways to the launcher

_ADDRESSES = "10.101.0.{}:7471"


def limit_mbps(rows, profile, size):
    """What PUSHes of that size could carry at most: the bench of the core has measured it."""
    found_rows = {row["name"]: row["value"] for row in rows
                  if row["name"].startswith("push.goodput_") and row.get("profile") == profile and row.get("size") == size}
    if len(found_rows) != 2:
        raise LaunchError(f"the file has no figures push.goodput_* of {size} bytes on {profile}: make bench measures them first")
    return found_rows["push.goodput_mbps"] / found_rows["push.goodput_ratio"]


# Of what a measure's name does not begin with.
_ALSO = {"verbs": "pm"}


def _measure_of(row):
    begin = row["name"].partition(".")[0]
    return _ALSO.get(begin, begin)


class Bench:
    """The rows of the file, but for what is measured anew; and those that are."""

    def __init__(self, options):
        self.options = options
        self.known = [row for row in json.loads(options.results.read_text())
                      if _measure_of(row) not in options.only]
        self.rows = []

    def launch(self, name, profile, guests, command):
        sync = sync_guests.synchronised(self.options, profile)
        return [row for _, row in sync_guests.launch(self.options, name, profile, guests, command, sync, ethernet=True)]

    def add(self, name, value, unit, profile, **keys):
        row = {"name": name, "value": value, "unit": unit, "clock": "simulated", "profile": profile, **keys,
               "core": self.options.core}
        self.rows.append(row)
        print(f"  {name:<24}{value:>12.3f} {unit:<6} {profile} {', '.join(f'{key} {text}' for key, text in keys.items())}", flush=True)


def pm(bench, profile="rhinet2"):
    addresses = ",".join(_ADDRESSES.format(node) for node in range(2))
    command = f"exrnic-pm --node {{node}} --addresses {addresses} --rounds 40 --messages 100 --transfers 4"
    pingpong = "exrnic-pingpong --node {node} --oob /dev/ttyS1 --sizes 8 --rounds 40"
    said = bench.launch("PM", profile, 2, f"{command} && {pingpong}")
    rows = {(row["pm"], row["bytes"]): row["value"] for row in said if "pm" in row}
    bench.add("verbs.rtt_us", next(row["rtt_us"] for row in said if "rtt_us" in row), "us", profile, size=8)
    for size in (4, 64, 1024):
        bench.add("pm.rtt_us", rows["rtt_us", size], "us", profile, size=size)
    for size in (1024, 4096, 8192):
        rate = rows["message_mb_per_s", size]
        bench.add("pm.message_mbps", rate, "MB/s", profile, size=size)
        bench.add("pm.goodput_ratio", rate / limit_mbps(bench.known, profile, size), "ratio", profile, size=size)
    for name in ("write", "read"):
        rate = rows[f"{name}_mb_per_s", 65536]
        bench.add(f"pm.{name}_goodput_ratio", rate / limit_mbps(bench.known, profile, 65536), "ratio", profile, size=65536)


def cluster(bench, profile="rhinet2", nodes=4, size=1 << 20):
    addresses = ",".join(_ADDRESSES.format(node) for node in range(nodes))
    command = (f"exrnic-cluster --node {{node}} --addresses {addresses} --sizes {size} --operations write_with_imm "
               "--patterns many_to_many")
    rates = [row["mb_per_s"] for row in bench.launch(f"cluster, {nodes} nodes", profile, nodes, command)
             if row.get("pattern") == "many_to_many"]
    if len(rates) != nodes:
        raise LaunchError(f"{nodes} nodes were to print a rate, but there is {rates}")
    limit = limit_mbps(bench.known, profile, min(size, 1 << 20))
    bench.add("cluster.goodput_ratio", min(rates) / limit, "ratio", profile, size=size, nodes=nodes, pattern="many_to_many")


def dsm(bench, profile="rhinet2", size=2048, iterations=3):
    alone = None
    results = set()
    for nodes in (1, 2, 4, 8):
        among = f"--node {{node}} --addresses {','.join(_ADDRESSES.format(node) for node in range(nodes))} " if nodes > 1 else ""
        command = f"exrnic-dsm {among}laplace --size {size} --iterations {iterations} --unchecked"
        rows = [row for row in bench.launch(f"shared memory, {nodes} nodes", profile, nodes, command) if "dsm" in row]
        results |= {row["result"] for row in rows}
        if len(rows) != nodes or len(results) != 1:
            raise LaunchError(f"{nodes} nodes were to print one result, that of one node, but there is {rows}")
        longest = max(rows, key=lambda row: row["seconds"])
        alone = alone or longest["seconds"]
        if nodes > 1:
            bench.add("dsm.laplace_speedup", alone / longest["seconds"], "x", profile, size=size, nodes=nodes)
        bench.add("dsm.laplace_ms", 1e3 * longest["seconds"], "ms", profile, size=size, nodes=nodes, part="all")
        for part in ("compute", "faults", "diffs", "barrier"):
            bench.add("dsm.laplace_ms", 1e3 * longest[part], "ms", profile, size=size, nodes=nodes, part=part)


_MEASURES = {"pm": pm, "cluster": cluster, "dsm": dsm}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--only", nargs="+", choices=_MEASURES, default=list(_MEASURES))
    parser.add_argument("--core", default="rtl", help="RNIC core (default: %(default)s)")
    sync_guests.add_inputs(parser)
    found.add_options(parser)
    return parser.parse_args()


def main():
    processes.stop_on_signals()
    options = parse_arguments()
    bench = Bench(options)
    try:
        for name in options.only:
            _MEASURES[name](bench)
    except LaunchError as error:
        print(error.report(), file=sys.stderr)
        return 1
    finally:
        options.results.write_text(json.dumps(bench.known + bench.rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
