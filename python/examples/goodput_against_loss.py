#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What is left of the bandwidth if a short or a long line loses frames: the median over several seeds of the faults."""

import exrnic
import options

chosen = options.of(__doc__)
experiment = exrnic.Experiment("exrnic-push --node {node} --oob {oob} --sizes 65536 --ops {ops}", core=chosen.core,
                               arguments={"ops": 16 if chosen.few else 64})
rows = exrnic.sweep(experiment, {
    "change.ethernet.latency_ns": [10000] if chosen.few else [500, 10000],
    "faults.drop": [0, 0.03] if chosen.few else [0, 0.001, 0.003, 0.01, 0.03, 0.1],
    "seed": range(1, 2 if chosen.few else 6)}, cached=chosen.cache)
rows = rows.where(**{"from": 0}).medians(by=["latency_ns", "drop"], of="bandwidth_mbps")
options.show(rows, chosen, x="drop", y="bandwidth_mbps", by="latency_ns")
