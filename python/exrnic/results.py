# SPDX-License-Identifier: BSD-2-Clause
"""What a run has given: rows, which are dicts, and ways to have them in other programs."""

import csv
import dataclasses
import json
import statistics


class Rows(list):
    """A list of dicts."""

    def where(self, **values):
        """Those that have all these values: rows.where(size=8, pattern="many_to_one")."""
        return Rows(row for row in self if all(row.get(key) == value for key, value in values.items()))

    def column(self, name):
        """The values of one key, of the rows that have it."""
        return [row[name] for row in self if name in row]

    def columns(self):
        """All keys, in the order in which they are first seen."""
        return list(dict.fromkeys(key for row in self for key in row))

    def csv(self, path):
        """Writes a table; what a row lacks is left empty."""
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self.columns())
            writer.writeheader()
            writer.writerows(self)

    def table(self):
        """The same for people, as text."""
        lines = [self.columns()] + [[_cell(row.get(key, "")) for key in self.columns()] for row in self]
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in lines)

    def frame(self):
        """As a pandas.DataFrame, where pandas is installed."""
        import pandas  # pylint: disable=import-outside-toplevel

        return pandas.DataFrame(list(self), columns=self.columns())

    def medians(self, by, of):
        """One row for each combination of the values of the keys `by`, with the median of the key `of`."""
        groups = {}
        for row in self:
            groups.setdefault(tuple(row[key] for key in by), []).append(row[of])
        return Rows({**dict(zip(by, values)), of: statistics.median(group), "runs": len(group)}
                    for values, group in groups.items())

    def plot(self, path, x, y, by):
        """Draws y over x, a line for each value of `by`, where matplotlib is installed."""
        import matplotlib  # pylint: disable=import-outside-toplevel

        matplotlib.use("Agg")
        from matplotlib import pyplot  # pylint: disable=import-outside-toplevel

        figure, axes = pyplot.subplots()
        for value in dict.fromkeys(self.column(by)):
            rows = self.where(**{by: value})
            axes.plot(rows.column(x), rows.column(y), marker="o", label=f"{by} {value}")
        axes.set(xlabel=x, ylabel=y, ylim=(0, None))
        axes.legend()
        figure.savefig(path)
        pyplot.close(figure)


def _cell(value):
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@dataclasses.dataclass
class Result:
    """Of one run. `rows`: what the programs said, each with its "node". `counters`: a row for each node and
    each port of a switch, "where" it is, with all that the simulator counted there over the whole run. `captures`:
    a row for each frame at each port, in the order of its file, of a run with capture=True. `losses`:
    a row for each frame that did not arrive, of a run with losses=True. `logs`: text by name:
    "sim", and "process0" or "guest0" and so on. `simulated_ns`: when the run ended. `cached`: it was not run again."""

    rows: Rows
    counters: Rows
    captures: Rows
    losses: Rows
    logs: dict
    simulated_ns: int
    cached: bool = False

    def counter(self, where, name):
        """One of them: result.counter("node0", "retransmits")."""
        for row in self.counters:
            if row["where"] == where:
                return row[name]
        raise KeyError(f"{where}: there are {', '.join(row['where'] for row in self.counters)}")

    def to_json(self):
        return json.dumps({field.name: getattr(self, field.name) for field in dataclasses.fields(self)
                           if field.name != "cached"})

    @staticmethod
    def of_json(text):
        values = json.loads(text)
        for name in ("rows", "counters", "captures", "losses"):
            values[name] = Rows(values[name])
        return Result(**values, cached=True)


def counter_rows(counted):
    """Of what exrnic-sim --stats writes. Nested names are joined by dots: "mac.transmitted"."""
    rows = Rows()
    for node in counted["nodes"]:
        values = {key: value for key, value in node.items() if key not in ("id", "socket")}
        rows.append({"where": f"node{node['id']}", **values.pop("counters"), **_flat(values)})
    for name, each in counted["switches"].items():
        rows += [{"where": f"{name}.{port}", **_flat(values)} for port, values in each["ports"].items()]
    return rows


def program_rows(text):
    """Lines "@exrnic {...}", and those that are a JSON object as a whole."""
    rows = []
    for line in text.splitlines():
        _, mark, row = line.rpartition("@exrnic {")
        candidate = "{" + row if mark else line
        if not candidate.startswith("{"):
            continue
        try:
            value = json.loads(candidate)
        except ValueError:
            continue
        if isinstance(value, dict):
            rows.append(value)
    return rows


def _flat(values, prefix=""):
    flat = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat
