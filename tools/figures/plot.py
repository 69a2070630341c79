# SPDX-License-Identifier: BSD-2-Clause
"""Draws a Figure of papers.py, as SVG text or into a PNG file."""
import io

import matplotlib

matplotlib.use("svg")

import matplotlib.pyplot as plt  # noqa: E402 (the backend has to be chosen before)
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter  # noqa: E402

from papers import size_text  # noqa: E402

INK, FAINT, GRID = "#1f2933", "#7b8794", "#e4e7eb"
PAPER, LIMIT = "#c8553d", "#9aa5b1"
OURS = "#1d5b9e"
# Where a bar was measured has one colour in all figures. What else there is, as lines of one figure, has none of these.
PLACES = {"core alone": OURS, "guest (synchronised time)": "#2a9d8f", "guests (synchronised time)": "#2a9d8f",
          "guest (wall clock)": "#7a5195"}
OTHERS = (OURS, "#b8860b", "#5f6c37", "#8d5a4a", "#a0a36b")
MISSING = "not measured"

STYLE = {
    "font.family": "DejaVu Sans", "font.size": 9, "text.color": INK, "axes.labelcolor": INK,
    "axes.edgecolor": FAINT, "axes.linewidth": 0.8, "xtick.color": FAINT, "ytick.color": FAINT,
    "xtick.labelcolor": INK, "ytick.labelcolor": INK, "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True, "grid.color": GRID,
    "grid.linewidth": 0.8, "legend.frameon": False, "legend.fontsize": 8.5,
    "svg.fonttype": "path", "figure.facecolor": "white", "savefig.facecolor": "white",
}


def number(value):
    """Three digits that count, whole numbers whole."""
    if value is None:
        return ""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _tick(value, _):
    """A tick of the y axis, short enough for its margin."""
    for step, letter in ((1e6, " M"), (1e4, " k")):
        if value >= step:
            return f"{value / (1e3 if letter == ' k' else 1e6):g}{letter}"
    return number(value)


def _draw_bars(axes, figure):
    labels = list(dict.fromkeys(label for bar in figure.bars for label in bar.ours))
    width = min(0.8 / (1 + len(labels)), 0.06 * (len(figure.bars) + 1))
    names = ["paper", *labels]
    colors = [PAPER, *(PLACES.get(label, OTHERS[i % len(OTHERS)]) for i, label in enumerate(labels))]
    values_seen = []
    for position, bar in enumerate(figure.bars):
        values = [bar.paper, *(bar.ours.get(label) for label in labels)]
        for i, value in enumerate(values):
            x = position + (i - (len(values) - 1) / 2) * width
            if value is None:
                wanted = i > 0 and names[i] in bar.ours
                if wanted:
                    axes.annotate(MISSING, (x, 0), xycoords=("data", "axes fraction"),
                                  xytext=(0, 4), textcoords="offset points", rotation=90,
                                  ha="center", va="bottom", fontsize=8, color=FAINT)
                continue
            values_seen.append(value)
            axes.bar(x, value, width * 0.86, color=colors[i])
            axes.annotate(number(value), (x, value), xytext=(0, 3), textcoords="offset points",
                          ha="center", fontsize=8.5, color=INK)
        if bar.limit is not None:
            values_seen.append(bar.limit)
            axes.hlines(bar.limit, position - 0.42, position + 0.42, color=INK, linewidth=1.1,
                        linestyles=(0, (4, 2)), zorder=3)
    handles = [plt.Rectangle((0, 0), 1, 1, color=c) for c in colors]
    if any(bar.limit is not None for bar in figure.bars):
        handles.append(plt.Line2D([], [], color=INK, linewidth=1.1, linestyle=(0, (4, 2))))
        names.append("computed limit")
    axes.set_xticks(range(len(figure.bars)), [bar.label for bar in figure.bars])
    axes.set_xlim(-0.6, len(figure.bars) - 0.4)
    axes.grid(False, axis="x")
    axes.tick_params(axis="x", length=0)
    if figure.log:
        axes.set_ylim(min(values_seen, default=1) / 4, max(values_seen, default=1) * 3)
    else:
        axes.set_ylim(0, max(values_seen, default=1) * 1.15)
    return handles, names


def _draw_lines(axes, figure):
    limits = set()
    for i, line in enumerate(figure.lines):
        color = OTHERS[i % len(OTHERS)]
        if line.limit and tuple(line.limit) not in limits:
            axes.plot(*zip(*line.limit), color=LIMIT, linewidth=1.4, linestyle=(0, (4, 2)),
                      label="computed limit", zorder=2)
            limits.add(tuple(line.limit))
        if line.ours:
            axes.plot(*zip(*line.ours), color=color, linewidth=1.8, marker="o", markersize=3.6,
                      label=f"{line.label}, ours", zorder=3)
        else:
            axes.plot([], [], color=color, linewidth=1.8, linestyle=":",
                      label=f"{line.label}, ours: {MISSING}")
        _draw_paper(axes, line, i)
    return axes.get_legend_handles_labels()


def _draw_paper(axes, line, i):
    label = f"{line.label}, paper"
    for x, y, what in line.paper:
        if x is None:
            axes.axhline(y, color=PAPER, linewidth=1.1, linestyle=(0, (1, 1.5)), zorder=2)
            axes.annotate(f"paper, {line.label} {what}: {number(y)}", (1, y),
                          xycoords=("axes fraction", "data"), xytext=(0, -3),
                          textcoords="offset points", ha="right", va="top", fontsize=8, color=PAPER)
            continue
        axes.plot([x], [y], linestyle="none", marker="Ds^"[i % 3], markersize=6.5, color=PAPER,
                  label=label, zorder=4)
        label = "_nolegend_"
        last = bool(line.ours) and x == line.ours[-1][0]
        axes.annotate(number(y), (x, y), xytext=(-7 if last else 7, -3), fontsize=8, color=PAPER,
                      textcoords="offset points", ha="right" if last else "left")


def _scale_x(axes, figure):
    xs = sorted({x for line in figure.lines for x, _ in line.ours + line.limit}
                | {x for line in figure.lines for x, _, _ in line.paper if x is not None})
    axes.set_xscale("log", base=2)
    if len(xs) < 2:
        xs = [64, *xs, 1 << 20]
    first, last = (xs[0].bit_length() - 1), (xs[-1].bit_length() - 1)
    step = max(1, round((last - first) / 8))
    axes.xaxis.set_major_locator(FixedLocator([2 ** k for k in range(first, last + 1, step)]))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: size_text(int(x))))
    axes.set_xlim(2 ** (first - 0.5), 2 ** (last + 0.5))
    axes.set_xlabel(figure.x_title)


def _draw(figure):
    canvas = plt.figure(figsize=(7.6, 4.0))
    _draw_into(canvas, figure)
    return canvas


def overview(figures, png):
    """One picture of several figures, two a row, each under its title."""
    rows = (len(figures) + 1) // 2
    with plt.rc_context(STYLE):
        whole = plt.figure(figsize=(15.2, 4.5 * rows))
        for part, figure in zip(whole.subfigures(rows, 2, squeeze=False).flat, figures):
            part.suptitle(f"{figure.paper['title']}: {figure.title}", x=0.075, y=0.985, ha="left",
                          fontsize=11)
            _draw_into(part, figure, top=0.9)
        whole.savefig(png, format="png", dpi=75)
        plt.close(whole)


def _draw_into(canvas, figure, top=0.995):
    axes = canvas.add_axes((0.085, 0.125, 0.89, 0.665 - (0.995 - top)))
    if figure.log:
        axes.set_yscale("log")
    if figure.bars:
        handles, names = _draw_bars(axes, figure)
    else:
        handles, names = _draw_lines(axes, figure)
        _scale_x(axes, figure)
        if not figure.log:
            axes.set_ylim(bottom=0)
            axes.margins(y=0.12)
    axes.yaxis.set_major_formatter(FuncFormatter(_tick))
    if figure.log:
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.annotate(figure.unit, (0, 1), xycoords="axes fraction", xytext=(-4, 8),
                  textcoords="offset points", ha="right", color=FAINT)
    canvas.legend(handles, names, loc="upper left", bbox_to_anchor=(0.075, top), ncols=3,
                  handlelength=1.6, columnspacing=1.8, borderaxespad=0)


def render(figure, png=None):
    """SVG text of the figure; also writes `png`, a path, if it is given."""
    with plt.rc_context({**STYLE, "svg.hashsalt": figure.id}):
        canvas = _draw(figure)
        text = io.StringIO()
        canvas.savefig(text, format="svg", metadata={"Date": None, "Title": figure.title})
        if png is not None:
            canvas.savefig(png, format="png", dpi=150)
        plt.close(canvas)
    svg = text.getvalue()
    return svg[svg.index("<svg"):]
