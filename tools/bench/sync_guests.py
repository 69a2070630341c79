#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Guests in synchronised time: adds what they measure, in simulated time, to results.json.

    sync_guests.py RESULTS [--profile NAME]

For each profile, in one launch of two guests: register reads from user level and by ioctl, pinning of 1 MiB against the list
of its pages, and the round trip of 8 bytes, of programs that poll and of programs that sleep until an interrupt.
`sync.identical_runs`: of three runs with the first profile, how many in a row give the same rows, bit for bit.
`sync.slowdown`: wall time against free time for the same work of guests whose RNIC is idle; `sync.slowdown_cpu` the same in CPU
time of all processes, which other load of the machine disturbs less, also of QEMU's -icount alone. The work is a guest's whole
life ("life"), or text and checksums after the boot ("compute"). Each is the least of three launches, which take turns. With --profile only what is measured
for each profile, for that one: one launch.
`eth.tcp_gbps`, `eth.tcp_ratio`: what a program receives by TCP over the RNICs' Ethernet interfaces, and how much of the line that
is, for two profiles; with the RNIC's MTU as after reset and frames of 9000 bytes, and with the largest MTU.
"""

import argparse
import json
import os
import pathlib
import resource
import sys
import time

_CLONE = pathlib.Path(__file__).resolve().parents[2]
_BUILD = _CLONE / "build"
sys.path.insert(0, str(_CLONE / "sim/launch"))

import cosim  # noqa: E402 (the launcher is no installed package)
from errors import LaunchError  # noqa: E402
import found  # noqa: E402
import processes  # noqa: E402
import sync_time  # noqa: E402

_PROFILES = ("dc-25g", "expether-gbe", "ntb-gen3x8", "rhinet2")
_RUNS = 3
_SIZE = 1 << 20
_ALONE = ("mount -t debugfs debugfs /sys/kernel/debug && "
          f"exrnic-bench --only registers,pbl --count 1000 --max-size {_SIZE} --json rows > /dev/null && "
          "sed 's/^/@exrnic /' rows")
_PINGPONG = "exrnic-pingpong --node {node} --oob /dev/ttyS1 --sizes 8 --rounds 200"
_PINGPONGS = f"{_PINGPONG} && {_PINGPONG} --events"
_NAMES = {("mmio.user_ns", None): "sync.user_ns", ("mmio.ioctl_ns", None): "sync.ioctl_ns",
          ("mmio.saving_percent", None): "sync.saving_percent",
          ("mlock.us", _SIZE): "sync.mlock_us", ("pbl.us", _SIZE): "sync.pbl_us",
          ("pbl.ratio_percent", _SIZE): "sync.pbl_ratio_percent"}
_UNITS = {"ns": "ns", "us": "us", "percent": "%"}

# By profile: bytes that TCP carries. By the RNIC's MTU: that of the interface.
_TCP_BYTES = {"expether-gbe": 4_000_000, "dc-25g": 16_000_000}
_ETHERNET_MTU = {1024: 9000, 4096: 4082}

# A row without figures, as the launcher sees it when it is printed.
_NOW = "echo @exrnic {}"
_COMPUTE = f"{_NOW}; seq 1 60000 | sha256sum; dd if=/dev/zero bs=64k count=80 | md5sum; {_NOW}"


class InstructionsAlone(sync_time.Sync):
    """-icount without our plugin, and the simulator in free time: what of the cost is QEMU's."""

    def sim_arguments(self):
        return []

    def qemu_arguments(self, node, other=None, index=None):
        arguments = super().qemu_arguments(node)
        at = arguments.index("-plugin")
        return arguments[:at] + arguments[at + 2:]


def _cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def launch(options, name, profile, guests, command, sync, **more):
    """Returns the rows of one launch, in the order of the guests, each with the wall time at which it came.
    `more`: of cosim.Settings."""
    print(f"bench: {name}, {profile}", file=sys.stderr, flush=True)
    rows = [[] for _ in range(guests)]
    settings = cosim.Settings(**{
        "directory": pathlib.Path(os.path.relpath(_BUILD / "run" / "bench-sync")),
        "sim": options.sim.resolve(), "qemu": options.qemu, "kernel": options.kernel,
        "initramfs": options.initramfs.resolve(), "command": command, "guests": guests, "sync": sync,
        "sim_arguments": ("--core", options.core, "--profile", profile), "boot_seconds": 600,
        "run_seconds": 600, **more})
    cosim.CoSim(settings, lambda node, row: rows[node].append((time.monotonic(), row)),
                lambda text: None).run()
    return [row for rows_of_one in rows for row in rows_of_one]


def synchronised(options, profile):
    return sync_time.of_profile(profile, options.plugin.resolve())


class Bench:
    """What a run of other scripts adds to results.json: the rows of each that is asked for, in place of those of its names."""

    def __init__(self, options, names):
        self.options = options
        self.known = [row for row in json.loads(options.results.read_text())
                      if row["name"].partition(".")[0] not in names]
        self.rows = []

    def launch(self, name, profile, guests, command, **more):
        """The rows that the guests print."""
        sync = synchronised(self.options, profile)
        return [row for _, row in launch(self.options, name, profile, guests, command, sync, **more)]

    def add(self, name, value, unit, profile, **keys):
        row = {"name": name, "value": value, "unit": unit, "clock": "simulated", "profile": profile, **keys,
               "core": self.options.core}
        self.rows.append(row)
        print(f"  {name:<24}{value:>12.3f} {unit:<6} {profile} {', '.join(f'{key} {text}' for key, text in keys.items())}",
              flush=True)

    def limit_mbps(self, profile, size):
        """What PUSHes of that size could carry at most: the bench of the core has measured it."""
        rows = {row["name"]: row["value"] for row in self.known
                if row["name"].startswith("push.goodput_") and row.get("profile") == profile and row.get("size") == size}
        if len(rows) != 2:
            raise LaunchError(f"the file has no figures push.goodput_* of {size} bytes on {profile}: make bench measures them first")
        return rows["push.goodput_mbps"] / rows["push.goodput_ratio"]

    def write(self):
        self.options.results.write_text(json.dumps(self.known + self.rows, indent=1) + "\n")


def run_measures(text, measures, add_options=lambda parser: None):
    """The main of a script that adds to results.json. `measures`: by name, of which --only takes some, a function of a Bench, and
    the first words of its rows' names. What was measured before a failure is kept. Returns the exit status."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path)
    if len(measures) > 1:
        parser.add_argument("--only", nargs="+", choices=measures)
    parser.add_argument("--core", default="rtl", help="RNIC core (default: %(default)s)")
    add_options(parser)
    add_inputs(parser)
    found.add_options(parser)
    processes.stop_on_signals()
    options = parser.parse_args()
    if not options.results.exists():
        parser.error(f"{options.results} is not there: make bench measures what the figures are compared with")
    for name in getattr(options, "only", None) or measures:
        measure, *names = measures[name]
        bench = Bench(options, names)
        try:
            measure(bench)
        except LaunchError as error:
            print(error.report(), file=sys.stderr)
            return 1
        bench.write()
    return 0


def figures_of(options, profile):
    """{name: value}, as the guests measured them."""
    command = f"if [ {{node}} = 0 ]; then {_ALONE} || exit 1; fi; {_PINGPONGS}"
    rows = [row for _, row in launch(options, "guests in synchronised time", profile, 2, command,
                                     synchronised(options, profile))]
    found = {_NAMES[key]: row["value"] for row in rows
             if (key := (row.get("name"), row.get("size"))) in _NAMES and "value" in row}
    found.update({"sync.pingpong_events_us" if "events" in row else "sync.pingpong_us": row["rtt_us"]
                  for row in rows if "rtt_us" in row})
    if len(found) != len(_NAMES) + 2:
        raise LaunchError(f"the guests did not print all figures, but {rows}")
    return found


def tcp_gbps(options, profile, mtu):
    """Of one connection that sends in one direction."""
    command = (f"ip link set eth0 mtu {_ETHERNET_MTU[mtu]} && if [ {{node}} = 0 ]; then exrnic-tcp --listen; "
               f"else exrnic-tcp --to 10.101.0.0 --send {_TCP_BYTES[profile]}; fi")
    rows = launch(options, f"TCP in synchronised time, MTU {mtu}", profile, 2, command,
                  synchronised(options, profile), ethernet=True, kernel_arguments=f"exrnic.mtu={mtu}")
    found = [row["gbit_per_s"] for _, row in rows if "gbit_per_s" in row]
    if len(found) != 1:
        raise LaunchError(f"the guests did not print one figure, but {rows}")
    return found[0]


def line_mbps(profile):
    text = (_CLONE / f"sim/profile/profiles/{profile}.json").read_text()
    return json.loads(text)["ethernet"]["megabits_per_second"]


def identical_runs(options, first):
    """`first`: what the first run gave."""
    for run in range(1, _RUNS):
        if figures_of(options, _PROFILES[0]) != first:
            return run
    return _RUNS


def cost(options, guests, sync):
    """Seconds of one launch: (wall time of a life, of the computing, CPU time of all)."""
    start, used = time.monotonic(), _cpu_seconds()
    rows = launch(options, "an idle RNIC", _PROFILES[0], guests, _COMPUTE, sync)
    wall, times = time.monotonic() - start, [when for when, _ in rows]
    return wall, max(times) - min(times), _cpu_seconds() - used


def slowdowns(options, guests):
    """Rows: (name, value, keys)."""
    modes = (None, synchronised(options, _PROFILES[0]),
             InstructionsAlone(options.plugin.resolve()))
    launches = [[cost(options, guests, mode) for mode in modes] for _ in range(_RUNS)]
    free, timed, counted = ([min(column) for column in zip(*of_mode)] for of_mode in zip(*launches))
    return [("sync.slowdown", timed[0] / free[0], {"work": "life"}),
            ("sync.slowdown", timed[1] / free[1], {"work": "compute"}),
            ("sync.slowdown_cpu", timed[2] / free[2], {"work": "life"}),
            ("sync.slowdown_cpu", counted[2] / free[2], {"work": "life", "of": "icount alone"})]


def measure(options):
    rows = []

    def add(name, value, unit, **keys):
        rows.append({"name": name, "value": value, "unit": unit, **keys, "core": options.core})

    for profile in [options.profile] if options.profile else _PROFILES:
        figures = figures_of(options, profile)
        for name, value in figures.items():
            add(name, value, _UNITS[name.rpartition("_")[2]], clock="simulated", profile=profile)
        if profile == _PROFILES[0] and not options.profile:
            add("sync.identical_runs", identical_runs(options, figures), "runs", of=_RUNS)
    for profile in _TCP_BYTES:
        for mtu in _ETHERNET_MTU if options.profile in (None, profile) else ():
            gbps = tcp_gbps(options, profile, mtu)
            keys = {"clock": "simulated", "profile": profile, "mtu": mtu}
            add("eth.tcp_gbps", gbps, "Gbit/s", **keys)
            add("eth.tcp_ratio", gbps * 1000 / line_mbps(profile), "ratio", **keys)
    for guests in () if options.profile else (1, 2):
        for name, value, keys in slowdowns(options, guests):
            add(name, value, "x", clock="wall" if name == "sync.slowdown" else "cpu", guests=guests,
                **keys)
    return rows


def add_inputs(parser):
    """Options that say where what a launch needs is."""
    parser.add_argument("--sim", type=pathlib.Path, default=_BUILD / "host/sim/exrnic-sim")
    parser.add_argument("--plugin", type=pathlib.Path,
                        default=_BUILD / "host/sim/time_sync/libexrnic-time.so")
    parser.add_argument("--initramfs", type=pathlib.Path,
                        default=_BUILD / "guest/initramfs.cpio")


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--profile", choices=_PROFILES, help="measure this one alone, once")
    parser.add_argument("--core", default="ref", help="RNIC core (default: %(default)s)")
    add_inputs(parser)
    found.add_options(parser)
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
        if row["name"].startswith(("sync.", "eth.")):
            keys = [str(row[key]) for key in ("profile", "mtu", "guests", "work", "of") if key in row]
            print(f"  {row['name']:<24}{row['value']:>12.3f} {row['unit']:<5} {', '.join(keys)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
