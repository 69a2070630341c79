# SPDX-License-Identifier: BSD-2-Clause
"""Tests of what hwgen makes of records between blocks, and what it says of wrong ones."""

import pathlib
import re
import tempfile
import unittest

import emit_records
import records
import spec

_SPEC = """
doc: Shared.
constants:
  MAX_NODE: [5, "Nodes"]
enums:
  status:
    width: 8
    doc: Status.
    values:
      good: [0, "Good"]
      bad: [3, "Bad"]
structs:
  head:
    bytes: 6
    order: big
    doc: A header.
    fields:
      - [number, 0, 32, "Number"]
"""

_BLOCKS = """
doc: "Blocks."
constants:
  SLOTS: ["2 * MAX_NODE", "Slots"]
  WIDTH: [16, "Bits of a beat", A_WIDTH]
  BEAT_BYTES: ["WIDTH / 8", "Bytes of it"]
types:
  node: ["clog2(MAX_NODE)"]
  beat: ["memory BEAT_BYTES"]
  which: ["clog2(max(WIDTH, BEAT_BYTES))", "Of them"]
enums:
  kind:
    width: 2
    doc: "Kinds."
    prefix: the_kind
    count: KINDS
    values:
      small: [0]
      large: [1, "Large"]
records:
  inner:
    doc: "Inside."
    fields:
      - [node, node]
      - [kind, kind, "", kind.large]
  outer:
    doc: "Outside."
    fields:
      - [inner, inner]
      - [flag, 1, "A flag"]
      - [head, head]
      - [status, status, "", status.bad]
      - [other, kind]
      - [data, "memory SLOTS"]
      - [number, 64]
  on_its_way:
    doc: "As wide as a build says."
    fields:
      - [beat, beat]
      - [more, "wire BEAT_BYTES + 1"]
      - [which, which]
      - [next, "clog2(WIDTH) + 1"]
"""


class Records(unittest.TestCase):
    def load(self, old="", new=""):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = pathlib.Path(folder.name)
        (root / "blocks").mkdir()
        (root / "shared.yaml").write_text(_SPEC)
        self.assertIn(old, _BLOCKS)
        (root / "blocks/test.yaml").write_text(_BLOCKS.replace(old, new) if old else _BLOCKS)
        return records.load(root / "blocks", spec.load(root))

    def test_both_sides_have_the_same_fields_with_the_same_bits_in_the_same_order(self):
        files = self.load()
        outer = files[0].records[1]
        self.assertEqual(outer.bits, 3 + 2 + 1 + 48 + 8 + 2 + 80 + 64)
        sv, cc = emit_records.emit_sv(files), emit_records.emit_cc(files)
        members = [m.name for m in outer.members]
        self.assertEqual(re.findall(r"(\w+);", sv[sv.index("// Outside."):].split("}")[0]), members)
        shown = cc[cc.index("// Outside."):].split("void fields")[1].split("}")[0]
        self.assertEqual(re.findall(r"(?:visit|visit\.\w+)\((\w+)[,)]|(\w+)\.fields\(visit\)", shown),
                         [("", "inner"), ("flag", ""), ("head", ""), ("status", ""), ("other", ""), ("data", ""),
                          ("number", "")])
        for line in ("typedef logic [2:0] node_t;", "THE_KIND_LARGE = 2'd1", "logic [79:0] data;",
                     "head_t head;", "localparam int unsigned KINDS = 2;",
                     "localparam int unsigned SLOTS = 10;"):
            self.assertIn(line, sv)
        for line in ("Kind kind = kTheKindLarge;", "exrnic_status status = EXRNIC_STATUS_BAD;", "Kind other{};",
                     "visit(node, 3);", "visit.wire(head);", "std::array<uint8_t, 10> data{};",
                     "constexpr unsigned kKinds = 2;"):
            self.assertIn(line, cc)

    def test_a_build_may_say_how_wide_a_beat_is(self):
        files = self.load()
        self.assertEqual(files[0].records[2].bits, 16 + 24 + 4 + 5)
        sv, cc = emit_records.emit_sv(files), emit_records.emit_cc(files)
        self.assertIn("`ifdef A_WIDTH\n  localparam int unsigned WIDTH = `A_WIDTH;  // Bits of a beat\n`else\n"
                      "  localparam int unsigned WIDTH = 16;  // Bits of a beat\n`endif\n"
                      "  localparam int unsigned BEAT_BYTES = WIDTH / 8;  // Bytes of it\n", sv)
        self.assertIn("#ifdef A_WIDTH\nconstexpr unsigned kWidth = A_WIDTH;  // Bits of a beat\n#else\n"
                      "constexpr unsigned kWidth = 16;  // Bits of a beat\n#endif\n"
                      "constexpr unsigned kBeatBytes = kWidth / 8;  // Bytes of it\n", cc)
        for line in ("typedef logic [8*(BEAT_BYTES)-1:0] beat_t;", "beat_t beat;", "logic [8*(BEAT_BYTES + 1)-1:0] more;",
                     "typedef logic [$clog2((WIDTH > BEAT_BYTES ? WIDTH : BEAT_BYTES))-1:0] which_t;  // Of them",
                     "which_t which;", "logic [$clog2(WIDTH) + 1-1:0] next;"):
            self.assertIn(line, sv)
        for line in ("constexpr unsigned kBeatBits = 8 * (kBeatBytes);", "std::array<uint8_t, kBeatBytes> beat{};",
                     "std::array<uint8_t, kBeatBytes + 1> more{};",
                     "constexpr unsigned kWhichBits = clog2(std::max(kWidth, kBeatBytes));  // Of them",
                     "visit(which, kWhichBits);", "visit(next, clog2(kWidth) + 1);", "uint8_t next = 0;"):
            self.assertIn(line, cc)

    def test_what_cannot_be_is_refused_by_file_and_name(self):
        for old, new, says in (
                ("clog2(MAX_NODE)", "clog2(MAX_HOST)", "blocks/test.yaml: node: 'clog2.MAX_HOST.'"),
                ("[number, 64]", "[number, sixty]", "records: outer: number: 'sixty'"),
                ("[number, 64]", "[number, outer]", "number: 'outer'"),
                ("SLOTS: [", "MAX_NODE: [", "'MAX_NODE' is a constant already"),
                ("  inner:\n", "  node:\n", "'node' stands twice"),
                ("large: [1,", "large: [4,", "kind: large = 4 exceeds 2 bits"),
                ("types:", "sorts:", "test.yaml: unknown section 'sorts'")):
            with self.subTest(says), self.assertRaisesRegex(spec.SpecError, says):
                self.load(old, new)


if __name__ == "__main__":
    unittest.main()
