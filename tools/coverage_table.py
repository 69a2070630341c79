#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A table of covered lines, by folder, from gcovr's summary and verilator_coverage's lcov file.

The last line that it prints is the verdict; the exit status says whether both languages reach what
is wanted.
"""

import argparse
import collections
import json
import pathlib
import sys

_WANTED = 90.0  # percent of lines
_HEAD = """<!-- SPDX-License-Identifier: BSD-2-Clause -->
# Lines that tests execute

Written by `make coverage`. It runs whole nodes with one core of each kind, firmware on the RTL's processor, the library on simulators
and software devices, fuzzers, and guests in free-running and in synchronised time. What the library's programs in guests have
counted comes from the guests' consoles.

gcov counts C and C++. Not counted: tests and code that only they use, generated code, `tools/bench`, the driver, Python.

Verilator counts RTL in the core of these tests, for both of its data widths: lines that begin a block or a branch. Tests of
single blocks do not count.
"""


class Count:
    def __init__(self, lines=0, covered=0):
        self.lines, self.covered = lines, covered

    def add(self, lines, covered):
        self.lines += lines
        self.covered += covered

    @property
    def percent(self):
        return 100.0 * self.covered / self.lines if self.lines else 0.0


def count_cpp(path):
    folders = collections.defaultdict(Count)
    for file in json.loads(path.read_text())["files"]:
        folder = str(pathlib.PurePath(file["filename"]).parent)
        folders[folder].add(file["line_total"], file["line_covered"])
    return folders


def count_rtl(path, root):
    """Verilator's paths are absolute; several models may have the same line."""
    lines = collections.defaultdict(int)
    file = None
    for record in path.read_text().splitlines():
        kind, _, value = record.partition(":")
        if kind == "SF":
            file = pathlib.Path(value)
        elif kind == "DA":
            line, count = value.split(",")[:2]
            lines[file, int(line)] += int(count)
    folders = collections.defaultdict(Count)
    for (file, _), count in lines.items():
        folders[str(file.resolve().parent.relative_to(root))].add(1, count > 0)
    return folders


def total(folders):
    count = Count()
    for folder in folders.values():
        count.add(folder.lines, folder.covered)
    return count


def rows(title, folders):
    yield f"\n| {title} | lines | executed | |\n|---|---:|---:|---:|"
    for name, count in [*sorted(folders.items()), ("**all**", total(folders))]:
        yield f"| {name} | {count.lines} | {count.covered} | {count.percent:.1f} % |"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cpp", type=pathlib.Path, help="gcovr --json-summary")
    parser.add_argument("rtl", type=pathlib.Path, help="verilator_coverage --write-info")
    parser.add_argument("tables", type=pathlib.Path, nargs="+", help="files to write")
    options = parser.parse_args()
    cpp = count_cpp(options.cpp)
    rtl = count_rtl(options.rtl, pathlib.Path(__file__).resolve().parents[1])
    text = "\n".join([_HEAD.rstrip(), *rows("C++ and C", cpp), *rows("RTL", rtl)]) + "\n"
    for table in options.tables:
        table.write_text(text)
    print(text)
    totals = total(cpp).percent, total(rtl).percent
    enough = min(totals) >= _WANTED
    print(f"coverage: {'PASS' if enough else 'FAIL'}: C++ {totals[0]:.1f} %, RTL {totals[1]:.1f} % of lines; "
          f"wanted are {_WANTED:g} %")
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
