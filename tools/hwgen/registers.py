# SPDX-License-Identifier: BSD-2-Clause
"""The `registers` of rtl-model/spec/*.yaml; rtl-model/spec/README.md gives their form.

Whatever is wrong with one raises SpecError with file, register and value.
"""
from dataclasses import dataclass

from expression import SpecError, number

WORD = 4  # bytes
SPACE = 1 << 16  # bytes of the offsets
BITS = 8 * WORD
LIMITS = ("minimum", "maximum", "multiple")
# What may stand behind the meaning, and for which access.
KEYS = {"words": ("ro", "rw", "wo", "rw1c"), "reads": ("ro",), "parameter": ("ro",), "reset": ("rw",),
        "others": ("rw", "wo"), "enum": ("ro", "rw", "wo"), "flags": ("ro", "rw", "wo", "rw1c"),
        **{limit: ("rw", "wo") for limit in LIMITS}}
ACCESSES = KEYS["words"]


@dataclass
class Value:
    number: int
    text: str  # as it stands in the file
    name: str = ""  # of the constant or item that it is, if it is one


@dataclass
class Register:
    name: str
    offset: int
    access: str
    doc: str
    words: int = 1
    reads: Value = None
    parameter: str = ""  # of the RTL: the least of what it reads as in a smaller build
    reset: Value = None
    minimum: Value = None
    maximum: Value = None
    multiple: Value = None
    clamped: bool = False  # other values are taken as the nearest that is allowed, else ignored
    enum: object = None  # Named
    flags: object = None  # Named

    @property
    def end(self):
        return self.offset + self.words * WORD

    @property
    def plain(self):
        """Its line says all: what it reads as, or what it keeps."""
        return self.reads is not None or self.reset is not None

    @property
    def limited(self):
        return any(getattr(self, limit) for limit in LIMITS)

    @property
    def refuses(self):
        """There are values that a write leaves without effect."""
        return self.access != "ro" and bool(self.enum or self.limited) and not self.clamped

    @property
    def bits(self):
        """Of what it keeps."""
        if self.flags or self.enum:
            return (self.flags or self.enum).width
        return self.maximum.number.bit_length() if self.maximum else BITS

    @property
    def mask(self):
        """The bits of its flags."""
        return sum(1 << bit for _, bit, _ in self.flags.items)

    def takes(self, value):
        if self.flags:
            return value & ~self.mask == 0
        if self.enum:
            return value in [v for _, v, _ in self.enum.items]
        least = self.minimum.number if self.minimum else 0
        most = self.maximum.number if self.maximum else (1 << BITS) - 1
        step = self.multiple.number if self.multiple else 1
        return least <= value <= most and value % step == 0

    @property
    def values(self):
        """What it reads as or takes, in words; empty: the meaning says it."""
        if self.reads:
            return _shown(self.reads) + (" (in a smaller build less)" if self.parameter else "")
        if self.flags:
            return f"flags {self.flags.name}"
        if self.words > 1:
            return f"{self.words} registers"
        said = self._range()
        if self.clamped:
            return said + "; others are taken as the nearest"
        return said + ("; others are ignored" if self.refuses else "")

    def _range(self):
        said = []
        if self.enum:
            said.append(f"enum {self.enum.name}")
        if self.minimum and self.maximum:
            said.append(f"{_shown(self.minimum)} to {_shown(self.maximum)}")
        elif self.minimum:
            said.append(f"at least {_shown(self.minimum)}")
        elif self.maximum:
            said.append(f"at most {_shown(self.maximum)}")
        if self.multiple:
            said.append(f"a multiple of {_shown(self.multiple)}")
        return ", ".join(said)

    @property
    def after_reset(self):
        """In words; empty: the meaning says it."""
        return _shown(self.reset) if self.reset else ""

    @property
    def comment(self):
        return f"{self.access}: {self.doc}" + (f"; {self.values}" if self.values else "")


def _shown(value):
    return value.name or value.text


class Loader:
    def __init__(self, files, numbers):
        """`files`: all, for what registers name; `numbers`: what an expression may name."""
        self.numbers = numbers
        self.constants = {n for f in files for n, _, _ in f.constants}
        self.kinds = {"enum": {e.name: e for f in files for e in f.enums},
                      "flags": {x.name: x for f in files for x in f.flags}}
        self.spaces = {}  # name to the registers in it
        self.names = {}  # to the file

    def load(self, stem, spaces):
        """`spaces`: lists of registers, by where their offsets count."""
        return [self._register(f"{stem}.yaml: registers: {raw[0]}", stem, self.spaces.setdefault(space, []), raw)
                for space, lines in spaces.items() for raw in lines]

    def _register(self, where, stem, others, raw):
        name, offset, access, doc = raw[:4]
        said = raw[4] if len(raw) > 4 else {}
        if access not in ACCESSES:
            raise SpecError(f"{where}: access '{access}': write one of {', '.join(ACCESSES)}")
        for key in said:
            if access not in KEYS.get(key, ()):
                raise SpecError(f"{where}: '{key}' cannot be said of {access}")
        r = Register(name, offset, access, doc)
        r.words = number(f"{where}: words", said.get("words", 1), self.numbers)
        r.parameter = said.get("parameter", "")
        for kind, named in self.kinds.items():
            if kind in said and said[kind] not in named:
                raise SpecError(f"{where}: there is no {kind} '{said[kind]}'")
            setattr(r, kind, named.get(said.get(kind)))
        for key in ("reads", "reset", *LIMITS):
            if key in said:
                setattr(r, key, self._value(f"{where}: {key}", said[key], r.enum))
        if said.get("others", "clamped") != "clamped":
            raise SpecError(f"{where}: others '{said['others']}': write clamped, or nothing if they are ignored")
        r.clamped = "others" in said
        self._check(where, r)
        self._place(where, stem, others, r)
        return r

    def _value(self, where, text, enum):
        """A number, an expression, or an item of `enum`."""
        items = {f"{enum.name}_{n}".upper(): v for n, v, _ in enum.items if n == text} if enum else {}
        name, value = next(iter(items.items()), (text, None))
        if value is None:
            value = number(where, text, self.numbers)
        if not 0 <= value < 1 << BITS:
            raise SpecError(f"{where}: {value} has more than {BITS} bits")
        return Value(value, str(text), name if items or text in self.constants else "")

    def _check(self, where, r):
        if r.words < 1 or (r.words > 1 and (r.plain or r.refuses or r.clamped)):
            raise SpecError(f"{where}: {r.words} words: what they hold is kept by hand")
        if sum(map(bool, (r.flags, r.enum, r.limited))) > 1:
            raise SpecError(f"{where}: flags, an enum or limits, but one of them")
        if r.bits > BITS:
            raise SpecError(f"{where}: {r.values}: {r.bits} bits do not fit in {BITS}")
        if r.clamped and (r.multiple or not r.limited):
            raise SpecError(f"{where}: nothing is the nearest: give minimum or maximum, and no multiple")
        if r.multiple and r.multiple.number < 1:
            raise SpecError(f"{where}: multiple {r.multiple.number}")
        if r.minimum and r.maximum and r.minimum.number > r.maximum.number:
            raise SpecError(f"{where}: {r.values}: that is nothing")
        if r.parameter and not r.reads:
            raise SpecError(f"{where}: parameter '{r.parameter}' of what it reads as, which is not said")
        if r.reset and not r.takes(r.reset.number):
            raise SpecError(f"{where}: reset {_shown(r.reset)} = {r.reset.number} is none of: {r.values}")

    def _place(self, where, stem, others, r):
        if r.name in self.names:
            raise SpecError(f"{where}: is already in {self.names[r.name]}.yaml")
        self.names[r.name] = stem
        if r.offset % WORD or not 0 <= r.offset <= SPACE - r.words * WORD:
            raise SpecError(f"{where}: 0x{r.offset:03x} is no place for {r.words} words")
        for other in others:
            if r.offset < other.end and other.offset < r.end:
                raise SpecError(f"{where}: 0x{r.offset:03x} to 0x{r.end - 1:03x} overlaps {other.name}, "
                                f"0x{other.offset:03x} to 0x{other.end - 1:03x}")
        others.append(r)
