// SPDX-License-Identifier: BSD-2-Clause
// How many slots a node may hold: as many as are free. So a node alone gets half of them, each
// further one that gives none back half of the rest, and no number of them all. What is prompt
// counts apart, and has some for itself.

module tx_quota
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import efe_tx_pkg::*;
(
  input  logic                clk_i,
  input  logic                rst_ni,

  input  logic                submit_valid_i,
  input  lane_t               submit_lane_i,
  input  logic                freed_valid_i,
  input  lane_t               freed_lane_i,
  input  logic [$clog2(TX_SLOTS):0] free_i,  // slots
  input  logic [MAX_NODE-1:0] silent_i,  // nodes that have not answered in time

  input  node_t               query_node_i,
  input  reads_t              query_slots_i,  // at least 1
  output logic                start_o,  // work for it may begin that takes so many before it asks again
  output logic                room_o,   // and go on
  input  lane_t               window_lane_i,
  output logic                window_room_o,  // that lane may go on

  output logic                init_done_o
);

  // Counted without end, modulo more than there are slots: so each memory has one writer.
  typedef logic [$clog2(TX_SLOTS):0] count_t;
  count_t submitted [Lanes];
  count_t freed [Lanes];
  logic [$clog2(Lanes):0] init_q;
  logic [$clog2(Lanes)-1:0] init_lane;
  count_t spare, held, behind, window_held;
  lane_t query_lane;

  assign init_done_o = init_q[$clog2(Lanes)];
  assign init_lane   = init_q[$clog2(Lanes)-1:0];
  assign query_lane  = '{prompt: 1'b0, node: query_node_i};
  assign held        = submitted[query_lane] - freed[query_lane];
  always_comb begin
    if (32'(free_i) >= TX_SLOTS / 2) spare = free_i;
    else spare = 32'(free_i) > TX_SLOTS_PROMPT ? free_i - count_t'(TX_SLOTS_PROMPT) : '0;
  end

  // Beginning takes more than going on: work that begins should not have to stop at once.
  assign behind  = held + count_t'(query_slots_i) - 1;
  assign start_o = spare >= count_t'(query_slots_i) &&
                   (held == '0 || (behind < spare - (spare >> 2) && !silent_i[query_node_i]));
  assign room_o  = held < spare;
  assign window_held   = submitted[window_lane_i] - freed[window_lane_i];
  assign window_room_o = window_held < (window_lane_i.prompt ? free_i : spare);

  always_ff @(posedge clk_i) begin
    if (!init_done_o) submitted[init_lane] <= '0;
    else if (submit_valid_i) submitted[submit_lane_i] <= submitted[submit_lane_i] + 1;
    if (!init_done_o) freed[init_lane] <= '0;
    else if (freed_valid_i) freed[freed_lane_i] <= freed[freed_lane_i] + 1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) init_q <= '0;
    else if (!init_done_o) init_q <= init_q + 1;
  end

endmodule
