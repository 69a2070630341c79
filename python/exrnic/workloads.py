# SPDX-License-Identifier: BSD-2-Clause
"""Runs of exrnic-sim without hosts: what nodes send each other is in a file."""

import json
import os
import subprocess

from exrnic.children import die_with_parent
from exrnic.errors import ExrnicError
from exrnic.results import Rows

_RESULTS = "results.json"


def file_of(workload, directory):
    if isinstance(workload, str):
        return os.path.abspath(workload)
    path = directory / "workload.json"
    path.write_text(json.dumps(workload, indent=2) + "\n")
    return str(path)


def run(sim, options, folder, seconds):
    """Rows, which are flows, each with the pattern and the operation of its traffic; and what the simulator said."""
    folder.mkdir(exist_ok=True)
    try:
        done = subprocess.run([sim, *options, "--results", _RESULTS], cwd=folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds, check=False,
                              preexec_fn=die_with_parent)
    except subprocess.TimeoutExpired:
        raise ExrnicError(f"workload: it did not end within {seconds:g} s") from None
    if done.returncode != 0:
        raise ExrnicError(done.stdout.strip() or f"exrnic-sim ended with status {done.returncode}")
    results = json.loads((folder / _RESULTS).read_text())
    rows = Rows()
    for flow in results["flows"]:
        traffic = results["traffic"][flow["traffic"]]
        rows.append({"pattern": traffic["pattern"], "operation": traffic["operation"], **flow})
    return rows, done.stdout
