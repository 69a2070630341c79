# SPDX-License-Identifier: BSD-2-Clause
"""One experiment with many values."""

import concurrent.futures
import itertools
import os
import sys
import time

from exrnic.errors import ExrnicError
from exrnic.results import Rows

_BAR = 30


def sweep(experiment, over, rows=lambda result: result.rows, jobs=None, cached=True, progress=None):
    """Runs it with every combination of the values of `over`, such as

        {"faults.drop": [0, 0.01], "arguments.size": [64, 4096], "seed": range(5)}

    (see Experiment.changed), and returns all rows, each with its values by the last part of their names. `rows`: those of
    a result that are wanted, dicts. `jobs`: so many at a time (default: half the processors; a run is of several
    processes). `cached`: as for Experiment.run. `progress`: whether a bar is shown (default: on a terminal). The first
    that fails ends all, with its values in the message."""
    combinations = [dict(zip(over, values)) for values in itertools.product(*over.values())]
    names = _names(over)
    bar = _Bar(len(combinations), sys.stderr.isatty() if progress is None else progress)
    results = [None] * len(combinations)
    with concurrent.futures.ThreadPoolExecutor(jobs or max(1, (os.cpu_count() or 1) // 2)) as pool:
        runs = {pool.submit(_run, experiment, values, cached): i for i, values in enumerate(combinations)}
        try:
            for run in concurrent.futures.as_completed(runs):
                results[runs[run]] = run.result()
                bar.step(results[runs[run]].cached)
        finally:
            pool.shutdown(cancel_futures=True)
            bar.end()
    return Rows({**{names[key]: value for key, value in values.items()}, **row}
                for values, result in zip(combinations, results) for row in rows(result))


def _run(experiment, values, cached):
    for key, value in values.items():
        experiment = experiment.changed(key, value)
    try:
        return experiment.run(cached=cached)
    except ExrnicError as error:
        told = ", ".join(f"{key}={value}" for key, value in values.items())
        raise ExrnicError(f"{told}: {error}") from error


def _names(keys):
    """The last part of each, or all of it where two would be one."""
    last = [key.rpartition(".")[2] for key in keys]
    return {key: name if last.count(name) == 1 else key for key, name in zip(keys, last)}


class _Bar:
    def __init__(self, total, shown):
        self._total, self._shown = total, shown
        self._done = self._cached = 0
        self._start = time.monotonic()
        self._draw()

    def step(self, cached):
        self._done += 1
        self._cached += cached
        self._draw()

    def end(self):
        if self._shown:
            print(file=sys.stderr)

    def _draw(self):
        if not self._shown:
            return
        filled = _BAR * self._done // max(1, self._total)
        ran = self._done - self._cached
        left = ""
        if ran:
            seconds = (time.monotonic() - self._start) / ran * (self._total - self._done)
            left = f", {seconds // 60:.0f}:{seconds % 60:02.0f} left"
        text = f"[{'#' * filled}{'.' * (_BAR - filled)}] {self._done}/{self._total}, {self._cached} known{left}"
        print(f"\r{text:<78}", end="", file=sys.stderr, flush=True)
