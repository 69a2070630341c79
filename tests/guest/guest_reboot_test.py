#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A guest that restarts in every way a guest can, against one that never does.

Guest 1 PUSHes to and from guest 0; unloads its module, resets the function through sysfs, loads
the module and does so again; and is reset like a machine (no shutdown of any driver) while PUSHes
fly. After the second boot its QEMU is killed while PUSHes fly, and another one connects to the
same socket. Guest 0 only ever repeats its program, in which it is the first to PUSH. Each time both
directions must work again, at the first attempt of guest 1. With `--time sync` all of it is in one
simulated time, and no guest may wait for one that is gone or has not booted yet.
"""

import argparse
import pathlib
import socket
import sys
import time

_CLONE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(_CLONE / "sim/launch"))

from errors import LaunchError  # noqa: E402 (the launcher is no installed package)
import cosim  # noqa: E402
import found  # noqa: E402
import guest  # noqa: E402
import processes  # noqa: E402
import sync_time  # noqa: E402

_SIZES = "8,262144,5000"
_OPERATIONS = 4

_PUSH = f"exrnic-push --node {{node}} --oob /dev/ttyS1 --sizes {_SIZES} --ops {_OPERATIONS}"
_STEADY = f"while :; do {_PUSH}; done"
# In the last line the machine is reset at the first row, of 8 bytes: more are under way then.
_RESTLESS = "; ".join((
    f"{_PUSH} || exit 1",
    "echo @pushed-after-boot",
    "function=$(readlink -f /sys/bus/pci/drivers/exrnic/0*)",
    "rmmod exrnic_cdev exrnic && echo 1 > $function/reset && insmod /lib/exrnic.ko "
    "&& insmod /lib/exrnic_cdev.ko || exit 2",
    f"{_PUSH} || exit 3",
    "echo @pushed-after-reset",
    f"{_PUSH} | while read row; do case $row in @exrnic*) echo b > /proc/sysrq-trigger;; esac; done",
    "exit 4"))


class Story:
    """Simulator and guests in one folder; each stage is waited for by name."""

    def __init__(self, options, children):
        self._options = options
        self._children = children
        self._sync = sync_time.Sync(options.plugin.resolve()) if options.time == "sync" else None
        self._sim_log = options.directory / "sim.log"
        self._sim = None
        self._qemu = {}

    def start_sim(self):
        self._sim_log.unlink(missing_ok=True)
        time_arguments = self._sync.sim_arguments() if self._sync else []
        self._sim = self._children.start(
            [str(self._options.sim), "--core", self._options.core, "--control", "control.sock",
             *time_arguments,
             "--node", "vfio-user:node0.sock", "--node", "vfio-user:node1.sock"], self._sim_log)
        self.wait_for("exrnic-sim: ready", self._sim_log)

    def start_guest(self, node, command, channel, log):
        """`channel`: one end of the line between the guests; a later QEMU takes it over. In
        synchronised time the plugin joins them."""
        passed = [] if self._sync else [channel.fileno()]
        line = guest.qemu_command(
            self._options.qemu, self._options.kernel, self._options.initramfs, f"node{node}.sock",
            command.replace("{node}", str(node)),
            channel=guest.socket_channel(*passed) if passed else guest.TIMED_CHANNEL,
            time_arguments=self._sync.qemu_arguments(node, 1 - node) if self._sync else ())
        line.remove("-no-reboot")
        self._qemu[node] = self._children.start(line, self._options.directory / log, passed)

    def kill_sim(self):
        self._sim.kill()
        self._sim.wait()
        self._sim = None

    def kill_guest(self, node):
        qemu = self._qemu.pop(node)
        qemu.kill()
        qemu.wait()

    def wait_for(self, text, log, times=1):
        """Until the file holds `text` so often. Any process of ours that ends is a failure."""
        limit = self._options.stage_seconds
        deadline = time.monotonic() + limit
        while (text not in (said := _text_of(log))) or said.count(text) < times:
            self._check(log)
            if time.monotonic() > deadline:
                raise LaunchError(f"{log.name}: \"{text}\" did not come {times} times within "
                                  f"{limit} s", [log, self._sim_log])
            time.sleep(0.02)

    def _check(self, log):
        if self._sim is not None and self._sim.poll() is not None:
            raise LaunchError(f"exrnic-sim ended with status {self._sim.poll()}", [self._sim_log])
        for node, qemu in self._qemu.items():
            if qemu.poll() is not None:
                raise LaunchError(f"guest {node} ended", [log, self._sim_log])

    def stop_sim(self):
        status = processes.stop_politely(self._sim, 10)
        if status != 0:
            raise LaunchError(f"exrnic-sim ended with status {status}", [self._sim_log])


def _text_of(log):
    return log.read_text(errors="replace") if log.exists() else ""


def tell(story, directory):
    here, there = socket.socketpair()
    first, second = directory / "guest1.log", directory / "guest1-second-qemu.log"
    story.start_sim()
    story.start_guest(1, _RESTLESS, here, first.name)
    story.start_guest(0, _STEADY, there, "guest0.log")
    story.wait_for("@pushed-after-boot", first)
    story.wait_for("@pushed-after-reset", first)
    print("PUSHes work after boot, and after a reset of the function", flush=True)
    story.wait_for("@pushed-after-boot", first, 2)
    print("PUSHes work after a reset of the machine under traffic", flush=True)
    # Each program prints a row per size; the next row is the first of the fourth program.
    story.wait_for("@exrnic {", first, 3 * len(_SIZES.split(",")) + 1)
    story.kill_guest(1)
    story.start_guest(1, _RESTLESS, here, second.name)
    story.wait_for("@pushed-after-boot", second)
    print("PUSHes work with another QEMU, after the first was killed under traffic", flush=True)
    story.stop_sim()


def parse_arguments(description, name, core="rtl"):
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    build = _CLONE / "build"
    parser.add_argument("--directory", type=pathlib.Path, default=build / "run" / name)
    parser.add_argument("--sim", type=found.file_from_here, default=build / "host/sim/exrnic-sim")
    parser.add_argument("--initramfs", type=found.file_from_here, default=build / "guest/initramfs.cpio")
    found.add_options(parser)
    parser.add_argument("--core", default=core, help=f"of the simulator ({core})")
    parser.add_argument("--time", choices=("free", "sync"), default="free")
    parser.add_argument("--plugin", type=pathlib.Path,
                        default=build / "host/sim/time_sync/libexrnic-time.so")
    parser.add_argument("--stage-seconds", type=float, default=120, help="limit of each wait (120)")
    return parser.parse_args()


def run(options, tell_it):
    """The exit status of a program that tells one story."""
    processes.stop_on_signals()
    try:
        with cosim.own_directory(options.directory), \
                processes.Processes(options.directory) as children:
            tell_it(Story(options, children), options.directory)
    except LaunchError as error:
        print(error.report(), file=sys.stderr)
        return 1
    return 0


def main():
    sys.exit(run(parse_arguments(__doc__, "guest_reboot_test"), tell))


if __name__ == "__main__":
    main()
