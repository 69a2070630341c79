// SPDX-License-Identifier: BSD-2-Clause
// What each peer is to be told of the segment of its that we refuse: a frame without a number, with a
// terminate message.

module tx_refusals
  import exrnic_core_pkg::*;
  import exrnic_pkg::*;
(
  input  logic     clk_i,

  input  logic     set_i,
  input  refusal_t set_refusal_i,

  input  logic     read_i,
  input  node_t    read_node_i,    // constant until the frame is made
  output tx_desc_t desc_o,         // for the frame to that node, from the next cycle on
  output logic     rnr_o,
  output logic [4:0] pause_o
);

  refusal_t refusals [MAX_NODE];
  /* verilator lint_off UNUSEDSIGNAL */  // what is refused, efe_rx knows
  refusal_t refusal_q;
  /* verilator lint_on UNUSEDSIGNAL */

  always_ff @(posedge clk_i) begin
    if (set_i) refusals[set_refusal_i.node] <= set_refusal_i;
    // One that is set meanwhile is told at once: its number goes with it.
    if (set_i && set_refusal_i.node == read_node_i) refusal_q <= set_refusal_i;
    else if (read_i) refusal_q <= refusals[read_node_i];
  end

  logic [143:0] ddp;
  chunk_t length;
  inline_t inline_data;
  terminate_message u_message (
    .valid_i         (1'b1),
    .code_i          (refusal_q.code),
    .quote_i         (1'b1),
    .quoted_i        ({refusal_q.quote, ($bits(ddp_head_t)-$bits(quote_t))'(0)}),
    .segment_length_i(refusal_q.length),
    .ddp_o           (ddp),
    .length_o        (length),
    .inline_data_o   (inline_data)
  );

  always_comb begin
    desc_o = '0;
    desc_o.node           = refusal_q.node;
    desc_o.dst_qpn        = refusal_q.dst_qpn;
    desc_o.src_qpn        = refusal_q.src_qpn;
    desc_o.src_generation = refusal_q.src_generation;
    desc_o.dst_generation = refusal_q.dst_generation;
    desc_o.untagged       = 1'b1;
    desc_o.ddp            = ddp;
    desc_o.length         = length;
    desc_o.inlined        = 1'b1;
    desc_o.inline_data    = inline_data;
    desc_o.tag.kind       = TX_KIND_TERMINATE;
  end
  assign rnr_o   = refusal_q.rnr;
  assign pause_o = refusal_q.pause;

endmodule
