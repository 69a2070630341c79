# SPDX-License-Identifier: BSD-2-Clause
"""A launch on several machines: mpirun starts the launcher on each of them.

    mpirun --hostfile hosts --bind-to none -n 2 exrnic-launch --guests 4 --topology star:4 --ethernet run "COMMAND"

Each launcher is a rank. It starts exrnic-sim-mpi, as the same rank, in a folder of its own, and the guests of the nodes
that its simulator has. It ends when its guests have ended; its simulator goes on until those of all ranks have.
"""

import dataclasses
import os

# Open MPI; other launchers of processes.
_NAMES = (("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"))

# What joins things of one machine, or is of one process.
_REFUSED = (
    ("processes", "they find each other by addresses of one machine; take guests"),
    ("network", "it is of one machine; take --ethernet"))


@dataclasses.dataclass(frozen=True)
class Rank:
    number: int
    size: int

    def own(self, directory):
        """The folder of this rank's launch: all may have the same file system."""
        return directory.with_name(f"{directory.name}-rank{self.number}")

    @property
    def is_first(self):
        """Its simulator writes what is of the whole run."""
        return self.number == 0

    def problem(self, options):
        """Why this launch cannot be one by several ranks; None: it can."""
        if options.what != "run":
            return f"\"{options.what}\" is of one machine; with mpirun take \"run\""
        if "{oob}" in options.command:
            return "{oob}: it joins two guests of one machine; take --ethernet and {addresses}"
        for name, why in _REFUSED:
            if getattr(options, name):
                return f"--{name}: {why}"
        return None


def of_environment(environment=None):
    """None: this is a launch by itself."""
    environment = os.environ if environment is None else environment
    for rank, size in _NAMES:
        if environment.get(rank, "").isdecimal() and environment.get(size, "").isdecimal():
            found = Rank(int(environment[rank]), int(environment[size]))
            return found if found.size > 1 else None
    return None
