#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Java in two guests in synchronised time: adds the paper's benchmark on RDMA over NTB to results.json.

    java_guests.py RESULTS [--core CORE] [--scale 1/N]

Two threads send files of 8 GB, scaled, with buffers of 1, 2, 4 and 8 MB, in one launch with the profile ntb-gen3x8:
in C++ by SISCI (exrnic-file-bench), in Java by RDMA and in Java by TCP over the RNICs' own Ethernet interfaces
(libverbs-lite/java). For each size of buffers `java.goodput_mbps`; `java.native_ratio`, Java's part of what C++ reaches;
`java.tcp_ratio`, RDMA over TCP. The least and the most goodput of all sizes have the key "quantile".
"""

import argparse
import json
import pathlib
import sys

import sync_guests
from sync_guests import LaunchError, found, processes  # by its ways to the launcher

from extras import Extras, put_of  # of the launcher, as those

_BUILD = pathlib.Path(__file__).resolve().parents[2] / "build"
_JAVA = _BUILD / "host/libverbs-lite/java"
_PROFILE = "ntb-gen3x8"
_RUN_SECONDS = 3600
_WAYS = ("native", "pcie", "tcp")
_PUT = {"guest/java": "/opt/java", "guest/lib64": "/lib64", "guest/libraries": "/lib/x86_64-linux-gnu",
        "libexrnic-java.so": "/opt/exrnic/", "exrnic.jar": "/opt/exrnic/", "exrnic-java-bench.jar": "/opt/exrnic/",
        "../exrnic-file-bench": "/bin/"}
_VM = ("/opt/java/bin/java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx64m -XX:MaxDirectMemorySize=128m "
       "-jar /opt/exrnic/exrnic-java-bench.jar")


def command(scale):
    """Of both guests: node 0 listens, what node 1 says are rows."""
    # The first one begins what is there for all: of two of a size the later counts.
    sizes = f"--files 8G --scale {scale} --buffers 1M,1M,2M,4M,8M"
    listen = " && ".join((f"exrnic-file-bench --peer 1 --listen {sizes}", f"{_VM} --listen {sizes}",
                          f"{_VM} --listen --transport tcp {sizes}"))
    send = " && ".join((f"exrnic-file-bench --peer 0 {sizes}", f"{_VM} --connect 0 {sizes}",
                        f"{_VM} --connect 10.101.0.0 --transport tcp {sizes}"))
    return f"if [ {{node}} = 0 ]; then {listen}; else ( {send} ) > rows && sed 's/^/@exrnic /' rows; fi"


def rows_of(printed, core):
    """Rows of what the programs have printed."""
    goodput = {(row["buffer"], "native" if row["language"] == "native" else row["transport"]): row["mbps"]
               for row in printed if row.get("bench") == "files"}
    buffers = sorted({buffer for buffer, _ in goodput})
    if not buffers or len(goodput) != len(buffers) * len(_WAYS):
        raise LaunchError(f"the guests did not print all figures, but {printed}")
    rows = []

    def add(name, value, unit, **keys):
        rows.append({"name": name, "value": value, "unit": unit, "clock": "simulated", "profile": _PROFILE, **keys,
                     "core": core})

    for buffer in buffers:
        for way in _WAYS:
            add("java.goodput_mbps", goodput[buffer, way], "MB/s", by=way, buffer=buffer)
        add("java.native_ratio", goodput[buffer, "pcie"] / goodput[buffer, "native"], "ratio", buffer=buffer)
        add("java.tcp_ratio", goodput[buffer, "pcie"] / goodput[buffer, "tcp"], "ratio", buffer=buffer)
    for way in _WAYS:
        for quantile, choose in (("least", min), ("most", max)):
            add("java.goodput_mbps", choose(goodput[buffer, way] for buffer in buffers), "MB/s", by=way,
                quantile=quantile)
    return rows


def measure(options):
    if not (_JAVA / "exrnic-java-bench.jar").exists():
        raise LaunchError("libverbs-lite/java is not built: it needs the package default-jdk-headless")
    extras = Extras(puts=tuple(put_of(f"{_JAVA / name}:{path}") for name, path in _PUT.items()))
    printed = sync_guests.launch(options, "Java in synchronised time", _PROFILE, 2, command(options.scale),
                                 sync_guests.synchronised(options, _PROFILE), ethernet=True, memory="1G", extras=extras,
                                 run_seconds=_RUN_SECONDS)
    return rows_of([row for _, row in printed], options.core)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--core", default="rtl", help="RNIC core (default: %(default)s)")
    parser.add_argument("--scale", default="1/1024", help="of each file so much is sent (default: %(default)s)")
    sync_guests.add_inputs(parser)
    found.add_options(parser)
    return parser.parse_args()


def main():
    processes.stop_on_signals()
    options = parse_arguments()
    try:
        rows = measure(options)
    except LaunchError as error:
        print(error.report(), file=sys.stderr)
        return 1
    kept = [row for row in json.loads(options.results.read_text()) if not row["name"].startswith("java.")]
    options.results.write_text(json.dumps(kept + rows, indent=1) + "\n")
    for row in rows:
        keys = [str(row[key]) for key in ("by", "buffer", "quantile") if key in row]
        print(f"  {row['name']:<24}{row['value']:>12.3f} {row['unit']:<5} {', '.join(keys)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
