#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs exrnic-bench in QEMU guests, and adds its figures to results.json; all are wall clock.

    guests.py RESULTS

One guest alone measures what takes one host; then two measure what lies between them, once with
each core. What a guest could not measure is told, and left out.
"""

import argparse
import json
import os
import pathlib
import sys

_CLONE = pathlib.Path(__file__).resolve().parents[2]
_BUILD = _CLONE / "build"
sys.path.insert(0, str(_CLONE / "sim/launch"))

import cosim  # noqa: E402 (the launcher is no installed package)
from errors import LaunchError  # noqa: E402
import processes  # noqa: E402

_PRINT_ROWS = "--json rows && sed 's/^/@exrnic /' rows"
_ALONE = f"exrnic-bench {_PRINT_ROWS}"
_PAIR = f"exrnic-bench --only pair --node {{node}} --oob /dev/ttyS1 {_PRINT_ROWS}"
_CORES = ("ref", "rtl")


def measure(options, name, core, guests, command, memory):
    """Returns the figures of one launch, each with the core that it was measured on."""
    rows = []
    settings = cosim.Settings(
        directory=pathlib.Path(os.path.relpath(_BUILD / "run" / f"bench-{name}")),
        sim=options.sim.resolve(), qemu=options.qemu, kernel=pathlib.Path(options.kernel),
        initramfs=options.initramfs.resolve(), command=command, guests=guests, memory=memory,
        sim_arguments=("--core", core, "--profile", options.profile), run_seconds=300)
    print(f"bench: guests, {name}", file=sys.stderr, flush=True)
    cosim.CoSim(settings, lambda node, row: rows.append(row), lambda text: None).run()
    for row in rows:
        if "skipped" in row:
            print(f"bench: no figure {row}", file=sys.stderr)
        elif "value" not in row:
            raise LaunchError(f"exrnic-bench printed a figure that cannot be read: {row}",
                              sorted(settings.directory.glob("*.log")))
    return [{**row, "core": core} for row in rows if "value" in row]


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--sim", type=pathlib.Path, default=_BUILD / "host/sim/exrnic-sim")
    parser.add_argument("--initramfs", type=pathlib.Path,
                        default=_BUILD / "guest/initramfs.cpio")
    parser.add_argument("--profile", default="dc-25g", help="link profile (default: %(default)s)")
    parser.add_argument("--alone", action="store_true", help="only what takes one guest")
    parser.add_argument("--memory", default="2G",
                        help="of the guest that pins up to 1 GiB (default: %(default)s)")
    parser.add_argument("--qemu", default=os.environ.get("QEMU"), help="default: QEMU")
    parser.add_argument("--kernel", default=os.environ.get("KERNEL"), help="default: KERNEL")
    return parser.parse_args()


def main():
    processes.stop_on_signals()
    options = parse_arguments()
    rows = json.loads(options.results.read_text())
    try:
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
