#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Draws the life of one work request from a trace, as PNG or SVG by the output's suffix.

    draw.py TRACE OUTPUT [--work N]

N: which arrow of the trace (default: the last of those with the most different stages, and of
these the fewest points: a message of one frame). Perfetto shows the same, and everything else in
the file.
"""
import argparse
import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402 (the backend has to be chosen before)

INK, FAINT, GRID = "#1f2933", "#7b8794", "#e4e7eb"
NODES = ("#1d5b9e", "#2a9d8f", "#7a5195", "#c8553d")


def arrows(events):
    """{id: points of it, in order}."""
    found = {}
    for event in events:
        if event["ph"] in "stf":
            found.setdefault(event["id"], []).append(event)
    return found


def names_at(events):
    """{(pid, tid, ts): names of the slices that begin there}."""
    found = {}
    for event in events:
        if event["ph"] == "X":
            found.setdefault((event["pid"], event["tid"], event["ts"]), []).append(event["name"])
    return found


def most_telling(events):
    """Id of the arrow that is drawn if nobody says which."""
    names = names_at(events)

    def telling(arrow):
        id_, points = arrow
        stages = {(p["pid"], name) for p in points for name in names[p["pid"], p["tid"], p["ts"]]}
        return len(stages), -len(points), id_

    return max(arrows(events).items(), key=telling)[0]


def track_names(events):
    return {(e["pid"], e["tid"]): e["args"]["name"] for e in events
            if e["ph"] == "M" and e["name"] == "thread_name"}


def life_of(events, work):
    """[(node, track name, us, slice name)] and the name of the work request."""
    points = arrows(events)[work]
    slices, tracks = names_at(events), track_names(events)
    title = next((e["name"] for e in events if e["ph"] == "b" and e["cat"] == "work"
                  and e["id"] == work), "work request")
    steps = []
    for point in points:
        place = (point["pid"], point["tid"], point["ts"])
        steps.append((point["pid"], tracks[place[:2]], point["ts"], ", ".join(dict.fromkeys(slices[place]))))
    return steps, title


def draw(steps, title, output):
    start = steps[0][2]
    rows = sorted({(node, name) for node, name, _, _ in steps},
                  key=lambda row: (row[0], [s[1] for s in steps if s[0] == row[0]].index(row[1])))
    at = {row: i for i, row in enumerate(rows)}
    canvas, axes = plt.subplots(figsize=(11, 0.6 * len(rows) + 1.6), constrained_layout=True)
    for i, (node, _) in enumerate(rows):
        axes.axhspan(i - 0.5, i + 0.5, color=NODES[node % len(NODES)], alpha=0.05, linewidth=0)
    xs = [(us - start) * 1000 for _, _, us, _ in steps]
    ys = [at[step[:2]] for step in steps]
    for i in range(len(steps) - 1):
        axes.annotate("", (xs[i + 1], ys[i + 1]), (xs[i], ys[i]),
                      arrowprops={"arrowstyle": "-|>", "color": FAINT, "linewidth": 0.9,
                                  "shrinkA": 3, "shrinkB": 3})
    seen = {}
    for (node, _, _, name), x, y in zip(steps, xs, ys):
        axes.plot([x], [y], marker="s", markersize=6, color=NODES[node % len(NODES)])
        offset = (6, -6, 15, -15)[seen.get(y, 0) % 4]  # neighbours side by side do not overlap
        seen[y] = seen.get(y, 0) + 1
        axes.annotate(f"{name} {x:.0f}", (x, y), xytext=(2, offset), fontsize=7.5, color=INK,
                      textcoords="offset points", va="bottom" if offset > 0 else "top")
    axes.set_yticks(range(len(rows)), [f"node {node}  {name}" for node, name in rows], fontsize=9)
    axes.set_ylim(len(rows) - 0.4, -0.7)
    axes.margins(x=0.07)
    axes.set_xlabel("simulated time since its doorbell, ns", color=INK)
    axes.set_title(f"{title}: from the store that posts it to its completion", loc="left",
                   fontsize=11, color=INK)
    axes.grid(axis="x", color=GRID)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0, colors=INK)
    canvas.savefig(output, dpi=140)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--work", type=int)
    options = parser.parse_args()
    try:
        events = json.loads(options.trace.read_text())["traceEvents"]
        all_arrows = arrows(events)
        if not all_arrows:
            sys.exit(f"{options.trace}: no work request has ended in it")
        work = options.work or most_telling(events)
        if work not in all_arrows:
            sys.exit(f"--work {work}: this trace has 1 to {max(all_arrows)}")
        draw(*life_of(events, work), options.output)
    except OSError as error:
        sys.exit(f"{error.filename}: {error.strerror}")
    except (ValueError, KeyError) as error:
        sys.exit(f"{options.trace}: no trace of exrnic-sim: {error}")


if __name__ == "__main__":
    main()
