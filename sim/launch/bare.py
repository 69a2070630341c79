# SPDX-License-Identifier: BSD-2-Clause
"""Processes at the nodes of a simulator, without guests: each is the driver of its RNIC (VL_DEVICE).

All of it runs in the folder of the launch: sim.log, process0.log, process1.log, ...
"""

import dataclasses
import os
import pathlib
import time

import cosim
from errors import LaunchError
import guest
import placeholders
import processes
import records

_READY = "exrnic-sim: ready"
CONTROL = "control.sock"
_START_SECONDS = 20
_END_SECONDS = 1  # of a simulator that gives up, after its sockets
_POLL_SECONDS = 0.002


@dataclasses.dataclass
class Settings:
    """`command` is run by sh once for each node, with what placeholders.py replaces in it. `programs`:
    folders that come first in its PATH."""

    directory: pathlib.Path
    sim: pathlib.Path
    command: str
    nodes: int = 2
    programs: tuple = ()
    sim_arguments: tuple = ()
    run_seconds: float = 120


def run(settings, on_row):
    """From start to end. Raises LaunchError unless every process ended with status 0. `on_row(node, row)`
    gets their rows, when all have ended."""
    _check_inputs(settings)
    directory = settings.directory
    logs = [directory / f"process{node}.log" for node in range(settings.nodes)]
    environment = {**os.environ, "PATH": os.pathsep.join(
        [*map(str, settings.programs), os.environ.get("PATH", os.defpath)])}
    values = placeholders.of_processes(settings.nodes)
    with cosim.own_directory(directory), processes.Processes(directory) as children:
        log = directory / records.LOG
        simulator = start_simulator(children, settings.sim, settings.sim_arguments, settings.nodes, log)
        programs = [
            children.start(["/bin/sh", "-c", values.fill(settings.command, node)], path,
                           environment={**environment, "VL_DEVICE": device_of(node)})
            for node, path in enumerate(logs)]
        await_programs(programs, simulator, settings.run_seconds, log, logs)
        stop_simulator(simulator, log)
        for node, path in enumerate(logs):
            for row in guest.Console(path).poll():
                on_row(node, row)


def device_of(node):
    return f"sim:{_socket(node)}"


def start_simulator(children, sim, arguments, nodes, log):
    """With the sockets that device_of() names. Returns when it is ready."""
    return start_any_simulator(children, sim, [*arguments, *(
        argument for node in range(nodes) for argument in ("--node", f"vfio-user:{_socket(node)}"))], log)


def start_any_simulator(children, sim, arguments, log):
    """The same, with what the arguments say."""
    simulator = children.start([str(sim), *arguments, "--control", CONTROL], log)
    _wait("exrnic-sim was not ready", _START_SECONDS,
          lambda: simulator.poll() is not None or _READY in log.read_text(errors="replace"), [log])
    if simulator.poll() is not None:
        raise LaunchError(f"exrnic-sim ended with status {simulator.poll()}", [log])
    return simulator


def await_programs(programs, simulator, seconds, log, logs):
    """One at each node. `log`: of the simulator. The first that fails ends the run."""
    def over():
        return any(program.poll() for program in programs) or \
            all(program.poll() is not None for program in programs)

    _wait("the processes did not end", seconds, over, logs)
    for node, program in enumerate(programs):
        if program.poll():
            # The simulator first: its end takes the programs along.
            status = processes.await_end(simulator, _END_SECONDS)
            if status is not None:
                raise LaunchError(f"exrnic-sim ended with status {status}", [log])
            raise LaunchError(f"the process at node {node} ended with status "
                              f"{program.returncode}", logs, max(1, program.returncode))


def stop_simulator(simulator, log):
    status = processes.stop_politely(simulator, _START_SECONDS)  # it has files to complete
    if status != 0:
        raise LaunchError("exrnic-sim did not end" if status is None else
                          f"exrnic-sim ended with status {status}", [log])


def _socket(node):
    return f"{node}.sock"


def _check_inputs(settings):
    if not settings.sim.is_file():
        raise LaunchError(f"there is no simulator at {settings.sim} (\"make build\" makes it)")


def _wait(what, seconds, condition, logs):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise LaunchError(f"{what} within {seconds:g} s", logs)
        time.sleep(_POLL_SECONDS)
