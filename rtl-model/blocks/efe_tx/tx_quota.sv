// SPDX-License-Identifier: BSD-2-Clause
// How many slots a node may hold: as many as are free. So a node alone gets half of them, each
// further one that gives none back half of the rest, and no number of them all.

module tx_quota
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
  input  logic                clk_i,
  input  logic                rst_ni,

  input  logic                submit_valid_i,
  input  node_t               submit_node_i,
  input  logic                free_valid_i,
  input  node_t               free_node_i,
  input  logic [$clog2(TX_SLOTS):0] spare_i,  // free ones
  input  logic [MAX_NODE-1:0] silent_i,  // nodes that have not answered in time

  input  node_t               query_node_i,
  input  reads_t              query_slots_i,  // at least 1
  output logic                start_o,  // work for it may begin that takes so many before it asks again
  output logic                room_o,   // and go on
  input  node_t               window_node_i,
  output logic                window_room_o,  // the same of that node

  output logic                init_done_o
);

  // Counted without end, modulo more than there are slots: so each memory has one writer.
  typedef logic [$clog2(TX_SLOTS):0] count_t;
  count_t submitted [MAX_NODE];
  count_t freed [MAX_NODE];
  logic [$clog2(MAX_NODE):0] init_q;
  node_t init_node;
  count_t held, behind, window_held;

  assign init_done_o = init_q[$clog2(MAX_NODE)];
  assign init_node   = init_q[$clog2(MAX_NODE)-1:0];
  assign held        = submitted[query_node_i] - freed[query_node_i];

  // Beginning takes more than going on: work that begins should not have to stop at once.
  assign behind  = held + count_t'(query_slots_i) - 1;
  assign start_o = spare_i >= count_t'(query_slots_i) &&
                   (held == '0 || (behind < spare_i - (spare_i >> 2) && !silent_i[query_node_i]));
  assign room_o  = held < spare_i;
  assign window_held   = submitted[window_node_i] - freed[window_node_i];
  assign window_room_o = window_held < spare_i;

  always_ff @(posedge clk_i) begin
    if (!init_done_o) submitted[init_node] <= '0;
    else if (submit_valid_i) submitted[submit_node_i] <= submitted[submit_node_i] + 1;
    if (!init_done_o) freed[init_node] <= '0;
    else if (free_valid_i) freed[free_node_i] <= freed[free_node_i] + 1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) init_q <= '0;
    else if (!init_done_o) init_q <= init_q + 1;
  end

endmodule
