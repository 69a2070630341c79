#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs a command in a terminal, and draws what it prints, when it prints it, as an SVG that moves.

    tools/figures/terminal.py OUTPUT.svg COMMAND [RUN]

RUN is what is run in its place, for who has seen the rest of COMMAND before. It moves once, and then shows the end. Programs that know no animation show the end at once. A line that a program writes
anew ("\\r") is drawn as it was last. Exit status: 1 if the command fails; then nothing is written.
"""

import html
import os
import pathlib
import pty
import re
import subprocess
import sys
import time

_COLUMNS, _ROWS = 104, 24
_CHARACTER, _LINE, _MARGIN, _BAR = 7.8, 17, 14, 30
_SECONDS_PER_KEY = 0.06
_MOST_SECONDS = 1.5  # without anything new
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]")


def record(command):
    """Its lines, as (seconds, text); raises CalledProcessError."""
    ours, its = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(_COLUMNS), "LINES": str(_ROWS), "TERM": "dumb"}
    start = time.monotonic()
    with subprocess.Popen(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=its, stderr=its,
                          env=environment) as process:
        os.close(its)
        lines, rest = [], ""
        while True:
            try:
                read = os.read(ours, 65536)
            except OSError:  # Linux's end of a pseudo-terminal
                break
            rest += read.decode(errors="replace")
            *whole, rest = rest.split("\n")
            lines += [(time.monotonic() - start, line) for line in whole]
        os.close(ours)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command, "".join(f"{line}\n" for _, line in lines))
    return [(seconds, shown(line)) for seconds, line in lines + ([(time.monotonic() - start, rest)] if rest else [])]


def shown(line):
    """What a terminal shows of it at the end, cut to its width."""
    last = _ESCAPES.sub("", line).rstrip("\r").rpartition("\r")[2].expandtabs()
    return last if len(last) <= _COLUMNS else last[:_COLUMNS - 1] + "…"


def paced(lines):
    """The same without long waits, after the command has been typed: each at its time of the picture."""
    now, before, told = 0.0, 0.0, []
    for seconds, text in lines:
        now += min(seconds - before, _MOST_SECONDS)
        before = seconds
        told.append((now, text))
    return told


def svg(command, lines):
    """`lines` are those of paced(). Of more than fit, the last remain: the others move up, and out."""
    typed = len(command) * _SECONDS_PER_KEY + 0.4
    height = _BAR + _ROWS * _LINE + _MARGIN
    width = 2 * _MARGIN + _COLUMNS * _CHARACTER
    rows = [(0.0, None), *((typed + seconds, text) for seconds, text in lines)]
    out = max(0, len(rows) - _ROWS)
    scrolls = [(rows[_ROWS + i][0], (i + 1) * _LINE) for i in range(out)]
    end = rows[-1][0] or 1
    frames = "".join(f"{100 * seconds / end:.3f}%{{transform:translateY(-{up}px)}}" for seconds, up in scrolls)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}" '
        f'role="img" aria-label="{html.escape(command)}">',
        "<!-- SPDX-License-Identifier: BSD-2-Clause -->",
        "<style>text{font:13px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#d8dee9;white-space:pre}"
        ".p{fill:#a3be8c}.c{fill:#ffffff;font-weight:bold}.l{animation:appear 1ms backwards}"
        "@keyframes appear{from{opacity:0}to{opacity:1}}"
        f"#s{{transform:translateY(-{out * _LINE}px)" + (f";animation:scroll {end:.2f}s steps(1) backwards" if out else "") + "}"
        f"@keyframes scroll{{0%{{transform:translateY(0)}}{frames}}}"
        "@media(prefers-reduced-motion:reduce){.l,#s{animation:none}}</style>",
        '<rect width="100%" height="100%" rx="8" fill="#1f2430"/>',
        *(f'<circle cx="{18 + 18 * i}" cy="15" r="5" fill="{colour}"/>'
          for i, colour in enumerate(("#bf616a", "#ebcb8b", "#a3be8c"))),
        f'<svg y="{_BAR}" width="100%" height="{_ROWS * _LINE + _MARGIN / 2:.0f}"><g id="s">',
        f'<text class="p" x="{_MARGIN}" y="{_LINE - 4}">$</text>']
    for i, key in enumerate(command):
        if key != " ":
            parts.append(f'<text class="c l" x="{_MARGIN + (i + 2) * _CHARACTER:.1f}" y="{_LINE - 4}" '
                         f'style="animation-delay:{i * _SECONDS_PER_KEY:.2f}s">{html.escape(key)}</text>')
    for row, (seconds, text) in enumerate(rows[1:], 1):
        if text.strip():
            parts.append(f'<text class="l" x="{_MARGIN}" y="{(row + 1) * _LINE - 4}" textLength="{len(text) * _CHARACTER:.1f}" '
                         f'xml:space="preserve" style="animation-delay:{seconds:.2f}s">{html.escape(text)}</text>')
    return "\n".join([*parts, "</g></svg></svg>"]) + "\n"


def main():
    if len(sys.argv) not in (3, 4):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        lines = record(sys.argv[-1])
    except subprocess.CalledProcessError as error:
        print(f"{error.output}{error}", file=sys.stderr)
        return 1
    pathlib.Path(sys.argv[1]).write_text(svg(sys.argv[2], paced(lines)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
