# SPDX-License-Identifier: BSD-2-Clause
"""Tests of which memories the report sees, and which it does not let pass.

    python3 -m unittest discover -s tools/rtl_report -p '*_test.py'
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

_REPORT = pathlib.Path(__file__).resolve().with_name("rtl_report.py")
_MEMORIES = [_REPORT.parents[2] / f"rtl-model/memories/{name}.sv"
             for name in ("ram_1r1w", "lut_ram_nr1w", "ram_fifo")]

_TOP = """module top (
    input logic clk_i, input logic we_i, input logic [6:0] a_i, input logic [6:0] b_i,
    input logic [31:0] d_i, output logic [31:0] o
);
  logic [31:0] kept[%d];
  always_ff @(posedge clk_i) if (we_i) kept[a_i] <= d_i;
  %s
endmodule
"""
_REGISTERED = "always_ff @(posedge clk_i) o <= kept[b_i];"


class Report(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def report(self, rtl, check=True):
        """Status, and what it says, of a design."""
        (self.folder / "top.sv").write_text(rtl)
        command = [sys.executable, _REPORT, "--top", "top"]
        result = subprocess.run(command + ["--check"] * check + ["-Irtl-model/core"] +
                                [self.folder / "top.sv"] + _MEMORIES, cwd=_REPORT.parents[2],
                                text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                check=False)
        return result.returncode, result.stdout

    def reads(self, read):
        """How many reads of a small array are registered, and combinational."""
        status, said = self.report(_TOP % (32, read), check=False)
        self.assertEqual(status, 0, said)
        row = said.splitlines()[1].split()
        self.assertEqual(row[:4], ["top", "kept", "32", "32"])
        return row[6:8]

    def test_an_array_of_more_than_32_words_is_an_error(self):
        rtl = _TOP % (128, _REGISTERED)
        status, said = self.report(rtl)
        self.assertEqual(status, 1)
        self.assertIn("top.kept: a memory of more than 32 words", said)
        self.assertEqual(self.report(_TOP % (32, _REGISTERED)), (0, ""))

    def test_a_read_that_does_not_go_straight_into_a_register_is_combinational(self):
        for read in ("assign o = kept[b_i];",
                     "always_ff @(posedge clk_i) o <= we_i ? kept[b_i] : '0;",
                     "always_ff @(posedge clk_i) o <= kept[b_i] + 1;",
                     "always_ff @(posedge clk_i) o[0] <= kept[b_i][a_i[4:0]];",
                     "always_ff @(posedge clk_i) if (kept[b_i] != '0) o <= d_i;",
                     "always_ff @(posedge clk_i) o[kept[b_i][4:0]] <= we_i;",
                     "function automatic logic [31:0] f(); return kept[b_i]; endfunction\n"
                     "always_ff @(posedge clk_i) o <= f();"):
            with self.subTest(read):
                self.assertEqual(self.reads(read), ["0", "1"])
        part = "always_ff @(posedge clk_i) o <= {kept[b_i][7:0], 24'd0};"
        self.assertEqual(self.reads(part), ["1", "0"])

    def test_reads_by_one_index_are_one_and_by_two_are_two(self):
        one = "assign o = kept[b_i] ^ {kept[b_i][0], 31'd0};"
        self.assertEqual(self.reads(one), ["0", "1"])
        two = "assign o = kept[b_i] ^ kept[a_i];"
        self.assertEqual(self.reads(two), ["0", "2"])

    def test_wrapped_memories_are_listed_with_their_place_and_size(self):
        rtl = """module top (input logic clk_i, input logic [6:0] a_i, input logic [6:0] b_i,
                             input logic [7:0] d_i, output logic [7:0] o, output logic [7:0] p);
          ram_1r1w #(.WIDTH(8), .DEPTH(100)) u_a (.clk_i, .write_i(1'b1), .write_address_i(a_i),
            .write_data_i(d_i), .read_i(1'b1), .read_address_i(b_i), .read_data_o(o));
          ram_1r1w #(.WIDTH(8), .DEPTH(100)) u_b (.clk_i, .write_i(1'b1), .write_address_i(b_i),
            .write_data_i(d_i), .read_i(1'b1), .read_address_i(a_i), .read_data_o(p));
        endmodule"""
        status, said = self.report(rtl, check=False)
        self.assertEqual(status, 0)
        rows = [line.split() for line in said.splitlines()[1:3]]
        self.assertEqual(rows, [["top", name, "100", "8", "1", "1", "1", "-", "ram_1r1w"]
                                for name in ("u_a", "u_b")])
        self.assertIn("ram_1r1w           1.6 Kibit  100.0 %", said)

    def test_a_queue_is_listed_with_the_block_that_has_it_and_lut_ram_with_its_combinational_reads(self):
        rtl = """module top (input logic clk_i, input logic rst_ni, input logic [5:0] a_i,
                             input logic [7:0] d_i, output logic [7:0] o, output logic [7:0] p[2]);
          logic [7:0] head;
          assign o = head;
          ram_fifo #(.WIDTH(8), .DEPTH(256)) u_queue (.clk_i, .rst_ni, .push_i(1'b1), .push_data_i(d_i),
            .pop_i(1'b1), .head_o(head), .count_o());
          lut_ram_nr1w #(.WIDTH(8), .DEPTH(64), .READERS(2)) u_table (.clk_i, .write_i(1'b1),
            .write_address_i(a_i), .write_data_i(d_i), .read_address_i('{a_i, a_i}), .read_data_o(p));
        endmodule"""
        status, said = self.report(rtl, check=False)
        self.assertEqual(status, 0, said)
        rows = [line.split() for line in said.splitlines()[1:3]]
        self.assertEqual(rows, [["top", "u_queue", "256", "8", "1", "1", "1", "-", "ram_1r1w"],
                                ["top", "u_table", "64", "8", "1", "1", "-", "2", "lut_ram_nr1w"]])

    def test_lut_ram_that_is_too_large_is_refused(self):
        rtl = """module top (input logic clk_i, input logic [11:0] a_i, input logic d_i, output logic o[1]);
          lut_ram_nr1w #(.WIDTH(1), .DEPTH(4096)) u_table (.clk_i, .write_i(1'b1),
            .write_address_i(a_i), .write_data_i(d_i), .read_address_i('{a_i}), .read_data_o(o));
        endmodule"""
        status, said = self.report(rtl)
        self.assertEqual(status, 1)
        self.assertIn("4096 words of 1 bits: at most 2048 words and 49152 bits", said)

    def test_rtl_that_verilator_does_not_take_is_an_error_with_its_words(self):
        status, said = self.report("module top; endmodul")
        self.assertEqual(status, 1)
        self.assertIn("verilator --xml-only ended with", said)
        self.assertIn("endmodul", said)


if __name__ == "__main__":
    unittest.main()
