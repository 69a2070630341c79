# SPDX-License-Identifier: BSD-2-Clause
"""The heads of SystemVerilog modules, as the RTL here is written."""

import re
from dataclasses import dataclass


@dataclass
class Head:
    name: str
    imports: str  # between the name and the lists
    parameters: str  # what stands in #( ), or nothing
    ports: list[str]


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", "", re.sub(r"//[^\n]*", "", text), flags=re.S)


def _list(text: str, begin: int) -> tuple[str, int]:
    """What stands in the parentheses that open at `begin`, and where they have closed."""
    depth = 0
    for at in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return text[begin + 1:at], at + 1
    raise ValueError(f"a parenthesis is not closed: {text[begin:begin + 40]}")


def _items(text: str) -> list[str]:
    """The parts between commas that stand in no brackets."""
    items, depth = [""], 0
    for letter in text:
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            items.append("")
        else:
            items[-1] += letter
    return [item.strip() for item in items if item.strip()]


def heads_of(text: str) -> list[Head]:
    """All modules of a file, in order."""
    text = without_comments(text)
    heads = []
    for begin in re.finditer(r"^\s*module\s+(\w+)\b((?:\s*import\b[^;]*;)*)\s*", text, re.M):
        at, parameters, ports = begin.end(), "", ""
        if text[at:at + 1] == "#":
            parameters, at = _list(text, text.index("(", at))
            at += len(text[at:]) - len(text[at:].lstrip())
        if text[at:at + 1] == "(":
            ports, at = _list(text, at)
        heads.append(Head(begin[1], begin[2].strip(), parameters, _items(ports)))
    return heads
