# SPDX-License-Identifier: BSD-2-Clause
"""Loads rtl-model/spec/*.yaml into checked objects that the emitters read.

A file may hold `constants`, `rounded`, `enums`, `flags`, `structs`, `registers`, `counters` and `trace`;
rtl-model/spec/README.md gives their form. Whatever is wrong in one raises SpecError with file, item and value.
"""
from dataclasses import dataclass, field
from pathlib import Path

import yaml

import registers
from expression import SpecError, number


@dataclass
class Field:
    name: str
    first_bit: int  # position of its first bit, counted from byte 0; from the MSB where big-endian
    bits: int
    doc: str

    @property
    def byte(self):
        return self.first_bit // 8


@dataclass
class Struct:
    name: str
    size: int  # bytes
    big: bool
    doc: str
    fields: list

    def with_gaps(self):
        """Fields in order, with (None, bit, bits) where none is declared."""
        at = 0
        for f in self.fields:
            if f.first_bit > at:
                yield None, at, f.first_bit - at
            yield f, f.first_bit, f.bits
            at = f.first_bit + f.bits
        if at < self.size * 8:
            yield None, at, self.size * 8 - at


@dataclass
class Named:
    """An enum (values) or a set of flags (bit numbers)."""
    name: str
    doc: str
    items: list  # of (name, value, doc)
    width: int = 0
    table: bool = False  # software wants names and meanings of the values
    each: bool = False  # software wants a macro of each
    properties: list = field(default_factory=list)  # of Property
    prefix: str = ""  # of its items, if it is not the name

    def with_properties(self):
        """(name, value) of each item that has any."""
        return [(name, value) for name, value, _ in self.items
                if any(name in p.values for p in self.properties)]


@dataclass
class Property:
    """What is true of the items of an enum."""
    name: str
    bits: int
    doc: str
    enum: str  # whose items its values are; or empty
    values: dict  # item to number; of the others: zero
    words: dict = field(default_factory=dict)  # item to what stands in the file

    def shown(self, item):
        return self.name if self.bits == 1 else f"{self.name}: {self.words[item]}"


@dataclass
class Rounded:
    """A number that is rounded up, to one of a few."""
    name: str
    doc: str
    to: list  # from the least one on


@dataclass
class File:
    stem: str
    doc: str
    constants: list = field(default_factory=list)  # of (name, value, doc)
    rounded: list = field(default_factory=list)  # of Rounded
    enums: list = field(default_factory=list)
    flags: list = field(default_factory=list)
    structs: list = field(default_factory=list)
    registers: list = field(default_factory=list)  # of registers.Register
    counters: list = field(default_factory=list)  # of (name, doc)
    trace: list = field(default_factory=list)  # of (name, track, doc)


def _place(where, at):
    """'12', 12 or '12.3' to a bit number."""
    byte, _, bit = str(at).partition(".")
    if not (byte.isdigit() and (bit or "0").isdigit() and int(bit or 0) < 8):
        raise SpecError(f"{where}: '{at}' is no place: write BYTE or BYTE.BIT")
    return int(byte) * 8 + int(bit or 0)


def _struct(stem, name, raw):
    where = f"{stem}.yaml: structs: {name}"
    if raw.get("order") not in ("little", "big"):
        raise SpecError(f"{where}: order '{raw.get('order')}': write little or big")
    big = raw["order"] == "big"
    fields, end = [], 0
    for fname, at, bits, doc in raw["fields"]:
        first = _place(f"{where}: {fname}", at)
        if first < end:
            raise SpecError(f"{where}: {fname} at {at} overlaps the field before it")
        if not big and (bits not in (8, 16, 32, 64) or first % bits):
            raise SpecError(f"{where}: {fname}: {bits} bits at {at} is no aligned C integer")
        fields.append(Field(fname, first, bits, doc))
        end = first + bits
    if end > raw["bytes"] * 8:
        raise SpecError(f"{where}: fields end at bit {end}, beyond its {raw['bytes']} bytes")
    return Struct(name, raw["bytes"], big, raw["doc"], fields)


def _flags(name, raw):
    bits = [(n, b[0], b[1]) for n, b in raw["bits"].items()]
    return Named(name, raw["doc"], bits, 1 + max(bit for _, bit, _ in bits))


def _enum(stem, name, raw, known):
    items = [(k, v[0], v[1]) for k, v in raw["values"].items()]
    for item, value, _ in items:
        if value >> raw["width"]:
            raise SpecError(f"{stem}.yaml: enums: {name}: {item} = {value} exceeds {raw['width']} bits")
    if len({value for _, value, _ in items}) != len(items):
        raise SpecError(f"{stem}.yaml: enums: {name}: a value stands twice")
    return Named(name, raw["doc"], items, raw["width"], raw.get("table", False),
                 raw.get("each", False), _properties(f"{stem}.yaml: enums: {name}", raw, known))


def _properties(where, raw, known):
    """`known`: enums and structs of the files and lines before, by name."""
    properties = []
    for name, (kind, doc) in raw.get("properties", {}).items():
        enum = known.get(kind) if kind != "bytes" else None
        if not (isinstance(kind, int) or kind == "bytes" or isinstance(enum, Named)):
            raise SpecError(f"{where}: property {name}: '{kind}' is no number of bits, no enum before "
                            "this one and not bytes")
        bits = enum.width if enum else 8 if kind == "bytes" else kind
        properties.append(Property(name, bits, doc, enum.name if enum else "", {}))
    by_name = {p.name: p for p in properties}
    for item, entry in raw["values"].items():
        for name, value in (entry[2] if len(entry) > 2 else {}).items():
            if name not in by_name:
                raise SpecError(f"{where}: {item}: there is no property '{name}'")
            kind = raw["properties"][name][0]
            by_name[name].values[item] = _property(f"{where}: {item}: {name}", kind, value, known)
            by_name[name].words[item] = value
    return properties


def _property(where, kind, value, known):
    """A number: as it stands, the value of an enum's item, or the size of a structure."""
    if kind == "bytes":
        if not isinstance(known.get(value), Struct):
            raise SpecError(f"{where}: '{value}' is no structure")
        return known[value].size
    if not isinstance(kind, int):
        number = next((v for n, v, _ in known[kind].items if n == value), None)
        if number is None:
            raise SpecError(f"{where}: '{value}' is none of {kind}")
        return number
    if not isinstance(value, int) or int(value) >> kind:
        raise SpecError(f"{where}: {value} is no number of {kind} bits")
    return int(value)


def _trace(stem, events, enums):
    tracks = next(([n for n, _, _ in e.items] for e in enums if e.name == "trace_track"), [])
    for name, track, _ in events:
        if track not in tracks:
            raise SpecError(f"{stem}.yaml: trace: {name}: '{track}' is no trace_track")
    return [tuple(e) for e in events]


def _rounded(where, name, raw, numbers):
    to = [number(f"{where}: rounded: {name}", text, numbers) for text in raw["to"]]
    if not to or to != sorted(set(to)):
        raise SpecError(f"{where}: rounded: {name}: {to} do not rise")
    return Rounded(name, raw["doc"], to)


def numbers_of(files):
    """What an expression may name: constants, sizes of structures, how many counters there are."""
    numbers = {n: v for f in files for n, v, _ in f.constants}
    numbers.update({f"{s.name.upper()}_BYTES": s.size for f in files for s in f.structs})
    numbers["COUNTERS"] = sum(len(f.counters) for f in files)
    return numbers


def load(folder):
    """All files of `folder`, sorted by name; every name is unique across them."""
    files, seen, known, spaces, rounded = [], {}, {}, {}, {}
    for path in sorted(Path(folder).glob("*.yaml")):
        raw = yaml.safe_load(path.read_text())
        unknown = set(raw) - set(File.__dataclass_fields__)
        if unknown:
            raise SpecError(f"{path.name}: unknown section '{unknown.pop()}'")
        f = File(path.stem, raw["doc"])
        f.constants = [(k, v[0], v[1]) for k, v in raw.get("constants", {}).items()]
        f.flags = [_flags(k, v) for k, v in raw.get("flags", {}).items()]
        f.structs = [_struct(path.stem, k, v) for k, v in raw.get("structs", {}).items()]
        known.update({s.name: s for s in f.structs})
        for name, enum in raw.get("enums", {}).items():
            f.enums.append(_enum(path.stem, name, enum, known))
            known[name] = f.enums[-1]
        spaces[f.stem] = raw.get("registers", {})
        rounded[f.stem] = raw.get("rounded", {})
        f.counters = [tuple(c) for c in raw.get("counters", [])]
        f.trace = _trace(path.stem, raw.get("trace", []), f.enums)
        for name in [c[0] for c in f.constants] + list(rounded[f.stem]) + \
                [x.name for x in f.enums + f.flags + f.structs]:
            if name in seen:
                raise SpecError(f"{path.name}: '{name}' is already in {seen[name]}")
            seen[name] = path.name
        files.append(f)
    if not files:
        raise SpecError(f"no *.yaml in {folder}")
    # They name constants, enums and flags of any file.
    numbers = numbers_of(files)
    loader = registers.Loader(files, numbers)
    for f in files:
        f.rounded = [_rounded(f"{f.stem}.yaml", k, v, numbers) for k, v in rounded[f.stem].items()]
        f.registers = loader.load(f.stem, spaces[f.stem])
    return files
