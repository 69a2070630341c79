# SPDX-License-Identifier: BSD-2-Clause
"""The part of the table that comes from guests: figures of exrnic-bench, in wall clock."""

# Name, and the keys that tell the paper's row from others of that name, to its figure.
_PAPER = {
    ("mmio.user_ns", None): "580 (ExpEther RNIC)",
    ("mmio.ioctl_ns", None): "1270 (ExpEther RNIC)",
    ("mmio.saving_percent", None): "54.3 (ExpEther RNIC)",
    ("mlock.us", 1 << 20): "15.1 (ExpEther RNIC)",
    ("mlock.us", 1 << 30): "624000 (ExpEther RNIC)",
    ("pbl.us", 1 << 20): "8.35 (ExpEther RNIC)",
    ("pbl.us", 1 << 30): "8580 (ExpEther RNIC)",
    ("pbl.ratio_percent", 1 << 20): "55.3 (ExpEther RNIC)",
    ("pbl.ratio_percent", 1 << 30): "1.4 (ExpEther RNIC)",
}
# The same between two guests, by core: what others reach.
_OTHERS = {
    ("pingpong.wall_us", "ref"): "245 (rocm-ernic, KVM); 908 (Soft-RoCE, two TCG guests)",
    ("pingpong.wall_us", "rtl"): "3400 (SimBricks, netperf)",
    ("write.wall_mibps", "ref"): "21 (Soft-RoCE, two TCG guests)",
}
_NOT_KEYS = {"name", "value", "unit", "clock"}
_IN_BYTES = {"size", "page"}


def is_guest_row(row):
    """Measured by exrnic-bench: in guests, or in none."""
    by_bench = "core" in row or row.get("guests") == 0
    return by_bench and "profile" not in row and not row["name"].startswith("sync.")


def _keys(row, size_text):
    return ", ".join(f"{key} {size_text(value) if key in _IN_BYTES else value}"
                     for key, value in row.items() if key not in _NOT_KEYS)


def _beside(row):
    others = _OTHERS.get((row["name"], row.get("core")))
    if others:
        return f"   others: {others}"
    figure = _PAPER.get((row["name"], row.get("size")))
    return f"   paper: {figure}" if figure else ""


def print_guests(rows, size_text):
    """`size_text` turns bytes into text."""
    rows = [row for row in rows if is_guest_row(row)]
    if not rows:
        return
    print("\nguests, wall clock; guests 0: this machine itself")
    for row in rows:
        print(f"  {row['name']:<22}{row['value']:>12.2f} {row['unit']:<7} "
              f"{_keys(row, size_text):<44}{_beside(row)}".rstrip())
