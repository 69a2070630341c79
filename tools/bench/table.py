#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Prints results.json as a table: what was measured, the computed limit, the papers' figures.

    table.py RESULTS
"""
import json
import pathlib
import sys

from guest_table import is_guest_row, print_guests

# What the papers measured, in the same unit: (name, profile, size) to value and source.
PAPERS = {
    ("push.goodput_mbps", "rhinet2", 1048576): (469, "RHiNET-2: PUSH, best"),
    ("pull.goodput_mbps", "rhinet2", 4096): (328, "RHiNET-2: hardware PULL"),
    ("fwpull.goodput_mbps", "rhinet2", 4096): (101, "RHiNET-2: firmware PULL"),
    ("fwpull.goodput_mbps", "rhinet2", 1048576): (185, "RHiNET-2: firmware PULL, best"),
    ("msg.goodput_mbps", "rhinet2", 8192): (297, "RHiNET-2: messages of PMv2"),
    ("fwmsg.goodput_mbps", "rhinet2", 8192): (297, "RHiNET-2: messages of PMv2"),
    ("fwmsg.rtt_us", "rhinet2", 8): (16, "RHiNET-2: smallest message of PMv2"),
    ("push.goodput_mbps", "ntb-gen3x8", 1048576): (6400, "Java over NTB: native RDMA, best"),
    ("push.oneway_ns", "ntb-gen3x8", 8): (540, "Dolphin, remote store"),
    ("push.oneway_ns", "rhinet2", 8): (1740, "Martini, least latency"),
    ("msg.rtt_us", "rhinet2", 8): (16, "RHiNET-2: smallest message of PMv2"),
}

SYNCHRONISED = ("sync.", "eth.")  # printed by sync_guests.py
PEBS = "peb."
NETWORK = ("loss.", "reorder.", "tail_loss.", "incast.", "fabric.", "fm.")
CARRIERS = (("push", "PUSH"), ("pull", "PULL"), ("msg", "SEND"), ("uc", "UC SEND"),
            ("ud", "UD SEND"))


def size_text(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def of_profile(rows, profile):
    """{(name, size or None): value} of one profile; instead of the size the operation of a message
    rate, how a small work request is posted: pio, window, or where its bytes are, and how many
    threads simulated."""
    def which(row):
        if row.get("via") in ("pio", "window"):
            return row["via"]
        return row.get("operation", row.get("data", row.get("size", row.get("threads"))))
    return {(r["name"], which(r)): r["value"] for r in rows
            if r.get("profile") == profile and "nodes" not in r and "queue_pairs" not in r}


def print_posts(values, profile, name, title, unit):
    print(f"  {title}, 8 B, by doorbell: {values[name, 'region']:.5g} {unit}, inline"
          f" {values[name, 'inline']:.5g}, by PIO {values[name, 'pio']:.5g}" + paper(name, profile, 8))


def print_ntb(values, profile):
    """Remote windows and doorbells."""
    name = "push.oneway_ns"
    print(f"  store into a window, 8 B one way: {values[name, 'window']:.5g} ns, load"
          f" {values['window.load_ns', 8]:.5g} ns; doorbell to interrupt"
          f" {values['doorbell.ns', None]:.5g} ns" + paper(name, profile, 8))
    print("  stores into a window one behind the other, MB/s: " + ", ".join(
        f"{size_text(size)} each {values['window.store_mbps', size]:.1f}" for size in (8, 64)))


def print_stages(values, title, which):
    print(f"  clock cycles of a PUSH by {title}: " + ", ".join(
        f"{n.rsplit('.', 1)[1].replace('_', ' ')} {v:.0f}"
        for (n, w), v in values.items() if n.startswith("stage.cycles.") and w == which))


def paper(name, profile, size):
    value = PAPERS.get((name, profile, size))
    return f"   paper: {value[0]} ({value[1]})" if value else ""


def print_goodput(values, profile, name, title):
    print(f"  {title + ' of':>9}  {'MB/s':>9}  {'limit':>9}  {'of it':>6}")
    for size in sorted(s for n, s in values if n == f"{name}.goodput_mbps"):
        print(f"  {size_text(size):>9}  {values[f'{name}.goodput_mbps', size]:9.1f}"
              f"  {values[f'{name}.limit_mbps', size]:9.1f}"
              f"  {100 * values[f'{name}.goodput_ratio', size]:5.1f}%"
              + paper(f"{name}.goodput_mbps", profile, size))


def print_small(rows, profile):
    """Rates of small messages, of one queue pair and of several; nothing if they were not measured."""
    found = {(row["name"], row["operation"], row["size"], row["queue_pairs"]): row["value"]
             for row in rows if row.get("profile") == profile and row["name"].startswith("small.")}
    for operation, size in dict.fromkeys((key[1], key[2]) for key in found):
        counts = sorted(key[3] for key in found if key[:3] == ("small.rate_mps", operation, size))
        print(f"  {operation.upper():>9} of {size_text(size):>4}, million/s (of the limit), by queue pairs: "
              + ", ".join(f"{count}: {found['small.rate_mps', operation, size, count]:.2f}"
                          f" ({100 * found['small.ratio', operation, size, count]:.1f}%)" for count in counts))


def print_firmware(values, profile):
    """What firmware does; nothing if that was not measured."""
    for size in sorted(s for n, s in values if n == "fwpull.ratio"):
        print(f"  PULL by firmware, {size_text(size)}: {values['fwpull.goodput_mbps', size]:.1f} MB/s,"
              f" {100 * values['fwpull.ratio', size]:.1f}% of hardware's"
              + paper("fwpull.goodput_mbps", profile, size))
    if ("atomic.us", None) in values:
        print(f"  fetch-and-add: {values['atomic.us', None]:.2f} us,"
              f" {values['atomic.rate_mps', None]:.3f} million/s of one queue pair")
    for size in sorted(s for n, s in values if n == "fwmsg.goodput_ratio"):
        print(f"  messages by firmware, {size_text(size)}: {values['fwmsg.goodput_mbps', size]:.1f} MB/s,"
              f" {100 * values['fwmsg.goodput_ratio', size]:.1f}% of the limit"
              + paper("fwmsg.goodput_mbps", profile, size))
    if ("fwmsg.rtt_us", 8) in values:
        print(f"  a message by firmware and its answer, 8 B: {values['fwmsg.rtt_us', 8]:.2f} us"
              + paper("fwmsg.rtt_us", profile, 8))
        print(f"  the processor meanwhile: {values['cpu.ipc', None]:.3f} instructions a cycle,"
              f" {100 * values['cpu.waits', None]:.0f}% of them to wait for the hardware")


def print_barriers(rows, profile):
    """Barriers of firmware by their number of nodes; nothing if that was not measured."""
    found = {(row["name"], row["nodes"]): row["value"] for row in rows
             if row.get("profile") == profile and row["name"].startswith("barrier.")}
    counts = sorted(nodes for name, nodes in found if name == "barrier.us")
    if counts:
        print("  barrier by firmware, us (cycles), by nodes: " + ", ".join(
            f"{nodes}: {found['barrier.us', nodes]:.1f} ({found['barrier.cycles', nodes]:.0f})"
            for nodes in counts))


def print_events(rows, profile):
    """From what the host sees to the interrupt that tells of it."""
    found = {(row["event"], row["via"]): row["value"] for row in rows
             if row.get("profile") == profile and row["name"] == "event.ns"}
    print("  to its interrupt, ns: " + ", ".join(
        f"{event.replace('_', ' ')} by {via} {ns:.0f}" for (event, via), ns in found.items()))


def print_profile(rows, profile):
    values = of_profile(rows, profile)
    print(f"\n{profile}")
    for name, title in CARRIERS:
        print_goodput(values, profile, name, title)
    print_posts(values, profile, "push.oneway_ns", "PUSH one way", "ns")
    print_posts(values, profile, "loopback.oneway_ns", "PUSH within a node", "ns")
    print_events(rows, profile)
    print_posts(values, profile, "msg.rtt_us", "SEND and its answer", "us")
    print(f"  datagram and its answer, 8 B inline: {values['ud.rtt_us', 8]:.5g} us")
    print_ntb(values, profile)
    print("  operations of 8 B, million/s: " + ", ".join(
        f"{title} {values['msg.rate_mps', name]:.2f}"
        for name, title in (("push", "PUSH"), ("pull", "PULL"), ("send", "SEND"))))
    print_small(rows, profile)
    print_firmware(values, profile)
    print_barriers(rows, profile)
    print_stages(values, "doorbell", None)
    print_stages(values, "PIO", "pio")
    print(f"  simulator, wall clock: thousand core cycles/s (RTL) "
          + ", ".join(f"{values['sim.rtl_kcps', threads]:.0f} by {name}"
                      for threads, name in ((1, "one thread"), (2, "two"))) + ";"
          f" {values['sim.ref_kops', None]:.0f} thousand PUSHes/s (reference model)")


def print_network(rows):
    """What the network does to the core; nothing if that was not measured."""
    def find(name):
        return [row for row in rows if row["name"] == name]

    for row in find("loss.goodput_ratio"):
        print(f"  {100 * row['p']:.2f} % of the frames lost, {size_text(row['size'])}: "
              f"{100 * row['value']:.1f}% of the limit")
    for row in find("reorder.false_retransmits"):
        print(f"  {100 * row['p']:g} % of the frames reordered, none lost: "
              f"{row['value']:.0f} sent again")
    for row in find("tail_loss.rto_count"):
        print(f"  the last frames of {size_text(row['size'])} lost: {row['value']:.0f} time-outs")
    for goodput, fairness in zip(find("incast.goodput_ratio"), find("incast.fairness")):
        print(f"  {goodput['senders']} senders to one, a queue of "
              f"{size_text(goodput['queue_bytes'])}: {100 * goodput['value']:.1f}% of the limit, "
              f"fairness {fairness['value']:.3f}")
    hops = find("fabric.rtt_us")
    if hops:
        print("  SEND and its answer, 8 B inline, by links passed: "
              + ", ".join(f"{row['hops']}: {row['value']:.2f} us" for row in hops))
    for discover, reroute in zip(find("fm.discover_ms"), find("fm.reroute_ms")):
        print(f"  {discover['nodes']} nodes and {discover['switches']} switches found, numbered and routed:"
              f" {discover['value']:.2f} ms; rerouted behind a cut line: {reroute['value']:.2f} ms")


def print_pebs(rows):
    """A disk at its host and across PEBs, of one profile and one core."""
    found = {(row["name"], row["operation"], row.get("via")): row["value"] for row in rows}
    for operation, what in (("load", "load of a register"), ("read", "read of 4 KiB"), ("write", "write of 4 KiB")):
        direct, far = (found["peb.latency_ns", operation, via] for via in ("direct", "peb"))
        print(f"  {what}: {direct:.0f} ns at the host, {far:.0f} ns across PEBs:"
              f" {found['peb.added_ns', operation, None]:.0f} ns more")
    for operation in ("read", "write"):
        print(f"  {operation}s of 128 KiB, 8 under way: {found['peb.goodput_mbps', operation, None]:.1f} MB/s,"
              f" {100 * found['peb.goodput_ratio', operation, None]:.1f}% of the limit")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    rows = json.loads(pathlib.Path(sys.argv[1]).read_text())
    print("Simulated time, unless it says wall clock.")
    networks = [row for row in rows if row["name"].startswith(NETWORK)]
    pebs = [row for row in rows if row["name"].startswith(PEBS)]
    cores = [row for row in rows if row not in networks and row not in pebs and not is_guest_row(row)
             and not row["name"].startswith(SYNCHRONISED) and row.get("guests") != "world"]
    for profile in dict.fromkeys(r["profile"] for r in cores):
        print_profile(cores, profile)
    for profile, core in dict.fromkeys((r["profile"], r["core"]) for r in pebs):
        print(f"\n{profile}, an NVMe disk across PEBs ({'RTL' if core == 'rtl' else 'reference model'})")
        print_pebs([row for row in pebs if (row["profile"], row["core"]) == (profile, core)])
    for profile in dict.fromkeys(r["profile"] for r in networks):
        print(f"\n{profile}, the network (RTL)")
        print_network([row for row in networks if row["profile"] == profile])
    print_guests([row for row in rows if row.get("guests") != "world"], size_text)  # those print their own


if __name__ == "__main__":
    main()
