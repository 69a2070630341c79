#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs of others in guests with a Debian: adds what they say to results.json.

    world_guests.py RESULTS

In free time, on the reference core: `pyverbs.passed` and `pyverbs.failed` of its package's tests; `perftest.passed` of its
eight programs; `perf.wall_us`, `perf.wall_mibps`: ib_write_lat of 8 bytes and ib_write_bw of 64 KiB, in wall time, of the
RNIC and of Linux's Soft-RoCE in the same guests, and `perf.wall_ratio`, how far the RNIC is ahead in each; `mpi.rtt_us`: the
round trip of 8 bytes by NetPIPE, Open MPI and UCX. In synchronised time: `perf.write_lat_us`, and `perf.write_lat_ratio` to half
of the round trip of 8 bytes by libverbs-lite in the same guests; `perf.write_bw_ratio`: ib_write_bw of 64 KiB, as part of the line.
Likewise on the RTL of rhinet2, beside the rows of PM (library_guests.py): `mpi.rtt_us` and `mpi.message_mbps`, messages of MPI.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

_CLONE = pathlib.Path(__file__).resolve().parents[2]
_BUILD = _CLONE / "build"
sys.path.insert(0, str(_CLONE / "tests/world"))

import programs  # noqa: E402 (the table of make world-test is no installed package)
import world_test  # noqa: E402

_PROFILE = "dc-25g"
_PM_PROFILE = "rhinet2"
_CORE = "ref"
_PERFTEST = tuple(f"ib_{operation}_{kind}" for operation in ("write", "read", "send", "atomic") for kind in ("bw", "lat"))
_FREE = (*_PERFTEST, "ssh", "NetPIPE rc_v", "pyverbs suite", "ib_write_lat of exrnic_0", "ib_write_bw of exrnic_0",
         "Soft-RoCE", "ib_write_lat of rxe_0", "ib_write_bw of rxe_0")
_MESSAGES = ("ssh", "NetPIPE rc_v", "NetPIPE rc_v streams")
_SYNCHRONISED = ("ib_write_lat of exrnic_0", "ib_write_bw of exrnic_0", "exrnic-pingpong")
# Guests in synchronised time take longer for the same work, the more the busier the machine is.
_SECONDS = "1800"
_FACTOR = 2  # of the seconds that a program's row gives it
_MIB = 1 << 20
# In what a program prints: bytes, iterations, least, most, typical; and bytes, iterations, peak, average.
_LATENCY = r"^ *8 +1000 +\S+ +\S+ +(\S+)"
_RATE = r"^ *65536 +1000 +\S+ +(\S+)"
# NetPIPE: half of the round trip; megabits of 10^6 a second.
_NETPIPE_US = r"^ *\d+: +{} bytes .* in +(\S+) usec"
_NETPIPE_RATE = r"^ *\d+: +{} bytes .*--> +(\S+) Mbps"


class Missing(Exception):
    """A program has not printed its figure."""


class Found:
    """What came of one launch."""

    def __init__(self, names, folder, *more, core=_CORE):
        print(f"bench: programs of others, {folder.name}", file=sys.stderr, flush=True)
        status = world_test.launch(core, programs.chosen(names), folder, _FACTOR, *more)
        self._found = world_test.results(folder)
        if status and not self._found:
            raise Missing(f"the guests ran nothing; see {folder}")

    def figure(self, name, pattern, node=0):
        output = self._found.get((node, name), {}).get("output", "")
        figure = re.search(pattern, output, re.MULTILINE)
        if not figure:
            raise Missing(f"'{name}' has not printed its figure, but: {output[-500:]}")
        return float(figure[1])

    def passed(self, names):
        """How many of them did as the table says, on both nodes."""
        return sum(not any(world_test.problem(program, self._found.get((node, program.name)), node) for node in (0, 1))
                   for program in programs.chosen(names))


def in_free_time():
    """Rows: (name, value, unit, keys)."""
    found = Found(_FREE, _BUILD / "run/bench-world", "--put", f"{_BUILD}/deps/soft-roce:/opt/soft-roce")
    latency, rate = ({device: found.figure(f"{program} of {device}", pattern, 1) for device in ("exrnic_0", "rxe_0")}
                     for program, pattern in (("ib_write_lat", _LATENCY), ("ib_write_bw", _RATE)))
    wall = {"clock": "wall"}
    return [
        ("pyverbs.passed", found.figure("pyverbs suite", r"^pyverbs: (\d+) passed"), "tests", {}),
        ("pyverbs.failed", found.figure("pyverbs suite", r"^pyverbs: .* (\d+) failed"), "tests", {}),
        ("perftest.passed", found.passed(_PERFTEST), "programs", {"of": len(_PERFTEST)}),
        ("mpi.rtt_us", 2 * found.figure("NetPIPE rc_v", _NETPIPE_US.format(8)), "us", {"size": 8, **wall}),
        *(("perf.wall_us", latency[device], "us", {"size": 8, "device": device, **wall}) for device in latency),
        *(("perf.wall_mibps", rate[device], "MiB/s", {"size": 1 << 16, "device": device, **wall}) for device in rate),
        ("perf.wall_ratio", latency["rxe_0"] / latency["exrnic_0"], "x", {"size": 8, "to": "rxe_0", **wall}),
        ("perf.wall_ratio", rate["exrnic_0"] / rate["rxe_0"], "x", {"size": 1 << 16, "to": "rxe_0", **wall})]


def _synchronised(names, folder, profile, **more):
    return Found(names, _BUILD / f"run/{folder}", "--time", "sync", "--profile", profile,
                 "--boot-seconds", _SECONDS, "--run-seconds", _SECONDS, **more)


def in_synchronised_time():
    found = _synchronised(_SYNCHRONISED, "bench-world-sync", _PROFILE)
    profile = json.loads((_CLONE / f"sim/profile/profiles/{_PROFILE}.json").read_text())
    latency = found.figure("ib_write_lat of exrnic_0", _LATENCY, 1)
    own = found.figure("exrnic-pingpong", r'"rtt_us":([\d.]+)') / 2
    bits = found.figure("ib_write_bw of exrnic_0", _RATE, 1) * _MIB * 8
    keys = {"clock": "simulated", "profile": _PROFILE}
    return [
        ("perf.write_lat_us", latency, "us", {"size": 8, **keys}),
        ("perf.write_lat_ratio", latency / own, "ratio", {"size": 8, **keys}),
        ("perf.write_bw_ratio", bits / (profile["ethernet"]["megabits_per_second"] * 1e6), "ratio",
         {"size": 1 << 16, **keys})]


def beside_pm():
    """Messages of MPI, with what those of PM have in simulated time."""
    core = "rtl"
    found = _synchronised(_MESSAGES, "bench-world-messages", _PM_PROFILE, core=core)
    keys = {"clock": "simulated", "profile": _PM_PROFILE, "core": core}
    return [
        *(("mpi.rtt_us", 2 * found.figure("NetPIPE rc_v", _NETPIPE_US.format(size)), "us", {"size": size, **keys})
          for size in (4, 64, 1024)),
        *(("mpi.message_mbps", found.figure("NetPIPE rc_v streams", _NETPIPE_RATE.format(size)) / 8, "MB/s", {"size": size, **keys})
          for size in (1024, 4096, 8192))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path)
    options = parser.parse_args()
    rows = json.loads(options.results.read_text()) if options.results.exists() else []
    try:
        subprocess.run([_CLONE / "tools/soft_roce.sh"], check=True)
        measured = in_free_time() + in_synchronised_time() + beside_pm()
    except (Missing, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    rows = [row for row in rows if row.get("guests") != "world"]  # of an earlier run
    rows += [{"name": name, "value": value, "unit": unit, "core": _CORE, **keys, "guests": "world"}
             for name, value, unit, keys in measured]
    options.results.write_text(json.dumps(rows, indent=1) + "\n")
    for name, value, unit, keys in measured:
        print(f"  {name:<24}{value:>12.3f} {unit:<8} {', '.join(f'{key} {text}' for key, text in keys.items())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
