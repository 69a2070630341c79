# SPDX-License-Identifier: BSD-2-Clause
"""The table of "make run": one row for each size and direction, printed as it arrives."""

_COLUMNS = (  # title, width
    ("direction", 18), ("size", 8), ("operations", 10), ("verified", 8),
    ("simulated latency", 17), ("simulated bandwidth", 19), ("wall time", 9))
_STORE_FIELDS = ("from", "to", "stores", "read_back", "verified")
_FIELDS = ("from", "to", "size", "ops", "verified", "latency_us", "bandwidth_mbps", "wall_s")


class PushReport:
    """Collects the rows of exrnic-push and judges them."""

    def __init__(self, write, pair=(0, 1)):
        self._write = write
        self._pair = pair
        self._rows = []
        self._early = []
        self._stores = []
        self._untold = []  # of them
        self._malformed = []

    def add(self, node, row):
        """Prints the row; the first one brings the heading. The pair's lower number sends each size
        first: a row of the other that is seen earlier waits, so that the order is always the same.
        Stores through a window are a line below the table."""
        if "stores" in row:
            self._add_stores(node, row)
            return
        if any(not isinstance(row.get(field), (int, float)) for field in _FIELDS):
            self._malformed.append((node, row))
            return
        self._early.append(row)
        while True:
            turn = sorted(self._pair)[len(self._rows) % 2]
            due = next((row for row in self._early if row["from"] == turn), None)
            if due is None:
                return
            self._early.remove(due)
            self._print(due)

    def finish(self):
        """Prints what waited for its turn, or for the end."""
        for row in self._early:
            self._print(row)
        self._early = []
        for row in sorted(self._untold, key=lambda row: row["from"]):
            self._write(f"guest {row['from']} -> guest {row['to']}: {row['verified']} of "
                        f"{row['stores']} stores into a remote window are in the other's memory, "
                        f"{row['read_back']} read back by loads")
        self._untold = []

    def _print(self, row):
        if not self._rows:
            self._write("")
            self._write("  ".join(title.rjust(width) for title, width in _COLUMNS))
        self._rows.append(row)
        self._write("  ".join(cell.rjust(width)
                              for cell, (_, width) in zip(_cells(row), _COLUMNS)))

    def _add_stores(self, node, row):
        if any(not isinstance(row.get(field), (int, float)) for field in _STORE_FIELDS):
            self._malformed.append((node, row))
            return
        self._stores.append(row)
        self._untold.append(row)

    def problem(self):
        """What is wrong with the rows so far as one line, None if nothing is."""
        self.finish()
        if self._malformed:
            node, row = self._malformed[0]
            return f"guest {node} printed a result that cannot be read: {row}"
        directions = {(row["from"], row["to"]) for row in self._rows}
        for source, target in (self._pair, self._pair[::-1]):
            if (source, target) not in directions:
                return f"no result for guest {source} -> guest {target}"
        sizes = [sorted(row["size"] for row in self._rows if row["from"] == source)
                 for source in self._pair]
        if sizes[0] != sizes[1]:
            return (f"guest {self._pair[0]} has results of {len(sizes[0])} sizes, guest {self._pair[1]} of "
                    f"{len(sizes[1])}: some are missing")
        for row in self._rows:
            if row["verified"] != row["ops"] or row["ops"] <= 0:
                return (f"guest {row['from']} -> guest {row['to']}, {format_size(row['size'])}: "
                        f"only {row['verified']} of {row['ops']} operations arrived intact")
        for row in self._stores:
            if not row["stores"] == row["read_back"] == row["verified"]:
                return (f"guest {row['from']} -> guest {row['to']}: of {row['stores']} stores into a "
                        f"remote window only {row['verified']} arrived, {row['read_back']} were "
                        "read back")
        return None

    def summary(self):
        """The good news as one line."""
        operations = sum(row["ops"] for row in self._rows)
        data = sum(row["ops"] * row["size"] for row in self._rows)
        return (f"all {operations} PUSHes arrived intact: "
                f"{data / 2**20:.1f} MiB, every byte compared")


def format_size(size):
    """8 -> "8 B", 4096 -> "4 KiB"."""
    for unit, name in ((2**20, "MiB"), (2**10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def _cells(row):
    return (f"guest {row['from']} -> guest {row['to']}", format_size(row["size"]),
            str(row["ops"]), str(row["verified"]), f"{row['latency_us']:.2f} us",
            f"{row['bandwidth_mbps']:.1f} MB/s", f"{row['wall_s']:.2f} s")
