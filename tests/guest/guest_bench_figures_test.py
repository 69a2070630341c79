#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""exrnic-bench measures in guests each figure that it promises, none senseless, and no system call on the data path.

    tests/guest/guest_bench_figures_test.py DIRECTORY    of a launch whose two guests printed the rows of
                                           exrnic-bench --max-size 2M --json, each behind "@exrnic "
"""

import json
import math
import pathlib
import sys

_MARK = "@exrnic {"
_PAGES = (4096, 2 << 20)
_PINNED = tuple(4096 * 4**power for power in range(5))  # up to 1 MiB

_EACH_GUEST = {
    "mmio.user_ns": "ns", "mmio.ioctl_ns": "ns", "mmio.saving_percent": "%",
    "mlock.us": "us", "pbl.us": "us", "pbl.ratio_percent": "%",
    "reg.us_per_mib": "us/MiB", "dereg.us_per_mib": "us/MiB",
    "pin.us_per_mib": "us/MiB", "unpin.us_per_mib": "us/MiB", "reg.of_pin_percent": "%",
    "post_sq.ns": "ns", "poll_cq.ns": "ns", "poll_cq.empty_ns": "ns",
    "data_path.syscalls": "calls",
}
_BETWEEN = {"pingpong.wall_us": "us", "pingpong.wall_mean_us": "us", "write.wall_mibps": "MiB/s"}
# What is made of two others: part, whole.
_SHARES = {"pbl.ratio_percent": ("pbl.us", "mlock.us"),
           "reg.of_pin_percent": ("reg.us_per_mib", "pin.us_per_mib")}
_MAY_BE_NEGATIVE = {"mmio.saving_percent"}


def rows_of(log):
    return [json.loads(line[line.index(_MARK) + len(_MARK) - 1:])
            for line in log.read_text(errors="replace").splitlines() if _MARK in line]


def senseless(row):
    """What is wrong with a row; empty: nothing."""
    value = row.get("value")
    if row.get("skipped") and row.get("page") == _PAGES[1]:
        return ""  # that guest had no huge page left
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        return "has no figure"
    if row["name"] == "data_path.syscalls":
        return "should be 0" if value != 0 else ""
    if row["name"] in _MAY_BE_NEGATIVE:
        return "" if value < 100 else "should be below 100"
    return "" if value > 0 else "should be above 0"


def problems_of(rows, promised):
    problems = [f"{row}: {text}" for row in rows if (text := senseless(row))]
    units = {row["name"]: row.get("unit") for row in rows if "value" in row}
    if units != promised:
        problems.append(f"figures and units are {units}, not {promised}")
    sizes = tuple(row["size"] for row in rows if row["name"] == "pbl.us")
    if sizes != _PINNED:
        problems.append(f"the list was measured of {sizes} bytes, not {_PINNED}")
    pages = tuple(row["page"] for row in rows if row["name"] == "reg.us_per_mib")
    if pages != _PAGES:
        problems.append(f"registration was measured with pages of {pages} bytes, not {_PAGES}")
    return problems + problems_of_shares(rows)


def problems_of_shares(rows):
    values = {(row["name"], row.get("page"), row.get("size")): row["value"]
              for row in rows if "value" in row}
    problems = []
    for (name, page, size), value in values.items():
        if name in _SHARES:
            part, whole = (values[other, page, size] for other in _SHARES[name])
            if not math.isclose(value, 100 * part / whole):
                problems.append(f"{name} of {size} bytes is {value}, not {part} of {whole}")
    return problems


def main():
    logs = sorted(pathlib.Path(sys.argv[1]).glob("guest*.log"))
    problems = [] if len(logs) == 2 else [f"{sys.argv[1]}: {len(logs)} guests have left a log"]
    for node, log in enumerate(logs):
        promised = {**_EACH_GUEST, **_BETWEEN} if node == 0 else _EACH_GUEST
        rows = rows_of(log)
        print(f"{log.name}: {len(rows)} rows")
        problems += [f"{log.name}: {text}" for text in problems_of(rows, promised)]
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
