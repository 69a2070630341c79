# SPDX-License-Identifier: BSD-2-Clause
"""The papers' figures (papers.yaml), filled with the rows of results.json.

Nothing here draws: `load` gives a list of Figure, whose points are numbers or None for what was not
measured. Errors in the file raise PapersError with the figure's id.
"""
import dataclasses
import pathlib

import yaml

PAPERS = pathlib.Path(__file__).with_name("papers.yaml")


class PapersError(Exception):
    """What is wrong in papers.yaml, and where."""


@dataclasses.dataclass
class Bar:
    """One item along the axis. `ours`: label of the series to value, None if missing."""

    label: str
    paper: float | None
    ours: dict
    limit: float | None


@dataclasses.dataclass
class Line:
    """`ours` and `limit`: sorted (x, value) pairs, empty if missing; `paper`: (x or None, y, label)."""

    label: str
    ours: list
    limit: list
    paper: list


@dataclasses.dataclass
class Row:
    """One line of a figure's table. None in `ours`: missing; in the others: there is none."""

    what: str
    paper: float | None
    ours: float | None
    limit: float | None


@dataclasses.dataclass
class Figure:
    id: str
    paper: dict
    title: str
    method: str
    why: str
    unit: str
    log: bool
    bars: list
    lines: list
    x_title: str = ""

    def missing(self):
        """True if nothing of ours was measured."""
        return not any(value is not None for bar in self.bars for value in bar.ours.values()) \
            and not any(line.ours for line in self.lines)

    def rows(self):
        """The table: every value of the paper, with ours and the limit at the same place."""
        out = []
        for bar in self.bars:
            for label, value in bar.ours.items() or [("", None)]:
                what = f"{bar.label}, {label}" if label else bar.label
                out.append(Row(what, bar.paper, value, bar.limit))
        for line in self.lines:
            out += [_row_of(line, *point) for point in line.paper]
        return out


def size_text(size):
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def _row_of(line, x, y, label):
    if x is None:
        best = max(line.ours, key=lambda point: point[1], default=(None, None))
        where = f", {label}" + (f" (ours: {size_text(best[0])})" if line.ours else "")
        return Row(line.label + where, y, best[1], dict(line.limit).get(best[0]))
    return Row(f"{line.label}, {size_text(x)}", y, dict(line.ours).get(x), dict(line.limit).get(x))


def _matches(row, selector):
    return all(row.get(key) == value for key, value in selector.items())


def _find(rows, selector):
    """Value of the row that `selector` names; None without one."""
    if selector is None:
        return None
    if "value" in selector:
        return selector["value"]
    found = [row["value"] for row in rows if _matches(row, selector)]
    return found[-1] if found else None


def _sweep(rows, selector, key):
    points = {row[key]: row["value"] for row in rows if selector and _matches(row, selector)
              and key in row}
    return sorted(points.items())


def _bars(rows, figure):
    return [Bar(item["label"], item.get("paper"),
                {label: _find(rows, selector) for label, selector in item.get("ours", {}).items()},
                _find(rows, item.get("limit")))
            for item in figure["items"]]


def _lines(rows, figure):
    key = figure["x"]["key"]
    return [Line(series["label"], _sweep(rows, series.get("ours"), key),
                 _sweep(rows, series.get("limit"), key),
                 [(p.get("x"), p["y"], p.get("label", "")) for p in series.get("paper", [])])
            for series in figure["series"]]


def _figure(rows, papers, entry):
    if entry["kind"] not in ("bars", "lines"):
        raise PapersError(f"figure {entry['id']}: kind is bars or lines, not {entry['kind']}")
    bars = entry["kind"] == "bars"
    return Figure(
        id=entry["id"], paper=papers[entry["paper"]], title=entry["title"], method=entry["method"],
        why=entry["why"], unit=entry["unit"], log=entry.get("scale") == "log",
        bars=_bars(rows, entry) if bars else [], lines=[] if bars else _lines(rows, entry),
        x_title="" if bars else entry["x"]["title"])


def load(rows, path=PAPERS):
    """List of Figure, in the order of the file."""
    document = yaml.safe_load(path.read_text())
    figures = []
    for entry in document["figures"]:
        try:
            figures.append(_figure(rows, document["papers"], entry))
        except (KeyError, TypeError) as error:
            raise PapersError(f"figure {entry.get('id', '?')}: no key {error}") from None
    return figures
