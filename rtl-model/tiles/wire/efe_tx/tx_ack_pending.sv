// SPDX-License-Identifier: BSD-2-Clause
// Nodes to which an acknowledgement is owed, and whether it has to tell what is held.

module tx_ack_pending
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
  input  logic  clk_i,
  input  logic  rst_ni,

  input  logic  request_valid_i,
  input  node_t request_node_i,
  input  logic  request_sack_i,

  input  logic  sent_valid_i,  // a frame to this node carries it; a request in this cycle stays
  input  node_t sent_node_i,
  output logic  sent_sack_o,

  output logic  head_valid_o,
  output logic  head_sack_o,
  output node_t head_node_o,
  output logic  empty_o
);

  logic [N_NODE-1:0] sack_q;
  /* verilator lint_off UNUSEDSIGNAL */  // the order matters here, not the set
  logic [N_NODE-1:0] pending;
  logic alone;
  /* verilator lint_on UNUSEDSIGNAL */

  assign sent_sack_o = sack_q[sent_node_i];
  assign head_sack_o = sack_q[head_node_o];

  node_queue u_queue (
    .clk_i,
    .rst_ni,
    .set_valid_i  (request_valid_i),
    .set_node_i   (request_node_i),
    .clear_valid_i(sent_valid_i),
    .clear_node_i (sent_node_i),
    .rotate_i     (1'b0),
    .head_valid_o,
    .head_node_o,
    .alone_o      (alone),
    .empty_o,
    .pending_o    (pending)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      sack_q <= '0;
    end else begin
      if (sent_valid_i) sack_q[sent_node_i] <= 1'b0;
      if (request_valid_i && request_sack_i) sack_q[request_node_i] <= 1'b1;
    end
  end

endmodule
