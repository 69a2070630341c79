# SPDX-License-Identifier: BSD-2-Clause
"""One run: simulator, network, and a program at each node, or a workload without hosts."""

import contextlib
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from exrnic import cache, captures, installation, workloads
from exrnic.errors import ExrnicError
from exrnic.results import Result, Rows, counter_rows, program_rows

_STATISTICS = "stats.json"
_CAPTURE = "capture"
_LOSSES = "losses.json"
_OF_NODES = ("back-to-back", "star", "ring", "two-levels", "leaf-spine")  # topologies whose :N counts nodes


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A program at each node of a network of simulated RNICs, or a workload among them, and what is measured of it.

    program     a command of the shell, run at every node, or a list with one for each node. {node}, {nodes}, {oob} and
                {addresses} are replaced (sim/launch/placeholders.py), and {NAME} of `arguments`
    workload    instead: what nodes without hosts send each other, as exrnic-sim's --workload (sim/workload), a file
                or its content as a dict; Result.rows are its flows. Equal runs have equal results
    nodes       how many there are
    guests      the program runs in guests, else as processes of this machine
    topology    as exrnic-sim's --topology, or the content of such a file as a dict; None: what the profile says, and a
                star for a workload. One that counts nodes itself, as "fat-tree:4", or a file, leaves `nodes` without effect
                on a workload
    profile     the link: its name or its file
    change      what is other than in the profile: {"pcie.latency_ns": 500}
    core        "rtl", "ref" (the reference model, several times as fast) or "lockstep"
    faults      on all lines: {"drop": 0.01}
    faults_at   on some, by their ends: {"node0": {"drop": 0.1}}
    seed        of the faults
    arguments   replaced in `program`
    capture     Result.captures has every frame
    losses      Result.losses has every frame that did not arrive, and why (exrnicctl why)
    sync        guests and simulator have one time (guests only)
    seconds     limit of wall time
    repeat      without effect; another number is another run, which no earlier one is taken for
    launcher    more options of sim/launch, such as ("--put", "mine.ko")
    simulator   more options of exrnic-sim
    """

    program: str | list = ""
    workload: str | dict | None = None
    nodes: int = 2
    guests: bool = False
    topology: str | dict | None = None
    profile: str = "dc-25g"
    change: dict = dataclasses.field(default_factory=dict)
    core: str = "rtl"
    faults: dict = dataclasses.field(default_factory=dict)
    faults_at: dict = dataclasses.field(default_factory=dict)
    seed: int = 1
    arguments: dict = dataclasses.field(default_factory=dict)
    capture: bool = False
    losses: bool = False
    sync: bool = False
    seconds: float = 120
    repeat: int = 0
    launcher: tuple = ()
    simulator: tuple = ()

    def run(self, directory=None, cached=False):
        """A Result; raises ExrnicError. `directory`: where inputs and logs stay, else they do not. `cached`: True, or a
        folder for results: a run with the same inputs, programs included, is not made again."""
        where = installation.find()
        store = cache.Cache(cached) if cached else None
        key = cache.digest(self, where) if store else None
        known = store.get(key) if store else None
        if known is not None:
            return known
        result = self._run(where, directory)
        if store:
            store.put(key, result)
        return result

    def changed(self, key, value):
        """The same experiment but for one thing: a field, or one item of a field that is a dict:
        changed("change.pcie.latency_ns", 500)."""
        field, _, item = key.partition(".")
        if field not in (known.name for known in dataclasses.fields(self)):
            raise ExrnicError(f"{key}: an experiment has no {field}")
        if item:
            if not isinstance(getattr(self, field), dict):
                raise ExrnicError(f"{key}: {field} has no items")
            value = {**getattr(self, field), item: value}
        return dataclasses.replace(self, **{field: value})

    def command(self):
        """That of all nodes, for the shell."""
        if isinstance(self.program, str):
            text = self.program
        elif len(self.program) == self.nodes:
            cases = " ".join(f"{node}) {command} ;;" for node, command in enumerate(self.program))
            text = f"case {{node}} in {cases} esac"
        else:
            raise ExrnicError(f"program: {len(self.program)} commands, and there are {self.nodes} nodes")
        for name, value in self.arguments.items():
            text = text.replace(f"{{{name}}}", str(value))
        return text

    def _run(self, where, directory):
        with contextlib.ExitStack() as stack:
            if directory is None:
                directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="exrnic-"))
            directory = pathlib.Path(directory).resolve()
            directory.mkdir(parents=True, exist_ok=True)
            folder = directory / "run"
            if bool(self.program) == (self.workload is not None):
                raise ExrnicError("give a program, or a workload")
            if self.workload is not None:
                options = self._workload_options(where, directory)
                rows, log = workloads.run(where.sim, options, folder, self.seconds)
                return self._result(folder, rows, {"sim": log})
            run = subprocess.run(self._launch(where, directory, folder), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
            if run.returncode != 0:
                raise ExrnicError(run.stderr.strip() or f"the launcher ended with status {run.returncode}")
            logs = {path.stem: path.read_text(errors="replace") for path in sorted(folder.glob("*.log"))}
            return self._result(folder, self._program_rows(logs), logs)

    def _workload_options(self, where, directory):
        if self.guests or self.sync or self.launcher:
            raise ExrnicError("workload: guests, sync and launcher are for programs")
        topology = self._topology(directory) if self.topology is not None else "star"
        if topology in _OF_NODES:
            topology += f":{self.nodes}"
        elif os.path.isfile(topology):
            topology = os.path.abspath(topology)
        return ["--profile", self._profile(where, directory), "--topology", topology,
                "--workload", workloads.file_of(self.workload, directory), *self._simulator(),
                *(["--capture", _CAPTURE] if self.capture else [])]

    def _launch(self, where, directory, folder):
        line = [sys.executable, str(where.launcher), "--parent", str(os.getpid()), "--directory", str(folder),
                "--sim", str(where.sim), "--guests", str(self.nodes), "--profile", self._profile(where, directory),
                "--run-seconds", str(self.seconds), *self.launcher]
        if self.guests:
            line += ["--time", "sync" if self.sync else "free"]
            if where.guest_image and "--initramfs" not in self.launcher:
                line += ["--initramfs", str(where.guest_image)]
        else:
            line += ["--processes", "--time", "sync" if self.sync else "free"]
            line += [word for path in where.programs for word in ("--programs", str(path))]
        if self.topology is not None:
            line += ["--topology", self._topology(directory)]
        if self.capture:
            line.append("--capture")
        line += [f"--sim-argument={word}" for word in self._simulator()]
        return [*line, "run", self.command()]

    def _simulator(self):
        words = ["--core", self.core, "--seed", str(self.seed), "--stats", _STATISTICS]
        if self.faults:
            words += ["--faults", _faults(self.faults)]
        if self.losses:
            words += ["--losses", _LOSSES]
        for end, faults in self.faults_at.items():
            words += ["--faults-at", f"{end}:{_faults(faults)}"]
        return [*words, *self.simulator]

    def _profile(self, where, directory):
        path = where.profile(self.profile)
        if not self.change:
            return str(path) if path.is_file() else self.profile  # of which exrnic-sim says what is wrong
        try:
            profile = json.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise ExrnicError(f"profile {self.profile}: {error}") from None
        for key, value in self.change.items():
            part, _, name = key.rpartition(".")
            values = profile.get(part) if part else profile
            if not isinstance(values, dict) or name not in values:
                raise ExrnicError(f"change: profile {self.profile} has no {key}")
            values[name] = value
        changed = directory / "profile.json"
        changed.write_text(json.dumps(profile, indent=2) + "\n")
        return str(changed)

    def _topology(self, directory):
        if isinstance(self.topology, str):
            return self.topology
        path = directory / "topology.json"
        path.write_text(json.dumps(self.topology, indent=2) + "\n")
        return str(path)

    def _program_rows(self, logs):
        kind = "guest" if self.guests else "process"
        return Rows({"node": node, **row} for node in range(self.nodes) for row in program_rows(logs[f"{kind}{node}"]))

    def _result(self, folder, rows, logs):
        counted = json.loads((folder / _STATISTICS).read_text())
        frames = captures.rows_of(folder / _CAPTURE) if self.capture else Rows()
        losses = Rows(program_rows((folder / _LOSSES).read_text())) if self.losses else Rows()
        return Result(rows, counter_rows(counted), frames, losses, logs, counted["simulated_ns"])


def _faults(faults):
    return ",".join(f"{kind}={value}" for kind, value in faults.items())
