// SPDX-License-Identifier: BSD-2-Clause
// Refusals of each peer, in both directions: the one of its segments that is in force, which keeps it
// from being acknowledged further; and how far those of ours that it sends have been dealt with.
`include "exrnic_assert.svh"

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

  logic [N_NODE-1:0] in_force_q, dealt_q;

  // ---- Numbers of our last ones, and what they refuse
  logic [7:0] last [3];  // of set_node_i, heard_node_i, query_node_i
  logic [7:0] next;
  assign next = last[0] == '1 ? 8'd1 : last[0] + 1;
  lut_ram_nr1w #(
    .WIDTH(8),
    .DEPTH(N_NODE),
    .READERS(3)
  ) u_last (
    .clk_i,
    .write_i        (init_i || set_i),
    .write_address_i(init_i ? init_node_i : set_node_i),
    .write_data_i   (init_i ? '0 : next),
    .read_address_i ('{set_node_i, heard_node_i, query_node_i}),
    .read_data_o    (last)
  );
  logic [31:0] refused [1];
  lut_ram_nr1w #(
    .WIDTH(32),
    .DEPTH(N_NODE)
  ) u_refused (
    .clk_i,
    .write_i        (set_i),
    .write_address_i(set_node_i),
    .write_data_i   (set_seq_i),
    .read_address_i ('{query_node_i}),
    .read_data_o    (refused)
  );

  assign in_force_o = in_force_q[set_node_i];
  assign refuses_o  = in_force_q[node_i];
  assign ended_o    = heard_valid_i && in_force_q[heard_node_i] && heard_i == last[1];

  // ---- The peer's last ones
  refusal_id_t seen [3];  // of node_i, query_node_i, dealt_node_i
  lut_ram_nr1w #(
    .WIDTH($bits(refusal_id_t)),
    .DEPTH(N_NODE),
    .READERS(3)
  ) u_seen (
    .clk_i,
    .write_i        (init_i || keep_i || adopt_i),
    .write_address_i(init_i ? init_node_i : node_i),
    .write_data_i   (!init_i && keep_i ? brought_i : '0),
    .read_address_i ('{node_i, query_node_i, dealt_node_i}),
    .read_data_o    (seen)
  );

  // Of a later session of ours than the last one; or of the same, and not behind it: one that is too
  // far ahead is late.
  refusal_id_t last_seen;
  logic [7:0] ahead;
  logic [15:0] later;
  assign last_seen  = seen[0];
  assign ahead      = brought_i.number - last_seen.number;
  assign later      = brought_i.session - last_seen.session;
  assign fresh_o    = adopt_i || last_seen.number == '0 ||
                      (later == '0 ? ahead != '0 && !ahead[7] : !later[15]);
  assign answered_o = !adopt_i && brought_i == last_seen && dealt_q[node_i];

  assign query_refusal_o = in_force_q[query_node_i] ? last[2] : '0;
  assign query_refused_o = refused[0];
  assign query_heard_o   = dealt_q[query_node_i] ? seen[1] : '0;

  // A session that begins has none of either.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {in_force_q, dealt_q} <= '0;
    end else begin
      if (ended_o) in_force_q[heard_node_i] <= 1'b0;
      if (set_i) in_force_q[set_node_i] <= 1'b1;
      if (adopt_i) in_force_q[node_i] <= 1'b0;
      if (dealt_i && dealt_what_i == seen[2]) dealt_q[dealt_node_i] <= 1'b1;
      if (keep_i || adopt_i) dealt_q[node_i] <= 1'b0;
    end
  end

  // ---- What is promised
  `EXRNIC_ALWAYS(one_in_force, !(set_i && in_force_o))
  `EXRNIC_ALWAYS(not_before_init, !init_i || {set_i, keep_i, adopt_i} == '0)

endmodule
