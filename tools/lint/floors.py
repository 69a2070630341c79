#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The floors of the kernel modules: a file uses only what those define that kmod/Kbuild names before it in its
module; and of another module only what its public header has, which modpost checks.

    tools/lint/floors.py [FOLDER]    default: kmod
"""

import pathlib
import re
import sys

# A function or variable that other files may use: it begins a line, and is no "static" one.
_DEFINED = re.compile(r"^(?!static\b|typedef\b|#|\s|EXRNIC_|MODULE_|DEFINE_|module_)[\w\s*]*?\b(exrnic_\w+)(?:\[\])?\s*"
                      r"(?:\((?:[^()]|\([^()]*\))*\)\n\{|= )", re.MULTILINE)
_COMMENTS = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\])*\"", re.DOTALL)


def modules(kbuild):
    """For each module its source files, from below."""
    text = kbuild.replace("\\\n", " ")
    return {name: [path.replace(".o", ".c") for path in files.split()]
            for name, files in re.findall(r"^(\w+)-y := (.*)$", text, re.MULTILINE)}


def faults(folder, files):
    """What uses something of a floor above it."""
    texts = {name: _COMMENTS.sub("", (folder / name).read_text()) for name in files}
    floor_of = {symbol: floor for floor, name in enumerate(files)
                for symbol in _DEFINED.findall(texts[name])}
    for floor, name in enumerate(files):
        for symbol in sorted(set(re.findall(r"\bexrnic_\w+", texts[name]))):
            above = floor_of.get(symbol, floor)
            if above > floor:
                yield f"{folder / name}: uses {symbol} of {files[above]}, which Kbuild names behind it"


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "kmod")
    found = [fault for files in modules((folder / "Kbuild").read_text()).values()
             for fault in faults(folder, files)]
    print("\n".join(found), end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
