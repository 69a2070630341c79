// SPDX-License-Identifier: BSD-2-Clause
// How many slots a node may hold: as many as are free. So a node alone gets half of them, each
// further one that gives none back half of the rest, and no number of them all. What is prompt
// counts apart, and has some for itself.

`include "exrnic_assert.svh"

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
  input  slot_count_t         free_i,  // slots
  input  logic [N_NODE-1:0] silent_i,  // nodes that have not answered in time

  input  node_t               query_node_i,
  input  reads_t              query_slots_i,  // at least 1
  output logic                start_o,  // work for it may begin that takes so many before it asks again
  output logic                room_o,   // and go on
  input  lane_t               window_lane_i,
  output logic                window_room_o,  // that lane may go on

  output logic                init_done_o
);

  // What a lane holds is what was submitted less what was freed: so each memory has one writer.
  slot_count_t query_submitted, query_freed, window_submitted, window_freed;
  slot_count_t spare, held, behind, window_held;
  lane_t query_lane;
  logic submitted_init_done, freed_init_done;

  assign init_done_o = submitted_init_done && freed_init_done;
  assign query_lane  = '{prompt: 1'b0, node: query_node_i};
  assign held        = query_submitted - query_freed;

  tx_lane_count u_submitted (
    .clk_i,
    .rst_ni,
    .count_i    (submit_valid_i),
    .lane_i     (submit_lane_i),
    .read_lane_i('{query_lane, window_lane_i}),
    .read_o     ('{query_submitted, window_submitted}),
    .init_done_o(submitted_init_done)
  );

  tx_lane_count u_freed (
    .clk_i,
    .rst_ni,
    .count_i    (freed_valid_i),
    .lane_i     (freed_lane_i),
    .read_lane_i('{query_lane, window_lane_i}),
    .read_o     ('{query_freed, window_freed}),
    .init_done_o(freed_init_done)
  );

  always_comb begin
    if (32'(free_i) >= TX_SLOTS / 2) spare = free_i;
    else spare = 32'(free_i) > TX_SLOTS_PROMPT ? free_i - slot_count_t'(TX_SLOTS_PROMPT) : '0;
  end

  // Beginning takes more than going on: work that begins should not have to stop at once.
  assign behind  = held + slot_count_t'(query_slots_i) - 1;
  assign start_o = spare >= slot_count_t'(query_slots_i) &&
                   (held == '0 || (behind < spare - (spare >> 2) && !silent_i[query_node_i]));
  assign room_o  = held < spare;
  assign window_held   = window_submitted - window_freed;
  assign window_room_o = window_held < (window_lane_i.prompt ? free_i : spare);

  // ---- What is promised
  `EXRNIC_ALWAYS(nobody_holds_more_than_all, !init_done_o ||
                 (32'(held) <= TX_SLOTS && 32'(window_held) <= TX_SLOTS))
  `EXRNIC_ALWAYS(waits_for_init, init_done_o || !(submit_valid_i || freed_valid_i))

endmodule
