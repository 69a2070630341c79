# SPDX-License-Identifier: BSD-2-Clause
"""One co-simulation: exrnic-sim, and a QEMU guest at each of its nodes.

Everything runs in the launch's own folder, which is made anew and holds every log: sim.log,
guest0.log, guest1.log, ... Sockets live there too, under relative names, because the path of a
Unix socket is limited to 107 bytes and that of a clone is not.
"""

import contextlib
import dataclasses
import fcntl
import os
import pathlib
import shutil
import signal
import socket
import time

from errors import LaunchError
from extras import Extras
import guest
import placeholders
import processes
import records

_SIM_READY = "exrnic-sim: ready"
_CONTROL = "control.sock"  # exrnicctl looks for it
_INITRAMFS = "initramfs.cpio"
_POLL_SECONDS = 0.02
# Where the guests' processors and the simulator's are more than the host has, guests that poll leave one
# to the simulator, which they wait for: else it gets its part in slices of milliseconds, with which a
# round trip then begins and ends. Where each has its own, a guest that wakes the simulator would only be
# held up.
_GUEST_NICE = 5
_POWER_OFF_SECONDS = 15
_SIM_STOP_SECONDS = 10


@dataclasses.dataclass
class Settings:
    """What to launch. `command` is run by sh in each guest, with what placeholders.py replaces; with
    `idle_command`, guests outside `pair` run that instead. `pair`: the two guests whose second
    serial ports are joined. `part`: this launch is one of several ranks, and has the guests of those nodes at which its
    simulator has a socket."""

    directory: pathlib.Path
    sim: pathlib.Path
    qemu: str
    kernel: pathlib.Path
    initramfs: pathlib.Path
    command: str
    guests: int = 2
    pair: tuple = (0, 1)
    idle_command: str = ""
    accelerator: str = "tcg"
    kernel_arguments: str = ""
    memory: str = guest.DEFAULT_MEMORY
    cpus: int = 1  # of each guest
    iommu: bool = False
    ethernet: bool = False  # the guests have the RNICs' Ethernet interfaces, with addresses
    network: guest.Network | None = None  # beside the RNICs; its modules are among the extras
    consoles: bool = False  # to type at, by sockets: console_socket()
    gdb: bool = False  # the guests' kernels wait for debuggers: gdb_socket()
    on_up: object = None  # called when the guests' shells run, with their Consoles
    extras: Extras = dataclasses.field(default_factory=Extras)
    sync: object = None  # a sync_time.Sync: guests and simulator in one time
    part: bool = False
    sim_arguments: tuple = ("--profile", "dc-25g")
    sim_seconds: float = 20
    boot_seconds: float = 60
    run_seconds: float = 120


class CoSim:
    """Runs once. `on_row(node, row)` gets each result row of a guest as it arrives,
    `on_progress(text)` a line at each stage."""

    def __init__(self, settings, on_row, on_progress):
        self._settings = settings
        self._on_row = on_row
        self._on_progress = on_progress
        self._sim_log = settings.directory / records.LOG
        self._sim = None
        self._guests = {}  # both by node
        self._consoles = {}

    def run(self):
        """From start to power-off. Raises LaunchError unless every guest ended with status 0."""
        settings = self._settings
        _check_inputs(settings)
        with own_directory(settings.directory), \
                processes.Processes(settings.directory) as children:
            self._start_sim(children)
            self._consoles = {node: guest.Console(settings.directory / f"guest{node}.log")
                              for node in range(settings.guests) if self._has(node)}
            self._start_guests(children)
            try:
                self._wait_for_guests("boot to user space", settings.boot_seconds,
                                      lambda console: console.booted)
                self._on_progress("guests are up" if settings.on_up else
                                  "guests are up, running: " + settings.command)
                if settings.on_up:
                    self._wait_for_guests("shell", settings.boot_seconds,
                                          lambda console: console.running)
                    settings.on_up(list(self._consoles.values()))
                self._wait_for_guests("end of its command", settings.run_seconds,
                                      lambda console: console.end_status is not None)
            finally:
                problems = self._take_out()
            self._wait_for_power_off()
            self._stop_sim()
            if problems:
                raise LaunchError("; ".join(problems), [console.path for console in self._consoles.values()])

    def _has(self, node):
        return not self._settings.part or (self._settings.directory / _device_socket(node)).exists()

    def _start_sim(self, children):
        self._on_progress("starting the simulator")
        nodes = [argument for node in range(self._settings.guests)
                 for argument in ("--node", f"vfio-user:{_device_socket(node)}")]
        time = self._settings.sync.sim_arguments() if self._settings.sync else []
        self._sim = children.start(
            [str(self._settings.sim), *self._settings.sim_arguments, *time, "--control", _CONTROL,
             *nodes], self._sim_log)
        self._wait("exrnic-sim did not say that it is ready", self._settings.sim_seconds,
                   lambda: _SIM_READY in self._sim_log.read_text(errors="replace"),
                   [self._sim_log])

    def _start_guests(self, children):
        settings = self._settings
        self._on_progress(f"booting {len(self._consoles)} guests" + (
            f", of nodes {', '.join(map(str, self._consoles))}" if settings.part and self._consoles else ""))
        initramfs = self._initramfs()
        sockets = self._sockets()
        values = placeholders.of_guests(settings.guests)
        scarce = len(os.sched_getaffinity(0)) <= len(self._consoles) * settings.cpus
        for index, (node, console) in enumerate(self._consoles.items()):
            end = sockets.get(node)
            passed = [end.fileno()] if end else []
            command = guest.qemu_command(
                settings.qemu, settings.kernel, initramfs, _device_socket(node),
                values.fill(self._command(node), node), settings.accelerator,
                self._channel(node, passed), self._kernel_arguments(node), settings.memory,
                settings.cpus, settings.iommu,
                settings.sync.qemu_arguments(node, self._other(node), index) if settings.sync else (),
                settings.extras.disks(settings.directory, node),
                guest.socket_console(console_socket(node), console.path.name)
                if settings.consoles else guest.STANDARD_CONSOLE,
                gdb_socket(node) if settings.gdb else None,
                more=settings.network.arguments(node) if settings.network else ())
            self._guests[node] = children.start(command, console.path, passed, _GUEST_NICE if scarce else 0)
            if end:
                end.close()

    def _initramfs(self):
        """The guests' image, or one with what the launch adds."""
        settings = self._settings
        if not settings.extras:
            return settings.initramfs
        path = settings.directory / _INITRAMFS
        path.write_bytes(settings.extras.initramfs(settings.initramfs, settings.memory))
        return _INITRAMFS

    def _take_out(self):
        """Of the guests that have ended, well or not. Returns what went wrong."""
        settings = self._settings
        return [problem for node, console in self._consoles.items() if console.end_status is not None
                for problem in settings.extras.unpack(settings.directory, node, console)]

    def _command(self, node):
        settings = self._settings
        idle = settings.idle_command and node not in settings.pair
        return settings.idle_command if idle else settings.command

    def _kernel_arguments(self, node):
        ethernet = guest.ethernet_arguments(node) if self._settings.ethernet else ""
        network = self._settings.network.kernel_arguments(node) if self._settings.network else ""
        return f"{self._settings.kernel_arguments} hostname=node{node}{ethernet}{network}"

    def _is_of_pair(self, node):
        return self._settings.guests > 1 and node in self._settings.pair

    def _other(self, node):
        """The guest whose second serial port is joined to that of `node`, or None: ranks have no such lines."""
        pair = self._settings.pair
        return pair[1 - pair.index(node)] if self._is_of_pair(node) and not self._settings.part else None

    def _sockets(self):
        """Join the second serial ports of the pair; connected from the start, so that it does not
        matter which guest is first. In synchronised time the plugin joins them."""
        if self._settings.guests < 2 or self._settings.sync or self._settings.part:
            return {}
        return dict(zip(self._settings.pair, socket.socketpair()))

    def _channel(self, node, passed):
        if passed:
            return guest.socket_channel(passed[0])
        # With ranks it has none at its other end: the guest is the same as in one process.
        return guest.TIMED_CHANNEL if self._settings.sync and self._is_of_pair(node) else None

    def _wait_for_guests(self, what, seconds, reached):
        for node, console in self._consoles.items():
            self._wait(f"guest {node}: no {what}", seconds, lambda c=console: reached(c),
                       [console.path, self._sim_log])

    def _wait_for_power_off(self):
        for node, qemu in self._guests.items():
            self._wait(f"guest {node} did not power off", _POWER_OFF_SECONDS,
                       lambda q=qemu: q.poll() is not None, [self._consoles[node].path])

    def _stop_sim(self):
        settings = self._settings
        # A rank's ends when the guests of all have ended.
        seconds = _SIM_STOP_SECONDS + (settings.boot_seconds + settings.run_seconds if settings.part else 0)
        status = processes.stop_politely(self._sim, seconds)
        if status is None:
            raise LaunchError(f"exrnic-sim did not end within {seconds:g} s of SIGTERM",
                              [self._sim_log])
        if status not in (0, -signal.SIGTERM):
            raise LaunchError(f"exrnic-sim {_how_it_ended(status)}", [self._sim_log])

    def _wait(self, what, seconds, condition, logs):
        deadline = time.monotonic() + seconds
        while not condition():
            self._poll()
            if time.monotonic() > deadline:
                raise LaunchError(f"{what} within {seconds:g} s", logs)
            time.sleep(_POLL_SECONDS)
        self._poll()

    def _poll(self):
        """Passes on rows; notices what died or failed."""
        # Asked before the consoles are read, so that a dead guest's last words are read.
        ended = {node: qemu.poll() for node, qemu in self._guests.items()}
        for node, console in self._consoles.items():
            for row in console.poll():
                self._on_row(node, row)
        # The simulator first: its end takes the guests along.
        if self._sim.poll() is not None:
            raise LaunchError(f"exrnic-sim {_how_it_ended(self._sim.poll())}", [self._sim_log])
        for node, status in ended.items():
            self._check_guest(node, self._consoles[node], status)

    def _check_guest(self, node, console, qemu_status):
        logs = [console.path, self._sim_log]
        if console.end_status == guest.MODULE_FAILED:
            raise LaunchError(f"guest {node}: the kernel module did not load", logs)
        if console.end_status == guest.CLOCK_DIFFERS:
            raise LaunchError(f"guest {node}: its kernel's clock does not follow simulated time; take a "
                              "kernel that keeps the TSC, or TIME=free", logs)
        if console.end_status == guest.NO_WORLD:
            raise LaunchError(f"guest {node}: it cannot mount its distribution; \"make guest-world\" makes it for "
                              "the guests' kernel", logs)
        if console.end_status:
            raise LaunchError(f"guest {node}: its command failed with status "
                              f"{console.end_status}", logs, console.end_status)
        if console.end_status is None and qemu_status is not None:
            raise LaunchError(f"guest {node}: QEMU {_how_it_ended(qemu_status)} before the guest "
                              "had finished", logs)


def _check_inputs(settings):
    needed = {"simulator": settings.sim, "guest kernel": settings.kernel,
              "guest image": settings.initramfs}
    for what, path in needed.items():
        if not path.is_file():
            raise LaunchError(f"there is no {what} at {path} (\"make build\" makes or finds it)")
    if settings.sync and shutil.which(settings.qemu):
        settings.sync.check(settings.qemu, settings.accelerator)
    settings.extras.check()
    if not shutil.which(settings.qemu):
        raise LaunchError(f"there is no QEMU at {settings.qemu} (\"make setup\" finds one)")


def _check_ours(directory):
    """What an earlier launch has left may go; a folder of somebody else may not."""
    if (directory.is_dir() and not directory.is_symlink() and any(directory.iterdir())
            and not (directory / records.LOG).is_file()):
        raise LaunchError(f"{directory} is no folder of a launch: it has no {records.LOG}, and other "
                          "files, which would be lost; --directory names another")


@contextlib.contextmanager
def own_directory(directory):
    """An empty folder that no other launch uses at this time."""
    with contextlib.ExitStack() as stack:
        try:
            directory.parent.mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context(open(directory.with_name(directory.name + ".lock"), "ab"))
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _check_ours(directory)
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir()
        except BlockingIOError:
            raise LaunchError(f"another launch is using {directory}") from None
        except OSError as error:
            raise LaunchError(f"{directory} cannot be made anew: {error.strerror}; "
                              "--directory names another") from None
        yield


def console_socket(node):
    """In the folder of the launch."""
    return f"console{node}.sock"


def gdb_socket(node):
    return f"gdb{node}.sock"


def _device_socket(node):
    return f"node{node}.sock"


def _how_it_ended(status):
    if status < 0:
        return f"was killed by {signal.Signals(-status).name}"
    return f"ended with status {status}"
