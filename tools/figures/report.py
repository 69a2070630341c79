# SPDX-License-Identifier: BSD-2-Clause
"""The report: one HTML file with everything in it."""
import html

from papers import size_text

_CSS = """
:root { --ink: #1f2933; --faint: #616e7c; --line: #e4e7eb; --paper: #c8553d; --ours: #1d5b9e; }
* { box-sizing: border-box; }
body { margin: 0; background: #f7f8fa; color: var(--ink);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 920px; margin: 0 auto; padding: 40px 24px 80px; }
h1 { font-size: 27px; margin: 0 0 6px; letter-spacing: -.01em; }
h2 { font-size: 20px; margin: 52px 0 2px; }
h3 { font-size: 16px; margin: 0; }
p { margin: 6px 0; }
.faint { color: var(--faint); font-size: 13.5px; }
figure { margin: 18px 0; padding: 20px 22px 16px; background: #fff; border: 1px solid var(--line);
  border-radius: 8px; }
figure svg { width: 100%; height: auto; display: block; margin: 10px 0 4px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; }
th { text-align: left; font-weight: 600; color: var(--faint); }
th, td { padding: 5px 10px 5px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th.n, td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.paper { color: var(--paper); }
td.ours { color: var(--ours); font-weight: 600; }
td.missing { color: var(--faint); font-style: italic; font-weight: 400; }
.glance { margin: 26px 0 0; padding: 16px 22px; background: #fff; border: 1px solid var(--line);
  border-radius: 8px; }
figcaption { margin-top: 10px; }
details { margin-top: 8px; font-size: 13.5px; color: var(--faint); }
a { color: var(--ours); text-decoration: none; }
code { font-size: 13px; }
"""

_HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>exrnic: the papers' figures</title><style>{css}</style></head><body><main>
<h1>The papers' figures, and ours</h1>
<p>What the systems that exrnic descends from measured, beside what exrnic reaches in profiles of
their links. Simulated time unless it says wall clock; a limit is computed from the profile.</p>
<p class="faint">{facts}</p>
"""


def number(value, missing="missing"):
    if value is None:
        return missing
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _cell(value, kind, missing="missing"):
    kind = "missing" if value is None and missing == "missing" else kind
    return f'<td class="n {kind}">{number(value, missing)}</td>'


def _row(row, unit, link=None):
    what = html.escape(row.what)
    if link:
        what = f'<a href="#{link}">{what}</a>'
    factor = "" if not row.paper or row.ours is None else f"{row.ours / row.paper:.3g} x"
    return (f"<tr><td>{what}</td>{_cell(row.paper, 'paper', '')}{_cell(row.ours, 'ours')}"
            f"{_cell(row.limit, '', '')}<td class=\"n\">{factor}</td>"
            f"<td>{html.escape(unit)}</td></tr>")


_COLUMNS = ('<thead><tr><th></th><th class="n">paper</th><th class="n">ours</th><th class="n">limit'
            '</th><th class="n">ours / paper</th><th>unit</th></tr></thead>')


def _glance(figures):
    rows = []
    for figure in figures:
        for row in figure.rows():
            row.what = f"{figure.title}: {row.what}"
            rows.append(_row(row, figure.unit, figure.id))
    return (f'<div class="glance scroll"><h3>At a glance</h3><table>{_COLUMNS}'
            f'<tbody>{"".join(rows)}</tbody></table></div>')


def _points(figure):
    """All that was measured for a figure over sizes."""
    parts = []
    for line in figure.lines:
        if not line.ours:
            continue
        limits = dict(line.limit)
        rows = "".join(f'<tr><td>{size_text(x)}</td>{_cell(y, "ours")}'
                       f'{_cell(limits.get(x), "", "")}</tr>' for x, y in line.ours)
        parts.append(f'<table><thead><tr><th>{html.escape(line.label)}</th><th class="n">ours</th>'
                     f'<th class="n">limit</th></tr></thead><tbody>{rows}</tbody></table>')
    return f"<details><summary>All sizes</summary>{''.join(parts)}</details>" if parts else ""


def _figure(figure, svg):
    rows = "".join(_row(row, figure.unit) for row in figure.rows())
    missing = "<p class=\"faint\"><b>Missing:</b> nothing of ours was measured.</p>" \
        if figure.missing() else ""
    return (f'<figure id="{figure.id}"><h3>{html.escape(figure.title)}</h3>'
            f'<div class="faint">{html.escape(figure.method)}</div>{missing}{svg}'
            f'<div class="scroll"><table>{_COLUMNS}<tbody>{rows}</tbody></table></div>'
            f'<figcaption class="faint"><b>Why they differ.</b> {html.escape(figure.why)}'
            f"</figcaption>{_points(figure)}</figure>")


def page(figures, svgs, facts):
    """`svgs`: text of each figure, in the same order; `facts`: lines on where this comes from."""
    out = [_HEAD.format(css=_CSS, facts="<br>".join(html.escape(fact) for fact in facts)),
           _glance(figures)]
    paper = None
    for figure, svg in zip(figures, svgs):
        if figure.paper is not paper:
            paper = figure.paper
            out.append(f'<h2>{html.escape(paper["title"])}</h2>'
                       f'<p class="faint">{html.escape(paper["source"])}. Measured there on: '
                       f'{html.escape(paper["system"])}.</p>')
        out.append(_figure(figure, svg))
    out.append("</main></body></html>\n")
    return "".join(out)
