#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A disk of exrnic-nvme in guests, whose kernel's own driver binds to it.

Guest 0 makes a file system on it, writes, and compares what comes back when nothing of it is in its
memory any more. When it is off, guest 1 finds the same disk, and in it what guest 0 has written.
"""

import argparse
import pathlib
import sys
import time

_CLONE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(_CLONE / "sim/launch"))

from errors import LaunchError  # noqa: E402 (the launcher is no installed package)
import cosim  # noqa: E402
import found  # noqa: E402
import guest  # noqa: E402
import processes  # noqa: E402
import records  # noqa: E402

_DISK_BYTES = 64 << 20
_SERIAL = "exrnic-4711"
_SOCKET = "nvme.sock"
_STAGE_SECONDS = 150

_MOUNT = "mount -t ext2 /dev/nvme0n1 /mnt"
_COMPARE = "(cd /mnt && md5sum -c sums)"
_NO_COMPLAINT = "dmesg | grep -v exrnic.run | grep nvme | grep -i -E 'error|timeout|abort|fail|missing' && exit 9 || true"
_FIRST = (
    "set -e",
    f"grep -q {_SERIAL} /sys/class/nvme/nvme0/serial",
    "test $(cat /sys/block/nvme0n1/size) = " + str(_DISK_BYTES // 512),
    "mke2fs -b 4096 /dev/nvme0n1 > /dev/null",
    "mkdir /mnt",
    _MOUNT,
    "dd if=/dev/urandom of=/mnt/random bs=1M count=4 2> /dev/null",
    "cp /bin/busybox /mnt",
    "(cd /mnt && md5sum random busybox > sums)",
    "umount /mnt",
    "echo 3 > /proc/sys/vm/drop_caches",
    _MOUNT,
    _COMPARE,
    "umount /mnt",
    _NO_COMPLAINT)
_SECOND = (
    "set -e",
    "mkdir /mnt",
    _MOUNT,
    _COMPARE,
    "rm /mnt/random",
    "umount /mnt",
    "blkdiscard /dev/nvme0n1",
    f"{_MOUNT} 2> /dev/null && exit 8 || true",
    _NO_COMPLAINT)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    build = _CLONE / "build"
    parser.add_argument("--directory", type=pathlib.Path, default=build / "run/guest_nvme_test")
    parser.add_argument("--nvme", type=found.file_from_here,
                        default=build / "host/sim/devices/nvme/exrnic-nvme")
    parser.add_argument("--initramfs", type=found.file_from_here, default=build / "guest/initramfs.cpio")
    found.add_options(parser)
    return parser.parse_args()


def await_condition(what, condition, logs):
    deadline = time.monotonic() + _STAGE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise LaunchError(f"{what} within {_STAGE_SECONDS} s", logs)
        time.sleep(0.02)


def start_controller(options, children):
    log = options.directory / records.LOG
    disk = options.directory / "disk"
    with open(disk, "wb") as file:
        file.truncate(_DISK_BYTES)
    controller = children.start([str(options.nvme), "--socket", _SOCKET, "--namespace", disk.name,
                                 "--serial", _SERIAL], log)
    await_condition("exrnic-nvme did not say that it is ready",
                    lambda: "exrnic-nvme: ready" in log.read_text() or controller.poll() is not None,
                    [log])
    return controller


def run_guest(options, children, node, commands):
    log = options.directory / f"guest{node}.log"
    logs = [log, options.directory / records.LOG]
    console = guest.Console(log)
    qemu = children.start(
        guest.qemu_command(options.qemu, options.kernel, options.initramfs, _SOCKET, "; ".join(commands),
                           kernel_arguments="exrnic.load=0", cpus=2), log)

    def ended():
        over = qemu.poll() is not None
        console.poll()
        return over

    await_condition(f"guest {node} did not end", ended, logs)
    if console.end_status != 0:
        raise LaunchError(f"guest {node}: its commands ended with status {console.end_status}", logs)


def tell(options, children):
    controller = start_controller(options, children)
    run_guest(options, children, 0, _FIRST)
    print("guest 0 finds on the disk what it has written", flush=True)
    run_guest(options, children, 1, _SECOND)
    print("guest 1 finds it, too", flush=True)
    status = processes.stop_politely(controller, 10)
    if status != 0:
        raise LaunchError(f"exrnic-nvme ended with status {status}", [options.directory / records.LOG])


def main():
    options = parse_arguments()
    processes.stop_on_signals()
    try:
        with cosim.own_directory(options.directory), processes.Processes(options.directory) as children:
            tell(options, children)
    except LaunchError as error:
        print(error.report(), file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
