#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A module of the RTL has fewer than 45 ports: what belongs together is an interface. ports.py FILE.sv...

The tops of the models are the pins of a chip, and free.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "hwgen"))
from module_head import heads_of

MOST = 44
TOPS = {"exrnic_core", "exrnic_peb", "sampled_core", "efe_loop"}


def ports_of(text: str) -> dict[str, int]:
    """The modules of a file, and how many ports each has."""
    return {head.name: len(head.ports) for head in heads_of(text)}


def complaints(count: dict[str, int]) -> list[str]:
    return [f"{name} has {ports} ports, and {MOST} is the most: make an interface of what belongs together"
            for name, ports in sorted(count.items()) if ports > MOST and name not in TOPS]


def main(files: list[str]) -> int:
    count = {}
    for file in files:
        count |= ports_of(pathlib.Path(file).read_text())
    if not count:
        print("ports.py: no module in these files")
        return 1
    found = complaints(count)
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
