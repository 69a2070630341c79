#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Replaces exrnic-sim: each node's RNIC is in a box of its own, with a PEB, and a host has it across a network.

    python3 sim/launch --sim sim/launch/behind_pebs.py push

One exrnic-sim has the RNICs and the network between them; another has hosts, boxes and the network of the PEBs. The
first gets --core and --window-bar, both get --profile, the second everything else. Each writes a log: rnics.log,
pebs.log.
"""

import argparse
import pathlib
import sys
import time

from errors import LaunchError
import processes

_EXRNIC_SIM = pathlib.Path(__file__).resolve().parents[2] / "build/host/sim/exrnic-sim"
_RNICS_LOG = pathlib.Path("rnics.log")
_PEBS_LOG = pathlib.Path("pebs.log")
_READY = "exrnic-sim: ready"
_START_SECONDS = 20
_END_SECONDS = 10
_POLL_SECONDS = 0.01


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     allow_abbrev=False)
    parser.add_argument("--node", action="append", default=[], metavar="vfio-user:PATH", help="as for exrnic-sim", required=True)
    parser.add_argument("--core", default="rtl", help="core of the RNICs (default: %(default)s)")
    parser.add_argument("--window-bar", default="64M", help="size of BAR 4 of the RNICs (default: %(default)s)")
    parser.add_argument("--profile", default="dc-25g", help="profile of both networks (default: %(default)s)")
    parser.add_argument("--exrnic-sim", type=pathlib.Path, default=_EXRNIC_SIM, help="the program (default: %(default)s)")
    return parser.parse_known_args()


def rnic_arguments(options):
    nodes = [argument for node in range(len(options.node)) for argument in ("--node", f"vfio-user:{_rnic_socket(node)}")]
    return ["--reach-memory", "messages", "--core", options.core, "--window-bar", options.window_bar,
            "--profile", options.profile, *nodes]


def peb_arguments(options, others):
    arguments = ["--profile", options.profile, *others]
    for node, socket in enumerate(options.node):
        arguments += ["--peb-host", socket, "--peb-device", f"vfio-user:{_rnic_socket(node)}",
                      "--assign", f"{node}={len(options.node) + node}"]
    return arguments


def _rnic_socket(node):
    return f"rnic{node}.sock"


def _start(children, options, arguments, log, marks):
    """Returns when the log has what it is to have."""
    child = children.start([str(options.exrnic_sim), *arguments], log)
    deadline = time.monotonic() + _START_SECONDS
    while not all(mark in log.read_text(errors="replace") for mark in marks):
        if child.poll() is not None:
            raise LaunchError(f"exrnic-sim ended with status {child.poll()}", [log])
        if time.monotonic() > deadline:
            raise LaunchError(f"exrnic-sim does not say \"{marks[-1]}\" within {_START_SECONDS} s", [log])
        time.sleep(_POLL_SECONDS)
    return child


def _run(options, others):
    """Until a signal, or the end of either."""
    with processes.Processes(".") as children:
        both = {_RNICS_LOG: _start(children, options, rnic_arguments(options), _RNICS_LOG, [_READY])}
        there = [f"slot {node}.0: device " for node in range(len(options.node))]
        both[_PEBS_LOG] = _start(children, options, peb_arguments(options, others), _PEBS_LOG, [_READY, *there])
        print(_READY, flush=True)
        try:
            while all(child.poll() is None for child in both.values()):
                time.sleep(_POLL_SECONDS)
        except processes.Stopped:
            pass
        for log, child in reversed(both.items()):
            if child.poll() is None and processes.stop_politely(child, _END_SECONDS) == 0:
                continue
            raise LaunchError(f"exrnic-sim ended with status {child.poll()}", [log])


def main():
    processes.stop_on_signals()
    options, others = parse_arguments()
    try:
        _run(options, others)
    except LaunchError as error:
        print(error.report(), file=sys.stderr)
        return 1
    except processes.Stopped as stop:
        return 128 + stop.signal_number
    return 0


if __name__ == "__main__":
    sys.exit(main())
