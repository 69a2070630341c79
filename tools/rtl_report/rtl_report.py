#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Lists each memory of the RTL: where, how many words of how many bits, how it is written and read.

    tools/rtl_report/rtl_report.py [--check] [--top MODULE] [VERILATOR ARGUMENT...]

A memory is an array of words that a block keeps: an unpacked array that is assigned by a variable
index. (A packed one, a vector, is flip-flops by its type, and not listed.) Those behind the wrappers
of rtl-model/memories are what flows for FPGAs and ASICs have. One of up to WORDS words, or of fewer
than BITS bits, is flip-flops. Any other one is an error. Exit status: 1 then.

A read is "registered" when its word goes straight into a register, as a RAM gives it, and
"combinational" else, be it by a multiplexer between the RAM and its register. Reads by different
indices are different reads. What Verilator elaborates is looked at, so sizes are those of the build.
"""

import argparse
import collections
import dataclasses
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

WRAPPERS = ("ram_1r1w", "ram_nr1w", "lut_ram_nr1w")
WORDS = 32
BITS = 1024
# What a word may pass between the memory and its register; a part of it (sel) if always the same.
_WIRES = {"sel", "arraysel", "concat", "extend", "structsel"}


class Bad(Exception):
    """What the user has to know."""


@dataclasses.dataclass
class Memory:
    """One array of one module, in all places where the module stands."""

    module: str
    name: str
    words: int
    bits: int  # of a word
    places: int = 0
    registered: set = dataclasses.field(default_factory=set)
    combinational: set = dataclasses.field(default_factory=set)
    writes: set = dataclasses.field(default_factory=set)

    @property
    def small(self):
        """It needs no memory of a flow."""
        return self.words <= WORDS or self.words * self.bits < BITS

    @property
    def key(self):
        """As the list names it."""
        return f"{self.module}.{self.name}"


class Types:
    """Widths of the elaborated types."""

    def __init__(self, table):
        self._by_id = {e.get("id"): e for e in table}

    def get(self, number):
        """The type itself, behind its names."""
        e = self._by_id[number]
        while e.tag in ("refdtype", "paramtypedtype"):
            e = self._by_id[e.get("sub_dtype_id")]
        return e

    @staticmethod
    def _range(e):
        left, right = (_number(c.get("name")) for c in e.find("range"))
        return abs(left - right) + 1

    def bits(self, number):
        """Of a packed type; of all words of an unpacked one."""
        e = self.get(number)
        if e.tag == "basicdtype":
            if e.get("left") is None:
                return {"int": 32, "integer": 32, "byte": 8, "longint": 64}.get(e.get("name"), 1)
            return abs(int(e.get("left")) - int(e.get("right"))) + 1
        if e.tag == "structdtype":
            return sum(self.bits(m.get("sub_dtype_id")) for m in e.findall("memberdtype"))
        if e.tag == "enumdtype":
            return self.bits(e.get("sub_dtype_id"))
        if e.tag in ("packarraydtype", "unpackarraydtype"):
            return self._range(e) * self.bits(e.get("sub_dtype_id"))
        raise Bad(f"{e.tag}: a type that this report does not know")

    def words(self, number):
        """(words, bits of a word) of an unpacked array, else None."""
        e = self.get(number)
        if e.tag != "unpackarraydtype":
            return None
        if self.get(e.get("sub_dtype_id")).tag == "ifacerefdtype":
            return None
        words, inner = self._range(e), self.words(e.get("sub_dtype_id"))
        return (words * inner[0], inner[1]) if inner else (words, self.bits(e.get("sub_dtype_id")))


def _number(text):
    """Of a constant as Verilator writes it: 32'sh1f."""
    return int(text.split("h")[1], 16) if "h" in text else int(text)


def _root(select):
    """The variable of which a word is taken, or None, and the indices."""
    indices = []
    while select.tag == "arraysel":
        indices.append(select[1])
        select = select[0]
    return (select.get("name") if select.tag == "varref" else None), indices


def _text(e):
    """An expression as text: two that are equal are one port."""
    own = e.get("name", "")
    inner = ",".join(_text(c) for c in e)
    return f"{e.tag}:{own}({inner})" if inner else own or e.tag


def _constant(e):
    return all(x.tag not in ("varref", "varxref", "funcref") for x in e.iter())


def _is_wire(e):
    return e.tag in _WIRES and (e.tag != "sel" or all(_constant(place) for place in e[1:]))


def _walk(module, memories):
    """Finds reads and writes of the memories of a module."""

    def reads(e, registered):
        if e.tag == "arraysel":
            name, indices = _root(e)
            if name in memories:
                memory = memories[name]
                port = ";".join(_text(i) for i in indices)
                (memory.registered if registered else memory.combinational).add(port)
            for index in indices:
                reads(index, False)
            return
        for child in e:
            reads(child, registered and _is_wire(e))

    def target(e, whole):
        """The left side; indices in it are read."""
        if e.tag == "arraysel":
            name, indices = _root(e)
            if name in memories:
                memories[name].writes.add(";".join(_text(i) for i in indices))
                if not all(_constant(i) for i in indices):
                    whole.add(name)
            for index in indices:
                reads(index, False)
            return
        for i, child in enumerate(e):
            target(child, whole) if i == 0 or e.tag == "concat" else reads(child, False)

    kept = set()

    def statement(e, clocked):
        if e.tag in ("always", "alwayspublic"):
            clocked = e.find("sentree") is not None
        if e.tag in ("assigndly", "assign", "contassign", "assignw", "assignalias"):
            right, left = e[0], e[-1]
            direct = e.tag == "assigndly" and _is_wire(right)
            reads(right, direct)
            target(left, kept if clocked else set())
            return
        if e.tag == "arraysel":
            reads(e, False)
            return
        for child in e:
            statement(child, clocked)

    for e in module:
        if e.tag != "var":
            statement(e, False)
    return kept


def memories_of(tree):
    """All memories of an elaborated design, by module and name."""
    netlist = tree.getroot().find("netlist")
    types = Types(netlist.find("typetable"))
    places = collections.Counter(c.get("submodname") for c in tree.getroot().find("cells").iter("cell"))
    found = {}
    for module in netlist.findall("module"):
        arrays = {}
        for var in module.iter("var"):
            shape = types.words(var.get("dtype_id")) if var.get("dir") is None else None
            if shape and not var.get("param") and not var.get("localparam"):
                arrays[var.get("name")] = Memory(module.get("origName"), var.get("origName"), *shape)
        if not arrays:
            continue
        for name in _walk(module, arrays):
            memory = arrays[name]
            memory.places = places[module.get("name")]
            found[module.get("name"), name] = memory
    return list(found.values())


def owners_of(tree):
    """Where each elaborated module stands: {module: [(module that has it, name of the instance)]}."""
    root = tree.getroot()
    owner = {}

    def visit(cell, above):
        for child in cell.findall("cell"):
            owner.setdefault(child.get("submodname"), []).append((above, child.get("name")))
            visit(child, child.get("submodname"))

    for cell in root.find("cells").findall("cell"):
        visit(cell, cell.get("submodname"))
    return owner


def elaborate(top, arguments):
    """Verilator's tree of the design."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "rtl.xml"
        run = subprocess.run(
            ["verilator", "--xml-only", "--xml-output", str(out), "-Wno-fatal", "-Werror-USERERROR",
             "--top-module", top]
            + arguments, check=False, capture_output=True, text=True)
        if run.returncode != 0:
            raise Bad(f"verilator --xml-only ended with {run.returncode}:\n{run.stderr}")
        return ET.parse(out)


def judge(memories):
    """What is wrong, as sentences."""
    large = {m.key for m in memories if m.module not in WRAPPERS and not m.small}
    return [f"{key}: a memory of more than {WORDS} words and {BITS} bits or more, in none of "
            f"rtl-model/memories: {', '.join(WRAPPERS)}" for key in sorted(large)]


def _whose(above, name, by_module, owners):
    """The block that has the memory `name` of the module `above`: of a queue, who has the queue."""
    if by_module[above] == "ram_fifo":
        above, name = owners[above][0]
    return by_module[above], name


def rows(tree, memories):
    """(module, name, words, bits, places, writes, registered, combinational, kind), largest first."""
    owners = owners_of(tree)
    table = []
    by_module = {m.get("name"): m.get("origName") for m in tree.getroot().find("netlist").findall("module")}
    for module in tree.getroot().find("netlist").findall("module"):
        kind = module.get("origName")
        if kind not in WRAPPERS:
            continue
        parameters = {v.get("origName"): _number(v.find("const").get("name"))
                      for v in module.findall("var") if v.get("param") and v.find("const") is not None}
        places = collections.Counter(_whose(above, name, by_module, owners)
                                     for above, name in owners.get(module.get("name"), []))
        for (above, name), count in places.items():
            readers = str(parameters.get("READERS", 1))
            reads = ("-", readers) if kind == "lut_ram_nr1w" else (readers, "-")
            table.append((above, name, parameters["DEPTH"], parameters["WIDTH"], count, "1", *reads, kind))
    for m in memories:
        if m.module not in WRAPPERS:
            table.append((m.module, m.name, m.words, m.bits, m.places, str(len(m.writes)),
                          str(len(m.registered)), str(len(m.combinational)),
                          "flip-flops" if m.small else "own"))
    return sorted(table, key=lambda r: (-r[2] * r[3] * r[4], r[0], r[1]))


def show(table):
    """Prints the table and what it sums up to."""
    head = ("module", "memory", "words", "bits", "places", "writes", "registered", "comb.", "kind")
    lines = [head] + [tuple(str(c) for c in r) for r in table]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    for line in lines:
        print("  ".join(c.ljust(w) if i < 2 or i == 8 else c.rjust(w)
                        for i, (c, w) in enumerate(zip(line, widths))).rstrip())
    total = collections.Counter()
    for r in table:
        total[r[8]] += r[2] * r[3] * r[4]
    print()
    for kind, bits in total.most_common():
        print(f"{kind:<12}{bits / 1024:>10.1f} Kibit  {100 * bits / sum(total.values()):5.1f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="print what is wrong only")
    parser.add_argument("--top", default="exrnic_core")
    arguments, verilator = parser.parse_known_args()
    try:
        tree = elaborate(arguments.top, verilator or ["-f", "rtl-model/rtl.f"])
        memories = memories_of(tree)
        wrong = judge(memories)
    except (Bad, OSError) as error:
        sys.exit(f"rtl-report: {error}")
    if not arguments.check:
        show(rows(tree, memories))
    for sentence in wrong:
        print(f"rtl-report: {sentence}", file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
