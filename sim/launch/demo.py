#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Two processes exchange data through two simulated RNICs, without guests ("make demo").

Each process is the driver of its RNIC (VL_DEVICE=sim:PATH). exrnic-sim has the two RNICs, their PCIe
links and the Ethernet between them. The demo succeeds if both processes do, and their rows say that
everything that was moved was compared; see demo_report.py.
"""

import argparse
import os
import pathlib
import sys
import time

import bare
import cosim
import demo_report
from errors import LaunchError
import found
import processes
import records

_BUILD = pathlib.Path(__file__).resolve().parents[2] / "build"
_DEMO = _BUILD / "host/libverbs-lite/exrnic-demo"
_RUN_SECONDS = 120
_OOB = "unix:oob.sock"


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--core", default="rtl", help="rtl, ref or lockstep (default: rtl)")
    parser.add_argument("--profile", default="dc-25g", help="link profile (default: %(default)s)")
    parser.add_argument("--sim-argument", action="append", default=[], metavar="ARG",
                        help="passed on to exrnic-sim, which runs in the folder for logs; can be repeated")
    parser.add_argument("--directory", type=pathlib.Path, default=_BUILD / "run/demo",
                        help="folder for logs; made anew, but refused if it has other files "
                        "(default: build/run/demo)")
    parser.add_argument("--sim", type=pathlib.Path, default=_BUILD / "host/sim/exrnic-sim")
    parser.add_argument("arguments", nargs="*", metavar="-- ARG",
                        help="passed on to the program, such as -- --sizes 8,64")
    parser.add_argument("--program", type=pathlib.Path,
                        help="any program that takes --node, --oob and --device, and prints rows "
                        "(default: exrnic-demo)", default=_DEMO)
    records.add_options(parser)
    options = parser.parse_args()
    options.directory = pathlib.Path(os.path.relpath(options.directory))
    return options


def demo(options, directory):
    """Returns the processes' logs, and the seconds until the RNICs were there."""
    logs = [directory / f"process{node}.log" for node in (0, 1)]
    start = time.monotonic()
    log = directory / records.LOG
    with processes.Processes(directory) as children:
        simulator = bare.start_simulator(
            children, options.sim.resolve(),
            ["--core", options.core, "--profile", found.from_here(options.profile),
             *records.sim_arguments(options), *options.sim_argument], len(logs), log)
        ready = time.monotonic() - start
        programs = [
            children.start([str(options.program.resolve()), "--node", str(node), "--oob", _OOB,
                            "--device", bare.device_of(node), *options.arguments], path)
            for node, path in enumerate(logs)]
        bare.await_programs(programs, simulator, _RUN_SECONDS, log, logs)
        bare.stop_simulator(simulator, log)
    return logs, ready


def judge(options, logs):
    """Returns what to show, and how many operations were compared. Raises LaunchError unless all were."""
    rows = demo_report.rows_of(logs)
    compared = demo_report.operations(rows, logs)
    if options.program.name != _DEMO.name:
        return logs[0].read_text().splitlines(), compared
    return demo_report.demo_table(rows, logs), compared


def main():
    processes.stop_on_signals()
    options = parse_arguments()
    start = time.monotonic()
    try:
        with cosim.own_directory(options.directory):
            logs, ready = demo(options, options.directory)
            shown, compared = judge(options, logs)
    except LaunchError as error:
        print(error.report(), file=sys.stderr)
        return 1
    except processes.Stopped as stop:
        return 128 + stop.signal_number
    print(f"two processes, each with an RNIC of its own: {options.core} core, {options.profile}\n")
    print("\n".join(shown) + "\n")
    print(f"OK: {compared} operations, every byte compared ({time.monotonic() - start:.1f} s, of which {ready:.2f} s "
          "until the RNICs were there)")
    for line in records.describe(options, options.directory):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
