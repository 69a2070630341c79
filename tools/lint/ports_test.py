#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The check that a module has not too many ports."""

import contextlib
import io
import pathlib
import tempfile
import unittest

import ports

BLOCK = """
// module not_one (input logic a); endmodule
module block
  import some_pkg::*;
#(
    parameter int unsigned N = 4,
    parameter int unsigned M = $clog2(N)
) (
    input logic clk_i,
    stream_if.sink desc,  // one, with what it has
    output logic [$clog2(N)-1:0] a_o, b_o,
    input qpn_t qpn_i[3]  // one
);
  child u_child (.clk_i, .x(1));
  assign a_o = f(1, 2);
endmodule
module alone;
endmodule
"""


def text_of(name, count):
    return f"module {name} (\n" + ",\n".join(f"  input logic a{i}_i" for i in range(count)) + "\n);\nendmodule\n"


class PortsTest(unittest.TestCase):
    def test_ports_are_counted_not_parameters_and_not_what_a_module_holds(self):
        self.assertEqual(ports.ports_of(BLOCK), {"block": 5, "alone": 0})

    def test_a_module_may_have_the_most_and_not_one_more(self):
        self.assertEqual(ports.complaints(ports.ports_of(text_of("a", ports.MOST))), [])
        self.assertIn("a has 45 ports, and 44 is the most",
                      ports.complaints(ports.ports_of(text_of("a", ports.MOST + 1)))[0])

    def test_pins_of_a_top_are_free(self):
        self.assertEqual(ports.complaints({"exrnic_core": 60}), [])

    def test_it_fails_where_there_is_no_module(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            empty = pathlib.Path(folder) / "empty.sv"
            empty.write_text("package some_pkg; endpackage\n")
            self.assertEqual(ports.main([str(empty)]), 1)


if __name__ == "__main__":
    unittest.main()
