#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Guests in synchronised time: adds what they measure, in simulated time, to results.json.

    sync_guests.py RESULTS

For each profile: register reads from user level and by ioctl (one guest), and the round trip of 8 bytes (two
guests, polling). `sync.identical_runs`: of three runs of each with the first profile, how many in a row give
the same rows, bit for bit. `sync.slowdown`: wall time of a whole guest's life that leaves the RNIC idle,
against the same in free time.
"""

import argparse
import json
import os
import pathlib
import sys
import time

_CLONE = pathlib.Path(__file__).resolve().parents[2]
_BUILD = _CLONE / "build"
sys.path.insert(0, str(_CLONE / "sim/launch"))

import cosim  # noqa: E402 (the launcher is no installed package)
from errors import LaunchError  # noqa: E402
import processes  # noqa: E402
import sync_time  # noqa: E402

_PROFILES = ("dc-25g", "expether-gbe", "ntb-gen3x8", "rhinet2")
_RUNS = 3
_REGISTERS = ("exrnic-bench --only registers --count 1000 --json rows > /dev/null && "
              "sed 's/^/@exrnic /' rows")
_PINGPONG = "exrnic-pingpong --node {node} --oob /dev/ttyS1 --sizes 8 --rounds 200"
_NAMES = {"mmio.user_ns": "sync.user_ns", "mmio.ioctl_ns": "sync.ioctl_ns"}


def launch(options, name, profile, guests, command, synchronised=True):
    """Returns the rows of one launch, in the order of the guests, and its wall time in seconds."""
    print(f"bench: {name}, {profile}", file=sys.stderr, flush=True)
    sync = sync_time.of_profile(profile, options.plugin.resolve()) if synchronised else None
    rows = [[] for _ in range(guests)]
    settings = cosim.Settings(
        directory=pathlib.Path(os.path.relpath(_BUILD / "run" / "bench-sync")),
        sim=options.sim.resolve(), qemu=options.qemu, kernel=pathlib.Path(options.kernel),
        initramfs=options.initramfs.resolve(), command=command, guests=guests, sync=sync,
        sim_arguments=("--core", options.core, "--profile", profile), boot_seconds=300,
        run_seconds=300)
    start = time.monotonic()
    cosim.CoSim(settings, lambda node, row: rows[node].append(row), lambda text: None).run()
    return [row for rows_of_one in rows for row in rows_of_one], time.monotonic() - start


def registers(options, profile):
    rows, _ = launch(options, "register reads in synchronised time", profile, 1, _REGISTERS)
    found = {_NAMES[row["name"]]: row["value"] for row in rows if row.get("name") in _NAMES}
    if len(found) != len(_NAMES):
        raise LaunchError(f"exrnic-bench printed no register reads, but {rows}")
    return found


def pingpong(options, profile):
    rows, _ = launch(options, "round trips in synchronised time", profile, 2, _PINGPONG)
    trips = [row["rtt_us"] for row in rows if "rtt_us" in row]
    if len(trips) != 1:
        raise LaunchError(f"exrnic-pingpong printed not one round trip, but {rows}")
    return {"sync.pingpong_us": trips[0]}


def identical_runs(options, first):
    """`first`: what the first run gave."""
    profile = _PROFILES[0]
    for run in range(1, _RUNS):
        if {**registers(options, profile), **pingpong(options, profile)} != first:
            return run
    return _RUNS


def slowdown(options, guests):
    seconds = [launch(options, "an idle RNIC", _PROFILES[0], guests, "true", synchronised)[1]
               for synchronised in (True, False)]
    return seconds[0] / seconds[1]


def measure(options):
    rows = []

    def add(name, value, unit, **keys):
        rows.append({"name": name, "value": value, "unit": unit, **keys, "core": options.core})

    for profile in _PROFILES:
        figures = {**registers(options, profile), **pingpong(options, profile)}
        for name, value in figures.items():
            add(name, value, name.rpartition("_")[2], clock="simulated", profile=profile)
        if profile == _PROFILES[0]:
            add("sync.identical_runs", identical_runs(options, figures), "runs", of=_RUNS)
    for guests in (1, 2):
        add("sync.slowdown", slowdown(options, guests), "x", clock="wall", guests=guests)
    return rows


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--core", default="ref", help="RNIC core (default: %(default)s)")
    parser.add_argument("--sim", type=pathlib.Path, default=_BUILD / "host/sim/exrnic-sim")
    parser.add_argument("--plugin", type=pathlib.Path,
                        default=_BUILD / "host/sim/time_sync/libexrnic-time.so")
    parser.add_argument("--initramfs", type=pathlib.Path,
                        default=_BUILD / "guest/initramfs.cpio")
    parser.add_argument("--qemu", default=os.environ.get("QEMU"), help="default: QEMU")
    parser.add_argument("--kernel", default=os.environ.get("KERNEL"), help="default: KERNEL")
    return parser.parse_args()


def main():
    processes.stop_on_signals()
    options = parse_arguments()
    rows = json.loads(options.results.read_text())
    try:
        rows += measure(options)
    except LaunchError as error:
        print(error.report(), file=sys.stderr)
        return 1
    options.results.write_text(json.dumps(rows, indent=1) + "\n")
    for row in rows:
        if row["name"].startswith("sync."):
            print(f"  {row['name']:<22}{row['value']:>12.3f} {row['unit']:<5} "
                  f"{row.get('profile', row.get('guests', ''))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
