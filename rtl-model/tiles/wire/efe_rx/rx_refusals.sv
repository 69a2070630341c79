// SPDX-License-Identifier: BSD-2-Clause
// Refusals of each peer, in both directions: the one of its segments that is in force, which keeps it
// from being acknowledged further; and how far those of ours that it sends have been dealt with.

module rx_refusals
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import efe_rx_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  // Ours. None is set for a peer that has one in force.
  input  node_t       set_node_i,
  output logic        in_force_o,      // for that peer
  input  logic        set_i,
  input  logic [31:0] set_seq_i,
  input  logic        heard_valid_i,   // the peer has dealt with this one
  input  node_t       heard_node_i,
  input  logic [7:0]  heard_i,
  output logic        ended_o,         // and it was in force

  // The peer's. A frame of node_i, in this cycle.
  input  node_t       node_i,
  input  logic        adopt_i,         // begins a session
  input  refusal_id_t brought_i,       // the refusal that it brings
  output logic        fresh_o,         // that has not come before;
  output logic        answered_o,      // is the last one, and dealt with
  output logic        refuses_o,       // a refusal is in force for that peer
  input  logic        keep_i,          // it is handed out
  input  logic        dealt_i,         // this one of dealt_node_i has been dealt with
  input  node_t       dealt_node_i,
  input  refusal_id_t dealt_what_i,

  input  node_t       query_node_i,
  output logic [7:0]  query_refusal_o,  // in force; 0: none
  output logic [31:0] query_refused_o,
  output refusal_id_t query_heard_o,   // number 0: none

  input  logic        init_i,
  input  node_t       init_node_i
);

  logic [7:0] last [MAX_NODE];         // number of our last one
  logic [31:0] refused [MAX_NODE];
  refusal_id_t seen [MAX_NODE];        // the peer's last one
  logic [MAX_NODE-1:0] in_force_q, dealt_q;

  logic [7:0] next;
  assign next       = last[set_node_i] == '1 ? 8'd1 : last[set_node_i] + 1;
  assign in_force_o = in_force_q[set_node_i];
  assign refuses_o  = in_force_q[node_i];
  assign ended_o    = heard_valid_i && in_force_q[heard_node_i] && heard_i == last[heard_node_i];

  // Of a later session of ours than the last one; or of the same, and not behind it: one that is too
  // far ahead is late.
  refusal_id_t last_seen;
  logic [7:0] ahead;
  logic [15:0] later;
  assign last_seen  = seen[node_i];
  assign ahead      = brought_i.number - last_seen.number;
  assign later      = brought_i.session - last_seen.session;
  assign fresh_o    = adopt_i || last_seen.number == '0 ||
                      (later == '0 ? ahead != '0 && !ahead[7] : !later[15]);
  assign answered_o = !adopt_i && brought_i == last_seen && dealt_q[node_i];

  assign query_refusal_o = in_force_q[query_node_i] ? last[query_node_i] : '0;
  assign query_refused_o = refused[query_node_i];
  assign query_heard_o   = dealt_q[query_node_i] ? seen[query_node_i] : '0;

  always_ff @(posedge clk_i) begin
    if (init_i) last[init_node_i] <= '0;
    else if (set_i) last[set_node_i] <= next;
    if (set_i) refused[set_node_i] <= set_seq_i;
    if (init_i) seen[init_node_i] <= '0;
    else if (keep_i) seen[node_i] <= brought_i;
    else if (adopt_i) seen[node_i] <= '0;
  end

  // A session that begins has none of either.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {in_force_q, dealt_q} <= '0;
    end else begin
      if (ended_o) in_force_q[heard_node_i] <= 1'b0;
      if (set_i) in_force_q[set_node_i] <= 1'b1;
      if (adopt_i) in_force_q[node_i] <= 1'b0;
      if (dealt_i && dealt_what_i == seen[dealt_node_i]) dealt_q[dealt_node_i] <= 1'b1;
      if (keep_i || adopt_i) dealt_q[node_i] <= 1'b0;
    end
  end

endmodule
