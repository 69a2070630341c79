#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Starts exrnic-sim and QEMU guests with an RNIC each; see cosim.py.

    python3 sim/launch push             two guests PUSH to each other; a table ("make run")
    python3 sim/launch shell            guests with consoles to type at ("make shell")
    python3 sim/launch run "COMMAND"    COMMAND in every guest, {node} being its number
    python3 sim/launch --processes run "COMMAND"
                                        the same as processes of this machine, without guests

In COMMAND, {node}, {nodes}, {oob}, {addresses} and {network} are replaced: see placeholders.py. --put and --take copy
files into the guests and out of them.

With --guests N there are N guests, connected as --topology says; the two of --pair push. Started by mpirun, several
launchers share them, on one machine or on many: see ranks.py.

Exit status: 0 if all went well; for "run", that of the first command that failed in a guest or process; otherwise 1;
130 after Ctrl-C.
"""

import argparse
import contextlib
import math
import os
import pathlib
import sys
import time

import bare
import cosim
from errors import LaunchError
import extras
import found
import guest
import processes
from push_report import PushReport
import ranks
import records
import shell
import sync_time

_PLACES = found.places()
_RANK = ranks.of_environment()
_BOOT_SECONDS = {"free": 60, "sync": 300}
_RUN_SECONDS = {"free": 120, "sync": 600}
_IDLE_COMMAND = "true"
_PUSH_COMMAND = "exrnic-push --node {node} --oob /dev/ttyS1"


def pair_of(text):
    """"0,2" -> (0, 2)."""
    numbers = text.split(",")
    if len(numbers) != 2 or not all(number.isdecimal() for number in numbers):
        raise argparse.ArgumentTypeError(f"'{text}': write two guests' numbers, such as 0,2")
    return tuple(int(number) for number in numbers)


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        prog=os.environ.get("EXRNIC_LAUNCH_NAME", "launch"), description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("push", "run", "shell"))
    parser.add_argument("command", nargs="?", help="for run: the guests' command")
    parser.add_argument("--directory", type=pathlib.Path,
                        help="folder for logs; made anew, but refused if it has other files (default: "
                        f"{_PLACES.runs}/WHAT)")
    parser.add_argument("--guests", type=int, default=2)
    parser.add_argument("--processes", action="store_true",
                        help="for run: no guests; COMMAND runs once for each of the --guests nodes, and VL_DEVICE "
                        "names its RNIC")
    parser.add_argument("--programs", type=pathlib.Path, action="append", metavar="FOLDER",
                        help="with --processes: comes first in PATH; can be repeated (default: those of the build)")
    parser.add_argument("--parent", type=int, metavar="PID", help=argparse.SUPPRESS)  # end with it
    parser.add_argument("--pair", type=pair_of, default=(0, 1), metavar="A,B",
                        help="the two guests whose second serial ports are connected (default: 0,1)")
    parser.add_argument("--topology", help="network of the guests: star, ring, two-levels, a file "
                        "(default: that of the profile)")
    parser.add_argument("--profile", default="dc-25g", help="link profile (default: %(default)s)")
    parser.add_argument("--window-bar", metavar="SIZE",
                        help="size of BAR 4 of the RNICs, as for exrnic-sim: 64M to 4G (default: 64M)")
    parser.add_argument("--sim-argument", action="append", default=[], metavar="ARG",
                        help="passed on to exrnic-sim, which runs in the folder for logs; can be repeated")
    parser.add_argument("--gdb", action="store_true",
                        help="for shell: the guests' kernels wait for GDB; guestN.gdb knows the modules")
    parser.add_argument("--modules", type=pathlib.Path, default=_PLACES.modules, metavar="FOLDER",
                        help="with --gdb: folder of the guests' modules with symbols (default: %(default)s)")
    records.add_options(parser)
    extras.add_options(parser)
    parser.add_argument("--kernel-arguments", default="", help="further arguments for the guests' kernels")
    parser.add_argument("--memory", default=guest.DEFAULT_MEMORY,
                        help="memory of a guest, as for QEMU's -m (default: %(default)s)")
    parser.add_argument("--cpus", type=int, default=1,
                        help="processors of a guest, as for QEMU's -smp (default: %(default)s)")
    parser.add_argument("--iommu", action="store_true", help="put the RNICs behind IOMMUs")
    parser.add_argument("--ethernet", action="store_true",
                        help="guests have the RNICs' Ethernet interfaces; node N has 10.101.(N / 256).(N %% 256)")
    parser.add_argument("--boot-seconds", type=float,
                        help="time limit for guests to boot (default: 60, in synchronised time 300)")
    parser.add_argument("--run-seconds", type=float,
                        help="time limit for the guests' command (default: 120, in synchronised time 600)")
    parser.add_argument("--accelerator", choices=guest.ACCELERATORS,
                        default=os.environ.get("ACCEL", "tcg"), help="default: ACCEL, or tcg")
    parser.add_argument("--time", choices=("free", "sync"), default=os.environ.get("TIME", "free"),
                        help="sync: guests and simulator share one time (default: TIME, or free)")
    parser.add_argument("--plugin", type=pathlib.Path,
                        default=_PLACES.plugin,
                        help="QEMU plugin for synchronised time")
    parser.add_argument("--sim", type=pathlib.Path, default=_PLACES.sim_mpi if _RANK else _PLACES.sim)
    parser.add_argument("--initramfs", type=pathlib.Path, default=_PLACES.initramfs)
    found.add_options(parser)
    options = parser.parse_args(arguments)
    options.directory = options.directory or _PLACES.runs / options.what
    if _RANK:
        options.directory = _RANK.own(options.directory)
    if (options.what == "run") != bool(options.command):
        parser.error("\"run\" takes a command, \"push\" and \"shell\" take none")
    check_shell(parser, options)
    if options.time not in _BOOT_SECONDS:  # argparse checks no default
        parser.error(f"TIME={options.time}: write free or sync")
    check_guests(parser, options)
    if _RANK and _RANK.problem(options):
        parser.error(_RANK.problem(options))
    if options.processes:
        check_processes(parser, options)
        return options
    for name in ("qemu", "kernel"):
        if not getattr(options, name):
            parser.error(f"--{name} or {name.upper()} is needed (\"make setup\" finds one)")
    return options


def check_shell(parser, options):
    if options.gdb and options.what != "shell":
        parser.error("--gdb: it goes with \"shell\"")
    if options.what == "shell" and options.time == "sync":
        parser.error("shell: somebody who types has no simulated time; take --time free")


def check_guests(parser, options):
    least = 2 if options.what == "push" else 1
    if options.guests < least:
        parser.error(f"--guests {options.guests}: \"{options.what}\" takes {least} or more")
    if options.cpus < 1:
        parser.error(f"--cpus {options.cpus}: a guest has 1 or more")
    if options.cpus > 1 and options.time == "sync":  # instructions of one are counted
        parser.error(f"--cpus {options.cpus}: in synchronised time a guest has 1 (or --time free)")
    if options.network and options.time == "sync":
        parser.error("--network: it has no simulated time; take --time free")
    first, second = options.pair
    if options.guests > 1 and (first == second or max(options.pair) >= options.guests):
        parser.error(f"--pair {first},{second}: give two different guests below {options.guests}")


def check_processes(parser, options):
    """What only guests have is refused."""
    if options.what != "run":
        parser.error("--processes: it goes with \"run\"")
    for name in ("put", "take", "world", "iommu", "ethernet", "network", "kernel_arguments"):
        if getattr(options, name):
            parser.error(f"--{name.replace('_', '-')}: of guests; there are none with --processes")
    if options.time == "sync":
        parser.error("--time sync: of guests; there are none with --processes")


def sim_arguments(options):
    topology = ("--topology", found.from_here(options.topology)) if options.topology else ()
    window_bar = ("--window-bar", options.window_bar) if options.window_bar is not None else ()
    return ("--profile", found.from_here(options.profile), *topology, *window_bar,
            *records.sim_arguments(options), *options.sim_argument)


def command_of(options):
    if options.what == "shell":
        return shell.command(options.world)
    return options.command or _PUSH_COMMAND


def settings_from(options):
    profile = found.from_here(options.profile)
    return cosim.Settings(
        directory=pathlib.Path(os.path.relpath(options.directory)),
        sim=options.sim.resolve(),
        qemu=options.qemu,
        kernel=options.kernel,
        initramfs=options.initramfs.resolve(),
        command=command_of(options),
        guests=options.guests,
        pair=options.pair,
        idle_command=_IDLE_COMMAND if options.what == "push" else "",
        accelerator=options.accelerator,
        kernel_arguments=options.kernel_arguments + extras.kernel_arguments(options),
        memory=options.memory,
        cpus=options.cpus,
        iommu=options.iommu,
        ethernet=options.ethernet or options.world or options.what == "shell",
        extras=extras.of_options(options),
        network=guest.Network.anew() if options.network else None,
        sync=sync_time.of_profile(profile, options.plugin.resolve())
        if options.time == "sync" else None,
        sim_arguments=sim_arguments(options),
        boot_seconds=options.boot_seconds or _BOOT_SECONDS[options.time],
        consoles=options.what == "shell",
        gdb=options.gdb,
        part=_RANK is not None,
        run_seconds=options.run_seconds or (math.inf if options.what == "shell" else _RUN_SECONDS[options.time]))


def say(text):
    line = f"rank {_RANK.number}: {text}" if _RANK and text else text
    print(f"{line}\n", end="", flush=True)  # at once: mpirun mixes what ranks write


def say_row(node, row):
    say(f"{node}: {row}")


def launch_processes(options):
    """Returns the one-line verdict; raises LaunchError."""
    start = time.monotonic()
    directory = pathlib.Path(os.path.relpath(options.directory))
    bare.run(bare.Settings(
        directory=directory, sim=options.sim.resolve(), command=options.command, nodes=options.guests,
        programs=tuple(folder.resolve() for folder in options.programs or _PLACES.programs),
        sim_arguments=sim_arguments(options),
        run_seconds=options.run_seconds or _RUN_SECONDS[options.time]), say_row)
    return f"OK: all processes ended with status 0 ({time.monotonic() - start:.1f} s; logs: {directory})"


def launch(options):
    """Returns the one-line verdict; raises LaunchError."""
    settings = settings_from(options)
    report = PushReport(say, options.pair)
    on_row = report.add if options.what == "push" else say_row
    start = time.monotonic()

    def progress(text):
        say(f"[{time.monotonic() - start:5.1f} s] {text}")

    with contextlib.ExitStack() as stack:
        if options.what == "shell":
            front_end = shell.FrontEnd(settings.directory, options.modules.resolve(), options.gdb, say)
            settings.on_up = front_end.open
            stack.callback(front_end.close)
        cosim.CoSim(settings, on_row, progress).run()
    if options.what == "push":
        problem = report.problem()
        if problem:
            raise LaunchError(problem, sorted(settings.directory.glob("*.log")))
    good_news = report.summary() if options.what == "push" else "all guests ended with status 0"
    return f"OK: {good_news} ({time.monotonic() - start:.1f} s; logs: {settings.directory})"


def main():
    processes.stop_on_signals()
    options = parse_arguments(sys.argv[1:])
    try:
        if options.parent is not None:
            processes.end_with(options.parent)
        verdict = launch_processes(options) if options.processes else launch(options)
    except LaunchError as error:
        sys.stdout.flush()
        print(f"rank {_RANK.number}: {error.report()}" if _RANK else error.report(), file=sys.stderr)
        return error.status
    except processes.Stopped as stop:
        print(f"stopped by {stop}; no process is left behind", file=sys.stderr)
        return 128 + stop.signal_number
    say("")
    say(verdict)
    whole = _RANK is None or _RANK.is_first
    for line in records.describe(options, pathlib.Path(os.path.relpath(options.directory)), whole):
        say(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
