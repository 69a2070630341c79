#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Linux's NTB clients in two guests in synchronised time: adds what they say to results.json.

    ntb_guests.py RESULTS [--core CORE]

The guests have Debian's generic kernel, whose clients let a DMA engine copy: the cloud kernel has none (make bench-ntb
builds what is needed in build/ntb-dma). Rows have the key "dma", 1 with `use_dma`, 0 if the processor copies:
`ntb_perf.mbps`, what ntb_perf copies into a window of the peer, and `ntb_perf.goodput_ratio`, its part of the limit of
push.goodput_ratio; `ntb_netdev.mbps`, TCP through ntb_transport and ntb_netdev; `ntb_netdev.ping_ms`, a round trip.
"""

import pathlib
import sys

import sync_guests
from sync_guests import LaunchError  # by its ways to the launcher

from extras import Extras, put_of  # of the launcher, as those

_CLONE = pathlib.Path(__file__).resolve().parents[2]
_BUILT = _CLONE / "build/ntb-dma"  # tools/ntb_clients.sh
_PROFILE = "ntb-gen3x8"
_PUT = {_BUILT / "modules": "/ntb", _CLONE / "tools/bench/ntb_guest.sh": "/bin/ntb_guest.sh",
        _CLONE / "tests/guest/meet.sh": "/bin/meet.sh"}
_LIMIT_SIZE = 262144
_RUN_SECONDS = 3600


def ntb(bench):
    if not (_BUILT / "vmlinux").exists():
        raise LaunchError("build/ntb-dma is not there: make bench-ntb builds it")
    extras = Extras(puts=tuple(put_of(f"{source}:{path}") for source, path in _PUT.items()))
    for dma in (1, 0):
        said = bench.launch(f"NTB clients, use_dma={dma}", _PROFILE, 2, f"ntb_guest.sh {{node}} {dma}", extras=extras, memory="512M",
                            kernel=_BUILT / "vmlinux", initramfs=_BUILT / "initramfs.cpio", run_seconds=_RUN_SECONDS)
        rows = {name: row[name] for row in said for name in row}
        missing = {"perf_bytes", "perf_us", "ping_ms", "gbit_per_s"} - set(rows)
        if missing:
            raise LaunchError(f"the guests did not print {', '.join(sorted(missing))}, but {said}")
        rate = rows["perf_bytes"] / rows["perf_us"]
        bench.add("ntb_perf.mbps", rate, "MB/s", _PROFILE, dma=dma)
        bench.add("ntb_perf.goodput_ratio", rate / bench.limit_mbps(_PROFILE, _LIMIT_SIZE), "ratio", _PROFILE, dma=dma)
        bench.add("ntb_netdev.mbps", 1000 / 8 * rows["gbit_per_s"], "MB/s", _PROFILE, dma=dma)
        bench.add("ntb_netdev.ping_ms", rows["ping_ms"], "ms", _PROFILE, dma=dma)


if __name__ == "__main__":
    sys.exit(sync_guests.run_measures(__doc__, {"ntb": (ntb, "ntb_perf", "ntb_netdev")}))
