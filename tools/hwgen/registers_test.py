# SPDX-License-Identifier: BSD-2-Clause
"""Tests of what hwgen makes of registers, and what it says of wrong ones."""

import pathlib
import tempfile
import unittest

import emit_c
import emit_doc
import emit_registers
import emit_sv
import spec

_SPEC = """
doc: A test.
constants:
  MAGIC: [0x12345678, "Magic"]
  SIZE: [64, "Entries"]
  SIZE_MIN: [16, "Fewest"]
  PATIENCE: [100, "Cycles"]
enums:
  mode:
    width: 2
    doc: Modes.
    values:
      idle: [0, "Idle"]
      busy: [2, "Busy"]
flags:
  power:
    doc: Power.
    bits:
      low: [0, "Low"]
      high: [3, "High"]
registers:
  here:
    - [ID, 0x00, ro, "Who", {reads: MAGIC}]
    - [ENTRIES, 0x04, ro, "Entries", {reads: SIZE, parameter: N}]
    - [WAIT, 0x08, rw, "Cycles", {reset: PATIENCE, minimum: 10, maximum: "1000 - 1", others: clamped}]
    - [LENGTH, 0x0c, rw, "Bytes", {reset: "2 * SIZE_MIN", minimum: SIZE_MIN, maximum: SIZE, multiple: 4}]
    - [MODE, 0x10, rw, "How", {enum: mode, reset: busy}]
    - [POWER, 0x14, rw, "Power", {flags: power, reset: 1}]
    - [CAUSE, 0x18, rw1c, "Why", {flags: power}]
    - [TABLE, 0x20, rw, "Entries", {words: SIZE // 8}]
    - [VECTOR, 0x40, rw, "Vector", {maximum: 7}]
  there:
    - [OTHER, 0x00, wo, "Elsewhere"]
"""


class Registers(unittest.TestCase):
    def load(self, old="", new="", behind=""):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.assertIn(old, _SPEC)
        text = _SPEC.replace(old, new, 1) if old else _SPEC
        (pathlib.Path(folder.name) / "test.yaml").write_text(text)
        if behind:
            (pathlib.Path(folder.name) / "zone.yaml").write_text("doc: B.\nregisters:\n  here:\n    - " + behind)
        return spec.load(folder.name)

    def lines(self, text, *lines):
        for line in lines:
            self.assertIn(line, text)

    def test_what_a_line_says_all_of_is_kept_and_read_in_both_languages(self):
        files = self.load()
        sv = emit_registers.emit_sv(files[0])
        self.lines(sv, "module plain_test", "import exrnic_records_pkg::*;",
                   "output logic [9:0] wait_o,", "output logic [6:0] length_o,", "output mode_e mode_o,",
                   "output logic [3:0] power_o,",
                   "wait_o <= 10'(PATIENCE);", "length_o <= 7'd32;", "mode_o <= MODE_BUSY;", "power_o <= 4'd1;",
                   "REG_WAIT: wait_o <= 10'(data_i < 32'd10 ? 32'd10 : data_i > 32'd999 ? 32'd999 : data_i);",
                   "REG_LENGTH: if (takes_length(data_i)) length_o <= data_i[6:0];",
                   "REG_MODE: if (takes_mode(data_i)) mode_o <= mode_e'(data_i[1:0]);",
                   "REG_POWER: power_o <= data_i[3:0] & 4'h9;",
                   "REG_ID: value_o = MAGIC;", "REG_ENTRIES: value_o = N;", "REG_LENGTH: value_o = 32'(length_o);")
        cc = emit_registers.emit_cc(files)
        self.lines(cc, "struct PlainTest {", "uint32_t wait = EXRNIC_PATIENCE;", "uint32_t length = 32;",
                   "uint32_t mode = EXRNIC_MODE_BUSY;",
                   "        wait = value < 10 ? 10 : value > 999 ? 999 : value;",
                   "        if (takes_length(value)) length = value;", "        power = value & 0x9u;",
                   "        return EXRNIC_MAGIC;", "uint32_t entries = EXRNIC_SIZE;", "        return entries;", "        return length;")
        for by_hand in ("CAUSE", "TABLE", "VECTOR", "OTHER"):
            self.assertNotIn(f"REG_{by_hand}:", sv)
            self.assertNotIn(f"case EXRNIC_REG_{by_hand}:", cc)

    def test_what_is_taken_and_how_far_it_reaches_is_said_of_all(self):
        files = self.load()
        sv = emit_sv.emit_package(files)
        self.lines(sv, "return value >= SIZE_MIN && value <= SIZE && value % 32'd4 == '0;",
                   "return value == 32'(MODE_IDLE) || value == 32'(MODE_BUSY);",
                   "function automatic logic takes_vector(logic [31:0] value);\n    return value <= 32'd7;",
                   "function automatic logic in_table(logic [15:0] address);\n    return address inside {[16'h20 : 16'h3f]};")
        cc = emit_registers.emit_cc(files)
        self.lines(cc, "return value >= EXRNIC_SIZE_MIN && value <= EXRNIC_SIZE && value % 4 == 0;",
                   "return value == EXRNIC_MODE_IDLE || value == EXRNIC_MODE_BUSY;", "return value <= 7;",
                   "return offset >= EXRNIC_REG_TABLE && offset < 0x40;")
        for text in (sv, cc):
            self.assertNotIn("takes_wait", text)
            self.assertNotIn("takes_power", text)

    def test_people_are_told_what_is_taken_and_what_it_is_after_reset(self):
        files = self.load()
        self.lines(emit_doc.emit(files), "| `ID` | 0x000 | ro |  | MAGIC | Who |",
                   "| `LENGTH` | 0x00c | rw | 2 * SIZE_MIN | SIZE_MIN to SIZE, a multiple of 4; others are ignored | Bytes |",
                   "| `WAIT` | 0x008 | rw | PATIENCE | 10 to 1000 - 1; others are taken as the nearest | Cycles |",
                   "| `MODE` | 0x010 | rw | MODE_BUSY | enum mode; others are ignored | How |",
                   "| `CAUSE` | 0x018 | rw1c |  | flags power | Why |",
                   "| `TABLE` | 0x020 | rw |  | 8 registers | Entries |")
        self.lines(emit_c.emit(files), "#define EXRNIC_REG_VECTOR 0x040  // rw: Vector; at most 7; others are ignored")

    def test_a_wrong_one_is_refused_by_its_name(self):
        for old, new, says in (
                ("reads: MAGIC", "reads: MAGIK", "ID: reads: 'MAGIK'"),
                ("reset: PATIENCE", "reset: PATIENZ", "WAIT: reset: 'PATIENZ'"),
                ("maximum: 7", "maximum: MOST", "VECTOR: maximum: 'MOST'"),
                ("maximum: 7", "maximum: SIZE / 3", "VECTOR: maximum: 'SIZE / 3': 21.3.* is no whole number"),
                ("maximum: 7", "maximum: SIZE // 0", "VECTOR: maximum: 'SIZE // 0': .*zero"),
                ("maximum: 7", "maximum: SIZE << -1", "VECTOR: maximum: 'SIZE << -1': negative"),
                ("words: SIZE // 8", "words: SIZES", "TABLE: words: 'SIZES'"),
                ("enum: mode", "enum: mood", "MODE: there is no enum 'mood'"),
                ("flags: power, reset", "flags: pover, reset", "POWER: there is no flags 'pover'"),
                ('"2 * SIZE_MIN"', "SIZE + 4", r"LENGTH: reset SIZE \+ 4 = 68 is none of: SIZE_MIN to SIZE"),
                ('"2 * SIZE_MIN"', "SIZE_MIN - 4", "LENGTH: reset SIZE_MIN - 4 = 12 is none"),
                ('"2 * SIZE_MIN"', "SIZE_MIN + 1", "LENGTH: reset .* = 17 is none"),
                ("reset: PATIENCE", "reset: 1", "WAIT: reset 1 = 1 is none of: 10 to 1000 - 1"),
                ("reset: busy", "reset: 1", "MODE: reset 1 = 1 is none of: enum mode"),
                ("reset: busy", "reset: lazy", "MODE: reset: 'lazy'"),
                ("reset: 1", "reset: 2", "POWER: reset 2 = 2 is none of: flags power"),
                ("maximum: 7", "maximum: 1 << 32", "VECTOR: maximum: 4294967296 has more than 32 bits"),
                ("reads: MAGIC", "reads: MAGIC * 16", "ID: reads: .* has more than 32 bits"),
                ("high: [3", "high: [32", "POWER: flags power: 33 bits do not fit in 32"),
                ("[CAUSE, 0x18", "[CAUSE, 0x14", "CAUSE: 0x014 to 0x017 overlaps POWER, 0x014 to 0x017"),
                ("[VECTOR, 0x40", "[VECTOR, 0x3c", "VECTOR: 0x03c to 0x03f overlaps TABLE, 0x020 to 0x03f"),
                ("[VECTOR, 0x40", "[VECTOR, 0x42", "VECTOR: 0x042 is no place"),
                ("[VECTOR, 0x40", "[VECTOR, 0x10000", "VECTOR: 0x10000 is no place"),
                ("[VECTOR,", "[MODE,", "MODE: is already in test.yaml"),
                ("0x00, ro", "0x00, read", "ID: access 'read'"),
                ("0x00, ro", "0x00, rw", "ID: 'reads' cannot be said of rw"),
                ("maximum: 7", "most: 7", "VECTOR: 'most' cannot be said of rw"),
                ("others: clamped", "others: ignored", "WAIT: others 'ignored'"),
                ("{maximum: 7}", "{others: clamped}", "VECTOR: nothing is the nearest"),
                ("multiple: 4", "multiple: 4, others: clamped", "LENGTH: nothing is the nearest"),
                ("{maximum: 7}", "{minimum: 8, maximum: 7}", "VECTOR: 8 to 7; .* that is nothing"),
                ("multiple: 4", "multiple: 0", "LENGTH: multiple 0"),
                ("words: SIZE // 8", "words: 2, reset: 0", "TABLE: 2 words: .* by hand"),
                ("{reads: SIZE, parameter", "{parameter", "ENTRIES: parameter 'N'"),
                ("{enum: mode,", "{enum: mode, maximum: 2,", "MODE: flags, an enum or limits")):
            with self.subTest(new), self.assertRaisesRegex(spec.SpecError, f"test.yaml: registers: {says}"):
                self.load(old, new)

    def test_registers_of_two_files_do_not_overlap_where_they_are_in_one_place(self):
        self.load(behind='[LATE, 0x44, ro, "Late"]')
        with self.assertRaisesRegex(spec.SpecError, "zone.yaml: registers: LATE: 0x024 .* overlaps TABLE"):
            self.load(behind='[LATE, 0x24, ro, "Late"]')
        with self.assertRaisesRegex(spec.SpecError, "zone.yaml: registers: OTHER: is already in test.yaml"):
            self.load(behind='[OTHER, 0x44, ro, "Late"]')


if __name__ == "__main__":
    unittest.main()
