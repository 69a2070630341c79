# SPDX-License-Identifier: BSD-2-Clause
"""How exrnic-sim-mpi is started on one machine, which has fewer processors than ranks perhaps."""

import os
import pathlib
import time

_SECONDS = 60


def command(program, ranks):
    return ["mpirun", "--map-by", ":OVERSUBSCRIBE", "--bind-to", "none", "-n", str(ranks), str(program)]


def environment():
    """Of mpirun: root may start it, and ranks talk by memory alone."""
    return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl": "self,vader"}


def ranks_of(starter, count):
    """The processes of the ranks that mpirun, process `starter`, has started, by rank."""
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        found = {}
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if int((process / "stat").read_text().rsplit(")", 1)[1].split()[1]) != starter:
                    continue
                for item in (process / "environ").read_bytes().split(b"\0"):
                    if item.startswith(b"OMPI_COMM_WORLD_RANK="):
                        found[int(item.split(b"=")[1])] = int(process.name)
            except OSError:
                continue
        if len(found) == count:
            return found
        time.sleep(0.05)
    raise TimeoutError(f"mpirun has not started {count} ranks within {_SECONDS} s")
