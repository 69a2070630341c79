#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
import json
import pathlib
import tempfile
import unittest

import changes
import mutants


class ChangesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def changes_of(self, name, text):
        (self.root / name).write_text(text)
        return list(changes.of_file(self.root, name))

    def afters(self, name, line):
        return {change.after for change in self.changes_of(name, line + "\n")}

    def test_operators_constants_and_conditions_of_verilog(self):
        self.assertEqual(self.afters("a.sv", "  assign a = b == c && !d;"),
                         {"  assign a = b != c && !d;", "  assign a = b == c || !d;", "  assign a = b == c && d;"})
        self.assertEqual(self.afters("a.sv", "    if (go_i) x_q <= 1'b1;"),
                         {"    if (!(go_i)) x_q <= 1'b1;", "    if (go_i) x_q <= 1'b0;"})
        self.assertIn("", self.afters("a.sv", "      count_q <= count_q + 1;"))
        self.assertIn("      count_q <= count_q - 1;", self.afters("a.sv", "      count_q <= count_q + 1;"))

    def test_comparisons_of_c_go_both_ways(self):
        self.assertEqual(self.afters("a.c", "  return a < b;"), {"  return a >= b;"})
        self.assertEqual(self.afters("a.c", "  return a >= b;"), {"  return a < b;"})
        self.assertEqual(self.afters("a.cc", "  return true;"), {"  return false;"})
        self.assertEqual(self.afters("a.c", "  return 1;"), {"  return 0;"})

    def test_comments_strings_types_and_assertions_stay(self):
        for line in ('// a == b', '  say("a == b");', '#include "a == b"', "  `EXRNIC_ALWAYS(a, b == c)",
                     "  input logic a == b,", "/* a", "  assert(a == b);"):
            self.assertEqual(self.afters("a.sv", line), set(), line)
        self.assertEqual(self.afters("a.sv", "  `EXRNIC_ALWAYS(a, b(c) ||\n      d == e)\n  assign x = y == z;"),
                         {"  assign x = y != z;"})
        self.assertEqual(self.afters("a.sv", "`ifdef EXRNIC_ASSERT\n  assign a = b == c;\n`endif\n  assign x = y == z;"),
                         {"  assign x = y != z;"})
        self.assertEqual(self.afters("a.c", "/* a == b\n   c == d */"), set())
        self.assertEqual(self.afters("a.c", "  x(a == b); // a == b"), {"  x(a != b); // a == b"})

    def test_a_change_is_made_and_undone(self):
        change = self.changes_of("a.c", "one\n  return a == b;\n")[0]
        self.assertEqual(str(change), "a.c:2: operator: return a == b;  ->  return a != b;")
        undo = changes.apply(self.root, change)
        self.assertEqual((self.root / "a.c").read_text(), "one\n  return a != b;\n")
        with self.assertRaises(ValueError):
            changes.apply(self.root, change)
        undo()
        self.assertEqual((self.root / "a.c").read_text(), "one\n  return a == b;\n")


class TreeStub:
    """Changes of a file: those with "!=" do not compile, and a test looks at the first line."""

    def __init__(self, source):
        self.source, self.compiled = source, 0

    def configure(self, _block):
        pass

    def compile(self, _block):
        self.compiled += 1
        return "!=" not in (self.source / "a.c").read_text()

    def passes(self, _block):
        return (self.source / "a.c").read_text().startswith("  x(a < b);")

    def passes_unchanged(self, _block):
        return self.passes(_block)

    def text_of(self, _paths):
        return (self.source / "a.c").read_text()


class RunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "a.c").write_text("  x(a < b);\n  x(c < d);\n  x(e == f);\n")
        self.block = mutants.Block("a", ("a.c",), (), (), "")
        self.results = mutants.Results(self.root / "results.json")

    def run_all(self, tree):
        return {str(change.line): what
                for change, what in mutants.try_changes(tree, self.block, 10, 1, self.results)}

    def test_who_is_noticed_is_killed_and_what_does_not_compile_says_nothing(self):
        self.assertEqual(self.run_all(TreeStub(self.root)), {"1": "killed", "2": "survived", "3": "invalid"})

    def test_what_is_known_is_not_tried_again(self):
        first = self.run_all(TreeStub(self.root))
        self.results = mutants.Results(self.root / "results.json")
        again = TreeStub(self.root)
        self.assertEqual(self.run_all(again), first)
        self.assertEqual(again.compiled, 0)

    def test_blocks_of_this_tree_have_files_and_tests(self):
        found = mutants.blocks(pathlib.Path(mutants.__file__).resolve().parents[2])
        self.assertGreater(len(found), 20)
        for block in found.values():
            self.assertTrue(block.files, block.name)

    def test_the_report_names_survivors_and_says_why_others_make_no_difference(self):
        change = changes.Change("a.c", 2, "x < y", "x >= y", "operator")
        other = changes.Change("a.c", 3, "x", "y", "operator")
        text = mutants.report({"a": [(change, "survived"), (change, "killed"), (other, "same")], "b": [(change, "killed")]}, 2, 1,
                              {"a.c: x  ->  y": "Both are one."})
        self.assertIn("| a | 3 | 1 | 1 | 50 % |", text)
        self.assertIn("| all | 4 | 1 | 2 | 66 % |", text)
        self.assertIn("a.c:2: operator: x < y  ->  x >= y", text)
        self.assertIn("- `a.c:3: operator: x  ->  y`  \n  Both are one.", text)

    def test_each_block_has_a_row_and_other_rows_stay(self):
        path = self.root / "results.json"
        path.write_text('[{"name": "mutants.killed_percent"}, {"name": "other"}]')
        mutants.add_rows(path, [("a", mutants.Score(killed=3, survived=1, same=1))])
        self.assertEqual(json.loads(path.read_text()), [
            {"name": "other"},
            {"name": "mutants.killed_percent", "value": 75.0, "unit": "%", "clock": "simulated", "block": "a"}])

    def test_what_makes_no_difference_is_a_change_of_this_tree_and_has_a_reason(self):
        known = mutants.reasons(mutants._NO_DIFFERENCE)  # pylint: disable=protected-access
        root = pathlib.Path(mutants.__file__).resolve().parents[2]
        paths = {what.split(": ")[0] for what in known}
        made = {change.wherever for path in paths for change in changes.of_file(root, path)}
        self.assertEqual({what for what in known if what not in made}, set())
        self.assertTrue(all(known.values()))


if __name__ == "__main__":
    unittest.main()
