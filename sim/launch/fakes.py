# SPDX-License-Identifier: BSD-2-Clause
"""Programs that stand in for exrnic-sim and QEMU, so that every way to fail can be played.

Each fake notes its process number in the launch's folder, for the tests that count survivors.
"""

import os
import pathlib

_NOTE_PID = 'echo $$ >> "pids"\n'
READY = "echo 'exrnic-sim: ready'\n"
# A process of its own that the fake does not wait for: it must go as well.
LEAVE_GRANDCHILD = 'sleep 600 & echo $! >> "pids"\n'
SERVE = "trap 'exit 0' TERM\nwhile :; do sleep 0.05; done\n"
SLEEP = "exec sleep 600\n"
BOOT = "echo @exrnic-boot; echo @exrnic-up\n"
# Which guest this is: from the socket's name on the command line.
FIND_NODE = 'case "$*" in *node0.sock*) node=0;; *node2.sock*) node=2;; *) node=1;; esac\n'


def program(directory, name, body):
    """An executable shell script. One of that name that still runs keeps its own text."""
    path = pathlib.Path(directory) / name
    new = path.with_name(name + ".new")
    new.write_text("#!/bin/sh\n" + _NOTE_PID + body)
    new.chmod(0o755)
    return new.replace(path)


def end(status):
    """The guest's end marker, and its power-off."""
    return f"echo; echo @exrnic-end {status}; exit 0\n"


def row(**changes):
    """A shell line that prints one result row of guest $node."""
    fields = {"from": "'$node'", "to": "'$((1-node))'", "size": 4096, "ops": 10, "verified": 10,
              "latency_us": 2.5, "bandwidth_mbps": 900.0, "wall_s": 0.1}
    fields.update(changes)
    body = ", ".join(f'"{name}": {value}' for name, value in fields.items())
    return f"echo '@exrnic {{{body}}}'\n"


def survivors(directory):
    """Of the processes noted in `directory`, those that still run."""
    noted = (pathlib.Path(directory) / "pids").read_text().split()
    return [pid for pid in noted if _runs(int(pid))]


def _runs(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z" and os.path.exists(f"/proc/{pid}")
