#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Many nodes send to one at a time, through a switch with a small or a large queue: what the receiver gets, and what
the switch does with it."""

import exrnic
import options


def rows_of(result):
    """With the counters of the switch's port to the receiver."""
    queue = {name: result.counter("switch0.0", name) for name in ("marked", "dropped", "queue_high_water")}
    return [{**row, **queue} for row in result.rows.where(pattern="many_to_one")]


chosen = options.of(__doc__)
experiment = exrnic.Experiment(
    "exrnic-cluster --node {node} --addresses {addresses} --patterns many_to_one --operations write --sizes {size}",
    topology="star", core=chosen.core, arguments={"size": 65536 if chosen.few else 1 << 20})
rows = exrnic.sweep(experiment, {
    "change.ethernet.switch_queue_bytes": [1 << 15] if chosen.few else [1 << 15, 1 << 20],
    "nodes": [3, 5] if chosen.few else [2, 3, 5, 9, 17]}, rows=rows_of, cached=chosen.cache)
options.show(rows, chosen, x="nodes", y="mb_per_s", by="switch_queue_bytes")
