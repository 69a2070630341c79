# SPDX-License-Identifier: BSD-2-Clause
"""How exrnic-sim-mpi is started on one machine, which has fewer processors than ranks perhaps."""

import os


def command(program, ranks):
    return ["mpirun", "-n", str(ranks), str(program)]


def environment():
    """Of mpirun: root may start it, ranks share processors, and talk by memory alone."""
    return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
            "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl": "self,vader"}
