// SPDX-License-Identifier: BSD-2-Clause
// What exrnic_assert.svh asserts, of signals that a test (assert_test.cc) sets.

`include "exrnic_assert.svh"

module assert_check (
    input logic       clk_i,
    input logic       rst_ni,
    input logic       held_valid_i,
    input logic       offered_valid_i,
    input logic       ready_i,
    input logic [7:0] item_i,
    input logic       always_i
);

  `EXRNIC_HELD(is_held, held_valid_i, ready_i, item_i)
  `EXRNIC_OFFERED(is_offered, offered_valid_i, ready_i)
  `EXRNIC_ALWAYS(is_so, always_i)

endmodule
