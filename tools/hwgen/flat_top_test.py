#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Flat tops of blocks whose ports are interfaces."""

import contextlib
import io
import pathlib
import tempfile
import unittest

import flat_top

STREAM = """
// valid; ready: not signals here
interface stream_if #(
    parameter type T = logic
) ();
  logic valid;
  logic ready;
  T     data;  // an item

  modport source(output valid, data, input ready);
  modport sink(input valid, data, output ready);
endinterface
"""
LOOK = """
interface look_if
  import some_pkg::*;
();
  logic [2:0] look;
  qpn_t       qpn[3];
  modport asker(
      output look,
      output qpn
  );
endinterface
"""
BLOCK = """
module block
  import some_pkg::*;
#(
    parameter int unsigned N_QP = MAX_QP
) (
    input logic clk_i,
    stream_if.sink desc,  // what comes, and
    output logic [$clog2(N_QP)-1:0] number_o,
    look_if.asker look
);
endmodule
"""


class FlatTopTest(unittest.TestCase):
    def setUp(self):
        self.interfaces = {i.name: i for i in map(flat_top.read_interface, (STREAM, LOOK))}

    def lines(self, types, block=BLOCK):
        text = flat_top.flat_top(block, self.interfaces, types)
        return [line.strip().rstrip(",") for line in text.splitlines()]

    def test_signals_of_a_modport_have_its_directions_and_the_types_given(self):
        lines = self.lines({"desc": ["rx_desc_t"]})
        for line in ("input logic desc_valid_i", "output logic desc_ready_o", "input rx_desc_t desc_data_i",
                     "output logic [2:0] look_look_o", "output qpn_t look_qpn_o[3]"):
            self.assertIn(line, lines)

    def test_signals_and_interfaces_are_joined_in_the_direction_of_the_modport(self):
        lines = self.lines({"desc": ["rx_desc_t"]})
        for line in ("stream_if #(.T(rx_desc_t)) desc ();", "look_if look ();",
                     "assign desc.valid = desc_valid_i;", "assign desc_ready_o = desc.ready;",
                     "assign look_qpn_o = look.qpn;"):
            self.assertIn(line, lines)

    def test_plain_ports_parameters_and_imports_are_kept(self):
        lines = self.lines({"desc": ["rx_desc_t"]})
        for line in ("module block_flat", "import some_pkg::*;", "parameter int unsigned N_QP = MAX_QP",
                     "input logic clk_i", "output logic [$clog2(N_QP)-1:0] number_o",
                     "block #(.N_QP(N_QP)) u_block (", ".number_o", ".desc", ".look"):
            self.assertIn(line, lines)

    def test_an_interface_without_its_types_is_refused_by_name(self):
        with self.assertRaisesRegex(flat_top.FlatTopError, "block.desc: stream_if needs 1 types, not 0"):
            self.lines({})

    def test_types_of_a_port_that_is_not_there_are_refused(self):
        with self.assertRaisesRegex(flat_top.FlatTopError, "no port dsc"):
            self.lines({"desc": ["rx_desc_t"], "dsc": ["rx_desc_t"]})

    def test_an_unknown_modport_is_refused(self):
        with self.assertRaisesRegex(flat_top.FlatTopError, "stream_if.both is not known"):
            self.lines({"desc": ["rx_desc_t"]}, BLOCK.replace("stream_if.sink", "stream_if.both"))

    def test_a_text_without_a_module_is_refused(self):
        with self.assertRaisesRegex(flat_top.FlatTopError, "no module with ports"):
            self.lines({}, "package some_pkg; endpackage")

    def test_a_file_that_would_not_change_is_not_written_again(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "block.sv").write_text(BLOCK)
            (folder / "interfaces").mkdir()
            (folder / "interfaces" / "stream_if.sv").write_text(STREAM)
            (folder / "interfaces" / "look_if.sv").write_text(LOOK)
            arguments = [str(folder / "block.sv"), str(folder / "interfaces"), str(folder / "o" / "b.sv"),
                         "desc=rx_desc_t"]
            self.assertEqual(flat_top.main(arguments), 0)
            before = (folder / "o" / "b.sv").stat().st_mtime_ns
            self.assertEqual(flat_top.main(arguments), 0)
            self.assertEqual((folder / "o" / "b.sv").stat().st_mtime_ns, before)

    def test_an_error_is_told_with_the_file(self):
        told = io.StringIO()
        with contextlib.redirect_stderr(told):
            self.assertEqual(flat_top.main(["/no/such.sv", "/no", "/no/out.sv"]), 1)
        self.assertIn("/no/such.sv", told.getvalue())


if __name__ == "__main__":
    unittest.main()
