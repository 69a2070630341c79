#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs exrnic-bench in QEMU guests, and adds its figures to results.json; all are wall clock.

    guests.py RESULTS

One guest alone measures what takes one host; then two measure what lies between them, once with
each core. What a guest could not measure is told, and left out. Rows of no guest are of this
machine's own kernel: what its guests' figures would be compared with where it does not emulate them.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

_CLONE = pathlib.Path(__file__).resolve().parents[2]
_BUILD = _CLONE / "build"
sys.path.insert(0, str(_CLONE / "sim/launch"))

import cosim  # noqa: E402 (the launcher is no installed package)
from errors import LaunchError  # noqa: E402
import found  # noqa: E402
import processes  # noqa: E402

_PRINT_ROWS = "--json rows && sed 's/^/@exrnic /' rows"
_ALONE = f"mount -t debugfs debugfs /sys/kernel/debug && exrnic-bench {_PRINT_ROWS}"
_PAIR = f"exrnic-bench --only pair --node {{node}} --oob /dev/ttyS1 {_PRINT_ROWS}"
_CORES = ("ref", "rtl")
_PIN_SECONDS = 120


def figures(rows, logs=()):
    """Of rows as exrnic-bench prints them those with a figure; tells which it could not measure."""
    for row in rows:
        if "skipped" in row:
            print(f"bench: no figure {row}", file=sys.stderr)
        elif "value" not in row:
            raise LaunchError(f"exrnic-bench printed a figure that cannot be read: {row}", logs)
    measured = [row for row in rows if "value" in row]
    if not measured:
        raise LaunchError("exrnic-bench ended well, but printed no figure", logs)
    return measured


def measure(options, name, core, guests, command, memory):
    """Returns the figures of one launch, each with the core that it was measured on."""
    rows = []
    settings = cosim.Settings(
        directory=pathlib.Path(os.path.relpath(_BUILD / "run" / f"bench-{name}")),
        sim=options.sim.resolve(), qemu=options.qemu, kernel=options.kernel,
        initramfs=options.initramfs.resolve(), command=command, guests=guests, memory=memory,
        sim_arguments=("--core", core, "--profile", found.from_here(options.profile)), run_seconds=300)
    print(f"bench: guests, {name}", file=sys.stderr, flush=True)
    cosim.CoSim(settings, lambda node, row: rows.append(row), lambda text: None).run()
    return [{**row, "core": core}
            for row in figures(rows, sorted(settings.directory.glob("*.log")))]


def measure_without_guest(options):
    """Returns what the kernel of this machine needs to pin memory, which takes no RNIC."""
    print("bench: this machine without a guest", file=sys.stderr, flush=True)
    try:
        program = subprocess.run([options.bench, "--only", "pin", "--json", "-"], check=True,
                                 stdout=subprocess.PIPE, text=True, timeout=_PIN_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        raise LaunchError(f"the kernel's own pinning could not be measured: {error}") from error
    rows = [json.loads(line) for line in program.stdout.splitlines()]
    return [{**row, "guests": 0} for row in figures(rows)]


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--sim", type=pathlib.Path, default=_BUILD / "host/sim/exrnic-sim")
    parser.add_argument("--bench", type=pathlib.Path,
                        default=_BUILD / "host/libverbs-lite/exrnic-bench",
                        help="for what takes no guest (default: %(default)s)")
    parser.add_argument("--initramfs", type=pathlib.Path,
                        default=_BUILD / "guest/initramfs.cpio")
    parser.add_argument("--profile", default="dc-25g", help="link profile (default: %(default)s)")
    parser.add_argument("--alone", action="store_true", help="only what takes one guest")
    parser.add_argument("--memory", default="2G",
                        help="of the guest that pins up to 1 GiB (default: %(default)s)")
    found.add_options(parser)
    return parser.parse_args()


def main():
    processes.stop_on_signals()
    options = parse_arguments()
    rows = json.loads(options.results.read_text())
    try:
        rows += measure_without_guest(options)
        rows += measure(options, "alone", "ref", 1, _ALONE, options.memory)
        for core in () if options.alone else _CORES:
            rows += measure(options, core, core, 2, _PAIR, cosim.guest.DEFAULT_MEMORY)
    except LaunchError as error:
        print(error.report(), file=sys.stderr)
        return 1
    options.results.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
