// SPDX-License-Identifier: BSD-2-Clause
// Terminate messages under way, per node: when the peer has dealt with all of them, what we held
// back for their sake may be acknowledged. Their own acknowledgement cannot tell: it is cumulative,
// and two nodes that refuse segments of each other both hold theirs back.

module tx_terminates
  import exrnic_core_pkg::*;
  import exrnic_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        submit_valid_i,
  input  node_t       submit_node_i,

  // These three belong to node_i.
  input  node_t       node_i,
  input  logic        sent_i,          // one left for the first time
  input  logic [31:0] sent_seq_i,
  input  logic        dealt_valid_i,   // the peer has dealt with all before dealt_i
  input  logic [31:0] dealt_i,
  input  logic        give_up_i,       // nothing that was submitted will arrive

  input  node_t       query_node_i,
  output logic        query_urgent_o,  // one for that node has not left yet

  output logic        hold_clear_o,
  output logic        init_done_o
);

  // Submitted and sent so far, modulo 256: more than there are slots.
  logic [7:0] submitted [MAX_NODE];
  logic [7:0] sent [MAX_NODE];
  logic [31:0] last_seq [MAX_NODE];
  logic [MAX_NODE-1:0] waiting_q;
  logic [$clog2(MAX_NODE):0] init_q;
  node_t init_node;

  assign init_done_o = init_q[$clog2(MAX_NODE)];
  assign init_node   = init_q[$clog2(MAX_NODE)-1:0];

  assign query_urgent_o = submitted[query_node_i] != sent[query_node_i];

  logic all_sent, all_dealt_with;
  assign all_sent       = submitted[node_i] == sent[node_i];
  assign all_dealt_with = dealt_valid_i && all_sent && signed'(last_seq[node_i] - dealt_i) < 0;
  assign hold_clear_o   = waiting_q[node_i] && (all_dealt_with || give_up_i);

  always_ff @(posedge clk_i) begin
    if (!init_done_o) submitted[init_node] <= '0;
    else if (submit_valid_i) submitted[submit_node_i] <= submitted[submit_node_i] + 1;
    if (!init_done_o) sent[init_node] <= '0;
    else if (give_up_i) sent[node_i] <= submitted[node_i];
    else if (sent_i) sent[node_i] <= sent[node_i] + 1;
    if (sent_i) last_seq[node_i] <= sent_seq_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      waiting_q <= '0;
      init_q    <= '0;
    end else begin
      if (!init_done_o) init_q <= init_q + 1;
      if (hold_clear_o) waiting_q[node_i] <= 1'b0;
      if (submit_valid_i) waiting_q[submit_node_i] <= 1'b1;
    end
  end

endmodule
