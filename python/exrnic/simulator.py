# SPDX-License-Identifier: BSD-2-Clause
"""A simulator that runs while a test talks to it."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time

from exrnic import installation
from exrnic.children import die_with_parent
from exrnic.errors import ExrnicError
from exrnic.results import counter_rows

_READY = "exrnic-sim: ready"
_START_SECONDS = 20


class Simulator:
    """exrnic-sim with `nodes` RNICs, each behind a vfio-user socket, from `with` to its end.

    sockets     their paths, for a driver in user space or QEMU
    devices     the same as VL_DEVICE and vl_open_rnic() take them
    arguments   more options of exrnic-sim: "--faults", "drop=0.01"
    """

    def __init__(self, nodes=2, core="ref", profile="dc-25g", arguments=()):
        self._where = installation.find()
        self._options = ["--core", core, "--profile", profile, *arguments]
        self._nodes = nodes
        self._stack = contextlib.ExitStack()
        self._process = None

    def __enter__(self):
        # Of a short name: the path of a socket is limited to 107 bytes.
        self.directory = pathlib.Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="exrnic-")))
        self.sockets = [str(self.directory / f"{node}.sock") for node in range(self._nodes)]
        self.devices = [f"sim:{path}" for path in self.sockets]
        self._log = self.directory / "sim.log"
        nodes = [word for path in self.sockets for word in ("--node", f"vfio-user:{path}")]
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                [self._where.sim, *self._options, "--control", self.directory / "control.sock", *nodes],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, preexec_fn=die_with_parent)
        self._stack.callback(self._end)
        deadline = time.monotonic() + _START_SECONDS
        while _READY not in self.log() and self._process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        if _READY not in self.log():
            self._stack.close()
            raise ExrnicError(f"exrnic-sim did not start: {self.last_words}")
        return self

    def __exit__(self, kind, *_):
        ended = self._process.poll()
        self._stack.close()
        if ended is not None and kind is None:
            raise ExrnicError(f"exrnic-sim ended with status {ended}: {self.last_words}")

    def log(self):
        return self._log.read_text(errors="replace")

    def run(self, node, command, seconds=60, **environment):
        """A program with that node's RNIC as its own, by the shell; returns it, running. It is killed with the
        simulator."""
        path = os.pathsep.join([*map(str, self._where.programs), os.environ.get("PATH", os.defpath)])
        program = subprocess.Popen(
            command, shell=True, cwd=self.directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
            env={**os.environ, "PATH": path, "VL_DEVICE": self.devices[node], **environment})
        self._stack.callback(_kill_group, program)
        return program

    def ask(self, **request):
        """A request at the control socket, such as ask(command="link", link="0-1", up=False); see
        sim/control/commands.h."""
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(_START_SECONDS)
            line.connect(str(self.directory / "control.sock"))
            line.sendall(json.dumps(request).encode() + b"\n")
            answer = json.loads(line.makefile().readline())
        if not answer.pop("ok"):
            raise ExrnicError(answer["error"])
        return answer

    def counters(self):
        """As Result.counters, now."""
        return counter_rows(self.ask(command="statistics"))

    def _end(self):
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_START_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.last_words = " ".join(self.log().split("\n")[-3:]).strip()


def _kill_group(program):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGKILL)
    program.wait()
    program.stdout.close()
