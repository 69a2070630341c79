# SPDX-License-Identifier: BSD-2-Clause
"""Tests of what hwgen makes of properties, and what it says of wrong ones.

    python3 -m unittest discover -s tools/hwgen -p '*_test.py'
"""

import pathlib
import tempfile
import unittest

import emit_c
import emit_sv
import spec

_SPEC = """
doc: A test.
enums:
  kind:
    width: 4
    each: true
    doc: Kinds.
    values:
      low: [0, "Low"]
      high: [9, "High"]
  operation:
    width: 8
    doc: Operations.
    properties:
      kind: [kind, "Its kind"]
      small: [1, "It is small"]
      level: [3, "Its level"]
      payload: [bytes, "What follows"]
    values:
      first: [1, "First", {PROPERTIES}]
      second: [3, "Second", {small: true}]
      last: [200, "Has none"]
structs:
  body:
    bytes: 12
    order: big
    doc: A body.
    fields:
      - [field, 0, 32, "Field"]
"""


class Properties(unittest.TestCase):
    def load(self, properties):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        text = _SPEC.replace("PROPERTIES", properties)
        (pathlib.Path(folder.name) / "test.yaml").write_text(text)
        return spec.load(folder.name)

    def error(self, properties):
        with self.assertRaises(spec.SpecError) as raised:
            self.load(properties)
        return str(raised.exception)

    def test_c_and_systemverilog_have_the_same_of_each_item(self):
        files = self.load("kind: high, level: 5, payload: body")
        c = emit_c.emit(files)
        for row in ("{0, 0, 0, 0},  // none", "{9, 0, 5, 12},  // first", "{0, 1, 0, 0},  // second"):
            self.assertIn(row, c)
        self.assertIn("case EXRNIC_OPERATION_SECOND: return of[2];", c)
        self.assertNotIn("EXRNIC_OPERATION_LAST:", c)
        self.assertIn('EACH(DO) \\\n  DO(LOW, "Low") \\\n  DO(HIGH, "High")\n', c)
        sv = emit_sv.emit_package(files)
        for line in ("of.kind = KIND_HIGH;", "of.level = 3'd5;", "of.payload = 8'd12;",
                     "of.small = 1'd1;"):
            self.assertIn(line, sv)
        self.assertNotIn("OPERATION_LAST: begin", sv)

    def test_what_a_property_cannot_be_is_refused_by_file_item_and_value(self):
        for properties, says in (
                ("large: true", "test.yaml: enums: operation: first: there is no property 'large'"),
                ("kind: middle", "first: kind: 'middle' is none of kind"),
                ("level: 8", "first: level: 8 is no number of 3 bits"),
                ("payload: head", "first: payload: 'head' is no structure"),
                ("small: no", None)):
            with self.subTest(properties):
                if says is None:
                    self.load(properties)  # no: zero
                else:
                    self.assertIn(says, self.error(properties))

    def test_a_property_of_an_enum_that_does_not_exist_is_refused(self):
        text = _SPEC.replace("PROPERTIES", "").replace("kind: [kind,", "kind: [sort,")
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "test.yaml").write_text(text)
            with self.assertRaisesRegex(spec.SpecError, "property kind: 'sort' is no number of bits"):
                spec.load(folder)


class Rounded(unittest.TestCase):
    def load(self, to):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "test.yaml").write_text(
                "doc: A test.\nconstants:\n  SLICE: [4, \"Slice\"]\n"
                f"rounded:\n  places:\n    doc: Places.\n    to: {to}\n")
            return spec.load(folder)

    def test_c_and_systemverilog_round_to_the_same(self):
        files = self.load("[0, SLICE, 2 * SLICE]")
        for line in ("exrnic_places(uint32_t value) {", "if (value <= 4) return 4;\n  return 8;"):
            self.assertIn(line, emit_c.emit(files))
        for line in ("places(logic [31:0] value);", "if (value <= 32'h4) return 32'h4;\n    return 32'h8;"):
            self.assertIn(line, emit_sv.emit_package(files))

    def test_what_does_not_rise_is_refused(self):
        for to in ("[0, 8, SLICE]", "[4, SLICE]", "[]"):
            with self.subTest(to), self.assertRaisesRegex(spec.SpecError, "rounded: places: .* do not rise"):
                self.load(to)


if __name__ == "__main__":
    unittest.main()
