// SPDX-License-Identifier: BSD-2-Clause
// What each peer is to be told of the segment of its that we refuse: a frame without a number, with a
// terminate message.

module tx_refusals
  import exrnic_core_pkg::*;
  import exrnic_pkg::*;
  import efe_tx_pkg::*;
(
  input  logic     clk_i,

  input  logic     set_i,
  input  refusal_t set_refusal_i,

  input  logic     read_i,
  input  node_t    read_node_i,    // constant until the frame is made
  output telling_t telling_o       // for the frame to that node, from the next cycle on
);

  /* verilator lint_off UNUSEDSIGNAL */  // what is refused, efe_rx knows
  refusal_t refusal;
  /* verilator lint_on UNUSEDSIGNAL */
  refusal_t refusal_read, set_q;
  logic set_since_q, sets;

  // One that is set meanwhile is told at once: its number goes with it.
  assign sets    = set_i && set_refusal_i.node == read_node_i;
  assign refusal = set_since_q ? set_q : refusal_read;
  always_ff @(posedge clk_i) begin
    if (sets) set_since_q <= 1'b1;
    else if (read_i) set_since_q <= 1'b0;
    if (sets) set_q <= set_refusal_i;
  end

  ram_1r1w #(
    .WIDTH($bits(refusal_t)),
    .DEPTH(N_NODE)
  ) u_refusals (
    .clk_i,
    .write_i        (set_i),
    .write_address_i(set_refusal_i.node),
    .write_data_i   (set_refusal_i),
    .read_i         (read_i),
    .read_address_i (read_node_i),
    .read_data_o    (refusal_read)
  );

  logic [143:0] ddp;
  chunk_t length;
  inline_t inline_data;
  terminate_message u_message (
    .valid_i         (1'b1),
    .code_i          (refusal.code),
    .quote_i         (1'b1),
    .quoted_i        ({refusal.quote, ($bits(ddp_head_t)-$bits(quote_t))'(0)}),
    .segment_length_i(refusal.length),
    .ddp_o           (ddp),
    .length_o        (length),
    .inline_data_o   (inline_data)
  );

  always_comb begin
    telling_o = '0;
    telling_o.rnr                 = refusal.rnr;
    telling_o.pause               = refusal.pause;
    telling_o.desc.node           = refusal.node;
    telling_o.desc.dst_qpn        = refusal.dst_qpn;
    telling_o.desc.src_qpn        = refusal.src_qpn;
    telling_o.desc.src_generation = refusal.src_generation;
    telling_o.desc.dst_generation = refusal.dst_generation;
    telling_o.desc.untagged       = 1'b1;
    telling_o.desc.ddp            = ddp;
    telling_o.desc.length         = length;
    telling_o.desc.inlined        = 1'b1;
    telling_o.desc.inline_data    = inline_data;
    telling_o.desc.tag.kind       = TX_KIND_TERMINATE;
  end

endmodule
