#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Draws who has worked in a run, and who has waited, from what exrnic-sim --waiting FILE writes.

    draw_waiting.py FILE OUTPUT

OUTPUT is a PNG or an SVG, by its suffix. A row for each rank shows what it did over the run; the bars are the nodes and
switches that took most of the time. A rank that works while others wait is the one they wait for.
"""

import argparse
import json
import pathlib
import sys

KINDS = {"work": "#1d5b9e", "exchange": "#c8553d", "agreement": "#e9a15b", "rest": "#e4e7eb"}
_INK, _FAINT = "#1f2933", "#7b8794"
_MOST_NAMED = 12


def shares(part):
    """{kind: what of each bin it took, 0 to 1}, and the bins' begins, in seconds."""
    bins = part["bins"]
    sums = [sum(of_bin) or 1 for of_bin in zip(*bins.values())]
    return {kind: [took / whole for took, whole in zip(bins[kind], sums)] for kind in KINDS}, \
        [index * part["bin_s"] for index in range(len(sums))]


def busiest(parts):
    """[(name, seconds)], the most first."""
    worked = [item for part in parts for item in part["worked_s"].items()]
    return sorted(worked, key=lambda item: -item[1])[:_MOST_NAMED]


def checked(parts):
    """What a run has written, or a ValueError."""
    try:
        for part in parts:
            for row in (part["total_s"], part["bins"]):
                if set(row) != set(KINDS):
                    raise ValueError(f"rank {part['rank']} says nothing of {', '.join(set(KINDS) - set(row))}")
            if not part["bins"]["work"]:
                raise ValueError(f"rank {part['rank']} has done nothing")
            float(part["bin_s"]), part["nodes"], part["switches"], part["worked_s"].items()
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"it lacks {error}") from None
    if not parts:
        raise ValueError("no rank is in it")
    return parts


def draw_rank(axes, part):
    rows, begins = shares(part)
    axes.stackplot([*begins, len(begins) * part["bin_s"]], [[*row, row[-1]] for row in rows.values()], step="post",
                   colors=list(KINDS.values()), labels=list(KINDS), linewidth=0)
    axes.set_ylim(0, 1)
    axes.margins(x=0)
    axes.set_yticks([])
    axes.set_ylabel(f"rank {part['rank']}", rotation=0, ha="right", va="center")
    total = sum(part["total_s"].values()) or 1
    axes.set_title(f"{part['nodes']} nodes, {part['switches']} switches; worked "
                   f"{100 * part['total_s']['work'] / total:.0f} % of the time",
                   loc="right", fontsize=8, color=_FAINT, pad=2)


def draw_busiest(axes, parts):
    worked = busiest(parts)
    axes.barh([name for name, _ in reversed(worked)], [seconds for _, seconds in reversed(worked)], color=KINDS["work"])
    axes.set_xlabel("seconds of work")


def draw(parts, output):
    import matplotlib  # only who draws needs it

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 9, "text.color": _INK, "svg.fonttype": "path", "axes.spines.top": False,
                         "axes.spines.right": False})
    named = any(part["worked_s"] for part in parts)
    heights = [1] * len(parts) + ([3] if named else [])
    figure, axes = plt.subplots(len(heights), 1, figsize=(9, 0.9 * sum(heights) + 0.8), squeeze=False, layout="constrained",
                                gridspec_kw={"height_ratios": heights})
    for row, part in zip(axes[:, 0], parts):
        draw_rank(row, part)
    axes[len(parts) - 1, 0].set_xlabel("seconds of the run")
    axes[0, 0].legend(loc="lower left", bbox_to_anchor=(0, 1), ncol=len(KINDS), frameon=False, borderaxespad=0)
    if named:
        draw_busiest(axes[-1, 0], parts)
    figure.savefig(output, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    arguments = parser.parse_args()
    try:
        draw(checked(json.loads(arguments.file.read_text())), arguments.output)
    except (OSError, ValueError) as error:
        print(f"{arguments.file}: {error}; exrnic-sim --waiting writes such a file", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
