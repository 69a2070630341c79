// SPDX-License-Identifier: BSD-2-Clause
// Which segment the responder gets next: those of the reliable class go first, but behind CLASS_TURNS
// of them one that is sent once, so that it is not kept waiting for ever.
`include "exrnic_assert.svh"

module class_turns
  import exrnic_core_pkg::*;
#(
    parameter int unsigned CLASS_TURNS = 8  // a power of two
) (
    input  logic clk_i,
    input  logic rst_ni,

    input  logic     reliable_valid_i,
    output logic     reliable_ready_o,
    input  rx_desc_t reliable_i,
    input  logic     once_valid_i,
    output logic     once_ready_o,
    input  rx_desc_t once_i,

    output logic     desc_valid_o,
    input  logic     desc_ready_i,
    output rx_desc_t desc_o
);

  logic [$clog2(CLASS_TURNS)-1:0] turns_q;  // of the reliable class, while the other waits
  logic once;
  assign once = once_valid_i && (!reliable_valid_i || &turns_q);

  assign desc_valid_o     = reliable_valid_i || once_valid_i;
  assign desc_o           = once ? once_i : reliable_i;
  assign reliable_ready_o = desc_ready_i && !once;
  assign once_ready_o     = desc_ready_i && once;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) turns_q <= '0;
    else if (desc_valid_o && desc_ready_i) turns_q <= once || !once_valid_i ? '0 : turns_q + 1'b1;
  end

  // ---- What is promised
  `EXRNIC_ALWAYS(one_is_taken, $onehot0({reliable_ready_o, once_ready_o}))

endmodule
