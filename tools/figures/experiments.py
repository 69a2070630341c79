# SPDX-License-Identifier: BSD-2-Clause
"""Runs the experiments behind the figures, with a progress bar, and gives their rows.

What fails is told in one line, and its rows are missing; the others run nevertheless.
"""
import json
import pathlib
import re
import subprocess
import sys
import threading

from tqdm import tqdm

_CLONE = pathlib.Path(__file__).resolve().parents[2]
_CORE = _CLONE / "build/host/tools/bench/exrnic-bench-core"
_BENCH = _CLONE / "build/bench/results.json"
_PROFILES = ("expether-gbe", "rhinet2", "ntb-gen3x8")
_STEP = re.compile(r"bench: \[(\d+)/(\d+)\] (.*)")
_GUEST_SECONDS = 900


def say(text):
    tqdm.write(f"figures: {text}", file=sys.stderr)


def _rows_of(path, status, what, last):
    """Rows that a program left in `path`; none if it failed, which is told."""
    if status != 0:
        say(f"{what} failed, its figures are missing: {last or f'status {status}'}")
        return []
    return json.loads(path.read_text())


def measure_core(directory):
    """What the core does in simulated time, in the profiles of the papers."""
    path = directory / "core.json"
    arguments = [argument for profile in _PROFILES for argument in ("--profile", profile)]
    try:
        program = subprocess.Popen([_CORE, "--papers", "--output", path, *arguments], text=True,
                                   stderr=subprocess.PIPE)
    except OSError as error:
        say(f"{_CORE} does not start, its figures are missing: {error.strerror}")
        return []
    last = ""
    with program, tqdm(desc="core, simulated time", unit=" steps", dynamic_ncols=True) as bar:
        for line in program.stderr:
            last = line.strip()
            if last.startswith("bench: no figure"):
                say(last)
            step = _STEP.fullmatch(last)
            if step:
                bar.total = int(step[2])
                bar.n = int(step[1])
                bar.set_postfix_str(step[3])
        program.wait()
        bar.n = bar.total or 0
        bar.set_postfix_str("")
    return _rows_of(path, program.returncode, "exrnic-bench-core", last)


def _measure_guests(path, what, name, *arguments):
    """The rows that program `name` of tools/bench leaves in `path`."""
    path.write_text("[]")
    program = subprocess.Popen([sys.executable, _CLONE / "tools/bench" / name, *arguments, path],
                               text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = []
    reader = threading.Thread(target=lambda: said.extend(program.stderr), daemon=True)
    reader.start()
    with tqdm(desc=what, unit=" s", bar_format="{desc}: {elapsed} of about a minute",
              dynamic_ncols=True) as bar:
        for _ in range(_GUEST_SECONDS):
            try:
                program.wait(1)
                break
            except subprocess.TimeoutExpired:
                bar.update()
        else:
            program.terminate()
            program.wait()
    reader.join()
    last = next((line.strip() for line in said if not line.startswith("bench:")), "")
    for line in said:
        if line.startswith("bench: no figure"):
            say(line.strip())
    return _rows_of(path, program.returncode, what, last)


def measure_guests(directory):
    """The microbenchmarks of the ExpEther paper in guests, by exrnic-bench."""
    profile = ("--profile", "expether-gbe")
    return (_measure_guests(directory / "guest.json", "guest, wall clock", "guests.py", "--alone",
                            *profile) +
            _measure_guests(directory / "sync.json", "guests, synchronised time", "sync_guests.py",
                            *profile))


def bench_rows(measured):
    """What only `make bench` measures, from its last run, if there was one."""
    names = {row["name"] for row in measured}
    try:
        rows = json.loads(_BENCH.read_text())
    except (OSError, ValueError):
        return []
    kept = [row for row in rows if row["name"] not in names]
    say(f"{len(kept)} rows of other names are those of the last make bench")
    return kept


def run(directory):
    """All rows; `directory` gets what the programs wrote."""
    rows = measure_core(directory) + measure_guests(directory)
    return rows + bench_rows(rows)
