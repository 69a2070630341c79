# SPDX-License-Identifier: BSD-2-Clause
"""The programs of "make world-test", and what must come of them.

A row is run in two guests at once, after each other in this order. In a command {node} is the guest's number
and {peer} the other's. Node 1 begins when node 0 listens, or has had `settle` seconds.

One of each kind is run on the RTL, too, unless others are named: see ON_RTL.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Program:
    """`commands`: of node 0 and of node 1, None if that one has nothing to do; a single text is for both.
    `expected`: regular expressions, each of which the output of every node with a command has to match
    somewhere; `of_client`: likewise, of node 1 alone. The status has to be 0. `seconds`: the time limit of each
    command. `listens`: node 1 waits until a process of node 0 listens, by TCP or rdma_cm. `again`, of these
    rows: where node 1 says what is like this, both begin anew."""

    name: str
    commands: tuple | str
    expected: tuple = ()
    seconds: float = 60
    settle: float = 0
    of_client: tuple = ()
    listens: bool = False
    again: str = ""

    def command(self, node):
        return self.commands if isinstance(self.commands, str) else self.commands[node]

    def patterns(self, node):
        return self.expected + (self.of_client if node == 1 else ())


# With -R, perftest's two sides agree by TCP that they begin, and then the one listens while the other connects: who is too early
# is refused (status 8: nobody has that service), tries again with what it has just destroyed, and crashes.
TOO_EARLY = r"RDMA_CM_EVENT_REJECTED; error: 8\b"


def pair(name, command, expected):
    """Node 0 waits for node 1, which is told of it by the last argument."""
    return Program(name, (command, f"{command} {{peer}}"), of_client=(expected,), listens=True,
                   again=TOO_EARLY if " -R" in command else "")


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
    # The RNIC as the kernel and rdma-core know it.
    Program("ibv_devinfo", "ibv_devinfo -v", ("PORT_ACTIVE", r"GID\[ *1\]:.*RoCE v2")),
    Program("ping", (None, "ping -c 5 {peer}"), (", 0% packet loss",)),
    Program("iperf3", ("iperf3 -s -1", "iperf3 -c {peer} -n 4M"), (r" receiver$",), listens=True),
    Program("Ethernet errors", "ethtool -S eth0; ip -j -s link show dev eth0 | python3 -c 'import json, sys; "
            "print({way: s[\"errors\"] for way, s in json.load(sys.stdin)[0][\"stats64\"].items()})'",
            (r"^{'rx': 0, 'tx': 0}$",)),
    Program("exrnic-verbs-test", "exrnic-verbs-test exrnic_0 1", ("^ok +threads do not",), 120),
    *(pair(f"ibv_{kind}_pingpong {options}".strip(), f"ibv_{kind}_pingpong -g 1 -n 200 {options}", "iters in")
      for kind, options in (("rc", ""), ("rc", "-e"), ("rc", "-t"), ("uc", ""), ("ud", "-s 1024"), ("srq", "-q 4"))),
    *(pair(f"{program} {options}".strip(), f"{program} -F -n 100 {options or '-x 1'}", r"^ *\d+ +100 ")
      for options in ("", "-R")
      for program in ("ib_write_bw", "ib_write_lat", "ib_read_bw", "ib_read_lat", "ib_send_bw", "ib_send_lat",
                      "ib_atomic_bw", "ib_atomic_lat")),
    pair("ib_send_bw UD", "ib_send_bw -F -n 100 -x 1 -c UD -s 2048", r"^ *2048 +100 "),
    pair("ib_send_lat UD", "ib_send_lat -F -n 100 -x 1 -c UD -s 2048", r"^ *2048 +100 "),
    Program("rping", ("rping -s -C 10 -v", "rping -c -C 10 -v -a {peer}"), ("DISCONNECT EVENT",), listens=True),
    Program("ucmatose", ("ucmatose -C 4", "ucmatose -C 4 -s {peer}"), ("return status 0",), listens=True),
    Program("udaddy", ("udaddy -C 4", "udaddy -C 4 -s {peer}"), ("return status 0",), listens=True),
    Program("mckey", ("mckey -m 239.1.2.3 -b 10.101.0.0 -C 4", "mckey -m 239.1.2.3 -b 10.101.0.1 -C 4 -s"),
            ("data transfers complete",), settle=3),
    Program("qperf RC", ("timeout 20 qperf; test $? = 124",
                         "qperf {peer} -cm 1 -t 1 rc_lat rc_bw rc_rdma_write_bw rc_rdma_read_bw"), listens=True),
    Program("fi_pingpong", ("fi_pingpong -p verbs -e msg -I 50", "fi_pingpong -p verbs -e msg -I 50 {peer}"),
            (r"64 +50 ",), listens=True),
    Program("fi_pingpong 4 KiB", ("fi_pingpong -p verbs -e msg -I 50 -S 4096",
                                  "fi_pingpong -p verbs -e msg -I 50 -S 4096 {peer}"), (r"4k +50 ",), listens=True),
    *(Program(f"ucx_perftest {kind}", (f"sh /opt/world/ucx.sh {kind}", f"sh /opt/world/ucx.sh {kind} {{peer}}"), (), 120,
              listens=True)
      for kind in ("rc_v", "ud_v")),
    # MPI: four ranks, two in each guest.
    Program("ssh", ("sh /opt/world/mpi.sh key", "sh /opt/world/mpi.sh sshd {peer}"), listens=True),
    *(Program(f"mpirun {kind}", (f"sh /opt/world/mpi.sh run {kind} python3 -m mpi4py.bench ringtest -n 64 -l 20", None),
              (r"^time for 20 loops = .* \(4 processes, 64 bytes\)$",), 180)
      for kind in ("rc_v", "ud_v")),
    *(Program(f"NetPIPE {kind}", (f"sh /opt/world/mpi.sh pair {kind} NPopenmpi -n 20 -u 4096 -o np.out", None),
              (r"^ *\d+: +8 bytes +20 times -->",), 180)
      for kind in ("rc_v", "ud_v")),
    Program("NetPIPE rc_v streams", ("sh /opt/world/mpi.sh pair rc_v NPopenmpi -s -n 20 -l 1024 -u 65536 -p 0 -o np.out", None),
            (r"^ *\d+: +65536 bytes +20 times -->",), 180),
    Program("pyverbs suite", ("python3 -B /opt/world/pyverbs_suite.py exrnic_0 1", None),
            (r"^pyverbs: 1\d\d passed, 0 failed",), 600),
    # Kernel users: a disk in the memory of node 0.
    Program("nvmet-rdma", ("sh /opt/world/nvme_over_rdma.sh target {node}", None)),
    Program("nvme-rdma", (None, "sh /opt/world/nvme_over_rdma.sh host {peer}"), ("err= 0",), 120),
    Program("nvmet-rdma ends", ("sh /opt/world/nvme_over_rdma.sh end", None)),
    # The RNIC, by the library of this project.
    Program("exrnic-push", "exrnic-push --node {node} --oob /dev/ttyS1 --sizes 8,4096,1048576 --ops 8",
            (r'"size":1048576,.*"verified":8,',), 180),
    Program("exrnic-guest-test", "exrnic-guest-test --node {node} --oob /dev/ttyS1 --deaths 8", (), 180),
    # Programs that lose what they stand on.
    *(Program(f"perftest and MPI: {end}",
              (f"sh /opt/world/sudden_ends.sh {end} {{node}}", "sh /opt/world/sudden_ends.sh peer {node}"),
              ("^what ends suddenly is over$",), 240, 3)
      for end in ("kill", "unload", "remove")),
    # The last: it kills the device, and binds it anew.
    Program("exrnic-kmod-test", "exrnic-kmod-test -l 3 -t 10000 verbs:", (r"^# 5 passed, 0 failed",), 180),
)




def measured(device):
    """By perftest: the time of 8 bytes one way, and what 64 KiB at a time carry."""
    return (pair(f"ib_write_lat of {device}", f"ib_write_lat -d {device} -F -x 1 -s 8 -n 1000", r"^ *8 +1000 "),
            pair(f"ib_write_bw of {device}", f"ib_write_bw -d {device} -F -x 1 -s 65536 -n 1000",
                 r"^ *65536 +1000 "))


# By which tools/bench/world_guests.py measures: the RNIC, and Linux's Soft-RoCE, which sends by the RNIC's Ethernet interface.
MEASURED = (
    *measured("exrnic_0"),
    Program("exrnic-pingpong", "exrnic-pingpong --node {node} --oob /dev/ttyS1 --sizes 8 --rounds 1000"),
    Program("Soft-RoCE", "modprobe -a crc32-generic udp_tunnel ip6_udp_tunnel && insmod /opt/soft-roce/rdma_rxe.ko && "
            "rdma link add rxe_0 type rxe netdev eth0 && ibv_devinfo -d rxe_0", ("PORT_ACTIVE",)),
    *measured("rxe_0"),
)

# The RTL is simulated, at 50,000 to 100,000 cycles of its clock in a second: a 2,500th of its time.
ON_RTL = frozenset((
    "ibv_devinfo", "ping", "iperf3", "Ethernet errors", "exrnic-verbs-test", "ibv_rc_pingpong",
    "ibv_ud_pingpong -s 1024", "ib_write_lat", "ib_write_bw", "rping", "fi_pingpong 4 KiB", "ucx_perftest rc_v",
    "nvmet-rdma", "nvme-rdma", "nvmet-rdma ends"))
# How much longer a command may take.
FACTORS = {"ref": 1, "rtl": 10}


def of_core(core):
    """Names of those that are run on it."""
    return [program.name for program in PROGRAMS if core != "rtl" or program.name in ON_RTL]


def chosen(names):
    """Those of the table with these names, all without any. Raises ValueError for a name that is not in it."""
    known = {program.name: program for program in PROGRAMS + MEASURED}
    for name in names:
        if name not in known:
            raise ValueError(f"there is no program '{name}'; there are: {', '.join(known)}")
    return [program for program in known.values() if program.name in names] if names else list(PROGRAMS)
