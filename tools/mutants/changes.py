# SPDX-License-Identifier: BSD-2-Clause
"""Small changes to a source file, each of which makes it another program: what a mutant is.

SystemVerilog, C and C++ are looked at line by line. Comments, strings, declarations of types and parameters, and what is asserted
stay as they are. A change may make no difference, or not compile: who runs mutants finds out.
"""

import dataclasses
import pathlib
import re


@dataclasses.dataclass(frozen=True)
class Change:
    path: str  # from the root of the tree
    line: int  # from 1 on
    before: str  # the line
    after: str
    kind: str

    @property
    def what(self):
        return f"{self.before.strip()}  ->  {self.after.strip() or '(nothing)'}"

    @property
    def wherever(self):
        """The same in every version of the file that has such a line."""
        return f"{self.path}: {self.what}"

    def __str__(self):
        return f"{self.path}:{self.line}: {self.kind}: {self.what}"


_OPERATORS = (  # both ways
    ("==", "!="), ("&&", "||"), (" + ", " - "), (" & ", " | "), (" << ", " >> "))
_RELATIONS = ((" < ", " >= "), (" > ", " <= "))
_VERILOG_CONSTANTS = (("1'b0", "1'b1"), ("'0", "'1"))
_C_CONSTANTS = (("true", "false"),)
_NOT_LOOKED_AT = re.compile(
    r"^\s*(`|#|//|import\b|export\b|package\b|module\b|endmodule|typedef\b|localparam\b|parameter\b|using\b|namespace\b|assert\b|static_assert"
    r"|input\b|output\b|inout\b|struct\b|class\b|enum\b|template\b|case\b|default\b|public:|private:|/?\*|REQUIRE|CHECK)")
_NUMBER = re.compile(r"(?<![\w'.\[:])\d+(?![\w'.])")
_NEGATION = re.compile(r"!(?=[A-Za-z_(])")
_CONDITION = re.compile(r"\bif \(")
_ASSIGNMENT = re.compile(r"^\s*[\w.\[\]>$\-]+ (<=|=|\+=|-=|\|=|&=) [^;=][^;]*;\s*$")


def _code_of(text):
    """The text with comments, strings, what is asserted and what is there for that blanked, position by position."""
    def blank(part):
        return re.sub(r"[^\n]", " ", part)

    code = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', lambda match: blank(match.group()), text, flags=re.DOTALL)
    code = re.sub(r"`ifdef EXRNIC_ASSERT\b.*?`(?:else|endif)\b", lambda match: blank(match.group()), code, flags=re.DOTALL)
    for match in re.finditer(r"`EXRNIC_\w+\(", code):
        end = _closing(code, match.end() - 1) + 1
        code = code[:match.start()] + blank(code[match.start():end]) + code[end:]
    return code


def _swapped(line, code, one, other):
    start = 0
    while (at := code.find(one, start)) >= 0:
        start = at + len(one)
        yield line[:at] + other + line[at + len(one):]


def _closing(code, start):
    """Of the parenthesis that opens at `start`; -1: not there."""
    depth = 0
    for at in range(start, len(code)):
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        if depth == 0:
            return at
    return -1


def _of_line(line, code, verilog):
    pairs = [*_OPERATORS, *(_VERILOG_CONSTANTS if verilog else _C_CONSTANTS)]
    for one, other in pairs:
        for first, second in ((one, other), (other, one)):
            kind = "constant" if one in ("1'b0", "'0", "true") else "operator"
            yield from ((kind, changed) for changed in _swapped(line, code, first, second))
    for one, other in _RELATIONS:
        yield from (("operator", changed) for changed in _swapped(line, code, one, other))
        if not verilog:  # there " <= " is an assignment as well
            yield from (("operator", changed) for changed in _swapped(line, code, other, one))
    for match in _NEGATION.finditer(code):
        yield "negation", line[:match.start()] + line[match.end():]
    for match in _NUMBER.finditer(code):
        more = int(match.group()) + 1
        if not verilog and code.strip() == "return 1;":  # of C: true, as any other number
            more = 0
        yield "number", line[:match.start()] + str(more) + line[match.end():]
    for match in _CONDITION.finditer(code):
        end = _closing(code, match.end() - 1)
        if end > 0:
            yield "condition", f"{line[:match.end()]}!({line[match.end():end]}){line[end:]}"
    if _ASSIGNMENT.match(code):
        yield "assignment dropped", ""


def of_file(root, path):
    """All changes of a file, in its order."""
    text = (pathlib.Path(root) / path).read_text()
    lines, codes = text.split("\n"), _code_of(text).split("\n")
    for number, (line, code) in enumerate(zip(lines, codes), 1):
        if not code.strip() or _NOT_LOOKED_AT.match(code):
            continue
        for kind, after in _of_line(line, code, path.endswith((".sv", ".svh"))):
            if after != line:
                yield Change(path, number, line, after, kind)


def apply(root, change):
    """Makes the change; returns what undoes it."""
    path = pathlib.Path(root) / change.path
    text = path.read_text()
    lines = text.split("\n")
    if lines[change.line - 1] != change.before:
        raise ValueError(f"{change.path}:{change.line} is not {change.before!r}")
    lines[change.line - 1] = change.after
    path.write_text("\n".join(lines))
    return lambda: path.write_text(text)
