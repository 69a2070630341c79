#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Two processes exchange data through two simulated RNICs, without guests ("make demo").

Each process is the driver of its RNIC (VL_DEVICE=sim:PATH). exrnic-sim has the two RNICs, their PCIe
links and the Ethernet between them. It ends well if both processes do, and their rows say that all
that was moved was compared; see demo_report.py.
"""

import argparse
import os
import pathlib
import sys
import time

import cosim
import demo_report
from errors import LaunchError
import found
import processes
import records

_BUILD = pathlib.Path(__file__).resolve().parents[2] / "build"
_DEMO = _BUILD / "host/libverbs-lite/exrnic-demo"
_READY = "exrnic-sim: ready"
_START_SECONDS = 20
_RUN_SECONDS = 120
_END_SECONDS = 1  # of a simulator that gives up, behind its sockets
_POLL_SECONDS = 0.002
_OOB = "unix:oob.sock"


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--core", default="rtl", help="rtl, ref or lockstep (default: rtl)")
    parser.add_argument("--profile", default="dc-25g", help="link profile (default: %(default)s)")
    parser.add_argument("--sim-argument", action="append", default=[], metavar="ARG",
                        help="passed on to exrnic-sim, which runs in the folder for logs; can be repeated")
    parser.add_argument("--directory", type=pathlib.Path, default=_BUILD / "run/demo",
                        help="for logs, made anew; one with other files is refused "
                        "(default: build/run/demo)")
    parser.add_argument("--sim", type=pathlib.Path, default=_BUILD / "host/sim/exrnic-sim")
    parser.add_argument("arguments", nargs="*", metavar="-- ARG",
                        help="passed on to the program, such as -- --sizes 8,64")
    parser.add_argument("--program", type=pathlib.Path,
                        help="any that takes --node, --oob and --device, and prints rows "
                        "(default: exrnic-demo)", default=_DEMO)
    records.add_options(parser)
    options = parser.parse_args()
    options.directory = pathlib.Path(os.path.relpath(options.directory))
    return options


def wait(what, seconds, condition, logs):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise LaunchError(f"{what} within {seconds:g} s", logs)
        time.sleep(_POLL_SECONDS)


def start_simulator(children, options, log):
    nodes = [argument for node in (0, 1) for argument in ("--node", f"vfio-user:{node}.sock")]
    simulator = children.start([str(options.sim.resolve()), "--core", options.core,
                                "--profile", found.from_here(options.profile), "--control", "control.sock",
                                *records.sim_arguments(options), *options.sim_argument,
                                *nodes], log)
    wait("exrnic-sim was not ready", _START_SECONDS,
         lambda: simulator.poll() is not None or _READY in log.read_text(errors="replace"), [log])
    if simulator.poll() is not None:
        raise LaunchError(f"exrnic-sim ended with status {simulator.poll()}", [log])
    return simulator


def run_programs(children, options, simulator, log, logs):
    """`log`: of the simulator."""
    programs = [
        children.start([str(options.program.resolve()), "--node", str(node), "--oob", _OOB,
                        "--device", f"sim:{node}.sock", *options.arguments], log)
        for node, log in enumerate(logs)]
    wait("the processes did not end", _RUN_SECONDS,
         lambda: all(program.poll() is not None for program in programs), logs)
    for node, program in enumerate(programs):
        if program.returncode != 0:
            # The simulator first: its end takes the programs along.
            status = processes.await_end(simulator, _END_SECONDS)
            if status is not None:
                raise LaunchError(f"exrnic-sim ended with status {status}", [log])
            raise LaunchError(f"the process at node {node} ended with status "
                              f"{program.returncode}", logs)


def demo(options, directory):
    """Returns the processes' logs, and the seconds until the RNICs were there."""
    logs = [directory / f"process{node}.log" for node in (0, 1)]
    start = time.monotonic()
    with processes.Processes(directory) as children:
        simulator = start_simulator(children, options, directory / records.LOG)
        ready = time.monotonic() - start
        run_programs(children, options, simulator, directory / records.LOG, logs)
        status = processes.stop_politely(simulator, _START_SECONDS)  # it has files to complete
        if status != 0:
            raise LaunchError("exrnic-sim did not end" if status is None else
                              f"exrnic-sim ended with status {status}", [directory / records.LOG])
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
