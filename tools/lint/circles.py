#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Includes and imports go one way: no two files need each other, be it by way of others, and in C and C++ a
folder knows only folders of lower levels. NAME.h and NAME.cc or NAME.c count as one file. A file of Java
needs what its code names of the classes of its folder, and of those that it imports. Takes the files to
look at; prints each include that goes up, and each circle."""

import ast
import collections
import os
import pathlib
import re
import sys

# The folders of the product, from the lowest level up. Those of one line do not know each other.
LEVELS = (
    ("rtl-model/gen",),
    ("rtl-model/systemc", "firmware/hal", "libverbs-lite/data_path", "libverbs-lite/include/exrnic",
     "libverbs-lite/sisci/include", "sim/posix", "tools/fabric"),
    ("rtl-model/ref/management",),
    ("rtl-model/ref", "firmware/app", "firmware/image", "libverbs-lite/cluster/include/exrnic",
     "libverbs-lite/dsm/include/exrnic", "libverbs-lite/pm/include/exrnic", "sim/files", "sim/time"),
    ("libverbs-lite/dsm/include", "rtl-model/lockstep", "rtl-model/ref/peb", "sim/ethernet", "sim/pcie"),
    ("rtl-model/lockstep/peb", "rtl-model/peb", "sim/profile", "sim/ranks", "sim/trace", "sim/vfio_user"),
    ("sim/devices/nvme", "sim/devices/remote", "sim/node"),
    ("sim/peb",),
    ("sim/topology",),
    ("sim",),  # the testbed
    ("sim/capture", "sim/control", "sim/debug", "sim/host", "sim/service", "sim/workload"),
    ("sim/time_sync",),
    ("sim/app", "sim/devices/nvme/app", "sim/time_sync/plugin"),
    ("libverbs-lite/src/transport", "tests/support", "tools/fabric/program", "tools/fabric/simulated"),
    ("libverbs-lite/src/sim", "tools/bench", "tools/exrnicctl"),
    ("libverbs-lite/src", "libverbs-lite/examples", "libverbs-lite/sisci/bench", "libverbs-lite/sisci/src",
     "provider"),
    ("libverbs-lite/bench", "libverbs-lite/cluster/src", "libverbs-lite/java/bench", "libverbs-lite/java/jni"),
    ("libverbs-lite/cluster/examples", "libverbs-lite/dsm/src", "libverbs-lite/pm/src"),
    ("libverbs-lite/dsm/examples", "libverbs-lite/pm/examples"),
)
_LEVEL = {folder: level for level, folders in enumerate(LEVELS) for folder in folders}

# Tests, and what only tests need, stand above all. tests/support has two faces: tools need it.
_TEST = re.compile(r"_test\.\w+$|_fixture\.h$|/test_support\.h$|(^|/)(test|testing)/|"
                   r"^rtl-model/tiles/|^tests/")
_LENT = "tests/support"
_JAVA_IMPORT = re.compile(r"^import (?:static )?([\w.]+);", re.MULTILINE)
_JAVA_SILENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"', re.DOTALL)  # what names nothing
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def unit_of(path):
    """The pair that the file belongs to."""
    return str(path) if path.suffix in (".hpp", ".java", ".py") else str(path.with_suffix(""))


def imports_of(path):
    """What a Python file may mean by its imports, wherever in it they stand: names of files."""
    names = []
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            names += [base] + [f"{base}.{alias.name}".lstrip(".") for alias in node.names]
    return [name.replace(".", "/") + ".py" for name in names if name]


def classes_of(path, siblings):
    """What a file of Java names: files. `siblings`: the names of all files of its folder."""
    text = _JAVA_SILENT.sub(" ", path.read_text())
    imported = [name.replace(".", "/") + ".java" for name in _JAVA_IMPORT.findall(text)]
    words = set(re.findall(r"\w+", text)) - {path.stem}
    return imported + [name for name in siblings if name.endswith(".java") and name.removesuffix(".java") in words]


class Finder:
    """Which file an include means. Targets have include folders of their own: what is neither beside
    the file nor named from the root is the file whose path ends so, the nearest of several."""

    def __init__(self, paths):
        self._paths = set(paths)
        self._by_name = collections.defaultdict(list)
        for path in paths:
            self._by_name[path.name].append(path)

    def siblings(self, path):
        return [other.name for other in self._paths if other.parent == path.parent]

    def find(self, includer, text):
        for path in (pathlib.Path(os.path.normpath(includer.parent / text)), pathlib.Path(text)):
            if path in self._paths:
                return path
        ending = pathlib.Path(text).parts
        return max((path for path in self._by_name[ending[-1]] if path.parts[-len(ending):] == ending),
                   key=lambda path: len(os.path.commonprefix([str(path), str(includer)])), default=None)


def trouble_between(includer, included):
    """What is wrong with the include as far as folders go, or None."""
    if _TEST.search(str(includer)):
        return None
    here, there = str(includer.parent), str(included.parent)
    if _TEST.search(str(included)) and there != _LENT:
        return "only tests may"
    if here == there:
        return None
    for folder in (here, there):
        if folder not in _LEVEL:
            return f"{folder} has no level yet: tools/lint/circles.py"
    return None if _LEVEL[there] < _LEVEL[here] else f"{there} is not below {here}"


def circle_in(needs):
    """Files of one circle in their order, or None."""
    done, way = set(), {}  # way: an ordered set

    def walk(unit):
        way[unit] = True
        for other in sorted(needs[unit] - done):
            if other in way:
                units = list(way)
                return units[units.index(other):]
            found = walk(other)
            if found:
                return found
        del way[unit]
        done.add(unit)
        return None

    for unit in sorted(needs):
        found = None if unit in done else walk(unit)
        if found:
            return found
    return None


def main():
    paths = [pathlib.Path(name) for name in sys.argv[1:]]
    finder = Finder(paths)
    needs = {unit_of(path): set() for path in paths}
    wrong = []
    for path in paths:
        if path.suffix in (".java", ".py"):
            for text in imports_of(path) if path.suffix == ".py" else classes_of(path, finder.siblings(path)):
                imported = finder.find(path, text)
                if imported is not None:
                    needs[unit_of(path)].add(unit_of(imported))
            continue
        for text in _INCLUDE.findall(path.read_text()):
            included = finder.find(path, text)
            if included is None:
                continue
            if unit_of(included) != unit_of(path):
                needs[unit_of(path)].add(unit_of(included))
            trouble = trouble_between(path, included)
            if trouble:
                wrong.append(f'{path} includes "{text}": {trouble}')
    while circle := circle_in(needs):
        wrong.append("circle: " + " -> ".join([*circle, circle[0]]))
        needs[circle[-1]].discard(circle[0])
    print("\n".join(wrong), end="\n" if wrong else "")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
