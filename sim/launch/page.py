#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""One page of HTML for a run: its network, what did not arrive and why, counters, the slowest work requests.

    python3 sim/launch/page.py DIRECTORY    of what exrnic-sim has written there: stats.json, losses.json, trace.json

Only the first has to be there. The page, DIRECTORY/page.html, is one file that needs no network.
"""

import collections
import html
import json
import math
import pathlib
import sys

from errors import LaunchError

STATISTICS = "stats.json"
LOSSES = "losses.json"
TRACE = "trace.json"
PAGE = "page.html"
_MOST_LOSSES = 500
_MOST_WORKS = 20
_RADIUS = 170
_STYLE = """body{font:14px/1.4 sans-serif;margin:2em auto;max-width:70em;color:#222}
table{border-collapse:collapse;margin:.5em 0 1.5em}td,th{border:1px solid #ccc;padding:.15em .6em;text-align:left}
th{background:#eee}td.n{text-align:right;font-variant-numeric:tabular-nums}.lost{color:#b00020;font-weight:bold}
svg text{font:12px sans-serif;text-anchor:middle}"""


def write(directory):
    """Returns the page's path; raises LaunchError if the run has left no statistics."""
    try:
        counted = json.loads((directory / STATISTICS).read_text())
    except (OSError, ValueError) as error:
        raise LaunchError(f"{directory / STATISTICS} cannot be read: {error}") from None
    losses = _losses(directory / LOSSES)
    works = _works(directory / TRACE)
    page = directory / PAGE
    page.write_text("\n".join([
        f"<!DOCTYPE html><html lang=en><meta charset=utf-8><title>{_text(directory.name)}</title>"
        f"<style>{_STYLE}</style>",
        *_summary(directory.name, counted), *_network(counted, losses), *_lost(losses), *_slowest(works),
        *_counters(counted), "</html>"]) + "\n")
    return page


def _losses(path):
    """None: they were not written. A line that is cut short is left out."""
    if not path.is_file():
        return None
    losses = []
    for line in path.read_text(errors="replace").splitlines():
        try:
            losses.append(json.loads(line))
        except ValueError:
            break
    return losses


def _works(path):
    """Work requests of a trace: (us, name, node, args). None: there is none."""
    try:
        events = json.loads(path.read_text())["traceEvents"]
    except (OSError, ValueError, KeyError):
        return None
    begun, works = {}, []
    for event in events:
        if event.get("cat") != "work":
            continue
        if event["ph"] == "b":
            begun[event["id"]] = event
        elif event["ph"] == "e" and event["id"] in begun:
            start = begun.pop(event["id"])
            works.append((event["ts"] - start["ts"], start["ts"], start["name"], start["pid"], start.get("args", {})))
    return sorted(works, key=lambda work: work[0], reverse=True)


def _text(value):
    return html.escape(str(value))


def _table(heading, rows):
    def cell(value):
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        shown = f"{value:,.3f}" if isinstance(value, float) else f"{value:,}" if number else _text(value)
        return f"<td class=n>{shown}</td>" if number else f"<td>{shown}</td>"

    return ["<table><tr>" + "".join(f"<th>{_text(title)}</th>" for title in heading) + "</tr>",
            *("<tr>" + "".join(map(cell, row)) + "</tr>" for row in rows), "</table>"]


def _summary(name, counted):
    return [f"<h1>{_text(name)}</h1>", *_table(
        ["profile", "core", "topology", "nodes", "seed", "simulated, us", "wall, s"],
        [[counted["profile"], counted["core"], counted["topology"], len(counted["nodes"]), counted["seed"],
          counted["simulated_ns"] / 1e3, float(counted["wall_s"])]])]


def _network(counted, losses):
    """A circle: switches inside, nodes around them. A line that lost frames, or whose end did, is red."""
    lost = collections.Counter(loss["at"] for loss in losses or [])
    devices = [f"node{node['id']}" for node in counted["nodes"]]
    switches = list(counted["switches"])
    places = {**_around(devices, _RADIUS), **_around(switches, _RADIUS / 3 if len(switches) > 1 else 0)}
    size = 2 * _RADIUS + 80
    lines = ["<h2>Network</h2>", f'<svg width="{size}" height="{size}" viewBox="{-size / 2} {-size / 2} {size} {size}">']
    for ends in counted["links"]:
        (x1, y1), (x2, y2) = (places[end.partition(".")[0]] for end in ends)
        count = sum(lost[end] for end in ends)
        colour = "#b00020" if count else "#888"
        lines.append(f'<line x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}" stroke="{colour}" '
                     f'stroke-width="{3 if count else 1}"><title>{_text(" - ".join(ends))}: {count} lost</title></line>')
        if count:
            lines.append(f'<text x="{(x1 + x2) / 2:.0f}" y="{(y1 + y2) / 2 - 6:.0f}" fill="{colour}">{count} lost</text>')
    for name, (x, y) in places.items():
        colour = "#cfe3f5" if name in devices else "#e6e6e6"
        lines.append(f'<rect x="{x - 30:.0f}" y="{y - 11:.0f}" width="60" height="22" rx="4" fill="{colour}" '
                     f'stroke="#555"/><text x="{x:.0f}" y="{y + 4:.0f}">{_text(name)}</text>')
    return [*lines, "</svg>"]


def _around(names, radius):
    step = 2 * math.pi / max(1, len(names))
    return {name: (radius * math.sin(i * step), -radius * math.cos(i * step)) for i, name in enumerate(names)}


def _lost(losses):
    if losses is None:
        return ["<h2>Lost frames</h2><p>They were not written: exrnic-sim --losses does.</p>"]
    if not losses:
        return ["<h2>Lost frames</h2><p>Every frame has arrived, and none was refused.</p>"]
    sums = collections.Counter((loss["cause"], loss["at"]) for loss in losses)
    shown = losses[:_MOST_LOSSES]
    more = f"<p>The first {_MOST_LOSSES} of {len(losses):,}; exrnicctl why --all has all.</p>" if shown != losses else ""
    return [f"<h2>Lost frames: <span class=lost>{len(losses):,}</span></h2>",
            *_table(["cause", "at", "frames"], [[*what, count] for what, count in sums.most_common()]), more,
            *_table(["time, us", "at", "cause", "frame", "work request"],
                    [[loss["time_ns"] / 1e3, loss["at"], loss["cause"], _frame(loss), _work(loss)] for loss in shown])]


def _frame(loss):
    if "from" not in loss:
        return "none of EFE"
    number = f", seq {loss['seq']:08x}" if "seq" in loss else ""
    return f"{loss['opcode']} {loss['from']} → {loss['to']}{number}"


def _work(loss):
    work = loss.get("work")
    return f"{work['opcode']} of node {work['node']}, queue pair {work['qpn']}, slot {work['slot']}" if work else ""


def _slowest(works):
    title = "<h2>Slowest work requests</h2>"
    if works is None:
        return [title, "<p>They are in a trace: TRACE=1, or exrnic-sim --trace.</p>"]
    return [title, f'<p>Of {len(works):,}. The timeline is <a href="{TRACE}">{TRACE}</a>, for '
            '<a href="https://ui.perfetto.dev">Perfetto</a>: open it there.</p>',
            *_table(["took, us", "from, us", "work request", "node", "queue pair", "slot"],
                    [[float(took), float(since), name, node, args.get("qpn", ""), args.get("slot", "")]
                     for took, since, name, node, args in works[:_MOST_WORKS]])]


def _counters(counted):
    nodes = counted["nodes"]
    names = [name for name in (nodes[0]["counters"] if nodes else ()) if any(node["counters"][name] for node in nodes)]
    lines = ["<h2>Counters</h2>", *_table(["counter", *(f"node{node['id']}" for node in nodes)],
                                          [[name, *(node["counters"][name] for node in nodes)] for name in names])]
    ports = [(f"{name}.{port}", values) for name, each in counted["switches"].items()
             for port, values in each["ports"].items()]
    if ports:
        keys = [key for key, value in ports[0][1].items() if not isinstance(value, dict)]
        lines += ["<h2>Ports of switches</h2>",
                  *_table(["port", *keys], [[port, *(values[key] for key in keys)] for port, values in ports])]
    return lines


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        print(write(pathlib.Path(sys.argv[1]).absolute()))
    except LaunchError as error:
        print(error.report(), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
