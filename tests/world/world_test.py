#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The programs of programs.py in two guests with a distribution, as a table ("make world-test").

    tests/world/world_test.py [--core ref|rtl] [NAME...]    NAMEs: only these; without, on the RTL, ON_RTL

Outputs are in guestN/results.json of the directory, build/run/world_test_CORE if none is given. Exit status: 0 if
each did as programs.py says.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

import programs

_CLONE = pathlib.Path(__file__).resolve().parents[2]
_HERE = pathlib.Path(__file__).resolve().parent
_NODES = 2
_BOOT_SECONDS = 180
_LAST_LINES = 12


def launch(core, chosen, folder, factor, *more):
    """Its status, and what it says. The guests run the programs, whatever becomes of each. `more`: for sim/launch."""
    seconds = sum(program.seconds * factor + program.settle for program in chosen) + 60  # few begin anew
    every = chosen == programs.chosen([])  # their names are more than a kernel's arguments hold
    named = "" if every else " ".join(f"'{program.name}'" for program in chosen)
    return subprocess.run(
        [sys.executable, _CLONE / "sim/launch", "--directory", folder, "--world", "--memory", "1G",
         "--sim-argument=--core", f"--sim-argument={core}", "--boot-seconds", str(_BOOT_SECONDS * factor),
         "--run-seconds", str(seconds), "--put", f"{_HERE}:/opt/world", "--take", "/results.json", *more,
         "run", f"python3 -B /opt/world/in_guest.py {{node}} /results.json /dev/ttyS1 {factor} {named}"],
        check=False).returncode


def results(folder):
    """By node and name."""
    found = {}
    for node in range(_NODES):
        path = folder / f"guest{node}/results.json"
        for result in json.loads(path.read_text()) if path.is_file() else []:
            found[node, result["name"]] = result
    return found


def problem(program, result, node, factor=1):
    """What is wrong with it; "": nothing. `factor`: how much longer than its row says it might have taken."""
    if result is None:
        return "was not run"
    if result["status"] is None:
        return f"took more than {program.seconds * factor:g} s"
    if result["status"] != 0:
        return f"status {result['status']}"
    for expected in program.patterns(node):
        if not re.search(expected, result["output"], re.MULTILINE):
            return f"nothing in its output is like '{expected}'"
    return ""


def judge(program, found, factor=1):
    """Prints the row; returns how many nodes have failed."""
    nodes = [node for node in range(_NODES) if program.command(node) is not None]
    told = {node: problem(program, found.get((node, program.name)), node, factor) for node in nodes}
    ran = [found[node, program.name] for node in nodes if (node, program.name) in found]
    goes = max((result.get("goes", 1) for result in ran), default=1)
    print(f"{program.name:<24}{max((result['seconds'] for result in ran), default=0):6.1f} s  "
          f"{'FAILED' if any(told.values()) else 'ok'}{f', at go {goes}' if goes > 1 else ''}")
    for node, text in told.items():
        if text:
            print(f"  node {node}: {text}: {program.command(node)}")
            output = found.get((node, program.name), {}).get("output", "")
            print("".join(f"  | {line}\n" for line in output.splitlines()[-_LAST_LINES:]), end="")
    return sum(map(bool, told.values()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--core", default="ref", choices=programs.FACTORS, help="of exrnic-sim (default: %(default)s)")
    parser.add_argument("--directory", type=pathlib.Path, help="for logs and outputs")
    parser.add_argument("--launch-option", action="append", default=[], metavar="OPTION",
                        help="more for sim/launch, such as --kernel=FILE; can be repeated")
    parser.add_argument("--times", type=int, default=1, metavar="N",
                        help="of a slow kernel: the limit of each program is so many times as long")
    parser.add_argument("names", metavar="NAME", nargs="*")
    options = parser.parse_args()
    try:
        chosen = programs.chosen(options.names or programs.of_core(options.core))
    except ValueError as error:
        parser.error(str(error))
    folder = options.directory or _CLONE / f"build/run/world_test_{options.core}"
    factor = programs.FACTORS[options.core] * options.times
    status = launch(options.core, chosen, folder, factor, *options.launch_option)
    print()
    found = results(folder)
    failed = sum(judge(program, found, factor) for program in chosen)
    return 1 if failed or status else 0


if __name__ == "__main__":
    sys.exit(main())
