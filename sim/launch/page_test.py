# SPDX-License-Identifier: BSD-2-Clause
"""The page of a run, from files as exrnic-sim writes them."""

import html.parser
import json
import pathlib
import tempfile
import unittest

from errors import LaunchError
import page

_PORT = {"received": 5, "dropped": 2, "line_towards": {"frames": 3}}
_STATISTICS = {
    "profile": "dc-25g", "core": "ref", "seed": 1, "topology": "star", "threads": 1, "simulated_ns": 1500, "wall_s": 0.5,
    "links": [["node0", "switch0.0"], ["node1", "switch0.1"]],
    "nodes": [{"id": node, "counters": {"frames_tx": 7 + node, "timeouts": 0}} for node in (0, 1)],
    "switches": {"switch0": {"received": 5, "ports": {"0": _PORT, "1": _PORT}}}}
_LOSS = {"time_ns": 1250.5, "at": "switch0.1", "cause": "switch: queue full", "from": 0, "to": 1, "opcode": "PUSH",
         "seq": 255, "src_qpn": 3, "dst_qpn": 4, "work": {"node": 0, "qpn": 3, "slot": 9, "opcode": "PUSH"}}


class Balanced(html.parser.HTMLParser):
    """Of a page, its text; all tags that need it are closed."""

    def __init__(self, content):
        super().__init__()
        self.open, self.text = [], ""
        self.feed(content)

    def handle_starttag(self, tag, attrs):
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text += data + " "


class Page(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = pathlib.Path(scratch.name)

    def page(self, losses=None, trace=None):
        (self.directory / page.STATISTICS).write_text(json.dumps(_STATISTICS))
        if losses is not None:
            (self.directory / page.LOSSES).write_text(losses)
        if trace is not None:
            (self.directory / page.TRACE).write_text(json.dumps({"traceEvents": trace}))
        read = Balanced(page.write(self.directory).read_text())
        self.assertEqual(read.open, [])
        return read.text

    def test_losses_are_summed_and_named_with_their_work_request(self):
        text = self.page("".join(json.dumps(loss) + "\n" for loss in (_LOSS, _LOSS, {
            "time_ns": 1, "at": "node1", "cause": "receiver: rx_malformed"})) + '{"time_ns": 12')
        self.assertIn("Lost frames:  3", text)
        self.assertRegex(text, r"switch: queue full\s+switch0\.1\s+2\s")
        self.assertIn("PUSH 0 → 1, seq 000000ff", text)
        self.assertIn("PUSH of node 0, queue pair 3, slot 9", text)
        self.assertIn("none of EFE", text)
        self.assertIn("node1 - switch0.1: 3 lost", text)

    def test_the_slowest_work_requests_come_first(self):
        trace = [event for i, took in enumerate((3, 40, 5)) for event in (
            {"ph": "b", "cat": "work", "id": i, "ts": 10.5, "pid": 1, "name": f"W{i}", "args": {"qpn": 8, "slot": i}},
            {"ph": "e", "cat": "work", "id": i, "ts": 10.5 + took, "pid": 1, "name": f"W{i}"})]
        self.assertRegex(self.page(trace=trace),
                         r"(?s)Of 3.*40\.000\s+10\.500\s+W1.*5\.000\s+10\.500\s+W2.*3\.000\s+10\.500\s+W0")

    def test_what_was_not_written_is_said(self):
        text = self.page()
        self.assertIn("They were not written", text)
        self.assertIn("They are in a trace", text)
        self.assertNotIn("timeouts", text)  # nobody has counted one
        self.assertIn("Every frame has arrived", self.page(losses=""))
        (self.directory / page.STATISTICS).unlink()
        with self.assertRaises(LaunchError):
            page.write(self.directory)


if __name__ == "__main__":
    unittest.main()
