#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The counters that guests read at the end of a run are what the captures of their ports show.

    tests/guest/guest_counters_test.py DIRECTORY    of a launch with --capture whose guests ended with
                                              echo @exrnic $(exrnicctl stat --json)
"""

import json
import pathlib
import subprocess
import sys

_TSHARK = pathlib.Path(__file__).resolve().parents[2] / "tools/wireshark/tshark.sh"
_FIELDS = ("eth.src", "efe.flags.seq", "efe.seq")
_MARK = "@exrnic {"


def frames(capture):
    """Of each frame: its sender's number, its sequence number (None: without a segment)."""
    fields = [argument for field in _FIELDS for argument in ("-e", field)]
    command = [_TSHARK, capture, "-n", "-T", "fields", *fields]
    shown = subprocess.run(command, check=False, capture_output=True, text=True)
    if shown.returncode != 0:
        sys.exit(f"{capture}: {shown.stderr}")
    for line in shown.stdout.splitlines():
        source, has_segment, number = line.split("\t")
        node = int(source.replace(":", "")[-4:], 16)
        yield node, int(number) if has_segment in ("1", "True") else None


def counted(capture, node):
    """What the capture of that node's port says its counters are."""
    counters = dict.fromkeys(("frames_tx", "frames_rx", "acks_tx", "acks_rx", "retransmits"), 0)
    sent = set()
    for sender, number in frames(capture):
        way = "tx" if sender == node else "rx"
        counters[f"frames_{way}"] += 1
        if number is None:
            counters[f"acks_{way}"] += 1
        elif way == "tx":
            counters["retransmits"] += number in sent
            sent.add(number)
    return counters


def read_in_guest(log):
    """The counters of the log's last row that has some, and the node they are of."""
    rows = [line[line.index(_MARK) + len(_MARK) - 1:]
            for line in log.read_text(errors="replace").splitlines() if _MARK in line]
    nodes = [node for row in rows for node in json.loads(row).get("nodes", [])]
    if not nodes:
        sys.exit(f"{log}: no counters; did the guest run exrnicctl?")
    return nodes[-1]["id"], nodes[-1]["counters"]


def main():
    directory = pathlib.Path(sys.argv[1])
    logs = sorted(directory.glob("guest*.log"))
    problems = [] if logs else [f"{directory}: no guest has left a log"]
    for log in logs:
        node, counters = read_in_guest(log)
        for name, shown in counted(directory / f"capture/node{node}.pcap", node).items():
            print(f"node {node} {name}: {counters[name]} counted, {shown} in the capture")
            if counters[name] != shown or (name == "frames_tx" and shown == 0):
                problems.append(f"node {node} {name}: {counters[name]}, not {shown}")
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
