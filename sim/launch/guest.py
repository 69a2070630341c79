# SPDX-License-Identifier: BSD-2-Clause
"""One guest: its QEMU command line, and what its console says.

The markers are those of sim/guest/init.
"""

import dataclasses
import json
import re
import secrets

from errors import LaunchError
import monitor

BOOT_MARKER = "@exrnic-boot"
UP_MARKER = "@exrnic-up"
MODULE_FAILED = 96  # the end status of a guest whose module did not load
CLOCK_DIFFERS = 97  # the end status of a guest whose clock source is none of simulated time
NO_WORLD = 98  # the end status of a guest that cannot mount its distribution, or has no network of --network
_END_MARKER = re.compile(r"@exrnic-end (\d+)")
_ROW_PREFIX = "@exrnic {"
_SHELL_MARKER = "@exrnic-shell"
_SECTION_MARKER = "@exrnic-section "  # MODULE SECTION ADDRESS
_ABSENT_MARKER = "@exrnic-absent "
_LOST_MARKER = "@exrnic-lost"
DEFAULT_MEMORY = "512M"

# Any kernel warning ends the guest at once, as QEMU's exit without an end marker. On a host that is busy
# with other things the kernel would find its timer too slow at boot, and panic: it does not look.
# The tests of the kernel's ciphers take a guest a second.
_KERNEL_ARGUMENTS = ("console=ttyS0 quiet loglevel=5 no_timer_check cryptomgr.notests "
                     "panic=-1 oops=panic panic_on_warn=1")

# Caching mode: the guest tells of new mappings too, which QEMU passes on to the simulator. Strict: what
# the guest unmaps is gone at once. It must come in front of the devices behind it.
_IOMMU = ("-device", "intel-iommu,caching-mode=on,intremap=off")
_IOMMU_KERNEL_ARGUMENTS = " intel_iommu=on iommu.strict=1"

# A load waits until the other guests are where it is in time, however slow they are.
_SYNC_MESSAGE_MS = 600_000

# The guest refuses to run if its clock is another. For rep_good see sync_time.py.
_SYNC_KERNEL_ARGUMENTS = " exrnic.clock=tsc clearcpuid=rep_good"

CHANNEL = "channel"  # what joins the second serial ports of two guests
# In synchronised time the plugin carries the bytes: see sim/time_sync/plugin/serial_line.h.
TIMED_CHANNEL = f"ringbuf,id={CHANNEL},size=65536"

# The hosts are numbered from 0 on: so the networks are larger than that, and have no host 0 of their own.
_IPV4 = "10.101.{}.{}"
_IPV4_BITS = 8
_IPV6 = "fd45:5852:4943::101:{:x}/64"


# The network beside the RNICs. Its hosts are numbered from 0 on, too.
_NETWORK_IPV4 = "172.31.{}.{}"
_NETWORK_BITS = 15
_NETWORK_MAC = "52:45:58:00:{:02x}:{:02x}"
_FIRST_PORT, _PORTS = 20000, 10000  # below those that a kernel gives to connections


def ipv4(node):
    """The address of that node's Ethernet interface."""
    return _IPV4.format(node >> 8, node & 0xff)


def ethernet_arguments(node):
    """For the kernel of that node's guest: it has the RNIC's Ethernet interface, with these addresses."""
    return (f" exrnic.ipv4={ipv4(node)}/{_IPV4_BITS}"
            f" exrnic.ipv6={_IPV6.format(node)}")


@dataclasses.dataclass(frozen=True)
class Network:
    """Ethernet among the guests of a launch, beside the RNICs: each QEMU sends its frames to a multicast group of this
    machine, and of it alone. `group`: an IPv4 address and a port that no other launch has."""

    group: str

    @classmethod
    def anew(cls):
        """Drawn, so that launches at one time do not meet."""
        low = (secrets.randbelow(256) for _ in range(3))
        return cls(f"239.{'.'.join(map(str, low))}:{_FIRST_PORT + secrets.randbelow(_PORTS)}")

    @staticmethod
    def ipv4(node):
        return _NETWORK_IPV4.format(node >> 8, node & 0xff)

    def kernel_arguments(self, node):
        return f" exrnic.network={self.ipv4(node)}/{_NETWORK_BITS}"

    def arguments(self, node):
        mac = _NETWORK_MAC.format(node >> 8, node & 0xff)
        return ["-netdev", f"socket,id=network,mcast={self.group},localaddr=127.0.0.1",
                "-device", f"virtio-net-pci,netdev=network,mac={mac},rombar=0"]


def vfio_user_device(socket):
    """As QEMU has a device behind a vfio-user socket."""
    return {"driver": "vfio-user-pci", "socket": {"type": "unix", "path": socket}, "rombar": 0}


@dataclasses.dataclass
class Slot:
    """A PCI Express slot of a guest, and the monitor by which devices are plugged into it."""

    monitor: str  # a socket

    def arguments(self):
        return ["-device", "pcie-root-port,id=slot0,chassis=1,slot=1", "-qmp", f"unix:{self.monitor},server=on,wait=off"]

    def plug(self, socket, directory):
        """The device behind a vfio-user socket. `directory`: where the guest runs. Raises LaunchError."""
        monitor.execute(directory / self.monitor, "device_add",
                        {**vfio_user_device(socket), "id": "plugged", "bus": "slot0"})


ACCELERATORS = {
    "tcg": ["-accel", "tcg,thread=multi", "-cpu", "max"],
    "kvm": ["-accel", "kvm", "-cpu", "host"],
}


STANDARD_CONSOLE = "stdio,id=console,signal=off"


def qemu_command(qemu, kernel, initramfs, device_socket, command, accelerator="tcg",
                 channel=None, kernel_arguments="", memory=DEFAULT_MEMORY, cpus=1,
                 iommu=False, time_arguments=(), disks=(), console=STANDARD_CONSOLE, gdb=None, slot=None, more=()):
    """The command line of a guest with one RNIC behind the vfio-user socket `device_socket`; None: without.

    Guest memory is a shared memfd, for the simulator's DMA. `channel`, a -chardev such as
    socket_channel() or TIMED_CHANNEL, becomes the second serial port. With `iommu` the RNIC is behind an Intel IOMMU, which the kernel uses.
    `time_arguments` make a guest in synchronised time; see sync_time.py. `disks`: see Disk.
    `console`: a -chardev. `gdb`: None, or the socket of a debugger of the guest's kernel. `slot`: None, or an empty slot into which devices
    can be plugged, by a Slot. `more`: further arguments. Raises LaunchError.
    """
    if '"' in command:
        raise LaunchError("the guests' command holds a double quote, which a kernel's arguments cannot carry; "
                          f"write '...': {command}")
    device = vfio_user_device(device_socket)
    if iommu:
        kernel_arguments += _IOMMU_KERNEL_ARGUMENTS
    if time_arguments:
        device["x-msg-timeout"] = _SYNC_MESSAGE_MS
        kernel_arguments += _SYNC_KERNEL_ARGUMENTS
    arguments = f'{_KERNEL_ARGUMENTS} {kernel_arguments} exrnic.run="{command}"'
    line = [
        str(qemu), "-M", "q35", *(time_arguments or ACCELERATORS[accelerator]), "-m", memory,
        "-smp", str(cpus),
        "-object", f"memory-backend-memfd,id=ram,size={memory},share=on",
        "-machine", "memory-backend=ram",
        "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
        "-chardev", console, "-serial", "chardev:console",
        "-kernel", str(kernel), "-initrd", str(initramfs), "-append", arguments,
        *(_IOMMU if iommu else ()),
    ]
    if device_socket is not None:
        line += ["-device", json.dumps(device)]
    if slot is not None:
        line += slot.arguments()
    if channel is not None:
        line += ["-chardev", channel, "-serial", f"chardev:{CHANNEL}"]
    if gdb is not None:
        line += ["-gdb", f"unix:{gdb},server=on,wait=off"]
    # Behind the RNIC, which stays where it is.
    for disk in disks:
        line += disk.arguments()
    return [*line, *more]


@dataclasses.dataclass
class Disk:
    """An NVMe disk, whose driver Debian's kernels have built in. The guest finds it by its name."""

    name: str
    file: str
    read_only: bool = False

    def arguments(self):
        drive = {"driver": "raw", "node-name": self.name, "read-only": self.read_only,
                 "file": {"driver": "file", "filename": self.file, "read-only": self.read_only},
                 # It lives no longer than the guest.
                 "cache": {"no-flush": True}}
        device = {"driver": "nvme", "serial": self.name, "drive": self.name}
        return ["-blockdev", json.dumps(drive), "-device", json.dumps(device)]


@dataclasses.dataclass
class OwnDisk:
    """A disk image of the user, raw or of any format that QEMU knows by its content. What a guest writes to it is
    gone with the guest."""

    file: str
    index: int

    def arguments(self):
        name = f"disk{self.index}"
        return ["-drive", f"if=none,id={name},snapshot=on,file={self.file}",
                "-device", f"nvme,serial={name},drive={name}"]


def socket_console(path, log):
    """A console for who connects to the socket; the file has what was said on it."""
    return f"socket,id=console,path={path},server=on,wait=off,logfile={log},logappend=on"


def socket_channel(fd):
    """`fd`: a connected socket, which QEMU inherits."""
    return f"socket,id={CHANNEL},fd={fd}"


class Console:
    """Follows a console log that another process writes."""

    def __init__(self, path):
        self.path = path
        self._offset = 0
        self._partial = ""
        self.booted = False
        self.up = False
        self.running = False  # its shell
        self.end_status = None
        self.sections = {}  # of modules: {module: {section: address}}
        self.absent = []  # of what was to be taken out
        self.lost = False  # taking it out has failed

    def poll(self):
        """Takes in what is new; returns the result rows (dicts) among it."""
        rows = []
        for line in self._new_lines():
            end = _END_MARKER.search(line)
            if BOOT_MARKER in line:
                self.booted = True
            elif UP_MARKER in line:
                self.up = True
            elif end:
                self.end_status = int(end[1])
            elif _SHELL_MARKER in line:
                self.running = True
            elif _SECTION_MARKER in line:
                module, section, address = line[line.index(_SECTION_MARKER):].split()[1:4]
                self.sections.setdefault(module, {})[section] = address
            elif line.startswith(_ABSENT_MARKER):
                self.absent.append(line[len(_ABSENT_MARKER):].rstrip())
            elif _LOST_MARKER in line:
                self.lost = True
            elif _ROW_PREFIX in line:
                rows.append(self._row(line))
        return rows

    def _row(self, line):
        # The kernel may print into the line of a program; what follows the prefix decides.
        text = line[line.index(_ROW_PREFIX) + len(_ROW_PREFIX) - 1:]
        try:
            return json.loads(text)
        except ValueError:
            return {"malformed": text}

    def _new_lines(self):
        try:
            with open(self.path, "rb") as log:
                log.seek(self._offset)
                new = log.read()
        except FileNotFoundError:
            return []
        self._offset += len(new)
        *lines, self._partial = (self._partial + new.decode(errors="replace")).split("\n")
        return lines
