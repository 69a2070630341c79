#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Comments and READMEs name only functions that exist: every exrnic_...() and vl_...() of theirs is
declared, defined or called somewhere. Takes the files to look at; prints file, line and name."""

import pathlib
import re
import sys

_CODE = {".c", ".h", ".cc", ".hpp", ".sv"}
_NAMED = re.compile(r"\b((?:exrnic|vl)_\w+)\(\)")
_USED = re.compile(r"\b((?:exrnic|vl)_\w+)\s*\(")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def without_comments(text):
    return _COMMENT.sub(" ", text)


def only_comments(text):
    """The same lines, with nothing but comments."""
    kept, at = [], 0
    for comment in _COMMENT.finditer(text):
        kept += ["\n" * text.count("\n", at, comment.start()), comment.group()]
        at = comment.end()
    return "".join(kept)


def main():
    texts = {path: path.read_text() for path in map(pathlib.Path, sys.argv[1:])}
    known = set()
    for path, text in texts.items():
        if path.suffix in _CODE:
            known.update(_USED.findall(without_comments(text)))
    wrong = 0
    for path, text in texts.items():
        prose = only_comments(text) if path.suffix in _CODE else text
        for number, line in enumerate(prose.splitlines(), 1):
            for name in _NAMED.findall(line):
                if name not in known:
                    print(f"{path}:{number}: {name}() does not exist")
                    wrong = 1
    sys.exit(wrong)


if __name__ == "__main__":
    main()
