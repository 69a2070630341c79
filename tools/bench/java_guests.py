#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Java in two guests in synchronised time: adds the paper's benchmark on RDMA over NTB to results.json.

    java_guests.py RESULTS [--core CORE] [--scale 1/N]

Two threads send files of 8 GB, scaled, with buffers of 1, 2, 4 and 8 MB, in one launch with the profile ntb-gen3x8:
in C++ by SISCI (exrnic-file-bench), in Java by RDMA and in Java by TCP over the RNICs' own Ethernet interfaces
(libverbs-lite/java). For each size of buffers `java.goodput_mbps`; `java.native_ratio`, Java's part of what C++ reaches;
`java.tcp_ratio`, RDMA over TCP. The least and the most goodput of all sizes have the key "quantile".
"""

import pathlib
import sys

import sync_guests
from sync_guests import LaunchError  # by its ways to the launcher

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


def add_rows(bench, printed):
    """Of what the programs have printed."""
    goodput = {(row["buffer"], "native" if row["language"] == "native" else row["transport"]): row["mbps"]
               for row in printed if row.get("bench") == "files"}
    buffers = sorted({buffer for buffer, _ in goodput})
    if not buffers or len(goodput) != len(buffers) * len(_WAYS):
        raise LaunchError(f"the guests did not print all figures, but {printed}")
    for buffer in buffers:
        for way in _WAYS:
            bench.add("java.goodput_mbps", goodput[buffer, way], "MB/s", _PROFILE, by=way, buffer=buffer)
        for way in ("native", "tcp"):
            ratio = goodput[buffer, "pcie"] / goodput[buffer, way]
            bench.add(f"java.{way}_ratio", ratio, "ratio", _PROFILE, buffer=buffer)
    for way in _WAYS:
        for quantile, choose in (("least", min), ("most", max)):
            value = choose(goodput[buffer, way] for buffer in buffers)
            bench.add("java.goodput_mbps", value, "MB/s", _PROFILE, by=way, quantile=quantile)


def measure(bench):
    if not (_JAVA / "exrnic-java-bench.jar").exists():
        raise LaunchError("libverbs-lite/java is not built: it needs the package default-jdk-headless")
    extras = Extras(puts=tuple(put_of(f"{_JAVA / name}:{path}") for name, path in _PUT.items()))
    printed = bench.launch("Java in synchronised time", _PROFILE, 2, command(bench.options.scale), ethernet=True, memory="1G",
                           extras=extras, run_seconds=_RUN_SECONDS)
    add_rows(bench, printed)


def add_options(parser):
    parser.add_argument("--scale", default="1/256", help="of each file so much is sent (default: %(default)s)")


if __name__ == "__main__":
    sys.exit(sync_guests.run_measures(__doc__, {"java": (measure, "java")}, add_options))
