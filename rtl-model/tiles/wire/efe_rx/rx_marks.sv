// SPDX-License-Identifier: BSD-2-Clause
// Nodes of which a segment came with CE since a frame with ACK was sent to them.

module rx_marks
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
  input  logic  clk_i,
  input  logic  rst_ni,

  input  logic  marked_i,
  input  node_t node_i,

  input  node_t query_node_i,
  output logic  query_ece_o,
  input  logic  echoed_i  // a frame to that node says so; a mark in this cycle stays
);

  logic [N_NODE-1:0] marked_q;

  assign query_ece_o = marked_q[query_node_i];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      marked_q <= '0;
    end else begin
      if (echoed_i) marked_q[query_node_i] <= 1'b0;
      if (marked_i) marked_q[node_i] <= 1'b1;
    end
  end

endmodule
