#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A disk across the network: two guests with an empty slot each, and an NVMe disk in a box of its own ("make run-peb").

The disk is put into the slot of guest 0, whose own driver finds it. The guest makes a file system on it, writes and
compares, while frames are lost. Then the disk is given to guest 1: guest 0 sees it vanish, guest 1 finds on it
what guest 0 has written.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

import bare
import cosim
from errors import LaunchError
import found
import guest
import processes
import records

_BUILD = pathlib.Path(__file__).resolve().parents[2] / "build"
_NVME_SOCKET = "nvme.sock"
_DISK = "disk"
_DISK_BYTES = 64 << 20
_STATISTICS = "stats.json"
_NVME_LOG = "nvme.log"
_STAGE_SECONDS = 120
_POLL_SECONDS = 0.02
_BOX = 2  # number of its node; those of the hosts are the guests'

_KERNEL_ARGUMENTS = "exrnic.load=0"

# Rows of a guest; 042 is a double quote, which a kernel's arguments cannot carry.
_SAY = r"say() { printf '@exrnic {\042stage\042: \042%s\042}\n' $1; }"
_AWAIT_DISK = "until [ -b /dev/nvme0n1 ]; do sleep 0.1; done"
_MOUNT = "mount -t ext2 /dev/nvme0n1 /mnt"
_COMPARE = "(cd /mnt && md5sum -c sums > /dev/null)"
_FIRST = (
    "set -e", _SAY, _AWAIT_DISK, "say there",
    "mke2fs -b 4096 /dev/nvme0n1 > /dev/null", "mkdir /mnt", _MOUNT,
    "dd if=/dev/urandom of=/mnt/random bs=1M count=MEBIBYTES 2> /dev/null", "cp /bin/busybox /mnt",
    "(cd /mnt && md5sum random busybox > sums)", "umount /mnt", "say written",
    "echo 3 > /proc/sys/vm/drop_caches", _MOUNT, _COMPARE, "umount /mnt", "say compared",
    "echo 2000 > /sys/block/nvme0n1/queue/io_timeout",  # who waits for a disk that has gone gives up soon
    "while [ -b /dev/nvme0n1 ]; do echo 3 > /proc/sys/vm/drop_caches; "
    "dd if=/dev/nvme0n1 of=/dev/null bs=4096 count=1 2> /dev/null || true; sleep 0.2; done",
    "echo 1 > /sys/bus/pci/devices/0000:01:00.0/remove", "say removed")
_SECOND = (
    "set -e", _SAY, _AWAIT_DISK, "say there",
    "mkdir /mnt", _MOUNT, _COMPARE, "rm /mnt/random", "umount /mnt", "say compared")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", default="dc-25g", help="link profile (default: %(default)s)")
    parser.add_argument("--faults", default="drop=0.01",
                        help="faults of every line, as for exrnic-sim (default: %(default)s)")
    parser.add_argument("--mebibytes", type=int, default=8, help="how many to write (default: %(default)s)")
    parser.add_argument("--capture", action="store_true", help="capture what passes each port, to DIRECTORY/capture")
    parser.add_argument("--sim-argument", action="append", default=[], metavar="ARG",
                        help="passed on to exrnic-sim, which runs in the folder for logs; can be repeated")
    parser.add_argument("--directory", type=pathlib.Path, default=_BUILD / "run/peb",
                        help="folder for logs; made anew, but refused if it has other files (default: build/run/peb)")
    parser.add_argument("--sim", type=found.file_from_here, default=_BUILD / "host/sim/exrnic-sim")
    parser.add_argument("--nvme", type=found.file_from_here, default=_BUILD / "host/sim/devices/nvme/exrnic-nvme")
    parser.add_argument("--exrnicctl", type=found.file_from_here, default=_BUILD / "host/tools/exrnicctl/exrnicctl")
    parser.add_argument("--initramfs", type=found.file_from_here, default=_BUILD / "guest/initramfs.cpio")
    found.add_options(parser)
    options = parser.parse_args()
    if not 1 <= options.mebibytes <= _DISK_BYTES >> 21:
        parser.error(f"--mebibytes {options.mebibytes}: write 1 to {_DISK_BYTES >> 21}, the disk has {_DISK_BYTES >> 20}")
    return options


def _slot_socket(node):
    return f"slot{node}.sock"


class Guest:
    """One of the two, and what it has said of itself."""

    def __init__(self, options, children, node, commands):
        self.node = node
        self.log = options.directory / f"guest{node}.log"
        self._console = guest.Console(self.log)
        self._slot = guest.Slot(f"monitor{node}.sock")
        self._stages = []
        self._qemu = children.start(
            guest.qemu_command(options.qemu, options.kernel, options.initramfs, None,
                               "; ".join(commands).replace("MEBIBYTES", str(options.mebibytes)),
                               kernel_arguments=_KERNEL_ARGUMENTS, slot=self._slot), self.log)

    def plug(self, directory):
        self._slot.plug(_slot_socket(self.node), directory)

    def poll(self):
        over = self._qemu.poll() is not None
        self._stages += [row.get("stage") for row in self._console.poll()]
        if self._console.end_status:
            raise LaunchError(f"guest {self.node}: its commands ended with status {self._console.end_status}", [self.log])
        if over and self._console.end_status is None:
            raise LaunchError(f"guest {self.node}: QEMU ended before the guest had finished", [self.log])

    def has_reached(self, stage):
        return {"boot": self._console.booted, "end": self._qemu.poll() is not None}.get(stage, stage in self._stages)


class Story:
    """Runs once, and prints what happens."""

    def __init__(self, options, children):
        self._options = options
        self._children = children
        self._start = time.monotonic()
        self._log = options.directory / records.LOG
        self._simulator = None
        self._nvme = None
        self._guests = []

    def tell(self):
        self._start_all()
        first, second = self._guests
        self._await(first, "boot", "starts", silent=True)
        self._await(second, "boot", "starts", silent=True)
        self._assign(0)
        self._say("the disk is put into the slot of guest 0")
        first.plug(self._options.directory)
        self._await(first, "there", "its driver has the disk")
        self._await(first, "written", f"a file system is made, and {self._options.mebibytes} MiB are written")
        self._await(first, "compared", "all is read again, and the same")
        self._assign(1)
        self._say("the disk is given to guest 1")
        second.plug(self._options.directory)
        self._await(first, "removed", "its driver has seen the disk vanish, and it is removed")
        self._await(second, "there", "its driver has the disk")
        self._await(second, "compared", "what guest 0 has written is on it")
        for each in self._guests:
            self._await(each, "end", "is off", silent=True)
        return self._stop()

    def _start_all(self):
        options = self._options
        with open(options.directory / _DISK, "wb") as file:
            file.truncate(_DISK_BYTES)
        nvme_log = options.directory / _NVME_LOG
        self._nvme = self._children.start(
            [str(options.nvme), "--socket", _NVME_SOCKET, "--namespace", _DISK], nvme_log)
        self._wait("exrnic-nvme is not ready",
                   lambda: "exrnic-nvme: ready" in nvme_log.read_text() or self._nvme.poll() is not None, [nvme_log])
        hosts = [argument for node in (0, 1) for argument in ("--peb-host", f"vfio-user:{_slot_socket(node)}")]
        capture = ("--capture", "capture") if options.capture else ()
        faults = ("--faults", options.faults) if options.faults else ()
        self._simulator = bare.start_any_simulator(
            self._children, options.sim,
            [*hosts, "--peb-device", f"vfio-user:{_NVME_SOCKET}", "--profile", found.from_here(options.profile),
             *faults, "--stats", _STATISTICS, *capture, *options.sim_argument], self._log)
        self._guests = [Guest(options, self._children, node, commands)
                        for node, commands in enumerate((_FIRST, _SECOND))]

    def _assign(self, host):
        result = subprocess.run([str(self._options.exrnicctl), "--control", bare.CONTROL, "assign", str(host), str(_BOX)],
                                cwd=self._options.directory, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise LaunchError(f"exrnicctl assign: {result.stderr.strip()}", [self._log])
        there = f"slot {host}.0: device "
        self._wait(f"the disk does not appear in the slot of guest {host}",
                   lambda: there in self._log.read_text(errors="replace"), [self._log])

    def _await(self, who, stage, what, silent=False):
        self._wait(f"guest {who.node} has not reached: {stage}", lambda: who.has_reached(stage), [who.log, self._log])
        if not silent:
            self._say(f"guest {who.node}: {what}")

    def _wait(self, what, condition, logs):
        deadline = time.monotonic() + _STAGE_SECONDS
        while not condition():
            for each in self._guests:
                each.poll()
            if self._simulator is not None and self._simulator.poll() is not None:
                raise LaunchError(f"exrnic-sim ended with status {self._simulator.poll()}", [self._log])
            if time.monotonic() > deadline:
                raise LaunchError(f"{what} within {_STAGE_SECONDS} s", logs)
            time.sleep(_POLL_SECONDS)

    def _say(self, text):
        print(f"{time.monotonic() - self._start:7.1f} s  {text}", flush=True)

    def _stop(self):
        bare.stop_simulator(self._simulator, self._log)
        status = processes.stop_politely(self._nvme, 10)
        if status != 0:
            raise LaunchError(f"exrnic-nvme ended with status {status}", [self._options.directory / _NVME_LOG])
        return json.loads((self._options.directory / _STATISTICS).read_text())


def _lost(statistics):
    lines = [port["line_towards"] for switch in statistics["switches"].values() for port in switch["ports"].values()]
    lines += [peb["line_towards"] for peb in statistics["peb_hosts"] + statistics["peb_devices"]]
    return sum(line["frames"] for line in lines), sum(line["dropped"] for line in lines)


def main():
    processes.stop_on_signals()
    options = parse_arguments()
    options.directory = pathlib.Path(os.path.relpath(options.directory))
    print(f"two hosts with a slot each, and an NVMe disk in a box: a PEB at each, {options.profile}, "
          f"{options.faults or 'no faults'}\n", flush=True)
    try:
        with cosim.own_directory(options.directory), processes.Processes(options.directory) as children:
            statistics = Story(options, children).tell()
    except LaunchError as error:
        print(error.report(), file=sys.stderr)
        return 1
    except processes.Stopped as stop:
        return 128 + stop.signal_number
    frames, lost = _lost(statistics)
    print(f"\nOK: every byte compared, by both guests; {frames} frames, {lost} of them lost, "
          f"{statistics['simulated_ns'] / 1e6:.1f} ms of simulated time")
    return 0


if __name__ == "__main__":
    sys.exit(main())
