#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs of the libraries above libverbs-lite, in guests in synchronised time: adds what they say to results.json.

    library_guests.py RESULTS [--only NAME ...] [--core CORE]

All on the RTL, in simulated time.
`pm.rtt_us`, `pm.goodput_ratio`: messages of PM, as part of the limit of push.goodput_ratio; `pm.write_goodput_ratio`, `pm.read_goodput_ratio`. `cluster.goodput_ratio`: many-to-many of all nodes.
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


class Bench:
    """The rows of the file, but for what is measured anew; and those that are."""

    def __init__(self, options):
        self.options = options
        self.known = [row for row in json.loads(options.results.read_text())
                      if row["name"].partition(".")[0] not in options.only]
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
    rows = {(row["pm"], row["bytes"]): row["value"] for row in bench.launch("PM", profile, 2, command) if "pm" in row}
    for size in (4, 64, 1024):
        bench.add("pm.rtt_us", rows["rtt_us", size], "us", profile, size=size)
    for size in (1024, 4096, 8192):
        rate = rows["message_mb_per_s", size]
        bench.add("pm.goodput_ratio", rate / limit_mbps(bench.known, profile, size), "ratio", profile, size=size)
    for name in ("write", "read"):
        rate = rows[f"{name}_mb_per_s", 65536]
        bench.add(f"pm.{name}_goodput_ratio", rate / limit_mbps(bench.known, profile, 65536), "ratio", profile, size=65536)


def cluster(bench, profile="rhinet2", nodes=4, size=1 << 20):
    addresses = ",".join(_ADDRESSES.format(node) for node in range(nodes))
    command = (f"exrnic-cluster --node {{node}} --addresses {addresses} --sizes {size} --operations write_with_imm")
    rates = [row["mb_per_s"] for row in bench.launch(f"cluster, {nodes} nodes", profile, nodes, command)
             if row.get("pattern") == "many_to_many"]
    if len(rates) != nodes:
        raise LaunchError(f"{nodes} nodes were to print a rate, but there is {rates}")
    limit = limit_mbps(bench.known, profile, min(size, 1 << 20))
    bench.add("cluster.goodput_ratio", min(rates) / limit, "ratio", profile, size=size, nodes=nodes, pattern="many_to_many")


_MEASURES = {"pm": pm, "cluster": cluster}


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
