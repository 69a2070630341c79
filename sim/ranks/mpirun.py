# SPDX-License-Identifier: BSD-2-Clause
"""How exrnic-sim-mpi is started on one machine, which has fewer processors than ranks perhaps."""

import os


def command(program, ranks):
    return ["mpirun", "--map-by", ":OVERSUBSCRIBE", "--bind-to", "none", "-n", str(ranks), str(program)]


def environment():
    """Of mpirun: root may start it, and ranks talk by memory alone."""
    return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl": "self,vader"}
