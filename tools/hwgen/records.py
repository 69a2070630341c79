# SPDX-License-Identifier: BSD-2-Clause
"""Loads rtl-model/spec/blocks/*.yaml: what the blocks of the core hand to each other.

A file may hold `constants`, `types`, `enums` and `records`; rtl-model/spec/README.md gives their
form. Whatever is wrong in one raises SpecError with file, item and value.
"""
import re
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from expression import SpecError, number
from spec import Named, numbers_of


@dataclass
class Constant:
    name: str
    value: int
    doc: str
    macro: str = ""  # by which a build may say another value
    text: str = ""  # of what such a value is part of


@dataclass
class Type:
    """Bits that have a name, or bytes: `order` says which of them stands in the top bits."""
    name: str
    bits: int
    doc: str = ""
    order: str = ""  # wire: the first byte on the wire; memory: the last byte in memory
    size: str = ""  # how many bytes, or bits without an order, where a build may say another number


@dataclass
class Member:
    name: str
    of: object  # Type (without a name: of this field alone), Named or Record
    doc: str
    default: str = ""  # ENUM.ITEM, for tests; else zero


@dataclass
class Record:
    name: str
    doc: str
    members: list

    @property
    def bits(self):
        return sum(bits_of(m.of) for m in self.members)


@dataclass
class File:
    stem: str
    doc: str
    constants: list = field(default_factory=list)
    types: list = field(default_factory=list)
    enums: list = field(default_factory=list)
    records: list = field(default_factory=list)


def bits_of(kind):
    return kind.width if isinstance(kind, Named) else kind.bits


class _Loader:
    def __init__(self, files):
        """`files`: the numbers that software shares, of spec.load()."""
        self.numbers = numbers_of(files)
        self.open = set()  # constants that depend on what a build says
        self.kinds = {e.name: e for f in files for e in f.enums}
        self.kinds.update({s.name: Type(s.name, 8 * s.size, order="wire" if s.big else "memory")
                           for f in files for s in f.structs})

    def number(self, where, text):
        return number(where, text, self.numbers)

    def is_open(self, text):
        return any(word in self.open for word in re.findall(r"\w+", str(text)))

    def constant(self, where, name, value, doc, macro=""):
        if name in self.numbers:
            raise SpecError(f"{where}: '{name}' is a constant already")
        self.numbers[name] = self.number(f"{where}: {name}", value)
        text = value if self.is_open(value) else ""
        if macro or text:
            self.open.add(name)
        return Constant(name, self.numbers[name], doc, macro, text)

    def type(self, where, name, text, doc=""):
        """BITS, or 'wire BYTES' or 'memory BYTES'."""
        order, _, size = str(text).partition(" ")
        if order in ("wire", "memory"):
            return Type(name, 8 * self.number(where, size), doc, order, size if self.is_open(size) else "")
        return Type(name, self.number(where, text), doc, "", text if self.is_open(text) else "")

    def member(self, where, name, kind, doc="", default=""):
        if kind not in self.kinds:
            return Member(name, self.type(f"{where}: {name}", "", kind), doc, default)
        return Member(name, self.kinds[kind], doc, default)

    def add(self, where, kind):
        if kind.name in self.kinds:
            raise SpecError(f"{where}: '{kind.name}' stands twice")
        if bits_of(kind) < 1:
            raise SpecError(f"{where}: {kind.name} has {bits_of(kind)} bits")
        self.kinds[kind.name] = kind
        return kind

    def enum(self, where, name, raw):
        items = [(item, *entry, "")[:3] for item, entry in raw["values"].items()]
        for item, value, _ in items:
            if value >> raw["width"]:
                raise SpecError(f"{where}: {name}: {item} = {value} exceeds {raw['width']} bits")
        return self.add(where, Named(name, raw["doc"], items, raw["width"],
                                     prefix=raw.get("prefix", name)))

    def load(self, path):
        raw = yaml.safe_load(path.read_text())
        unknown = set(raw) - set(File.__dataclass_fields__)
        if unknown:
            raise SpecError(f"{path.name}: unknown section '{unknown.pop()}'")
        f = File(path.stem, raw["doc"])
        where = f"blocks/{path.name}"
        for name, entry in raw.get("constants", {}).items():
            f.constants.append(self.constant(where, name, *entry))
        for name, entry in raw.get("types", {}).items():
            f.types.append(self.add(where, self.type(f"{where}: {name}", name, *entry)))
        for name, entry in raw.get("enums", {}).items():
            f.enums.append(self.enum(where, name, entry))
            if "count" in entry:
                f.constants.append(Constant(entry["count"], len(entry["values"]), f"Items of {name}"))
        return f, raw.get("records", {})

    def records(self, f, raw):
        for name, entry in raw.items():
            where = f"blocks/{f.stem}.yaml: records: {name}"
            members = [self.member(where, *m) for m in entry["fields"]]
            f.records.append(self.add(where, Record(name, entry["doc"], members)))


def load(folder, files):
    """All files of `folder`. Constants, types and enums of all come before the records of any."""
    loader = _Loader(files)
    paths = sorted(Path(folder).glob("*.yaml"), key=lambda p: (p.stem != "types", p.stem))
    loaded = [loader.load(path) for path in paths]
    for f, raw in loaded:
        loader.records(f, raw)
    return [f for f, _ in loaded]
