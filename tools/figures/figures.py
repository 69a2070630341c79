#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The papers' figures beside ours: `make figures`.

Runs the experiments, and writes into the output folder results.json, report.html (one file with
everything in it) and a PNG of each figure. With --results, draws from a results.json that is
there, and runs nothing. Exit status 1 if something cannot be read or written.
"""
import argparse
import datetime
import json
import pathlib
import subprocess
import sys

import experiments
import papers
import plot
import report

_CLONE = pathlib.Path(__file__).resolve().parents[2]


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=_CLONE / "build/figures",
                        help="folder (default: %(default)s)")
    parser.add_argument("--overview", type=pathlib.Path,
                        help="write this PNG too: all figures of which something was measured")
    parser.add_argument("--results", type=pathlib.Path, help="draw from these; run nothing")
    return parser.parse_args()


def commit():
    """Of the clone, as git says; nothing outside of git."""
    said = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=_CLONE, text=True,
                          capture_output=True, check=False)
    return said.stdout.strip() or "unknown"


def facts(rows, measured):
    clocks = [sum(row.get("clock") == clock for row in rows) for clock in ("simulated", "wall")]
    return [f"{len(rows)} rows of results.json: {clocks[0]} in simulated time, {clocks[1]} in wall "
            f"clock. Measured {measured:%Y-%m-%d %H:%M} UTC, drawn at commit {commit()}.",
            "Made by: make figures"]


def rows_for(options):
    """Rows, and when their file was written."""
    path = options.results
    if path is None:
        path = options.output / "results.json"
        rows = experiments.run(options.output)
        path.write_text(json.dumps(rows, indent=1) + "\n")
    try:
        rows = json.loads(path.read_text())
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: no JSON: {error}") from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError(f"{path}: not a list of rows, as make bench and make figures write it")
    return rows, datetime.datetime.fromtimestamp(path.stat().st_mtime, datetime.timezone.utc)


def draw(options):
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "report.html").write_text("")  # before hours of work: can this be written?
    rows, measured = rows_for(options)
    figures = papers.load(rows)
    svgs = [plot.render(figure, options.output / f"{figure.id}.png") for figure in figures]
    page = options.output / "report.html"
    page.write_text(report.page(figures, svgs, facts(rows, measured)))
    if options.overview:
        plot.overview([figure for figure in figures if not figure.missing()], options.overview)
    missing = [figure.id for figure in figures if figure.missing()]
    return f"figures: {page} ({len(figures)} figures" + \
        (f"; missing: {', '.join(missing)})" if missing else ")")


def main():
    options = parse_arguments()
    try:
        print(draw(options))
    except OSError as error:
        sys.exit(f"figures: {error.filename or options.output}: {error.strerror}")
    except (ValueError, papers.PapersError) as error:
        sys.exit(f"figures: {error}")


if __name__ == "__main__":
    main()
