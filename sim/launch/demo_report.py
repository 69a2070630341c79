# SPDX-License-Identifier: BSD-2-Clause
"""What programs without guests say of their work: rows, judged before anybody says OK.

A row is a line '@exrnic {...}' that counts operations ("ops" or "rounds") and those of them whose
bytes were compared ("verified"). Those of exrnic-demo become a table, all others stay as they are.
"""

import guest
from errors import LaunchError
from push_report import format_size

_COUNTS = ("ops", "rounds", "stores")  # what "verified" is to be equal to
_DEMO_FIELDS = ("from", "to", "size", "ops", "verified", "time_us", "wall_ms")
_DEMO_OPERATIONS = {"PUSH": "PUSH  node {from} -> node {to}", "PULL": "PULL  node {from} <- node {to}",
                    "SEND": "SEND  and back, round trip"}
_BANDWIDTH_FROM = 4096  # bytes; below it is latency that counts


def rows_of(logs):
    """The rows of all programs, one that cannot be read as {"malformed": text}."""
    return [row for log in logs for row in guest.Console(log).poll()]


def operations(rows, logs):
    """How many operations were verified, all of them. Raises LaunchError if one was not, or nothing was."""
    total = 0
    for row in rows:
        count = next((row[name] for name in _COUNTS if name in row), None)
        if not _is_count(count) or not _is_count(row.get("verified")):
            raise LaunchError(f"a program printed a result that cannot be read: {row}", logs)
        if row["verified"] != count or count == 0:
            raise LaunchError(f"only {row['verified']} of {count} operations arrived intact: {row}", logs)
        total += count
    if total == 0:
        raise LaunchError("the programs ended well, but printed no result: nothing was compared", logs)
    return total


def demo_table(rows, logs):
    """The lines of exrnic-demo's table. Raises LaunchError unless each kind of operation is in it."""
    for row in rows:
        if row.get("operation") not in _DEMO_OPERATIONS or \
                not all(isinstance(row.get(field), (int, float)) for field in _DEMO_FIELDS):
            raise LaunchError(f"exrnic-demo printed a result that cannot be read: {row}", logs)
    missing = _DEMO_OPERATIONS.keys() - {row["operation"] for row in rows}
    if missing:
        raise LaunchError(f"exrnic-demo printed no result of {', '.join(sorted(missing))}", logs)
    return [_line("operation", "size", "times", "simulated time", "bandwidth", "wall time")] + \
        [_line(*_cells(row)) for row in rows]


def _is_count(value):
    return isinstance(value, int) and value >= 0


def _cells(row):
    bandwidth = f"{row['size'] / row['time_us'] / 1e3:.2f} GB/s" if row["size"] >= _BANDWIDTH_FROM else ""
    return (_DEMO_OPERATIONS[row["operation"]].format(**row), format_size(row["size"]), str(row["ops"]),
            f"{row['time_us']:.2f} us", bandwidth, f"{row['wall_ms']:.1f} ms")


def _line(*cells):
    return f"{cells[0]:<28} " + " ".join(cell.rjust(width)
                                         for cell, width in zip(cells[1:], (8, 6, 15, 12, 10)))
