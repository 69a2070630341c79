#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""In synchronised time a guest's clock is the simulator's: both tell the same of one run, to the nanosecond.

    guest_clock_test.py DIRECTORY

DIRECTORY: of a launch with TIME=sync, a trace, and exrnic-clock in the guests. Of each load a guest tells
when it began and ended, and the trace does. Between them lie the instructions around the load: as many each
time, and few. Of each completion the trace tells when it was in memory: a guest that polls sees it then, or at
most a turn of its loop later. A loop that waits by PAUSE waits as long as it is to; a load across a slow bus
takes what a machine's does, and each element of a string instruction what an instruction does.

An interrupt of the guest's own (its timer) may lie in one row or another, and makes it longer by thousands of
nanoseconds. So what is said of each row must hold of all but one in ten.
"""

import json
import pathlib
import sys
import unittest

_CLONE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(_CLONE / "sim/launch"))

import guest  # noqa: E402 (the launcher is no installed package)

_BAR_USER = 2
_NODES = 2
_FEW_NS = 16      # the instructions around a load
_TURN_NS = 400    # of a loop that polls
_PAUSE_NS = 64
_SLOW_BUS_NS = 1024
_ELEMENTS = 60001  # that exrnic-clock fills and copies, each a nanosecond


def _picoseconds(microseconds):
    return round(microseconds * 1e6)


def _nanoseconds(ps):
    """Rounded up, as a guest's clock is told."""
    return -(-ps // 1000)


def _without_interrupts(values):
    """The values, least first, without the tenth of them that interrupts may have made longer."""
    values = sorted(values)
    return values[:len(values) - len(values) // 10]


class Clock(unittest.TestCase):
    directory = None

    @classmethod
    def setUpClass(cls):
        events = json.loads((cls.directory / "trace.json").read_text())
        events = events["traceEvents"] if isinstance(events, dict) else events
        cls.slices = [event for event in events if event.get("ph") == "X"]
        cls.rows = []
        for node in range(_NODES):
            console = guest.Console(cls.directory / f"guest{node}.log")
            cls.rows.append([row for row in console.poll() if "what" in row])

    def told(self, node, what):
        rows = [row for row in self.rows[node] if row["what"] == what]
        self.assertGreaterEqual(len(rows), 50, f"exrnic-clock of guest {node} printed few of {what}")
        return rows

    def traced(self, node, name):
        return [(_picoseconds(event["ts"]), _picoseconds(event["ts"] + event["dur"]))
                for event in self.slices if event["pid"] == node and event["name"] == name
                and event["args"].get("bar", _BAR_USER) == _BAR_USER]

    def test_a_load_begins_and_ends_in_the_guest_when_it_does_in_the_trace(self):
        for node in range(_NODES):
            traced = self.traced(node, "register_read")
            before, after = [], []
            for row in self.told(node, "load"):
                inside = [load for load in traced
                          if row["begin"] <= load[0] // 1000 and _nanoseconds(load[1]) <= row["end"]]
                self.assertEqual(len(inside), 1, f"guest {node}: loads in the trace within {row}")
                before.append(inside[0][0] // 1000 - row["begin"])
                after.append(row["end"] - _nanoseconds(inside[0][1]))
            for around in (before, after):
                same = set(_without_interrupts(around))
                self.assertEqual(len(same), 1, f"guest {node}: not the same each time, ns: {around}")
                self.assertLessEqual(max(same), _FEW_NS)

    def test_a_completion_is_seen_when_it_is_in_memory_or_a_turn_of_the_loop_later(self):
        for node in range(_NODES):
            traced = self.traced(node, "cqe")
            late = []
            for row in self.told(node, "completion"):
                seen = [cqe for cqe, _ in traced if row["begin"] <= cqe // 1000 <= row["end"]]
                self.assertEqual(len(seen), 1, f"guest {node}: completions in the trace within {row}")
                late.append(row["end"] - seen[0] // 1000)
            self.assertLessEqual(max(_without_interrupts(late)), _TURN_NS)

    def test_a_load_from_a_port_takes_the_time_of_a_slow_bus(self):
        for node in range(_NODES):
            took = _without_interrupts(row["end"] - row["begin"] for row in self.told(node, "port"))
            self.assertGreaterEqual(took[0], _SLOW_BUS_NS)
            self.assertLessEqual(took[-1], _SLOW_BUS_NS + _FEW_NS)

    def test_each_element_of_a_string_instruction_takes_an_instruction(self):
        for node in range(_NODES):
            for what in ("fill", "copy"):
                took = [row["end"] - row["begin"] for row in self.rows[node] if row["what"] == what]
                self.assertTrue(took, f"exrnic-clock of guest {node} printed no {what}")
                # In one of them, at least, there was no interrupt.
                self.assertGreaterEqual(min(took), _ELEMENTS)
                self.assertLessEqual(min(took), _ELEMENTS + _FEW_NS)

    def test_a_wait_by_pause_takes_few_turns_when_it_is_long_and_ends_late_by_a_64th_at_most(self):
        for node in range(_NODES):
            waits = [row for row in self.rows[node] if row["what"] == "wait"]
            short = [row for row in waits if row["ticks"] <= 64 * _PAUSE_NS]
            long = [row for row in waits if row not in short]
            self.assertTrue(short and long, f"exrnic-clock of guest {node} printed no waits")
            for row in waits:
                self.assertGreaterEqual(row["lasted"], row["ticks"])
            # In one of each kind, at least, there was no interrupt.
            self.assertLessEqual(min(row["lasted"] - row["ticks"] for row in short), 2 * _PAUSE_NS)
            self.assertLessEqual(min(row["lasted"] - row["ticks"] * 65 / 64 for row in long), 2 * _PAUSE_NS)
            # Each turn of a short one takes a PAUSE, and a few instructions.
            self.assertGreaterEqual(max(row["turns"] - row["ticks"] // (2 * _PAUSE_NS) for row in short), 0)
            for row in short:
                self.assertLessEqual(row["turns"], row["ticks"] // _PAUSE_NS + 1)
            for row in long:
                self.assertLess(row["turns"], row["ticks"] // (3 * _PAUSE_NS))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    Clock.directory = pathlib.Path(sys.argv.pop())
    unittest.main()
