#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a round trip of two messages takes if the PCIe link is slower or faster: in simulated time."""

import exrnic
import options

chosen = options.of(__doc__)
experiment = exrnic.Experiment("exrnic-pingpong --node {node} --oob {oob} --sizes {size} --rounds 20", core=chosen.core)
rows = exrnic.sweep(experiment, {
    "arguments.size": [8] if chosen.few else [8, 4096],
    "change.pcie.latency_ns": [0, 500] if chosen.few else [0, 60, 120, 250, 500, 1000]}, cached=chosen.cache)
options.show(rows, chosen, x="latency_ns", y="rtt_us", by="size")
