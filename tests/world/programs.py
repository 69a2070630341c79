# SPDX-License-Identifier: BSD-2-Clause
"""The programs of "make world-test", and what must come of them.

A row is run in two guests at once, after each other in this order. In a command {node} is the guest's number
and {peer} the other's. Node 1 begins when node 0 has had `settle` seconds to listen.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Program:
    """`commands`: of node 0 and of node 1, None if that one has nothing to do; a single text is for both.
    `expected`: regular expressions, each of which the output of every node with a command has to match
    somewhere. The status has to be 0. `seconds`: the time limit of each command."""

    name: str
    commands: tuple | str
    expected: tuple = ()
    seconds: float = 60
    settle: float = 0

    def command(self, node):
        return self.commands if isinstance(self.commands, str) else self.commands[node]


PROGRAMS = (
    # The distribution: each is there and starts.
    Program("ibv_devices", "ibv_devices", ("node GUID",)),
    Program("pyverbs", "python3 -c 'import pyverbs.device as d; print(len(d.get_device_list()), \"devices\")'",
            (r"^\d+ devices$",)),
    Program("perftest", "ib_write_bw --version || test $? = 1", ("Version: ",)),
    Program("qperf", "qperf --version", ("qperf",)),
    Program("UCX", "ucx_info -d", ("Transport: tcp", "Transport: self")),
    Program("libfabric", "fi_info -p tcp", ("provider: tcp",)),
    Program("Open MPI", "mpirun -n 2 --oversubscribe --mca btl self,vader NPopenmpi -n 10 -u 64 -o np.out",
            (" 64 bytes ",)),
    Program("fio", "fio --name=job --filename=file --size=1M --rw=randrw --verify=crc32c", (r"err= 0",)),
    Program("nvme-cli", "nvme list", ("Node",)),
    Program("modules", "modprobe -a nvme-rdma nvmet-rdma rpcrdma && lsmod",
            ("^nvme_rdma ", "^nvmet_rdma ", "^rpcrdma ")),
    # The RNIC, by the library of this project.
    Program("exrnic-push", "exrnic-push --node {node} --oob /dev/ttyS1 --sizes 8,4096,1048576 --ops 8",
            (r'"size":1048576,.*"verified":8,',), 180),
    Program("exrnic-guest-test", "exrnic-guest-test --node {node} --oob /dev/ttyS1 --deaths 8", (), 180),
)


def chosen(names):
    """Those of the table with these names, all without any. Raises ValueError for a name that is not in it."""
    known = [program.name for program in PROGRAMS]
    for name in names:
        if name not in known:
            raise ValueError(f"there is no program '{name}'; there are: {', '.join(known)}")
    return [program for program in PROGRAMS if not names or program.name in names]
