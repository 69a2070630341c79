#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A night of tests that have no end of their own, one after the other, with new seeds each time ("make night").

    night.py [--hours H] [--seed S] [--folder FOLDER]

Random work, guests under kills, fuzzers, mutants of one block after the other, and once the debug kernel. A run that fails
or does not end is in the report with the command that repeats it; the others go on. FOLDER/report.md is complete after each
run. The exit status is 1 if anything failed.
"""

import argparse
import dataclasses
import itertools
import os
import pathlib
import signal
import subprocess
import sys
import time

_ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(_ROOT / "tools/mutants"))

import mutants  # noqa: E402  pylint: disable=wrong-import-position

_LAST_LINES = 15


@dataclasses.dataclass(frozen=True)
class Stage:
    """`command`: {seed} and {block} are replaced in it. `minutes`: after so many it is ended, and has failed. `takes`: what
    it is expected to take the first time. `once`: in a night."""

    name: str
    command: str
    minutes: float
    takes: float
    once: bool = False


STAGES = (
    Stage("random work", "make soak OPS=20000 INSTRUCTIONS=5000000 ACCESSES=1000000 FUZZ_SECONDS=30 SEED={seed}", 120, 20),
    Stage("guests under kills", "make guest-soak MINUTES=3 DEATHS=1000 SEED={seed}", 90, 15),
    Stage("mutants", "make mutants BLOCK={block} N=10 SEED={seed}", 120, 15),
    Stage("fuzzers", "make fuzz SECONDS=60", 60, 15),
    Stage("debug kernel", "make debug-kernel-test", 240, 60, once=True),
)


@dataclasses.dataclass
class Run:
    stage: Stage
    command: str
    log: pathlib.Path
    minutes: float
    problem: str | None  # why it failed
    last_line: str


def run(stage, command, log):
    """Ends it with all that it has started."""
    begin = time.monotonic()
    with open(log, "wb") as output:
        process = subprocess.Popen(command, shell=True, cwd=_ROOT, env=_environment(), stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = process.wait(60 * stage.minutes)
            problem = None if status == 0 else f"ended with status {status}"
        except subprocess.TimeoutExpired:
            problem = f"did not end within {stage.minutes:g} minutes"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    return Run(stage, command, log, (time.monotonic() - begin) / 60, problem, (tail(log, 1) or [""])[0])


def _environment():
    """Without what make, which has started us, tells its own children: variables such as SEED."""
    return {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES")}


def tail(log, count):
    return [line for line in log.read_text(errors="replace").splitlines() if line.strip()][-count:]


class Night:
    def __init__(self, hours, seed, folder, stages=STAGES, blocks=None):
        self._end = time.monotonic() + 3600 * hours
        self._seed = seed
        self._folder = folder
        self._stages = stages
        self._blocks = itertools.cycle(blocks or sorted(mutants.blocks(_ROOT)))
        self._takes = {stage.name: stage.takes for stage in stages}  # minutes, the last time
        self.runs = []

    def has_time(self, stage):
        return time.monotonic() + 60 * self._takes[stage.name] <= self._end

    def go(self, say):
        for turn in itertools.count():
            stages = [stage for stage in self._stages if not (stage.once and turn) and self.has_time(stage)]
            if not stages:
                return
            for stage in stages:
                if self.has_time(stage):
                    self._run(stage, say)

    def _run(self, stage, say):
        seed = self._seed + len(self.runs)
        command = stage.command.format(seed=seed, block=next(self._blocks) if "{block}" in stage.command else "")
        say(f"{time.strftime('%H:%M')} {command}")
        log = self._folder / f"{len(self.runs):03}-{stage.name.replace(' ', '-')}.log"
        done = run(stage, command, log)
        self._takes[stage.name] = done.minutes
        self.runs.append(done)
        say(f"      {done.problem or 'ok'}, {done.minutes:.1f} min: {done.last_line}")
        (self._folder / "report.md").write_text(self.report())

    def failures(self):
        return [run for run in self.runs if run.problem]

    def report(self):
        lines = ["# A night of tests", "", f"{len(self.runs)} runs, {len(self.failures())} failed.", "",
                 "| stage | runs | failed | minutes |", "|---|---|---|---|"]
        for stage in self._stages:
            runs = [run for run in self.runs if run.stage is stage]
            lines.append(f"| {stage.name} | {len(runs)} | {sum(run.problem is not None for run in runs)} | "
                         f"{sum(run.minutes for run in runs):.0f} |")
        for failure in self.failures():
            lines += ["", f"## {failure.stage.name} {failure.problem}", "", f"    {failure.command}", "",
                      f"{failure.log}, last lines:", "", *(f"    {line}" for line in tail(failure.log, _LAST_LINES))]
        lines += ["", "## All runs", "", "| command | minutes | result | last line |", "|---|---|---|---|"]
        lines += [f"| `{run.command}` | {run.minutes:.1f} | {run.problem or 'ok'} | {run.last_line.replace('|', '/')} |"
                  for run in self.runs]
        return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=8, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=int(time.time()) // 60, help="the first of consecutive ones; default: the date")
    parser.add_argument("--folder", type=pathlib.Path, default=_ROOT / "build/night", help="for logs and report")
    options = parser.parse_args()
    if options.hours <= 0:
        parser.error(f"--hours {options.hours:g}: give more than 0")
    options.folder.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what runs has a session of its own
    night = Night(options.hours, options.seed, options.folder)
    try:
        night.go(lambda text: print(text, flush=True))
    except KeyboardInterrupt:
        print("stopped: what was running has been ended, and is not in the report")
    if not night.runs:
        print("nothing has run: give more --hours")
        return 1
    print(night.report())
    return 1 if night.failures() else 0


if __name__ == "__main__":
    sys.exit(main())
