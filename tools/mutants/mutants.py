#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Small changes, one at a time: does a test that is near notice each of them? ("make mutants")

    mutants.py [--block NAME]... [--number N] [--seed S] [--report FILE] [--results FILE]

A block is a folder of RTL with its own test, the handlers of firmware, the data path of libverbs-lite, or the reference model.
Of each block N changes are drawn. A change that does not compile says nothing. One that a test notices, by failing or by
not ending, is killed. All others survive: a test is missing, or the change makes no difference. Those that are known to make none
are in no_difference.txt, each with its reason, and do not count. `mutants.killed_percent` is the score of a block, and of all.

It works on a copy of what is committed, in build/mutants. What a change has come to is remembered there with the
text of its file and of its tests; so a run that was broken off goes on, and a change of neither costs nothing.
"""

import argparse
import dataclasses
import hashlib
import io
import json
import os
import pathlib
import random
import resource
import subprocess
import sys
import tarfile
import time

import changes

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_BUILD_SECONDS = 1200
_TEST_SECONDS = 300
_TEST_BYTES = 8 << 30  # a change may let a test collect without end
_NO_DIFFERENCE = pathlib.Path(__file__).parent / "no_difference.txt"
_ROW = "mutants.killed_percent"


@dataclasses.dataclass(frozen=True)
class Block:
    name: str
    files: tuple  # that are changed, from the root of the tree
    tests: tuple  # folders and files that the tests are made of
    targets: tuple
    ctest: str    # names of the tests, a regular expression
    rtl: bool = False


# The tests of a folder, where they are not one of its name.
_PROGRAMS = {
    "cpu": ("cpu_test", "cpu_lockstep_test"),
    "firmware_port": ("punt_queue_test", "requests_open_test"),
    "scheduler": ("scheduler_test", "turns_ahead_test"),
}
# What they do not see: the wires between the two nodes of a test, and what only tests of whole nodes run.
_NOT_SEEN = ("efe_loop", "direct_commands", "firmware_bells", "firmware_blocks", "firmware_port", "fw_grants")


def blocks(tree):
    """By name, those of the tree."""
    found = {}
    for folder in sorted((tree / "rtl-model/tiles").glob("*/*")):
        files = tuple(str(path.relative_to(tree)) for path in sorted(folder.glob("*.sv")) if path.stem not in _NOT_SEEN)
        programs = _PROGRAMS.get(folder.name, (f"{folder.name}_test",))
        if files and all((folder / f"{program}.cc").exists() for program in programs):
            found[folder.name] = Block(folder.name, files, (str(folder.relative_to(tree)), "rtl-model/testing"),
                                       programs, f"^({'|'.join(programs)})$", rtl=True)

    def add(name, patterns, tests, targets, ctest):
        files = [str(path.relative_to(tree)) for pattern in patterns for path in sorted(tree.glob(pattern))]
        found[name] = Block(name, tuple(file for file in files if "_test." not in file and "_checks." not in file), tests, targets, ctest)

    add("firmware", ("firmware/app/*.c",), ("firmware/test",), ("firmware_app_test",), "^firmware_app_test$")
    add("data_path", ("libverbs-lite/data_path/*.h",), ("libverbs-lite/data_path",), ("data_path_test",), "^data_path_test$")
    add("ref", ("rtl-model/ref/*.cc",), ("tests/operations", "tests/reliability", "tests/protection", "tests/support"),
        ("operations_tests", "reliability_tests", "protection_tests"), "_ref$")
    add("peb", ("rtl-model/ref/peb/*.cc", "rtl-model/ref/peb/*.h"), ("rtl-model/ref/peb",), ("peb_test",), "^peb_test$")
    return found


class Tree:
    """A copy of what is committed, with two builds of its own: of blocks of RTL alone, as Verilator would read whole cores
    anew for each change to one; and of everything."""

    def __init__(self, folder, jobs):
        self.source, self.folder, self.jobs = folder / "tree", folder, jobs
        self.seconds = _TEST_SECONDS  # that a test may take
        folder.mkdir(parents=True, exist_ok=True)

    def update(self):
        """Only files that have changed get new times."""
        self.source.mkdir(exist_ok=True)
        archive = subprocess.run(["git", "-C", _ROOT, "archive", "HEAD"], stdout=subprocess.PIPE, check=True).stdout
        there = {str(path.relative_to(self.source)) for path in self.source.rglob("*") if path.is_file()}
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            for item in files:
                if not item.isfile():
                    continue
                path, text = self.source / item.name, files.extractfile(item).read()
                there.discard(item.name)
                if path.is_file() and path.read_bytes() == text:
                    continue
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text)
                path.chmod(item.mode)
        for name in there:
            (self.source / name).unlink()

    def build_of(self, block):
        return self.folder / ("blocks" if block.rtl else "host")

    def configure(self, block):
        ended = self._run(["cmake", "-S", self.source, "-B", self.build_of(block), "-G", "Ninja",
                           f"-DEXRNIC_CORES={'OFF' if block.rtl else 'ON'}"], _BUILD_SECONDS)
        if ended is None or ended[0] != 0:
            sys.exit("mutants.py: cmake does not configure the copy:\n" + (ended[1] if ended else "it takes too long"))

    def _run(self, command, seconds, most_bytes=resource.RLIM_INFINITY):
        """None: it took longer. Else (status, what it said)."""
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))

        process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, errors="replace", start_new_session=True, preexec_fn=limit)
        try:
            said, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.communicate()
            return None
        return process.returncode, said

    def compile(self, block):
        ended = self._run(["cmake", "--build", self.build_of(block), "-j", self.jobs, "--target", *block.targets], _BUILD_SECONDS)
        return ended is not None and ended[0] == 0

    def passes(self, block):
        ended = self._run(["ctest", "--test-dir", self.build_of(block), "-R", block.ctest, "--no-tests=error", "-j", self.jobs,
                           "--timeout", self.seconds, "--stop-on-failure"], 10 * _TEST_SECONDS, _TEST_BYTES)
        return ended is not None and ended[0] == 0

    def passes_unchanged(self, block):
        """From then on a test that takes ten times as long does not end."""
        self.seconds, start = _TEST_SECONDS, time.monotonic()
        passes = self.passes(block)
        self.seconds = min(_TEST_SECONDS, max(20, int(10 * (time.monotonic() - start))))
        return passes

    def text_of(self, paths):
        """A digest of all files there."""
        digest = hashlib.sha256()
        for path in paths:
            whole = self.source / path
            for file in sorted(whole.rglob("*")) if whole.is_dir() else [whole]:
                if file.is_file():
                    digest.update(str(file.relative_to(self.source)).encode() + b"\0" + file.read_bytes())
        return digest.hexdigest()


class Results:
    """What each change has come to: killed, survived, invalid."""

    def __init__(self, path):
        self.path = path
        self.known = json.loads(path.read_text()) if path.exists() else {}

    def add(self, key, what):
        self.known[key] = what
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps(self.known, indent=0))
        fresh.replace(self.path)


def try_changes(tree, block, number, seed, results):
    """Yields (change, what it has come to) of `number` changes that compile."""
    every = [change for file in block.files for change in changes.of_file(tree.source, file)]
    random.Random(f"{seed} {block.name}").shuffle(every)
    context = tree.text_of([*block.files, *block.tests])
    tried, checked = 0, False
    for change in every:
        if tried == number:
            return
        key = hashlib.sha256(f"{context} {block.ctest} {change.path} {change.line} {change.after}".encode()).hexdigest()
        if key not in results.known:
            if not checked:
                tree.configure(block)
                if not (tree.compile(block) and tree.passes_unchanged(block)):
                    sys.exit(f"mutants.py: {block.name}: its tests fail without any change: {block.ctest}")
                checked = True
            undo = changes.apply(tree.source, change)
            try:
                if not tree.compile(block):
                    what = "invalid"
                else:
                    what = "survived" if tree.passes(block) else "killed"
            finally:
                undo()
            results.add(key, what)
        what = results.known[key]
        tried += what != "invalid"
        yield change, what
    return


def reasons(path):
    """Of changes that make no difference, by what they change: a line, and behind it its reason, indented."""
    found, what = {}, None
    for line in path.read_text().splitlines():
        if line.startswith("    "):
            found[what] = f"{found[what]} {line.strip()}".strip()
        elif line and not line.startswith("#"):
            what = line
            found[what] = ""
    return found


@dataclasses.dataclass
class Score:
    killed: int = 0
    survived: int = 0
    same: int = 0

    def add(self, what):
        setattr(self, what, getattr(self, what) + 1)

    @property
    def count(self):
        return self.killed + self.survived

    @property
    def percent(self):
        return 100 * self.killed / max(1, self.count)


def score_of(*blocks_tried):
    score = Score()
    for tried in blocks_tried:
        for _, what in tried:
            score.add(what)
    return score


def report(scores, number, seed, why):
    lines = ["<!-- SPDX-License-Identifier: BSD-2-Clause -->", "# Mutants", "",
             "Small changes to a block, one at a time, and whether a test that is near noticed: `make mutants`. Of each block "
             f"{number}", f"were drawn (seed {seed}). Those that make no difference do not count. Who survives otherwise shows a "
             "missing test.", "", "| block | tried | make no difference | killed of the others | score |", "|---|---|---|---|---|"]
    for name, score in [*((name, score_of(tried)) for name, tried in scores.items()), ("all", score_of(*scores.values()))]:
        lines.append(f"| {name} | {score.count + score.same} | {score.same} | {score.killed} | {int(score.percent)} % |")

    def those(wanted):
        return [change for tried in scores.values() for change, what in tried if what == wanted]

    lines += ["", "## Survivors", "", *([f"- `{change}`" for change in those("survived")] or ["None."])]
    lines += ["", "## What makes no difference", "",
              *([f"- `{change}`  \n  {why[change.wherever]}" for change in those("same")] or ["None."])]
    return "\n".join(lines) + "\n"


def add_rows(path, scores):
    rows = json.loads(path.read_text()) if path.exists() else []
    rows = [row for row in rows if row["name"] != _ROW]
    rows += [{"name": _ROW, "value": score.percent, "unit": "%", "clock": "simulated", "block": name} for name, score in scores]
    path.write_text(json.dumps(rows, indent=2) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--block", action="append", default=[], help="can be repeated; default: all")
    parser.add_argument("--number", type=int, default=10, help="of changes to each block (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--report", type=pathlib.Path, help="a file in Markdown, written anew")
    parser.add_argument("--results", type=pathlib.Path, help="results.json of tools/bench: adds the scores")
    parser.add_argument("--folder", type=pathlib.Path, default=_ROOT / "build/mutants", help=argparse.SUPPRESS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    tree = Tree(options.folder, options.jobs)
    tree.update()
    known = blocks(tree.source)
    for name in options.block:
        if name not in known:
            parser.error(f"--block {name}: there are {', '.join(known)}")
    results = Results(options.folder / "results.json")
    why = reasons(_NO_DIFFERENCE)
    tried, scores = {}, []

    def say(name, score):
        scores.append((name, score))
        print(f"  {_ROW:<26}{score.percent:>12.3f} {'%':<7}block {name}", flush=True)
        print(f"{name}: {score.killed} of {score.count} killed, {int(score.percent)} %", flush=True)

    for name in options.block or known:
        tried[name] = []
        for change, what in try_changes(tree, known[name], options.number, options.seed, results):
            if what == "survived" and change.wherever in why:
                what = "same"
            print(f"{what:<9} {change}", flush=True)
            if what != "invalid":
                tried[name].append((change, what))
        say(name, score_of(tried[name]))
    say("all", score_of(*tried.values()))
    if options.report:
        options.report.write_text(report(tried, options.number, options.seed, why))
    if options.results:
        add_rows(options.results, scores)


if __name__ == "__main__":
    main()
